"""Totals as counts, shares, intervals and estimates, for labels of every kind."""

from __future__ import annotations

import pytest

from s2oct.errors import InvalidProblem
from s2oct.problem.totals import WHOLE, Estimate
from s2oct.tables.partly_labeled import Roles, read_partly_labeled
from s2oct.tables.totals import TableTotals
from tests.messages import names, naming

LABELS = ["no", "yes", *[""] * 7]


@pytest.fixture
def known(table):
    """``known(*totals, labels=...)`` says what is known of a table with these labels and totals."""

    def tell(*totals, labels=LABELS, weights=None, **more):
        weights = weights or [1] * len(labels)
        rows = [f"{i},{w},{label}" for i, (label, w) in enumerate(zip(labels, weights, strict=True))]
        source = table("\n".join(["x,w,y", *rows]))
        roles = Roles("y", weight=None if set(weights) == {1} else "w")
        return TableTotals(totals, **more).known(read_partly_labeled(source, roles))

    return tell


@pytest.mark.parametrize(
    ("amount", "given", "is_share"),
    [
        ("120", 120, False),
        ("120.5", 120.5, False),
        ("38%", 0.38, True),
        ("100..140", (100, 140), False),
        ("100 .. 140", (100, 140), False),
        ("100..", (100, None), False),
        ("..140", (None, 140), False),
        ("30..40%", (0.3, 0.4), True),
        ("30%..40%", (0.3, 0.4), True),
        ("120±8", Estimate(120, 8), False),
        ("120 +- 8.5", Estimate(120, 8.5), False),
        ("120+/-8", Estimate(120, 8), False),
        ("34±2%", Estimate(0.34, 0.02), True),
    ],
)
def test_amounts_are_what_the_python_call_takes(known, amount, given, is_share):
    stated = known(("yes", amount), labels=["no", "yes", *[""] * 150], weights=[2] * 152).stated
    assert stated.tables[0][WHOLE] == {"yes": given}
    assert (stated.of_all, stated.as_shares) == (False, is_share)


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
def test_shares_are_rounded_and_add_up_where_they_name_everybody(known, totals, counts):
    assert known(*totals).targets.class_totals().tolist() == counts


def test_without_totals_a_fit_is_told_nothing(known):
    assert not known().stated.tables


def test_totals_of_all_rows_count_the_labeled_ones(known):
    found = known(("yes", "50%"), of_all=True)
    assert (found.stated.tables[0][WHOLE], found.stated.of_all, found.stated.as_shares) == ({"yes": 0.5}, True, True)
    assert found.targets.class_totals().tolist() == [3, 4]


@pytest.mark.parametrize(
    ("labels", "name", "label"),
    [(["1", "0", ""], "1", 1), (["1", "1", ""], "0", 0), (["007", "007", ""], "0a", "0a")],
    ids=str,
)
def test_class_is_of_the_kind_of_the_labels(known, labels, name, label):
    ((found, count),) = known((name, "1"), labels=labels).stated.tables[0][WHOLE].items()
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
def test_all_other_rows_are_of_another_class_if_one_class_is_labeled_and_has_a_total(known, amount, weights, rest):
    found = known(("yes", amount), labels=["yes", "", "", ""], weights=weights)
    assert found.stated.tables[0][WHOLE]["not yes"] == rest


@pytest.mark.parametrize(
    ("amount", "named"),
    [
        (
            "-1",
            ("'yes'", "1840", "38%", "1800..1880", "1840±20", "estimate", "'-1'"),
        ),
        ("", ("''",)),
        ("..", ("'..'",)),
        ("1e5", ("'1e5'",)),
        ("30%..40", ("'30%..40'",)),
        ("1±", ("'1±'",)),
        ("9" * 5000, ("'999",)),
        ("120%", ("100%", "'yes'", "'120%'")),
    ],
    ids=lambda value: value[:10] if isinstance(value, str) else "",
)
def test_other_amounts_are_refused(amount, named):
    with pytest.raises(InvalidProblem) as caught:
        TableTotals([("yes", amount)])
    assert names(caught.value, *named)


def test_blanks_around_a_class_in_the_file_need_not_be_typed(known):
    stated = known(("yes", "4"), labels=[" no", " yes", *[""] * 7]).stated
    assert stated.tables[0][WHOLE] == {" yes": 4}


def test_two_totals_of_one_class_are_refused_however_they_are_written(known):
    with pytest.raises(InvalidProblem, match=naming("'01'", "total", "class")):
        known(("1", "1"), ("01", "1"), labels=["1", "0", ""])


def test_counts_beside_shares_are_refused_unless_all_are_shares(known):
    with pytest.raises(InvalidProblem, match=naming("total", "share")):
        known(("yes", "50%"), ("no", "3"))
    assert known(("yes", "50%"), ("no", "0.5"), as_shares=True).stated.as_shares
