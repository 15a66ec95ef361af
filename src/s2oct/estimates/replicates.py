"""Replicates of a whole fit: labeled rows drawn anew, uncertain totals drawn anew, guide and tree fitted again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.model.labels import UNLABELED
from s2oct.model.targets import Targets


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
    [IntArray, Targets, int], tuple[Callable[[IntArray], IntArray], FloatArray, Callable[[IntArray], FloatArray]]
]
"""Fits guide and tree to rows of the table (repeated ones count twice), with other targets and a seed.

Returns the classes of rows by the tree, the guide's probabilities of the unlabeled rows, and those of other rows.
"""


def drawn_labels(codes: IntArray, rng: np.random.Generator) -> IntArray:
    """How often each labeled row is drawn: with replacement within its class, so that every class keeps its number.

    ``codes`` are the classes of all rows; unlabeled rows count 0.
    """
    drawn = np.zeros(len(codes), dtype=np.int64)
    for k in np.unique(codes[codes != UNLABELED]):
        rows = np.flatnonzero(codes == k)
        np.add.at(drawn, rng.choice(rows, size=len(rows)), 1)
    return drawn


def drawn_change(targets: Targets, rng: np.random.Generator) -> FloatArray:
    """What to add to the cells: estimates are drawn anew from their standard errors; exact totals and bounds stay."""
    return np.concatenate([(margin.se * rng.normal(size=margin.se.shape)).ravel() for margin in targets.margins])


def replicate(codes: IntArray, targets: Targets, refit: Refit, seed: int, number: int) -> Replicate:
    """One replicate; the same for the same seed and number, whatever ran before it."""
    rng = np.random.default_rng([seed, number])
    drawn = drawn_labels(codes, rng)
    labeled, unlabeled = np.flatnonzero(codes != UNLABELED), np.flatnonzero(codes == UNLABELED)
    rows = np.concatenate([np.repeat(labeled, drawn[labeled]), unlabeled])
    change = drawn_change(targets, rng)
    classes_of, probabilities, probabilities_of = refit(rows, targets.shifted(change), int(rng.integers(2**31)))
    held_out = drawn[labeled] == 0
    classes = np.full(len(labeled), UNLABELED, dtype=np.int64)
    said = np.full((len(labeled), probabilities.shape[1]), np.nan)
    if held_out.any():
        classes[held_out] = classes_of(labeled[held_out])
        said[held_out] = probabilities_of(labeled[held_out])
    return Replicate(drawn[labeled].astype(float), change, classes_of(unlabeled), probabilities, classes, said)
