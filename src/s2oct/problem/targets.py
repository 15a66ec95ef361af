"""Known totals of the unlabeled rows, by cell: a cell is a domain and a class.

A margin divides all rows into domains, for instance regions, and has bounds on the number of rows of each class in each
domain. There may be several margins, for instance regions and age groups. One margin with one domain and exact totals
is the paper's case.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from s2oct.arrays import FloatArray, IntArray, ObjectArray

NEARLY_MET = 0.5
"""A total counts as met up to this part of a row: sums of weights rarely reach it exactly."""


@dataclass(frozen=True, eq=False)
class Margin:
    """Totals of every class in every domain of one division of the rows.

    Attributes
    ----------
    name : str
        What divides the rows, for instance the region; empty if the whole table is the only domain.
    domains : ndarray of shape (n_domains,)
        The domains in the user's terms.
    codes : ndarray of shape (m,)
        Domain of each unlabeled row.
    low, high : ndarray of shape (n_domains, n_classes)
        Bounds on the unlabeled rows of each class, equal if the total is known exactly; 0 and all rows of the domain
        if nothing is known.
    value : ndarray of shape (n_domains, n_classes)
        The known total, or its estimate; NaN if only bounds are known.
    se : ndarray of shape (n_domains, n_classes)
        Standard error of the total: 0 unless it is an estimate.
    """

    name: str
    domains: ObjectArray
    codes: IntArray
    low: FloatArray
    high: FloatArray
    value: FloatArray
    se: FloatArray

    @classmethod
    def exact(cls, totals: Sequence[float] | IntArray | FloatArray, n_unlabeled: int) -> Margin:
        """The paper's case: one domain, all totals known."""
        known = np.asarray(totals, dtype=float)[None, :]
        everything = np.array([""], dtype=object)
        codes = np.zeros(n_unlabeled, dtype=np.int64)
        return cls("", everything, codes, known, known, known, np.zeros_like(known))

    @property
    def n_domains(self) -> int:
        """Number of domains."""
        return len(self.domains)

    def mapped(self, change: Callable[[FloatArray], FloatArray]) -> Margin:
        """The same with a change to each of the four arrays."""
        low, high, value, se = map(change, (self.low, self.high, self.value, self.se))
        return replace(self, low=low, high=high, value=value, se=se)

    def counts(self, classes: IntArray, sizes: FloatArray) -> FloatArray:
        """Rows of each class in each domain, each row counted with its size, shape (n_domains, n_classes)."""
        n_classes = self.low.shape[1]
        cell = self.codes * n_classes + classes
        return np.bincount(cell, weights=sizes, minlength=self.low.size).astype(float).reshape(self.low.shape)

    def rows_off(self, counts: FloatArray) -> FloatArray:
        """For each domain, the rows that would have to change class to be within the bounds, shape (n_domains,)."""
        return rows_beyond_bounds(counts, self.low, self.high)

    def excess(self, counts: FloatArray) -> FloatArray:
        """For each cell, the rows above its upper bound, or as a negative number those missing to its lower bound."""
        return np.asarray(np.maximum(counts - self.high, 0.0) - np.maximum(self.low - counts, 0.0))


