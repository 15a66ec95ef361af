"""What a tree costs after a move of one hyperplane, exactly, in one pass over the rows.

A move replaces h by scale * h + step * x_j - shift: a new coefficient, a new offset, both, or a longer normal.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from s2oct.search.compiled.cells import off_totals, shift_row
from s2oct.search.compiled.options import plain

_BLOCK = 256


class Prices(NamedTuple):
    """The prices by which a move is judged."""

    row_off: float  # a row by which the totals are missed
    margin: float  # a unit of margin violation
    cap: float  # most that one labeled row can cost


class Move(NamedTuple):
    """Replaces h by scale * h + step * x - shift."""

    x: Any  # (n + m,) values of a feature, or of a direction
    scale: float
    step: float
    shift: float


class Tally(NamedTuple):
    """The cost of a tree in parts: labeled cost, rows off, margin violation at the node in view, guide's charge."""

    parts: Any  # (4,)
    moved: Any  # (n_cells,) by how much the rows on the right make each cell grow
    rows: Any  # (n_cells,) rows of each cell


class Near(NamedTuple):
    """The rows that a small move can affect: the first so many of each kind."""

    labeled: Any  # (n,) rows
    n_labeled: int
    unlabeled: Any  # (m,)
    n_unlabeled: int


def new_tally(n_cells: int) -> Tally:
    """An empty tally."""
    return Tally(np.zeros(4), np.zeros(n_cells), np.zeros(n_cells))


@plain
def evaluate(h, move, counts, view, prices, stop_above, tally):
    """Cost of the tree after a move at the node in view, from all rows; stops early once it exceeds ``stop_above``."""
    x, scale, step, shift = move
    n_classes = counts.n_classes
    ways, gain, ends, charge, base = view
    rho = prices.margin
    parts, moved = tally.parts, tally.moved
    n, n_rows = ways.left.size, h.size
    one_domain = moved.size == n_classes
    labeled = in_lanes(
        labeled_lane(0, h, move, counts, ways, prices.cap),
        labeled_lane(1, h, move, counts, ways, prices.cap),
        labeled_lane(2, h, move, counts, ways, prices.cap),
        labeled_lane(3, h, move, counts, ways, prices.cap),
    )
    violation = 0.0
    guide = base[moved.size]
    for k in range(moved.size):
        moved[k] = 0.0
    for start in range(n, n_rows, _BLOCK):
        if labeled + rho * violation > stop_above:
            return labeled + rho * violation
        stop = min(start + _BLOCK, n_rows)
        v0, g0 = unlabeled_lane(0, h, move, n, charge, start, stop)
        v1, g1 = unlabeled_lane(1, h, move, n, charge, start, stop)
        v2, g2 = unlabeled_lane(2, h, move, n, charge, start, stop)
        v3, g3 = unlabeled_lane(3, h, move, n, charge, start, stop)
        violation += in_lanes(v0, v1, v2, v3)
        guide += in_lanes(g0, g1, g2, g3)
        if one_domain:
            for k in range(n_classes - 1):
                _, g0 = unlabeled_lane(0, h, move, n, gain[k], start, stop)
                _, g1 = unlabeled_lane(1, h, move, n, gain[k], start, stop)
                _, g2 = unlabeled_lane(2, h, move, n, gain[k], start, stop)
                _, g3 = unlabeled_lane(3, h, move, n, gain[k], start, stop)
                moved[k] += in_lanes(g0, g1, g2, g3)
        else:
            for i in range(start, stop):
                if scale * h[i] + step * x[i] - shift > 0.0:
                    cross(counts, ends, i, 1.0, moved)
    parts[0], parts[1], parts[2], parts[3] = labeled, off_after(counts, base, tally), violation, guide
    return priced(parts, prices)


@plain
def in_lanes(a, b, c, d):
    """A sum in a fixed order that four adders can share, so that it does not depend on the machine."""
    return (a + b) + (c + d)


@plain
def labeled_lane(lane, h, move, counts, ways, cap):
    """What every fourth labeled row costs, from a first one on."""
    total = 0.0
    for i in range(lane, ways.left.size, 4):
        v = move.scale * h[i] + move.step * move.x[i] - move.shift
        total += counts.sizes[i] * labeled_cost(v, ways, i, cap)
    return total


@plain
def unlabeled_lane(lane, h, move, n, gained, start, stop):
    """Margin violation of every fourth unlabeled row of a block, and what is gained by those on the right."""
    violation, total = 0.0, 0.0
    for i in range(start + lane, stop, 4):
        v = move.scale * h[i] + move.step * move.x[i] - move.shift
        violation += max(1.0 - abs(v), 0.0)
        total += gained[i - n] if v > 0.0 else 0.0
    return violation, total


@plain
def evaluate_near(h, move, counts, view, prices, near, tally, new):
    """The same from the rows near the hyperplane alone; a small move does not change the others.

    ``tally`` has the parts before the move, ``new`` receives those after it.
    """
    x, step, shift = move.x, move.step, move.shift
    ways, gain, ends, charge, base = view
    sizes, n_classes = counts.sizes, counts.n_classes
    n, one_domain = ways.left.size, new.moved.size == n_classes
    labeled, violation, guide = tally.parts[0], tally.parts[2], tally.parts[3]
    for k in range(near.n_labeled):
        i = near.labeled[k]
        v = h[i] + step * x[i] - shift
        after = labeled_cost(v, ways, i, prices.cap)
        labeled += sizes[i] * (after - labeled_cost(h[i], ways, i, prices.cap))
    for k in range(new.moved.size):
        new.moved[k] = tally.moved[k]
    for row in range(near.n_unlabeled):
        i = near.unlabeled[row]
        before = h[i]
        v = before + step * x[i] - shift
        violation += max(1.0 - abs(v), 0.0) - max(1.0 - abs(before), 0.0)
        if (v > 0.0) != (before > 0.0):
            sign = 1.0 if v > 0.0 else -1.0
            guide += sign * charge[i - n]
            if one_domain:
                for k in range(n_classes - 1):
                    new.moved[k] += sign * gain[k, i - n]
            else:
                cross(counts, ends, i, sign, new.moved)
    xi = off_after(counts, base, new)
    new.parts[0], new.parts[1], new.parts[2], new.parts[3] = labeled, xi, max(violation, 0.0), guide
    return priced(new.parts, prices)


@plain
def labeled_cost(v, ways, i, cap):
    """Cost of labeled row i with value v at the node in view."""
    cost = min(ways.left[i] + max(1.0 + v, 0.0), ways.right[i] + max(1.0 - v, 0.0))
    return min(min(cost, ways.other[i]), cap)


@plain
def cross(counts, ends, i, sign, moved):
    """Move unlabeled row i from its class on the left to that on the right, or back."""
    u = i - (counts.sizes.size - ends.shape[1])
    if ends[0, u] != ends[1, u]:
        shift_row(counts, moved, i, ends[0, u], ends[1, u], sign)


@plain
def off_after(counts, base, tally):
    """Rows off the totals when the cells have grown by what a tally has moved; fills in the rest of the tally."""
    moved, rows, n_classes = tally.moved, tally.rows, counts.n_classes
    if moved.size == n_classes:
        # What the last class of the only domain gains is what the others lose.
        last = 0.0
        for k in range(n_classes - 1):
            last -= moved[k]
        moved[n_classes - 1] = last
    for c in range(moved.size):
        rows[c] = base[c] + moved[c]
    return off_totals(counts, rows)


@plain
def priced(parts, prices):
    """What a tree costs: its parts times their prices."""
    return parts[0] + prices.row_off * parts[1] + prices.margin * parts[2] + parts[3]
