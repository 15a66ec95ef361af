"""Passes over all rows of a register: counts by class, and offsets that meet the totals.

A pass is a pure function of a batch, possibly sent to another process, whose results add up over the batches.
`settle_totals` makes three passes, which move the offsets of a tree's last splits until the tree meets the totals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations, permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.evidence.evidence import Evidence, unlabeled_costs
from s2oct.fit.register import Register
from s2oct.p2.costs import MARGIN_TOLERANCE
from s2oct.problem.batches import Batch
from s2oct.problem.problem import Guide, rows_mark
from s2oct.problem.totals import NEARLY_MET, rows_beyond_bounds
from s2oct.stopping import Deadline
from s2oct.trees.rules import shortest_between
from s2oct.trees.tree import ObliqueTree, Topology

GRAIN = 2.0**-20
"""Costs and sizes of rows are multiples of this, in rows: sums of fewer than 2 ** 33 rows are exact in any order."""

Probabilities = Callable[[FloatArray, IntArray], FloatArray]
"""The guide's class probabilities for rows, given their features and domains; can be sent to other processes."""


@dataclass(frozen=True)
class SettlingParams:
    """How far the offsets of a tree may move to meet the totals.

    Attributes
    ----------
    most_moves : int
        Maximum number of moves of offsets, so that the loop ends.
    row_moved : float
        Evidence charged for each moved row, in addition to labels and guide: of equal moves, the shorter one wins.
    reach : float
        Maximum number of rows that one move may take to the other side, per row off the totals. A longer move can
        change the class of whole leaves, which the evidence barely notices and the truth does.
    most_counts : int
        Maximum number of counts per node in a pass: its rungs times the domains. Bounds the memory.
    window_rungs, window_rows : int, float
        Values within this number of rungs of an offset, and within this multiple of the rows off, are read exactly.
    near_rungs, near_reach : int, float
        The guide prices the rows within this number of rungs of an offset, plus this multiple of the rungs that the
        sample suggests. It is not asked about rows that no move can reach.
    """

    most_moves: int = 1000
    row_moved: float = 0.01
    reach: float = 2.0
    most_counts: int = 2**21
    window_rungs: int = 16
    window_rows: float = 4.0
    near_rungs: int = 64
    near_reach: float = 1.5


PARAMS = SettlingParams()


class LastSplit(NamedTuple):
    """A split between two classes: its node, and the classes on its left and right."""

    node: int
    left: int
    right: int


@dataclass(frozen=True, eq=False)
class TreeCounts:
    """Counts for a tree: rows by domain and class, rows too near a hyperplane, and the minimum distance."""

    by_class: FloatArray
    n_near: int
    min_distance: float

    def __add__(self, other: TreeCounts) -> TreeCounts:
        return TreeCounts(
            self.by_class + other.by_class,
            self.n_near + other.n_near,
            min(self.min_distance, other.min_distance),
        )


# ---- the three passes that settle the totals ----


