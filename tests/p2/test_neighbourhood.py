"""Sub-MIPs around a hyperplane: exact on what they free, and never at a higher cost."""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from s2oct.fit.incumbent import Incumbent
from s2oct.fit.portfolio import solve_small
from s2oct.p2 import neighbourhood
from s2oct.p2.instance import Instance
from s2oct.p2.neighbourhood import FREE_ROWS, Neighbourhoods, refit_node
from s2oct.p2.prepared import Prepared
from s2oct.p2.score import mended
from s2oct.problem.problem import Problem
from s2oct.problem.targets import Targets
from s2oct.solvers.worker import POLL_SECONDS
from s2oct.stopping import Clock, Deadline, never
from s2oct.trees.topology import Topology
from s2oct.trees.tree import ObliqueTree
from tests.oracles import paths
from tests.preparing import cost_of, merged, prepared_as_is
from tests.strategies import feasible_trees


def minimise(milp, start, deadline):
    assert milp.violations(start, 1e-6) == {}, "the present hyperplane is no solution of the model"
    return solve_small(open_incumbent(60.0), milp, start, deadline)


def open_incumbent(seconds: float, stop=never) -> Incumbent:
    return Incumbent(Clock(seconds, stop), lambda tree: None)


def refitted(
    prepared: Prepared, tree: ObliqueTree, b: int, n_free: int = 99, charges: np.ndarray | None = None
) -> ObliqueTree:
    instance = Instance.of(prepared, 0.0)
    instance = instance if charges is None else instance.charged(charges)
    found = refit_node(instance, tree, b, n_free, minimise, Deadline.after(600))
    assert found is not None
    return mended(prepared, found).tree


def charged_by_tree(prepared: Prepared, tree: ObliqueTree, charges: np.ndarray) -> float:
    """What charges for the classes of the unlabeled rows add to the cost of a tree."""
    problem = prepared.problem
    chosen = charges[np.arange(problem.n_unlabeled), tree.predict(problem.X_unlabeled)]
    return float(problem.unlabeled_multiplicity @ chosen)


def least_cost(prepared: Prepared, tree: ObliqueTree, b: int, charges: np.ndarray) -> float:
    """The best hyperplane at a node: every side of the unlabeled rows, every leaf of the labeled ones, one LP each."""
    problem, bounds = prepared.problem, prepared.bounds
    p, n, depth = problem.n_features, problem.n_labeled, tree.topology.depth
    ways = paths(depth)
    own = [[t for t in ways if t % 2 == label] for label in problem.labels]
    others = tree.values(problem.X)
    best = np.inf
    for sides in product((-1.0, 1.0), repeat=problem.n_unlabeled):
        constant, in_a = 0.0, 0.0
        for u, side in enumerate(sides):
            node = 1
            while node < 2**depth:
                value = side if node == b + 1 else others[n + u, node - 1]
                node = 2 * node + int(value > 0)
            count = problem.unlabeled_multiplicity[u]
            in_a += count * (node % 2 == 0)
            constant += count * charges[u, node % 2]
        constant += prepared.spec.C * abs(in_a - problem.totals[0])
        margins = [[*(-side * x), side] + [0.0] * n for side, x in zip(sides, problem.X_unlabeled, strict=True)]
        for chosen in product(*own):
            fixed, errors = constant, []
            for i, leaf in enumerate(chosen):
                for node, side in ways[leaf]:
                    sign = 1.0 if side == "L" else -1.0
                    if node == b + 1:
                        errors.append([*(sign * problem.X_labeled[i]), -sign] + [-1.0 * (k == i) for k in range(n)])
                    else:
                        fixed += problem.labeled_multiplicity[i] * max(0.0, 1 + sign * others[i, node - 1])
            answer = linprog(
                [0.0] * (p + 1) + list(problem.labeled_multiplicity),
                A_ub=np.array(margins + errors).reshape(-1, p + 1 + n),
                b_ub=[-1.0] * (len(margins) + len(errors)),
                bounds=[(-bounds.s, bounds.s)] * p + [(None, None)] + [(0, None)] * n,
            )
            if answer.status == 0:
                best = min(best, fixed + answer.fun)
    return best


@pytest.mark.parametrize("price", [0.0, 2.5])
@pytest.mark.parametrize("b", [0, 1, 2])
@pytest.mark.parametrize("seed", range(2))
def test_with_all_rows_free_the_best_hyperplane_is_found(seed, b, price, monkeypatch):
    """Against brute force over sides and leaves, with merged rows, and where classes cost the rows something."""
    monkeypatch.setattr(neighbourhood, "REACH", 1000.0)
    rng = np.random.default_rng([seed, b])
    X = rng.integers(-3, 4, size=(8, 2)).astype(float)
    X[7] = X[6]
    problem = Problem.from_arrays(X, ["A", "B", str(rng.choice(["A", "B"])), *[None] * 5], totals={"A": 2})
    prepared = prepared_as_is(problem.merged(), 2, 5.0, C=1.5)
    charges = price * rng.uniform(size=(prepared.problem.n_unlabeled, 2))
    tree = ObliqueTree.constant(Topology(2), 2, right=False)
    # Every node has a split of its own that keeps the unlabeled rows, which are whole numbers, at distance 1.
    omega = np.array([[2.0, 0.0], [0.0, 2.0], [2.0, 2.0]])
    tree = replace(tree, omega=omega, gamma=np.array([1.0, -1.0, 1.0]))
    after = refitted(prepared, tree, b, charges=charges)
    found = cost_of(prepared, after) + charged_by_tree(prepared, after, charges)
    assert found == pytest.approx(least_cost(prepared, tree, b, charges), abs=1e-5)


