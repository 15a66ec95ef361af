"""Forests that grow tree by tree until a deadline, and are the same for any number of jobs.

scikit-learn's forests check their input for every batch of trees. They forget which rows a tree has seen, and add up
votes in the order in which threads end. So we grow its trees ourselves.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
import sklearn
from joblib import Parallel, delayed
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import ThreadpoolController

from s2oct.arrays import Float32Array, FloatArray, IntArray
from s2oct.errors import S2OCTError
from s2oct.stopping import NO_DEADLINE, Deadline


class GuideStopped(S2OCTError):
    """The forests were stopped before they were done."""


def go_on_until(deadline: Deadline) -> None:
    """Raise `GuideStopped` after the deadline."""
    if deadline.passed:
        raise GuideStopped("The guide was stopped.")


Splitter = Literal["best", "random"]
"""How a tree chooses a cut of a feature: the best one, as in a random forest, or one at random."""

MOST_CELLS = {"best": 30_000, "random": 150_000}
"""Rows of a tree's sample times features that it looks at, at most: no tree takes long. Random cuts need no sorting."""

_LEAST_TRIED = 5
"""A tree that looks at fewer features takes about as long as one that looks at this many."""

MOST_DEPTH = 40
"""Depth of a tree, at most. A tree that cuts off row after row would take long."""

ROWS_AT_A_TIME = 10_000
"""Rows that a forest predicts in one job."""


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees that each give shares of classes in a leaf, in the order in which their votes are added.

    ``n_columns`` is that of the votes: 1 for two classes, which is the share of the second, or else one a class.
    """

    trees: tuple[Any, ...]
    n_columns: int

    def votes(self, rows: Float32Array, n_jobs: int | None = None, deadline: Deadline = NO_DEADLINE) -> FloatArray:
        """Votes on each row, shape (n_rows, n_columns): the mean over all trees."""
        parts = Parallel(n_jobs=n_jobs, require="sharedmem")(
            delayed(self._mean)(rows[begin : begin + ROWS_AT_A_TIME], deadline)
            for begin in range(0, len(rows), ROWS_AT_A_TIME)
        )
        return np.concatenate(parts) if parts else np.empty((0, self.n_columns))

    def _mean(self, rows: Float32Array, deadline: Deadline) -> FloatArray:
        total = np.zeros((len(rows), self.n_columns))
        for tree in self.trees:
            go_on_until(deadline)
            total += _shares(tree, rows)
        return total / len(self.trees)


@dataclass(frozen=True, eq=False)
class Grower:
    """How many trees a forest has, where its random numbers come from, and when to stop."""

    n_trees: int
    rng: np.random.RandomState
    n_jobs: int | None = None
    deadline: Deadline = NO_DEADLINE

    def grow(
        self, rows: Float32Array, targets: FloatArray, weights: FloatArray, splitter: Splitter, n_tried: int
    ) -> tuple[Forest, FloatArray]:
        """A forest fitted to votes on its rows, and the votes on each row by the trees that have not seen it.

        ``targets`` and the votes have shape (n_rows, n_columns). A tree is fitted to a sample with replacement, drawn
        by ``weights``; at every split it looks at ``n_tried`` features. A row that every tree has seen gets even votes.
        """
        odds = np.cumsum(weights)
        odds /= odds[-1]
        size = max(min(len(rows), MOST_CELLS[splitter] // max(n_tried, _LEAST_TRIED)), 2)
        grown = Parallel(n_jobs=self.n_jobs, require="sharedmem")(
            delayed(_grow_tree)(rows, targets, odds, size, (splitter, n_tried, int(seed)), self.deadline)
            for seed in self.rng.randint(2**31 - 1, size=self.n_trees)
        )
        votes, n_votes = np.zeros(targets.shape), np.zeros((len(rows), 1))
        for _, unseen, shares in grown:
            votes[unseen] += shares
            n_votes[unseen] += 1
        n_columns = targets.shape[1]
        forest = Forest(tuple(tree for tree, _, _ in grown), n_columns)
        return forest, np.where(n_votes > 0, votes / np.maximum(n_votes, 1), 1 / max(n_columns, 2))


def _grow_tree(
    rows: Float32Array,
    targets: FloatArray,
    odds: FloatArray,
    size: int,
    how: tuple[Splitter, int, int],
    deadline: Deadline,
) -> tuple[Any, IntArray, FloatArray]:
    """A tree, the rows that it has not seen, and the shares of the classes in the leaf of each of them."""
    go_on_until(deadline)
    splitter, n_tried, seed = how
    # This generator is many times faster to make than that of ``RandomState(seed)``.
    random = np.random.RandomState(np.random.PCG64(seed))
    times_seen = np.bincount(np.searchsorted(odds, random.random_sample(size), side="right"), minlength=len(rows))
    # With votes of 0 and 1, least squares chooses the cuts of the Gini index, and a leaf's means are its shares.
    tree = DecisionTreeRegressor(splitter=splitter, max_features=n_tried, max_depth=MOST_DEPTH, random_state=random)
    with sklearn.config_context(skip_parameter_validation=True, assume_finite=True):
        tree.fit(rows, targets, sample_weight=times_seen.astype(float), check_input=False)
    go_on_until(deadline)
    unseen = np.flatnonzero(times_seen == 0)
    return tree.tree_, unseen, _shares(tree.tree_, rows[unseen]) if len(unseen) else np.empty((0, targets.shape[1]))


def _shares(tree: Any, rows: Float32Array) -> FloatArray:
    """What a tree says about each row, shape (n_rows, n_columns)."""
    return np.asarray(tree.predict(rows)).reshape(len(rows), -1)


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
