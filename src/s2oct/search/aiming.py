"""Classes of the rows that meet a total exactly at least cost, whatever tree may give them: an aim for the search.

Where few rows differ and many are equal, only some sets of rows add up to the total. A search that moves one split at a
time passes by them. So it is given one of these sets to aim at.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.model.evidence import ROW_OFF, Evidence

MOST_STEPS = 20_000_000
"""Rows that differ times the total, at most: with more, single splits move few rows at a time, and no aim is needed."""


def aimed_prices(evidence: Evidence, rng: Generator | None = None) -> FloatArray | None:
    """What each class costs each row, labeled rows as before, if trees are to give classes that meet the totals.

    Every domain of the first margin has its own aim. With more than two classes, one class after the other gets its
    rows, the rarest first.

    Parameters
    ----------
    evidence : Evidence
        What classes cost rows.
    rng : Generator, optional
        Makes another choice, of somewhat higher cost; without it the classes have the least cost.

    Returns
    -------
    ndarray of shape (n + m, n_classes) or None
        The prices; None if there are no such classes, too many rows, weights, or totals that are not exact.
    """
    margin = evidence.targets.margins[0]
    counted = np.flatnonzero(evidence.size > 0)
    size, is_whole = evidence.size[counted], evidence.size[counted] == np.round(evidence.size[counted])
    if not (margin.low == margin.high).all() or not is_whole.all():
        return None
    cost = evidence.cost[counted]
    doubt = 1.0 if rng is None else rng.uniform(0.5, 1.5, size=cost.shape)
    domain = margin.codes[counted - evidence.n_labeled]
    prices = evidence.cost.copy()
    prices[counted] = ROW_OFF * size[:, None]
    for d in range(margin.n_domains):
        here = domain == d
        aim = _classes_with_totals((cost * doubt)[here], size[here], margin.low[d])
        if aim is None:
            return None
        prices[counted[here], aim] = 0.0
    return prices


def _classes_with_totals(cost: FloatArray, size: FloatArray, totals: FloatArray) -> IntArray | None:
    """Classes of low cost that meet the totals, class after class; None if some class finds no rows that add up."""
    rarest_first: list[int] = np.argsort(totals, kind="stable").tolist() if len(totals) > 2 else [0, 1]
    *rarer, commonest = rarest_first
    classes, left = np.full(len(size), commonest), np.arange(len(size))
    for place, k in enumerate(rarer):
        against = cost[np.ix_(left, np.array([*rarer[place + 1 :], commonest]))].min(axis=1)
        found = cheapest_classes(np.column_stack([cost[left, k], against]), size[left], int(totals[k]))
        if found is None:
            return None
        classes[left[found == 0]] = k
        left = left[found == 1]
    return classes


def cheapest_classes(cost: FloatArray, size: FloatArray, total: int) -> IntArray | None:
    """Classes of least cost with which rows of class 0 add up to a total.

    Parameters
    ----------
    cost : ndarray of shape (n, 2)
        What each class costs each row.
    size : ndarray of shape (n,)
        How many rows of the total each row stands for: whole numbers from 1 on.
    total : int
        The total of class 0.

    Returns
    -------
    ndarray of shape (n,) or None
        The class of each row; None if no set of rows adds up, or if the table of all sums would be too large.

    Examples
    --------
    >>> import numpy as np
    >>> cost = np.array([[0.0, 5.0], [0.0, 1.0], [2.0, 0.0]])
    >>> cheapest_classes(cost, np.array([3.0, 2.0, 1.0]), 4).tolist()
    [0, 1, 0]
    """
    if len(size) * (total + 1) > MOST_STEPS:
        return None
    least = np.full(total + 1, np.inf)
    least[0] = 0.0
    joins = np.zeros((len(size), total + 1), dtype=bool)
    for i, n_rows in enumerate(size.astype(int)):
        outside, inside = least + cost[i, 1], np.full(total + 1, np.inf)
        inside[n_rows:] = least[: max(total + 1 - n_rows, 0)] + cost[i, 0]
        joins[i] = inside < outside
        least = np.where(joins[i], inside, outside)
    return _traced(joins, size.astype(int), total) if np.isfinite(least[total]) else None


def _traced(joins: BoolArray, size: IntArray, total: int) -> IntArray:
    """The classes that lead to a total, from the last row back to the first."""
    classes = np.ones(len(size), dtype=np.int64)
    for i in reversed(range(len(size))):
        if joins[i, total]:
            classes[i] = 0
            total -= size[i]
    return classes
