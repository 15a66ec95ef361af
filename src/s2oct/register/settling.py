"""Make a tree meet the totals of all rows: passes over batches find the offsets of its last splits.

1. A pass counts the rows between the values that the sample has at the last splits, its *rungs*. Offsets are moved
   from rung to rung, where that costs least evidence for each row less off, and no more than a row off does. The pass
   asks the guide about rows near the offsets; if the guide cannot answer, the sample says what a move costs.
2. What is left is less than the rows between two rungs. A pass finds all values near the offsets, and the offsets move
   among them. Rows of equal value cannot be told apart and stay together.
3. A last pass counts what the tree does, as it will predict.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from s2oct.arrays import BoolArray, FloatArray
from s2oct.model.evidence import Evidence
from s2oct.model.rules import shortest_between
from s2oct.model.targets import NEARLY_MET
from s2oct.model.tree import ObliqueTree
from s2oct.register.ladders import REACH, Cells, Ladder, moved_in_pairs, moved_near, moving_cost, thinned
from s2oct.register.passes import (
    CountClasses,
    CountRungs,
    Finding,
    FindNeighbours,
    Lever,
    Pricing,
    comes_through,
    values_at,
)
from s2oct.register.register import Register
from s2oct.stopping import Deadline

MOST_COUNTS = 2**21
"""Numbers that a pass counts for one node at most: its rungs times the domains."""

WINDOW_RUNGS, WINDOW_ROWS = 16, 4.0
"""How far values are looked at on each side of an offset: so many rungs, and so many times the rows that are off."""

NEAR_RUNGS, NEAR_REACH = 64, 1.5
"""Rungs on each side of an offset between which the guide is asked: so many, and so many times what the rows that are
off need by the sample."""


@dataclass(frozen=True, eq=False)
class CountedTree:
    """A tree and what it does with all unlabeled rows; None if the time ended before all of them were counted.

    ``extra`` is what moving its offsets costs in evidence: exactly, if the guide was asked about the rows that moved.
    """

    tree: ObliqueTree
    finding: Finding | None
    extra: float


@dataclass(frozen=True, eq=False)
class PricedTree:
    """A tree whose totals are known over all rows, and the way to price them.

    Attributes
    ----------
    tree : ObliqueTree
        In the user's units.
    off : float
        Rows by which it misses the totals.
    pricing : Pricing
        What classes cost unlabeled rows.
    """

    tree: ObliqueTree
    off: float
    pricing: Pricing


def settle_totals(
    register: Register,
    tree: ObliqueTree | PricedTree,
    evidence: Evidence,
    deadline: Deadline,
    pass_seconds: float,
    min_rows: int = 1,
) -> CountedTree:
    """Move the last offsets of a tree until it meets the totals of a register, as near as that can be.

    Parameters
    ----------
    register : Register
        All rows and their totals.
    tree : ObliqueTree or PricedTree
        A tree that was fitted to the sample, in the user's units, or one that was fitted to all rows.
    evidence : Evidence
        What classes cost the rows of the sample, in the user's units and in the order of `Problem.X`.
    deadline : Deadline
        When to end. A pass is not begun if those that must follow would not end in time.
    pass_seconds : float
        What a pass takes.
    min_rows : int
        Rows of a leaf at least.
    """
    steps = _Steps(register, tree, evidence, min_rows)
    counted = steps.counted(deadline.sooner(2 * pass_seconds))
    settled, extra = steps.tree, 0.0
    if counted is not None:
        settled, extra = steps.moved(*counted, deadline.sooner(pass_seconds))
    return CountedTree(settled, register.batches.total(CountClasses(settled, steps.n_domains), deadline), extra)


class _Steps:
    """The first two passes."""

    def __init__(self, register: Register, tree: ObliqueTree | PricedTree, evidence: Evidence, min_rows: int) -> None:
        self.register, self.evidence, self.min_rows = register, evidence, min_rows
        self.priced = tree if isinstance(tree, PricedTree) else None
        self.tree = tree.tree if isinstance(tree, PricedTree) else tree
        self.pricing = None if self.priced is None else self.priced.pricing
        targets = register.targets.widened(NEARLY_MET) if register.is_weighted else register.targets
        self.low, self.high = (part.reshape(-1, targets.n_classes) for part in (targets.low, targets.high))
        self.n_domains, self.n_first = len(self.low), targets.margins[0].n_domains

    def counted(self, deadline: Deadline) -> tuple[list[Ladder], Cells] | None:
        """Count the rows between rungs; None if the deadline passes first."""
        ladders = [self._rungs_of(lever) for lever in last_splits(self.tree)]
        rungs = tuple(ladder.rungs for ladder in ladders)
        found = self.register.batches.total(
            CountRungs(self.tree, _levers(ladders), rungs, self.n_domains, self.pricing), deadline
        )
        if found is None:
            return None
        counts, *parts = found.parts
        with_sizes = [self._with_sizes(ladder, part) for ladder, part in zip(ladders, parts, strict=True)]
        return with_sizes, Cells(counts, self.low, self.high, self.n_first)

    def _with_sizes(self, ladder: Ladder, part: FloatArray) -> Ladder:
        """A ladder with what a pass counted, without the rungs that leave too few rows on one side."""
        values, _, is_labeled = self._seen(Lever(ladder.node, ladder.left, ladder.right))
        labeled = np.bincount(np.searchsorted(ladder.rungs, values[is_labeled]), minlength=len(part))
        left = np.cumsum(part[:, -1] + labeled)
        # A leaf without rows is none, and may be needed for a total of 0.
        fewest = self.min_rows if self.min_rows > 1 else 0
        is_open = (left[:-1] >= fewest) & (left[-1] - left[:-1] >= fewest)
        closed = np.flatnonzero(~is_open)
        first = int(closed[closed < ladder.cut].max(initial=-1)) + 1
        stop = int(closed[closed > ladder.cut].min(initial=len(ladder.rungs)))
        kept = slice(first, stop)
        return replace(
            ladder,
            rungs=ladder.rungs[kept],
            sizes=part[kept, :-2],
            evidence=(ladder.evidence + part[:-1, -2])[kept],
            cut=ladder.cut - first,
        )

    def moved(self, ladders: list[Ladder], cells: Cells, deadline: Deadline) -> tuple[ObliqueTree, float]:
        """Move the offsets: first to rungs, then among all values near them, unless the deadline passes before.

        Also returns what that costs in evidence.
        """
        row_off = self.evidence.row_off
        before = ladders
        ladders, cells = moved_near(ladders, cells, row_off)
        extra = moving_cost(before, ladders)
        spans = [_span(ladder, WINDOW_ROWS * cells.off) for ladder in ladders]
        windows = tuple(
            (float(ladder.rungs[first]), float(ladder.rungs[last]))
            for ladder, (first, last) in zip(ladders, spans, strict=True)
        )
        search = FindNeighbours(self.tree, _levers(ladders), windows, self.n_domains, self.pricing)
        found = self.register.batches.total(search, deadline)
        if found is None:
            rungs = [float(ladder.rungs[ladder.cut]) for ladder in ladders]
            return _with_offsets(self.tree, ladders, rungs), extra
        parts = zip(ladders, windows, found.values, found.sizes, strict=True)
        finer = [self._finer(*part) for part in parts]
        near, cells = moved_near(finer, cells, row_off)
        near, _ = moved_in_pairs(near, cells, row_off)
        return _with_offsets(self.tree, near, [_short_offset(ladder) for ladder in near]), extra + moving_cost(
            finer, near
        )

    def _rungs_of(self, lever: Lever) -> Ladder:
        """The values of the sample at a node, with what it says about its classes as far as nobody else is asked."""
        gamma = float(self.tree.gamma[lever.node - 1])
        values, charged, is_labeled = self._seen(lever)
        finite = np.union1d(values[np.isfinite(values)], [gamma])
        if self.priced is not None:
            needed = REACH * NEAR_REACH * self.register.share * self.priced.off
            reach, at = NEAR_RUNGS + math.ceil(needed), int(np.searchsorted(finite, gamma))
            finite = finite[max(at - reach, 0) : at + reach + 1]
        rungs = thinned(finite, gamma, max(MOST_COUNTS // self.n_domains, 2))
        if self.priced is None:
            # Unlabeled rows stand for others, and labeled rows for themselves: all of them are in the sample.
            charged = np.where(is_labeled, charged, charged / self.register.share)
        else:
            charged = np.where(is_labeled, charged, 0.0)
        costs = np.bincount(np.searchsorted(rungs, values), weights=charged, minlength=len(rungs) + 1).astype(float)
        empty = np.zeros((len(rungs), self.n_domains))
        cut = int(np.searchsorted(rungs, gamma))
        return Ladder(lever.node, lever.left, lever.right, rungs, empty, costs[:-1], cut)

    def _finer(self, ladder: Ladder, window: tuple[float, float], values: FloatArray, sizes: FloatArray) -> Ladder:
        """A ladder whose rungs are all values of rows in a window, the lower end and the cut among them."""
        seen, charged, is_labeled = self._seen(Lever(ladder.node, ladder.left, ladder.right))
        here = is_labeled & (seen > window[0]) & (seen <= window[1])
        cut = float(ladder.rungs[ladder.cut])
        rungs = np.unique(np.concatenate([values, seen[here], [window[0], cut]]))
        placed = np.zeros((len(rungs), sizes.shape[1]))
        placed[np.searchsorted(rungs, values)] = sizes
        evidence = placed[:, -1] + np.bincount(
            np.searchsorted(rungs, seen[here]), weights=charged[here], minlength=len(rungs)
        )
        return replace(
            ladder, rungs=rungs, sizes=placed[:, :-1], evidence=evidence, cut=int(np.searchsorted(rungs, cut))
        )

    def _seen(self, lever: Lever) -> tuple[FloatArray, FloatArray, BoolArray]:
        """The rows of the sample at a split: values, what the left costs more than the right, which are labeled."""
        evidence = self.evidence
        here = comes_through(self.tree.apply(evidence.X), lever.node)
        charged = evidence.cost[here, lever.left] - evidence.cost[here, lever.right]
        is_labeled = (np.arange(evidence.n_rows) < evidence.n_labeled)[here]
        return values_at(self.tree, lever.node, evidence.X[here]), charged, is_labeled


def _levers(ladders: Sequence[Ladder]) -> tuple[Lever, ...]:
    return tuple(Lever(ladder.node, ladder.left, ladder.right) for ladder in ladders)


def last_splits(tree: ObliqueTree) -> list[Lever]:
    """The nodes that split rows into two classes, with no split below them."""
    found = []
    for node in tree.topology.branches:
        if tree.splits[node - 1]:
            left, right = (_only_class(tree, child) for child in (2 * node, 2 * node + 1))
            if left is not None and right is not None and left != right:
                found.append(Lever(node, left, right))
    return found


def _only_class(tree: ObliqueTree, node: int) -> int | None:
    """The class of all rows that come to a node; None if a split below decides it."""
    while node < tree.topology.n_leaves:
        if tree.splits[node - 1]:
            return None
        # Without coefficients, the offset alone decides the side.
        node = 2 * node + int(ObliqueTree.sides(-tree.gamma[node - 1]))
    return int(tree.leaf_classes[node - tree.topology.n_leaves])


def _span(ladder: Ladder, rows: float) -> tuple[int, int]:
    """Two rungs around the cut: with so many rungs and rows between, on each side, if there are so many."""
    beyond = np.abs(ladder.moved).sum(axis=1)
    place = np.arange(len(ladder.rungs))
    enough = (np.abs(place - ladder.cut) >= WINDOW_RUNGS) & (beyond >= rows)
    before, after = np.flatnonzero(enough[: ladder.cut]), np.flatnonzero(enough[ladder.cut :])
    first = int(before[-1]) if len(before) else 0
    last = ladder.cut + int(after[0]) if len(after) else len(place) - 1
    return first, last


def _short_offset(ladder: Ladder) -> float:
    """The shortest decimal that splits the rows as the cut does."""
    has_rows = np.asarray(ladder.sizes.any(axis=1) | (ladder.evidence != 0))
    below, above = np.flatnonzero(has_rows[: ladder.cut + 1]), np.flatnonzero(has_rows[ladder.cut + 1 :])
    low = float(ladder.rungs[below[-1] if len(below) else 0])
    if not len(above):
        return float(ladder.rungs[ladder.cut])
    return shortest_between(low, float(ladder.rungs[ladder.cut + 1 + above[0]]))


def _with_offsets(tree: ObliqueTree, ladders: Sequence[Ladder], offsets: Sequence[float]) -> ObliqueTree:
    gamma = tree.gamma.copy()
    for ladder, offset in zip(ladders, offsets, strict=True):
        gamma[ladder.node - 1] = offset
    return replace(tree, gamma=gamma)
