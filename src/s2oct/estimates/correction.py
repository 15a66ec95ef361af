"""From predicted classes to probabilities of true classes: what held-out labels show of the tree's mistakes.

Every labeled row has votes: the shares of classes that trees gave it which were not fitted to it. Reweighted to the
known shares of the classes, they say how often a row of predicted class j has true class k. The guide's probabilities
say more about single rows. How much either counts is chosen by the likelihood of the held-out labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.model.targets import Targets

PRIOR_ROWS = 1.0
"""Rows of the known shares that are added to the held-out rows of each predicted class: few labels prove little."""

POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Powers of the guide's probabilities and of the tree's confusion that are tried."""

RAKINGS = 200
"""Passes over the cells in which probabilities are made to add up to the totals, at most."""

LEAST = 1e-3
"""Probabilities are at least this: one surprise among few labels does not decide."""


@dataclass(frozen=True, eq=False)
class Correction:
    """Probabilities of true classes, given the class by the tree and the guide's probabilities.

    Attributes
    ----------
    confusion : ndarray of shape (n_classes, n_classes)
        Probability of each true class (rows) for each class by the tree (columns).
    guide_power, tree_power : float
        How much the guide and the tree count; 1 and 0 is the guide alone.
    """

    confusion: FloatArray
    guide_power: float
    tree_power: float

    def probabilities(self, classes: IntArray, said: FloatArray) -> FloatArray:
        """Probabilities of the true classes of rows, shape (rows, n_classes)."""
        return combined(self.confusion[:, classes].T, said, self.guide_power, self.tree_power)


def combined(by_tree: FloatArray, said: FloatArray, guide_power: float, tree_power: float) -> FloatArray:
    """The product of two sets of probabilities, each to a power, as probabilities."""
    product = np.clip(said, LEAST, None) ** guide_power * np.clip(by_tree, LEAST, None) ** tree_power
    return np.asarray(product / product.sum(axis=1, keepdims=True))


def true_given_predicted(votes: FloatArray, labels: IntArray, weights: FloatArray, shares: FloatArray) -> FloatArray:
    """Probability of each true class for each predicted one, shape (n_classes, n_classes).

    ``votes`` (n, n_classes) are shares of predicted classes of the labeled rows, ``weights`` what the rows count, and
    ``shares`` the known shares of the classes.
    """
    n_classes = votes.shape[1]
    table = np.zeros((n_classes, n_classes))
    for k in range(n_classes):
        rows = labels == k
        total = float(weights[rows].sum())
        if total > 0:
            table[k] = shares[k] * (weights[rows] @ votes[rows]) / total
    # In rows: the prior counts like so many labeled rows in each column.
    table = table * float(weights.sum()) + PRIOR_ROWS * shares[:, None]
    return np.asarray(table / table.sum(axis=0))


def chosen_correction(
    votes: FloatArray, said: FloatArray, labels: IntArray, weights: FloatArray, shares: FloatArray
) -> Correction:
    """The powers with which held-out labels are most likely, each label weighted to the known shares."""
    confusion = true_given_predicted(votes, labels, weights, shares)
    by_tree = votes @ confusion.T
    of_class = np.bincount(labels, weights=weights, minlength=len(shares))
    importance = weights * (shares / np.maximum(of_class, 1e-300))[labels]
    best, least = (0.0, 1.0), np.inf
    for guide_power in POWERS:
        for tree_power in POWERS:
            if guide_power == tree_power == 0:
                continue
            likely = combined(by_tree, said, guide_power, tree_power)[np.arange(len(labels)), labels]
            loss = -float(importance @ np.log(likely))
            # Powers of a guide that finds all classes alike change nothing but rounding: less of it is simpler.
            if not np.isfinite(least) or loss < least - 1e-9 * abs(least):
                best, least = (guide_power, tree_power), loss
    return Correction(confusion, *best)


def raked(probabilities: FloatArray, sizes: FloatArray, targets: Targets) -> FloatArray:
    """Probabilities multiplied by one factor a cell, so that they add up to what is known of every cell.

    Bounds are respected; an estimated total counts as its value.
    """
    found = probabilities
    first = targets.first_cells
    low = np.concatenate(
        [np.where(np.isnan(margin.value), margin.low, margin.value).ravel() for margin in targets.margins]
    )
    high = np.concatenate(
        [np.where(np.isnan(margin.value), margin.high, margin.value).ravel() for margin in targets.margins]
    )
    place = first[:, :, None] + np.arange(targets.n_classes)
    tolerance = 1e-9 * max(float(sizes.sum()), 1.0)
    for _ in range(RAKINGS):
        worst = 0.0
        for cells in place:
            counts = np.bincount(cells.ravel(), (sizes[:, None] * found).ravel(), minlength=len(low))
            wanted = np.clip(counts, low, high)
            # Cells of the other margins have no rows here.
            used = counts > 0
            worst = max(worst, float(np.abs(wanted - counts)[used].max(initial=0.0)))
            factor = np.where(used, wanted / np.maximum(counts, 1e-300), 1.0)
            found = found * factor[cells] + 1e-300
            found = found / found.sum(axis=1, keepdims=True)
        if worst < tolerance:
            break
    return np.asarray(found)
