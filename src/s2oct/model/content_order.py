"""An order of rows, columns and classes by what they contain.

Searches and forests decide between equals by position: the first row of a sample, the first of two equally good cuts.
Where they work on a table in this order, the result does not depend on how the user arranged it: on the order of rows,
columns and classes, or on the sign of a feature. Only ranks of values count here, so units do not; but sums with short
coefficients do depend on them. Everything is compared by hashes that are sums over rows or columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from s2oct._core import rank_values
from s2oct.arrays import FloatArray, IntArray
from s2oct.model.batches import mixed
from s2oct.stopping import NO_DEADLINE, Deadline

QUANTUM = 2.0**-20
"""Numbers that are nearer than this count as equal: sums of the same numbers in another order are."""

LARGEST = 2.0**42
"""Larger numbers, as extreme weights are, count as equal: they would not fit into an integer."""


@dataclass(frozen=True, eq=False)
class ContentOrder:
    """Positions of rows, columns and classes in their order, and the sign that turns each column, in that order."""

    rows: IntArray
    columns: IntArray
    signs: FloatArray
    classes: IntArray

    def arranged(self, X: FloatArray) -> FloatArray:
        """Other rows with the columns in their order."""
        return np.asarray(X[:, self.columns] * self.signs)


def marks(*numbers: FloatArray) -> Any:
    """A hash of the numbers that rows or classes have, each array of shape (n,) or (n, k)."""
    found = np.zeros(len(numbers[0]), dtype=np.uint64)
    for part in numbers:
        for column in np.asarray(part, dtype=float).reshape(len(found), -1).T:
            grains = np.round(np.clip(column, -LARGEST, LARGEST) / QUANTUM)
            found = mixed(found + grains.astype(np.int64).view(np.uint64))
    return found


def content_order(
    X: FloatArray, of_rows: Any, of_classes: Any, by_class: FloatArray, deadline: Deadline = NO_DEADLINE
) -> ContentOrder | None:
    """Put a table in order; None if the deadline passes first.

    Parameters
    ----------
    X : ndarray of shape (n_rows, p)
        The rows.
    of_rows, of_classes : ndarray of uint64 of shape (n_rows,), (n_classes,)
        `marks` of what is known about rows, without their classes, and about classes.
    by_class : ndarray of shape (n_rows, n_classes)
        What is known about rows and classes.
    deadline : Deadline
        When to end.
    """
    ranks = []
    for column in X.T:
        if deadline.passed:
            return None
        ranks.append(rank_values(np.ascontiguousarray(column, dtype=float)[None], 0.0)[0].astype(np.uint64))
    with np.errstate(over="ignore"):  # hashes are sums modulo 2^64
        return _ordered(X, ranks, of_rows, of_classes, by_class)


def _ordered(X: FloatArray, ranks: list[Any], of_rows: Any, of_classes: Any, by_class: FloatArray) -> ContentOrder:
    both = [np.array([_of_column(rank, of_rows), _of_column(_turned(rank), of_rows)]) for rank in ranks]
    # At first neither sides nor classes are known: a value counts by its distance from the nearer end.
    folded = _of_rows([np.minimum(rank, _turned(rank)) for rank in ranks], [pair.min() for pair in both], of_rows)
    named = [of_classes[k] + mixed(folded + marks(by_class[:, k])).sum() for k in range(by_class.shape[1])]
    classes = np.argsort(np.array(named, dtype=np.uint64), kind="stable")
    known = of_rows + marks(by_class[:, classes])
    both = [np.array([_of_column(rank, known), _of_column(_turned(rank), known)]) for rank in ranks]
    is_turned = np.array([pair[1] < pair[0] for pair in both], dtype=bool)
    signs = np.where(is_turned, -1.0, 1.0)
    least = [pair.min() for pair in both]
    columns = np.lexsort((np.round(_skewness(X * signs), 6), np.array(least, dtype=np.uint64)))
    upright = [_turned(rank) if turned else rank for rank, turned in zip(ranks, is_turned, strict=True)]
    rows = np.argsort(_of_rows(upright, least, known), kind="stable")
    return ContentOrder(rows, columns, signs[columns], classes)


def _turned(rank: Any) -> Any:
    return rank.max(initial=0) - rank


def _of_column(rank: Any, known: Any) -> Any:
    return mixed(known + mixed(rank)).sum()


def _of_rows(ranks: list[Any], of_columns: list[Any], known: Any) -> Any:
    found = known.copy()
    for rank, column in zip(ranks, of_columns, strict=True):
        found += mixed(rank + column)
    return found


def _skewness(X: FloatArray) -> FloatArray:
    """Tells apart columns with the same ranks."""
    with np.errstate(all="ignore"):
        parts = np.sort(X / np.maximum(np.abs(X).max(axis=0, initial=0.0), np.finfo(float).tiny), axis=0)
        parts -= parts.mean(axis=0)
        return np.asarray(np.nan_to_num(np.mean(parts**3, axis=0) / np.mean(parts**2, axis=0) ** 1.5))
