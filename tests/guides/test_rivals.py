"""Rivals of a tree: each meets the totals, and none is changed by being asked."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from s2oct import TopTotalClassifier
from s2oct.guides.rivals import assign_classes, usual_rivals


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    codes = (X[:, 0] > 0).astype(np.int64)
    codes[20:] = -1
    return X, codes


@pytest.mark.parametrize("total", [0, 7, 40])
def test_every_usual_rival_meets_the_total(rows, total):
    assigned = assign_classes(usual_rivals(), *rows, np.array([40 - total, total]))
    assert list(assigned) == ["logistic regression", "random forest"]
    for codes in assigned.values():
        assert codes.shape == (40,)
        assert np.bincount(codes, minlength=2).tolist() == [40 - total, total]


def test_classes_are_those_of_the_classifier_with_its_threshold_moved(rows):
    X, codes = rows
    y = [None if code < 0 else "ab"[code] for code in codes]
    expected = TopTotalClassifier(LogisticRegression()).fit(X, y, totals={"b": 9}).transduction_[20:]
    assigned = assign_classes({"mine": LogisticRegression()}, X, codes, np.array([31, 9]))
    assert [("a", "b")[code] for code in assigned["mine"]] == expected.tolist()


def test_rival_that_is_given_stays_unfitted_and_its_warnings_are_not_shown(rows):
    rival = LogisticRegression(max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assign_classes({"hasty": rival}, *rows, np.array([20, 20]))
    assert not hasattr(rival, "coef_")
