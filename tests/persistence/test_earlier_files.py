"""Model files of earlier versions. The files in the folder ``files`` are never written again."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest

from s2oct.errors import S2OCTWarning
from s2oct.export import read_model
from s2oct.tables.encoding import Column, Encoding

FILES = Path(__file__).parent / "files"
ROWS = [[62.0, 0.0, 2.0], [51.0, 0.0, 1.0], [44.0, 0.0, 0.0], [32.0, 0.0, 0.0], [34.0, 0.0, 2.0], [20.0, 1.0, 1.0]]


@pytest.fixture
def table_model():
    """A model of a table, with everything that format 1 can hold."""
    with pytest.warns(S2OCTWarning, match="parameter random_state was RandomState"):
        return read_model(FILES / "s2oct-1.json")


def test_a_tree_of_format_1_predicts_as_it_did_when_it_was_written(table_model):
    clf = table_model.estimator
    rows = pd.DataFrame(ROWS, columns=["age", "sex=m", "school"])
    assert clf.predict(rows).tolist() == ["yes", "yes", "no", "no", "yes", "no"]
    assert clf.get_params()["depth"] == 2


def test_columns_of_format_1_are_read(table_model):
    assert table_model.encoding == Encoding(
        (
            Column("age", "number", fill=40.5),
            Column("sex", "onehot", ("f", "m"), fill="f"),
            Column("school", "ordinal", ("a", "b", "c")),
        )
    )
    assert (table_model.label, table_model.ids) == ("employed", ("person",))
    assert table_model.provenance["data"]["n_unlabeled"] == 28


def test_rules_of_format_1_are_shown_as_the_tree_decides(table_model):
    """Earlier versions rounded the rules, and the file says `age <= 46` of people of whole years."""
    assert table_model.estimator.rules_.startswith("if 10 * age <= 465:\n    if 0.9183247383414133 * age - ")


def test_a_certificate_of_format_1_is_read_with_its_infinite_numbers(table_model):
    certificate = table_model.estimator.certificate_
    assert (certificate.lower_bound, certificate.min_margin) == (-math.inf, math.inf)
    assert (certificate.objective, certificate.guide_weight) == (0.0, 1.0)
    assert [moment.objective for moment in certificate.history] == [48.61135661026539, 4.3827966674172485, 0.0]
    assert table_model.estimator.data_summary_.totals == (14, 14)


def test_a_tree_of_octh_of_format_1_predicts_as_it_did_when_it_was_written():
    clf = read_model(FILES / "octh-1.json").estimator
    assert clf.predict(ROWS).tolist() == [1, 1, 0, 0, 1, 0]
    assert clf.predict_proba(ROWS)[:, 1].tolist() == [1.0, 1.0, 0.0, 0.0, 1.0, 0.0]
    assert (clf.certificate_.proved, clf.certificate_.n_coefficients) == (True, 2)
