"""Equal rows: where they are, and sums over them."""

from __future__ import annotations

import numpy as np

from s2oct.arrays import FloatArray, IntArray


def equal_rows(rows: FloatArray) -> tuple[IntArray, IntArray]:
    """Where each distinct row appears first, in that order, and the number of the distinct row that each row equals."""
    if not len(rows):
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    # Adding 0.0 turns -0.0 into 0.0, which has other bytes.
    cells = np.ascontiguousarray(rows + 0.0)
    _, first, inverse = np.unique(_hashes(cells), return_index=True, return_inverse=True)
    inverse = inverse.ravel()
    if not _are_equal(cells, first[inverse]):
        keys = cells.view([("", rows.dtype)] * rows.shape[1]).ravel()
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    return first[order], position[inverse.ravel()]


def _hashes(cells: FloatArray) -> IntArray:
    """A number for each row, mixed from its bits: sorting one number is many times faster than sorting rows."""
    bits = cells.view(np.uint64)
    found = np.zeros(len(bits), dtype=np.uint64)
    for column in bits.T:
        found ^= column
        found *= np.uint64(0x9E3779B97F4A7C15)
        found ^= found >> np.uint64(29)
    return found.view(np.int64)


def _are_equal(cells: FloatArray, others: IntArray) -> bool:
    """Whether every row equals the row that it is said to equal; different rows may have one hash."""
    other = np.flatnonzero(others != np.arange(len(cells)))
    return bool((cells[other] == cells[others[other]]).all())


def group_sums(group: IntArray, values: FloatArray) -> FloatArray:
    """The sum of the values of each group."""
    return np.bincount(group, weights=values).astype(float)


def group_means(group: IntArray, values: FloatArray, multiplicities: FloatArray) -> FloatArray:
    """The mean of each column of values over each group, rows counted with their multiplicity."""
    sizes = group_sums(group, multiplicities)
    counted = (multiplicities[:, None] * values).T
    return np.column_stack([group_sums(group, column) / sizes for column in counted])
