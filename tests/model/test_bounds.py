from collections import Counter
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from s2oct.model.objective import score
from scipy.spatial.distance import cdist, pdist

from s2oct.errors import InvalidProblem
from s2oct.milp.p2 import build_p2
from s2oct.model import bounds
from s2oct.model.bounds import (
    compute_bounds,
    contradiction_bound,
    diameter,
    farthest_l1,
    lower_bound,
    paper_depth,
    paper_weight_bound,
    total_bound,
)
from s2oct.model.problem import Problem
from s2oct.model.topology import Topology
from s2oct.model.tree import ObliqueTree
from s2oct.solvers import load_solver
from tests.solvers.watchers import solve
from tests.strategies import feasible_trees, problems, tables

CLOUDS = {
    "normal": lambda rng: rng.normal(size=(5000, 4)),
    "uniform": lambda rng: rng.uniform(-100, 100, size=(2500, 2)),
    # No row is nearer to the centre than any other: nothing can be left out.
    "sphere": lambda rng: (lambda X: X / np.linalg.norm(X, axis=1)[:, None])(rng.normal(size=(2500, 3))),
    "line": lambda rng: rng.normal(size=(4100, 1)),
    "few distinct rows": lambda rng: rng.integers(0, 3, size=(5000, 3)).astype(float),
    "far from the origin": lambda rng: rng.normal(size=(2500, 2)) + 1e6,
    "one row far away": lambda rng: np.vstack([rng.normal(size=(3000, 2)), [[1e5, -1e5]]]),
    "one wide column": lambda rng: rng.normal(size=(2500, 3)) * [1e-6, 1.0, 1e4],
}


@given(tables(st.integers(2, 40), 3))
def test_the_diameter_is_the_largest_distance_of_a_pair(X):
    assert diameter(X) == pytest.approx(pdist(X).max())


@pytest.mark.parametrize("cloud", CLOUDS)
def test_the_diameter_of_more_rows_than_a_block_is_exact(cloud):
    """The blocks and the pruning leave out no pair that matters."""
    X = CLOUDS[cloud](np.random.default_rng(1))
    assert len(X) > bounds._BLOCK
    largest = max(cdist(X[start : start + 1000], X).max() for start in range(0, len(X), 1000))
    assert diameter(X) == pytest.approx(largest, rel=1e-9)


@pytest.mark.parametrize("rows", [1, 2, 7, 5000])
def test_equal_rows_have_diameter_0(rows):
    assert diameter(np.full((rows, 3), 1 / 3)) == 0.0


@given(tables(st.integers(1, 30), 2))
def test_the_farthest_row_in_the_1_norm_is_found(X):
    assert farthest_l1(X) == pytest.approx(cdist(X, X, "cityblock").max(axis=1))


def test_the_corner_of_the_box_bounds_the_farthest_row_where_pairs_are_too_many(monkeypatch):
    X = np.random.default_rng(2).normal(size=(60, 3))
    exact = farthest_l1(X)
    monkeypatch.setattr(bounds, "_EXACT_L1_WORK", 0)
    box = farthest_l1(X)
    assert (box >= exact).all()
    assert (box <= np.ptp(X, axis=0).sum()).all()


@pytest.mark.parametrize(("n_rows", "least"), [(1, 10), (649, 10), (650, 20), (1499, 20), (1500, 40), (67557, 40)])
def test_the_weight_bound_follows_the_papers_rule(n_rows, least):
    """s = max(10 or 20 or 40, 499 / (eta sqrt p)), so that M reaches 500."""
    assert paper_weight_bound(n_rows, 4, 1e6) == least
    assert paper_weight_bound(n_rows, 4, 0.5) == pytest.approx(499.0)
    assert paper_weight_bound(n_rows, 4, 0.0) == least


@pytest.mark.parametrize(("n_rows", "depth"), [(1, 2), (999, 2), (1000, 3), (67557, 3)])
def test_the_depth_follows_the_papers_rule(n_rows, depth):
    assert paper_depth(n_rows) == depth


