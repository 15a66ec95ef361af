"""Features in units of their spread, and principal components beside them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

import numpy as np
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import ThreadpoolController

from s2oct.arrays import Float32Array, FloatArray, IntArray
from s2oct.guides.stopped import go_on_until
from s2oct.stopping import NO_DEADLINE, Deadline

N_COMPONENTS = 10
"""Principal components that are added to the features: directions in which all rows, labeled or not, vary most."""

CELLS_AT_A_TIME = 1_000_000
"""Rows times features that are read between two checks of the deadline, and that the components are fitted to."""

MOST_ROWS = 4000
"""Rows that the components are fitted to, at most; if there are more, they are drawn at random."""

_LEAST_SPREAD = 1e-6
"""Features that vary less, as a share of their range, have the same value in nearly all rows."""

_FARTHEST = 1e6
"""Values of new rows are moved to this many ranges from those of the fit; so they are finite for the trees."""


@dataclass(frozen=True, eq=False)
class Widening:
    """Maps rows to their features in units of their spread, followed by their principal components.

    ``low`` and ``half_range`` map every feature onto [0, 1] first, because squares of huge values would overflow.
    ``mean`` and ``spread`` are those of the features in [0, 1]; ``components`` has one principal axis in each row.
    """

    low: FloatArray
    half_range: FloatArray
    mean: FloatArray
    spread: FloatArray
    components: FloatArray

    @classmethod
    def of(cls, rows: FloatArray, rng: np.random.RandomState, deadline: Deadline = NO_DEADLINE) -> Widening:
        """The map for these rows; if they are too many, some are drawn for the spread and the components."""
        n, p = rows.shape
        low, high = np.full(p, np.inf), np.full(p, -np.inf)
        for part in _parts(rows, np.arange(n), deadline):
            low, high = np.minimum(low, part.min(axis=0)), np.maximum(high, part.max(axis=0))
        # Halves are exact, and their difference cannot overflow.
        half_range = 0.5 * high - 0.5 * low
        unit = cls(low, np.where(half_range > 0, half_range, 1.0), np.zeros(p), np.ones(p), np.empty((0, p)))
        most = min(max(CELLS_AT_A_TIME // p, 2), MOST_ROWS)
        sample = unit._standard(rows if n <= most else rows[rng.permutation(n)[:most]])
        mean, spread = sample.mean(axis=0), sample.std(axis=0)
        spread = np.where(spread > _LEAST_SPREAD, spread, 1.0)
        go_on_until(deadline)
        n_components = min(N_COMPONENTS, *sample.shape)
        with _one_thread():
            components = randomized_svd((sample - mean) / spread, n_components, n_iter=4, random_state=rng)[2]
        return cls(unit.low, unit.half_range, mean, spread, components)

    @property
    def n_features(self) -> int:
        """Number of features, without the components."""
        return len(self.mean)

    def transform(
        self, rows: FloatArray, chosen: IntArray | None = None, deadline: Deadline = NO_DEADLINE
    ) -> Float32Array:
        """Features, then components, of all rows or the chosen ones, in the type of numbers that trees use."""
        p = self.n_features
        chosen = np.arange(len(rows)) if chosen is None else chosen
        wide = np.empty((len(chosen), p + len(self.components)), dtype=np.float32)
        begin = 0
        for part in _parts(rows, chosen, deadline):
            end = begin + len(part)
            wide[begin:end, :p] = standard = self._standard(part)
            with _one_thread():
                wide[begin:end, p:] = standard @ self.components.T
            begin = end
        return wide

    def _standard(self, rows: FloatArray) -> FloatArray:
        # A new row may be as far from the others as floats go.
        with np.errstate(over="ignore"):
            unit = (0.5 * rows - 0.5 * self.low) / self.half_range
        return np.asarray((np.clip(unit, -_FARTHEST, _FARTHEST) - self.mean) / self.spread)


_BLAS_LOCK = threading.Lock()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Linear algebra in one thread: small products take much longer in several if other programs are busy.

    The setting is that of the process. The lock keeps two fits from restoring it in the wrong order.
    """
    with _BLAS_LOCK, _thread_pools().limit(limits=1, user_api="blas"):
        yield


@cache
def _thread_pools() -> ThreadpoolController:
    # It looks through all libraries of the process, which takes some milliseconds.
    return ThreadpoolController()


def _parts(rows: FloatArray, chosen: IntArray, deadline: Deadline) -> Iterator[FloatArray]:
    """The chosen rows, some at a time, until the deadline."""
    step = max(CELLS_AT_A_TIME // rows.shape[1], 1)
    for begin in range(0, len(chosen), step):
        go_on_until(deadline)
        yield rows[chosen[begin : begin + step]]
