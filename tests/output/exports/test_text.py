"""The text of a tree, read back by a parser that knows nothing of trees, predicts what the tree predicts."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s2oct import ObliqueTree, Topology
from s2oct.errors import InvalidProblem
from s2oct.export import tree_to_dot, tree_to_python, tree_to_sql, tree_to_text
from s2oct.trees.rules import SplitRule, as_rules
from tests.messages import naming
from tests.output.exports.rule_readers import read_back

CLASSES = ["no", "yes"]


def test_names_and_classes_cannot_forge_rules_or_steer_a_terminal():
    tree = ObliqueTree.of(Topology(1), np.array([[2.0]]), np.array([3.0]))
    text = tree_to_text(tree, ["age\n    no\x1b[2J"], ["no\x1b[31m", "yes\r"])
    assert text == "if 2 * age\\n    no\\x1b[2J <= 3:\n    no\\x1b[31m\notherwise:\n    yes\\r"


def random_tree(rng, depth, p):
    """A tree with dense, single-feature and constant splits, and coefficients of very different sizes."""
    topology = Topology(depth)
    omega = rng.normal(size=(topology.n_branches, p)) * 10.0 ** rng.integers(-7, 5, size=(topology.n_branches, p))
    for b in range(topology.n_branches):
        kind = rng.integers(4)
        if kind == 0:
            omega[b] = 0.0
        elif kind == 1:
            omega[b, np.arange(p) != rng.integers(p)] = 0.0
    X = rng.normal(size=(60, p))
    gamma = np.array(
        [rng.choice(X @ w) + 1e-3 * np.abs(w).max() if w.any() else rng.choice([-1.0, 1.0]) for w in omega]
    )
    return ObliqueTree.of(topology, omega, gamma), X


@given(seed=st.integers(0, 10**6), depth=st.integers(1, 4), p=st.integers(1, 5), short=st.booleans())
@settings(max_examples=200, deadline=None)
def test_rules_as_written_predict_what_the_tree_predicts(seed, depth, p, short):
    """Also rows that the rules have never seen, and rows on a hyperplane."""
    tree, X = random_tree(np.random.default_rng(seed), depth, p)
    tree = as_rules(tree, X[:30]) if short else tree
    names = [f"f{j}" for j in range(p)]
    text = tree_to_text(tree, names, CLASSES)
    assert read_back(text, names, X) == [CLASSES[c] for c in tree.predict(X)]


@given(seed=st.integers(0, 10**6), depth=st.integers(1, 3))
@settings(max_examples=100, deadline=None)
def test_counts_in_the_leaves_are_those_of_the_tree(seed, depth):
    tree, X = random_tree(np.random.default_rng(seed), depth, 3)
    text = tree_to_text(tree, ["a", "b", "c"], CLASSES, labeled=X[:20], unlabeled=X[20:])
    counts = re.findall(r"(no|yes)  \((\d+) labeled, (\d+) unlabeled\)", text)
    for position, rows in ((1, X[:20]), (2, X[20:])):
        for c, label in enumerate(CLASSES):
            counted = sum(int(leaf[position]) for leaf in counts if leaf[0] == label)
            assert counted == (tree.predict(rows) == c).sum()


@pytest.mark.parametrize(
    ("omega", "gamma", "rule"),
    [
        ([0.52, -1.3, 1.0], 17.2, "kids + 0.52 * age - 1.3 * income <= 17.2"),
        ([1.0, -0.5, 0.0], 3.0, "age - 0.5 * income <= 3"),
        ([-1.0, 0.5, 0.0], -3.0, "age - 0.5 * income >= 3"),
        ([-1.0, 0.5, 0.0], 3.0, "age - 0.5 * income >= -3"),
        ([-1.0, 0.5, 0.0], 0.0, "age - 0.5 * income >= 0"),
        ([-1.0, -0.5, 0.25], 3.0, "age + 0.5 * income - 0.25 * kids >= -3"),
        ([1.0, 0.0, 0.0], 26.0, "age <= 26"),
        ([-1.0, 0.0, 0.0], -27.0, "age >= 27"),
        ([0.0, 0.0, -1.0], 0.0, "kids >= 0"),
        ([0.0, 0.0, 1.0], -0.0, "kids <= 0"),
        ([1.0, -1.0, 0.0], -63.0, "income - age >= 63"),
        ([1.0, -1.0, 0.0], 63.0, "age - income <= 63"),
        ([1.0, -1.0, -1.0], 63.0, "income - age + kids >= -63"),
        ([2.0, 0.0, 0.0], 53.0, "2 * age <= 53"),
        ([-2.0, 0.0, 0.0], -53.0, "2 * age >= 53"),
        ([-1.0, 0.0, -2.0], -50.0, "age + 2 * kids >= 50"),
        ([0.0, 1e-7, 1.0], 1e6, "kids + 1e-07 * income <= 1000000"),
        ([0.1 + 0.2, 1e22, 0.0], 1 / 3, "0.30000000000000004 * age + 1e+22 * income <= 0.3333333333333333"),
    ],
)
def test_a_rule_has_the_numbers_of_the_tree(omega, gamma, rule):
    """A float is written without `.0`; nothing is divided; a term with the coefficient 1 leads, without a minus."""
    tree = ObliqueTree.of(Topology(1), np.array([omega]), np.array([gamma]))
    names = ["age", "income", "kids"]
    assert SplitRule.of(tree, 1, names).text() == rule
    assert tree_to_text(tree, names, CLASSES) == f"if {rule}:\n    no\notherwise:\n    yes"
    assert tree_to_dot(tree, names, CLASSES).split('n1 [label="')[1].split('"')[0].replace("\\n", " ") == rule


@pytest.mark.parametrize(("right", "label"), [(False, "no"), (True, "yes")])
def test_tree_that_splits_nothing_is_its_one_leaf(right, label):
    tree = ObliqueTree.constant(Topology(3), 2, right=right)
    assert tree_to_text(tree, ["a", "b"], CLASSES) == label
    assert tree_to_text(tree, ["a", "b"], CLASSES, labeled=np.zeros((3, 2))) == f"{label}  (3 labeled)"


def test_a_split_with_the_same_rules_on_both_sides_is_left_out():
    omega = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    X = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0], [9.0, 9.0]])
    tree = ObliqueTree.of(Topology(2), omega, np.array([4.0, 5.0, 5.0]))
    text = tree_to_text(tree, ["x", "z"], CLASSES, labeled=X)
    assert text == "if z <= 5:\n    no  (2 labeled)\notherwise:\n    yes  (2 labeled)"
    other = replace(tree, gamma=np.array([4.0, 5.0, 6.0]))
    assert tree_to_text(other, ["x", "z"], CLASSES).startswith("if x <= 4:")


def test_constant_splits_show_only_the_side_that_can_be_reached():
    omega = np.array([[0.0], [1.0], [1.0]])
    tree = ObliqueTree.of(Topology(2), omega, np.array([-1.0, 5.0, 7.0]))
    assert tree_to_text(tree, ["x"], CLASSES).startswith("if x <= 7:")
    assert "5" not in tree_to_text(tree, ["x"], CLASSES)


def test_split_between_equal_classes_is_left_out():
    omega = np.array([[1.0], [0.0], [0.0]])
    tree = ObliqueTree.of(Topology(2), omega, np.array([5.0, 1.0, 1.0]))
    assert tree_to_text(tree, ["x"], CLASSES, unlabeled=np.array([[4.0], [6.0]])) == "no  (2 unlabeled)"


def test_number_of_names_must_be_that_of_the_features():
    tree = ObliqueTree.constant(Topology(1), 2, right=False)
    with pytest.raises(InvalidProblem, match=naming(2, 3)):
        tree_to_text(tree, ["a", "b", "c"], CLASSES)


def test_two_features_of_one_name_are_refused():
    """Rules could not tell them apart."""
    tree = ObliqueTree.of(Topology(1), np.array([[1.0, 2.0]]), np.array([3.0]))
    with pytest.raises(InvalidProblem, match=naming("'a'", "feature")):
        tree_to_text(tree, ["a", "a"], CLASSES)


def test_sql_and_python_write_a_rule_the_same_way_round():
    tree = ObliqueTree.of(Topology(1), np.array([[-1.0, 0.0]]), np.array([-27.0]))
    assert "CASE WHEN CAST(`age` AS REAL) >= 27.0e0 THEN" in tree_to_sql(tree, ["age", "income"], CLASSES)
    assert "if v0 >= 27.0:  # age >= 27\n" in tree_to_python(tree, ["age", "income"], CLASSES)
