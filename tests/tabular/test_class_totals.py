"""Totals as counts and shares, for labels of every kind."""

from __future__ import annotations

import pytest

from s2oct.errors import InvalidProblem
from s2oct.tabular.class_totals import ClassTotal, ClassTotals

LABELS = ["no", "yes", *[None] * 7]


def of_unlabeled(*totals, labels=LABELS):
    return ClassTotals(of_unlabeled=tuple(ClassTotal(*total) for total in totals)).counts(labels)["totals"]


@pytest.mark.parametrize(
    ("totals", "counts"),
    [
        ([], None),
        ([("yes", "3")], {"yes": 3}),
        ([("yes", "50%")], {"yes": 4}),
        ([("yes", "50%"), ("no", "50 %")], {"yes": 4, "no": 3}),
        ([("maybe", "0%")], {"maybe": 0}),
    ],
    ids=str,
)
def test_shares_are_rounded_and_add_up_where_they_name_everybody(totals, counts):
    assert of_unlabeled(*totals) == counts


def test_totals_of_all_rows_count_the_labeled_ones():
    counts = ClassTotals(of_all=(ClassTotal("yes", "50%"),)).counts(LABELS)
    assert counts == {"totals": None, "population_totals": {"yes": 5}}


@pytest.mark.parametrize(
    ("labels", "name", "label"),
    [([1, 0, None], "1", 1), ([1, None], "0", 0), ([True, None], "false", False), (["1", None], "0", "0")],
    ids=str,
)
def test_class_is_of_the_kind_of_the_labels(labels, name, label):
    ((found, count),) = of_unlabeled((name, "1"), labels=labels).items()
    assert (found, type(found), count) == (label, type(label), 1)


@pytest.mark.parametrize(
    ("amount", "sentence"),
    [
        ("-1", "Expected the total of class 'yes' to be a count or a share, as in 1840 or 38%, got '-1'."),
        ("0.5", "got '0.5'."),
        ("9" * 5000, "got '999"),
        ("120%", "Expected a share of at most 100% for class 'yes', got '120%'."),
    ],
    ids=lambda value: value[:10],
)
def test_amounts_are_counts_or_shares(amount, sentence):
    with pytest.raises(InvalidProblem, match=sentence):
        ClassTotal("yes", amount)


def test_two_totals_of_one_class_are_refused_however_they_are_written():
    with pytest.raises(InvalidProblem, match="Expected one total for every class, got several for '01'"):
        of_unlabeled(("1", "1"), ("01", "1"), labels=[1, 0, None])
