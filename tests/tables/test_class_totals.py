"""Totals as counts, shares, intervals and estimates, for labels of every kind."""

from __future__ import annotations

import pytest

from s2oct.errors import InvalidProblem
from s2oct.model.estimate import Estimate
from s2oct.tables.class_totals import ClassTotal, ClassTotals
from s2oct.tables.partly_labeled import read_partly_labeled
from s2oct.tables.roles import Roles

LABELS = ["no", "yes", *[""] * 7]


@pytest.fixture
def answers(table):
    """``answers(*totals, labels=...)`` says what these totals tell of a table with these labels."""

    def tell(*totals, labels=LABELS, weights=None, **more):
        weights = weights or [1] * len(labels)
        rows = [f"{i},{w},{label}" for i, (label, w) in enumerate(zip(labels, weights, strict=True))]
        source = table("\n".join(["x,w,y", *rows]))
        roles = Roles("y", weight=None if set(weights) == {1} else "w")
        given = {"of_unlabeled": tuple(ClassTotal(*total) for total in totals), **more}
        return ClassTotals(**given).answers(read_partly_labeled(source, roles))

    return tell


@pytest.mark.parametrize(
    ("amount", "given"),
    [
        ("120", {"totals": {"yes": 120}}),
        ("120.5", {"totals": {"yes": 120.5}}),
        ("38%", {"totals": {"yes": 0.38}, "as_shares": True}),
        ("100..140", {"totals": {"yes": (100, 140)}}),
        ("100 .. 140", {"totals": {"yes": (100, 140)}}),
        ("100..", {"totals": {"yes": (100, None)}}),
        ("..140", {"totals": {"yes": (None, 140)}}),
        ("30..40%", {"totals": {"yes": (0.3, 0.4)}, "as_shares": True}),
        ("30%..40%", {"totals": {"yes": (0.3, 0.4)}, "as_shares": True}),
        ("120±8", {"totals": {"yes": Estimate(120, 8)}}),
        ("120 +- 8.5", {"totals": {"yes": Estimate(120, 8.5)}}),
        ("120+/-8", {"totals": {"yes": Estimate(120, 8)}}),
        ("34±2%", {"totals": {"yes": Estimate(0.34, 0.02)}, "as_shares": True}),
    ],
)
def test_amounts_are_what_the_python_call_takes(answers, amount, given):
    assert answers(("yes", amount)).keywords == given


@pytest.mark.parametrize(
    ("totals", "counts"),
    [
        ([("yes", "3")], [4, 3]),
        ([("yes", "50%")], [3, 4]),
        ([("yes", "50%"), ("no", "50 %")], [3, 4]),
        ([("no", "50%"), ("yes", "50%")], [4, 3]),
        ([("no", "0%")], [0, 7]),
    ],
    ids=str,
)
def test_shares_are_rounded_and_add_up_where_they_name_everybody(answers, totals, counts):
    _, targets = answers(*totals).read()
    assert targets.class_totals().tolist() == counts


def test_without_totals_a_fit_is_told_nothing(answers):
    assert answers().keywords == {}


def test_totals_of_all_rows_count_the_labeled_ones(answers):
    told = answers(of_all=(ClassTotal("yes", "50%"),))
    assert told.keywords == {"population_totals": {"yes": 0.5}, "as_shares": True}
    _, targets = told.read()
    assert targets.class_totals().tolist() == [3, 4]


@pytest.mark.parametrize(
    ("labels", "name", "label"),
    [(["1", "0", ""], "1", 1), (["1", "1", ""], "0", 0), (["007", "8", ""], "008", "008")],
    ids=str,
)
def test_class_is_of_the_kind_of_the_labels(answers, labels, name, label):
    ((found, count),) = answers((name, "1"), labels=labels).totals.items()
    assert (found, type(found), count) == (label, type(label), 1)


@pytest.mark.parametrize(
    ("amount", "weights", "rest"),
    [
        ("2", [1, 1, 1, 1], 1),
        ("2", [5, 1, 2, 3], 4.0),
        ("25%", [1, 1, 1, 1], 0.75),
        ("1..2", [1, 1, 1, 1], (1, 2)),
        ("..2", [1, 1, 1, 1], (1, None)),
        ("1±0.5", [1, 1, 1, 1], Estimate(2, 0.5)),
    ],
    ids=str,
)
def test_all_other_rows_are_of_another_class_if_one_class_is_labeled_and_has_a_total(answers, amount, weights, rest):
    told = answers(("yes", amount), labels=["yes", "", "", ""], weights=weights)
    assert told.totals["not yes"] == rest
    told.read()


@pytest.mark.parametrize(
    ("amount", "sentence"),
    [
        (
            "-1",
            "Expected the total of class 'yes' to be a count, a share, an interval or an estimate, as in 1840, 38%, "
            "1800..1880 or 1840±20, got '-1'.",
        ),
        ("", "got ''."),
        ("..", "got '..'."),
        ("1e5", "got '1e5'."),
        ("30%..40", "got '30%..40'."),
        ("1±", "got '1±'."),
        ("9" * 5000, "got '999"),
        ("120%", "Expected a share of at most 100% for class 'yes', got '120%'."),
    ],
    ids=lambda value: value[:10],
)
def test_other_amounts_are_refused(amount, sentence):
    with pytest.raises(InvalidProblem) as caught:
        ClassTotal("yes", amount)
    assert sentence in str(caught.value)


def test_two_totals_of_one_class_are_refused_however_they_are_written(answers):
    with pytest.raises(InvalidProblem, match="Expected one total for every class, got several for '01'"):
        answers(("1", "1"), ("01", "1"), labels=["1", "0", ""])


def test_counts_beside_shares_are_refused_unless_all_are_shares(answers):
    with pytest.raises(InvalidProblem, match="Expected totals that are all counts or all shares, got some of each"):
        answers(("yes", "50%"), ("no", "3"))
    assert answers(("yes", "50%"), ("no", "0.5"), as_shares=True).keywords["as_shares"]