def settle_totals(
    register: Register,
    tree: ObliqueTree,
    evidence: Evidence,
    deadline: Deadline,
    pass_seconds: float,
    *,
    min_rows: int = 1,
    guide: Probabilities | None = None,
    off: float = 0.0,
) -> tuple[ObliqueTree, TreeCounts | None, float]:
    """Move the last offsets of a tree until it meets the totals of a register, as nearly as possible.

    Parameters
    ----------
    register : Register
        All rows and their totals.
    tree : ObliqueTree
        The tree, in the user's units.
    evidence : Evidence
        The evidence of the sample's rows, in the user's units and in the order of `Problem.X`.
    deadline : Deadline
        When to end. No pass starts that would leave too little time for the passes after it.
    pass_seconds : float
        Seconds per pass.
    min_rows : int
        Minimum number of rows per leaf.
    guide : callable, optional
        Prices the unlabeled rows near the offsets; without it, the sample's rows stand for all rows.
    off : float
        With a guide: rows by which the tree misses the totals before its offsets move.

    Returns
    -------
    tuple of ObliqueTree, TreeCounts or None, and float
        The tree; its counts over all unlabeled rows, None if the time ended first; and the cost of the moves in
        evidence, which is exact with a guide.
    """
    # 1. The values of the sample at each last split are the rungs: the offsets that the split can have.
    cells = Cells.of(register)
    n_domains = len(cells.low)
    needed = PARAMS.reach * PARAMS.near_reach * register.share * off
    reach = None if guide is None else PARAMS.near_rungs + math.ceil(needed)
    ladders = [_sample_ladder(tree, split, evidence, register.share, n_domains, reach) for split in last_splits(tree)]

    # 2. First pass: count the rows between rungs.
    rungs = [(ladder.split, ladder.rungs) for ladder in ladders]
    counted = register.batches.total(
        partial(count_rungs, tree, rungs, n_domains, guide), deadline.sooner(2 * pass_seconds)
    )
    count = partial(count_classes, n_domains=n_domains)
    if counted is None:
        return tree, register.batches.total(partial(count, tree), deadline), 0.0
    ends = np.cumsum([cells.low.size, *((len(own) + 1) * (n_domains + 2) for _, own in rungs)])
    counts, *parts = np.split(counted, ends[:-1])
    ladders = [
        _counted_ladder(ladder, part.reshape(-1, n_domains + 2), min_rows)
        for ladder, part in zip(ladders, parts, strict=True)
    ]

    # 3. Move the offsets to the rungs that meet the totals most cheaply.
    cells = replace(cells, counts=counts.reshape(cells.low.shape))
    moved, cells = moved_near(ladders, cells, evidence.row_off)
    extra = moving_cost(ladders, moved)
    offsets = [float(ladder.rungs[ladder.cut]) for ladder in moved]

    # 4. Second pass: find all values of rows near the offsets. If there is no time, the offsets stay at rungs.
    windows = [(ladder.split, _window(ladder, PARAMS.window_rows * cells.off)) for ladder in moved]
    found = register.batches.total(partial(find_values, tree, windows, n_domains, guide), deadline.sooner(pass_seconds))

    # 5. Move the offsets between these values, and round them to the shortest decimals that split the rows alike.
    if found is not None:
        finer = [
            _finer(ladder, window, table)
            for ladder, (_, window), table in zip(moved, windows, found.tables, strict=True)
        ]
        near, cells = moved_near(finer, cells, evidence.row_off)
        near = moved_in_pairs(near, cells, evidence.row_off)
        extra += moving_cost(finer, near)
        offsets = [_short_offset(ladder) for ladder in near]
    gamma = tree.gamma.copy()
    gamma[[ladder.split.node - 1 for ladder in ladders]] = offsets
    settled = replace(tree, gamma=gamma)

    # 6. Third pass: count all rows by the classes that the tree predicts.
    return settled, register.batches.total(partial(count, settled), deadline), extra


def last_splits(tree: ObliqueTree) -> list[LastSplit]:
    """The nodes that split rows into two classes, with no split below them."""
    found = []
    for node in tree.topology.branches:
        if tree.splits[node - 1]:
            left, right = (_only_class(tree, child) for child in (2 * node, 2 * node + 1))
            if left is not None and right is not None and left != right:
                found.append(LastSplit(node, left, right))
    return found


def _only_class(tree: ObliqueTree, node: int) -> int | None:
    """The class of all rows that reach a node; None if a split below decides it."""
    while node < tree.topology.n_leaves:
        if tree.splits[node - 1]:
            return None
        # Without coefficients, the offset alone decides the side.
        node = 2 * node + int(ObliqueTree.sides(-tree.gamma[node - 1]))
    return int(tree.leaf_classes[node - tree.topology.n_leaves])


# ---- passes ----


def grained(numbers: FloatArray) -> FloatArray:
    """Numbers rounded to multiples of the grain."""
    return np.asarray(np.round(numbers / GRAIN) * GRAIN)


