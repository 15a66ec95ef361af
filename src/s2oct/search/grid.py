"""Features that lie on a grid, where margins hold by construction.

If the values of feature j are whole multiples of g_j apart, a coefficient that is a multiple of 2 / g_j changes h by
even numbers from row to row. If a hyperplane has only such coefficients and one row is at an odd distance, then every
row is at an odd distance. So no row is nearer than 1.
"""

from __future__ import annotations

import numpy as np

from s2oct.arrays import FloatArray

SAMPLE = 500
"""Values of a feature that are looked at first: most features without a grid show it there."""

_RELATIVE_TOLERANCE = 1e-7


def grid_quanta(X: FloatArray, s: float) -> FloatArray:
    """2 / g_j for every feature on a grid that is wide enough for coefficients up to s, and 0 for the others."""
    return np.array([0.0 if _is_narrow(column[:SAMPLE], s) else _quantum(np.unique(column), s) for column in X.T])


def _is_narrow(values: FloatArray, s: float) -> bool:
    """Whether two of some values are already too near for a grid: sorting all values would take long."""
    steps = np.diff(np.unique(values))
    return bool(len(steps) and steps.min() * s < 2 * (1 - _RELATIVE_TOLERANCE))


def _quantum(values: FloatArray, s: float) -> float:
    if len(values) < 2:
        return 0.0
    steps = np.unique(np.diff(values))
    tolerance = _RELATIVE_TOLERANCE * float(values[-1] - values[0])
    spacing = 0.0
    for step in steps.tolist():
        spacing = _common_divisor(step, spacing, tolerance)
        if spacing * s < 2 * (1 - _RELATIVE_TOLERANCE):
            return 0.0
    # Averaging over the whole range removes the rounding of single steps.
    n_steps = np.round((values[-1] - values[0]) / spacing)
    return float(2 * n_steps / (values[-1] - values[0]))


def _common_divisor(a: float, b: float, tolerance: float) -> float:
    """Euclid's algorithm on measured numbers; remainders within the tolerance of 0 or of the divisor are 0."""
    while b > tolerance:
        remainder = a % b
        if b - remainder <= tolerance:
            remainder = 0.0
        a, b = b, remainder
    return a