@given(feasible_trees(), st.integers(0, 6), st.integers(0, 4))
@settings(max_examples=40)
def test_a_refitted_tree_is_feasible_and_never_costs_more(drawn, b, n_free):
    prepared, tree = merged(drawn[0]), drawn[1]
    after = refitted(prepared, tree, b % tree.topology.n_branches, n_free)
    cost = cost_of(prepared, after)
    assert cost is not None
    assert cost <= cost_of(prepared, tree) + 1e-6


def scattered(n_rows: int, p: int = 2) -> tuple[Prepared, ObliqueTree]:
    """Rows labeled at random, and a split in the middle that keeps all of them at distance 1."""
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(n_rows, p))
    n = n_rows // 10
    y = [*rng.choice(["A", "B"], n).tolist(), *[None] * (n_rows - n)]
    problem = Problem.from_arrays(X, y, totals={"A": (n_rows - n) // 3})
    low, high = np.sort(X[:, 0])[n_rows // 2 - 1 :][:2]
    slope = 2 / (high - low)
    tree = ObliqueTree.of(Topology(1), slope * np.eye(p)[:1], np.array([slope * (low + high) / 2]))
    prepared = prepared_as_is(problem, 1, 2 * slope, C=5.0)
    return prepared, mended(prepared, tree).tree


def test_rows_that_are_not_free_keep_their_sides_though_most_are_not_in_the_model(monkeypatch):
    monkeypatch.setattr(neighbourhood, "_FIXED_ROWS", 5)
    monkeypatch.setattr(neighbourhood, "_PASSES", 99)
    prepared, tree = scattered(300)
    problem = prepared.problem
    after = refitted(prepared, tree, 0, 10)
    assert cost_of(prepared, after) < cost_of(prepared, tree)
    before, now = tree.values(problem.X_unlabeled)[:, 0], after.values(problem.X_unlabeled)[:, 0]
    changed = np.flatnonzero((before > 0) != (now > 0))
    nearest = np.argsort(np.abs(before), kind="stable")[:10]
    assert len(changed)
    assert set(changed.tolist()) <= set(nearest.tolist())


def test_the_walk_visits_every_node_once_with_every_number_of_rows_and_starts_again_with_a_new_tree():
    prepared, tree = scattered(60)
    solved = []

    def nothing_found(milp, start, deadline):
        solved.append(milp.blocks["z"].size)

    walk = Neighbourhoods(Instance.of(prepared, 0.0), nothing_found)
    for _ in range(9):
        assert walk.step(tree, Deadline.after(9)) is None
    m = prepared.problem.n_unlabeled
    assert solved == [min(k, m) for k in FREE_ROWS]
    walk.step(replace(tree), Deadline.after(9))
    assert len(solved) == len(FREE_ROWS) + 1


def test_a_tree_that_costs_nothing_here_is_left_alone():
    prepared, tree = scattered(60)
    problem = prepared.problem
    values = tree.values(problem.X)[:, 0]
    right = values > 0
    labels = right[: problem.n_labeled].astype(int)
    in_a = int(problem.unlabeled_multiplicity[~right[problem.n_labeled :]].sum())
    in_b = int(problem.unlabeled_multiplicity.sum()) - in_a
    clean = replace(problem, labels=labels, targets=Targets.exact([in_a, in_b], problem.n_unlabeled))
    prepared = replace(prepared, problem=clean)
    assert cost_of(prepared, tree) == pytest.approx(0.0, abs=1e-9)
    walk = Neighbourhoods(Instance.of(prepared, 0.0), pytest.fail)
    assert walk.step(tree, Deadline.after(9)) is None


ENDLESS = 10_000.0
"""Seconds that no test has."""


def hard(incumbent: Incumbent) -> tuple[Neighbourhoods, ObliqueTree]:
    """A neighbourhood that takes HiGHS much longer than a test."""
    prepared, tree = scattered(1200, p=12)
    return Neighbourhoods(Instance.of(prepared, 0.0), partial(solve_small, incumbent)), tree


@pytest.fixture
def polled(monkeypatch, stepping_clock):
    """One large neighbourhood, and a clock that goes on with each poll of the thread that waits for HiGHS.

    Each poll reads the clock a few times, and a solver that was asked to stop has some polls of grace.
    """
    monkeypatch.setattr(neighbourhood, "FREE_ROWS", (300,))
    stepping_clock.step = POLL_SECONDS
    return stepping_clock


def test_a_neighbourhood_keeps_its_deadline(polled):
    walk, tree = hard(open_incumbent(ENDLESS))
    walk.step(tree, Deadline.after(1.0))
    assert 1.0 <= polled.seconds <= 4.0


def test_a_request_to_stop_ends_a_neighbourhood_at_once(polled):
    asked = threading.Event()
    walk, tree = hard(open_incumbent(ENDLESS, asked.is_set))
    polled.call_after(0.7, asked.set)
    walk.step(tree, Deadline.after(ENDLESS))
    assert 0.7 <= polled.seconds <= 0.7 + 2.0


def test_the_end_of_the_fit_ends_a_neighbourhood(polled):
    walk, tree = hard(open_incumbent(0.5))
    walk.step(tree, Deadline.after(ENDLESS))
    assert polled.seconds <= 0.5 + 2.0
