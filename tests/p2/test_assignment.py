"""Where a tree puts the rows, against the paper's definitions row by row."""

import numpy as np
import pytest
from hypothesis import given

from s2oct.p2.costs import Assignment, branch_errors, leaf_errors
from s2oct.trees.tree import ObliqueTree, Topology
from tests.oracles import paths, walk
from tests.strategies import problems_with_trees


@given(problems_with_trees())
def test_leaf_errors_add_up_the_branch_errors_on_the_path(drawn):
    """Definitions 1 and 2, row by row and leaf by leaf."""
    problem, tree = drawn
    values = tree.values(problem.X_labeled)
    left, right = branch_errors(values)
    errors = leaf_errors(tree.topology, values)
    for position, path in enumerate(path for _, path in sorted(paths(tree.topology.depth).items())):
        expected = sum((right if side == "R" else left)[:, b - 1] for b, side in path)
        assert errors[:, position] == pytest.approx(expected)
    assert Assignment.of(problem, tree).leaf_errors.tolist() == errors.tolist()


@given(problems_with_trees())
def test_a_row_at_distance_1_in_a_leaf_of_its_class_costs_nothing(drawn):
    """LE = 0 for some own leaf, exactly where the tree classifies the row rightly at distance 1 on its path."""
    problem, tree = drawn
    values = np.abs(tree.values(problem.X_labeled))
    own_path = tree.topology.path_nodes[tree.apply(problem.X_labeled) - tree.topology.n_leaves]
    safe = np.take_along_axis(values, own_path, axis=1).min(axis=1) >= 1
    right = tree.predict(problem.X_labeled) == problem.labels
    assert (Assignment.of(problem, tree).label_errors == 0).tolist() == (safe & right).tolist()


@given(problems_with_trees())
def test_a_labeled_row_pays_at_the_cheapest_leaf_of_its_class(drawn):
    problem, tree = drawn
    found = Assignment.of(problem, tree)
    for i, label in enumerate(problem.labels.tolist()):
        own = [t for t, c in enumerate(tree.leaf_classes.tolist()) if c == label]
        assert found.is_own_leaf[i].nonzero()[0].tolist() == own
        assert found.label_errors[i] == min(found.leaf_errors[i, t] for t in own)
        assert found.cheapest_leaf[i] in own
        assert found.leaf_errors[i, found.cheapest_leaf[i]] == found.label_errors[i]


@given(problems_with_trees())
def test_unlabeled_rows_are_assigned_as_by_a_plain_walk(drawn):
    problem, tree = drawn
    found = Assignment.of(problem.merged(), tree)
    leaves = [walk(tree, x) for x in found.problem.X_unlabeled]
    assert found.unlabeled_leaves.tolist() == leaves
    assert found.unlabeled_classes.tolist() == [leaf % 2 for leaf in leaves]
    copies = found.problem.unlabeled_multiplicity.tolist()
    in_a = sum(count for leaf, count in zip(leaves, copies, strict=True) if leaf % 2 == 0)
    assert found.class_counts.tolist() == [in_a, sum(copies) - in_a]


@given(problems_with_trees())
def test_the_margin_of_a_row_is_its_least_distance_from_any_hyperplane(drawn):
    problem, tree = drawn
    found = Assignment.of(problem, tree)
    for x, margin in zip(problem.X_unlabeled, found.margins, strict=True):
        distances = [abs(float(omega @ x - gamma)) for omega, gamma in zip(tree.omega, tree.gamma, strict=True)]
        assert margin == pytest.approx(min(distances))


def test_branch_errors_of_both_sides_add_up_to_2_or_more():
    tree = ObliqueTree.of(Topology(1), [[1.0]], [0.0])
    left, right = branch_errors(tree.values(np.array([[-3.0], [-0.5], [0.0], [2.0]])))
    assert (left + right).ravel().tolist() == [4.0, 2.0, 2.0, 3.0]
