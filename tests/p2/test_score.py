from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2oct.problem.problem import Guide, Problem
from s2oct.trees.tree import ObliqueTree, Topology
from tests.oracles import naive_cost, walk
from tests.preparing import score_of
from tests.strategies import prices, problems_with_trees


@given(problems_with_trees(), prices)
def test_score_is_the_papers_formula_in_plain_loops(drawn, C):
    """(P1): sum of least leaf errors, plus C xi; rows nearer than 1 to a hyperplane are counted."""
    problem, tree = drawn
    leaf_error, xi, too_near = naive_cost(problem, tree)
    found = score_of(problem, tree, C)
    assert found.leaf_error == pytest.approx(leaf_error)
    assert found.xi == xi
    assert found.objective == pytest.approx(leaf_error + C * xi)
    assert found.n_margin_violations == too_near
    assert found.guide_cost == 0.0


def test_the_margin_of_a_problem_without_unlabeled_rows_is_infinite():
    problem = Problem.from_arrays([[0.0], [1.0]], ["A", "B"], totals={"A": 0})
    assert score_of(problem, ObliqueTree.of(Topology(1), [[2.0]], [1.0])).min_margin == np.inf


def test_a_margin_within_the_tolerance_counts_as_1():
    problem = Problem.from_arrays([[0.0], [1.0]], ["A", None], totals={"A": 0, "B": 1})
    near = score_of(problem, ObliqueTree.of(Topology(1), [[2.0]], [1.0 + 5e-7]))
    too_near = score_of(problem, ObliqueTree.of(Topology(1), [[2.0]], [1.0 + 5e-6]))
    assert (near.n_margin_violations, too_near.n_margin_violations) == (0, 1)


def test_merged_rows_count_with_their_multiplicity():
    problem = Problem.from_arrays(
        [[0.0], [0.0], [1.0], [1.0], [1.0]], ["B", "B", None, None, None], totals={"A": 1, "B": 2}
    )
    tree = ObliqueTree.constant(Topology(1), 1, right=False)
    assert score_of(problem, tree) == score_of(problem.merged(), tree)
    assert (score_of(problem, tree).leaf_error, score_of(problem, tree).xi) == (4.0, 2.0)


@given(problems_with_trees(), st.integers(0, 10**6))
def test_a_guide_charges_row_by_row_and_1_for_each_row_off_the_totals(drawn, seed):
    problem, tree = drawn
    charges = np.random.default_rng(seed).uniform(size=(problem.n_unlabeled, 2))
    guided = replace(problem, guide=Guide(charges))
    expected = naive_cost(problem, tree)[1]
    for x, count, charge in zip(problem.X_unlabeled, problem.unlabeled_multiplicity, charges, strict=True):
        expected += count * charge[walk(tree, x) % 2]
    assert score_of(guided, tree).guide_cost == pytest.approx(expected)
    assert score_of(guided, tree).objective == score_of(problem, tree).objective


def test_equal_rows_are_charged_together():
    """Merging rows changes nothing of what a guide charges for a tree."""
    problem = Problem.from_arrays([[0.0], [3.0], [1.0], [1.0], [2.0]], ["a", "b", None, None, None], totals={"a": 1})
    problem = replace(problem, guide=Guide(np.array([[0.0, 0.4], [0.6, 0.0], [0.0, 1.0]])))
    merged = problem.merged()
    assert merged.n_unlabeled == 2
    for gamma in (0.5, 1.5, 2.5):
        tree = ObliqueTree.of(Topology(1), np.array([[1.0]]), np.array([gamma]))
        assert score_of(merged, tree).guide_cost == pytest.approx(score_of(problem, tree).guide_cost)
