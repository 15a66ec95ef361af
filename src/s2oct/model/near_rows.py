"""A lower bound from rows that are too near each other for coefficients within s to tell them apart.

At every node the values of two rows differ by at most s times their distance in the 1-norm. Two unlabeled rows keep
distance 1 from the hyperplane. So if s times their distance is below 2 they are on one side of it, at every node, and
end in one leaf. A labeled row that near to an unlabeled one of another class pays at the node where their paths part:
at least 2 minus s times the distance. Two labeled rows of different classes pay that together.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from s2oct.arrays import FloatArray, IntArray
from s2oct.model.lower_bound import counts_one_number, least_moves, lower_bound, misses_of_counts
from s2oct.model.problem import Problem
from s2oct.stopping import NO_DEADLINE, Deadline

WORK = 1e8
"""Pairs times features up to which near rows are looked for: some tenths of a second."""

SAFE = 1e-3
"""How much nearer rows must be than at which they could be told apart: trees keep margins up to rounding."""

Pairs = tuple[IntArray, IntArray, FloatArray]
"""Two rows each, and s times their distance."""


def bound_without_solver(problem: Problem, C: float, s: float, deadline: Deadline = NO_DEADLINE) -> float:
    """The best lower bound on the cost of a tree with coefficients within s that needs no solver."""
    return max(lower_bound(problem, C), near_row_bound(problem, C, s, deadline))


def near_row_bound(problem: Problem, C: float, s: float, deadline: Deadline = NO_DEADLINE) -> float:
    """The least that any tree with coefficients within s must cost, for labels and totals together; 0 if it takes long.

    Unlabeled rows that cannot be told apart have one class. The bound is the minimum over all classes of such groups
    of what the labeled rows near them pay, plus C times the miss of the total. Labeled rows near no unlabeled row are
    paired with others of other classes.
    """
    pairs = near_pairs(problem.X, s, deadline)
    if pairs is None:
        return 0.0
    n = problem.n_labeled
    first, second, near = pairs
    group = _groups(problem.n_unlabeled, first[first >= n] - n, second[first >= n] - n)
    # The lower row comes first, so a mixed pair has its labeled row first.
    mixed = (first < n) & (second >= n)
    row, price, place = _nearest(first[mixed], second[mixed] - n, 2 - near[mixed])
    n_groups = int(group.max(initial=-1)) + 1
    paid = np.zeros((n_groups, problem.n_classes))
    np.add.at(paid, (group[place], problem.labels[row]), price * problem.labeled_size[row])
    # What the labeled rows near a group pay if it ends in each class.
    as_class = paid.sum(axis=1, keepdims=True) - paid
    alone = np.setdiff1d(np.arange(n), row)
    both = np.isin(first, alone) & np.isin(second, alone)
    first, second, near = first[both], second[both], near[both]
    differ = problem.labels[first] != problem.labels[second]
    apart = _paired(first[differ], second[differ], 2 - near[differ], problem.labeled_size)
    return apart + _cheapest_classes(problem, as_class, group, C)


def near_pairs(X: FloatArray, s: float, deadline: Deadline = NO_DEADLINE) -> Pairs | None:
    """All pairs of rows that coefficients within s cannot tell apart, the lower row first; None if it takes long."""
    if deadline.passed:
        return None
    radius = (2 - SAFE) / s
    line = X @ _direction(X)
    order = np.argsort(line, kind="stable")
    line = line[order]
    after = np.searchsorted(line, line + radius, side="right") - np.arange(len(line)) - 1
    if float(after.sum()) * X.shape[1] > WORK:
        return None
    found: list[tuple[IntArray, IntArray, FloatArray]] = []
    for step in range(1, int(after.max(initial=0)) + 1):
        if deadline.passed:
            return None
        at = np.flatnonzero(after >= step)
        one, other = order[at], order[at + step]
        distance = np.abs(X[one] - X[other]).sum(axis=1)
        close = distance < radius
        found.append((np.minimum(one, other)[close], np.maximum(one, other)[close], s * distance[close]))
    if not found:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0)
    first, second, near = (np.concatenate(part) for part in zip(*found, strict=True))
    return first, second, near


def _direction(X: FloatArray) -> FloatArray:
    """Signs of the features. Rows along it are no farther apart than in the 1-norm, and mostly far apart."""
    centred = X - X.mean(axis=0)
    widest = centred[:, int(np.argmax((centred**2).sum(axis=0)))]
    return np.where(widest @ centred >= 0, 1.0, -1.0)


def _groups(m: int, one: IntArray, other: IntArray) -> IntArray:
    """The number of the group of each unlabeled row: rows linked by near pairs."""
    links = coo_matrix((np.ones(len(one)), (one, other)), shape=(m, m))
    return np.asarray(connected_components(links, directed=False)[1]) if m else np.empty(0, dtype=np.int64)


def _nearest(row: IntArray, place: IntArray, price: FloatArray) -> tuple[IntArray, FloatArray, IntArray]:
    """For each row that has pairs, its highest price and the place where it would pay that."""
    order = np.lexsort((place, -price, row))
    chosen = order[np.flatnonzero(np.append(True, np.diff(row[order]) > 0))] if len(row) else order
    return row[chosen], price[chosen], place[chosen]


def _paired(one: IntArray, other: IntArray, price: FloatArray, sizes: FloatArray) -> float:
    """What pairs pay if every row is in pairs as often as it counts, pairs of the highest price first."""
    left, total = sizes.copy(), 0.0
    for k in np.argsort(-price, kind="stable"):
        taken = min(left[one[k]], left[other[k]])
        left[one[k]] -= taken
        left[other[k]] -= taken
        total += taken * float(price[k])
    return total


def _cheapest_classes(problem: Problem, as_class: FloatArray, group: IntArray, C: float) -> float:
    """The least that groups pay for their classes, together with the miss of the total where that is one number."""
    least = float(as_class.min(axis=1).sum())
    if not counts_one_number(problem) or not len(group):
        return least
    size = np.bincount(group, problem.unlabeled_multiplicity).astype(int)
    moved = least_moves(as_class[:, 0] - as_class[:, 1], size, C * misses_of_counts(problem))
    return least + (moved or 0.0)
