"""Replicates of a whole fit: how labeled rows are drawn, uncertain totals drawn anew, guide and tree fitted again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.model.labels import UNLABELED
from s2oct.model.targets import Margin, Targets
from s2oct.model.totals import largest_remainder

HELD_OUT_DRAWS = 20
"""Bootstrap replicates beside replicate weights that leave nothing out: mistakes show on rows not seen."""


class Draws(Protocol):
    """How much each labeled row counts in each replicate."""

    @property
    def identity(self) -> bytes:
        """What tells drawings apart."""

    def times(self, codes: IntArray, number: int, rng: np.random.Generator) -> FloatArray:
        """How much each labeled row counts in one replicate, compared with the fit; ``codes`` are their classes."""


class Drawing(Draws, Protocol):
    """The same, and what the spread of replicates says."""

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


@dataclass(frozen=True)
class Folds:
    """Rows held out in turn, every row once, so that each label is predicted by a fit that has not seen it.

    Folds share most labels: their spread says little about other samples.

    Attributes
    ----------
    n_folds : int
        Number of fits.
    """

    n_folds: int

    @property
    def identity(self) -> bytes:
        """The number of folds."""
        return f"folds {self.n_folds}".encode()

    def times(self, codes: IntArray, number: int, rng: np.random.Generator) -> FloatArray:
        """0 for the rows of a fold, 1 for the others. Every class is dealt to the folds in turn.

        The last label of a class is in no fold: a fit without it would not know the class.
        """
        counts = np.ones(len(codes))
        for k in np.unique(codes):
            rows = np.flatnonzero(codes == k)
            if len(rows) > 1:
                # The same order for every fold, whatever the generator of a replicate.
                dealt = np.random.default_rng(len(rows)).permutation(rows)
                counts[dealt[number :: self.n_folds]] = 0.0
        return counts


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


@dataclass(frozen=True, eq=False)
class Replicate:
    """What one replicate found.

    Attributes
    ----------
    drawn : ndarray of shape (n,)
        How often each labeled row was drawn, or its replicate weight over its weight.
    change : ndarray of shape (n_cells,)
        By how much the totals drawn are above the given ones.
    classes : ndarray of shape (m,)
        Class that the tree gives each unlabeled row.
    probabilities : ndarray of shape (m, n_classes)
        What the guide says of each unlabeled row.
    held_out_classes : ndarray of shape (n,)
        Class that the tree gives each labeled row that was not drawn; -1 for the others.
    held_out_probabilities : ndarray of shape (n, n_classes)
        What the guide says of these rows; NaN for the others.
    """

    drawn: FloatArray
    change: FloatArray
    classes: IntArray
    probabilities: FloatArray
    held_out_classes: IntArray
    held_out_probabilities: FloatArray


Refit = Callable[
    [IntArray, FloatArray | None, Targets, int],
    tuple[Callable[[IntArray], IntArray], FloatArray, Callable[[IntArray], FloatArray]],
]
"""Fits guide and tree to rows of the table (repeated ones count twice), with other targets and a seed.

The second argument multiplies what these rows weigh; None leaves it.

Returns the classes of rows by the tree, the guide's probabilities of the unlabeled rows, and those of other rows.
"""


def drawn_change(targets: Targets, rng: np.random.Generator) -> FloatArray:
    """What to add to the cells: estimates are drawn anew from their standard errors; exact totals and bounds stay."""
    return np.concatenate([_change_of(margin, rng).ravel() for margin in targets.margins])


def _change_of(margin: Margin, rng: np.random.Generator) -> FloatArray:
    change = margin.se * rng.normal(size=margin.se.shape)
    is_aim = (margin.low == margin.high) & (margin.se > 0)
    for d in np.flatnonzero(is_aim.sum(axis=1) > 1).tolist():
        # Totals that a fit has estimated and aims at still have to add up to the rows of their domain.
        free, n_free = is_aim[d], int(is_aim[d].sum())
        value, spread = margin.value[d, free], margin.se[d, free] ** 2
        drawn = change[d, free] * np.sqrt(n_free / (n_free - 1))
        drawn = np.maximum(value + drawn - spread / spread.sum() * drawn.sum(), 0.0)
        drawn *= value.sum() / drawn.sum()
        are_whole = bool((value == np.round(value)).all())
        change[d, free] = (largest_remainder(drawn, round(value.sum())) if are_whole else drawn) - value
    return np.asarray(change)


def replicate(codes: IntArray, targets: Targets, refit: Refit, drawing: Draws, seed: int, number: int) -> Replicate:
    """One replicate; the same for the same seed and number, whatever ran before it."""
    rng = np.random.default_rng([seed, number])
    labeled, unlabeled = np.flatnonzero(codes != UNLABELED), np.flatnonzero(codes == UNLABELED)
    drawn = drawing.times(codes[labeled], number, rng)
    rows, factors = _drawn_rows(labeled, unlabeled, drawn)
    change = drawn_change(targets, rng)
    seed_of_fit = int(rng.integers(2**31))
    classes_of, probabilities, probabilities_of = refit(rows, factors, targets.shifted(change), seed_of_fit)
    held_out = drawn == 0
    classes = np.full(len(labeled), UNLABELED, dtype=np.int64)
    said = np.full((len(labeled), probabilities.shape[1]), np.nan)
    if held_out.any():
        classes[held_out] = classes_of(labeled[held_out])
        said[held_out] = probabilities_of(labeled[held_out])
    return Replicate(drawn, change, classes_of(unlabeled), probabilities, classes, said)


def _drawn_rows(labeled: IntArray, unlabeled: IntArray, drawn: FloatArray) -> tuple[IntArray, FloatArray | None]:
    """Rows of a replicate. Rows that count a whole number of times are repeated; others are there once and weighed."""
    times = drawn.astype(np.int64)
    if (times == drawn).all():
        return np.concatenate([np.repeat(labeled, times), unlabeled]), None
    is_drawn = drawn > 0
    return np.concatenate([labeled[is_drawn], unlabeled]), np.concatenate([drawn[is_drawn], np.ones(len(unlabeled))])
