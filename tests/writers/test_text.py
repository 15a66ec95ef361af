"""The text of a tree, read back by a parser that knows nothing of trees, predicts what the tree predicts."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s2oct import ObliqueTree, Topology
from s2oct.errors import InvalidProblem
from s2oct.export import tree_to_text

CLASSES = ["no", "yes"]


def read_back(text, names, X):
    """Predict rows by following the rules as they are written."""
    return [_follow(text.splitlines(), dict(zip(names, row, strict=True))) for row in X]


def _follow(lines, row, indent=0):
    head = lines[0][indent:]
    if not head.startswith("if "):
        return head.split("  (")[0]
    otherwise = next(i for i, line in enumerate(lines) if line == " " * indent + "otherwise:")
    block = lines[1:otherwise] if _holds(head[3:-1], row) else lines[otherwise + 1 :]
    return _follow(block, row, indent + 4)


def _holds(rule, row):
    left, relation, right = re.fullmatch(r"(.*) (<=|>=) (\S+)", rule).groups()
    total = 0.0
    for sign, coefficient, name in re.findall(r"([+-]?)\s*(?:([\d.e+-]+) \* )?([a-z]\w*)", left):
        total += (-1 if sign == "-" else 1) * float(coefficient or 1) * row[name]
    return total <= float(right) if relation == "<=" else total >= float(right)


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


@given(seed=st.integers(0, 10**6), depth=st.integers(1, 4), p=st.integers(1, 5), decimals=st.integers(0, 6))
@settings(max_examples=200, deadline=None)
def test_rules_as_written_predict_what_the_tree_predicts(seed, depth, p, decimals):
    tree, X = random_tree(np.random.default_rng(seed), depth, p)
    names = [f"f{j}" for j in range(p)]
    text = tree_to_text(tree, names, CLASSES, decimals=decimals, labeled=X[:20], unlabeled=X[20:])
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


def test_split_over_several_features_is_written_with_its_coefficients():
    tree = ObliqueTree.of(Topology(1), np.array([[0.52, -1.3, 1.0]]), np.array([17.2]))
    text = tree_to_text(tree, ["age", "education", "children"], CLASSES)
    assert text.splitlines()[0] == "if 0.52 * age - 1.3 * education + children <= 17.2:"


def test_split_over_one_feature_is_divided_by_its_coefficient():
    tree = ObliqueTree.of(Topology(1), np.array([[0.0, -4.0]]), np.array([-50.0]))
    assert tree_to_text(tree, ["age", "education"], CLASSES).splitlines() == [
        "if education >= 12.5:",
        "    no",
        "otherwise:",
        "    yes",
    ]


def test_small_coefficients_keep_their_significant_digits():
    tree = ObliqueTree.of(Topology(1), np.array([[0.0000123456, 2.0]]), np.array([0.00098765]))
    assert tree_to_text(tree, ["income", "age"], CLASSES).startswith("if 1.235e-05 * income + 2 * age <= 0.0009877:")


def test_digits_are_added_where_rounding_would_move_a_row():
    tree = ObliqueTree.of(Topology(1), np.array([[1.0]]), np.array([2.000004]))
    assert tree_to_text(tree, ["x"], CLASSES).startswith("if x <= 2:")
    near = np.array([[2.000001]])
    assert tree_to_text(tree, ["x"], CLASSES, unlabeled=near).startswith("if x <= 2.000004:")


@pytest.mark.parametrize(("right", "label"), [(False, "no"), (True, "yes")])
def test_tree_that_splits_nothing_is_its_one_leaf(right, label):
    tree = ObliqueTree.constant(Topology(3), 2, right=right)
    assert tree_to_text(tree, ["a", "b"], CLASSES) == label
    assert tree_to_text(tree, ["a", "b"], CLASSES, labeled=np.zeros((3, 2))) == f"{label}  (3 labeled)"


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
    with pytest.raises(InvalidProblem, match="Expected 2 feature names, got 3"):
        tree_to_text(tree, ["a", "b", "c"], CLASSES)


@given(seed=st.integers(0, 10**6), depth=st.integers(1, 3), p=st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_fewest_decimals_keep_every_row_in_its_class_and_take_no_more_room_than_all_digits(seed, depth, p):
    tree, X = random_tree(np.random.default_rng(seed), depth, p)
    names = [f"f{j}" for j in range(p)]
    text = tree_to_text(tree, names, CLASSES, decimals="fewest", labeled=X)
    assert read_back(text, names, X) == [CLASSES[c] for c in tree.predict(X)]
    assert len(text) <= len(tree_to_text(tree, names, CLASSES, decimals=17, labeled=X))


def test_fewest_decimals_are_as_few_as_the_rows_allow():
    tree = ObliqueTree.of(Topology(1), np.array([[0.5234, -1.3456]]), np.array([17.2345]))
    far = np.array([[100.0, 1.0], [0.0, 1.0]])
    assert tree_to_text(tree, ["a", "b"], CLASSES, decimals="fewest", labeled=far).startswith("if 0.5 * a - b <= 17:")
    on_it = (17.2345 + 1.3456) / 0.5234
    near = np.array([[on_it - 0.01, 1.0], [on_it + 0.01, 1.0], [on_it - 0.01 + 1.3456 / 0.5234, 2.0]])
    text = tree_to_text(tree, ["a", "b"], CLASSES, decimals="fewest", labeled=np.vstack([far, near]))
    assert text.startswith("if 0.5234 * a - 1.3456 * b <= 17.2345:")


@pytest.mark.parametrize("decimals", ["few", -1, 1.5, True])
def test_other_decimals_are_refused(decimals):
    tree = ObliqueTree.constant(Topology(1), 1, right=False)
    with pytest.raises(InvalidProblem, match="Expected decimals to be 'fewest' or a whole number"):
        tree_to_text(tree, ["a"], CLASSES, decimals=decimals)


def test_fewest_decimals_without_rows_are_refused():
    tree = ObliqueTree.constant(Topology(1), 1, right=False)
    with pytest.raises(InvalidProblem, match="Expected rows that keep their leaves"):
        tree_to_text(tree, ["a"], CLASSES, decimals="fewest")
