"""What each class costs each row: labels, the guide, or a linear classifier that meets the totals."""

from __future__ import annotations

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.search.instance import Instance

LABELED_PRICE = 3.0
"""What a labeled row in a wrong class costs; the mean unlabeled row costs 1."""

FEATURES = 60
"""Most features of a fitted direction: those that separate the sides best. Newton steps on more would be slow."""


def class_prices(instance: Instance, rows: FloatArray, rng: np.random.Generator) -> FloatArray:
    """What each class costs each row, multiplicities included, shape (N, n_classes); the cheapest class costs 0.

    ``rows`` are the standardised features.
    """
    n, n_classes = instance.n_labeled, len(instance.totals)
    prices = np.full((instance.n_rows, n_classes), LABELED_PRICE)
    prices[np.arange(n), instance.labels] = 0.0
    if instance.n_rows > n:
        wanted = instance.charges if instance.charges.any() else -_linear_scores(instance, rows, rng)
        shifted = _shifted_to_totals(wanted, instance.sizes[n:], instance.totals)
        mean = float(np.average(shifted.max(axis=1), weights=instance.sizes[n:]))
        # Half of the price grows with how clear a row is; the other half does not, so that doubtful rows count too.
        prices[n:] = 0.5 * shifted / mean + 0.5 * (shifted > 0) if mean > 0 else shifted
    return np.asarray(prices * instance.sizes[:, None])


def _linear_scores(instance: Instance, rows: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Ridge regression scores of every class for the unlabeled rows, from randomly reweighted labeled rows.

    If all labeled rows are of one class, some unlabeled rows are used as examples of the other class.
    """
    n, n_classes = instance.n_labeled, len(instance.totals)
    train = np.arange(n)
    codes = instance.labels
    if len(np.unique(codes)) < 2:
        extra = n + rng.permutation(instance.n_rows - n)[: max(n, 100)]
        other = (int(codes[0]) + 1) % n_classes if n else 0
        train, codes = np.concatenate([train, extra]), np.concatenate([codes, np.full(len(extra), other)])
    targets = np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)
    importance = instance.sizes[train] * rng.exponential(size=len(train))
    features = correlated_features(rows, train, importance * targets[:, 0])
    X = np.column_stack([rows[np.ix_(train, features)], np.ones(len(train))])
    gram = X.T @ (importance[:, None] * X)
    strength = float(rng.choice([0.01, 0.1, 1.0])) * float(np.trace(gram)) / len(gram)
    solution = np.linalg.solve(gram + strength * np.eye(len(gram)), X.T @ (importance[:, None] * targets))
    return np.asarray(rows[n:, features] @ solution[:-1])


def _shifted_to_totals(costs: FloatArray, sizes: FloatArray, totals: FloatArray) -> FloatArray:
    """Prices whose cheapest classes meet the totals (nearly, with more than two classes), at least 0."""
    n_classes = costs.shape[1]
    if n_classes < 2:
        return np.zeros_like(costs)
    relative = costs - (costs.sum(axis=1, keepdims=True) - costs) / (n_classes - 1)
    for k in range(n_classes):
        order = np.argsort(relative[:, k], kind="stable")
        filled = int(np.searchsorted(np.cumsum(sizes[order]), totals[k] - 0.5, side="left")) + 1 if totals[k] else 0
        low = relative[order[max(filled - 1, 0)], k]
        high = relative[order[min(filled, len(order) - 1)], k]
        beyond = float(np.ptp(relative[:, k])) + 1.0
        # A class with a total of 0 is cheapest for no row; a class that has all rows is cheapest for every row.
        threshold = low - beyond if filled == 0 else high + beyond if filled >= len(order) else 0.5 * (low + high)
        relative[:, k] -= threshold
    return np.asarray(relative - relative.min(axis=1, keepdims=True))


def correlated_features(rows: FloatArray, chosen: IntArray, gain: FloatArray) -> IntArray:
    """The features that correlate most with what the chosen rows gain, in their order."""
    if rows.shape[1] <= FEATURES:
        return np.arange(rows.shape[1])
    X = rows[chosen]
    covariance = (gain - gain.mean()) @ X
    spread = X.std(axis=0)
    correlation = np.abs(covariance) / np.where(spread > 0, spread, np.inf)
    return np.sort(np.argsort(-correlation, kind="stable")[:FEATURES])
