"""The measures against scikit-learn's."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score, matthews_corrcoef, precision_score, recall_score

from s2oct.study.measures import Confusion


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=30))
def test_measures_are_those_of_scikit_learn_and_0_where_undefined(rows):
    truth, predicted = np.array(rows).T
    counts = Confusion.of(truth, predicted)
    off = np.sum(truth) - np.sum(predicted)
    assert counts.n_rows == len(rows)
    assert counts.accuracy == pytest.approx(accuracy_score(truth, predicted))
    assert counts.precision == pytest.approx(precision_score(truth, predicted, pos_label=0, zero_division=0))
    assert counts.recall == pytest.approx(recall_score(truth, predicted, pos_label=0, zero_division=0))
    assert counts.n_off == abs(off)
    if len(set(truth)) == len(set(predicted)) == 2:
        assert counts.mcc == pytest.approx(matthews_corrcoef(truth, predicted))
    else:
        assert counts.mcc == 0.0


def test_counts_beyond_32_bits_do_not_overflow():
    assert Confusion(((10**6, 10**6), (10**6, 3 * 10**6))).mcc == pytest.approx(0.25)


@given(
    st.integers(3, 5).flatmap(
        lambda k: st.tuples(st.just(k), st.lists(st.tuples(*[st.integers(0, k - 1)] * 2), min_size=1, max_size=30))
    )
)
def test_measures_of_several_classes_are_those_of_scikit_learn_and_0_where_undefined(drawn):
    k, rows = drawn
    truth, predicted = np.array(rows).T
    counts = Confusion.of(truth, predicted, k)
    labels = np.arange(k)
    assert counts == Confusion(tuple(map(tuple, confusion_matrix(truth, predicted, labels=labels).tolist())))
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
        assert Confusion.of(truth, predicted, 3).n_off == (everything[meets] != predicted).sum(axis=1).min()
