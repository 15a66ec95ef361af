"""Dropping features at the same cost, against linear programs over every smaller choice of features."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.optimize import linprog

from s2oct.p2.costs import Assignment
from s2oct.p2.node_programs import fewer_features
from s2oct.p2.prepared import Prepared
from s2oct.problem.problem import Problem
from s2oct.stopping import NO_DEADLINE, Deadline
from s2oct.trees.tree import ObliqueTree
from tests.preparing import cost_of, prepared_as_is
from tests.strategies import feasible_trees


def case(seed: int, p: int = 7, m: int = 25) -> tuple[Prepared, ObliqueTree]:
    """A hyperplane of all features with the unlabeled rows beside it at distance 1, and labels that follow it."""
    rng = np.random.default_rng(seed)
    omega, X = rng.normal(size=p), rng.normal(size=(m + 10, p)) * 3
    omega *= 1 / np.abs(X @ omega).min()
    y = [*np.where(X[:10] @ omega > 0, "B", "A"), *[None] * m]
    on_the_left = int((X[10:] @ omega < 0).sum())
    problem = Problem.from_arrays(X, y, totals={"A": on_the_left, "B": m - on_the_left})
    prepared = prepared_as_is(problem, 1, 2 * float(np.abs(omega).max()))
    return prepared, ObliqueTree.of(prepared.topology, omega[None, :], [0.0])


def exists(prepared: Prepared, sides: np.ndarray, features: list[int]) -> bool:
    """Whether a hyperplane of these features has all rows on these sides at distance 1."""
    signed = -sides[:, None] * np.column_stack([prepared.problem.X[:, features], -np.ones(len(sides))])
    box = [(-prepared.bounds.s, prepared.bounds.s)] * len(features) + [(None, None)]
    cost = np.zeros(len(features) + 1)
    return linprog(cost, A_ub=signed, b_ub=-np.ones(len(sides)), bounds=box, method="highs").status == 0


@settings(max_examples=60)
@given(drawn=feasible_trees())
def test_sides_stay_and_neither_cost_nor_features_grow(drawn):
    """Also where labeled rows pay, and at depths of up to 3."""
    prepared, tree = drawn
    found = fewer_features(prepared, tree, NO_DEADLINE)
    assert np.count_nonzero(found.omega) <= np.count_nonzero(tree.omega)
    assert (found.goes_right(prepared.problem.X_unlabeled) == tree.goes_right(prepared.problem.X_unlabeled)).all()
    assert cost_of(prepared, found) <= cost_of(prepared, tree) + 1e-6


@pytest.mark.parametrize("seed", range(6))
def test_none_of_the_features_that_are_left_can_be_dropped_alone(seed):
    prepared, tree = case(seed)
    found = fewer_features(prepared, tree, NO_DEADLINE)
    left = np.flatnonzero(found.omega[0]).tolist()
    sides = np.where(tree.goes_right(prepared.problem.X)[:, 0], 1.0, -1.0)
    assert cost_of(prepared, found) == pytest.approx(0.0, abs=1e-6)
    assert len(left) < 7
    assert exists(prepared, sides, left)
    assert not any(exists(prepared, sides, [j for j in left if j != k]) for k in left)


def test_copies_of_a_feature_and_noise_are_dropped():
    rng = np.random.default_rng(0)
    x = np.r_[np.arange(-10, -1), np.arange(2, 11)].astype(float)
    X = np.column_stack([x, x, 3 * x, rng.normal(size=(len(x), 4))])
    problem = Problem.from_arrays(X, ["A", *[None] * 16, "B"], totals={"A": 8})
    prepared = prepared_as_is(problem, 1, 5.0)
    tree = ObliqueTree.of(prepared.topology, [[1.0, 1.0, 0.5, 0.1, -0.1, 0.2, 0.1]], [0.0])
    found = fewer_features(prepared, tree, NO_DEADLINE)
    assert np.count_nonzero(found.omega) == 1
    assert found.omega[0, :3].any()


def test_labeled_rows_may_share_what_they_pay_in_another_way_but_pay_no_more():
    X = np.array([[-4.0, 1.0], [4.0, -1.0], [1.0, 2.0], [-5.0, -1.0], [5.0, 1.0]])
    problem = Problem.from_arrays(X, ["A", "B", "A", None, None], totals={"A": 1})
    prepared = prepared_as_is(problem, 1, 2.0)
    tree = ObliqueTree.of(prepared.topology, [[1.0, 0.25]], [0.0])
    before = Assignment.of(problem, tree).label_errors.sum()
    found = fewer_features(prepared, tree, NO_DEADLINE)
    assert before > 0
    assert np.count_nonzero(found.omega) == 1
    assert Assignment.of(problem, found).label_errors.sum() <= before + 1e-6


def test_after_the_deadline_the_tree_stays_as_it_is():
    prepared, tree = case(0)
    assert fewer_features(prepared, tree, Deadline.after(-1.0)).omega.tolist() == tree.omega.tolist()
