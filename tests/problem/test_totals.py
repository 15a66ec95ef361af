import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2oct.errors import InvalidProblem
from s2oct.problem.labels import read_labels
from s2oct.problem.totals import stated_totals
from tests.messages import naming
from tests.totals import read_targets

LABELS = read_labels(["no", "no", "no", "yes", *[None] * 6])


def counts_of(labels, totals, population_totals):
    """Unlabeled rows of each class, all of them known exactly."""
    targets = read_targets(labels, totals, population_totals)
    assert targets.is_plain
    return targets.low


@pytest.mark.parametrize(
    "totals",
    [{"yes": 2}, {"no": 4}, {"no": 4, "yes": 2}, {"yes": 2.0}, {"yes": np.int32(2)}, {"yes": np.float64(2)}],
    ids=str,
)
def test_one_class_is_enough_and_the_rest_is_filled_in(totals):
    assert counts_of(LABELS, totals, None).tolist() == [4, 2]


@given(st.integers(0, 6))
def test_population_totals_count_the_labeled_rows_too(total):
    """totals and population_totals that mean the same give the same problem."""
    of_unlabeled = counts_of(LABELS, {"yes": total}, None)
    of_all = counts_of(LABELS, None, {"yes": total + 1})
    assert of_unlabeled.tolist() == of_all.tolist() == [6 - total, total]


def test_without_totals_the_labeled_shares_are_taken():
    """Without a warning: the estimators warn, see `Known.doubts`."""
    assert counts_of(LABELS, None, None).tolist() == [4, 2]


@given(st.lists(st.integers(1, 9), min_size=2, max_size=4), st.integers(0, 50))
def test_estimated_totals_add_up_and_are_never_negative(counts, m):
    labels = read_labels([f"class {k}" for k, count in enumerate(counts) for _ in range(count)] + [None] * m)
    estimated = counts_of(labels, None, None)
    assert estimated.sum() == m
    assert (estimated >= 0).all()


def test_a_fully_labeled_table_needs_no_totals():
    assert counts_of(read_labels(["no", "yes"]), None, None).tolist() == [0, 0]


@pytest.mark.parametrize("totals", [{"no": 2, "maybe": 2}, {"no": 1, "maybe": 2, "yes": 3}], ids=str)
def test_three_classes_may_leave_out_one(totals):
    labels = read_labels(["no", "maybe", "yes", *[None] * 6])
    assert counts_of(labels, totals, None).sum() == 6


def test_two_classes_that_are_left_out_are_unknown():
    labels = read_labels(["no", "maybe", "yes", *[None] * 6])
    targets = read_targets(labels, {"no": 1}, None)
    assert labels.classes.tolist() == ["maybe", "no", "yes"]
    assert targets.low.tolist() == [0, 1, 0]
    assert (targets.high[[0, 2]] >= 5).all()
    assert targets.high[1] == 1


@pytest.mark.parametrize(
    ("totals", "population_totals", "named"),
    [
        ({"yes": 7}, None, ("'yes'", 0, 6, 7)),
        ({"yes": -1}, None, ("'yes'", 0, 6, -1)),
        ({"yes": 0.5}, None, ("0.5", "as_shares")),
        ({"yes": True}, None, ("True",)),
        ({"yes": 1, "no": 1}, None, (6, "{'yes': 1, 'no': 1}", 2)),
        ({"Yes": 2}, None, ("['no', 'yes']", "'Yes'", "'yes'")),
        (None, {"yes": 11}, ("'yes'", 0, 10, 11)),
        (None, {"no": 2}, ("'no'", 3, 2)),
        (None, {"yes": 8}, ("'no'", 3, 2)),
    ],
    ids=str,
)
def test_totals_that_cannot_be_are_refused(totals, population_totals, named):
    with pytest.raises(InvalidProblem, match=naming(*named)):
        counts_of(LABELS, totals, population_totals)


