"""The measures against scikit-learn's."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score, matthews_corrcoef, precision_score, recall_score

from s2oct.study.measures import ClassCounts, Confusion, confusion_of


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30))
def test_measures_are_those_of_scikit_learn_and_0_where_undefined(rows):
    truth, predicted = np.array(rows).T
    counts = Confusion.of(truth, predicted)
    assert counts.n_rows == len(rows)
    assert counts.accuracy == pytest.approx(accuracy_score(truth, predicted))
    assert counts.precision == pytest.approx(precision_score(truth, predicted, zero_division=0))
    assert counts.recall == pytest.approx(recall_score(truth, predicted, zero_division=0))
    if len(set(truth)) == len(set(predicted)) == 2:
        assert counts.mcc == pytest.approx(matthews_corrcoef(truth, predicted))
    else:
        assert counts.mcc == 0.0


def test_counts_beyond_32_bits_do_not_overflow():
    assert Confusion(tp=10**6, fp=10**6, fn=10**6, tn=3 * 10**6).mcc == pytest.approx(0.25)


@given(
    st.integers(3, 5).flatmap(
        lambda k: st.tuples(st.just(k), st.lists(st.tuples(*[st.integers(0, k - 1)] * 2), min_size=1, max_size=30))
    )
)
def test_measures_of_several_classes_are_those_of_scikit_learn_and_0_where_undefined(drawn):
    k, rows = drawn
    truth, predicted = np.array(rows).T
    counts = confusion_of(truth, predicted, k)
    labels = np.arange(k)
    assert counts == ClassCounts(tuple(map(tuple, confusion_matrix(truth, predicted, labels=labels).tolist())))
    assert counts.n_rows == len(rows)
    assert counts.accuracy == pytest.approx(accuracy_score(truth, predicted))
    if min(len(set(truth)), len(set(predicted))) > 1:
        assert counts.mcc == pytest.approx(matthews_corrcoef(truth, predicted), abs=1e-12)
    else:
        assert counts.mcc == 0.0
    assert counts.macro_f1 == pytest.approx(f1_score(truth, predicted, labels=labels, average="macro", zero_division=0))
    assert counts.precision == pytest.approx(precision_score(truth == 0, predicted == 0, zero_division=0))
    assert counts.recall == pytest.approx(recall_score(truth == 0, predicted == 0, zero_division=0))


def test_rows_off_the_totals_are_the_fewest_changes_that_meet_them():
    """Against trying all predictions: how many rows does the nearest one change that has the true numbers?"""
    rng = np.random.default_rng(0)
    everything = np.array(list(product(range(3), repeat=5)))
    for _ in range(20):
        truth, predicted = rng.integers(0, 3, (2, 5))
        meets = (np.sort(everything, axis=1) == np.sort(truth)).all(axis=1)
        assert confusion_of(truth, predicted, 3).n_off == (everything[meets] != predicted).sum(axis=1).min()


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=30))
def test_two_classes_have_the_same_measures_in_either_form(rows):
    truth, predicted = np.array(rows).T
    pair = confusion_of(truth, predicted, 2)
    table = ClassCounts(pair.table)
    assert isinstance(pair, Confusion)
    for measure in ("accuracy", "mcc", "precision", "recall", "macro_f1", "n_off"):
        assert getattr(pair, measure) == getattr(table, measure)
    assert pair.n_off == abs(pair.fp - pair.fn)
