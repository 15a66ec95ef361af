"""Proofs: lower bounds that need no solver, and the record of a fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.problem.problem import Problem, equal_rows
from s2oct.problem.totals import rows_beyond_bounds
from s2oct.stopping import NO_DEADLINE, Deadline

DECIDED_TOLERANCE = 1e-6
"""A tree counts as proved optimal if its cost exceeds the lower bound by at most this."""


@dataclass(frozen=True)
class Bound:
    """A lower bound on the cost of every tree, and its source."""

    value: float
    source: str


NOT_NEGATIVE = Bound(0.0, "costs are not negative")


@dataclass(frozen=True)
class Moment:
    """The state of a fit at one moment."""

    seconds: float
    objective: float
    lower_bound: float

    def times(self, unit: float) -> Moment:
        """The same state in another unit of cost."""
        return Moment(self.seconds, unit * self.objective, unit * self.lower_bound)


PAPER, EVIDENCE = MODELS = ("paper", "evidence")
"""The models: the paper's P2, and the evidence of labels, guide and totals against a tree, in rows."""


@dataclass(frozen=True)
class FitRecord:
    """The course of a fit, without its tree.

    Attributes
    ----------
    bound : Bound
        The lower bound on the cost, in P2 or OCT-H.
    seconds : float
        Wall-clock seconds until the tree was final.
    ended : str
        Why the fit ended, one of `ENDINGS`.
    history : tuple of Moment
        Best cost and lower bound over time.
    """

    bound: Bound
    seconds: float
    ended: str
    history: tuple[Moment, ...] = ()


PROVED, CONVERGED, TIME_LIMIT, INTERRUPTED = ENDINGS = ("proved", "converged", "time limit", "interrupted")
"""Why a fit ends.

"proved": its tree is proved optimal. "converged": the search ended by itself, and a longer time limit gives the same
tree. "time limit": the limit cut short the guide, the search or the choice among equally good trees; what is proved
about the tree is recorded separately. "interrupted": the fit was asked to stop.
"""


_EXACT_MOVES_WORK = 2e8
"""Limit on counts times steps up to which the trade-off between contradictions and totals is exact: well under a
second."""


def lower_bound(problem: Problem, C: float) -> float:
    """A lower bound on the cost of trees of any depth, for contradictions and totals together.

    Unlabeled rows keep distance 1 from every hyperplane. So a labeled row pays at least 2 if an unlabeled row with the
    same features ends in another class: it pays at the node where the two paths part. A tree puts identical unlabeled
    rows into one class. The bound is the minimum, over all assignments of the distinct rows to classes, of these errors
    plus C times the rows off the totals. Labeled rows without an identical unlabeled row add their
    `contradiction_bound`.
    """
    if not counts_one_number(problem) or not problem.n_labeled or not problem.n_unlabeled:
        return contradiction_bound(problem) + C * total_bound(problem)
    _, place = equal_rows(problem.X)
    n, n_places = problem.n_labeled, int(place.max()) + 1
    counts = np.bincount(2 * place[:n] + problem.labels, problem.labeled_multiplicity, 2 * n_places).astype(float)
    # Minimum errors of the labeled rows of a place if its unlabeled rows end in A, and in B.
    as_a, as_b = 2 * counts[1::2], 2 * counts[::2]
    size = np.bincount(place[n:], problem.unlabeled_multiplicity, n_places).astype(int)
    moved = least_moves(as_a - as_b, size, C * misses_of_counts(problem))
    if moved is None:
        return contradiction_bound(problem) + C * total_bound(problem)
    return float(np.minimum(as_a, as_b).sum()) + moved


def counts_one_number(problem: Problem) -> bool:
    """Whether one whole number, the unlabeled rows in class A, determines the rows off the totals."""
    return problem.n_classes == 2 and problem.targets.has_one_domain and not problem.is_weighted


def misses_of_counts(problem: Problem) -> FloatArray:
    """Rows off the totals if 0, 1, 2, ... of all unlabeled rows are in class A, see `counts_one_number`."""
    margin = problem.targets.margins[0]
    return _misses(int(problem.unlabeled_multiplicity.sum()), margin.low[0], margin.high[0])


