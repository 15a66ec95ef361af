"""What rows must cost that are too near each other to be told apart, compared with loops, trees and the optimum."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from s2oct.p2.costs import Assignment
from s2oct.p2.milp import build_p2
from s2oct.p2.proof import near_pairs, near_row_bound
from s2oct.problem.problem import Problem
from s2oct.solvers import load_solver
from s2oct.stopping import Deadline
from tests.cells import trees_of_cells
from tests.preparing import feasible_cost, prepared_as_is, score_of
from tests.solvers.watchers import solve
from tests.strategies import feasible_trees


@st.composite
def huddled(draw) -> Problem:
    """Few rows within a small square, so that many of them cannot be told apart by small coefficients."""
    n, m = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    X = draw(arrays(float, (n + m, draw(st.integers(1, 2))), elements=st.sampled_from([0.0, 0.1, 0.3, 0.5, 1.5])))
    y = draw(st.lists(st.sampled_from("AB"), min_size=n, max_size=n)) + [None] * m
    total = draw(st.integers(0, m))
    return Problem.from_arrays(X, y, totals={"A": total, "B": m - total})


@given(feasible_trees())
@settings(max_examples=50)
def test_no_feasible_tree_costs_less_than_the_bound_of_near_rows(drawn):
    prepared, tree = drawn
    problem, C = prepared.problem, prepared.spec.C
    assert score_of(problem, tree, C).objective >= near_row_bound(problem, C, prepared.bounds.s) - 1e-9


@given(trees_of_cells())
@settings(max_examples=50)
def test_no_tree_costs_less_with_several_classes_domains_and_weights(drawn):
    prepared, tree = drawn
    cost = feasible_cost(prepared, Assignment.of(prepared.problem, tree))
    assert cost is not None
    assert cost >= near_row_bound(prepared.problem, prepared.spec.C, prepared.bounds.s) - 1e-9


@given(huddled(), st.sampled_from([0.3, 1.0, 5.0]), st.integers(1, 2), st.sampled_from([1.0, 4.0, 10.0]))
@settings(max_examples=40)
def test_the_optimum_is_not_below_the_bound_of_near_rows(problem, C, depth, s):
    prepared = prepared_as_is(problem.merged(), depth, s, C)
    optimum = solve(load_solver("highs"), build_p2(prepared)).dual_bound
    assert optimum >= near_row_bound(prepared.problem, C, s) - 1e-6


@given(arrays(float, (12, 3), elements=st.integers(0, 20).map(lambda k: 0.1 * k)), st.sampled_from([1.0, 3.0, 7.3]))
def test_near_pairs_are_those_that_loops_find(X, s):
    found = near_pairs(X, s)
    assert found is not None
    expected = {(i, k) for i in range(12) for k in range(i + 1, 12) if s * np.abs(X[i] - X[k]).sum() < 2 - 1e-3}
    assert set(zip(found[0].tolist(), found[1].tolist(), strict=True)) == expected


def test_the_search_for_near_pairs_ends_at_a_deadline_without_a_bound(stepping_clock):
    stepping_clock.step = 1.0
    X = np.linspace(0.0, 1.0, 50)[:, None]
    reads = 10  # of the forty that it takes
    assert near_pairs(X, 2.0, Deadline.after(1000.0)) is not None
    deadline = Deadline.after(reads)
    assert near_pairs(X, 2.0, deadline) is None
    assert deadline.has_cut
    assert (
        near_row_bound(Problem.from_arrays(X, ["A", *[None] * 49], totals={"A": 9, "B": 40}), 1.0, 2.0, deadline) == 0.0
    )


def test_two_labels_at_a_small_distance_pay_what_the_distance_leaves():
    """Values differ by at most 10 * 0.05, and two errors of different directions add up to 2 minus that."""
    problem = Problem.from_arrays([[0.0], [0.05], [9.0]], ["A", "B", None], totals={"A": 0, "B": 1})
    assert near_row_bound(problem, 1.0, 10.0) == pytest.approx(1.5)


def test_rows_in_a_chain_end_in_one_class_and_miss_the_total():
    """Neighbours are 0.15 apart and cannot be told apart with coefficients up to 10: two of the four rows are off."""
    problem = Problem.from_arrays(
        [[0.0], [0.15], [0.3], [0.45], [8.0]], [None, None, None, None, "A"], totals={"A": 2, "B": 2}
    )
    assert near_row_bound(problem, 1.0, 10.0) == pytest.approx(2.0)
    assert near_row_bound(problem, 1.0, 20.0) == 0.0


def test_a_labeled_row_pays_where_the_total_wants_its_neighbour_elsewhere():
    problem = Problem.from_arrays([[0.0], [0.1], [5.0]], ["A", None, None], totals={"A": 0, "B": 2})
    assert near_row_bound(problem, 1.0, 10.0) == pytest.approx(1.0)
    assert near_row_bound(problem, 0.4, 10.0) == pytest.approx(0.4)
