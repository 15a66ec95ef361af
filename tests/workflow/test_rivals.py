"""Rivals of a tree: each meets the totals, and none is changed by being asked."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from s2oct import PriorCorrectedClassifier, TopTotalClassifier
from s2oct.problem.known import Known
from s2oct.problem.labels import Labels
from s2oct.problem.totals import Targets
from s2oct.workflow.comparison import assign_classes, light_rivals, strong, usual_rivals


def known(codes, totals):
    return Known.of_rows(Labels(np.arange(2), codes), Targets.exact(totals, 40))


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    codes = (X[:, 0] > 0).astype(np.int64)
    codes[20:] = -1
    return X, codes


@pytest.mark.parametrize("total", [0, 7, 40])
def test_every_usual_rival_meets_the_total(rows, total):
    assigned = assign_classes(usual_rivals(), rows[0], known(rows[1], [40 - total, total]))
    assert list(assigned) == ["logistic regression", "random forest"]
    for codes in assigned.values():
        assert codes.shape == (40,)
        assert np.bincount(codes, minlength=2).tolist() == [40 - total, total]


def test_classes_are_those_of_the_weighted_classifier_with_its_threshold_moved(rows):
    """Computed by hand: sample weights by the known shares, then the nine rows with the highest scores."""
    X, codes = rows
    weights = (np.array([31, 9]) / 40 / (np.bincount(codes[:20]) / 20))[codes[:20]]
    scores = LogisticRegression().fit(X[:20], codes[:20], sample_weight=weights).decision_function(X[20:])
    expected = np.where(scores >= np.sort(scores)[-9], "b", "a")
    assigned = assign_classes({"mine": LogisticRegression()}, X, known(codes, [31, 9]))
    assert [("a", "b")[code] for code in assigned["mine"]] == expected.tolist()


def test_light_rivals_hold_the_usual_ones_and_a_decision_tree_of_the_given_depth(rows):
    rivals = light_rivals(depth=3)
    assert list(rivals)[:2] == list(usual_rivals())
    assert rivals["decision tree of depth 3"].max_depth == 3
    assigned = assign_classes(rivals, rows[0], known(rows[1], [25, 15]))
    assert all(codes.sum() == 15 for codes in assigned.values())


def test_a_rival_that_knows_the_totals_is_not_weighted_again():
    weighted = PriorCorrectedClassifier(LogisticRegression())
    assert strong(weighted).estimator is weighted
    assert isinstance(strong(LogisticRegression()).estimator, PriorCorrectedClassifier)
    assert isinstance(strong(TopTotalClassifier(LogisticRegression())).estimator, TopTotalClassifier)


def test_rival_that_is_given_stays_unfitted_and_its_warnings_are_not_shown(rows):
    rival = LogisticRegression(max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assign_classes({"hasty": rival}, rows[0], known(rows[1], [20, 20]))
    assert not hasattr(rival, "coef_")