def _misses(n_rows: int, low: FloatArray, high: FloatArray) -> FloatArray:
    in_a = np.arange(n_rows + 1, dtype=float)
    return rows_beyond_bounds(np.column_stack([in_a, n_rows - in_a]), low, high)


def least_moves(extra: FloatArray, size: IntArray, price: FloatArray) -> float | None:
    """The minimum of the extra payments of places plus the price of the count of A; None if that takes too long.

    A place is a group of ``size`` identical unlabeled rows. It pays ``extra`` more in A than in B; if that is 0, it may
    go into either class. ``price`` is the price of 0, 1, 2, ... unlabeled rows in A.
    """
    free, bound = (size > 0) & (extra == 0), (size > 0) & (extra != 0)
    in_a = int(size[extra < 0].sum())
    reachable = _subset_sums(*np.unique(size[free], return_counts=True)) << in_a
    n_counts = len(price)
    can_be = _bits(reachable, n_counts)
    if (price[can_be] == 0).any():
        return 0.0
    kinds, groups = np.unique(np.column_stack([extra[bound], size[bound]]), axis=0, return_counts=True)
    steps = [
        (more, n_rows, take) for (more, n_rows), count in zip(kinds, groups, strict=True) for take in _takes(count)
    ]
    if n_counts * len(steps) > _EXACT_MOVES_WORK:
        return None
    least = np.where(can_be, 0.0, np.inf)
    for more, n_rows, take in steps:
        shift = int(n_rows) * take
        if more > 0:
            least[shift:] = np.minimum(least[shift:], least[:-shift] + more * take)
        else:
            least[:-shift] = np.minimum(least[:-shift], least[shift:] - more * take)
    return float((least + price).min())


def contradiction_bound(problem: Problem) -> float:
    """The minimum cost of labeled rows with identical features and different classes.

    The paths to leaves of different classes part at some node. There the two branch errors of one x add up to at least
    2. So either one class at x costs nothing and each row of the others costs 2, or every row costs 1.
    """
    if not problem.n_labeled:
        return 0.0
    _, group = np.unique(problem.X_labeled + 0.0, axis=0, return_inverse=True)
    cell = group.ravel() * problem.n_classes + problem.labels
    counts = np.bincount(
        cell, weights=problem.labeled_size, minlength=(int(group.max()) + 1) * problem.n_classes
    ).reshape(-1, problem.n_classes)
    rows = counts.sum(axis=1)
    return float(np.minimum(rows, 2 * (rows - counts.max(axis=1))).sum())


def total_bound(problem: Problem) -> float:
    """Minimum number of rows off the totals, because identical unlabeled rows share a class."""
    if problem.n_classes != 2 or problem.is_weighted:
        return 0.0
    _, place = equal_rows(problem.X_unlabeled)
    return float(
        sum(
            _least_miss(place[here], problem.unlabeled_multiplicity[here], margin.low[domain], margin.high[domain])
            for margin in problem.targets.margins
            for domain in range(margin.n_domains)
            for here in (margin.codes == domain,)
        )
    )


def _least_miss(place: IntArray, multiplicity: FloatArray, low: FloatArray, high: FloatArray) -> float:
    """Minimum number of rows off the totals of two classes in one domain, because rows of one place share a class."""
    if not len(place):
        return 0.0
    sizes, groups = np.unique(np.bincount(place, multiplicity).astype(int), return_counts=True)
    sizes, groups = sizes[sizes > 0], groups[sizes > 0]
    singles = int(groups[0]) if sizes[0] == 1 else 0
    misses = _misses(int(sizes @ groups), low, high)
    if singles >= sizes[-1] - 1:
        return float(misses.min())  # Single rows fill every gap between sums of the others.
    return float(misses[_bits(_subset_sums(sizes, groups), len(misses))].min())


