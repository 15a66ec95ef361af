"""The best classes of the rows of one domain within bounds on the classes, where all rows count alike.

This is a transportation problem. From classes that are best for their own counts, rows move along the shortest chain of
classes from one with too many rows to one with too few. This keeps the classes best for their counts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray

_ROUNDING = 1e-12
"""Differences of losses that count as none, as a share of the farthest multiplier."""


@dataclass(frozen=True, eq=False)
class ClassBounds:
    """ClassBounds on the classes of one domain.

    ``low`` and ``high`` are whole numbers of rows that the domain can meet. A move between classes that no row can
    make is charged ``farthest``.
    """

    low: FloatArray
    high: FloatArray
    farthest: float

    def without(self, classes: IntArray) -> ClassBounds:
        """What the bounds leave to the other rows if some rows keep these classes."""
        counts = np.bincount(classes, minlength=len(self.low))
        return replace(self, low=self.low - counts, high=self.high - counts)


def settled_domain(scores: FloatArray, classes: IntArray, bounds: ClassBounds) -> tuple[IntArray, FloatArray]:
    """The best classes within the bounds, and the multipliers of the classes.

    The given classes must be best for their own counts, as those of the highest scores plus multipliers are.
    """
    counts = np.bincount(classes, minlength=len(bounds.low))
    n_off = int(np.maximum(counts - bounds.high, 0).sum() + np.maximum(bounds.low - counts, 0).sum())
    classes = classes.copy()
    near = _nearest(scores, classes, n_off + 1)
    if len(near) < 0.5 * len(classes):
        some = Augmenting(scores[near], classes[near], bounds.without(np.delete(classes, near)))
        some.run()
        classes[near] = some.classes
    settling = Augmenting(scores, classes, bounds)
    settling.run()
    return settling.classes, settling.multipliers()


def _nearest(scores: FloatArray, classes: IntArray, n_rows: int) -> IntArray:
    """The rows of each class that move to each other class at the least loss, so many of each pair at most."""
    chosen = np.zeros(len(classes), dtype=bool)
    for a in range(scores.shape[1]):
        rows = np.flatnonzero(classes == a)
        if len(rows) <= n_rows:
            chosen[rows] = True
            continue
        for b in range(scores.shape[1]):
            if b != a:
                losses = scores[rows, a] - scores[rows, b]
                chosen[rows[losses <= np.partition(losses, n_rows - 1)[n_rows - 1]]] = True
    return np.flatnonzero(chosen)


class Augmenting:
    """Classes of the rows of one domain, while they are changed; they must be best for their own counts."""

    def __init__(self, scores: FloatArray, classes: IntArray, bounds: ClassBounds) -> None:
        self.scores, self.classes, self.low, self.high = scores, classes, bounds.low, bounds.high
        self.farthest, self.rounding = bounds.farthest, _ROUNDING * bounds.farthest
        self.losses = np.full((len(self.low), len(self.low)), self.farthest)
        self.counts = np.bincount(classes, minlength=len(self.low))
        self._renew(range(len(self.low)))

    def run(self) -> None:
        """Move rows until all counts are within their bounds, and then as long as a move gains."""
        while (chain := self._next_chain()) is not None:
            self._move_along(*chain)

    def multipliers(self) -> FloatArray:
        """One multiplier for each class under which no row prefers another class: the middle of all that do so.

        Classes with room on both sides have the multiplier 0. If all counts are at their bounds, the mean is 0.
        """
        could_lose, could_gain = self.counts > self.low, self.counts < self.high
        if not (could_lose.any() or could_gain.any()):
            middle = _middle(self.losses, self.rounding)
            return np.asarray(middle - middle.mean())
        # One more node stands for "no bound in force"; classes that could lose or gain rows are compared with it.
        steps = np.zeros((len(self.low) + 1, len(self.low) + 1))
        steps[:-1, :-1] = self.losses
        steps[:-1, -1] = np.where(could_lose, 0.0, np.inf)
        steps[-1, :-1] = np.where(could_gain, 0.0, np.inf)
        middle = _middle(steps, self.rounding)
        return np.asarray(middle[:-1] - middle[-1])

    def _renew(self, classes: IntArray | range) -> None:
        """Compute the least loss of a move of some row from each of the given classes to each other one."""
        for a in classes:
            rows = self.classes == a
            if rows.any():
                chosen = self.scores[rows]
                self.losses[a] = (chosen[:, [a]] - chosen).min(axis=0)
            else:
                self.losses[a] = self.farthest
            self.losses[a, a] = 0.0

    def _next_chain(self) -> tuple[list[int], int] | None:
        """The classes of the chain of least loss that the bounds ask for, and the rows to move; None at the end."""
        sources, sinks = self._ends()
        if not sources.any() or not sinks.any():
            return None
        # No row of an empty class can move.
        steps = np.where((self.counts > 0)[:, None] | np.eye(len(self.low), dtype=bool), self.losses, np.inf)
        distances, following = _shortest(steps, self.rounding)
        open_pairs = sources[:, None] & sinks[None, :] & ~np.eye(len(self.low), dtype=bool)
        a, b = np.unravel_index(int(np.where(open_pairs, distances, np.inf).argmin()), distances.shape)
        is_off = bool((self.counts > self.high).any() or (self.counts < self.low).any())
        if not open_pairs[a, b] or np.isinf(distances[a, b]) or (not is_off and distances[a, b] >= -self.rounding):
            return None
        chain = [int(a)]
        while chain[-1] != b:
            chain.append(int(following[chain[-1], b]))
        above = self.counts[a] - (self.high[a] if self.counts[a] > self.high[a] else self.low[a])
        below = (self.low[b] if self.counts[b] < self.low[b] else self.high[b]) - self.counts[b]
        return chain, int(min(above, below))

    def _ends(self) -> tuple[BoolArray, BoolArray]:
        """The classes that rows may leave, and those that they may join."""
        over, under = self.counts > self.high, self.counts < self.low
        sources = over if over.any() else self.counts > self.low
        sinks = under if under.any() else self.counts < self.high
        return np.asarray(sources), np.asarray(sinks)

    def _move_along(self, chain: list[int], most: int) -> None:
        """Move rows of least loss along the chain, at once as many as have the same loss."""
        ready = []
        for a, b in pairwise(chain):
            rows = np.flatnonzero(self.classes == a)
            tied = rows[self.scores[rows, a] - self.scores[rows, b] <= self.losses[a, b]]
            # Among equal rows the first ones get the higher class, as a ranking would give it to them.
            ready.append((tied if b > a else tied[::-1], b))
        n_moved = min(most, *(len(rows) for rows, _ in ready))
        for rows, b in ready:
            self.classes[rows[:n_moved]] = b
        self.counts = np.bincount(self.classes, minlength=len(self.low))
        self._renew(np.array(chain))


def _shortest(steps: FloatArray, rounding: float) -> tuple[FloatArray, IntArray]:
    """Lengths of the shortest chains between all pairs, and the next class on each of them."""
    n = len(steps)
    distances = steps.copy()
    following = np.tile(np.arange(n), (n, 1))
    for middle in range(n):
        through = distances[:, [middle]] + distances[[middle], :]
        # Chains that are shorter by rounding alone could make a circle.
        shorter = through < distances - rounding
        distances = np.where(shorter, through, distances)
        following = np.where(shorter, following[:, [middle]], following)
    return distances, following


def _middle(steps: FloatArray, rounding: float) -> FloatArray:
    """Potentials whose differences are nowhere larger than the steps: the mean of those from and to each node."""
    distances = _shortest(steps, rounding)[0]
    return np.asarray(0.5 * (distances - distances.T).mean(axis=0))
