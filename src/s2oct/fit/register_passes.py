"""Passes over all rows of a register: counts by leaf, and thresholds that meet the totals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.evidence.evidence import Evidence, unlabeled_costs
from s2oct.fit.register import Register
from s2oct.p2.score import MARGIN_TOLERANCE
from s2oct.problem.batches import Batch
from s2oct.problem.problem import Guide, rows_mark
from s2oct.problem.targets import NEARLY_MET
from s2oct.stopping import Deadline
from s2oct.trees.rounding import shortest_between
from s2oct.trees.topology import Topology
from s2oct.trees.tree import ObliqueTree

# What passes over all rows look for, batch by batch: pure functions that can be sent to other processes.

GRAIN = 2.0**-20
"""Costs and sizes of rows are multiples of this, in rows: sums of fewer than 2 ** 33 rows are exact in any order."""


def grained(numbers: FloatArray) -> FloatArray:
    """Numbers rounded to multiples of the grain."""
    return np.asarray(np.round(numbers / GRAIN) * GRAIN)


@dataclass(frozen=True, eq=False)
class Pricing:
    """What classes cost rows that the guide was not fitted to.

    Attributes
    ----------
    probabilities : callable
        What the guide says of rows of features and their domains; can be sent to other processes.
    """

    probabilities: Callable[[FloatArray, IntArray], FloatArray]

    def costs(self, batch: Batch) -> FloatArray:
        """What each class costs the rows of a batch, shape (rows, n_classes)."""
        said = Guide.from_probabilities(self.probabilities(batch.X, batch.domains))
        return grained(unlabeled_costs(said.charges, batch.sizes))


@dataclass(frozen=True)
class Lever:
    """A split between two classes: its node, and the classes on its left and right."""

    node: int
    left: int
    right: int


@dataclass(frozen=True, eq=False)
class Sums:
    """Arrays of numbers that are added up, each with its own shape."""

    parts: tuple[FloatArray, ...]

    def __add__(self, other: Sums) -> Sums:
        return Sums(tuple(one + two for one, two in zip(self.parts, other.parts, strict=True)))


@dataclass(frozen=True, eq=False)
class Marks:
    """A mark of the rows, which depends neither on their order nor on batches, and their number."""

    mark: int
    n_rows: int

    def __add__(self, other: Marks) -> Marks:
        return Marks((self.mark + other.mark) % 2**64, self.n_rows + other.n_rows)


def marks_of(batch: Batch) -> Marks:
    """Mark the rows of a batch."""
    return Marks(rows_mark(batch.X, batch.sizes, batch.domains), len(batch.X))


@dataclass(frozen=True, eq=False)
class CountRungs:
    """Counts the rows between the rungs of nodes, and the rows of each cell.

    Attributes
    ----------
    tree : ObliqueTree
        Routes the rows.
    levers : tuple of Lever
        Splits of which none is above another.
    rungs : tuple of ndarray
        Ascending offsets of each.
    n_domains : int
        Domains of all margins.
    pricing : Pricing or None
        What classes cost rows between two rungs; nothing if None.
    """

    tree: ObliqueTree
    levers: tuple[Lever, ...]
    rungs: tuple[FloatArray, ...]
    n_domains: int
    pricing: Pricing | None

    def __call__(self, batch: Batch) -> Sums:
        """Rows of each cell, then for each node the rows between rungs, those above the last one at the end.

        After the sizes by domain come what they cost on the left more than on the right, and their number.
        """
        leaf = self.tree.apply(batch.X)
        batch = batch._replace(sizes=grained(batch.sizes))
        classes = self.tree.leaf_classes[leaf - self.tree.topology.n_leaves]
        n_classes = self.tree.topology.n_classes
        found = [_by_domain(batch, classes, n_classes, self.n_domains).T]
        for lever, rungs in zip(self.levers, self.rungs, strict=True):
            here = some_of(batch, comes_through(leaf, lever.node))
            place = np.searchsorted(rungs, values_at(self.tree, lever.node, here.X))
            extra = np.zeros(len(place))
            between = (place > 0) & (place < len(rungs))
            extra[between] = _extra(some_of(here, between), lever, self.pricing)
            sizes = _by_domain(here, place, len(rungs) + 1, self.n_domains)
            number = np.bincount(place, minlength=len(sizes))
            found.append(np.column_stack([sizes, np.bincount(place, weights=extra, minlength=len(sizes)), number]))
        return Sums(tuple(found))


def _extra(batch: Batch, lever: Lever, pricing: Pricing | None) -> FloatArray:
    """What rows cost on the left of a split more than on its right."""
    if pricing is None or not len(batch.X):
        return np.zeros(len(batch.X))
    costs = pricing.costs(batch)
    return np.asarray(costs[:, lever.left] - costs[:, lever.right])


def _by_domain(batch: Batch, places: IntArray, n_places: int, n_domains: int) -> FloatArray:
    """Sizes of the rows at each place in each domain, shape (n_places, n_domains)."""
    counts = np.zeros(n_places * n_domains)
    for domains in batch.domains:
        counts += np.bincount(places * n_domains + domains, weights=batch.sizes, minlength=len(counts))
    return counts.reshape(n_places, n_domains)


def some_of(batch: Batch, chosen: BoolArray) -> Batch:
    """Some rows of a batch."""
    return Batch(batch.X[chosen], batch.sizes[chosen], batch.domains[:, chosen])


def comes_through(leaves: IntArray, node: int) -> BoolArray:
    """Whether rows that end in these leaves come through a node."""
    levels = int(leaves[0]).bit_length() - node.bit_length() if len(leaves) else 0
    return np.asarray(leaves >> levels == node)


def values_at(tree: ObliqueTree, node: int, X: FloatArray) -> FloatArray:
    """Omega . x of rows at a node, added up as every tree does: with at most gamma a row goes left."""
    alone = ObliqueTree.of(Topology(1), tree.omega[[node - 1]], np.zeros(1))
    return np.asarray(alone.values(X)[:, 0])


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The distinct values of rows at some nodes, ascending, with the sizes of the rows that have them, by domain.

    The last column of the sizes has what the rows cost on the left more than on the right.
    """

    values: tuple[FloatArray, ...]
    sizes: tuple[FloatArray, ...]

    def __add__(self, other: Neighbours) -> Neighbours:
        pairs = [
            _merged(np.concatenate(values), np.concatenate(sizes))
            for values, sizes in zip(
                zip(self.values, other.values, strict=True), zip(self.sizes, other.sizes, strict=True), strict=True
            )
        ]
        return Neighbours(tuple(values for values, _ in pairs), tuple(sizes for _, sizes in pairs))


