"""How far rows lie apart: the diameter of all rows, and the farthest row from each."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from s2oct.arrays import FloatArray, IntArray

_BLOCK, _BOX = 2048, 256
_EXACT_L1_WORK = 5e8
"""Pairs times features up to which the farthest row in the 1-norm is found exactly, not bounded by the box."""


def diameter(X: FloatArray) -> float:
    """eta: the largest Euclidean distance between two rows, without an N x N matrix.

    Rows that cannot be farther apart than a distance already known are left out: first single rows (through the
    centre, or in the farthest corner of the box), then pairs of boxes of neighbouring rows.
    """
    if len(X) < 2:
        return 0.0
    rows = X - (0.5 * X.min(axis=0) + 0.5 * X.max(axis=0))
    best = _far_pair(rows)
    radius = np.linalg.norm(rows, axis=1)
    corner = np.linalg.norm(np.maximum(rows - rows.min(axis=0), rows.max(axis=0) - rows), axis=1)
    rows = rows[np.minimum(radius + radius.max(), corner) > best]
    boxes = _boxes(rows)
    low = np.array([rows[box].min(axis=0) for box in boxes])
    high = np.array([rows[box].max(axis=0) for box in boxes])
    for a, box in enumerate(boxes):
        apart = np.linalg.norm(np.maximum(high[a:] - low[a], high[a] - low[a:]), axis=1)
        for b in a + np.flatnonzero(apart > best):
            if apart[b - a] > best:
                best = max(best, _largest_distance(rows[box], rows[boxes[b]], best))
    return best


def _far_pair(rows: FloatArray) -> float:
    """A large distance, found quickly: from several rows, go to the farthest row until the distance stops growing."""
    best = 0.0
    outer = np.argsort(-np.linalg.norm(rows, axis=1), kind="stable")[:: max(1, len(rows) // 16)][:16]
    for here in outer.tolist():
        reached = 0.0
        while True:
            distance = np.linalg.norm(rows - rows[here], axis=1)
            here = int(distance.argmax())
            if distance[here] <= reached:
                break
            reached = float(distance[here])
        best = max(best, reached)
    return best


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


def _largest_distance(first: FloatArray, second: FloatArray, best: float) -> float:
    """Largest distance between two groups of rows if it exceeds the best, recomputed from the differences."""
    squares = np.einsum("ij,ij->i", first, first)[:, None] + np.einsum("ij,ij->i", second, second)[None, :]
    squared = squares - 2 * (first @ second.T)
    # The Gram form loses digits to cancellation: it selects candidate pairs, and the differences decide.
    slack = 1e-9 * float(squares.max())
    largest = float(squared.max())
    if largest + slack <= best * best:
        return best
    i, k = np.nonzero(squared >= largest - 2 * slack)
    return float(np.linalg.norm(first[i] - second[k], axis=1).max())


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