def row_costs(guide: Probabilities, batch: Batch) -> FloatArray:
    """Cost of each class for the rows of a batch, by the guide, shape (rows, n_classes)."""
    charges = Guide.from_probabilities(guide(batch.X, batch.domains)).charges
    return grained(unlabeled_costs(charges, batch.sizes))


def mark_rows(batch: Batch) -> NDArray[np.uint64]:
    """A mark of the rows, shape (1,). Sums wrap at 2 ** 64, so neither order nor batches change the mark."""
    return np.array([rows_mark(batch.X, batch.sizes, batch.domains)], dtype=np.uint64)


def count_rungs(
    tree: ObliqueTree,
    rungs: Sequence[tuple[LastSplit, FloatArray]],
    n_domains: int,
    guide: Probabilities | None,
    batch: Batch,
) -> FloatArray:
    """Count the rows between the rungs of last splits, and the rows by domain and class; all counts in one vector.

    After the counts of all rows come those of each split, shape (n_rungs + 1, n_domains + 2), rows above the last rung
    at the end: sizes by domain, the cost of the left side minus that of the right if a guide prices the rows between
    two rungs, and the number of rows.
    """
    leaf = tree.apply(batch.X)
    batch = batch._replace(sizes=grained(batch.sizes))
    classes = tree.leaf_classes[leaf - tree.topology.n_leaves]
    found = [_by_domain(batch, classes, tree.topology.n_classes, n_domains).T.ravel()]
    for split, own in rungs:
        here = _some(batch, _passes(leaf, split.node))
        place = np.searchsorted(own, values_at(tree, split.node, here.X))
        extra = np.zeros(len(place))
        between = (place > 0) & (place < len(own))
        extra[between] = _extra(_some(here, between), split, guide)
        sizes = _by_domain(here, place, len(own) + 1, n_domains)
        number = np.bincount(place, minlength=len(sizes))
        cost = np.bincount(place, weights=extra, minlength=len(sizes))
        found.append(np.column_stack([sizes, cost, number]).ravel())
    return np.concatenate(found)


@dataclass(frozen=True, eq=False)
class ValueTables:
    """For each of some splits, the distinct values of rows, with sums over the rows of each value.

    A table is an array of shape (n_values, n_domains + 2): the values, ascending, the sizes of the rows by domain, and
    the cost of the left side minus that of the right.
    """

    tables: tuple[FloatArray, ...]

    def __add__(self, other: ValueTables) -> ValueTables:
        return ValueTables(
            tuple(_by_value(np.concatenate(pair)) for pair in zip(self.tables, other.tables, strict=True))
        )


def _by_value(table: FloatArray) -> FloatArray:
    """Sum the rows of equal value in a table."""
    distinct, place = np.unique(table[:, 0], return_inverse=True)
    added = np.zeros((len(distinct), table.shape[1] - 1))
    np.add.at(added, place, table[:, 1:])
    return np.column_stack([distinct, added])


def find_values(
    tree: ObliqueTree,
    windows: Sequence[tuple[LastSplit, tuple[float, float]]],
    n_domains: int,
    guide: Probabilities | None,
    batch: Batch,
) -> ValueTables:
    """Find all values of rows at last splits that are above the lower end of a window and at most its upper end."""
    leaf = tree.apply(batch.X)
    batch = batch._replace(sizes=grained(batch.sizes))
    found = []
    for split, (low, high) in windows:
        here = _some(batch, _passes(leaf, split.node))
        value = values_at(tree, split.node, here.X)
        near = (value > low) & (value <= high)
        distinct, place = np.unique(value[near], return_inverse=True)
        here = _some(here, near)
        sizes = _by_domain(here, place, len(distinct), n_domains)
        extra = np.bincount(place, weights=_extra(here, split, guide), minlength=len(distinct))
        found.append(np.column_stack([distinct, sizes, extra]))
    return ValueTables(tuple(found))


