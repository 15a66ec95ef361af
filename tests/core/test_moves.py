"""Moves of P2 against the plain numpy objective."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2oct._core import NodeView
from s2oct.p2.instance import FAR, Instance
from s2oct.p2.prepared import Prepared
from s2oct.p2.rounds import Schedule, anneal, clear_offsets
from s2oct.problem.problem import Problem
from s2oct.stopping import NO_DEADLINE
from s2oct.trees.tree import ObliqueTree, Topology
from tests.preparing import prepared_as_is, score_of

C = 0.7


def random_case(seed: int, depth: int, n: int = 9, m: int = 23, p: int = 3) -> tuple[Prepared, ObliqueTree]:
    """A random problem with merged rows and a random tree over it."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, (n + m, p)).astype(float)
    y = ["A", "B", *rng.choice(["A", "B"], n - 2).tolist(), *[None] * m]
    problem = Problem.from_arrays(X, y, totals={"A": int(rng.integers(0, m + 1))}).merged()
    topology = Topology(depth)
    omega = rng.normal(size=(topology.n_branches, p)) * rng.choice([0.3, 3.0])
    tree = ObliqueTree.of(topology, omega, rng.normal(size=topology.n_branches))
    return prepared_as_is(problem, depth, C=C), tree


def node_in_view(instance: Instance, tree: ObliqueTree, b: int) -> NodeView:
    """What the kernels tabulate about one node of a tree."""
    return NodeView(instance.data, np.ascontiguousarray(tree.values(instance.XT.T).T), b)


@given(seed=st.integers(0, 10**6), depth=st.integers(1, 5))
def test_a_move_is_evaluated_as_the_objective_of_the_moved_tree(seed, depth):
    """One pass over a node's tabulated rows gives the cost that numpy computes from the whole tree."""
    prepared, tree = random_case(seed, depth)
    rng = np.random.default_rng(seed + 1)
    b, j = int(rng.integers(tree.topology.n_branches)), int(rng.integers(3))
    scale, step, shift = float(rng.choice([1.0, 0.5, 2.0])), float(rng.normal()), float(rng.normal())
    instance = Instance.of(prepared, 0.0)
    found = node_in_view(instance, tree, b).evaluate(instance.XT[j], scale, step, shift, (C, 2.0, 1e9), FAR)
    omega, gamma = tree.omega.copy(), tree.gamma.copy()
    omega[b] *= scale
    omega[b, j] += step
    gamma[b] = scale * gamma[b] + shift
    moved = score_of(prepared.problem, ObliqueTree.of(tree.topology, omega, gamma))
    assert found[1] == pytest.approx(moved.leaf_error, abs=1e-8)
    assert found[2] == pytest.approx(moved.xi, abs=1e-8)


@given(seed=st.integers(0, 10**6), depth=st.integers(1, 4))
def test_the_rows_near_the_hyperplane_suffice_for_a_small_move(seed, depth):
    """Evaluating near rows only and evaluating all rows give the same cost, capped or not."""
    prepared, tree = random_case(seed, depth, n=20, m=120)
    rng = np.random.default_rng(seed + 2)
    b, j = int(rng.integers(tree.topology.n_branches)), int(rng.integers(3))
    step, shift, cap = float(rng.normal() * 0.3), float(rng.normal() * 0.3), float(rng.choice([4.0, 1e9]))
    instance = Instance.of(prepared, 0.0)
    view, x = node_in_view(instance, tree, b), instance.XT[j]
    near = view.evaluate_near(x, step, shift, (C, 2.0, cap))
    assert near == pytest.approx(view.evaluate(x, 1.0, step, shift, (C, 2.0, cap), FAR), abs=1e-8)


@given(seed=st.integers(0, 10**6), depth=st.integers(1, 4))
def test_charges_enter_by_the_class_each_row_ends_in(seed, depth):
    """The guide's part is the sum of the prices of the classes that the tree gives the unlabeled rows."""
    prepared, tree = random_case(seed, depth)
    problem = prepared.problem
    charges = np.random.default_rng(seed).normal(size=(problem.n_unlabeled, 2))
    instance = Instance.of(prepared, 0.0).charged(charges)
    *_, charged = node_in_view(instance, tree, 0).evaluate(instance.XT[0], 1.0, 0.0, 0.0, (C, 2.0, 1e9), FAR)
    classes = tree.predict(problem.X_unlabeled)
    expected = problem.unlabeled_multiplicity @ charges[np.arange(problem.n_unlabeled), classes]
    assert charged == pytest.approx(expected, abs=1e-8)


def test_an_evaluation_that_gives_up_returns_more_than_the_threshold():
    prepared, tree = random_case(3, 2)
    instance = Instance.of(prepared, 0.0)
    view, still = node_in_view(instance, tree, 0), (instance.XT[0], 1.0, 0.0, 0.0, (C, 2.0, 1e9))
    full = view.evaluate(*still, FAR)[0]
    assert full > 0
    assert view.evaluate(*still, full / 2)[0] > full / 2


@given(seed=st.integers(0, 10**5), depth=st.integers(1, 4), on_grid=st.booleans())
def test_the_best_tree_of_an_annealing_has_the_cost_it_claims_and_keeps_margins(seed, depth, on_grid):
    """What the kernel reports as best is what numpy finds in the tree it returns."""
    prepared, tree = random_case(seed, depth)
    instance = Instance.of(prepared, 0.0)
    n_nodes = tree.topology.n_branches
    start, schedule = (np.zeros((n_nodes, 3)), np.ones(n_nodes)), Schedule(30, cap=1e9, on_grid=on_grid)
    _, best, cost = anneal(instance, start, schedule, seed, NO_DEADLINE)
    found = score_of(prepared.problem, ObliqueTree.of(tree.topology, *best), C)
    assert found.objective == pytest.approx(cost, abs=1e-6)
    assert found.n_margin_violations == 0
    assert np.abs(best[0]).max() <= prepared.bounds.s * (1 + 1e-9)


def test_grid_steps_keep_every_row_at_an_odd_distance():
    prepared, _ = random_case(11, 2)
    instance = Instance.of(prepared, -1.0)
    assert (instance.quanta > 0).all()
    start = np.zeros((3, 3)), np.ones(3)
    (omega, gamma), _, _ = anneal(instance, start, Schedule(200, on_grid=True), 1, NO_DEADLINE)
    assert np.abs(omega).max() > 0
    h = ObliqueTree.of(Topology(2), omega, gamma).values(prepared.problem.X)
    np.testing.assert_allclose(np.abs(h) % 2, 1.0, atol=1e-6)


@given(seed=st.integers(0, 10**5), depth=st.integers(1, 3))
def test_clearing_offsets_leaves_no_row_too_near_a_hyperplane(seed, depth):
    prepared, tree = random_case(seed, depth)
    instance = Instance.of(prepared, 0.0)
    cleared = clear_offsets(instance, (tree.omega, tree.gamma), seed, NO_DEADLINE)
    assert score_of(prepared.problem, ObliqueTree.of(tree.topology, *cleared)).n_margin_violations == 0
