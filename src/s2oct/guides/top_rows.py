"""The rows with the highest scores, as many as a total says."""

from __future__ import annotations

import numpy as np

from s2oct.arrays import FloatArray, IntArray


def top_rows(scores: FloatArray, n_above: int, rng: np.random.RandomState | None = None) -> IntArray:
    """1 for the ``n_above`` rows with the highest scores, 0 for the others; ties at random, or else by row order."""
    order = np.arange(len(scores)) if rng is None else rng.permutation(len(scores))
    codes = np.zeros(len(scores), dtype=np.int64)
    codes[order[np.argsort(-scores[order], kind="stable")[:n_above]]] = 1
    return codes