def count_classes(tree: ObliqueTree, batch: Batch, *, n_domains: int) -> TreeCounts:
    """Count the rows of a batch by the classes that a tree predicts."""
    counts = _by_domain(batch, tree.predict(batch.X), tree.topology.n_classes, n_domains).T
    distance = tree.distances(batch.X).of_rows
    near = int(np.count_nonzero(distance < 1 - MARGIN_TOLERANCE))
    return TreeCounts(counts, near, float(distance.min(initial=np.inf)))


def _extra(batch: Batch, split: LastSplit, guide: Probabilities | None) -> FloatArray:
    """Cost of rows on the left of a split minus their cost on its right; 0 without a guide."""
    if guide is None or not len(batch.X):
        return np.zeros(len(batch.X))
    costs = row_costs(guide, batch)
    return np.asarray(costs[:, split.left] - costs[:, split.right])


def _by_domain(batch: Batch, places: IntArray, n_places: int, n_domains: int) -> FloatArray:
    """Sizes of the rows at each place in each domain, shape (n_places, n_domains)."""
    counts = np.zeros(n_places * n_domains)
    for domains in batch.domains:
        counts += np.bincount(places * n_domains + domains, weights=batch.sizes, minlength=len(counts))
    return counts.reshape(n_places, n_domains)


def _some(batch: Batch, chosen: BoolArray) -> Batch:
    """Some rows of a batch."""
    return Batch(batch.X[chosen], batch.sizes[chosen], batch.domains[:, chosen])


def _passes(leaves: IntArray, node: int) -> BoolArray:
    """Whether rows that end in these leaves pass a node."""
    levels = int(leaves[0]).bit_length() - node.bit_length() if len(leaves) else 0
    return np.asarray(leaves >> levels == node)


def values_at(tree: ObliqueTree, node: int, X: FloatArray) -> FloatArray:
    """Omega . x of rows at a node, summed as every tree does: a row goes left if its value is at most gamma."""
    alone = ObliqueTree.of(Topology(1), tree.omega[[node - 1]], np.zeros(1))
    return np.asarray(alone.values(X)[:, 0])


# ---- ladders: the possible offsets of a last split, and the rows that change class between them ----


@dataclass(frozen=True, eq=False)
class Ladder:
    """The offsets that a last split can have: its rungs.

    Attributes
    ----------
    split : LastSplit
        The split.
    rungs : ndarray of shape (k,)
        Ascending offsets. Rows of at most the chosen value go left.
    sizes : ndarray of shape (k, n_domains)
        Rows above the previous rung and up to each rung, by domain; those up to the first rung always go left.
    evidence : ndarray of shape (k,)
        Cost of these rows on the left minus their cost on the right.
    cut : int
        The rung that is the offset.
    labeled_values, labeled_evidence : ndarray of shape (n,)
        Values of the labeled rows at the split, and their cost on its left minus their cost on its right. A pass over
        the unlabeled rows adds nothing about them.
    """

    split: LastSplit
    rungs: FloatArray
    sizes: FloatArray
    evidence: FloatArray
    cut: int
    labeled_values: FloatArray = field(default_factory=lambda: np.empty(0))
    labeled_evidence: FloatArray = field(default_factory=lambda: np.empty(0))

    @property
    def moved(self) -> FloatArray:
        """Rows that go left with each rung but not with the cut, negative if they go right, shape (k, n_domains)."""
        below = np.cumsum(self.sizes, axis=0)
        return np.asarray(below - below[self.cut])

    @property
    def extra(self) -> FloatArray:
        """Cost of each rung in evidence minus that of the cut, shape (k,)."""
        below = np.cumsum(self.evidence)
        return np.asarray(below - below[self.cut])


