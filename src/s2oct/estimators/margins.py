"""How far rows are from the splits on their way, and probabilities that follow from it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from s2oct.arrays import FloatArray
from s2oct.estimators.base import TreeClassifier

_STEEPEST = 64.0
"""With this slope, rows at distance 1 have a probability of 0 or 1 to the last digit."""


class Margins(TreeClassifier):
    """A classifier of two classes whose probabilities come from the margins of its tree."""

    _slope: float

    def decision_function(self, X: Any) -> FloatArray:
        """Signed margin along each row's path: positive for ``classes_[1]``, negative for ``classes_[0]``.

        Its size is the least ``|omega . x - gamma|`` of the hyperplanes of ``witness_`` that led the row to its leaf.
        The unlabeled rows of a fit that is feasible for P2 have at least 1.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows with the features of the fit.

        Returns
        -------
        ndarray of shape (n_rows,)
            Signed margins.
        """
        return self._signed_margin(self._rows(X))

    def _signed_margin(self, rows: FloatArray) -> FloatArray:
        # A row on a hyperplane has margin 0; the smallest number keeps it on the side of its class.
        margin = np.maximum(self.witness_.path_margin(rows), np.finfo(float).tiny)
        return np.where(self.tree_.predict(rows) == 1, margin, -margin)

    def predict_proba(self, X: Any) -> FloatArray:
        """Class probabilities: a logistic function of the signed margin.

        Its slope is 1, 2, 4, ... divided by the median margin: the smallest for which the probabilities of the
        unlabeled rows of the fit add up to the known total within half a row (plus the rows by which the tree itself
        misses the total). The probabilities agree with `predict`. They only say how far a row is from the nearest
        split: they are not calibrated on held-out labels.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows with the features of the fit.

        Returns
        -------
        ndarray of shape (n_rows, 2)
            Probabilities of ``classes_[0]`` and ``classes_[1]``.
        """
        second = expit(self.decision_function(X) * self._slope)
        return np.column_stack([1 - second, second])


def slope_for(margin: FloatArray, total: float, xi: float) -> float:
    """The smallest of 1, 2, 4, ... divided by the median margin that keeps the sum of probabilities near the total."""
    slope = 1.0 / max(float(np.median(np.abs(margin))), 1.0) if len(margin) else 1.0
    while slope < _STEEPEST and abs(float(expit(slope * margin).sum()) - total) > xi + 0.5:
        slope *= 2
    return min(slope, _STEEPEST)
