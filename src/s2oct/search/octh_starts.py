"""Hyperplanes from which the search for OCT-H starts."""

from __future__ import annotations

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from s2oct.arrays import FloatArray
from s2oct.milp.octh import OcthSpec
from s2oct.model.problem import Problem
from s2oct.model.topology import Topology


def cart_start(
    problem: Problem, topology: Topology, spec: OcthSpec, criterion: str = "gini", seed: int = 0
) -> tuple[FloatArray, FloatArray]:
    """The splits of scikit-learn's CART with the same depth and minimum leaf, each in the middle of its gap."""
    omega, gamma = _no_splits(problem, topology)
    X = problem.X_labeled
    # CART compares single precision.
    as_cart_sees = X.astype(np.float32)
    cart = DecisionTreeClassifier(
        max_depth=topology.depth, min_samples_leaf=max(spec.min_leaf, 1), criterion=criterion, random_state=seed
    )
    tree = cart.fit(X, problem.labels, sample_weight=problem.labeled_multiplicity).tree_
    pending = [(0, 1, np.arange(len(X)))]
    while pending:
        node, target, rows = pending.pop()
        if tree.children_left[node] == tree.children_right[node]:
            continue
        feature = int(tree.feature[node])
        right = as_cart_sees[rows, feature] > tree.threshold[node]
        values = X[rows, feature]
        omega[target - 1, feature] = 1.0
        gamma[target - 1] = 0.5 * (values[~right].max() + values[right].min())
        pending.append((int(tree.children_left[node]), 2 * target, rows[~right]))
        pending.append((int(tree.children_right[node]), 2 * target + 1, rows[right]))
    return omega, gamma


def random_start(problem: Problem, topology: Topology, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """A random feature at every node, split between two random rows."""
    omega, gamma = _no_splits(problem, topology)
    for b in range(topology.n_branches):
        feature = int(rng.integers(problem.n_features))
        first, second = problem.X_labeled[rng.integers(problem.n_labeled, size=2), feature]
        omega[b, feature] = rng.choice([-1.0, 1.0])
        gamma[b] = omega[b, feature] * 0.5 * (first + second)
    return omega, gamma


def _no_splits(problem: Problem, topology: Topology) -> tuple[FloatArray, FloatArray]:
    return np.zeros((topology.n_branches, problem.n_features)), np.zeros(topology.n_branches)
