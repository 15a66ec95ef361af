"""Rows by their distance from a hyperplane, in buckets: a small move affects the near ones only."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from s2oct.search.compiled.options import plain

N_BUCKETS = 10


class Nearest(NamedTuple):
    """Rows by their distance from the hyperplane of the node in view, in buckets."""

    labeled: Any  # (n,) rows
    labeled_ends: Any  # (N_BUCKETS,) where each bucket ends
    unlabeled: Any  # (m,)
    unlabeled_ends: Any  # (N_BUCKETS,)


def new_nearest(n: int, m: int) -> Nearest:
    """Room for the rows in the order of their distance."""
    return Nearest(
        np.empty(n, dtype=np.int64),
        np.empty(N_BUCKETS, dtype=np.int64),
        np.empty(m, dtype=np.int64),
        np.empty(N_BUCKETS, dtype=np.int64),
    )


@plain
def sort_by_distance(h, first, stop, order, ends):
    """Rows first .. stop by bucket into ``order``; ``ends[k]`` is where bucket k ends."""
    for k in range(N_BUCKETS):
        ends[k] = 0
    for i in range(first, stop):
        ends[bucket_of(abs(h[i]))] += 1
    end = 0
    for k in range(N_BUCKETS):
        count = ends[k]
        ends[k] = end
        end += count
    for i in range(first, stop):
        k = bucket_of(abs(h[i]))
        order[ends[k]] = i
        ends[k] += 1


@plain
def bucket_of(distance):
    """Rows are sorted by distance into [0, 4], (4, 8], (8, 16], ... and the rest."""
    bucket, edge = 0, 4.0
    while distance > edge and bucket < N_BUCKETS - 1:
        bucket += 1
        edge *= 2.0
    return bucket
