"""How labeled rows are drawn: bootstrap within classes, and replicate weights against textbook variances."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2oct.estimates.estimating import Estimation
from s2oct.estimates.replicates import HELD_OUT_DRAWS, Drawing
from s2oct.problem.known import Known
from s2oct.problem.labels import UNLABELED, Labels
from tests.estimates.nearest_mean import NearestMean


def jackknife(n):
    """Weights of the jackknife that leaves out one row after the other."""
    return Drawing((1 - np.eye(n)) * n / (n - 1), (n - 1) / n)


@given(st.lists(st.integers(0, 3), max_size=20), st.integers(0, 2**32 - 1))
def test_every_class_keeps_its_number_of_labels(codes, seed):
    codes = np.array(codes, dtype=np.int64)
    drawn = Drawing().times(codes, 0, np.random.default_rng(seed))
    for k in range(4):
        assert drawn[codes == k].sum() == (codes == k).sum()


def test_the_jackknife_of_a_mean_has_the_textbook_variance():
    values = np.random.default_rng(0).normal(size=12)
    drawing = jackknife(12)
    replicated = np.array([[np.average(values, weights=drawing.factors[:, r])] for r in range(12)])
    assert drawing.variance(replicated, np.array([values.mean()])) == pytest.approx([values.var(ddof=1) / 12])


def test_balanced_half_samples_of_a_mean_have_the_textbook_variance():
    """Two rows in each of three strata, and the four half samples of a Hadamard matrix."""
    values = np.array([[1.0, 4.0], [2.0, 9.0], [-3.0, 5.0]])
    signs = np.array([[1, 1, 1], [-1, 1, -1], [1, -1, -1], [-1, -1, 1]])
    factors = np.stack([1 + signs, 1 - signs], axis=2).reshape(4, 6).T.astype(float)
    drawing = Drawing(factors, 1 / 4)
    replicated = np.array([[np.average(values.ravel(), weights=column)] for column in factors.T])
    by_stratum = ((values[:, 0] - values[:, 1]) ** 2).sum() / 4 / 9
    assert drawing.variance(replicated, np.array([values.mean()])) == pytest.approx([by_stratum])


def test_weights_that_leave_rows_out_need_no_more_replicates_and_others_do():
    assert jackknife(5).n_added == 0
    never_zero = Drawing(np.full((5, 4), 1.5), 0.25)
    assert never_zero.n_added == HELD_OUT_DRAWS
    drawn = never_zero.times(np.zeros(5, dtype=np.int64), 4, np.random.default_rng(0))
    assert drawn.sum() == 5


def test_a_replicate_is_fitted_to_rows_that_weigh_what_the_survey_says():
    fit = NearestMean.example(drawing=jackknife(20))
    found = fit.replicate(0, 3)
    assert found.drawn.tolist() == fit.drawing.factors[:, 3].tolist()
    assert np.flatnonzero(found.held_out_classes != UNLABELED).tolist() == [3]


def test_only_replicates_with_weights_count_for_the_spread():
    """All factors 1 repeat the fit: the labels add no variance, whatever the held-out replicates say."""
    fit = NearestMean.example()
    classes, probabilities, _ = fit.refit(np.arange(60), None, fit.targets, 0)
    known = Known.of_rows(Labels(np.array(["a", "b"], dtype=object), fit.codes), fit.targets)
    same = Drawing(np.ones((20, 3)), 1 / 3)
    repeated = replace(fit, drawing=same)
    found = [repeated.replicate(0, number) for number in range(3 + same.n_added)]
    estimation = Estimation(known, classes(np.arange(60)), probabilities, found, drawing=same)
    assert len(estimation.replicated) == 3
    again = np.array([q.sum(axis=0) for q in estimation.replicated])
    assert same.variance(again, estimation.unlabeled.sum(axis=0)) == pytest.approx([0, 0], abs=1e-12)
    assert any((other.held_out_classes != UNLABELED).any() for other in found[3:])