@given(problems(), st.integers(1, 3), st.sampled_from([None, 0.01, 1.0, 10.0]))
def test_constants_are_those_of_propositions_1_and_2(problem, depth, weight_bound):
    """M = eta s sqrt(p) + 1, at least 2, and B = D M; no row's own constants exceed them."""
    found = compute_bounds(problem, depth, weight_bound)
    reach = found.eta * found.s * np.sqrt(problem.n_features)
    assert pytest.approx(max(reach + 1, 2)) == found.M
    assert pytest.approx(depth * found.M) == found.B
    assert found.M_unlabeled.shape == (problem.n_unlabeled,)
    assert found.B_labeled.shape == (problem.n_labeled,)
    assert (found.M_unlabeled <= found.M).all()
    assert (found.M_unlabeled >= 2).all()
    assert (found.B_labeled <= found.B).all()


def test_the_rule_for_s_lifts_M_to_500():
    problem = Problem.from_arrays([[0.0], [1.0], [2.0]], ["A", "B", None], totals={"A": 0})
    assert pytest.approx(500.0) == compute_bounds(problem, 2).M


@pytest.mark.parametrize("weight_bound", [0, -1, np.inf, np.nan])
def test_a_weight_bound_that_bounds_nothing_is_refused(weight_bound):
    problem = Problem.from_arrays([[0.0], [1.0]], ["A", None], totals={"A": 0, "B": 1})
    with pytest.raises(InvalidProblem, match="Expected a weight bound s between 0 and infinity, got"):
        compute_bounds(problem, 1, weight_bound)


@st.composite
def crowded(draw) -> Problem:
    """Problems with few places for many rows: labeled rows equal each other and unlabeled ones."""
    n, m = draw(st.integers(1, 7)), draw(st.integers(1, 9))
    X = draw(arrays(float, (n + m, draw(st.integers(1, 2))), elements=st.integers(0, 2).map(float)))
    y = draw(st.lists(st.sampled_from("AB"), min_size=n, max_size=n)) + [None] * m
    total = draw(st.integers(0, m))
    C = draw(st.sampled_from([0.3, 1.0, 5.0]))
    return Problem.from_arrays(X, y, totals={"A": total, "B": m - total}, C=C)


def cheapest_deal(problem: Problem) -> float:
    """The bound spelled out: every way to deal the places of the unlabeled rows to A and B, place by place."""
    labeled, unlabeled = Counter(), Counter(map(tuple, problem.X_unlabeled))
    for x, label in zip(problem.X_labeled, problem.labels, strict=True):
        labeled[tuple(x), int(label)] += 1
    alone = {x for x, _ in labeled} - set(unlabeled)
    best = np.inf
    for deal in product((0, 1), repeat=len(unlabeled)):
        of_a = sum(size for size, c in zip(unlabeled.values(), deal, strict=True) if c == 0)
        contradicted = sum(labeled[x, 1 - c] for x, c in zip(unlabeled, deal, strict=True))
        best = min(best, 2 * contradicted + problem.C * abs(of_a - int(problem.totals[0])))
    return best + sum(2 * min(labeled[x, 0], labeled[x, 1]) for x in alone)


@given(feasible_trees())
def test_no_feasible_tree_costs_less_than_the_bound_that_needs_no_solver(drawn):
    problem, tree, _ = drawn
    assert score(problem, tree).objective >= lower_bound(problem) - 1e-9


@given(crowded(), st.integers(1, 2), st.sampled_from([None, 1.0, 4.0]))
@settings(max_examples=40)
def test_the_optimum_is_not_below_the_bound_that_needs_no_solver(problem, depth, weight_bound):
    problem = problem.merged()
    limits = compute_bounds(problem, depth, weight_bound)
    optimum = solve(load_solver("highs"), build_p2(problem, Topology(depth), limits)).dual_bound
    assert optimum >= lower_bound(problem) - 1e-6


