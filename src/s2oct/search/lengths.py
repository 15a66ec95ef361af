"""How long normals are."""

from __future__ import annotations

import numpy as np

from s2oct.arrays import FloatArray


def length_factors(omega: FloatArray, s: float) -> FloatArray:
    """By how much to multiply each normal so that its largest coefficient is s; 1 for a normal of 0."""
    largest = np.abs(omega).max(axis=1)
    splits = largest > 0
    return np.where(splits, s / np.where(splits, largest, 1.0), 1.0)
