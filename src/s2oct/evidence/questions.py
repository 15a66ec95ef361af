"""Questions about rows: orders of the rows, and the splits that their cuts define.

A question has ``answers``, the rank of each row, from 0; ``n_terms``, the number of columns that a reader has to look
at; ``named``, the number of levels beyond the first that the rule of each cut names; and ``split``, which turns a cut
into a split. ``split`` returns the coefficients of a split that sends answers up to the cut to the left, and the range
of its offset: the maximum value on the left and the minimum on the right, over the rows that reach the split.

A numeric column gives thresholds. A categorical column gives orders of its levels, whose cuts are sets of levels. A
numeric column with missing values gives two questions, with missing values below and above all others. A direction
gives thresholds on a sum of few features.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from s2oct._core import rank_values
from s2oct._core import values as sums_of
from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.trees.features import Feature
from s2oct.trees.rounding import shortest_between

Ranks = NDArray[np.int32]

FEW_LEVELS = 5
"""Up to this number of levels, questions cover all sets of levels. More levels are ordered by their evidence."""

EQUAL = 1e-12
"""Sums that differ by less than this share of their largest terms count as equal: the difference may be a rounding
error."""


@dataclass(frozen=True, eq=False)
class Threshold:
    """A threshold on a feature or on a sum of several."""

    omega: FloatArray
    values: FloatArray
    answers: Ranks
    n_terms: int
    named: tuple[float, ...] = ()

    @classmethod
    def of(cls, X: FloatArray, omega: FloatArray, n_terms: int) -> Threshold:
        """Create the question about the sums that a tree compares with its offsets."""
        found = np.asarray(sums_of(X, omega[None, :], np.zeros(1)))[:, 0]
        used = np.flatnonzero(omega)
        largest = np.abs(X[:, used]).max(axis=0, initial=0.0) @ np.abs(omega[used])
        return cls(omega, found, ranks(found, EQUAL * largest if len(used) > 1 else 0.0), n_terms)

    @property
    def features(self) -> tuple[int, ...]:
        """The features of the sum."""
        return tuple(np.flatnonzero(self.omega).tolist())

    def split(self, cut: int, reaching: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Cut between two values."""
        left = self.answers <= cut
        ends = self.values[reaching & left].max(), self.values[reaching & ~left].min()
        return self.omega, np.array(ends)


