"""The constants of P2 by the paper's rules, their per-row versions, and lower bounds that need no solver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial.distance import cdist

from s2oct.arrays import FloatArray, IntArray
from s2oct.errors import InvalidProblem
from s2oct.model.problem import Problem, equal_rows

LEAST_M = 500.0
"""Sec. 4.2: s is raised until M = eta s sqrt(p) + 1 reaches this."""

_BLOCK, _BOX = 2048, 256
_EXACT_L1_WORK = 5e8
"""Pairs times features up to which the farthest row in the 1-norm is found exactly, not bounded by the box."""

_EXACT_MOVES_WORK = 2e8
"""Counts times steps up to which contradictions and totals are weighed against each other: well under a second."""


@dataclass(frozen=True, eq=False)
class Bounds:
    """eta, s, M and B(s) of Propositions 1 and 2, and the tighter M_i and B_i of single rows.

    ``M_unlabeled`` and ``B_labeled`` keep an optimal tree: a hyperplane that separates rows is within
    s * max_k |x_i - x_k|_1 of each of them, one that separates nothing can be moved that near.
    """

    problem: Problem
    depth: int
    eta: float
    s: float

    @property
    def M(self) -> float:
        """Eta s sqrt(p) + 1, but 2 at least: below, no hyperplane could keep distance 1 under (BIGM1) and (BIGM2)."""
        return float(max(self.eta * self.s * np.sqrt(self.problem.n_features) + 1.0, 2.0))

    @property
    def B(self) -> float:
        """B(s) = D M, the most a leaf error can be."""
        return self.depth * self.M

    @cached_property
    def _M_rows(self) -> FloatArray:
        return np.minimum(self.s * farthest_l1(self.problem.X) + 2.0, self.M)

    @property
    def M_unlabeled(self) -> FloatArray:
        """M_i of the unlabeled rows."""
        return self._M_rows[self.problem.n_labeled :]

    @property
    def B_labeled(self) -> FloatArray:
        """B_i of the labeled rows."""
        return self.depth * self._M_rows[: self.problem.n_labeled]


def paper_depth(n_rows: int) -> int:
    """The paper's rule for D."""
    return 2 if n_rows < 1000 else 3


def paper_weight_bound(n_rows: int, n_features: int, eta: float) -> float:
    """The paper's rule for s; where all rows are equal (eta = 0) only its constant part is defined."""
    least = 10.0 if n_rows < 650 else 20.0 if n_rows < 1500 else 40.0
    return max(least, (LEAST_M - 1) / (eta * np.sqrt(n_features))) if eta > 0 else least


def compute_bounds(problem: Problem, depth: int, weight_bound: float | None = None) -> Bounds:
    """All constants of P2 for a problem in model units; ``weight_bound`` overrides the rule for s."""
    eta = diameter(problem.X)
    s = paper_weight_bound(problem.n_rows, problem.n_features, eta) if weight_bound is None else float(weight_bound)
    if not 0 < s < np.inf:
        raise InvalidProblem(f"Expected a weight bound s between 0 and infinity, got {s!r}.")
    return Bounds(problem, depth, eta, s)


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
    """A large distance at once: the farthest row from the farthest row, from several rows on the way out."""
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
    # The Gram form loses digits to cancellation: it nominates pairs, the differences decide.
    slack = 1e-9 * float(squares.max())
    largest = float(squared.max())
    if largest + slack <= best * best:
        return best
    i, k = np.nonzero(squared >= largest - 2 * slack)
    return float(np.linalg.norm(first[i] - second[k], axis=1).max())


def farthest_l1(X: FloatArray) -> FloatArray:
    """max_k |x_i - x_k|_1 for every row, or the distance to the farthest corner of the box where that is too much."""
    n, p = X.shape
    corner = np.maximum(X - X.min(axis=0), X.max(axis=0) - X).sum(axis=1)
    if n * n * p > _EXACT_L1_WORK:
        return np.asarray(corner)
    farthest = np.zeros(n)
    for start in range(0, n, _BLOCK):
        farthest[start : start + _BLOCK] = cdist(X[start : start + _BLOCK], X, "cityblock").max(axis=1)
    return farthest


