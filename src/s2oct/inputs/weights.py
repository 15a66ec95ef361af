"""Survey weights that users pass to a classifier."""

from __future__ import annotations

from typing import Any

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.errors import InvalidProblem
from s2oct.wording import brief, plural

_LIGHTEST, _HEAVIEST = 1e-100, 1e100
"""Bounds of the largest weight; sums and ratios of weights beyond them overflow or vanish."""


def read_weights(sample_weight: Any, n_rows: int) -> FloatArray | None:
    """One finite weight of at least 0 for each row, None if there are none; a single number is every row's weight."""
    if sample_weight is None:
        return None
    if np.ma.is_masked(sample_weight):
        raise InvalidProblem("Expected a weight for every row, got masked weights.")
    try:
        if any(isinstance(entry, (str, bytes, bool)) for entry in np.asarray(sample_weight, dtype=object).ravel()):
            raise TypeError
        weights = np.array(sample_weight, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidProblem(f"Expected sample_weight to be numbers, got {brief(sample_weight)}.") from error
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        got = plural(len(weights), "weight") if weights.ndim == 1 else f"sample_weight of shape {weights.shape}"
        raise InvalidProblem(f"Expected sample_weight with one weight per row, got {got} for {plural(n_rows, 'row')}.")
    strange = ~np.isfinite(weights) | (weights < 0)
    if strange.any():
        first = int(np.flatnonzero(strange)[0])
        raise InvalidProblem(
            f"Expected weights that are finite numbers of at least 0, got {weights[first]} in row {first} "
            f"and {plural(int(strange.sum()), 'such weight')} in all."
        )
    heaviest = int(np.argmax(weights)) if n_rows else 0
    if n_rows and weights[heaviest] and not _LIGHTEST <= weights[heaviest] <= _HEAVIEST:
        raise InvalidProblem(
            f"The largest weight must be between {_LIGHTEST:g} and {_HEAVIEST:g}, got {weights[heaviest]} in row "
            f"{heaviest}: divide all weights by one number, and the totals too."
        )
    if n_rows and not weights.any():
        raise InvalidProblem("Expected weights of which some are positive, got only zeros in sample_weight.")
    return weights
