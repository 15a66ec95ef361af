"""Alternating node fits for OCT-H: one hyperplane at a time, judged by the errors of the whole tree in OCT-H's form.

With all other nodes fixed, the side at a node matters only to rows that reach it and are right on one side and wrong on
the other. So fitting a node is a weighted two-class problem. Of several directions, the offsets with the fewest errors
are brought into gaps, and the tree is kept if it has fewer errors. Each tree on the way is one of OCT-H.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.milp.octh import OcthSpec
from s2oct.model.problem import Problem
from s2oct.model.tree import ObliqueTree
from s2oct.search.alternating import logistic_path
from s2oct.search.octh_form import standard_form, widest_gap
from s2oct.search.row_prices import correlated_features
from s2oct.stopping import Deadline

SWEEPS = 8
"""How often all nodes are refitted, at most."""

CUTS = 3
"""Hyperplanes of a node that are brought into gaps: those with the fewest errors before."""

SWITCHES = 4
"""Wrong rows at a node, the nearest first, for which the split is tried that has them on the other side."""


def refitted(problem: Problem, spec: OcthSpec, tree: ObliqueTree, deadline: Deadline) -> ObliqueTree:
    """The tree after its nodes were refitted from the bottom up, again and again while this removes errors."""
    fewest = errors_of(problem, tree)
    for _ in range(SWEEPS):
        before = fewest
        for node in reversed(tree.topology.branches):
            if deadline.passed:
                return tree
            for omega, gamma in _candidates(problem, spec, tree, node, deadline):
                if fewest == 0 or deadline.passed:
                    return tree
                other = standard_form(problem, tree.topology, spec, omega, gamma, deadline)
                errors = errors_of(problem, other)
                if errors < fewest:
                    tree, fewest = other, errors
                    break
        if fewest == before:
            break
    return tree


def errors_of(problem: Problem, tree: ObliqueTree) -> float:
    """How many labeled rows a tree misclassifies."""
    wrong = tree.predict(problem.X_labeled) != problem.labels
    return float(problem.labeled_multiplicity[wrong].sum())


def _candidates(
    problem: Problem, spec: OcthSpec, tree: ObliqueTree, node: int, deadline: Deadline
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Hyperplanes of the tree with another one at a node, the most promising first."""
    X = problem.X_labeled
    right = tree.goes_right(X)
    rows = np.flatnonzero(_reaches(right, node))
    ends = [_ends(tree, right[rows], 2 * node + side) == problem.labels[rows] for side in (0, 1)]
    sizes = problem.labeled_multiplicity[rows]
    gain = sizes * (ends[1].astype(float) - ends[0])
    if not gain.any():
        return
    cuts = [
        (errors, k, direction, offset)
        for k, direction in enumerate(_directions(X[rows], gain))
        for errors, offset in _best_cuts(X[rows] @ direction, gain, sizes, spec.min_leaf)
    ]
    best_cuts = ((direction, offset) for _, _, direction, offset in sorted(cuts, key=lambda cut: cut[:2])[:CUTS])
    for direction, offset in chain(best_cuts, _switched(X[rows], right[rows, node - 1], gain, tree, node, deadline)):
        omega, gamma = tree.omega.copy(), tree.gamma.copy()
        omega[node - 1], gamma[node - 1] = direction, offset
        yield omega, gamma


def _switched(
    X: FloatArray, right: BoolArray, gain: FloatArray, tree: ObliqueTree, node: int, deadline: Deadline
) -> Iterator[tuple[FloatArray, float]]:
    """Splits with the widest gap where one row that is wrong on its side goes to the other side, and all else stays."""
    distance = X @ tree.omega[node - 1] - tree.gamma[node - 1]
    wrong = np.flatnonzero(np.where(right, -gain, gain) > 0)
    for row in wrong[np.argsort(np.abs(distance[wrong]), kind="stable")][:SWITCHES]:
        sides = right.copy()
        sides[row] ^= True
        if sides.any() and not sides.all():
            split = widest_gap(X, sides, distance, deadline)
            if split is not None:
                yield split.direction, split.offset


def _directions(X: FloatArray, gain: FloatArray) -> FloatArray:
    """Directions along which rows that gain on the right may lie beyond the others: logistic ones, single features."""
    spread = X.std(axis=0)
    steep = np.where(spread > 0, 1 / np.where(spread > 0, spread, 1.0), 0.0)
    decided = np.flatnonzero(gain)
    standardised = (X - X.mean(axis=0)) * steep
    features = correlated_features(standardised, decided, gain[decided])
    fitted = np.zeros((0, X.shape[1]))
    if len(np.unique(gain[decided])) > 1:
        path = logistic_path(standardised[np.ix_(decided, features)], gain[decided])
        fitted = np.zeros((len(path), X.shape[1]))
        fitted[:, features] = path * steep[features]
    return np.vstack([fitted, np.eye(X.shape[1])[features], -np.eye(X.shape[1])[features]])


def _best_cuts(values: FloatArray, gain: FloatArray, sizes: FloatArray, min_leaf: int) -> list[tuple[float, float]]:
    """Of all offsets with enough rows on both sides, the one with the fewest errors and how many; none without any."""
    order = np.argsort(values, kind="stable")
    ordered, below = values[order], np.cumsum(sizes[order])[:-1]
    enough = max(min_leaf, 1)
    # What rows on the left would have gained on the right.
    forgone = np.cumsum(gain[order])[:-1]
    usable = np.flatnonzero((np.diff(ordered) > 0) & (below >= enough) & (float(sizes.sum()) - below >= enough))
    if not len(usable):
        return []
    cut = int(usable[forgone[usable].argmin()])
    return [(float(forgone[cut]), 0.5 * float(ordered[cut] + ordered[cut + 1]))]


def _reaches(right: BoolArray, node: int) -> BoolArray:
    """Which rows reach a node."""
    there = np.ones(len(right), dtype=bool)
    while node > 1:
        there &= right[:, node // 2 - 1] == bool(node % 2)
        node //= 2
    return there


def _ends(tree: ObliqueTree, right: BoolArray, node: int) -> IntArray:
    """The class in which rows would end if they started at a node."""
    at = np.full(len(right), node)
    while node < tree.topology.n_leaves:
        at = 2 * at + right[np.arange(len(right)), at - 1]
        node *= 2
    return np.asarray(tree.leaf_classes[at - tree.topology.n_leaves])
