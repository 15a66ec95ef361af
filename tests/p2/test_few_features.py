"""The search where a split may use few features only: every part of it keeps to that, and it still finds trees."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2oct.fit.context import Incumbent
from s2oct.fit.portfolio import Exploration
from s2oct.fit.training import offer_constant_trees, price_tree
from s2oct.p2.instance import Instance, lengthen
from s2oct.p2.milp import build_lean
from s2oct.p2.node_fits import alternating_start, forward_path
from s2oct.p2.node_programs import polish
from s2oct.p2.prepared import Prepared
from s2oct.p2.proof import NOT_NEGATIVE
from s2oct.p2.rounds import Schedule, anneal, clear_offsets, run_round
from s2oct.problem.problem import Problem
from s2oct.solvers import load_solver
from s2oct.stopping import NO_DEADLINE, Clock
from s2oct.trees.tree import ObliqueTree, Topology
from tests.preparing import cost_of, prepared_as_is, score_of
from tests.solvers.watchers import least_cost

P = 6


def case(seed: int, depth: int, k: int, *, integer: bool = True, n_rows: int = 60) -> Prepared:
    """Random rows and labels with at most k of six features a split."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, (n_rows, P)).astype(float) if integer else rng.normal(size=(n_rows, P)) * 3
    y = ["A", "B", *rng.choice(["A", "B"], 10).tolist(), *[None] * (n_rows - 12)]
    problem = Problem.from_arrays(X, y, totals={"A": int(rng.integers(0, n_rows - 11))}).merged()
    return prepared_as_is(problem, depth, most_features=k)


def most_used(omega: np.ndarray) -> int:
    return int(np.count_nonzero(omega, axis=1).max())


@given(seed=st.integers(0, 10**5), depth=st.integers(1, 3), k=st.integers(1, 5), on_grid=st.booleans())
def test_an_annealing_keeps_to_the_number_of_features_and_to_the_cost_it_claims(seed, depth, k, on_grid):
    """Swaps change two coefficients at once; the cost of the tree says whether its values followed."""
    prepared = case(seed, depth, k)
    n_nodes = prepared.topology.n_branches
    start, schedule = (np.zeros((n_nodes, P)), np.ones(n_nodes)), Schedule(40, cap=1e9, on_grid=on_grid)
    last, best, cost = anneal(Instance.of(prepared, -1.0), start, schedule, seed, NO_DEADLINE)
    assert max(most_used(last[0]), most_used(best[0])) <= k
    found = score_of(prepared.problem, ObliqueTree.of(prepared.topology, *best))
    assert found.objective == pytest.approx(cost, abs=1e-6)
    assert found.n_margin_violations == 0
    assert np.abs(best[0]).max() <= prepared.bounds.s * (1 + 1e-9)


def test_grid_steps_that_swap_features_keep_every_row_at_an_odd_distance():
    prepared = case(3, 2, 2)
    start = np.zeros((3, P)), np.ones(3)
    last, _, _ = anneal(Instance.of(prepared, -1.0), start, Schedule(300, on_grid=True), 1, NO_DEADLINE)
    h = ObliqueTree.of(prepared.topology, *last).values(prepared.problem.X)
    np.testing.assert_allclose(np.abs(h) % 2, 1.0, atol=1e-6)


def test_an_annealing_tries_every_feature():
    """With one feature a split, only swaps can reach another one."""
    prepared = case(5, 1, 1)
    seen = set()
    planes = np.eye(1, P), np.zeros(1)
    for seed in range(40):
        schedule = Schedule(5, hot=50.0, cold=50.0)
        planes, _, _ = anneal(Instance.of(prepared, -1.0), planes, schedule, seed, NO_DEADLINE)
        seen |= set(np.flatnonzero(planes[0][0]).tolist())
    assert seen == set(range(P))


@given(seed=st.integers(0, 10**5), k=st.integers(1, 5))
def test_clearing_offsets_tries_directions_of_few_features(seed, k):
    prepared = case(seed, 2, k)
    omega, _ = clear_offsets(Instance.of(prepared, 0.0), (np.zeros((3, P)), np.ones(3)), seed, NO_DEADLINE)
    assert most_used(omega) <= k


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("integer", [False, True])
def test_every_kind_of_round_keeps_to_the_number_of_features(k, integer):
    prepared = case(1, 2, k, integer=integer)
    instance = Instance.of(prepared, -1.0)
    trees = [tree for number in range(9) for tree in run_round(instance, 0, number, NO_DEADLINE)]
    assert len(trees) > 9
    assert max(most_used(tree.omega) for tree in trees) <= k


