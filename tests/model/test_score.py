import numpy as np
import pytest
from hypothesis import given

from s2oct.model.problem import Problem
from s2oct.model.topology import Topology
from s2oct.model.tree import ObliqueTree
from tests.oracles import naive_cost
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
