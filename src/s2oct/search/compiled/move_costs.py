"""What a tree costs after a move of one hyperplane, exactly, in one pass over the rows.

A move replaces h by scale * h + step * x_j - shift: a new coefficient, a new offset, both, or a longer normal.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from s2oct.caching import kept
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


@kept(fastmath=True, _nrt=False, error_model="numpy")
def evaluate(h, move, counts, view, prices, stop_above, tally):
    """Cost of the tree after a move at the node in view, from all rows; stops early once it exceeds ``stop_above``."""
    x, scale, step, shift = move
    sizes, n_classes = counts.sizes, counts.n_classes
    ways, gain, ends, charge, base = view
    rho, cap = prices.margin, prices.cap
    parts, moved = tally.parts, tally.moved
    n, n_rows = ways.left.size, h.size
    one_domain = moved.size == n_classes
    labeled = 0.0
    for i in range(n):
        v = scale * h[i] + step * x[i] - shift
        labeled += sizes[i] * labeled_cost(v, ways, i, cap)
    violation = 0.0
    guide = base[moved.size]
    for k in range(moved.size):
        moved[k] = 0.0
    for start in range(n, n_rows, _BLOCK):
        if labeled + rho * violation > stop_above:
            return labeled + rho * violation
        stop = min(start + _BLOCK, n_rows)
        for i in range(start, stop):
            v = scale * h[i] + step * x[i] - shift
            violation += max(1.0 - abs(v), 0.0)
            guide += charge[i - n] if v > 0.0 else 0.0
        if one_domain:
            for k in range(n_classes - 1):
                g = gain[k]
                gained = 0.0
                for i in range(start, stop):
                    v = scale * h[i] + step * x[i] - shift
                    gained += g[i - n] if v > 0.0 else 0.0
                moved[k] += gained
        else:
            for i in range(start, stop):
                if scale * h[i] + step * x[i] - shift > 0.0:
                    cross(counts, ends, i, 1.0, moved)
    parts[0], parts[1], parts[2], parts[3] = labeled, off_after(counts, base, tally), violation, guide
    return priced(parts, prices)


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
