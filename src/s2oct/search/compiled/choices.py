"""What one node of a tree decides about, and the best offset along a direction.

While one node changes and the others stay, a row that reaches the node has one class on the left and one on the right.
`decided` tabulates what going left instead of right costs each such row. A hyperplane for the node is then a weighted
two-class problem. Its offset is the best of all gaps between the rows, found in one pass over the sorted values
(`best_cut`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from s2oct.search.compiled.cells import cells_of, count_row, off_totals, shift_off, shift_row
from s2oct.search.compiled.evidence_trees import added_price, end_class
from s2oct.search.compiled.options import inlined, plain
from s2oct.search.compiled.vectors import copy, total
from s2oct.search.compiled.walks import walk_to

GAP = 1e-9
"""Values closer than this count as equal: no hyperplane passes between them."""

WORTHWHILE = 1e-9
"""What costs less by no more than this is no better."""

HUGE = 1e300
"""More than anything costs."""


class Choice(NamedTuple):
    """The rows that one node decides about."""

    rows: Any  # (n,)
    extra: Any  # (n,) by how much going left costs more than going right
    left: Any  # (n,) class on the left
    right: Any  # (n,) class on the right
    cells: Any  # (n_cells,) rows of each cell if all these rows go right
    room: Any  # (2, n_cells) room for rows of each cell with other sides


@inlined
def decided(table, splits, worth, node):
    """The rows whose class depends on their side at a node."""
    counts, n, n_leaves = table.counts, table.XT.shape[1], len(splits.leaf_classes)
    rows = np.empty(n, dtype=np.int64)
    extra = np.empty(n)
    left = np.empty(n, dtype=np.int64)
    right = np.empty(n, dtype=np.int64)
    cells = np.zeros(cells_of(counts))
    found = 0
    for i in range(n):
        at = walk_to(splits.right, i, node, n_leaves)
        if at != node:
            count_row(counts, cells, i, splits.leaf_classes[at - n_leaves])
            continue
        k_left, k_right = end_class(splits, i, 2 * node), end_class(splits, i, 2 * node + 1)
        count_row(counts, cells, i, k_right)
        if k_left != k_right:
            rows[found] = i
            left[found] = k_left
            right[found] = k_right
            added = added_price(counts, worth, i, k_left) - added_price(counts, worth, i, k_right)
            extra[found] = table.cost[i, k_left] - table.cost[i, k_right] + counts.sizes[i] * added
            found += 1
    room = np.empty((2, len(cells)))
    return Choice(rows[:found], extra[:found], left[:found], right[:found], cells, room)


@plain
def all_left(counts, choice, cells):
    """Fill in the rows of each cell if all rows of a choice go left."""
    copy(choice.cells, cells)
    for t in range(len(choice.rows)):
        shift_row(counts, cells, choice.rows[t], choice.right[t], choice.left[t], 1.0)


@inlined
def present_split(table, splits, worth, choice, node):
    """What a node costs as it is, and how many features it has."""
    cells = choice.room[0]
    copy(choice.cells, cells)
    cost = 0.0
    for t in range(len(choice.rows)):
        i = choice.rows[t]
        if not splits.right[node - 1, i]:
            cost += choice.extra[t]
            shift_row(table.counts, cells, i, choice.right[t], choice.left[t], 1.0)
    size = 0
    for j in range(table.XT.shape[0]):
        size += splits.omega[node - 1, j] != 0.0
    return cost + worth.row_off * off_totals(table.counts, cells) + worth.term * size, size


@plain
def best_cut(counts, choice, values, order, row_off):
    """The best offset along a direction or its reverse, by one pass over the sorted values.

    Returns the cost beyond that of all rows going right without a price for totals, the sign of the direction, and the
    offset along it. Of equally good offsets, the one in the widest gap.
    """
    n = len(order)
    forward, backward = choice.room[0], choice.room[1]
    copy(choice.cells, forward)
    all_left(counts, choice, backward)
    several = len(forward) > counts.n_classes
    off_forward, off_backward = off_totals(counts, forward), off_totals(counts, backward)
    everything = total(choice.extra)
    passed = 0.0
    best = HUGE
    sign = 1.0
    offset = 0.0
    width = 0.0
    for t in range(n - 1):
        i = order[t]
        row, left, right = choice.rows[i], choice.left[i], choice.right[i]
        passed += choice.extra[i]
        if counts.sizes[row] > 0 and several:
            off_forward += shift_off(counts, forward, row, right, left)
            off_backward += shift_off(counts, backward, row, left, right)
        elif counts.sizes[row] > 0:
            shift_row(counts, forward, row, right, left, 1.0)
            shift_row(counts, backward, row, left, right, 1.0)
        gap = values[order[t + 1]] - values[i]
        if gap <= GAP:
            continue
        here = passed
        there = everything - passed
        if row_off > 0:
            if not several:
                # One domain has few cells: it is quicker to look at all of them where rows differ than at every row.
                off_forward, off_backward = off_totals(counts, forward), off_totals(counts, backward)
            here += row_off * off_forward
            there += row_off * off_backward
        if here < best - WORTHWHILE or (here <= best + WORTHWHILE and gap > width):
            best, sign, width = here, 1.0, gap
            offset = 0.5 * values[i] + 0.5 * values[order[t + 1]]
        if there < best - WORTHWHILE or (there <= best + WORTHWHILE and gap > width):
            best, sign, width = there, -1.0, gap
            offset = -(0.5 * values[i] + 0.5 * values[order[t + 1]])
    return best, sign, offset
