"""Sub-MIPs around a hyperplane: exact on what they free, and never dearer."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from s2oct.fit.incumbent import Race
from s2oct.fit.portfolio import solve_small
from s2oct.model.bounds import Bounds, compute_bounds
from s2oct.model.feasibility import feasible_cost, mend
from s2oct.model.problem import Guide, Problem
from s2oct.model.topology import Topology
from s2oct.model.tree import ObliqueTree
from s2oct.search import Instance, Neighbourhoods, neighbourhood
from s2oct.search.neighbourhood import FREE_ROWS, refit_node
from tests.oracles import paths
from tests.strategies import feasible_trees


def minimise(milp, start, deadline):
    assert milp.violations(start, 1e-6) == {}, "the present hyperplane is no solution of the model"
    return solve_small(Race(60.0), milp, start, deadline)


def refitted(problem: Problem, tree: ObliqueTree, bounds: Bounds, b: int, n_free: int = 99) -> ObliqueTree:
    instance = Instance.of(problem, tree.topology, bounds, 0.0)
    found = refit_node(instance, tree, b, n_free, minimise, time.monotonic() + 20)
    assert found is not None
    return mend(problem, found, bounds)


def least_cost(problem: Problem, tree: ObliqueTree, bounds: Bounds, b: int) -> float:
    """The best hyperplane at a node: every side of the unlabeled rows, every leaf of the labeled ones, one LP each."""
    p, n, depth = problem.n_features, problem.n_labeled, tree.topology.depth
    ways = paths(depth)
    own = [[t for t in ways if t % 2 == label] for label in problem.labels]
    others = tree.values(problem.X)
    guide = np.zeros((problem.n_unlabeled, 2)) if problem.guide is None else problem.guide.weight * problem.guide.costs
    price = problem.C + (0.0 if problem.guide is None else problem.guide.weight)
    best = np.inf
    for sides in product((-1.0, 1.0), repeat=problem.n_unlabeled):
        constant, in_a = 0.0, 0.0
        for u, side in enumerate(sides):
            node = 1
            while node < 2**depth:
                value = side if node == b + 1 else others[n + u, node - 1]
                node = 2 * node + int(value > 0)
            weight = problem.unlabeled_weights[u]
            in_a += weight * (node % 2 == 0)
            constant += weight * guide[u, node % 2]
        constant += price * abs(in_a - problem.totals[0])
        margins = [[*(-side * x), side] + [0.0] * n for side, x in zip(sides, problem.X_unlabeled, strict=True)]
        for chosen in product(*own):
            fixed, errors = constant, []
            for i, leaf in enumerate(chosen):
                for node, side in ways[leaf]:
                    sign = 1.0 if side == "L" else -1.0
                    if node == b + 1:
                        errors.append([*(sign * problem.X_labeled[i]), -sign] + [-1.0 * (k == i) for k in range(n)])
                    else:
                        fixed += problem.labeled_weights[i] * max(0.0, 1 + sign * others[i, node - 1])
            answer = linprog(
                [0.0] * (p + 1) + list(problem.labeled_weights),
                A_ub=np.array(margins + errors).reshape(-1, p + 1 + n),
                b_ub=[-1.0] * (len(margins) + len(errors)),
                bounds=[(-bounds.s, bounds.s)] * p + [(None, None)] + [(0, None)] * n,
            )
            if answer.status == 0:
                best = min(best, fixed + answer.fun)
    return best


@pytest.mark.parametrize("guided", [False, True])
@pytest.mark.parametrize("b", [0, 1, 2])
@pytest.mark.parametrize("seed", range(2))
def test_with_all_rows_free_the_best_hyperplane_is_found(seed, b, guided, monkeypatch):
    """Against brute force over sides and leaves, with merged rows, and with a guide."""
    monkeypatch.setattr(neighbourhood, "REACH", 1000.0)
    rng = np.random.default_rng([seed, b])
    X = rng.integers(-3, 4, size=(8, 2)).astype(float)
    X[7] = X[6]
    problem = Problem.from_arrays(X, ["A", "B", str(rng.choice(["A", "B"])), *[None] * 5], totals={"A": 2}, C=1.5)
    if guided:
        problem = replace(problem, guide=Guide(rng.uniform(size=(5, 2)), 2.5))
    problem = problem.merged()
    bounds = compute_bounds(problem, 2, 5.0)
    tree = ObliqueTree.constant(Topology(2), 2, right=False)
    # Every node has a split of its own that keeps the unlabeled rows, which are whole numbers, at distance 1.
    omega = np.array([[2.0, 0.0], [0.0, 2.0], [2.0, 2.0]])
    tree = replace(tree, omega=omega, gamma=np.array([1.0, -1.0, 1.0]))
    found = feasible_cost(problem, refitted(problem, tree, bounds, b), bounds)
    assert found == pytest.approx(least_cost(problem, tree, bounds, b), abs=1e-5)


@given(feasible_trees(), st.integers(0, 6), st.integers(0, 4))
@settings(max_examples=40)
def test_a_refitted_tree_is_feasible_and_never_dearer(drawn, b, n_free):
    problem, tree, bounds = drawn
    problem = problem.merged()
    bounds = replace(bounds, problem=problem)
    after = refitted(problem, tree, bounds, b % tree.topology.n_branches, n_free)
    cost = feasible_cost(problem, after, bounds)
    assert cost is not None
    assert cost <= feasible_cost(problem, tree, bounds) + 1e-6


def scattered(n_rows: int, p: int = 2) -> tuple[Problem, ObliqueTree, Bounds, Instance]:
    """Rows labeled at random, and a split in the middle that keeps all of them at distance 1."""
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(n_rows, p))
    n = n_rows // 10
    y = [*rng.choice(["A", "B"], n).tolist(), *[None] * (n_rows - n)]
    problem = Problem.from_arrays(X, y, totals={"A": (n_rows - n) // 3}, C=5.0)
    low, high = np.sort(X[:, 0])[n_rows // 2 - 1 :][:2]
    slope = 2 / (high - low)
    tree = ObliqueTree.of(Topology(1), slope * np.eye(p)[:1], np.array([slope * (low + high) / 2]))
    bounds = compute_bounds(problem, 1, 2 * slope)
    return problem, mend(problem, tree, bounds), bounds, Instance.of(problem, tree.topology, bounds, 0.0)


def test_rows_that_are_not_free_keep_their_sides_though_most_are_not_in_the_model(monkeypatch):
    monkeypatch.setattr(neighbourhood, "_FIXED_ROWS", 5)
    monkeypatch.setattr(neighbourhood, "_PASSES", 99)
    problem, tree, bounds, _ = scattered(300)
    after = refitted(problem, tree, bounds, 0, 10)
    assert feasible_cost(problem, after, bounds) < feasible_cost(problem, tree, bounds)
    before, now = tree.values(problem.X_unlabeled)[:, 0], after.values(problem.X_unlabeled)[:, 0]
    changed = np.flatnonzero((before > 0) != (now > 0))
    nearest = np.argsort(np.abs(before), kind="stable")[:10]
    assert len(changed)
    assert set(changed.tolist()) <= set(nearest.tolist())


def test_the_walk_visits_every_node_once_with_every_number_of_rows_and_begins_anew_with_a_new_tree():
    problem, tree, _, instance = scattered(60)
    solved = []

    def nothing_found(milp, start, deadline):
        solved.append(milp.blocks["z"].size)

    walk = Neighbourhoods(instance, nothing_found)
    for _ in range(9):
        assert walk.step(tree, time.monotonic() + 9) is None
    m = problem.n_unlabeled
    assert solved == [min(k, m) for k in FREE_ROWS]
    walk.step(replace(tree), time.monotonic() + 9)
    assert len(solved) == len(FREE_ROWS) + 1


def test_a_tree_that_costs_nothing_here_is_left_alone():
    problem, tree, bounds, _ = scattered(60)
    values = tree.values(problem.X)[:, 0]
    right = values > 0
    labels = right[: problem.n_labeled].astype(int)
    in_a = int(problem.unlabeled_weights[~right[problem.n_labeled :]].sum())
    clean = replace(problem, labels=labels, totals=np.array([in_a, int(problem.unlabeled_weights.sum()) - in_a]))
    assert feasible_cost(clean, tree, bounds) == pytest.approx(0.0, abs=1e-9)
    walk = Neighbourhoods(Instance.of(clean, tree.topology, bounds, 0.0), pytest.fail)
    assert walk.step(tree, time.monotonic() + 9) is None


def hard() -> tuple[Neighbourhoods, ObliqueTree]:
    """A neighbourhood that takes HiGHS much longer than a test."""
    _, tree, _, instance = scattered(1200, p=12)
    return Neighbourhoods(instance, partial(solve_small, Race(60.0))), tree


def test_a_neighbourhood_keeps_its_deadline(monkeypatch):
    monkeypatch.setattr(neighbourhood, "FREE_ROWS", (300,))
    walk, tree = hard()
    began = time.monotonic()
    walk.step(tree, began + 1.0)
    assert 0.9 < time.monotonic() - began < 2.5


def test_ctrl_c_in_a_neighbourhood_reaches_whoever_searches(ctrl_c, monkeypatch):
    monkeypatch.setattr(neighbourhood, "FREE_ROWS", (300,))
    walk, tree = hard()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt), ctrl_c(0.7):
        walk.step(tree, began + 30.0)
    assert time.monotonic() - began < 5.0


def test_a_decided_race_ends_a_neighbourhood(monkeypatch):
    monkeypatch.setattr(neighbourhood, "FREE_ROWS", (300,))
    _, tree, _, instance = scattered(1200, p=12)
    race = Race(0.5)
    began = time.monotonic()
    Neighbourhoods(instance, partial(solve_small, race)).step(tree, began + 30.0)
    assert time.monotonic() - began < 5.0
