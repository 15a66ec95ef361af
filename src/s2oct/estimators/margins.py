"""Distances of rows from the splits of a tree, and the resulting probabilities."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, softmax

from s2oct.arrays import FloatArray
from s2oct.trees.tree import ObliqueTree

_CERTAIN = 64.0
"""Product of margin and slope at which a probability rounds to 0 or 1."""

_NEAREST = 1e-9
"""Distance below which a row counts as on a split: its probability is about one half for any slope."""


def margins_of(tree: ObliqueTree, witness: ObliqueTree, rows: FloatArray, n_classes: int) -> FloatArray:
    """Return signed margins of rows along their paths: of the second of two classes, or of every class."""
    # A row on a hyperplane has margin 0; the smallest positive number keeps it on the side of its class.
    tiny = np.finfo(float).tiny
    if n_classes == 2:
        margin = np.maximum(witness.path_margin(rows), tiny)
        return np.where(tree.predict(rows) == 1, margin, -margin)
    own = tree.predict(rows)[:, None] == np.arange(n_classes)
    far = np.maximum(_class_distances(witness, rows, n_classes), tiny)
    nearest_other = np.where(own, np.inf, far).min(axis=1, keepdims=True)
    return np.where(own, nearest_other, -far)


def _class_distances(tree: ObliqueTree, rows: FloatArray, n_classes: int) -> FloatArray:
    """Return the distance of each row from the leaves of each class, shape (n_rows, n_classes).

    It is 0 for the row's own class, and infinite for a class without a leaf.
    """
    topology, values = tree.topology, tree.values(rows)
    values[:, ~tree.omega.any(axis=1)] *= np.inf  # nothing moves a row across a node that does not split
    found = np.full((len(rows), n_classes), np.inf)
    for nodes, sides, k in zip(topology.path_nodes, topology.path_sides, tree.leaf_classes, strict=True):
        wrong = np.where(sides == 1, -values[:, nodes], values[:, nodes])
        found[:, k] = np.minimum(found[:, k], np.maximum(wrong, 0.0).max(axis=1))
    return found


def probabilities_of(margins: FloatArray, slope: float) -> FloatArray:
    """Return probabilities of all classes from signed margins."""
    if margins.ndim == 1:
        second = expit(margins * slope)
        return np.column_stack([1 - second, second])
    # The distance to the row's own class is 0. Infinities are clipped, because their difference would be NaN.
    away = np.minimum(np.maximum(-margins, 0.0) * slope, 1e6)
    return np.asarray(softmax(-away, axis=1))


def slope_for(margins: FloatArray, sizes: FloatArray, totals: FloatArray, xi: float) -> float:
    """Return the smallest of 1, 2, 4, ... over the median margin for which probabilities nearly add up to the totals.

    Parameters
    ----------
    margins : ndarray of shape (m,) or (m, n_classes)
        Signed margins of the unlabeled rows.
    sizes : ndarray of shape (m,)
        Weights of these rows.
    totals : ndarray of shape (n_classes,)
        Their totals.
    xi : float
        Rows by which the tree misses the totals.
    """
    if not len(margins):
        return 1.0
    own = (margins > 0).astype(int) if margins.ndim == 1 else margins.argmax(axis=1)
    distances = np.abs(margins if margins.ndim == 1 else margins.max(axis=1))
    # In a tree without splits, every row is infinitely far from the other classes.
    finite = distances[np.isfinite(distances)]
    slope = 1.0 / max(float(np.median(finite)), 1.0) if len(finite) else 1.0
    steepest = _CERTAIN / max(float(finite.min()), _NEAREST) if len(finite) else 1.0
    assigned = np.bincount(own, weights=sizes, minlength=len(totals))
    # If only bounds are known, a tree that respects them may be far from their middle.
    off = np.maximum(np.abs(assigned - totals), xi)
    while slope < steepest and (np.abs(sizes @ probabilities_of(margins, slope) - totals) > off + 0.5).any():
        slope *= 2
    return min(slope, steepest)
