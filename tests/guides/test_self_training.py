"""How forests are mixed, which weights labels get, and where the threshold is."""

import numpy as np
import pytest
from scipy.special import expit

from s2oct.guides.forest import BEYOND, ForestParams, Grower, SelfTraining, _shares, scores_of, settled
from s2oct.guides.meeting_totals import threshold_between, top_rows
from s2oct.problem.known import Known
from s2oct.problem.labels import Labels
from s2oct.problem.totals import Targets

EVEN_SHARE = ForestParams().even_share


def known_rows(codes, totals, n_labeled=None, weights=None):
    """What is known about rows of which the first are labeled."""
    n_labeled = len(codes) if n_labeled is None else n_labeled
    m = int(sum(totals)) if len(codes) == n_labeled else len(codes) - n_labeled
    all_codes = np.append(codes[:n_labeled], np.full(m, -1))
    return Known.of_rows(Labels(np.arange(len(totals)), all_codes), Targets.exact(totals, m), weights).in_rows


def trained(rows, codes, n_labeled, n_second, n_rounds=0, n_trees=60):
    return trained_to(rows, codes, n_labeled, [len(rows) - n_labeled - n_second, n_second], n_rounds, n_trees)


def trained_to(rows, codes, n_labeled, totals, n_rounds=0, n_trees=60, weights=None):
    rows = rows.astype(np.float32)
    grower = Grower(n_trees, np.random.RandomState(0))
    known = known_rows(codes, totals, n_labeled, weights)
    fitting = SelfTraining(rows[:n_labeled], rows[n_labeled:], rows.shape[1], known, grower)
    fitting.run(n_rounds)
    return fitting


# The mix


def test_half_of_the_mix_is_even_and_half_follows_the_likelihood():
    shares = _shares(np.array([3.0, 3.0 + np.log(2), 3.0 + np.log(4)]), EVEN_SHARE)
    assert np.allclose(shares, EVEN_SHARE / 3 + (1 - EVEN_SHARE) * np.array([4, 2, 1]) / 7)
    assert np.allclose(_shares(np.array([1e6, 0.0]), EVEN_SHARE), [EVEN_SHARE / 2, 1 - EVEN_SHARE / 2])


def test_where_one_feature_decides_the_forest_that_looks_at_all_features_counts_most():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 30))
    codes = (rows[:, 7] > 0).astype(np.int64)
    fitting = trained(rows, codes, 60, int(codes[60:].sum()))
    shares = [member.share for member in fitting.forests]
    assert sum(shares) == pytest.approx(1)
    assert np.argmax(shares) == 3
    assert shares[3] > 0.6
    assert (settled(fitting.ranking, fitting.known)[0] == codes[60:]).mean() > 0.9


def test_labels_by_chance_leave_the_mix_nearer_to_even():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 100)
    shares = [member.share for member in trained(rng.normal(size=(100, 5)), codes, 20, 40).forests]
    assert min(shares) >= EVEN_SHARE / 4
    assert max(shares) < 0.6


def test_the_forests_of_the_rounds_count_half_together():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(80, 3))
    codes = (rows[:, 0] > 0).astype(np.int64)
    first = trained(rows, codes, 20, 30).forests
    members = trained(rows, codes, 20, 30, n_rounds=2).forests
    assert [member.share for member in members[:2]] == [0.25, 0.25]
    assert [member.share for member in members[2:]] == [0.5 * member.share for member in first]


@pytest.mark.parametrize("n_second", [0, 60])
def test_a_total_that_leaves_no_choice_needs_no_rounds(n_second):
    rng = np.random.default_rng(1)
    codes = np.arange(80) % 2
    assert len(trained(rng.normal(size=(80, 3)), codes, 20, n_second, n_rounds=2).forests) == 4


# Weights


def test_labeled_rows_get_the_known_shares():
    codes = np.array([0] * 8 + [1] * 2)
    weights = known_rows(codes, [30, 90]).known_share_weights()
    assert weights.mean() == pytest.approx(1)
    assert weights[codes == 1].sum() / weights.sum() == pytest.approx(0.75)
    assert len(set(weights[codes == 0])) == 1


def test_a_class_with_a_total_of_0_keeps_some_weight():
    weights = known_rows(np.array([0, 0, 1]), [10, 0]).known_share_weights()
    assert (weights > 0).all()
    assert weights[2] < weights[0]


def test_without_unlabeled_rows_all_weights_are_1():
    assert known_rows(np.array([0, 0, 1]), [0, 0]).known_share_weights().tolist() == [1, 1, 1]


# The threshold


def test_scores_keep_the_order_of_probabilities_and_are_finite():
    second = np.array([0.0, 1e-4, 1e-3, 0.3, 0.9, 0.9999, 1.0])
    scores = scores_of(second[:, None])[:, 0]
    assert np.isfinite(scores).all()
    assert (np.diff(scores) > 0).all()
    assert scores_of(np.array([[0.5]])) == pytest.approx(0)


@pytest.mark.parametrize("n_above", range(6))
@pytest.mark.parametrize("beyond", [None, BEYOND], ids=["next to the scores", "far from them"])
@pytest.mark.parametrize("second", [[0.0, 0.2, 0.4, 0.9, 1.0], [0.0, 1e-5, 1e-4, 2e-4, 1e-3]], ids=["spread", "low"])
def test_as_many_rows_are_above_the_threshold_as_the_total_says(second, n_above, beyond):
    scores = scores_of(np.array(second)[:, None])[:, 0]
    assert (scores > threshold_between(scores, n_above, beyond)).sum() == n_above


def test_equal_scores_at_the_threshold_are_at_a_half_and_the_first_rows_get_the_class():
    second = np.array([0.1, 0.6, 0.6, 0.6, 0.9])
    scores = scores_of(second[:, None])[:, 0]
    assert expit(scores - threshold_between(scores, 2, BEYOND)).tolist()[1:4] == [0.5] * 3
    assert top_rows(second, 2).tolist() == [0, 1, 0, 0, 1]


def test_without_scores_the_threshold_is_a_probability_of_a_half():
    assert threshold_between(np.empty(0), 0, BEYOND) == 0
