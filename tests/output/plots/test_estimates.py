"""The picture of estimates: a point and an interval for each domain, in the order of the table."""

import numpy as np
import pytest

from s2oct.errors import InvalidProblem
from s2oct.estimates.table import COLUMNS, Estimates
from s2oct.export import EstimatesDisplay, plot_estimates
from tests.messages import naming

pytestmark = pytest.mark.usefixtures("_quiet_pictures")


def estimates(n_domains, classes, *, by=("region",), guide=True):
    """Made-up estimates; the second domain has no labeled rows."""
    rng = np.random.default_rng(0)
    rows = []
    for division in by:
        for d in range(n_domains):
            for label, share in zip(classes, rng.dirichlet(np.ones(len(classes))), strict=True):
                ends = {"share_low": max(share - 0.1, 0), "share": share, "share_high": min(share + 0.1, 1)}
                counts = {"low": 100 * ends["share_low"], "estimate": 100 * share, "high": 100 * ends["share_high"]}
                others = {"labeled_alone": np.nan if d == 1 else 50.0, "guide": 40.0 if guide else np.nan}
                names = {"domain": f"d$_{d}$", "class": label, "by": division, "rows": 100.0}
                rows.append(dict.fromkeys(COLUMNS, 0.0) | ends | counts | others | names)
    return Estimates(rows, 0.9, 20)


@pytest.mark.parametrize("n_domains", [1, 2, 30])
def test_every_domain_has_its_point_and_its_interval(n_domains):
    table = estimates(n_domains, ["no", "yes"])
    display = plot_estimates(table)
    drawn = [line.get_xydata() for line in display.ax_.lines if len(line.get_xydata()) == 2][: 2 * n_domains]
    intervals = [ends for ends in drawn if ends[0][1] == ends[1][1] and ends[0][1] == int(ends[0][1])]
    expected = [row for row in table if row["class"] == "yes"]
    assert len(intervals) == n_domains
    for y, (ends, row) in enumerate(zip(intervals, expected, strict=True)):
        assert ends.tolist() == [[row["share_low"], y], [row["share_high"], y]]
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == [row["domain"] for row in expected]


def test_of_three_classes_all_are_drawn_and_of_two_the_chosen_one():
    assert len(plot_estimates(estimates(4, ["a", "b", "c"])).rows) == 12
    chosen = EstimatesDisplay.from_estimates(estimates(4, ["no", "yes"]), "no")
    assert {row["class"] for row in chosen.rows} == {"no"}


def test_several_divisions_are_named():
    display = plot_estimates(estimates(2, ["no", "yes"], by=("region", "sex")))
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert names == ["region d$_0$", "region d$_1$", "sex d$_0$", "sex d$_1$"]


def test_counts_stand_beside_the_intervals():
    table = estimates(1, ["no", "yes"])
    row = table[1] | {"estimate": 1240.4, "low": 1180.2, "high": 1299.8}
    (words,) = plot_estimates(Estimates([table[0], row], 0.9, 20)).ax_.texts
    assert words.get_text() == "1,240 (1,180 to 1,300)"


def test_without_a_guide_the_legend_has_none():
    legends = [
        [text.get_text() for text in plot_estimates(estimates(2, ["no", "yes"], guide=guide)).ax_.get_legend().texts]
        for guide in (True, False)
    ]
    assert legends == [["90 % interval", "labeled rows alone", "guide"], ["90 % interval", "labeled rows alone"]]


def test_an_unknown_class_is_refused():
    with pytest.raises(InvalidProblem, match=naming("['no', 'yes']", "'maybe'")):
        plot_estimates(estimates(2, ["no", "yes"]), "maybe")
