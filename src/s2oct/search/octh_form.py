"""Trees in the form that OCT-H needs: gaps of width mu, enough rows in every leaf, no split below a missing one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.linear.program import LinearProgram
from s2oct.milp.octh import OcthSpec, with_majority_classes
from s2oct.model.problem import Problem
from s2oct.model.topology import Topology
from s2oct.model.tree import ObliqueTree
from s2oct.stopping import NO_DEADLINE, Deadline

ROOM = 1 + 1e-7
"""Gaps are slightly wider than mu, so that rounding does not undo them."""

ROWS_AT_ONCE = 60
"""Rows that the linear program of a widest gap begins with, for each side, and takes in at a time."""

CLEARING_WORK = 1200
"""Linear programs times features that are solved at most to make the gap of one split wide enough."""

_BESIDE = 1e-7

_WORTH = 1e-9


@dataclass(frozen=True, eq=False)
class GapSplit:
    """A hyperplane with |a|_1 = 1 in the middle of a gap, and the width of the gap."""

    direction: FloatArray
    offset: float
    width: float


def standard_form(
    problem: Problem,
    topology: Topology,
    spec: OcthSpec,
    omega: FloatArray,
    gamma: FloatArray,
    deadline: Deadline = NO_DEADLINE,
) -> ObliqueTree:
    """A tree of OCT-H near given hyperplanes, built from the top down.

    A split stays as it is if its gap is wide enough and both sides have enough rows. If only the gap is too narrow, the
    same rows are kept apart by the direction with the widest gap. If that is too narrow, rows beside it change sides,
    or the offset moves to the nearest gap that will do. A node at which all rows go one way, or for which there is no
    such gap, is removed. Its child on the side of most rows takes its place and gets all its rows.
    """
    new_omega = np.zeros_like(omega)
    new_gamma = np.full_like(gamma, -spec.mu / 2)

    def place(source: int, target: int, rows: IntArray) -> None:
        if source >= topology.n_leaves or target >= topology.n_leaves:
            return
        X, sizes = problem.X_labeled[rows], problem.labeled_multiplicity[rows]
        right = X @ omega[source - 1] > gamma[source - 1]
        split = split_near(X, sizes, omega[source - 1], float(gamma[source - 1]), spec, deadline)
        if split is None:
            to_the_right = float(sizes[right].sum()) > 0.5 * float(sizes.sum())
            place(2 * source + int(to_the_right), target, rows)
            return
        new_omega[target - 1], new_gamma[target - 1] = split.direction, split.offset
        right = X @ split.direction > split.offset
        place(2 * source, 2 * target, rows[~right])
        place(2 * source + 1, 2 * target + 1, rows[right])

    place(1, 1, np.arange(problem.n_labeled))
    return with_majority_classes(problem, ObliqueTree(topology, new_omega, new_gamma, topology.leaf_classes))


def split_near(
    X: FloatArray, sizes: FloatArray, direction: FloatArray, offset: float, spec: OcthSpec, deadline: Deadline
) -> GapSplit | None:
    """The nearest split of OCT-H to a hyperplane; None if all rows are on one side of it, or if there is none."""
    size = float(np.abs(direction).sum())
    right = X @ direction > offset
    if size == 0 or right.all() or not right.any():
        return None
    direction, offset = direction / size, offset / size
    values = X @ direction

    def enough(right: BoolArray) -> bool:
        rows_right = float(sizes[right].sum())
        return min(rows_right, float(sizes.sum()) - rows_right) >= max(spec.min_leaf, 1)

    if enough(right):
        low, high = float(values[~right].max()), float(values[right].min())
        if high - low >= spec.mu * ROOM:
            # Within the gap the offset stays where it is, as far as the rows beside it allow.
            return GapSplit(direction, float(np.clip(offset, low + spec.mu / 2, high - spec.mu / 2)), high - low)
        wide = widest_gap(X, right, values - offset, deadline)
        cleared = None if wide is None else cleared_gap(X, right, wide, enough, spec.mu * ROOM, deadline)
        if cleared is not None:
            return cleared
    return _nearest_gap(values, sizes, direction, offset, spec)


def _nearest_gap(
    values: FloatArray, sizes: FloatArray, direction: FloatArray, offset: float, spec: OcthSpec
) -> GapSplit | None:
    """The nearest offset in a gap that is mu wide and has enough rows on both sides; None without such a gap."""
    order = np.argsort(values, kind="stable")
    ordered, below = values[order], np.cumsum(sizes[order])[:-1]
    enough = max(spec.min_leaf, 1)
    wide = np.diff(ordered) >= spec.mu * ROOM
    usable = np.flatnonzero(wide & (below >= enough) & (float(sizes.sum()) - below >= enough))
    if not len(usable):
        return None
    low, high = ordered[usable], ordered[usable + 1]
    nearest = np.clip(offset, low + spec.mu / 2, high - spec.mu / 2)
    chosen = int(np.abs(nearest - offset).argmin())
    return GapSplit(direction, float(nearest[chosen]), float(high[chosen] - low[chosen]))


def widest_gap(X: FloatArray, right: BoolArray, distance: FloatArray, deadline: Deadline) -> GapSplit | None:
    """The split with the widest gap between given rows on the right and all others on the left; None if there is none.

    A linear program over |a|_1 <= 1 that begins with the rows nearest to a hyperplane, at a given ``distance``, and
    takes in others while they are nearer to the new one.
    """
    n, p = X.shape
    side = np.where(right, 1.0, -1.0)
    # a = a+ - a-, gamma and half the width.
    program = LinearProgram(
        cost=np.append(np.zeros(2 * p + 1), -1.0),
        lower=np.concatenate([np.zeros(2 * p), [-1.0, 0.0]]),
        upper=np.ones(2 * p + 2),
    )
    program.add_rows(np.concatenate([-np.ones(2 * p), [0.0, 0.0]])[None, :], np.array([-1.0]))
    by_distance = np.argsort(np.abs(distance), kind="stable")
    added = np.zeros(n, dtype=bool)
    new = np.concatenate([by_distance[side[by_distance] == s][:ROWS_AT_ONCE] for s in (-1.0, 1.0)])
    while len(new):
        S = side[new, None] * X[new]
        program.add_rows(np.column_stack([S, -S, -side[new], -np.ones(len(new))]), np.zeros(len(new)))
        added[new] = True
        solution = program.solve(deadline)
        if solution is None or solution[-1] <= _WORTH:
            return None
        direction, offset = solution[:p] - solution[p : 2 * p], float(solution[2 * p])
        room = side * (X @ direction - offset) - solution[-1]
        nearest = np.argsort(np.where(added, np.inf, room), kind="stable")[: 2 * ROWS_AT_ONCE]
        new = nearest[~added[nearest] & (room[nearest] < -_WORTH)]
    return _in_the_middle(X, right, direction)


def cleared_gap(
    X: FloatArray,
    right: BoolArray,
    split: GapSplit,
    enough: Callable[[BoolArray], bool],
    width: float,
    deadline: Deadline,
) -> GapSplit | None:
    """A split whose gap has a given width, with a few rows on other sides than in the widest split of given rows.

    The rows beside a widest gap keep it narrow. The one whose change of side widens it most changes its side, and so on
    until the gap is wide enough. None if this takes too long.
    """
    programs = CLEARING_WORK // X.shape[1]
    while split.width < width:
        distance = X @ split.direction - split.offset
        beside = np.flatnonzero(np.abs(distance) <= 0.5 * split.width + _BESIDE)
        programs -= len(beside)
        if programs < 0 or deadline.passed:
            return None
        best, turned_row = split, -1
        for row in beside:
            right[row] ^= True
            other = widest_gap(X, right, distance, deadline) if enough(right) else None
            right[row] ^= True
            if other is not None and other.width > best.width:
                best, turned_row = other, int(row)
        if turned_row < 0:
            return None
        right[turned_row] ^= True
        split = best
    return split


def _in_the_middle(X: FloatArray, right: BoolArray, direction: FloatArray) -> GapSplit | None:
    """A direction as a split, measured on the rows."""
    size = float(np.abs(direction).sum())
    if size == 0:
        return None
    values = X @ (direction / size)
    low, high = float(values[~right].max()), float(values[right].min())
    return GapSplit(direction / size, 0.5 * (low + high), high - low) if high > low else None
