"""Some of the rows, for what takes too long with all of them."""

from __future__ import annotations

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray


def sampled(is_labeled: BoolArray, most: int, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
    """At most so many rows, half of them labeled if there are enough, and the weights that make up for the others."""
    labeled, unlabeled = np.flatnonzero(is_labeled), np.flatnonzero(~is_labeled)
    some = np.sort(rng.permutation(labeled)[: most // 2])
    others = np.sort(rng.permutation(unlabeled)[: most - len(some)])
    factors = (len(part) / max(len(kept), 1) for part, kept in ((labeled, some), (unlabeled, others)))
    weight = np.concatenate([np.full(len(kept), f) for kept, f in zip((some, others), factors, strict=True)])
    return np.concatenate([some, others]), weight