def _sample_ladder(
    tree: ObliqueTree, split: LastSplit, evidence: Evidence, share: float, n_domains: int, reach: int | None
) -> Ladder:
    """The values of the sample at a split; ``reach`` rungs on each side of the offset if a guide prices all rows."""
    here = _passes(tree.apply(evidence.X), split.node)
    values, gamma = values_at(tree, split.node, evidence.X[here]), float(tree.gamma[split.node - 1])
    charged = evidence.cost[here, split.left] - evidence.cost[here, split.right]
    is_labeled = np.flatnonzero(here) < evidence.n_labeled
    labeled_values, labeled_evidence = values[is_labeled], charged[is_labeled]
    finite = np.union1d(values[np.isfinite(values)], [gamma])
    if reach is None:
        # Labeled rows are all in the sample. Each unlabeled row stands for others.
        charged = np.where(is_labeled, charged, charged / share)
    else:
        charged = np.where(is_labeled, charged, 0.0)
        at = int(np.searchsorted(finite, gamma))
        finite = finite[max(at - reach, 0) : at + reach + 1]
    rungs = _thinned(finite, gamma, max(PARAMS.most_counts // n_domains, 2))
    costs = np.bincount(np.searchsorted(rungs, values), weights=charged, minlength=len(rungs) + 1).astype(float)
    empty, cut = np.zeros((len(rungs), n_domains)), int(np.searchsorted(rungs, gamma))
    return Ladder(split, rungs, empty, costs[:-1], cut, labeled_values, labeled_evidence)


def _thinned(rungs: FloatArray, kept: float, most: int) -> FloatArray:
    """At most this many of the rungs, evenly chosen, including the one to keep."""
    if len(rungs) <= most:
        return rungs
    chosen: IntArray = np.linspace(0, len(rungs) - 1, most).astype(np.int64)
    return np.union1d(rungs[chosen], [kept])


def _counted_ladder(ladder: Ladder, part: FloatArray, min_rows: int) -> Ladder:
    """A ladder with the counts of `count_rungs`, without the rungs that leave too few rows on one side."""
    labeled = np.bincount(np.searchsorted(ladder.rungs, ladder.labeled_values), minlength=len(part))
    left = np.cumsum(part[:, -1] + labeled)
    # A leaf without rows does not count as a leaf, and a total of 0 may require one.
    fewest = min_rows if min_rows > 1 else 0
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


def _window(ladder: Ladder, rows: float) -> tuple[float, float]:
    """Two rungs around the cut with enough rungs and this many rows between, on each side, as far as there are."""
    beyond = np.abs(ladder.moved).sum(axis=1)
    place = np.arange(len(ladder.rungs))
    enough = (np.abs(place - ladder.cut) >= PARAMS.window_rungs) & (beyond >= rows)
    before, after = np.flatnonzero(enough[: ladder.cut]), np.flatnonzero(enough[ladder.cut :])
    first = int(before[-1]) if len(before) else 0
    last = ladder.cut + int(after[0]) if len(after) else len(place) - 1
    return float(ladder.rungs[first]), float(ladder.rungs[last])


def _finer(ladder: Ladder, window: tuple[float, float], table: FloatArray) -> Ladder:
    """A ladder whose rungs are all values of rows in a window, including its lower end and the cut."""
    here = (ladder.labeled_values > window[0]) & (ladder.labeled_values <= window[1])
    values, charged = ladder.labeled_values[here], ladder.labeled_evidence[here]
    cut = float(ladder.rungs[ladder.cut])
    rungs = np.unique(np.concatenate([table[:, 0], values, [window[0], cut]]))
    placed = np.zeros((len(rungs), table.shape[1] - 1))
    placed[np.searchsorted(rungs, table[:, 0])] = table[:, 1:]
    labeled = np.bincount(np.searchsorted(rungs, values), weights=charged, minlength=len(rungs))
    return replace(
        ladder,
        rungs=rungs,
        sizes=placed[:, :-1],
        evidence=placed[:, -1] + labeled,
        cut=int(np.searchsorted(rungs, cut)),
    )


def _short_offset(ladder: Ladder) -> float:
    """The shortest decimal that splits the rows as the cut does."""
    has_rows = np.asarray(ladder.sizes.any(axis=1) | (ladder.evidence != 0))
    below, above = np.flatnonzero(has_rows[: ladder.cut + 1]), np.flatnonzero(has_rows[ladder.cut + 1 :])
    low = float(ladder.rungs[below[-1] if len(below) else 0])
    if not len(above):
        return float(ladder.rungs[ladder.cut])
    return shortest_between(low, float(ladder.rungs[ladder.cut + 1 + above[0]]))


# ---- moves towards the totals ----


@dataclass(frozen=True, eq=False)
class Cells:
    """Rows of each class in each domain, and the bounds on them.

    Attributes
    ----------
    counts, low, high : ndarray of shape (n_domains, n_classes)
        Rows with the present offsets, and the bounds on them.
    n_first : int
        Domains of the first margin: every row is in one of them.
    """

    counts: FloatArray
    low: FloatArray
    high: FloatArray
    n_first: int

    @classmethod
    def of(cls, register: Register) -> Cells:
        """The cells of a register, without rows. Sums of weights seldom reach a total exactly, so bounds are wider."""
        targets = register.targets.widened(NEARLY_MET) if register.is_weighted else register.targets
        low, high = (part.reshape(-1, targets.n_classes) for part in (targets.low, targets.high))
        return cls(np.zeros(low.shape), low, high, targets.margins[0].n_domains)

    @property
    def off(self) -> float:
        """Rows that would have to change class to meet all totals, summed over the domains."""
        return float(rows_beyond_bounds(self.counts, self.low, self.high).sum())

    def off_after(self, ladder: Ladder) -> FloatArray:
        """Rows off after each move of a ladder, shape (k,)."""
        over, under = (part.copy() for part in _beyond(self.counts, self.low, self.high))
        pair = [ladder.split.left, ladder.split.right]
        over[:, pair] = under[:, pair] = 0.0
        overs, unders = over.sum(axis=1), under.sum(axis=1)
        moved = ladder.moved
        for k, more in zip(pair, (moved, -moved), strict=True):
            beyond = _beyond(self.counts[:, k] + more, self.low[:, k], self.high[:, k])
            overs, unders = overs + beyond[0], unders + beyond[1]
        return np.asarray(np.maximum(overs, unders).sum(axis=1))

    def after(self, ladder: Ladder, rung: int) -> Cells:
        """The cells after the offset of a ladder has moved to another rung."""
        counts, moved = self.counts.copy(), ladder.moved[rung]
        counts[:, ladder.split.left] += moved
        counts[:, ladder.split.right] -= moved
        return replace(self, counts=counts)


def _beyond(counts: FloatArray, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Rows above upper bounds, and rows missing from lower bounds."""
    return np.maximum(counts - high, 0.0), np.maximum(low - counts, 0.0)


def moved_near(ladders: Sequence[Ladder], cells: Cells, most_price: float) -> tuple[list[Ladder], Cells]:
    """Move offsets until the totals are met or no move helps; each time, the move that costs least per row gained.

    ``most_price`` is the maximum price of a row gained, in evidence.
    """
    moving = list(ladders)
    for _ in range(PARAMS.most_moves):
        if cells.off <= 0:
            break
        choices = [(*_cheapest(ladder, cells), k) for k, ladder in enumerate(moving)]
        price, _, rung, k = min(choices, default=(np.inf, 0.0, 0, 0))
        is_worth_it = price <= most_price and np.isfinite(price)
        steps = [(k, rung)] if is_worth_it else _through_a_third_class(moving, cells, most_price)
        if not steps:
            break
        for k, rung in steps:
            cells = cells.after(moving[k], rung)
            moving[k] = replace(moving[k], cut=rung)
    return moving, cells


def _cheapest(ladder: Ladder, cells: Cells) -> tuple[float, float, int]:
    """The move that costs least per row gained: its price, minus the rows gained, and the rung."""
    now = cells.off
    gain = now - cells.off_after(ladder)
    rows = np.abs(ladder.moved[:, : cells.n_first]).sum(axis=1)
    helps = (gain > 1e-9) & (rows <= PARAMS.reach * now)
    if not helps.any():
        return np.inf, 0.0, ladder.cut
    cost = np.maximum(ladder.extra, 0.0) + PARAMS.row_moved * rows
    price = np.where(helps, cost / np.where(helps, gain, 1.0), np.inf)
    # Rounding errors must not decide between moves of equal price: the one that gains more rows wins.
    least = np.flatnonzero(price <= price.min() * (1 + 1e-9))
    rung = int(least[np.argmax(gain[least])])
    return float(price[rung]), -float(gain[rung]), rung


def moving_cost(before: Sequence[Ladder], after: Sequence[Ladder]) -> float:
    """Cost of moving the cuts of some ladders, in evidence."""
    return float(sum(one.extra[other.cut] for one, other in zip(before, after, strict=True)))


def _through_a_third_class(ladders: Sequence[Ladder], cells: Cells, most_price: float) -> list[tuple[int, int]]:
    """With one domain, the two moves that together come closest to the totals; empty if they do not help.

    If no split separates the class with too many rows from the class with too few, rows move from the first class to a
    third one, and the same number from the third to the second.
    """
    if len(cells.counts) > 1 or cells.counts.shape[1] < 3:
        return []
    over, under = _beyond(cells.counts[0], cells.low[0], cells.high[0])
    amounts = np.unique([*over[over > 0], *under[under > 0]])
    best, steps = cells.off - 1e-9, []
    for k, other in permutations(range(len(ladders)), 2):
        moved = ladders[k].moved[:, 0]
        for amount in (*amounts, *-amounts):
            rung = int(np.argmin(np.abs(moved - amount)))
            between = cells.after(ladders[k], rung)
            off = between.off_after(ladders[other])
            rung_of_other = int(np.argmin(off))
            cost = ladders[k].extra[rung] + ladders[other].extra[rung_of_other]
            if off.min() < best and cost <= _worth(most_price, cells.off - float(off.min())):
                best, steps = float(off.min()), [(k, rung), (other, rung_of_other)]
    return steps


def _worth(most_price: float, gain: float) -> float:
    """Maximum cost of gaining this many rows; the product of infinity and 0 would not be a number."""
    return most_price * gain if gain > 0 else 0.0


def moved_in_pairs(ladders: Sequence[Ladder], cells: Cells, most_price: float) -> list[Ladder]:
    """With one domain and two classes, move two offsets at once if that comes closer to the total than single moves.

    Rows of equal value stay together, so two moves may meet a total that every single move misses.
    """
    moving = list(ladders)
    if cells.counts.shape != (1, 2):
        return moving
    best, now = (cells.off, 0.0), cells.off
    chosen: tuple[tuple[int, int], ...] = ()
    for k, other in combinations(range(len(moving)), 2):
        for rung, rung_of_other, off, rows in _nearest_pair(moving[k], moving[other], cells):
            cost = moving[k].extra[rung] + moving[other].extra[rung_of_other]
            if (off, rows) < best and cost <= _worth(most_price, now - off):
                best, chosen = (off, rows), ((k, rung), (other, rung_of_other))
    for k, rung in chosen:
        moving[k] = replace(moving[k], cut=rung)
    return moving


def _nearest_pair(one: Ladder, other: Ladder, cells: Cells) -> list[tuple[int, int, float, float]]:
    """Pairs of rungs of two ladders that come closest to the total: both, the rows off, and the rows moved."""
    first, second = (_more_of_class_0(ladder) for ladder in (one, other))
    low, high = cells.low[0, 0] - cells.counts[0, 0], cells.high[0, 0] - cells.counts[0, 0]
    order = np.argsort(second, kind="stable")
    found: list[tuple[int, int, float, float]] = []
    place = np.searchsorted(second[order], low - first)
    for shift in (-1, 0):
        at = order[np.clip(place + shift, 0, len(order) - 1)]
        more = first + second[at]
        off = np.maximum(np.maximum(more - high, low - more), 0.0)
        rows = np.abs(first) + np.abs(second[at])
        best = int(np.lexsort((rows, off))[0])
        found.append((best, int(at[best]), float(off[best]), float(rows[best])))
    return found


def _more_of_class_0(ladder: Ladder) -> FloatArray:
    moved = ladder.moved[:, 0]
    return moved if ladder.split.left == 0 else -moved