@given(crowded())
def test_the_bound_is_the_cheapest_way_to_deal_places_to_classes(problem):
    expected = cheapest_deal(problem)
    assert lower_bound(problem) == pytest.approx(expected)
    assert lower_bound(problem.merged()) == pytest.approx(expected)
    assert expected >= contradiction_bound(problem) + problem.C * total_bound(problem) - 1e-9


def test_labels_that_contradict_the_total_are_paid_for():
    """Three rows at 0, three at 1, all of one kind by their labels, and the total wants three of the other.

    Moving a place costs 2 for its labeled row; leaving all as they are costs 3.
    """
    X = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0])[:, None]
    problem = Problem.from_arrays(X, [None] * 6 + ["A", "A"], totals={"A": 3, "B": 3})
    assert contradiction_bound(problem) == total_bound(problem) == 0.0
    assert lower_bound(problem) == 2.0
    assert lower_bound(replace(problem, C=0.5)) == 1.5


def test_a_bound_that_would_take_long_gives_way_to_the_two_it_joins(monkeypatch):
    X = np.array([0.0, 0.0, 0.0, 0.0, 0.0])[:, None]
    problem = Problem.from_arrays(X, [None] * 2 + ["A", "A", "B"], totals={"A": 1, "B": 1})
    assert lower_bound(problem) == 3.0
    problem = replace(problem, totals=np.array([0, 2]), C=9.0)
    assert lower_bound(problem) == 4.0
    monkeypatch.setattr(bounds, "_EXACT_MOVES_WORK", 0)
    assert lower_bound(problem) == 2.0


@pytest.mark.parametrize("count", range(40))
def test_takes_add_up_to_every_number_up_to_the_count(count):
    takes = list(bounds._takes(count))
    sums = {sum(chosen) for size in range(len(takes) + 1) for chosen in combinations(takes, size)}
    assert sums == set(range(count + 1))


@given(st.integers(0, 10**6))
def test_no_tree_of_three_classes_costs_less_than_its_contradictions(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, size=(8, 1)).astype(float)
    y = ["A", "B", "C", *rng.choice(["A", "B", "C"], 5)]
    problem = Problem.from_arrays(X, y, totals={"A": 0, "B": 0, "C": 0})
    topology = Topology(2, 3)
    tree = ObliqueTree.of(topology, rng.normal(size=(3, 1)), rng.normal(size=3))
    assert score(problem, tree).leaf_error >= contradiction_bound(problem) - 1e-9


@given(problems())
def test_the_contradiction_bound_is_what_single_places_cost_one_by_one(problem):
    """The best value v of a single hyperplane at a place costs n_A [1 + v]+ + n_B [1 - v]+, least at v = -1 or 1."""
    expected = 0.0
    for x in {tuple(row) for row in problem.X_labeled}:
        here = (problem.X_labeled == x).all(axis=1)
        n_a, n_b = (problem.labels[here] == 0).sum(), (problem.labels[here] == 1).sum()
        expected += min(n_a * max(0, 1 + v) + n_b * max(0, 1 - v) for v in (-1, 0, 1))
    assert contradiction_bound(problem) == expected
    assert contradiction_bound(problem.merged()) == expected


@given(problems(max_unlabeled=9))
def test_the_total_bound_is_the_best_over_all_choices_of_distinct_rows(problem):
    weights = problem.merged().unlabeled_weights
    sums = [float(np.dot(chosen, weights)) for chosen in product((0, 1), repeat=len(weights))]
    assert total_bound(problem) == min(abs(total - float(problem.totals[0])) for total in sums)


def test_large_groups_of_equal_rows_are_weighed_exactly():
    """Groups of 70, 70 and 90 rows reach 160 and 140, never 150."""
    X = np.repeat([0.0, 1.0, 2.0], [70, 70, 90])[:, None]
    problem = Problem.from_arrays(np.vstack([X, [[9.0]]]), [None] * 230 + ["A"], totals={"A": 150, "B": 80})
    assert total_bound(problem) == 10.0


def test_a_problem_without_unlabeled_rows_misses_no_total():
    assert total_bound(Problem.from_arrays([[0.0], [1.0]], ["A", "B"], totals={"A": 0})) == 0.0
