"""How far rows are from the splits on their way, and probabilities that follow from it."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, softmax

from s2oct.arrays import FloatArray
from s2oct.model.tree import ObliqueTree

_CERTAIN = 64.0
"""With this margin times slope, a probability is 0 or 1 to the last digit."""

_NEAREST = 1e-9
"""Rows nearer to a split than this are on it: whatever the slope is, their probability is about one half."""


def signed_margins(tree: ObliqueTree, witness: ObliqueTree, rows: FloatArray) -> FloatArray:
    """The margin of each row along its path, negative for the first of two classes, shape (n_rows,)."""
    # A row on a hyperplane has margin 0; the smallest number keeps it on the side of its class.
    margin = np.maximum(witness.path_margin(rows), np.finfo(float).tiny)
    return np.where(tree.predict(rows) == 1, margin, -margin)


def class_margins(tree: ObliqueTree, witness: ObliqueTree, rows: FloatArray, n_classes: int) -> FloatArray:
    """The margins of every class, shape (n_rows, n_classes)."""
    own = tree.predict(rows)[:, None] == np.arange(n_classes)
    far = np.maximum(class_distances(witness, rows, n_classes), np.finfo(float).tiny)
    nearest_other = np.where(own, np.inf, far).min(axis=1, keepdims=True)
    return np.where(own, nearest_other, -far)


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
