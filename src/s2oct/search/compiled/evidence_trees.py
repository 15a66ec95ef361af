"""Trees of the evidence model as they change node by node: on which side of each hyperplane every row lies.

Rows are columns of ``XT`` (p, N), standardised.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from s2oct.search.compiled.cells import Counts, cells_of, count_row, off_totals
from s2oct.search.compiled.options import allocating, inlined
from s2oct.search.compiled.walks import end_below

ROOT = np.int64(1)
"""Its type keeps numba from compiling functions once more for the literal 1."""


class Table(NamedTuple):
    """The rows."""

    XT: Any  # (p, N) standardised features by rows
    order: Any  # (p, N) rows in the order of each feature; (p, 0) where single features are not tried
    cost: Any  # (N, K) what each class costs each row
    counts: Counts  # how rows count towards the totals, labeled ones with size 0


class Splits(NamedTuple):
    """A tree that changes node by node."""

    omega: Any  # (n_branches, p)
    gamma: Any  # (n_branches,)
    right: Any  # (n_branches, N) on which side of each hyperplane each row lies
    leaf_classes: Any  # (n_leaves,) class of each leaf from the left


class Worth(NamedTuple):
    """By what a split is judged."""

    most: int  # features of a split
    term: float  # price of a feature in a split
    row_off: float  # price of a row by which the totals are missed
    cell_prices: Any  # (n_cells,) added to what the class of a cell costs an unlabeled row of its domain


@inlined
def end_class(splits, i, start):
    """Class in which row i ends that starts at a node."""
    return splits.leaf_classes[end_below(splits.right, i, start, len(splits.leaf_classes))]


@allocating
def classes_of(table, splits):
    """Class of every row."""
    n = table.XT.shape[1]
    found = np.empty(n, dtype=np.int64)
    for i in range(n):
        found[i] = end_class(splits, i, ROOT)
    return found


@allocating
def evidence_of(table, splits):
    """What all rows pay for their classes, and by how many rows the totals are missed."""
    rows = np.zeros(cells_of(table.counts))
    paid = 0.0
    for i in range(table.XT.shape[1]):
        k = end_class(splits, i, ROOT)
        paid += table.cost[i, k]
        count_row(table.counts, rows, i, k)
    return paid, off_totals(table.counts, rows)


@inlined
def added_price(counts, worth, i, k):
    """What the prices of the cells add to what class k costs row i."""
    price = 0.0
    for g in range(counts.first.shape[0]):
        price += worth.cell_prices[counts.first[g, i] + k]
    return price


@inlined
def price_of(table, worth, i, k):
    """What class k costs row i, with the prices of its cells."""
    return table.cost[i, k] + table.counts.sizes[i] * added_price(table.counts, worth, i, k)


@allocating
def cost_at(table, splits, worth, node):
    """What all rows pay, with the price of rows off and of the terms of one node."""
    rows = np.zeros(cells_of(table.counts))
    cost = 0.0
    for i in range(table.XT.shape[1]):
        k = end_class(splits, i, ROOT)
        cost += price_of(table, worth, i, k)
        count_row(table.counts, rows, i, k)
    for j in range(table.XT.shape[0]):
        cost += worth.term if splits.omega[node - 1, j] != 0.0 else 0.0
    return cost + worth.row_off * off_totals(table.counts, rows)


@allocating
def set_hyperplane(table, splits, node, direction, offset):
    """Give a node a hyperplane."""
    b = node - 1
    n = table.XT.shape[1]
    splits.gamma[b] = offset
    values = np.zeros(n)
    for j in range(len(direction)):
        splits.omega[b, j] = direction[j]
        if direction[j] != 0.0:
            for i in range(n):
                values[i] += direction[j] * table.XT[j, i]
    for i in range(n):
        splits.right[b, i] = values[i] > offset