def _merged(values: FloatArray, sizes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Distinct values, and the sizes of equal ones added up."""
    distinct, place = np.unique(values, return_inverse=True)
    added = np.zeros((len(distinct), sizes.shape[1]))
    np.add.at(added, place, sizes)
    return distinct, added


@dataclass(frozen=True, eq=False)
class FindNeighbours:
    """Finds all values of rows near the offsets of nodes.

    Attributes
    ----------
    tree : ObliqueTree
        Routes the rows.
    levers : tuple of Lever
        Splits of which none is above another.
    windows : tuple of (float, float)
        For each, above which value and up to which one.
    n_domains : int
        Domains of all margins.
    pricing : Pricing or None
        What classes cost these rows; nothing if None.
    """

    tree: ObliqueTree
    levers: tuple[Lever, ...]
    windows: tuple[tuple[float, float], ...]
    n_domains: int
    pricing: Pricing | None

    def __call__(self, batch: Batch) -> Neighbours:
        """The values of a batch."""
        leaf = self.tree.apply(batch.X)
        batch = batch._replace(sizes=grained(batch.sizes))
        found = []
        for lever, (low, high) in zip(self.levers, self.windows, strict=True):
            here = some_of(batch, comes_through(leaf, lever.node))
            value = values_at(self.tree, lever.node, here.X)
            near = (value > low) & (value <= high)
            distinct, place = np.unique(value[near], return_inverse=True)
            here = some_of(here, near)
            sizes = _by_domain(here, place, len(distinct), self.n_domains)
            extra = np.bincount(place, weights=_extra(here, lever, self.pricing), minlength=len(distinct))
            found.append((distinct, np.column_stack([sizes, extra])))
        return Neighbours(tuple(values for values, _ in found), tuple(sizes for _, sizes in found))


@dataclass(frozen=True, eq=False)
class Finding:
    """What a tree does with rows: rows of each cell, rows too near a hyperplane, and the least distance from one."""

    counts: FloatArray
    n_near: int
    least: float

    def __add__(self, other: Finding) -> Finding:
        return Finding(self.counts + other.counts, self.n_near + other.n_near, min(self.least, other.least))


@dataclass(frozen=True, eq=False)
class CountClasses:
    """Counts what a tree does with rows, by the classes that it predicts."""

    tree: ObliqueTree
    n_domains: int

    def __call__(self, batch: Batch) -> Finding:
        """What it does with a batch."""
        n_classes = self.tree.topology.n_classes
        counts = _by_domain(batch, self.tree.predict(batch.X), n_classes, self.n_domains).T
        distance = self.tree.distances(batch.X).of_rows
        near = int(np.count_nonzero(distance < 1 - MARGIN_TOLERANCE))
        return Finding(counts, near, float(distance.min(initial=np.inf)))


# Ladders: where the offset of a last split can be, and which rows change class on the way there.

MOST_STEPS = 1000
"""Moves of offsets, one after the other."""

NEAR = 0.01
"""Rows of evidence that a moved row costs beside what labels and guide say: of equal moves, the shorter one."""

REACH = 2.0
"""Rows that one move may take to the other side, for each row off: no farther, because evidence hardly sees whole
leaves change class, and truth does."""


@dataclass(frozen=True, eq=False)
class Ladder:
    """The offsets that a node can have: its rungs.

    Attributes
    ----------
    node : int
        Id of the node.
    left, right : int
        Classes of its two leaves.
    rungs : ndarray of shape (k,)
        Ascending offsets. With one of them, rows of at most this value go left.
    sizes : ndarray of shape (k, n_domains)
        Rows above the rung before and up to each rung, by domain; those up to the first rung always go left.
    evidence : ndarray of shape (k,)
        What these rows cost on the left more than on the right.
    cut : int
        The rung that is the offset.
    """

    node: int
    left: int
    right: int
    rungs: FloatArray
    sizes: FloatArray
    evidence: FloatArray
    cut: int

    @property
    def moved(self) -> FloatArray:
        """Rows that go left with each rung and not with the cut, below 0 those that go right, shape (k, n_domains)."""
        below = np.cumsum(self.sizes, axis=0)
        return np.asarray(below - below[self.cut])

    @property
    def extra(self) -> FloatArray:
        """What each rung costs in evidence more than the cut, shape (k,)."""
        below = np.cumsum(self.evidence)
        return np.asarray(below - below[self.cut])


@dataclass(frozen=True, eq=False)
class Cells:
    """How many rows each class has in each domain, and how many it should have.

    Attributes
    ----------
    counts, low, high : ndarray of shape (n_domains, n_classes)
        Rows by the present offsets, and the bounds on them.
    n_first : int
        Domains of the first margin: every row is in one of them.
    """

    counts: FloatArray
    low: FloatArray
    high: FloatArray
    n_first: int

    @property
    def off(self) -> float:
        """Rows that would have to change class to meet all totals, added up over the domains."""
        over, under = _beyond(self.counts, self.low, self.high)
        return float(np.maximum(over.sum(axis=1), under.sum(axis=1)).sum())

    def off_after(self, ladder: Ladder) -> FloatArray:
        """The same after each move of a ladder, shape (k,)."""
        over, under = (part.copy() for part in _beyond(self.counts, self.low, self.high))
        pair = [ladder.left, ladder.right]
        over[:, pair] = under[:, pair] = 0.0
        overs, unders = over.sum(axis=1), under.sum(axis=1)
        moved = ladder.moved
        for k, more in ((ladder.left, moved), (ladder.right, -moved)):
            beyond = _beyond(self.counts[:, k] + more, self.low[:, k], self.high[:, k])
            overs, unders = overs + beyond[0], unders + beyond[1]
        return np.asarray(np.maximum(overs, unders).sum(axis=1))

    def after(self, ladder: Ladder, rung: int) -> Cells:
        """The cells once the offset of a ladder is at another rung."""
        counts, moved = self.counts.copy(), ladder.moved[rung]
        counts[:, ladder.left] += moved
        counts[:, ladder.right] -= moved
        return replace(self, counts=counts)


def _beyond(counts: FloatArray, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Rows above upper bounds, and rows that lower bounds lack."""
    return np.maximum(counts - high, 0.0), np.maximum(low - counts, 0.0)


def moved_near(
    ladders: Sequence[Ladder], cells: Cells, most_price: float, met: float = 0.0
) -> tuple[list[Ladder], Cells]:
    """Move offsets until the totals are met or no move comes nearer, each time where a row less off costs least.

    ``most_price`` is what a row less off may cost in evidence. Totals that are off by at most ``met`` rows are met.
    """
    moving = list(ladders)
    for _ in range(MOST_STEPS):
        if cells.off <= met:
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
    """The move that costs least for each row less off: its price, minus the rows less off, and the rung."""
    now = cells.off
    gain = now - cells.off_after(ladder)
    rows = np.abs(ladder.moved[:, : cells.n_first]).sum(axis=1)
    helps = (gain > 1e-9) & (rows <= REACH * now)
    if not helps.any():
        return np.inf, 0.0, ladder.cut
    cost = np.maximum(ladder.extra, 0.0) + NEAR * rows
    price = np.where(helps, cost / np.where(helps, gain, 1.0), np.inf)
    # Rounding errors of prices must not decide between moves of which one is as cheap and goes farther.
    least = np.flatnonzero(price <= price.min() * (1 + 1e-9))
    rung = int(least[np.argmax(gain[least])])
    return float(price[rung]), -float(gain[rung]), rung


def moving_cost(before: Sequence[Ladder], after: Sequence[Ladder]) -> float:
    """What the cuts of some ladders cost in evidence more than the cuts that they had before."""
    return float(sum(one.extra[other.cut] for one, other in zip(before, after, strict=True)))


def _through_a_third_class(ladders: Sequence[Ladder], cells: Cells, most_price: float) -> list[tuple[int, int]]:
    """With one domain, the two moves that together come nearest to the totals, if no single move comes nearer.

    One class has rows too many and another lacks some, and no node has both: rows go from one to a third class, and as
    many from the third to the other.
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
    """What so many rows less off may cost; the product of infinity and 0 would not be a number."""
    return most_price * gain if gain > 0 else 0.0


def moved_in_pairs(ladders: Sequence[Ladder], cells: Cells, most_price: float) -> tuple[list[Ladder], Cells]:
    """With one domain and two classes, move two offsets at once if that comes nearer to the total than single moves.

    Rows of equal value stay together, so that single moves may miss the total though two of them meet it.
    """
    moving = list(ladders)
    if cells.counts.shape != (1, 2):
        return moving, cells
    best, now = (cells.off, 0.0), cells.off
    chosen: tuple[tuple[int, int], ...] = ()
    for k, other in combinations(range(len(moving)), 2):
        for rung, rung_of_other, off, rows in _nearest_pair(moving[k], moving[other], cells):
            cost = moving[k].extra[rung] + moving[other].extra[rung_of_other]
            if (off, rows) < best and cost <= _worth(most_price, now - off):
                best, chosen = (off, rows), ((k, rung), (other, rung_of_other))
    for k, rung in chosen:
        cells = cells.after(moving[k], rung)
        moving[k] = replace(moving[k], cut=rung)
    return moving, cells


def _nearest_pair(one: Ladder, other: Ladder, cells: Cells) -> list[tuple[int, int, float, float]]:
    """For the rungs of one ladder the rung of another that comes nearest: both, the rows off, and the rows moved."""
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
    return moved if ladder.left == 0 else -moved


def thinned(rungs: FloatArray, kept: float, most: int) -> FloatArray:
    """At most so many of the rungs, evenly chosen, the one that is to be kept among them."""
    if len(rungs) <= most:
        return rungs
    chosen: IntArray = np.linspace(0, len(rungs) - 1, most).astype(np.int64)
    return np.union1d(rungs[chosen], [kept])


# Make a tree meet the totals of all rows: passes over batches find the offsets of its last splits.

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
