from collections import Counter
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from s2oct.p2 import proof as lower_bounds
from s2oct.p2.milp import build_p2
from s2oct.p2.proof import contradiction_bound, lower_bound, total_bound
from s2oct.problem.problem import Problem
from s2oct.problem.totals import Targets
from s2oct.solvers import load_solver
from s2oct.trees.tree import ObliqueTree, Topology
from tests.preparing import prepared_as_is, score_of
from tests.solvers.watchers import solve
from tests.strategies import feasible_trees, problems

row_prices = st.sampled_from([0.3, 1.0, 5.0])


@st.composite
def crowded(draw) -> Problem:
    """Problems with few places for many rows: labeled rows equal each other and unlabeled ones."""
    n, m = draw(st.integers(1, 7)), draw(st.integers(1, 9))
    X = draw(arrays(float, (n + m, draw(st.integers(1, 2))), elements=st.integers(0, 2).map(float)))
    y = draw(st.lists(st.sampled_from("AB"), min_size=n, max_size=n)) + [None] * m
    total = draw(st.integers(0, m))
    return Problem.from_arrays(X, y, totals={"A": total, "B": m - total})


def cheapest_deal(problem: Problem, C: float) -> float:
    """The bound spelled out: every way to deal the places of the unlabeled rows to A and B, place by place."""
    labeled, unlabeled = Counter(), Counter(map(tuple, problem.X_unlabeled))
    for x, label in zip(problem.X_labeled, problem.labels, strict=True):
        labeled[tuple(x), int(label)] += 1
    alone = {x for x, _ in labeled} - set(unlabeled)
    best = np.inf
    for deal in product((0, 1), repeat=len(unlabeled)):
        of_a = sum(size for size, c in zip(unlabeled.values(), deal, strict=True) if c == 0)
        contradicted = sum(labeled[x, 1 - c] for x, c in zip(unlabeled, deal, strict=True))
        best = min(best, 2 * contradicted + C * abs(of_a - int(problem.totals[0])))
    return best + sum(2 * min(labeled[x, 0], labeled[x, 1]) for x in alone)


@given(feasible_trees())
def test_no_feasible_tree_costs_less_than_the_bound_that_needs_no_solver(drawn):
    prepared, tree = drawn
    problem, C = prepared.problem, prepared.spec.C
    assert score_of(problem, tree, C).objective >= lower_bound(problem, C) - 1e-9


@pytest.mark.slow
@given(crowded(), row_prices, st.integers(1, 2), st.sampled_from([None, 1.0, 4.0]))
@settings(max_examples=40)
def test_the_optimum_is_not_below_the_bound_that_needs_no_solver(problem, C, depth, coefficient_bound):
    prepared = prepared_as_is(problem.merged(), depth, coefficient_bound, C)
    optimum = solve(load_solver("highs"), build_p2(prepared)).dual_bound
    assert optimum >= lower_bound(prepared.problem, C) - 1e-6


@given(crowded(), row_prices)
def test_the_bound_is_the_cheapest_way_to_deal_places_to_classes(problem, C):
    expected = cheapest_deal(problem, C)
    assert lower_bound(problem, C) == pytest.approx(expected)
    assert lower_bound(problem.merged(), C) == pytest.approx(expected)
    assert expected >= contradiction_bound(problem) + C * total_bound(problem) - 1e-9


def test_labels_that_contradict_the_total_are_paid_for():
    """Three rows at 0, three at 1, all of one kind by their labels, and the total wants three of the other.

    Moving a place costs 2 for its labeled row; leaving all as they are costs 3.
    """
    X = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0])[:, None]
    problem = Problem.from_arrays(X, [None] * 6 + ["A", "A"], totals={"A": 3, "B": 3})
    assert contradiction_bound(problem) == total_bound(problem) == 0.0
    assert lower_bound(problem, 1.0) == 2.0
    assert lower_bound(problem, 0.5) == 1.5


def test_a_bound_that_would_take_long_gives_way_to_the_two_it_joins(monkeypatch):
    X = np.array([0.0, 0.0, 0.0, 0.0, 0.0])[:, None]
    problem = Problem.from_arrays(X, [None] * 2 + ["A", "A", "B"], totals={"A": 1, "B": 1})
    assert lower_bound(problem, 1.0) == 3.0
    problem = replace(problem, targets=Targets.exact([0, 2], problem.n_unlabeled))
    assert lower_bound(problem, 9.0) == 4.0
    monkeypatch.setattr(lower_bounds, "_EXACT_MOVES_WORK", 0)
    assert lower_bound(problem, 9.0) == 2.0


@pytest.mark.parametrize("count", range(40))
def test_takes_add_up_to_every_number_up_to_the_count(count):
    takes = list(lower_bounds._takes(count))
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
    assert score_of(problem, tree).leaf_error >= contradiction_bound(problem) - 1e-9


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
    sizes = problem.merged().unlabeled_multiplicity
    sums = [float(np.dot(chosen, sizes)) for chosen in product((0, 1), repeat=len(sizes))]
    assert total_bound(problem) == min(abs(total - float(problem.totals[0])) for total in sums)


def test_large_groups_of_equal_rows_are_counted_exactly():
    """Groups of 70, 70 and 90 rows reach 160 and 140, never 150."""
    X = np.repeat([0.0, 1.0, 2.0], [70, 70, 90])[:, None]
    problem = Problem.from_arrays(np.vstack([X, [[9.0]]]), [None] * 230 + ["A"], totals={"A": 150, "B": 80})
    assert total_bound(problem) == 10.0


def test_a_problem_without_unlabeled_rows_misses_no_total():
    assert total_bound(Problem.from_arrays([[0.0], [1.0]], ["A", "B"], totals={"A": 0})) == 0.0
