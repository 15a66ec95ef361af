"""Multipliers of cells, settled softly: the share of a class in a domain is nudged until expected counts fit.

A row gives each class a share by the softmax of its scores and the multipliers, at a temperature that falls. Each
sweep moves the multiplier of every cell to where the expected count is within its bounds, and no farther from 0 than
it must. This is iterative proportional fitting with bounds. At a low temperature the shares are nearly hard classes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.model.targets import Margin, Targets

TEMPERATURES = (1.0, 0.3, 0.1, 0.03, 0.01)
"""Temperatures in units of the spread of the scores."""

MOST_SWEEPS = 30
"""Sweeps at each temperature, at most: the last rows are settled otherwise."""

NEAR_ENOUGH = 0.2
"""Rows that expected counts may be off before the temperature falls."""

MOST_ROWS = 3000
"""Rows that the multipliers are settled with first, about; if there are more, every so many are taken."""

_LEAST_COUNT = 1e-300


def soft_multipliers(scores: FloatArray, sizes: FloatArray, targets: Targets) -> tuple[FloatArray, ...]:
    """One multiplier for each cell, for each margin of shape (n_domains, n_classes).

    Added to the scores of the rows of a domain, they bring the counts of the likeliest classes near the totals.
    ``scores`` has shape (m, n_classes), ``sizes`` (m,).
    """
    sweeping = _Sweeping(scores, sizes, targets)
    temperatures = (float(np.std(scores - scores.mean(axis=1, keepdims=True))) or 1.0) * np.array(TEMPERATURES)
    if len(scores) <= MOST_ROWS:
        return sweeping.run(temperatures, tuple(np.zeros_like(margin.low) for margin in targets.margins))
    first = soft_multipliers(*_thinned(scores, sizes, targets))
    return sweeping.run(temperatures[-1:], first)


def multipliers_of_rows(multipliers: tuple[FloatArray, ...], targets: Targets) -> FloatArray:
    """What the multipliers add to the scores of each row, shape (m, n_classes): those of all margins together."""
    return np.asarray(sum(part[margin.codes] for part, margin in zip(multipliers, targets.margins, strict=True)))


def farthest_multiplier(scores: FloatArray) -> float:
    """A multiplier that outweighs every difference between the scores of a row."""
    return 1.0 + 2.0 * float(np.ptp(scores, axis=1).max(initial=0.0))


class _Sweeping:
    """Sweeps over the margins; arrays have the classes first, because long axes are fast as the last ones."""

    def __init__(self, scores: FloatArray, sizes: FloatArray, targets: Targets) -> None:
        self.scores, self.sizes, self.targets = np.ascontiguousarray(scores.T), sizes, targets
        self.farthest = farthest_multiplier(scores)

    def run(self, temperatures: FloatArray, multipliers: tuple[FloatArray, ...]) -> tuple[FloatArray, ...]:
        """Sweep at each temperature until the expected counts are near enough; the multipliers change in place."""
        near = NEAR_ENOUGH * float(self.sizes.mean())
        for temperature in temperatures:
            for _ in range(MOST_SWEEPS):
                if max([self._sweep(at, multipliers, float(temperature)) for at in range(len(multipliers))]) <= near:
                    break
        return multipliers

    def _sweep(self, at: int, multipliers: tuple[FloatArray, ...], temperature: float) -> float:
        """Move the multipliers of one margin; returns how many rows its worst cell was off before."""
        margin = self.targets.margins[at]
        shares = self.scores.copy()
        for part, of_rows in zip(multipliers, self.targets.margins, strict=True):
            shares += part.T[:, of_rows.codes] if of_rows.n_domains > 1 else part.T
        shares -= shares.max(axis=0)
        np.exp(shares / temperature, out=shares)
        shares *= self.sizes / shares.sum(axis=0)
        counts = _expected(shares, margin)
        _move(multipliers[at], counts, (margin.low, margin.high), temperature, self.farthest)
        return float(np.abs(margin.excess(counts)).max())


def _expected(shares: FloatArray, margin: Margin) -> FloatArray:
    """Expected counts of the cells of a margin, given the shares of the classes, shape (n_classes, m)."""
    if margin.n_domains == 1:
        return np.asarray(shares.sum(axis=1)[None, :])
    return np.column_stack(
        [np.bincount(margin.codes, weights=of_class, minlength=len(margin.low)) for of_class in shares]
    )


def _move(
    multipliers: FloatArray,
    counts: FloatArray,
    bounds: tuple[FloatArray, FloatArray],
    temperature: float,
    farthest: float,
) -> None:
    """Move each multiplier to the value nearest to 0 that brings the expected count of its cell within its bounds."""
    with np.errstate(divide="ignore"):
        least, most = (
            multipliers + temperature * (np.log(bound) - np.log(np.maximum(counts, _LEAST_COUNT))) for bound in bounds
        )
    multipliers[:] = np.clip(np.clip(0.0, least, most), -farthest, farthest)


def _thinned(scores: FloatArray, sizes: FloatArray, targets: Targets) -> tuple[FloatArray, FloatArray, Targets]:
    """Some of the rows, with the part of the totals that belongs to the rows of each domain that are left."""
    by_domain = np.lexsort([margin.codes for margin in targets.margins])
    rows: IntArray = by_domain[:: len(scores) // MOST_ROWS + 1]
    margins = []
    for margin in targets.margins:
        everything = np.bincount(margin.codes, weights=sizes, minlength=margin.n_domains)
        left = np.bincount(margin.codes[rows], weights=sizes[rows], minlength=margin.n_domains)
        part = (left / np.maximum(everything, _LEAST_COUNT))[:, None]
        margins.append(replace(margin, codes=margin.codes[rows], low=margin.low * part, high=margin.high * part))
    return scores[rows], sizes[rows], Targets(tuple(margins))
