"""How much there is to read in a tree."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from s2oct import ObliqueTree, PriorCorrectedClassifier, Topology, TopTotalClassifier
from s2oct.estimators.fitted import tree_size
from s2oct.trees.features import as_features
from s2oct.trees.rules import TreeSize


def tree_of(omega, gamma):
    return ObliqueTree.of(Topology(2, 2), np.array(omega, dtype=float), np.array(gamma, dtype=float))


@pytest.mark.parametrize(
    ("omega", "gamma", "expected"),
    [
        ([[1, 2, 0], [0, 1, 0], [3, 0, 1]], [0, 0, 0], TreeSize(3, 5)),
        ([[1, 2, 0], [0, 0, 0], [3, 0, 1]], [0, 1, 0], TreeSize(2, 4)),
        # The root sends all rows left or right: one split below it is out of reach.
        ([[0, 0, 0], [0, 1, 0], [3, 0, 1]], [1, 0, 0], TreeSize(1, 1)),
        ([[0, 0, 0], [0, 1, 0], [3, 0, 1]], [-1, 0, 0], TreeSize(1, 2)),
        ([[0, 0, 0], [0, 0, 0], [0, 0, 0]], [1, 1, 1], TreeSize(0, 0)),
    ],
)
def test_only_splits_that_decide_something_are_counted(omega, gamma, expected):
    assert TreeSize.of_tree(tree_of(omega, gamma), as_features("abc")) == expected


def test_features_per_split_is_a_mean_and_0_for_a_tree_without_splits():
    assert TreeSize(2, 5).features_per_split == 2.5
    assert TreeSize(0, 0).features_per_split == 0


def test_size_is_read_through_wrappers_and_pipelines_and_forests_have_none():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] + X[:, 1] > 0, "a", "b").astype(object)
    y[30:] = None
    cart = DecisionTreeClassifier(max_depth=2, random_state=0)
    alone = tree_size(cart.fit(X[:30], y[:30].astype(str)))
    assert alone == TreeSize(cart.get_n_leaves() - 1, cart.get_n_leaves() - 1)
    wrapped = TopTotalClassifier(make_pipeline(StandardScaler(), cart)).fit(X, y, totals={"a": 15})
    assert tree_size(wrapped) == alone
    both = TopTotalClassifier(PriorCorrectedClassifier(cart)).fit(X, y, totals={"a": 15})
    assert tree_size(both).n_splits == both.estimator_.estimator_.get_n_leaves() - 1
    assert tree_size(TopTotalClassifier(RandomForestClassifier(5)).fit(X, y, totals={"a": 15})) is None
