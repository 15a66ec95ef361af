"""Ladders: where the offset of a last split can be, and which rows change class on the way there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations

import numpy as np

from s2oct.arrays import FloatArray, IntArray

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
