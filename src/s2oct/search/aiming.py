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

    Parameters
    ----------
    evidence : Evidence
        What classes cost rows.
    rng : Generator, optional
        Makes another choice, of somewhat higher cost; without it the classes have the least cost.

    Returns
    -------
    ndarray of shape (n + m, 2) or None
        The prices; None if there are no such classes, too many rows, or more than two classes.
    """
    if len(evidence.totals) != 2:
        return None
    counted = np.flatnonzero(evidence.size > 0)
    cost, size = evidence.cost[counted], evidence.size[counted]
    doubt = 1.0 if rng is None else rng.uniform(0.5, 1.5, size=cost.shape)
    aim = cheapest_classes(cost * doubt, size, int(evidence.totals[0]))
    if aim is None:
        return None
    prices = evidence.cost.copy()
    prices[counted] = ROW_OFF * size[:, None]
    prices[counted, aim] = 0.0
    return prices


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
