"""Bounds of cells that can be met: within the rows of their domain, and in whole rows where rows count alike."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.model.targets import Margin, Targets

_ROUNDING = 1e-9
"""Part of a row that sums of floats may be off."""


def meetable(targets: Targets, sizes: FloatArray, *, whole: bool) -> Targets:
    """The nearest totals that the rows of each domain can meet.

    Bounds that a domain's rows contradict, too many or too few, are scaled to its rows. Bounds that others imply are
    made explicit. With ``whole``, rows count 1 each and bounds are whole numbers of rows.
    """
    return replace(targets, margins=tuple(_meetable(margin, sizes, whole) for margin in targets.margins))


def _meetable(margin: Margin, sizes: FloatArray, whole: bool) -> Margin:
    low, high = np.maximum(margin.low, 0.0), np.maximum(margin.high, 0.0)
    rows = np.bincount(margin.codes, weights=sizes, minlength=len(low))
    for domain, n_rows in enumerate(rows):
        low[domain], high[domain] = _bounds(low[domain], high[domain], float(n_rows), whole)
    return replace(margin, low=low, high=high)


def _bounds(low: FloatArray, high: FloatArray, n_rows: float, whole: bool) -> tuple[FloatArray, FloatArray]:
    """The bounds of one domain, tightened by what the other classes must or can have."""
    low, high = np.minimum(low, n_rows), np.minimum(high, n_rows)
    if low.sum() >= n_rows - _ROUNDING or high.sum() <= n_rows + _ROUNDING:
        known = low if low.sum() >= n_rows - _ROUNDING else high
        # A domain without any bound above 0 has no shares to keep.
        known = known * (n_rows / known.sum()) if known.sum() > 0 else np.full(len(known), n_rows / len(known))
        exact = rounded_to(known, int(n_rows)).astype(float) if whole else known
        return exact, exact
    if whole:
        low, high = _whole_bounds(low, high)
        if low.sum() > n_rows or high.sum() < n_rows:
            return _bounds(low, high, n_rows, whole)
    implied_low, implied_high = n_rows - (high.sum() - high), n_rows - (low.sum() - low)
    return np.maximum(low, implied_low), np.minimum(high, implied_high)


def _whole_bounds(low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The whole numbers within the bounds; the nearest one where there are none."""
    least, most = np.ceil(low - _ROUNDING), np.floor(high + _ROUNDING)
    middle = np.round(0.5 * (low + high))
    between = least > most
    return np.where(between, middle, least), np.where(between, middle, most)


def rounded_to(values: FloatArray, total: int) -> IntArray:
    """Whole numbers near the values that add up to ``total``; the largest remainders are rounded up."""
    floors = np.floor(values + _ROUNDING).astype(np.int64)
    order = np.argsort(-(values - floors), kind="stable")
    floors[order[: total - int(floors.sum())]] += 1
    return floors
