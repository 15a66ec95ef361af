"""What a guide is told beside the features: labels, totals, and what rows count."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.model.labels import Labels
from s2oct.model.targets import Targets

_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Told:
    """Labels, totals and weights, as the guides use them.

    Attributes
    ----------
    codes : ndarray of shape (n,)
        Class of each labeled row.
    targets : Targets
        Totals of the unlabeled rows.
    weights : ndarray of shape (n,)
        Weight of each labeled row, 1 in the mean.
    sizes : ndarray of shape (m,)
        What each unlabeled row counts towards the totals.
    """

    codes: IntArray
    targets: Targets
    weights: FloatArray
    sizes: FloatArray

    @classmethod
    def of(cls, labels: Labels, targets: Targets, weights: FloatArray | None = None) -> Told:
        """What is told about these rows; weights, of all rows, that are all equal count like none."""
        known = labels.is_labeled
        codes = labels.codes[known]
        if weights is not None and np.ptp(weights) == 0 and weights[0] > 0:
            targets, weights = targets.over(float(weights[0])), None
        if weights is None:
            return cls(codes, targets, np.ones(len(codes)), np.ones(len(known) - len(codes)))
        # A mean of 0 is that of labeled rows which all have weight 0; they then count alike.
        mean = float(weights[known].mean())
        of_labeled = weights[known] / mean if mean > 0 else np.ones(len(codes))
        return cls(codes, targets, np.asarray(of_labeled), np.asarray(weights[~known]))

    @property
    def missing(self) -> BoolArray:
        """Whether each class has no labeled row, shape (n_classes,)."""
        return np.asarray(np.bincount(self.codes, minlength=self.targets.n_classes) == 0)

    @property
    def n_second(self) -> int | None:
        """Rows of the second of two classes if its ranking alone decides: one exact total, and rows count alike."""
        if self.targets.n_classes != 2 or not self.targets.is_plain or (self.sizes != 1).any():
            return None
        first, second = self.targets.low.tolist()
        whole = round(second)
        is_whole = abs(whole - second) < _ROUNDING and abs(first + second - len(self.sizes)) < _ROUNDING
        return whole if is_whole else None

    @property
    def leaves_choice(self) -> bool:
        """Whether at least two classes can have rows in some domain."""
        can_have = (self.targets.margins[0].high > 0).sum(axis=1)
        return len(self.sizes) > 0 and bool((can_have > 1).any())

    def known_share_weights(self) -> FloatArray:
        """Weights that give the labeled rows the known shares of the classes; 1 in the mean."""
        totals = self.targets.class_totals()
        if not totals.any():
            return self.weights
        labeled = np.bincount(self.codes, weights=self.weights, minlength=len(totals))
        # Half a row for a class whose total is 0: some weight keeps it in the forest.
        weights = (np.maximum(totals, 0.5) / np.where(labeled > 0, labeled, 1.0))[self.codes] * self.weights
        return np.asarray(weights / weights.mean())
