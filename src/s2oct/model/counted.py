"""Rows that count: a row of weight 0 takes no part in a fit."""

from __future__ import annotations

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.errors import InvalidProblem

_NEGLIGIBLE = 1e-9
"""A row with less than this part of the mean weight does not count: sums of weights are no more exact than that."""


def counted_rows(weights: FloatArray | None) -> IntArray | None:
    """Positions of the rows that count; None if all do. A row of weight 0 must not change a fit."""
    if weights is None:
        return None
    counts = _count(weights)
    return None if counts.all() else np.flatnonzero(counts)


def _count(weights: FloatArray) -> BoolArray:
    return np.asarray(weights > _NEGLIGIBLE * weights.mean())


def refuse_weightless(weights: FloatArray, is_labeled: BoolArray) -> None:
    """Refuse labeled rows, or unlabeled ones, none of which counts."""
    counts = _count(weights)
    for which, rows in (("labeled", is_labeled), ("unlabeled", ~is_labeled)):
        if rows.any() and not counts[rows].any():
            raise InvalidProblem(
                f"Expected a positive weight of at least one {which} row, got weights of 0, or nearly 0, for all "
                f"{int(rows.sum())} of them."
            )
