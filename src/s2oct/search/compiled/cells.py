"""Rows of each cell, a domain and a class, beside the bounds of its total.

Arrays ``rows`` (n_cells,) hold the rows of each cell. The classes of a domain lie side by side.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from s2oct.search.compiled.options import inlined, plain


class Counts(NamedTuple):
    """How rows are counted."""

    sizes: Any  # (N,) what each row counts
    first: Any  # (n_margins, N) cell of class 0 in the domain of each row; the other classes follow it
    bounds: Any  # (2, n_cells) least and most rows of each cell
    n_classes: int


@inlined
def cells_of(counts):
    """Number of cells."""
    return counts.bounds.shape[1]


@inlined
def count_row(counts, rows, i, k):
    """Count row i in class k, in all its domains."""
    for g in range(counts.first.shape[0]):
        rows[counts.first[g, i] + k] += counts.sizes[i]


@plain
def shift_row(counts, rows, i, old, new, sign):
    """Give row i another class in all its domains, or take that back."""
    size = sign * counts.sizes[i]
    for g in range(counts.first.shape[0]):
        begin = counts.first[g, i]
        rows[begin + old] -= size
        rows[begin + new] += size


@plain
def shift_off(counts, rows, i, old, new):
    """Give row i another class in all its domains; returns by how much the rows off change."""
    change = 0.0
    for g in range(counts.first.shape[0]):
        begin = counts.first[g, i]
        change -= off_domain(counts, rows, begin)
        rows[begin + old] -= counts.sizes[i]
        rows[begin + new] += counts.sizes[i]
        change += off_domain(counts, rows, begin)
    return change


@plain
def off_domain(counts, rows, begin):
    """Rows of a domain that would have to change class to be within the bounds; its cells begin there."""
    over, under = 0.0, 0.0
    for c in range(begin, begin + counts.n_classes):
        over += max(rows[c] - counts.bounds[1, c], 0.0)
        under += max(counts.bounds[0, c] - rows[c], 0.0)
    return max(over, under)


@plain
def off_totals(counts, rows):
    """xi: the rows of each domain that would have to change class, added up."""
    xi = 0.0
    for begin in range(0, counts.bounds.shape[1], counts.n_classes):
        xi += off_domain(counts, rows, begin)
    return xi
