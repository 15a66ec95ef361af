"""The constants of P2 by the paper's rules, the distances between rows that they need, and their versions per row."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from s2oct.arrays import FloatArray, IntArray
from s2oct.model.problem import Problem
from s2oct.stopping import NO_DEADLINE, Deadline

_BLOCK, _BOX = 2048, 256
_QUICK_WORK = 5e7
"""Pairs times features up to which the diameter is always found: that takes some hundredths of a second."""

_EXACT_L1_WORK = 5e8
"""Pairs times features up to which the farthest row in the 1-norm is found exactly, not bounded by the box."""


class Diameter(NamedTuple):
    """The largest distance between two rows: how large it is at least and at most. The two are equal once it is found.

    Attributes
    ----------
    least, most : float
        A distance that two rows have, and one that no two rows exceed.
    """

    least: float
    most: float


def diameter(X: FloatArray, deadline: Deadline = NO_DEADLINE) -> Diameter:
    """eta: the largest Euclidean distance between two rows, without an N x N matrix.

    Rows that cannot be farther apart than a distance already known are left out: first single rows (through the
    centre, or in the farthest corner of the box), then pairs of boxes of neighbouring rows. In many dimensions that
    leaves out little. After the deadline the result is between two bounds.
    """
    if len(X) < 2:
        return Diameter(0.0, 0.0)
    if len(X) ** 2 * X.shape[1] < _QUICK_WORK:
        deadline = NO_DEADLINE
    low, high = X.min(axis=0), X.max(axis=0)
    if deadline.passed:
        widest = X[:, int((0.5 * high - 0.5 * low).argmax())]
        ends = X[[int(widest.argmin()), int(widest.argmax())]]
        return Diameter(float(np.linalg.norm(ends[1] - ends[0])), float(np.linalg.norm(high - low)))
    rows = X - (0.5 * low + 0.5 * high)
    low, high = rows.min(axis=0), rows.max(axis=0)
    radius = np.linalg.norm(rows, axis=1)
    most = min(float(np.linalg.norm(high - low)), 2 * float(radius.max()))
    best = _far_pair(rows, deadline)
    if deadline.passed:
        return Diameter(best, max(most, best))
    corner = np.linalg.norm(np.maximum(rows - low, high - rows), axis=1)
    rows = rows[np.minimum(radius + radius.max(), corner) > best]
    boxes = [_Box.of(rows[box]) for box in _boxes(rows)]
    low, high = (np.array([getattr(box, end) for box in boxes]) for end in ("low", "high"))
    for a, box in enumerate(boxes):
        apart = np.linalg.norm(np.maximum(high[a:] - low[a], high[a] - low[a:]), axis=1)
        for b in a + np.flatnonzero(apart > best):
            if deadline.passed:
                return Diameter(best, max(most, best))
            if apart[b - a] > best:
                best = max(best, _largest_distance(box, boxes[b], best))
    return Diameter(best, best)


def _far_pair(rows: FloatArray, deadline: Deadline) -> float:
    """A large distance, found quickly: from several rows, go to the farthest row until the distance stops growing."""
    best = 0.0
    squares = np.einsum("ij,ij->i", rows, rows)
    outer = np.argsort(-squares, kind="stable")[:: max(1, len(rows) // 16)][:16]
    for here in outer.tolist():
        reached = 0.0
        while not deadline.passed:
            # Differences decide how far the farthest row is. Which one it is need not be exact.
            there = int((squares - 2 * (rows @ rows[here])).argmax())
            distance = float(np.linalg.norm(rows[there : there + 1] - rows[here], axis=1)[0])
            if distance <= reached:
                break
            here, reached = there, distance
        best = max(best, reached)
    return best


class _Box(NamedTuple):
    """Neighbouring rows, their ends, and their squared lengths."""

    rows: FloatArray
    low: FloatArray
    high: FloatArray
    squares: FloatArray

    @classmethod
    def of(cls, rows: FloatArray) -> _Box:
        return cls(rows, rows.min(axis=0), rows.max(axis=0), np.einsum("ij,ij->i", rows, rows))


def _boxes(rows: FloatArray) -> list[IntArray]:
    """Row numbers in groups of neighbours: halved along the widest feature until small."""
    pending, boxes = [np.arange(len(rows))], []
    while pending:
        group = pending.pop()
        if len(group) <= _BOX:
            if len(group):
                boxes.append(group)
            continue
        widest = int(np.ptp(rows[group], axis=0).argmax())
        group = group[np.argsort(rows[group, widest], kind="stable")]
        pending += [group[: len(group) // 2], group[len(group) // 2 :]]
    return boxes


def _largest_distance(first: _Box, second: _Box, best: float) -> float:
    """Largest distance between two groups of rows if it exceeds the best, recomputed from the differences."""
    squared = first.rows @ second.rows.T
    squared *= -2
    squared += first.squares[:, None]
    squared += second.squares
    # The Gram form loses digits to cancellation: it selects candidate pairs, and the differences decide.
    slack = 1e-9 * float(first.squares.max() + second.squares.max())
    largest = float(squared.max())
    if largest + slack <= best * best:
        return best
    i, k = np.nonzero(squared >= largest - 2 * slack)
    return float(np.linalg.norm(first.rows[i] - second.rows[k], axis=1).max())


def farthest_l1(X: FloatArray) -> FloatArray:
    """max_k |x_i - x_k|_1 for every row, or the distance to the farthest corner of the box where that is too slow."""
    n, p = X.shape
    corner = np.maximum(X - X.min(axis=0), X.max(axis=0) - X).sum(axis=1)
    if n * n * p > _EXACT_L1_WORK:
        return np.asarray(corner)
    farthest = np.zeros(n)
    for start in range(0, n, _BLOCK):
        farthest[start : start + _BLOCK] = cdist(X[start : start + _BLOCK], X, "cityblock").max(axis=1)
    return farthest


LEAST_M = 500.0
"""Sec. 4.2: s is raised until M = eta s sqrt(p) + 1 reaches this."""


@dataclass(frozen=True)
class Bounds:
    """eta, s, M and B(s) of Propositions 1 and 2, in model units.

    Attributes
    ----------
    eta : float
        The largest distance between two rows, or a larger number if that was not found in time: then M is larger, and
        a lower bound on the cost remains one.
    s : float
        The bound on the coefficients.
    least_eta : float, optional
        A distance that two rows have, if ``eta`` is not known to be one. A tree must be feasible with this one.
    """

    depth: int
    n_features: int
    eta: float
    s: float
    least_eta: float | None = None

    @property
    def M(self) -> float:
        """Eta s sqrt(p) + 1, and at least 2: with less, no hyperplane keeps distance 1 under (BIGM1) and (BIGM2)."""
        return float(max(self.eta * self.s * np.sqrt(self.n_features) + 1.0, 2.0))

    @property
    def B(self) -> float:
        """B(s) = D M, the most a leaf error can be."""
        return self.depth * self.M

    @property
    def is_exact(self) -> bool:
        """Whether eta is the distance of two rows."""
        return self.least_eta is None

    def strict(self) -> Bounds:
        """The bounds that a tree must meet, so that it is feasible whatever eta really is."""
        return self if self.least_eta is None else replace(self, eta=self.least_eta, least_eta=None)

    def M_of_rows(self, X: FloatArray) -> FloatArray:
        """M_i <= M of every row; some optimal tree stays feasible with these.

        A hyperplane that separates rows is within s * max_k |x_i - x_k|_1 of each of them. A hyperplane that separates
        nothing can be moved that near.
        """
        return np.minimum(self.s * farthest_l1(X) + 2.0, self.M)


def paper_depth(n_rows: int, n_classes: int = 2) -> int:
    """The paper's rule for D, or more if the classes need more leaves."""
    return max(2 if n_rows < 1000 else 3, math.ceil(math.log2(n_classes)))


