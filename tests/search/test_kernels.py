"""The compiled kernels against the plain numpy objective."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2oct.model.bounds import compute_bounds
from s2oct.model.objective import score
from s2oct.model.problem import Problem
from s2oct.model.topology import Topology
from s2oct.model.tree import ObliqueTree
from s2oct.search import kernels
from s2oct.search.annealing import Schedule, State, anneal, clear_offsets
from s2oct.search.instance import Instance

NEVER = float("inf")


def random_case(seed: int, depth: int, n: int = 9, m: int = 23, p: int = 3) -> tuple[Problem, ObliqueTree]:
    """A random problem with merged rows and a random tree over it."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, (n + m, p)).astype(float)
    y = ["A", "B", *rng.choice(["A", "B"], n - 2).tolist(), *[None] * m]
    problem = Problem.from_arrays(X, y, totals={"A": int(rng.integers(0, m + 1))}, C=0.7).merged()
    topology = Topology(depth)
    omega = rng.normal(size=(topology.n_branches, p)) * rng.choice([0.3, 3.0])
    return problem, ObliqueTree.of(topology, omega, rng.normal(size=topology.n_branches))


class View:
    """Everything the kernels tabulate about one node of a tree."""

    def __init__(self, problem: Problem, tree: ObliqueTree, b: int, row_costs: np.ndarray | None = None) -> None:
        bounds = compute_bounds(problem, tree.topology.depth)
        self.instance = Instance.of(problem, tree.topology, bounds, 0.0)
        n, m = problem.n_labeled, problem.n_unlabeled
        self.row_costs = np.zeros((m, 2)) if row_costs is None else row_costs
        self.H = np.ascontiguousarray(tree.values(problem.X).T)
        self.left, self.right, self.other = np.empty(n), np.empty(n), np.empty(n)
        self.gain, self.dcost, self.base = np.empty((1, m)), np.empty(m), np.empty(3)
        kernels.node_view(
            self.H, b, tree.topology.depth, problem.labels, tree.leaf_classes, self.row_costs, self.instance.weights,
            self.left, self.right, self.other, self.gain, self.dcost, self.base,
        )  # fmt: skip
        self.h = self.H[b]
        self.parts, self.moved = np.zeros(4), np.zeros(2)

    def evaluate(self, x, scale=1.0, step=0.0, shift=0.0, xi_weight=0.7, rho=2.0, cap=1e9, stop=kernels.FAR):
        return kernels.evaluate(
            self.h, x, scale, step, shift, self.instance.weights, self.left, self.right, self.other, self.gain,
            self.dcost, self.base, self.instance.totals, xi_weight, rho, cap, stop, self.parts, self.moved,
        )  # fmt: skip


@given(seed=st.integers(0, 10**6), depth=st.integers(1, 5))
def test_a_move_is_evaluated_as_the_objective_of_the_moved_tree(seed, depth):
    """One pass over a node's tabulated rows gives the cost that numpy computes from the whole tree."""
    problem, tree = random_case(seed, depth)
    rng = np.random.default_rng(seed + 1)
    b, j = int(rng.integers(tree.topology.n_branches)), int(rng.integers(3))
    scale, step, shift = float(rng.choice([1.0, 0.5, 2.0])), float(rng.normal()), float(rng.normal())
    view = View(problem, tree, b)
    view.evaluate(view.instance.XT[j], scale, step, shift)
    omega, gamma = tree.omega.copy(), tree.gamma.copy()
    omega[b] *= scale
    omega[b, j] += step
    gamma[b] = scale * gamma[b] + shift
    moved = score(problem, ObliqueTree.of(tree.topology, omega, gamma))
    assert view.parts[0] == pytest.approx(moved.leaf_error, abs=1e-8)
    assert view.parts[1] == pytest.approx(moved.xi, abs=1e-8)


