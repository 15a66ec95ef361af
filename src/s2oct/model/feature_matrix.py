"""Features as a table of floats, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.errors import InvalidProblem


def feature_matrix(X: Any) -> FloatArray:
    """Rows of finite numbers, at least one row and one feature."""
    try:
        rows = np.ascontiguousarray(X, dtype=float)
    except (TypeError, ValueError) as error:
        raise InvalidProblem(f"Expected numeric features, got values that are not numbers: {error}.") from error
    if rows.ndim != 2 or not rows.shape[0] or not rows.shape[1]:
        raise InvalidProblem(f"Expected a table of rows and features, got shape {rows.shape}.")
    if not np.isfinite(rows).all():
        raise InvalidProblem("Expected finite features, got NaN or infinity.")
    return rows
