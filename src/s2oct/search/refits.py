"""Refits of one node of the evidence model; with more than two classes, also of the classes below it."""

from __future__ import annotations

from itertools import product
from typing import Any

from s2oct.arrays import IntArray
from s2oct.search.compiled.choices import WORTHWHILE
from s2oct.search.compiled.class_pairs import common_classes, pair_floors
from s2oct.search.compiled.evidence_trees import Splits, Table, Worth, cost_at
from s2oct.search.compiled.node_fits import Effort, refit_split


def refit(
    table: Table, splits: Splits, worth: Worth, node: int, allowed: IntArray, effort: Effort, state: Any
) -> float:
    """Give a node the best split found for the rows it decides about, if that is better; returns what it saves.

    With more than two classes, a last-level node also gets the two classes below it with which that is best.
    """
    several = table.counts.n_classes > 2 and effort.fresh and 2 * node >= len(splits.leaf_classes)
    return float((refit_classes if several else refit_split)(table, splits, worth, node, allowed, effort, state))


def refit_classes(
    table: Table, splits: Splits, worth: Worth, node: int, allowed: IntArray, effort: Effort, state: Any
) -> float:
    """Refit a node with each pair of common classes in its outer leaves, and keep the best; returns what that saves."""
    below = list(_outer_leaves(node, len(splits.leaf_classes)))
    before = cost_at(table, splits, worth, node)
    best = before - refit_split(table, splits, worth, node, allowed, effort, state)
    started, found = sorted(splits.leaf_classes[below]), _NodeState(splits, node, below)
    classes = common_classes(table, splits, worth, node)
    floors = pair_floors(table, splits, worth, node, classes)
    for a, c in product(range(len(classes)), repeat=2):
        pair = [classes[a], classes[c]]
        if pair[0] >= pair[1] or pair == started or floors[a, c] >= best - WORTHWHILE:
            continue
        splits.leaf_classes[below] = pair
        refit_split(table, splits, worth, node, allowed, effort, state)
        cost = cost_at(table, splits, worth, node)
        if cost < best - WORTHWHILE:
            best, found = cost, _NodeState(splits, node, below)
    found.restore(splits)
    return float(max(before - best, 0.0))


def _outer_leaves(node: int, n_leaves: int) -> tuple[int, int]:
    """The leftmost leaf on the left of a node and the rightmost one on its right, from the left of the tree."""
    left, right = 2 * node, 2 * node + 1
    while left < n_leaves:
        left, right = 2 * left, 2 * right + 1
    return left - n_leaves, right - n_leaves


class _NodeState:
    """The split of a node and the classes of the outer leaves below it, to return to."""

    def __init__(self, splits: Splits, node: int, below: list[int]) -> None:
        self._b, self._below, self._classes = node - 1, below, splits.leaf_classes[below]
        self._split = [part[node - 1].copy() for part in splits[:3]]

    def restore(self, splits: Splits) -> None:
        """Give the node this state."""
        splits.leaf_classes[self._below] = self._classes
        for part, value in zip(splits[:3], self._split, strict=True):
            part[self._b] = value