@given(seed=st.integers(0, 10**6), depth=st.integers(1, 4))
def test_the_rows_near_the_hyperplane_suffice_for_a_small_move(seed, depth):
    """Evaluating near rows only and evaluating all rows give the same cost, capped or not."""
    problem, tree = random_case(seed, depth, n=20, m=120)
    rng = np.random.default_rng(seed + 2)
    b, j = int(rng.integers(tree.topology.n_branches)), int(rng.integers(3))
    step, shift, cap = float(rng.normal() * 0.3), float(rng.normal() * 0.3), float(rng.choice([4.0, 1e9]))
    view = View(problem, tree, b)
    view.evaluate(view.instance.XT[j], cap=cap)
    n, n_rows = problem.n_labeled, problem.n_labeled + problem.n_unlabeled
    order_l, order_u = np.empty(n, dtype=np.int64), np.empty(n_rows - n, dtype=np.int64)
    ends_l, ends_u = np.empty(kernels.N_BUCKETS, dtype=np.int64), np.empty(kernels.N_BUCKETS, dtype=np.int64)
    kernels.sort_by_distance(view.h, 0, n, order_l, ends_l)
    kernels.sort_by_distance(view.h, n, n_rows, order_u, ends_u)
    spans = view.instance.spans
    reach = max(abs(step * spans[0, j] - shift), abs(step * spans[1, j] - shift))
    near_l = ends_l[kernels.bucket_of(max(1.0, cap - 1.0) + reach)]
    near_u = ends_u[kernels.bucket_of(1.0 + reach)]
    new_parts, new_moved = np.zeros(4), np.zeros(2)
    near = kernels.evaluate_near(
        view.h, view.instance.XT[j], step, shift, view.instance.weights, view.left, view.right, view.other, view.gain,
        view.dcost, view.base, view.instance.totals, 0.7, 2.0, cap, order_l, near_l, order_u, near_u, view.parts,
        view.moved, new_parts, new_moved,
    )  # fmt: skip
    assert near == pytest.approx(view.evaluate(view.instance.XT[j], 1.0, step, shift, cap=cap), abs=1e-8)


@given(seed=st.integers(0, 10**6), depth=st.integers(1, 4))
def test_row_costs_enter_by_the_class_each_row_ends_in(seed, depth):
    """The guide's part is the sum of the prices of the classes that the tree gives the unlabeled rows."""
    problem, tree = random_case(seed, depth)
    row_costs = np.random.default_rng(seed).normal(size=(problem.n_unlabeled, 2))
    view = View(problem, tree, 0, row_costs)
    view.evaluate(view.h)
    classes = tree.predict(problem.X_unlabeled)
    expected = problem.unlabeled_weights @ row_costs[np.arange(problem.n_unlabeled), classes]
    assert view.parts[3] == pytest.approx(expected, abs=1e-8)


def test_an_evaluation_that_gives_up_returns_more_than_the_threshold():
    problem, tree = random_case(3, 2)
    view = View(problem, tree, 0)
    full = view.evaluate(view.h)
    assert full > 0
    assert view.evaluate(view.h, stop=full / 2) > full / 2


@given(seed=st.integers(0, 10**5), depth=st.integers(1, 4), on_grid=st.booleans())
def test_the_best_tree_of_an_annealing_has_the_cost_it_claims_and_keeps_margins(seed, depth, on_grid):
    """What the kernel reports as best is what numpy finds in the tree it returns."""
    problem, tree = random_case(seed, depth)
    bounds = compute_bounds(problem, depth)
    instance = Instance.of(problem, tree.topology, bounds, 0.0)
    n_nodes = tree.topology.n_branches
    state = State.at(np.zeros((n_nodes, 3)), np.ones(n_nodes))
    anneal(instance, state, Schedule(30, cap=1e9, on_grid=on_grid), seed, NEVER)
    found = score(problem, ObliqueTree.of(tree.topology, state.best_omega, state.best_gamma))
    assert found.objective == pytest.approx(state.best_cost, abs=1e-6)
    assert found.n_margin_violations == 0
    assert np.abs(state.best_omega).max() <= bounds.s * (1 + 1e-9)


def test_grid_steps_keep_every_row_at_an_odd_distance():
    problem, _ = random_case(11, 2)
    instance = Instance.of(problem, Topology(2), compute_bounds(problem, 2), -1.0)
    assert (instance.quanta > 0).all()
    state = State.at(np.zeros((3, 3)), np.ones(3))
    anneal(instance, state, Schedule(200, on_grid=True), 1, NEVER)
    assert np.abs(state.omega).max() > 0
    h = ObliqueTree.of(Topology(2), state.omega, state.gamma).values(problem.X)
    np.testing.assert_allclose(np.abs(h) % 2, 1.0, atol=1e-6)


@given(seed=st.integers(0, 10**5), depth=st.integers(1, 3))
def test_clearing_offsets_leaves_no_row_too_near_a_hyperplane(seed, depth):
    problem, tree = random_case(seed, depth)
    instance = Instance.of(problem, tree.topology, compute_bounds(problem, depth), 0.0)
    state = State.at(tree.omega, tree.gamma)
    clear_offsets(instance, state, seed, NEVER)
    assert score(problem, ObliqueTree.of(tree.topology, state.omega, state.gamma)).n_margin_violations == 0


def test_random_numbers_fill_the_unit_interval():
    state = np.array([88172645463325252], dtype=np.uint64)
    drawn = np.array([kernels.random_unit(state) for _ in range(2000)])
    assert 0 <= drawn.min() < 0.01
    assert 0.99 < drawn.max() < 1
    assert abs(drawn.mean() - 0.5) < 0.03