@pytest.mark.parametrize("k", [1, 2, 5])
def test_alternating_fits_use_few_features(k):
    instance = Instance.of(case(2, 3, k, integer=False, n_rows=200), 0.0)
    omega, _ = alternating_start(instance, np.random.default_rng(0), NO_DEADLINE)
    assert 1 <= most_used(omega) <= k


def test_forward_selection_finds_the_features_that_matter_one_by_one():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 12))
    gain = 3 * X[:, 7] - 2 * X[:, 2] + X[:, 9]
    path = forward_path(X, gain, 3)
    assert [np.flatnonzero(direction).tolist() for direction in path] == [[7], [2, 7], [2, 7, 9]]
    cosine = path[2] @ np.eye(12)[[7, 2, 9]].T @ [3.0, -2.0, 1.0] / np.linalg.norm(path[2]) / np.sqrt(14)
    assert cosine > 0.99


def test_no_more_features_are_selected_than_there_are():
    assert forward_path(np.arange(8.0).reshape(4, 2), np.array([1.0, -1.0, 2.0, -2.0]), 5).shape == (2, 2)


def sparse_tree(prepared: Prepared, seed: int) -> ObliqueTree:
    """A feasible tree in which every node uses two features, and whose labeled rows pay."""
    rng = np.random.default_rng(seed)
    omega = np.zeros((prepared.topology.n_branches, P))
    for row in omega:
        row[rng.permutation(P)[:2]] = rng.normal(size=2)
    planes = lengthen((omega, np.zeros(len(omega))), prepared.bounds.s)
    return ObliqueTree.of(prepared.topology, *clear_offsets(Instance.of(prepared, 0.0), planes, seed, NO_DEADLINE))


@pytest.mark.parametrize("seed", range(3))
def test_polishing_keeps_every_node_to_its_features(seed):
    """Without the limit the same linear program uses other features as well."""
    prepared = case(seed, 2, 2, integer=False, n_rows=40)
    tree = sparse_tree(prepared, seed)
    polished = polish(prepared, tree, NO_DEADLINE)
    assert cost_of(prepared, polished) <= cost_of(prepared, tree) + 1e-9
    assert not polished.omega[tree.omega == 0].any()
    free = replace(prepared, spec=replace(prepared.spec, max_features_per_split=None))
    assert polish(free, tree, NO_DEADLINE).omega[tree.omega == 0].any()


def planted(seed: int, depth: int, k: int, n_rows: int = 150) -> Problem:
    """Rows labeled by a random tree of k features a split, so that one costs nothing."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 9, (n_rows, P)).astype(float)
    omega = np.zeros((2**depth - 1, P))
    for row in omega:
        row[rng.permutation(P)[:k]] = rng.choice([-2.0, -1.0, 1.0, 2.0], k)
    truth = ObliqueTree.of(Topology(depth), omega, np.median(X @ omega.T, axis=0) + 0.5).predict(X)
    y = np.array(["A", "B"], dtype=object)[truth]
    y[n_rows // 10 :] = None
    return Problem.from_arrays(X, y, totals={"A": int((truth[n_rows // 10 :] == 0).sum())})


def explored(prepared: Prepared, rounds: int) -> Incumbent:
    incumbent = Incumbent(Clock(60.0), partial(price_tree, prepared), NOT_NEGATIVE)
    offer_constant_trees(prepared, incumbent)
    instance = Instance.of(prepared, 0.0)
    Exploration(instance, incumbent, partial(polish, prepared), 0).run(max_rounds=rounds)
    return incumbent


@pytest.mark.parametrize(("depth", "k"), [(1, 1), (2, 1), (2, 2), (2, 3)])
def test_a_planted_tree_of_few_features_is_found_at_no_cost(depth, k):
    found = explored(prepared_as_is(planted(depth, depth, k).merged(), depth, most_features=k), 60)
    assert found.best_cost <= 1e-6
    assert most_used(found.winner.omega) <= k


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_the_search_finds_the_optimum_that_a_solver_proves(seed, k):
    """Labels without a pattern, so that the limit costs something."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.uniform(-3, 3, size=(14, 3)), 1)
    problem = Problem.from_arrays(X, [*["A", "B"] * 3, *[None] * 8], totals={"A": 3})
    prepared = prepared_as_is(problem, 1, 2.0, most_features=k)
    expected = least_cost(load_solver("highs"), build_lean(prepared))
    assert explored(prepared, 10).best_cost == pytest.approx(expected, abs=1e-5)