def rows_beyond_bounds(counts: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Rows that would have to change class to be within bounds; classes are on the last axis of all three arrays."""
    over, under = np.maximum(counts - high, 0.0).sum(axis=-1), np.maximum(low - counts, 0.0).sum(axis=-1)
    return np.asarray(np.maximum(over, under))


@dataclass(frozen=True, eq=False)
class Targets:
    """Known totals of the unlabeled rows in all margins.

    Parameters
    ----------
    margins : tuple of Margin
        At least one.
    """

    margins: tuple[Margin, ...]

    @classmethod
    def exact(cls, totals: Sequence[float] | IntArray | FloatArray, n_unlabeled: int) -> Targets:
        """The paper's case: one total of each class, over all unlabeled rows."""
        return cls((Margin.exact(totals, n_unlabeled),))

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.margins[0].low.shape[1])

    @property
    def n_cells(self) -> int:
        """Number of cells over all margins."""
        return sum(margin.low.size for margin in self.margins)

    @property
    def has_one_domain(self) -> bool:
        """Whether the whole table is the only domain."""
        return len(self.margins) == 1 and self.margins[0].n_domains == 1

    @cached_property
    def is_plain(self) -> bool:
        """Whether there is one domain, and each of its totals is a single number."""
        return self.has_one_domain and bool((self.margins[0].low == self.margins[0].high).all())

    @cached_property
    def is_known(self) -> bool:
        """Whether there is one domain, and its totals are known exactly, without estimates."""
        return self.is_plain and not self.margins[0].se.any()

    @cached_property
    def low(self) -> FloatArray:
        """Lower bounds of all cells, margin after margin, domain after domain, shape (n_cells,)."""
        return np.concatenate([margin.low.ravel() for margin in self.margins])

    @cached_property
    def high(self) -> FloatArray:
        """Upper bounds of all cells in the same order."""
        return np.concatenate([margin.high.ravel() for margin in self.margins])

    @cached_property
    def first_cells(self) -> IntArray:
        """Position of the cell of class 0 in the domain of each row, for each margin, shape (n_margins, m)."""
        begins = np.cumsum([0, *(margin.low.size for margin in self.margins[:-1])])
        return np.array(
            [begin + margin.codes * self.n_classes for begin, margin in zip(begins, self.margins, strict=True)],
            dtype=np.int64,
        )

    def rows_off(self, classes: IntArray, sizes: FloatArray) -> float:
        """Rows that would have to change class to meet all totals, added up over margins and domains."""
        return float(sum(margin.rows_off(margin.counts(classes, sizes)).sum() for margin in self.margins))

    def _each(self, change: Callable[[Margin], Margin]) -> Targets:
        return replace(self, margins=tuple(map(change, self.margins)))

    def of_rows(self, rows: IntArray) -> Targets:
        """The same totals for some of the rows, each of which may stand for several."""
        return self._each(lambda margin: replace(margin, codes=margin.codes[rows]))

    def arranged(self, rows: IntArray, classes: IntArray) -> Targets:
        """The same totals with rows and classes in another order."""
        return self.of_rows(rows)._each(lambda margin: margin.mapped(lambda part: part[:, classes]))

    def over(self, unit: float) -> Targets:
        """The same totals in another unit; numbers that should be whole are, in spite of rounding errors."""
        return self._each(lambda margin: margin.mapped(lambda part: _near_whole(part / unit)))

    def shifted(self, change: FloatArray) -> Targets:
        """The same with a change added to each cell, which does not fall below 0."""
        shifts = np.split(change, np.cumsum([margin.low.size for margin in self.margins[:-1]]))
        margins = []
        for margin, shift in zip(self.margins, shifts, strict=True):
            more = shift.reshape(margin.low.shape)
            low, high, value = (np.maximum(part + more, 0.0) for part in (margin.low, margin.high, margin.value))
            margins.append(replace(margin, low=low, high=high, value=value))
        return replace(self, margins=tuple(margins))

    def widened(self, rows: float) -> Targets:
        """The same with bounds that are wider by a number of rows on both sides."""
        return self._each(lambda m: replace(m, low=np.maximum(m.low - rows, 0.0), high=m.high + rows))

    def class_totals(self) -> FloatArray:
        """Total of each class over all domains of the first margin, with the middle of bounds as an unknown total."""
        margin = self.margins[0]
        middle = 0.5 * (margin.low + margin.high)
        return np.asarray(np.where(np.isnan(margin.value), middle, margin.value).sum(axis=0))


def _near_whole(numbers: FloatArray) -> FloatArray:
    """Remove the rounding errors of numbers that should be whole."""
    whole = np.round(numbers)
    return np.where(np.abs(numbers - whole) <= 1e-12 * np.maximum(np.abs(whole), 1.0), whole, numbers)