def test_the_hint_for_a_class_of_another_type_shows_the_class_as_it_is():
    with pytest.raises(InvalidProblem, match=naming("[0, 1]", "'1'")):
        counts_of(read_labels([0, 1, None]), {"1": 1}, None)


def test_named_classes_are_those_of_whichever_totals_are_given():
    assert stated_totals(None, None).classes == []
    assert stated_totals({"a": 1}, None).classes == ["a"]
    assert stated_totals(None, {"b": 1, "a": 2}).classes == ["b", "a"]


@pytest.mark.parametrize("given_totals", [{}, [1, 2], 5, "yes=2"], ids=str)
def test_totals_that_are_no_mapping_are_refused(given_totals):
    with pytest.raises(InvalidProblem, match=naming("population_totals", "class")):
        stated_totals(None, given_totals)


def test_both_kinds_of_totals_together_are_refused():
    with pytest.raises(InvalidProblem, match=naming(" totals", "population_totals", "both")):
        stated_totals({"a": 1}, {"a": 1})


@given(st.lists(st.integers(1, 9), min_size=2, max_size=5), st.integers(0, 50))
def test_assumed_totals_are_less_than_one_row_from_the_labeled_shares(counts, m):
    labels = read_labels([f"class {k}" for k, count in enumerate(counts) for _ in range(count)] + [None] * m)
    assert (np.abs(counts_of(labels, None, None) - np.array(counts) * m / sum(counts)) < 1 + 1e-6).all()


@given(st.integers(1, 30), st.integers(1, 30), st.integers(0, 60))
def test_assumed_totals_of_two_classes_round_the_first(first, second, m):
    """Halves go to the even number, as they always did."""
    labels = read_labels(["a"] * first + ["b"] * second + [None] * m)
    expected = int(np.round(first * m / (first + second)))
    assert counts_of(labels, None, None).tolist() == [expected, m - expected]


@given(st.integers(0, 6), st.booleans())
def test_targets_of_two_classes_and_one_total_are_the_counts(total, is_of_all):
    targets = read_targets(LABELS, *((None, {"yes": total + 1}) if is_of_all else ({"yes": total}, None)))
    assert targets.is_plain
    assert targets.low.tolist() == targets.margins[0].value[0].tolist() == [6 - total, total]


@pytest.mark.parametrize(
    ("labeled", "totals"),
    [
        (["employed", "inactive"], {"employed": 2, "unemployed": 1, "inactive": 3}),
        (["employed", "inactive"], {"inactive": 2, "unemployed": 1}),
        (["class_1", "class_2"], {"class_1": 2, "class_3": 1}),
        (["no", "yes"], {"yes": 2, "retired": 1}),
        ([1, 2], {1: 2, 3: 4}),
    ],
    ids=str,
)
def test_totals_may_name_a_class_that_no_row_has(labeled, totals):
    labels = read_labels([*labeled, *[None] * 6], named=stated_totals(totals, None).classes)
    assert labels.classes.tolist() == sorted({*labeled, *totals})
    margin = read_targets(labels, totals, None).margins[0]
    assert [margin.value[0, labels.classes.tolist().index(label)] for label in totals] == list(totals.values())


@pytest.mark.parametrize(
    ("labeled", "totals", "named"),
    [
        (["employed", "inactive"], {"employd": 2, "inactive": 1}, ("'employd'", "'employed'")),
        (["employed", "inactive"], {"Inactive ": 2}, ("'Inactive '", "'inactive'")),
        (["no", "yes"], {"retired": 2}, ("['no', 'yes']", "'retired'")),
        (["no", "yes"], {"yes": 2, 1: 3}, ("['no', 'yes']", 1)),
        ([1, 2], {"1": 2}, ("[1, 2]", "'1'", 1)),
    ],
    ids=str,
)
def test_a_class_that_is_probably_a_typing_error_is_refused(labeled, totals, named):
    labels = read_labels([*labeled, *[None] * 6], named=stated_totals(totals, None).classes)
    with pytest.raises(InvalidProblem, match=naming(*named)):
        read_targets(labels, totals, None)
