import numpy as np
import pytest
from hypothesis import given

from s2oct.model.objective import branch_errors, leaf_errors, least_leaf_errors, score
from s2oct.model.problem import Problem
from s2oct.model.topology import Topology
from s2oct.model.tree import ObliqueTree
from tests.oracles import naive_cost, paths
from tests.strategies import problems_with_trees


@given(problems_with_trees())
def test_score_is_the_papers_formula_in_plain_loops(drawn):
    """(P1): sum of least leaf errors, plus C xi; rows nearer than 1 to a hyperplane are counted."""
    problem, tree = drawn
    leaf_error, xi, too_near = naive_cost(problem, tree)
    found = score(problem, tree)
    assert found.leaf_error == pytest.approx(leaf_error)
    assert found.xi == xi
    assert found.objective == pytest.approx(leaf_error + problem.C * xi)
    assert found.n_margin_violations == too_near


@given(problems_with_trees())
def test_leaf_errors_add_up_the_branch_errors_on_the_path(drawn):
    """Definitions 1 and 2, row by row and leaf by leaf."""
    problem, tree = drawn
    left, right = branch_errors(tree, problem.X_labeled)
    errors = leaf_errors(tree, problem.X_labeled)
    for position, path in enumerate(path for _, path in sorted(paths(tree.topology.depth).items())):
        expected = sum((right if side == "R" else left)[:, b - 1] for b, side in path)
        assert errors[:, position] == pytest.approx(expected)


@given(problems_with_trees())
def test_a_row_at_distance_1_in_a_leaf_of_its_class_costs_nothing(drawn):
    """LE = 0 for some own leaf, exactly where the tree classifies the row rightly at distance 1 on its path."""
    problem, tree = drawn
    values = np.abs(tree.values(problem.X_labeled))
    own_path = tree.topology.path_nodes[tree.apply(problem.X_labeled) - tree.topology.n_leaves]
    safe = np.take_along_axis(values, own_path, axis=1).min(axis=1) >= 1
    right = tree.predict(problem.X_labeled) == problem.labels
    assert (least_leaf_errors(problem, tree) == 0).tolist() == (safe & right).tolist()


def test_branch_errors_of_both_sides_add_up_to_2_or_more():
    tree = ObliqueTree.of(Topology(1), [[1.0]], [0.0])
    left, right = branch_errors(tree, np.array([[-3.0], [-0.5], [0.0], [2.0]]))
    assert (left + right).ravel().tolist() == [4.0, 2.0, 2.0, 3.0]


def test_the_margin_of_a_problem_without_unlabeled_rows_is_infinite():
    problem = Problem.from_arrays([[0.0], [1.0]], ["A", "B"], totals={"A": 0})
    assert score(problem, ObliqueTree.of(Topology(1), [[2.0]], [1.0])).min_margin == np.inf


def test_a_margin_within_the_tolerance_counts_as_1():
    problem = Problem.from_arrays([[0.0], [1.0]], ["A", None], totals={"A": 0, "B": 1})
    near = score(problem, ObliqueTree.of(Topology(1), [[2.0]], [1.0 + 5e-7]))
    too_near = score(problem, ObliqueTree.of(Topology(1), [[2.0]], [1.0 + 5e-6]))
    assert (near.n_margin_violations, too_near.n_margin_violations) == (0, 1)


def test_merged_rows_count_with_their_multiplicity():
    problem = Problem.from_arrays(
        [[0.0], [0.0], [1.0], [1.0], [1.0]], ["B", "B", None, None, None], totals={"A": 1, "B": 2}
    )
    tree = ObliqueTree.constant(Topology(1), 1, right=False)
    assert score(problem, tree) == score(problem.merged(), tree)
    assert (score(problem, tree).leaf_error, score(problem, tree).xi) == (4.0, 2.0)
