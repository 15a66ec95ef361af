"""Explanations say what the tree does: every comparison in them is true, and what would change a side changes it."""

from __future__ import annotations

import re

import numpy as np
import pytest

from s2oct import ObliqueTree, Topology
from s2oct.trees.explanation import explain_row
from s2oct.trees.rules import SplitRule, conditions, few_digits, pruned

NAMES = ["age", "income", "size", "rent"]


def random_tree(rng, *, decimals=1):
    """A tree of depth 3 whose splits use one to four features; some decide nothing."""
    omega = np.round(rng.normal(size=(7, 4)) * 3, decimals) * (rng.random((7, 4)) < 0.5)
    single = rng.integers(0, 7)
    omega[single] = 0
    omega[single, rng.integers(0, 4)] = rng.choice([-1.0, 1.0])
    return ObliqueTree(Topology(3), omega, np.round(rng.normal(size=7) * 5, decimals), rng.integers(0, 2, size=8))


@pytest.mark.parametrize("seed", range(20))
def test_steps_are_those_of_the_tree_and_their_comparisons_are_true(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, decimals=1 if seed % 2 else 15)
    shown = pruned(tree)
    for row in np.round(rng.normal(size=(10, 4)) * 5, 1):
        found = explain_row(tree, row, NAMES, ["no", "yes"])
        leaf = tree.apply(row[None, :])[0]
        (end,) = [leaves for leaves in shown.leaves if leaf in leaves.ids] or [shown]
        assert found.predicted == ["no", "yes"][tree.predict(row[None, :])[0]]
        assert [(step.node, not step.holds) for step in found.steps] == [
            (split.node, right) for split, right in conditions(shown, end)
        ]
        for step in found.steps:
            assert step.rule == SplitRule.of(tree, step.node, NAMES).text()
            value, relation, bound, verdict = re.search(
                r"and (\S+) ([<>]=) (\S+) (holds|does not hold)", step.sentence
            ).groups()
            truth = float(value) <= float(bound) if relation == "<=" else float(value) >= float(bound)
            assert truth == (verdict == "holds") == step.holds
            assert float(value) == pytest.approx(step.value, rel=1e-4)


LIMIT = r"(?:above |below |at )(?:about )?-?\d+(?:\.\d+)?(?: or above| or below)?"


def limits(step):
    """Each feature that could change a step alone: its name, where it would have to go, and the limit."""
    found = re.findall(rf"with (\w+) ({LIMIT})", step.sentence)
    if not found and step.rule.count(" ") == 2:
        found = [(step.rule.split(" ")[0], re.search(rf"It would change ({LIMIT})", step.sentence).group(1))]
    return [
        (name, 1 if "above" in where else -1, float(re.search(r"-?\d[\d.]*", where).group())) for name, where in found
    ]


@pytest.mark.parametrize("seed", range(20))
def test_a_feature_moved_past_its_limit_changes_the_side(seed):
    """Limits may be rounded to four digits, so rows are moved by a hundredth beyond and short of them."""
    rng = np.random.default_rng(seed)
    tree, n_limits = random_tree(rng), 0
    for row in np.round(rng.normal(size=(10, 4)) * 5, 1):
        for step in explain_row(tree, row, NAMES, ["no", "yes"]).steps:
            for name, sign, limit in limits(step):
                n_limits += 1
                for share, changes in ((0.01, True), (-0.01, False)):
                    moved = row.copy()
                    moved[NAMES.index(name)] = limit + sign * share * (1 + abs(limit))
                    holds = not tree.goes_right(moved[None, :])[0, step.node - 1]
                    assert (holds != step.holds) == changes
    assert n_limits > 3


def test_sentences_of_short_rules_read_well():
    tree = ObliqueTree.of(Topology(2), [[-1, 0], [1, -0.5], [0, 1]], [-27, 3, 10])
    told = str(explain_row(tree, np.array([31.0, 57.2]), ["age", "income"], ["no", "yes"]))
    assert told == (
        "1. age is 31, and 31 >= 27 holds. It would change below 27.\n"
        "2. age - 0.5 * income = 2.4 (age is 31, income is 57.2), and 2.4 <= 3 holds. It would change above\n"
        "   3, for instance with age above 31.6, or with income below 56.\n"
        "The class is 'no'."
    )
    told = str(explain_row(tree, np.array([26.0, 10.5]), ["age", "income"], ["no", "yes"]))
    assert told == (
        "1. age is 26, and 26 >= 27 does not hold. It would change at 27 or above.\n"
        "2. income is 10.5, and 10.5 <= 10 does not hold. It would change at 10 or below.\n"
        "The class is 'yes'."
    )


def test_splits_that_decide_nothing_are_left_out():
    constant = ObliqueTree.constant(Topology(2), 1, right=True)
    found = explain_row(constant, np.array([1.0]), ["age"], ["no", "yes"])
    assert found.steps == ()
    assert repr(found) == "The tree splits nothing: the class of every row is 'yes'."
    same_class = ObliqueTree(Topology(1), np.array([[1.0]]), np.array([0.0]), np.array([1, 1]))
    assert explain_row(same_class, np.array([1.0]), ["age"], ["no", "yes"]).steps == ()


def test_values_get_the_digits_that_show_their_side():
    """0.1 + 0.2 is a little more than 0.3, and 1000000.0004 a little more than a million."""
    tree = ObliqueTree.of(Topology(1), [[1.0, 1.0]], [0.3])
    (step,) = explain_row(tree, np.array([0.1, 0.2]), ["a", "b"], ["no", "yes"]).steps
    assert (
        "a + b = 0.30000000000000004 (a is 0.1, b is 0.2), and 0.30000000000000004 <= 0.3 does not hold"
        in step.sentence
    )
    tree = ObliqueTree.of(Topology(1), [[1.0]], [1e6])
    (step,) = explain_row(tree, np.array([1000000.0004]), ["a"], ["no", "yes"]).steps
    assert step.sentence.startswith("a is 1000000.0004, and 1000000.0004 <= 1000000 does not hold")
    (step,) = explain_row(tree, np.array([123.456789012]), ["a"], ["no", "yes"]).steps
    assert step.sentence.startswith("a is 123.457, and 123.457 <= 1000000 holds")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.1 + 0.2, 0.3),
        (123456.789, 123457.0),
        (-1234567.0, -1234567.0),
        (1.5e-7, 1.5e-7),
        (0.0, 0.0),
        (2.0**80, 2.0**80),
    ],
)
def test_numbers_keep_their_size_and_all_digits_before_the_point(value, expected):
    assert few_digits(value, 5) == expected