def lower_bound(problem: Problem) -> float:
    """A cost that no tree of any depth can undercut: what contradictions and totals must cost together.

    Unlabeled rows keep distance 1 from every hyperplane, so a labeled row equal to one that ends in another class parts
    from it at a node where it pays 2 at least. A tree puts equal unlabeled rows into one class, so it costs at least
    the least, over all ways to deal the distinct rows to the classes, of these errors and C times the miss of the
    totals, on top of what `contradiction_bound` says of labeled rows that equal no unlabeled one.
    """
    if problem.n_classes != 2 or not problem.n_labeled or not problem.n_unlabeled:
        return contradiction_bound(problem) + problem.C * total_bound(problem)
    _, place = equal_rows(problem.X)
    n, n_places = problem.n_labeled, int(place.max()) + 1
    counts = np.bincount(2 * place[:n] + problem.labels, problem.labeled_weights, 2 * n_places).astype(float)
    # What the labeled rows of a place pay at least if its unlabeled rows end in A, and in B.
    as_a, as_b = 2 * counts[1::2], 2 * counts[::2]
    size = np.bincount(place[n:], problem.unlabeled_weights, n_places).astype(int)
    moved = _least_moves(as_a - as_b, size, int(problem.totals[0]), problem.C)
    if moved is None:
        return contradiction_bound(problem) + problem.C * total_bound(problem)
    return float(np.minimum(as_a, as_b).sum()) + moved


def _least_moves(extra: FloatArray, size: IntArray, wanted: int, C: float) -> float | None:
    """The least of what places pay for their dearer class and C times the miss of the total; None if it takes long.

    A place of ``size`` unlabeled rows pays ``extra`` more in A than in B. Where that is 0 it may go either way.
    """
    free, bound = (size > 0) & (extra == 0), (size > 0) & (extra != 0)
    in_a = int(size[extra < 0].sum())
    reachable = _subset_sums(*np.unique(size[free], return_counts=True)) << in_a
    if (reachable >> wanted) & 1:
        return 0.0
    n_counts = int(size.sum()) + 1
    kinds, groups = np.unique(np.column_stack([extra[bound], size[bound]]), axis=0, return_counts=True)
    steps = [
        (price, n_rows, take) for (price, n_rows), count in zip(kinds, groups, strict=True) for take in _takes(count)
    ]
    if n_counts * len(steps) > _EXACT_MOVES_WORK:
        return None
    bits = np.frombuffer(reachable.to_bytes(n_counts // 8 + 1, "little"), dtype=np.uint8)
    least = np.where(np.unpackbits(bits, bitorder="little")[:n_counts] == 1, 0.0, np.inf)
    for price, n_rows, take in steps:
        shift = int(n_rows) * take
        if price > 0:
            least[shift:] = np.minimum(least[shift:], least[:-shift] + price * take)
        else:
            least[:-shift] = np.minimum(least[:-shift], least[shift:] - price * take)
    return float((least + C * np.abs(np.arange(n_counts) - wanted)).min())


def contradiction_bound(problem: Problem) -> float:
    """What labeled rows with equal features and different classes must cost.

    Leaves of different classes part at some node, where the two branch errors of one x add up to at least 2.
    So either one class at x costs nothing and each row of the others 2, or every row costs 1.
    """
    if not problem.n_labeled:
        return 0.0
    _, group = np.unique(problem.X_labeled + 0.0, axis=0, return_inverse=True)
    cell = group.ravel() * problem.n_classes + problem.labels
    counts = np.bincount(
        cell, weights=problem.labeled_weights, minlength=(int(group.max()) + 1) * problem.n_classes
    ).reshape(-1, problem.n_classes)
    rows = counts.sum(axis=1)
    return float(np.minimum(rows, 2 * (rows - counts.max(axis=1))).sum())


def total_bound(problem: Problem) -> float:
    """How far the totals must be missed because equal unlabeled rows change class together."""
    if problem.n_classes != 2 or not problem.n_unlabeled:
        return 0.0
    sizes, groups = np.unique(problem.merged().unlabeled_weights.astype(int), return_counts=True)
    singles = int(groups[0]) if sizes[0] == 1 else 0
    if singles >= sizes[-1] - 1:
        return 0.0
    reachable = _subset_sums(sizes, groups)
    wanted, off = int(problem.totals[0]), 0
    while not ((reachable >> (wanted + off)) & 1 or (off <= wanted and (reachable >> (wanted - off)) & 1)):
        off += 1
    return float(off)


def _subset_sums(sizes: IntArray, groups: IntArray) -> int:
    """An integer whose bit k says that some of the groups add up to k."""
    reachable = 1
    for size, count in zip(sizes.tolist(), groups.tolist(), strict=True):
        for take in _takes(count):
            reachable |= reachable << (take * size)
    return reachable


def _takes(count: int) -> Iterator[int]:
    """1, 2, 4, ... and a rest: some of these add up to every number up to ``count``, and none to more."""
    take = 1
    while count > 0:
        yield min(take, count)
        count, take = count - take, 2 * take
