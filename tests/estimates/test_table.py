"""The table of estimates: a sequence of rows, for pandas and for readers."""

import pandas as pd

from s2oct.estimates.table import COLUMNS, Estimates


def row(**values):
    return dict.fromkeys(COLUMNS, 0.0) | {"domain": "north", "class": "yes", "by": "region"} | values


def test_pandas_shows_the_columns_in_their_order():
    frame = pd.DataFrame(Estimates([row(), row(domain="south")], 0.95, 10))
    assert frame.columns.tolist() == list(COLUMNS)
    assert frame.columns.tolist()[:6] == ["domain", "class", "estimate", "se", "low", "high"]
    assert frame["domain"].tolist() == ["north", "south"]


def test_estimates_are_a_sequence_and_a_slice_is_one_too():
    found = Estimates([row(), row(domain="south"), row(domain="west")], 0.9, 10, ("A note.",))
    assert len(found) == 3
    assert found[-1]["domain"] == "west"
    part = found[1:]
    assert [entry["domain"] for entry in part] == ["south", "west"]
    assert (part.confidence, part.n_replicates, part.notes) == (0.9, 10, ("A note.",))


def test_as_text_they_have_a_line_for_each_row_under_the_confidence():
    text = str(Estimates([row(estimate=1240, se=30.4, low=1180.2, high=1299.8)], 0.9, 10))
    heading, line = text.splitlines()
    assert heading.endswith("90 % interval")
    assert line.split() == ["north", "yes", "1,240", "30.4", "1,180", "to", "1,300"]


def test_as_text_small_weights_keep_their_digits_and_names_stay_on_their_line():
    text = str(Estimates([row(domain="a\nb", estimate=0.01239, se=0.00123, low=0.0101, high=0.0145)], 0.95, 10))
    assert text.splitlines()[1].split() == ["a\\nb", "yes", "0.01239", "0.00123", "0.0101", "to", "0.0145"]
