"""Make a tree from a sample meet the totals of all rows: passes over batches find the offsets of its last splits.

1. A pass counts the rows between the values that the sample has at the last splits, its *rungs*. Offsets are moved
   from rung to rung, where that costs the sample least evidence for each row less off.
2. What is left is less than the rows between two rungs. A pass finds all values near the offsets, and the offsets move
   among them. Rows of equal value cannot be told apart and stay together.
3. A last pass counts what the tree does, as it will predict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.model.evidence import Evidence
from s2oct.model.rules import shortest_between
from s2oct.model.targets import NEARLY_MET
from s2oct.model.tree import ObliqueTree
from s2oct.register.ladders import Cells, Ladder, moved_in_pairs, moved_near, thinned
from s2oct.register.passes import CountClasses, CountRungs, Finding, FindNeighbours, comes_through, values_at
from s2oct.register.register import Register
from s2oct.stopping import Deadline

MOST_COUNTS = 2**21
"""Numbers that a pass counts for one node at most: its rungs times the domains."""

WINDOW_RUNGS, WINDOW_ROWS = 16, 4.0
"""How far values are looked at on each side of an offset: so many rungs, and so many times the rows that are off."""


@dataclass(frozen=True, eq=False)
class CountedTree:
    """A tree and what it does with all unlabeled rows; None if the time ended before all of them were counted."""

    tree: ObliqueTree
    finding: Finding | None


def settle_totals(
    register: Register, tree: ObliqueTree, evidence: Evidence, deadline: Deadline, pass_seconds: float
) -> CountedTree:
    """Move the last offsets of a tree until it meets the totals of a register, as near as that can be.

    Parameters
    ----------
    register : Register
        All rows and their totals.
    tree : ObliqueTree
        A tree that was fitted to the sample, in the user's units.
    evidence : Evidence
        What classes cost the rows of the sample, in the user's units and in the order of `Problem.X`.
    deadline : Deadline
        When to end. A pass is not begun if those that must follow would not end in time.
    pass_seconds : float
        What a pass takes.
    """
    steps = _Steps(register, tree, evidence)
    counted = steps.counted(deadline.sooner(2 * pass_seconds))
    if counted is not None:
        tree = steps.moved(*counted, deadline.sooner(pass_seconds))
    return CountedTree(tree, register.batches.total(CountClasses(tree, steps.n_domains), deadline))


class _Steps:
    """The first two passes."""

    def __init__(self, register: Register, tree: ObliqueTree, evidence: Evidence) -> None:
        self.register, self.tree, self.evidence = register, tree, evidence
        targets = register.targets.widened(NEARLY_MET) if register.is_weighted else register.targets
        self.low, self.high = (part.reshape(-1, targets.n_classes) for part in (targets.low, targets.high))
        self.n_domains, self.n_first = len(self.low), targets.margins[0].n_domains
        # A sample shows only roughly what a move costs: a bound on it would keep offsets from plain totals by chance.
        self.most_price = np.inf if targets.has_one_domain else evidence.row_off

    def counted(self, deadline: Deadline) -> tuple[list[Ladder], Cells] | None:
        """Count the rows between rungs; None if the deadline passes first."""
        ladders = [self._rungs_of(*lever) for lever in last_splits(self.tree)]
        found = self.register.batches.total(
            CountRungs(
                self.tree,
                tuple(ladder.node for ladder in ladders),
                tuple(ladder.rungs for ladder in ladders),
                self.n_domains,
            ),
            deadline,
        )
        if found is None:
            return None
        counts, *sizes = found.parts
        with_sizes = [replace(ladder, sizes=part[:-1]) for ladder, part in zip(ladders, sizes, strict=True)]
        return with_sizes, Cells(counts, self.low, self.high, self.n_first)

    def moved(self, ladders: list[Ladder], cells: Cells, deadline: Deadline) -> ObliqueTree:
        """Move the offsets: first to rungs, then among all values near them, unless the deadline passes before."""
        ladders, cells = moved_near(ladders, cells, self.most_price)
        nodes = tuple(ladder.node for ladder in ladders)
        spans = [_span(ladder, WINDOW_ROWS * cells.off) for ladder in ladders]
        windows = tuple(
            (float(ladder.rungs[first]), float(ladder.rungs[last]))
            for ladder, (first, last) in zip(ladders, spans, strict=True)
        )
        search = FindNeighbours(self.tree, nodes, windows, self.n_domains)
        found = self.register.batches.total(search, deadline)
        if found is None:
            return _with_offsets(self.tree, ladders, [float(ladder.rungs[ladder.cut]) for ladder in ladders])
        parts = zip(ladders, windows, found.values, found.sizes, strict=True)
        near, cells = moved_near([_finer(*part) for part in parts], cells, self.most_price)
        near, _ = moved_in_pairs(near, cells)
        return _with_offsets(self.tree, near, [_short_offset(ladder) for ladder in near])

    def _rungs_of(self, node: int, left: int, right: int) -> Ladder:
        """The values of the sample at a node, with what the sample says about its classes."""
        tree, evidence = self.tree, self.evidence
        here = comes_through(tree.apply(evidence.X), node)
        values, gamma = values_at(tree, node, evidence.X[here]), float(tree.gamma[node - 1])
        finite = np.union1d(values[np.isfinite(values)], [gamma])
        rungs = thinned(finite, gamma, max(MOST_COUNTS // self.n_domains, 2))
        # Unlabeled rows of the sample stand for others, and labeled rows for themselves: all of them are in the sample.
        stands_for = np.where(evidence.size[here] > 0, 1 / self.register.share, 1.0)
        charged = stands_for * (evidence.cost[here, left] - evidence.cost[here, right])
        costs = np.bincount(np.searchsorted(rungs, values), weights=charged, minlength=len(rungs) + 1).astype(float)
        empty = np.zeros((len(rungs), self.n_domains))
        return Ladder(node, left, right, rungs, empty, costs[:-1], int(np.searchsorted(rungs, gamma)))


def last_splits(tree: ObliqueTree) -> list[tuple[int, int, int]]:
    """The nodes that split rows into two classes, with no split below them, and the classes on their left and right."""
    found = []
    for node in tree.topology.branches:
        if tree.splits[node - 1]:
            left, right = (_only_class(tree, child) for child in (2 * node, 2 * node + 1))
            if left is not None and right is not None and left != right:
                found.append((node, left, right))
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


def _finer(ladder: Ladder, window: tuple[float, float], values: FloatArray, sizes: FloatArray) -> Ladder:
    """A ladder whose rungs are all values of rows in a window, the lower end and the cut among them."""
    cut = float(ladder.rungs[ladder.cut])
    rungs = np.union1d(values, [window[0], cut])
    placed = np.zeros((len(rungs), sizes.shape[1]))
    placed[np.searchsorted(rungs, values)] = sizes
    return replace(
        ladder, rungs=rungs, sizes=placed, evidence=np.zeros(len(rungs)), cut=int(np.searchsorted(rungs, cut))
    )


def _short_offset(ladder: Ladder) -> float:
    """The shortest decimal that splits the rows as the cut does."""
    has_rows = np.asarray(ladder.sizes.any(axis=1))
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
