"""How the labeled rows of a replicate are drawn: a bootstrap within classes, or replicate weights of a survey."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from s2oct.arrays import FloatArray, IntArray

HELD_OUT_DRAWS = 20
"""Bootstrap replicates beside replicate weights that leave nothing out: mistakes show on rows not seen."""


class Drawing(Protocol):
    """How much each labeled row counts in each replicate, and what the spread of replicates says."""

    @property
    def identity(self) -> bytes:
        """What tells drawings apart."""

    def times(self, codes: IntArray, number: int, rng: np.random.Generator) -> FloatArray:
        """How much each labeled row counts in one replicate, compared with the fit; ``codes`` are their classes."""

    def varying(self, n_replicates: int) -> int:
        """How many replicates, from the first on, measure the spread."""

    def variance(self, replicated: FloatArray, fitted: FloatArray) -> FloatArray:
        """Variance of estimates from those of the replicates, along the first axis, and those of the fit."""


@dataclass(frozen=True)
class Bootstrap:
    """Rows drawn with replacement within their classes, so that every class keeps its number of labels."""

    identity: bytes = b"bootstrap"

    def times(self, codes: IntArray, number: int, rng: np.random.Generator) -> FloatArray:
        """How often each labeled row is drawn."""
        drawn = np.zeros(len(codes))
        for k in np.unique(codes):
            rows = np.flatnonzero(codes == k)
            np.add.at(drawn, rng.choice(rows, size=len(rows)), 1)
        return drawn

    def varying(self, n_replicates: int) -> int:
        """All of them."""
        return n_replicates

    def variance(self, replicated: FloatArray, fitted: FloatArray) -> FloatArray:
        """The variance over replicates."""
        return np.asarray(np.var(replicated, axis=0, ddof=1))


BOOTSTRAP = Bootstrap()


@dataclass(frozen=True, eq=False)
class ReplicateWeights:
    """Replicate weights that a survey brings: jackknife, balanced half samples, or its own bootstrap.

    Attributes
    ----------
    factors : ndarray of shape (n_labeled, n_replicates)
        Replicate weights of the labeled rows, over their weights.
    scale : float
        What the sum of squared differences from the fit is multiplied with to be a variance.
    """

    factors: FloatArray
    scale: float

    @property
    def identity(self) -> bytes:
        """The weights and the scale."""
        return np.ascontiguousarray(self.factors).tobytes() + repr(self.scale).encode()

    @property
    def n_columns(self) -> int:
        """Replicates that have weights."""
        return int(self.factors.shape[1])

    @property
    def n_runs(self) -> int:
        """These, and bootstrap replicates where some row is never left out."""
        never_left_out = (self.factors > 0).all(axis=1).any()
        return self.n_columns + (HELD_OUT_DRAWS if never_left_out else 0)

    def times(self, codes: IntArray, number: int, rng: np.random.Generator) -> FloatArray:
        """The factors of a replicate; beyond the last one, a bootstrap."""
        if number < self.n_columns:
            return self.factors[:, number]
        return BOOTSTRAP.times(codes, number, rng)

    def varying(self, n_replicates: int) -> int:
        """Those with weights: the others only hold rows out."""
        return min(n_replicates, self.n_columns)

    def variance(self, replicated: FloatArray, fitted: FloatArray) -> FloatArray:
        """The scaled sum of squared differences from the fit."""
        return np.asarray(self.scale * np.sum((replicated - fitted) ** 2, axis=0))