@dataclass(frozen=True, eq=False)
class ThresholdOrGap:
    """A threshold on a feature, or on its negative, whose missing values lie below or above all others."""

    feature: int
    sign: float
    gap: int
    values: FloatArray
    is_gap: BoolArray
    answers: Ranks
    n_features: int
    n_terms: int = 1
    named: tuple[float, ...] = ()

    @classmethod
    def of(cls, X: FloatArray, feature: int, sign: float, gap: int, *, is_lowest: bool) -> ThresholdOrGap:
        """Create the question about a feature; ``gap`` is the indicator of its missing values."""
        is_gap = X[:, gap] > 0.5
        values = sign * X[:, feature]
        answers = np.zeros(len(X), dtype=np.int32)
        known = ranks(values[~is_gap])
        answers[~is_gap] = known + int(is_lowest)
        answers[is_gap] = 0 if is_lowest else 1 + known.max(initial=-1)
        return cls(feature, sign, gap, values, is_gap, answers, X.shape[1])

    @property
    def features(self) -> tuple[int, ...]:
        """The feature and the indicator of its missing values."""
        return self.feature, self.gap

    def split(self, cut: int, reaching: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Cut between two known values; a large coefficient of the indicator moves missing values to their side."""
        omega = np.zeros(self.n_features)
        left = self.answers <= cut
        known = reaching & ~self.is_gap
        gap_is_left = bool(left[self.is_gap].all()) if self.is_gap.any() else False
        if not (known & left).any() or not (known & ~left).any():
            omega[self.gap] = -1.0 if gap_is_left else 1.0
            return omega, np.array([-1.0, 0.0] if gap_is_left else [0.0, 1.0])
        ends = np.array([self.values[known & left].max(), self.values[known & ~left].min()])
        omega[self.feature] = self.sign
        filled = float(self.values[self.is_gap][0]) if self.is_gap.any() else ends[0]
        if gap_is_left != (filled <= ends[0]):
            reach = max(float(np.abs(self.values).max()), 1.0)
            omega[self.gap] = (-1 if gap_is_left else 1) * 10.0 ** np.ceil(np.log10(2 * reach + 1))
        elif not gap_is_left:
            ends[1] = min(ends[1], filled)
        else:
            ends[0] = max(ends[0], filled)
        return omega, ends


@dataclass(frozen=True, eq=False)
class LevelSets:
    """Levels of a column in an order: a cut is a set of levels. The level without an indicator has number -1."""

    indicators: tuple[int, ...]
    order: tuple[int, ...]
    answers: Ranks
    n_features: int
    n_terms: int = 1

    @classmethod
    def of(cls, levels: IntArray, indicators: Sequence[int], order: Sequence[int], n_features: int) -> LevelSets:
        """Create the question from an order of the levels that occur; ``levels`` are positions of indicators."""
        place = np.zeros(len(indicators) + 1, dtype=np.int32)
        place[list(order)] = np.arange(len(order))  # the last place is that of level -1
        return cls(tuple(indicators), tuple(order), place[levels], n_features)

    @property
    def features(self) -> tuple[int, ...]:
        """All indicators of the column."""
        return self.indicators

    @property
    def named(self) -> tuple[float, ...]:
        """Number of levels beyond the first that the rule of each cut names."""
        sides = ((self.order[: cut + 1], self.order[cut + 1 :]) for cut in range(len(self.order) - 1))
        sizes = np.array([len(left if names_left(left, right) else right) for left, right in sides])
        return tuple(np.minimum(sizes, len(self.indicators) + 1 - sizes) - 1.0)

    def split(self, cut: int, reaching: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Name the levels of one side."""
        left, right = self.order[: cut + 1], self.order[cut + 1 :]
        omega = np.zeros(self.n_features)
        if names_left(left, right):
            omega[[self.indicators[level] for level in left]] = -1.0
            return omega, np.array([-1.0, 0.0])
        omega[[self.indicators[level] for level in right]] = 1.0
        return omega, np.array([0.0, 1.0])


def names_left(left: Sequence[int], right: Sequence[int]) -> bool:
    """Whether a split names the levels on its left; it never names the level without an indicator."""
    return -1 in right or (-1 not in left and len(left) <= len(right))


Question = Threshold | ThresholdOrGap | LevelSets


def ranks(values: FloatArray, least: float = 0.0) -> Ranks:
    """Rank of each value among the distinct values; values that differ by at most ``least`` are equal."""
    return np.asarray(rank_values(np.ascontiguousarray(values, dtype=float)[None], least)[0])


@dataclass(frozen=True, eq=False)
class LevelColumn:
    """A categorical column: the level of each row, as the position of its indicator, or -1."""

    indicators: tuple[int, ...]
    levels: IntArray
    present: tuple[int, ...]
    n_features: int

    @classmethod
    def of(cls, X: FloatArray, indicators: Sequence[int]) -> LevelColumn:
        """Read the levels from their indicators."""
        shown = X[:, list(indicators)] > 0.5
        levels = np.where(shown.any(axis=1), shown.argmax(axis=1), -1)
        return cls(tuple(indicators), levels, tuple(np.unique(levels).tolist()), X.shape[1])

    def asked(self, order: Sequence[int]) -> LevelSets:
        """Return the question whose cuts follow an order of the levels that occur."""
        return LevelSets.of(self.levels, self.indicators, order, self.n_features)

    @property
    def has_few(self) -> bool:
        """Whether questions cover all sets of levels."""
        return len(self.present) <= FEW_LEVELS

    def by_evidence(self, rows: IntArray, extra: FloatArray) -> tuple[int, ...]:
        """Order the levels that occur by how strongly their rows tend to the right."""
        codes = self.levels[rows] + 1
        size = len(self.indicators) + 1
        mean = np.bincount(codes, weights=extra, minlength=size) / np.maximum(np.bincount(codes, minlength=size), 1)
        return tuple(sorted(self.present, key=lambda level: (mean[level + 1], level)))


def columns_of_questions(features: Sequence[Feature], order: IntArray) -> Iterator[tuple[list[int], list[int]]]:
    """Yield, for each column, its numeric features and its indicators of levels or missing values.

    Columns come in the order of their first feature, and levels in their given order.
    """
    of_column: dict[str, list[int]] = {features[j].column: [] for j in order.tolist()}
    for j, feature in enumerate(features):
        of_column[feature.column].append(j)
    for own in of_column.values():
        yield [j for j in own if features[j].level is None], [j for j in own if features[j].level is not None]


def single_questions(
    X: FloatArray, features: Sequence[Feature], order: IntArray, signs: FloatArray
) -> tuple[list[Question], list[LevelColumn]]:
    """Return all questions about single columns, and the columns with too many levels to cover all sets.

    ``order`` is the order of the features, and ``signs``, in this order, reverse some of them.
    """
    questions: list[Question] = []
    many: list[LevelColumn] = []
    sign_of = dict(zip(order.tolist(), signs.tolist(), strict=True))
    for values, indicators in columns_of_questions(features, order):
        if values and indicators and (X[:, indicators[0]] > 0.5).any():
            gap, sign = indicators[0], sign_of[values[0]]
            questions += [ThresholdOrGap.of(X, values[0], sign, gap, is_lowest=low) for low in (True, False)]
        elif values:
            questions += [Threshold.of(X, sign_of[j] * _unit(j, X.shape[1]), 1) for j in values]
        else:
            column = LevelColumn.of(X, indicators)
            if column.has_few:
                questions += [
                    column.asked([column.present[i] for i in order]) for order in level_orders(len(column.present))
                ]
            else:
                many.append(column)
    return [question for question in questions if question.answers.max(initial=0) > 0], many


def _unit(j: int, n_features: int) -> FloatArray:
    omega = np.zeros(n_features)
    omega[j] = 1.0
    return omega


def level_orders(n_levels: int) -> list[list[int]]:
    """A few orders of levels: every set of levels, or its complement, is an initial segment of one of them.

    They are symmetric chains of sets without the last level, each extended to an order of all levels.

    Examples
    --------
    >>> level_orders(3)
    [[0, 1, 2], [1, 0, 2]]
    """
    chains: list[list[tuple[int, ...]]] = [[()]]
    for level in range(n_levels - 1):
        longer = [[*chain, (*chain[-1], level)] for chain in chains]
        chains = longer + [[(*part, level) for part in chain[:-1]] for chain in chains if len(chain) > 1]
    return [_filled_up(chain, n_levels) for chain in chains]


def _filled_up(chain: Iterable[tuple[int, ...]], n_levels: int) -> list[int]:
    order: list[int] = []
    for part in (*chain, tuple(range(n_levels))):
        order += [level for level in part if level not in order]
    return order


def offset_between(low: float, high: float, *, turned: bool) -> float:
    """The shortest offset between two values; ``turned`` if the split will be reversed."""
    return -shortest_between(-high, -low) if turned else shortest_between(low, high)
