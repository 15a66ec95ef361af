"""What is known about the classes of rows: labels held back, and rows that do not count."""

from __future__ import annotations

import numpy as np
import pytest

from s2oct.problem.known import known_of
from s2oct.problem.totals import stated_totals

Y = ["a", "b", "c", "a", None, None, None, None]
REGION = np.array(["n", "n", "s", "far", "n", "n", "s", "s"], dtype=object)
SEX = np.array(["f", "m", "f", "m", "f", "m", "f", "m"], dtype=object)


def known_rows(totals, domains=(), weights=None, y=Y):
    stated = stated_totals(totals, None, y=y, domains=domains)
    return known_of(y, stated, domains=tuple(domains), weights=weights)


def test_totals_of_three_classes_grow_by_the_labels_held_back():
    y = [*Y, *[None] * 20]
    held = known_of(y, stated_totals({"a": 12, "b": 8}, None, y=y, domains=())).without(np.array([0, 2]))
    assert np.flatnonzero(held.is_labeled).tolist() == [1, 3]
    assert held.targets.low.tolist() == held.targets.high.tolist() == [13, 8, 5]
    assert held.targets.class_totals().tolist() == [13, 8, 5]
    assert held.targets.margins[0].codes.tolist() == [0] * 26


def test_labels_held_back_among_few_unlabeled_rows_are_not_given_away():
    """Whatever classes the rows held back have, what is known then is the same."""
    for classes in (("a", "c"), ("c", "c"), ("b", "a")):
        known = known_rows({"a": 1, "b": 2, "c": 1}, y=[*classes, "a", "b", *Y[4:]])
        (margin,) = known.without(np.array([0, 1])).targets.margins
        assert margin.low.tolist() == [[1, 2, 1]]
        assert margin.high.tolist() == [[3, 4, 3]]
        assert np.isnan(margin.value).all()


def test_without_an_unlabeled_row_nothing_is_known_of_rows_held_back():
    y = ["a", "b"] * 4
    (margin,) = known_of(y, stated_totals(None, None, y=y, domains=())).without(np.array([0, 2, 3])).targets.margins
    assert (margin.low.tolist(), margin.high.tolist()) == ([[0, 0]], [[3, 3]])


def test_each_label_counts_in_its_own_domain_even_if_no_other_row_there_is_unlabeled():
    y, region = [*Y, *[None] * 10], np.array([*REGION, *["n"] * 10], dtype=object)
    totals = {"n": {"a": 6, "b": 6, "c": 0}, "s": {"a": 0, "b": (0, 2)}}
    domains = (("region", region),)
    known = known_of(y, stated_totals(totals, None, y=y, domains=domains), domains=domains)
    (margin,) = known.without(np.array([1, 3])).targets.margins
    assert margin.domains.tolist() == ["n", "s", "far"]
    assert margin.codes.tolist() == [0, 2, 0, 0, 1, 1, *[0] * 10]
    assert margin.low.tolist() == [[6, 7, 0], [0, 0, 0], [0, 0, 0]]
    assert margin.high.tolist() == [[6, 7, 0], [0, 2, 2], [1, 1, 1]]


@pytest.mark.parametrize("held", [[0], [1, 2], [0, 2, 3]], ids=str)
def test_grown_totals_hold_for_the_rows_that_are_left(held):
    """Several margins and weights: what was known plus the weights held back is within the bounds."""
    weights = np.array([1.5, 2.0, 0.5, 1.0, 1.0, 2.0, 3.0, 4.0])
    domains = [("region", REGION), ("sex", SEX)]
    totals = [
        {"n": {"a": 1.0, "b": 2.0, "c": 0.0}, "s": {"a": 3.0, "b": 4.0, "c": 0.0}},
        {"f": {"a": 4.0, "b": 0.0, "c": 0.0}, "m": {"a": 0.0, "b": 6.0, "c": 0.0}},
    ]
    known = known_rows(totals, domains, weights)
    found = known.without(np.array(held))
    after = np.array([4.0, 6.0, 0.0]) + np.bincount(known.labels.codes[held], weights=weights[held], minlength=3)
    for margin, (_, values) in zip(found.targets.margins, domains, strict=True):
        assert (margin.low.sum(axis=0) <= after).all()
        assert (margin.high.sum(axis=0) >= after).all()
        assert (margin.high - margin.low).max(axis=1).sum() == pytest.approx(weights[held].sum())
        assert margin.domains[margin.codes].tolist() == values[~found.is_labeled].tolist()


def test_rows_of_weight_0_do_not_count_and_keep_their_label():
    weights = np.array([0.0, 2.0, 1.0, 1.0, 1.0, 0.0, 2.0, 1.0])
    known = known_rows({"a": 2, "b": 1, "c": 1}, weights=weights)
    assert known.counted.tolist() == [1, 2, 3, 4, 6, 7]
    assert known.uncounted.tolist() == [5]
    completed = known.completed(np.array(list("bcaaab")), lambda rows: np.array(["c"] * len(rows)))
    assert completed.tolist() == list("abcaacab")


def test_a_label_held_back_is_missing_in_the_table_too():
    weights = np.array([0.0, 2.0, 1.0, 1.0, 1.0, 0.0, 2.0, 1.0])
    held = known_rows({"a": 2, "b": 1, "c": 1}, weights=weights).without(np.array([0]))
    values = np.arange(float((~held.is_labeled).sum()))
    found = held.of_unlabeled(values)
    assert found[~np.isnan(found)].tolist() == values.tolist()


def test_mean_weights_count_rows_and_equal_weights_are_none():
    known = known_rows({"a": 4, "b": 2, "c": 2}, weights=np.full(8, 2.0))
    assert known.in_rows.weights is None
    assert known.in_rows.targets.class_totals().tolist() == [2, 1, 1]
    assert known.unit == 2
