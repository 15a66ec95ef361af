"""Room for hyperplanes: gaps among the unlabeled rows near them."""

from __future__ import annotations

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.search.instance import Instance

NEIGHBOURS, LEAST_NEIGHBOURS = 0.005, 3
"""Share of the rows on either side among which a hyperplane may look for a gap, and their least number."""


def nearby_gaps(instance: Instance, omega: FloatArray, gamma: FloatArray) -> tuple[float, FloatArray]:
    """The length that normals need to fit every hyperplane into a gap among the unlabeled rows near it; and its offset.

    The near rows are a share `NEIGHBOURS` of all rows on either side. A gap is 2 wide, so that its rows keep distance
    1. The length of a normal is its largest coefficient. The offsets belong to the normals as they are.
    """
    X = instance.XT[:, instance.n_labeled :]
    reach = max(LEAST_NEIGHBOURS, int(NEIGHBOURS * X.shape[1]))
    needed, offsets = 0.0, gamma.copy()
    for b, (normal, offset) in enumerate(zip(omega, gamma, strict=True)):
        largest = float(np.abs(normal).max())
        if largest == 0.0 or not X.shape[1]:
            continue
        # Beyond the outermost row there is always room.
        values = np.sort(normal @ X) / largest
        values = np.concatenate([[-np.inf], values, [np.inf]])
        at = int(np.searchsorted(values, offset / largest))
        near = values[max(at - reach, 0) : at + reach]
        widths = np.diff(near)
        widest = int(widths.argmax())
        low, high = near[widest], near[widest + 1]
        if not np.isfinite(widths[widest]):
            low, high = (high - 4 / instance.s, high) if np.isinf(low) else (low, low + 4 / instance.s)
        needed = max(needed, 2.0 / max(high - low, 1e-12))
        offsets[b] = 0.5 * (low + high) * largest
    return needed, offsets


def length_factors(omega: FloatArray, s: float) -> FloatArray:
    """By how much to multiply each normal so that its largest coefficient is s; 1 for a normal of 0."""
    largest = np.abs(omega).max(axis=1)
    splits = largest > 0
    return np.where(splits, s / np.where(splits, largest, 1.0), 1.0)
