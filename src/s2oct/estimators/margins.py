"""How far rows are from the splits on their way, and probabilities that follow from it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, softmax

from s2oct.arrays import FloatArray
from s2oct.estimators.base import TreeClassifier
from s2oct.model.tree import ObliqueTree

_CERTAIN = 64.0
"""With this margin times slope, a probability is 0 or 1 to the last digit."""

_NEAREST = 1e-9
"""Rows nearer to a split than this are on it: whatever the slope is, their probability is about one half."""


class Margins(TreeClassifier):
    """A classifier whose probabilities come from the margins of its tree."""

    _slope: float

    def decision_function(self, X: Any) -> FloatArray:
        """Signed margin along each row's path: positive for ``classes_[1]``, negative for ``classes_[0]``.

        Its size is the least ``|omega . x - gamma|`` of the hyperplanes of ``witness_`` that led the row to its leaf.
        The unlabeled rows of a fit that is feasible for P2 have at least 1. With more than two classes there is one
        column for each class: minus how far the row would have to go to end in a leaf of the class, and, for its own
        class, how far it would have to go to end in another.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows with the features of the fit.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            Signed margins.
        """
        rows = self._rows(X)
        return self._signed_margin(rows) if len(self.classes_) == 2 else self._class_margins(rows)

    def _signed_margin(self, rows: FloatArray) -> FloatArray:
        # A row on a hyperplane has margin 0; the smallest number keeps it on the side of its class.
        margin = np.maximum(self.witness_.path_margin(rows), np.finfo(float).tiny)
        return np.where(self.tree_.predict(rows) == 1, margin, -margin)

    def _class_margins(self, rows: FloatArray) -> FloatArray:
        """The margins of every class, shape (n_rows, n_classes)."""
        own = self.tree_.predict(rows)[:, None] == np.arange(len(self.classes_))
        far = np.maximum(class_distances(self.witness_, rows, len(self.classes_)), np.finfo(float).tiny)
        nearest_other = np.where(own, np.inf, far).min(axis=1, keepdims=True)
        return np.where(own, nearest_other, -far)

    def predict_proba(self, X: Any) -> FloatArray:
        """Class probabilities: a logistic function of the signed margin.

        Its slope is 1, 2, 4, ... divided by the median margin: the smallest for which the probabilities of the
        unlabeled rows of the fit add up to the known total within half a row (plus the rows by which the tree itself
        misses the total). The probabilities agree with `predict`. They only say how far a row is from the nearest
        split: they are not calibrated on held-out labels. With more than two classes they fall off with the distance
        of the row from the leaves of each class.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows with the features of the fit.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities of the classes, in the order of ``classes_``.
        """
        return probabilities_of(self.decision_function(X), self._slope)

    def _fitted_slope(self, rows: FloatArray, sizes: FloatArray, totals: FloatArray, rows_off: float) -> float:
        """The slope for the unlabeled rows of the fit, which count with their sizes."""
        margins = self._signed_margin(rows) if len(self.classes_) == 2 else self._class_margins(rows)
        return slope_for(margins, sizes, totals, rows_off)


def class_distances(tree: ObliqueTree, rows: FloatArray, n_classes: int) -> FloatArray:
    """How far each row would have to go at some hyperplane to end in a leaf of each class, shape (n_rows, n_classes).

    It is 0 for the class in which it ends, and infinite for a class that no leaf has.
    """
    topology, values = tree.topology, tree.values(rows)
    values[:, ~tree.omega.any(axis=1)] *= np.inf  # nothing moves a row across a node that does not split
    found = np.full((len(rows), n_classes), np.inf)
    for nodes, sides, k in zip(topology.path_nodes, topology.path_sides, tree.leaf_classes, strict=True):
        wrong = np.where(sides == 1, -values[:, nodes], values[:, nodes])
        found[:, k] = np.minimum(found[:, k], np.maximum(wrong, 0.0).max(axis=1))
    return found


def probabilities_of(margins: FloatArray, slope: float) -> FloatArray:
    """Probabilities of all classes from signed margins, one of two classes or one column for each class."""
    if margins.ndim == 1:
        second = expit(margins * slope)
        return np.column_stack([1 - second, second])
    # The own class counts as 0 away. Infinities are cut: one minus another is no number.
    away = np.minimum(np.maximum(-margins, 0.0) * slope, 1e6)
    return np.asarray(softmax(-away, axis=1))


def slope_for(margins: FloatArray, sizes: FloatArray, totals: FloatArray, xi: float) -> float:
    """The smallest of 1, 2, 4, ... divided by the median margin with which probabilities add up to about the totals."""
    if not len(margins):
        return 1.0
    own = (margins > 0).astype(int) if margins.ndim == 1 else margins.argmax(axis=1)
    distances = np.abs(margins if margins.ndim == 1 else margins.max(axis=1))
    # A tree that splits nothing keeps every row infinitely far from the other classes.
    finite = distances[np.isfinite(distances)]
    slope = 1.0 / max(float(np.median(finite)), 1.0) if len(finite) else 1.0
    steepest = _CERTAIN / max(float(finite.min()), _NEAREST) if len(finite) else 1.0
    assigned = np.bincount(own, weights=sizes, minlength=len(totals))
    # Where only bounds are known, a tree that keeps them may be far from their middle.
    off = np.maximum(np.abs(assigned - totals), xi)
    while slope < steepest and (np.abs(sizes @ probabilities_of(margins, slope) - totals) > off + 0.5).any():
        slope *= 2
    return min(slope, steepest)