def _bits(number: int, n_bits: int) -> BoolArray:
    """The lowest bits of a number, as booleans."""
    found = np.frombuffer(number.to_bytes(n_bits // 8 + 1, "little"), dtype=np.uint8)
    return np.asarray(np.unpackbits(found, bitorder="little")[:n_bits] == 1)


def _subset_sums(sizes: IntArray, groups: IntArray) -> int:
    """An integer whose bit k is 1 if some of the groups add up to k."""
    reachable = 1
    for size, count in zip(sizes.tolist(), groups.tolist(), strict=True):
        for take in _takes(count):
            reachable |= reachable << (take * size)
    return reachable


def _takes(count: int) -> Iterator[int]:
    """1, 2, 4, ... and a remainder, whose subset sums are all numbers up to ``count``."""
    take = 1
    while count > 0:
        yield min(take, count)
        count, take = count - take, 2 * take


WORK = 1e8
"""Limit on pairs times features in the search for near rows: some tenths of a second."""

SAFE = 1e-3
"""Rows must be nearer by this than the distance at which a tree can separate them, because margins are rounded."""

Pairs = tuple[IntArray, IntArray, FloatArray]
"""First rows, second rows, and s times the distances of the pairs."""


def bound_without_solver(problem: Problem, C: float, s: float, deadline: Deadline = NO_DEADLINE) -> float:
    """The best lower bound on the cost of a tree with coefficients within s that needs no solver."""
    return max(lower_bound(problem, C), near_row_bound(problem, C, s, deadline))


def near_row_bound(problem: Problem, C: float, s: float, deadline: Deadline = NO_DEADLINE) -> float:
    """A lower bound on the cost of trees with coefficients within s; 0 if it takes too long.

    Unlabeled rows that no tree can separate share a class. The bound is the minimum, over the classes of such groups,
    of the errors of the labeled rows near them plus C times the rows off the total. Labeled rows that are near no
    unlabeled row are paired with labeled rows of other classes.
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
    # Errors of the labeled rows near a group if it ends in each class.
    as_class = paid.sum(axis=1, keepdims=True) - paid
    alone = np.setdiff1d(np.arange(n), row)
    both = np.isin(first, alone) & np.isin(second, alone)
    first, second, near = first[both], second[both], near[both]
    differ = problem.labels[first] != problem.labels[second]
    apart = _paired(first[differ], second[differ], 2 - near[differ], problem.labeled_size)
    return apart + _cheapest_classes(problem, as_class, group, C)


def near_pairs(X: FloatArray, s: float, deadline: Deadline = NO_DEADLINE) -> Pairs | None:
    """All pairs of rows that coefficients within s cannot separate, lower row first; None if it takes too long."""
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
    """A direction of signs: distances along it are at most those in the 1-norm, and mostly large."""
    centred = X - X.mean(axis=0)
    widest = centred[:, int(np.argmax((centred**2).sum(axis=0)))]
    return np.where(widest @ centred >= 0, 1.0, -1.0)


def _groups(m: int, one: IntArray, other: IntArray) -> IntArray:
    """Group number of each unlabeled row: near pairs link the rows of a group."""
    links = coo_matrix((np.ones(len(one)), (one, other)), shape=(m, m))
    return np.asarray(connected_components(links, directed=False)[1]) if m else np.empty(0, dtype=np.int64)


def _nearest(row: IntArray, place: IntArray, price: FloatArray) -> tuple[IntArray, FloatArray, IntArray]:
    """For each row that has pairs, its highest price and the unlabeled row of that pair."""
    order = np.lexsort((place, -price, row))
    chosen = order[np.flatnonzero(np.append(True, np.diff(row[order]) > 0))] if len(row) else order
    return row[chosen], price[chosen], place[chosen]


def _paired(one: IntArray, other: IntArray, price: FloatArray, sizes: FloatArray) -> float:
    """Total price of pairs, the most expensive first; the size of a row is the maximum number of its pairs."""
    left, total = sizes.copy(), 0.0
    for k in np.argsort(-price, kind="stable"):
        taken = min(left[one[k]], left[other[k]])
        left[one[k]] -= taken
        left[other[k]] -= taken
        total += taken * float(price[k])
    return total


def _cheapest_classes(problem: Problem, as_class: FloatArray, group: IntArray, C: float) -> float:
    """The minimum price of classes for the groups, with the rows off the total if these are one number."""
    least = float(as_class.min(axis=1).sum())
    if not counts_one_number(problem) or not len(group):
        return least
    size = np.bincount(group, problem.unlabeled_multiplicity).astype(int)
    moved = least_moves(as_class[:, 0] - as_class[:, 1], size, C * misses_of_counts(problem))
    return least + (moved or 0.0)
