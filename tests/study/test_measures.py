"""The four measures against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, matthews_corrcoef, precision_score, recall_score

from s2oct.study.measures import Confusion


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
