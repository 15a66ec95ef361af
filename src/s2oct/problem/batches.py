"""Rows in batches, hashes of rows, and an order of rows and columns that depends on their content alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import numpy as np

from s2oct._core import rank_values
from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.problem.totals import Targets
from s2oct.stopping import NO_DEADLINE, Deadline

MOST_WHOLE = 100_000
"""Maximum number of rows that a fit uses at once. A larger table is a register, and its rows are hashed one by one.
A fit of this size takes seconds; one of ten times the size would not finish within the default limit of a minute."""


def is_large(X: Any) -> bool:
    """Whether a user's table has too many rows to fit at once; False for objects without rows."""
    shape = getattr(X, "shape", None)
    if isinstance(shape, tuple) and shape:
        return bool(shape[0] > MOST_WHOLE)
    return isinstance(X, Sized) and len(X) > MOST_WHOLE


BATCH_ROWS, BATCH_NUMBERS = 2**17, 2**22
"""Maximum rows, and maximum rows times features, of a batch: some megabytes, so that the overhead of each is small."""

QUANTUM = 2.0**-20
"""Numbers closer than this count as equal in hashes: sums of the same numbers in another order are."""

LARGEST = 2.0**42
"""Larger numbers, such as extreme weights, count as equal in hashes: they would not fit into an integer."""


class Batch(NamedTuple):
    """Some unlabeled rows.

    Attributes
    ----------
    X : ndarray of shape (rows, p)
        Their features, in the user's units.
    sizes : ndarray of shape (rows,)
        What each counts towards the totals, in units of the mean weight.
    domains : ndarray of shape (n_margins, rows)
        The domain of each row in each margin, numbered over the domains of all margins.
    """

    X: FloatArray
    sizes: FloatArray
    domains: IntArray


def rows_of_batch(n_features: int) -> int:
    """Number of rows of a batch."""
    return min(BATCH_ROWS, max(BATCH_NUMBERS // max(n_features, 1), 1))


T = TypeVar("T")
"""What a pass finds in a batch; it can be added to what it finds in others."""

_Part = TypeVar("_Part")


class Batches(Protocol):
    """All unlabeled rows of a register, one batch at a time."""

    @property
    def n_readers(self) -> int:
        """Number of batches that are read at the same time."""

    def total(self, part: Callable[[Batch], T], deadline: Deadline) -> T | None:
        """Add up what a function finds in every batch; None if the deadline passes first.

        The function is pure, and may be sent to another process.
        """


def added_up(parts: Iterable[_Part], find: Callable[[_Part], T], deadline: Deadline) -> T | None:
    """Add up what a function finds in each part, one after the other; None if the deadline passes first."""
    total: Any = None
    for part in parts:
        if deadline.passed:
            return None
        found = find(part)
        total = found if total is None else total + found
    return cast("T | None", total)


@dataclass(frozen=True, eq=False)
class ArrayBatches:
    """The unlabeled rows of an array.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, p)
        Labeled and unlabeled rows, as floats of 32 or 64 bits: only one batch is copied at a time.
    is_labeled : ndarray of bool of shape (n_rows,)
        Which rows are labeled.
    targets : Targets
        Has the domains of the unlabeled rows.
    sizes : ndarray of shape (n_rows,) or None
        What each row counts; 1 each if None.
    batch_rows : int, optional
        Rows of a batch, labeled ones included; `rows_of_batch` if None.
    """

    rows: FloatArray
    is_labeled: BoolArray
    targets: Targets
    sizes: FloatArray | None = None
    batch_rows: int | None = None

    def __iter__(self) -> Iterator[Batch]:
        done = 0
        begins = first_domains(self.targets)
        step = self.batch_rows or rows_of_batch(self.rows.shape[1])
        for first in range(0, len(self.rows), step):
            part = slice(first, first + step)
            is_unlabeled = ~self.is_labeled[part]
            X = np.ascontiguousarray(self.rows[part][is_unlabeled], dtype=float)
            codes = [margin.codes[done : done + len(X)] for margin in self.targets.margins]
            domains = np.array([begin + code for begin, code in zip(begins, codes, strict=True)], dtype=np.int64)
            sizes = np.ones(len(X)) if self.sizes is None else self.sizes[part][is_unlabeled]
            yield Batch(X, sizes, domains)
            done += len(X)

    @property
    def n_readers(self) -> int:
        """One batch after the other."""
        return 1

    def total(self, part: Callable[[Batch], T], deadline: Deadline) -> T | None:
        """Add up what a function finds in every batch; None if the deadline passes first."""
        return added_up(self, part, deadline)


def first_domains(targets: Targets) -> list[int]:
    """The number of the first domain of each margin, if the domains of all margins are numbered together."""
    return list(accumulate((margin.n_domains for margin in targets.margins[:-1]), initial=0))


def row_keys(seed: int, positions: IntArray) -> Any:
    """A random key for each row, which depends only on its position in the table and not on batches.

    The rows with the smallest keys are a random sample.
    """
    key = positions.astype(np.uint64) + np.uint64((seed * _GOLDEN + 1) % 2**64)
    return mixed(key)


_GOLDEN = 0x9E3779B97F4A7C15
_SHIFTS_AND_FACTORS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))


def mixed(numbers: Any) -> Any:
    """Mix the bits of 64-bit numbers with splitmix64, so that close numbers become distant ones."""
    with np.errstate(over="ignore"):
        numbers = numbers * np.uint64(_GOLDEN)
        for shift, factor in _SHIFTS_AND_FACTORS:
            numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
        return numbers ^ (numbers >> np.uint64(31))


@dataclass(frozen=True, eq=False)
class ContentOrder:
    """An order of rows, columns and classes by content, and the sign by which each column, in that order, is turned."""

    rows: IntArray
    columns: IntArray
    signs: FloatArray
    classes: IntArray

    def arranged(self, X: FloatArray) -> FloatArray:
        """Other rows with the columns in this order."""
        return np.asarray(X[:, self.columns] * self.signs)


def marks(*numbers: FloatArray) -> Any:
    """A hash of the numbers of each row or class; each array has shape (n,) or (n, k)."""
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
    # At first neither signs nor classes are known: a value counts by its distance from the nearer end.
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
    """Distinguishes columns with the same ranks."""
    with np.errstate(all="ignore"):
        parts = np.sort(X / np.maximum(np.abs(X).max(axis=0, initial=0.0), np.finfo(float).tiny), axis=0)
        parts -= parts.mean(axis=0)
        return np.asarray(np.nan_to_num(np.mean(parts**3, axis=0) / np.mean(parts**2, axis=0) ** 1.5))