def paper_coefficient_bound(n_rows: int, n_features: int, eta: float) -> float:
    """The paper's rule for s; where all rows are equal (eta = 0) only its constant part is defined."""
    least = 10.0 if n_rows < 650 else 20.0 if n_rows < 1500 else 40.0
    return max(least, (LEAST_M - 1) / (eta * np.sqrt(n_features))) if eta > 0 else least


def compute_bounds(
    problem: Problem, depth: int, coefficient_bound: float | None = None, deadline: Deadline = NO_DEADLINE
) -> Bounds:
    """All constants of P2 for a problem in model units; ``coefficient_bound`` overrides the rule for s."""
    found = diameter(problem.X, deadline)
    s = coefficient_bound
    if s is None:
        s = paper_coefficient_bound(problem.n_rows, problem.n_features, found.most)
    least = None if found.least == found.most else found.least
    return Bounds(depth, problem.n_features, found.most, float(s), least)


class Distances(NamedTuple):
    """How far rows are from the hyperplanes of a tree, in units of omega.

    Attributes
    ----------
    of_rows : ndarray of shape (n_rows,)
        Distance of each row from the nearest hyperplane.
    least, largest : ndarray of shape (n_branches,)
        Distance of the nearest and of the farthest row from each hyperplane; infinity and 0 without rows.
    n_left, n_right : ndarray of shape (n_branches,)
        Rows with a negative and with a positive value at each node.
    """

    of_rows: FloatArray
    least: FloatArray
    largest: FloatArray
    n_left: IntArray
    n_right: IntArray
