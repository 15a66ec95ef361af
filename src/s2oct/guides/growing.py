"""Forests that grow tree by tree until a deadline, and are the same for any number of jobs.

scikit-learn's forests check their input for every batch of trees. They forget which rows a tree has seen, and add up
votes in the order in which threads end. So we grow its trees ourselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import sklearn
from joblib import Parallel, delayed
from sklearn.tree import DecisionTreeRegressor

from s2oct.arrays import Float32Array, FloatArray, IntArray
from s2oct.guides.stopped import go_on_until
from s2oct.stopping import NO_DEADLINE, Deadline

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
