"""Questions about rows: lines along which rows have places, and the splits of cuts of these lines.

A line has ``of``, the places of rows, and ``split``, the split that sends rows up to the place ``low`` to the left and
rows from the place ``high`` on to the right: its coefficients, and the range of its offset. It applies to any row. A
`Question` is a line with the places of the rows of one table.

A numeric column is a line. A numeric column with missing values gives two, with missing values below and above all
others. The levels of a categorical column have places in several orders: a cut is a set of levels. A sum of few columns
is a line, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from s2oct._core import rank_values
from s2oct._core import values as sums_of
from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.trees.features import Feature
from s2oct.trees.rules import shortest_between

FEW_LEVELS = 5
"""Up to this number of levels, questions cover all sets of levels. More levels are ordered by their evidence."""

EQUAL = 1e-12
"""Sums that differ by less than this share of their largest terms count as equal: the difference may be a rounding
error."""

LineSplit = tuple[FloatArray, float, float]
"""Coefficients of a split, and the range of its offset: a value on the left, and a larger one on the right."""


@dataclass(frozen=True, eq=False)
class Sum:
    """The value of a feature, or of a sum of several."""

    omega: FloatArray

    def of(self, X: FloatArray) -> FloatArray:
        """The sums that a tree compares with its offsets."""
        return np.asarray(sums_of(X, self.omega[None, :], np.zeros(1)))[:, 0]

    def split(self, low: float, high: float) -> LineSplit:
        """Cut between two sums."""
        return self.omega, low, high


@dataclass(frozen=True, eq=False)
class NumberOrGap:
    """The value of a feature, or its negative; missing values lie below or above all others, at infinity.

    Attributes
    ----------
    feature, gap : int
        The feature and the indicator of its missing values.
    sign : float
        1 or -1.
    is_lowest : bool
        Whether missing values lie below all others.
    filled : float
        The number that stands for missing values in the feature.
    reach : float
        The largest absolute value in the table.
    n_features : int
        Number of all features.
    """

    feature: int
    gap: int
    sign: float
    is_lowest: bool
    filled: float
    reach: float
    n_features: int

    @classmethod
    def in_table(cls, X: FloatArray, feature: int, gap: int, sign: float, *, is_lowest: bool) -> NumberOrGap:
        """Create the line of a feature that is missing in some rows."""
        values = sign * X[:, feature]
        filled = float(values[X[:, gap] > 0.5][0])
        return cls(feature, gap, sign, is_lowest, filled, float(np.abs(values).max()), X.shape[1])

    def of(self, X: FloatArray) -> FloatArray:
        """Known values, and infinities for missing ones."""
        return np.where(X[:, self.gap] > 0.5, -np.inf if self.is_lowest else np.inf, self.sign * X[:, self.feature])

    def split(self, low: float, high: float) -> LineSplit:
        """Cut between two known values; a large coefficient of the indicator moves missing values to their side."""
        omega = np.zeros(self.n_features)
        side = -1.0 if self.is_lowest else 1.0
        if low == -np.inf or high == np.inf:
            omega[self.gap] = side
            return omega, min(side, 0.0), max(side, 0.0)
        omega[self.feature] = self.sign
        if self.is_lowest != (self.filled <= low):
            omega[self.gap] = side * 10.0 ** np.ceil(np.log10(2 * max(self.reach, 1.0) + 1))
        elif self.is_lowest:
            low = max(low, self.filled)
        else:
            high = min(high, self.filled)
        return omega, low, high


@dataclass(frozen=True, eq=False)
class Levels:
    """The places of the levels of a column in an order. The level without an indicator has number -1."""

    indicators: tuple[int, ...]
    order: tuple[int, ...]
    n_features: int

    @classmethod
    def in_table(cls, X: FloatArray, indicators: Sequence[int]) -> Levels:
        """Create the line of the levels that occur, in ascending order."""
        return cls(tuple(indicators), tuple(np.unique(_levels(X, indicators)).tolist()), X.shape[1])

    def of(self, X: FloatArray) -> FloatArray:
        """The place of each row's level."""
        # A rule names the levels of its left or its right side. A level on neither side goes with the level without an
        # indicator, and if that is not in the table either, to the side with more levels.
        other = self.order.index(-1) if -1 in self.order else len(self.order) // 2
        place = np.full(len(self.indicators) + 1, float(other))
        place[list(self.order)] = np.arange(len(self.order))  # the last place is that of level -1
        return np.asarray(place[_levels(X, self.indicators)])

    def split(self, low: float, high: float) -> LineSplit:
        """Name the levels of one side; never the level without an indicator."""
        left, right = self._sides(int(low))
        omega = np.zeros(self.n_features)
        if self._names_left(int(low)):
            omega[[self.indicators[level] for level in left]] = -1.0
            return omega, -1.0, 0.0
        omega[[self.indicators[level] for level in right]] = 1.0
        return omega, 0.0, 1.0

    @property
    def n_named(self) -> FloatArray:
        """Number of levels beyond the first that the rule of each cut names."""
        cuts = range(len(self.order) - 1)
        sizes = np.array([len(self._sides(cut)[0 if self._names_left(cut) else 1]) for cut in cuts])
        return np.asarray(np.minimum(sizes, len(self.indicators) + 1 - sizes) - 1.0)

    def _sides(self, cut: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return self.order[: cut + 1], self.order[cut + 1 :]

    def _names_left(self, cut: int) -> bool:
        left, right = self._sides(cut)
        return -1 in right or (-1 not in left and len(left) <= len(right))


def _levels(X: FloatArray, indicators: Sequence[int]) -> IntArray:
    """The level of each row, as the position of its indicator, or -1."""
    shown = X[:, list(indicators)] > 0.5
    return np.where(shown.any(axis=1), shown.argmax(axis=1), -1)


Line = Sum | NumberOrGap | Levels


@dataclass(frozen=True, eq=False)
class Question:
    """A line with the rows of a table.

    Attributes
    ----------
    line : Line
        The line.
    places : ndarray of shape (N,)
        The places of the rows.
    answers : ndarray of int of shape (N,)
        The ranks of these places, from 0. A cut is the last answer that goes left.
    n_terms : int
        Number of columns that a reader has to look at.
    n_named : ndarray of shape (n_cuts,) or (0,)
        Number of levels beyond the first that the rule of each cut names; empty if rules name no levels.
    """

    line: Line
    places: FloatArray
    answers: NDArray[np.int32]
    n_terms: int
    n_named: FloatArray

    @classmethod
    def of(cls, X: FloatArray, line: Line, n_terms: int = 1) -> Question:
        """Ask the rows of a table."""
        places, least, n_named = line.of(X), 0.0, np.empty(0)
        if isinstance(line, Sum) and np.count_nonzero(line.omega) > 1:
            used = np.flatnonzero(line.omega)
            least = EQUAL * float(np.abs(X[:, used]).max(axis=0, initial=0.0) @ np.abs(line.omega[used]))
        elif isinstance(line, Levels):
            n_named = line.n_named
        return cls(line, places, rank_values(np.ascontiguousarray(places)[None], least)[0], n_terms, n_named)

    @property
    def n_answers(self) -> int:
        """Number of distinct answers."""
        return int(self.answers.max(initial=-1)) + 1

    def split(self, cut: int, reaching: BoolArray) -> LineSplit:
        """The split after an answer; the range of its offset is that between the rows that reach it."""
        left = self.answers <= cut
        if isinstance(self.line, Levels):
            # A rule also names the levels that do not reach it.
            return self.line.split(cut, cut + 1)
        return self.line.split(float(self.places[reaching & left].max()), float(self.places[reaching & ~left].min()))

    def reordered(self, order: Sequence[int]) -> Question:
        """A question about levels with its answers in another order."""
        assert isinstance(self.line, Levels)
        line = replace(self.line, order=tuple(self.line.order[answer] for answer in order))
        answers = np.argsort(order).astype(np.int32)[self.answers]
        return Question(line, answers.astype(float), answers, self.n_terms, line.n_named)

    def order_by_evidence(self, rows: IntArray, extra: FloatArray) -> tuple[int, ...]:
        """Answers by how strongly their rows tend to the right: ``extra`` is the cost of the rows on the left."""
        answers, size = self.answers[rows], self.n_answers
        mean = np.bincount(answers, weights=extra, minlength=size) / np.maximum(np.bincount(answers, minlength=size), 1)
        return tuple(np.argsort(mean, kind="stable").tolist())

    def best_cut_cost(self, cost: FloatArray) -> float:
        """Cost of all rows with the best cut as the only split; ``cost`` has each class for each row."""
        by_answer = [np.bincount(self.answers, weights=part) for part in cost.T]
        left = np.cumsum(by_answer, axis=1)
        return float((left.min(axis=0) + (left[:, -1:] - left).min(axis=0)).min())


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
) -> tuple[list[Question], list[Question]]:
    """Return all questions about single columns, and questions about columns with too many levels to cover all sets.

    ``order`` is the order of the features, and ``signs``, in this order, reverse some of them.
    """
    questions: list[Question] = []
    many: list[Question] = []
    sign_of = dict(zip(order.tolist(), signs.tolist(), strict=True))
    for values, indicators in columns_of_questions(features, order):
        if values and indicators and (X[:, indicators[0]] > 0.5).any():
            feature, gap = values[0], indicators[0]
            for is_lowest in (True, False):
                line = NumberOrGap.in_table(X, feature, gap, sign_of[feature], is_lowest=is_lowest)
                questions.append(Question.of(X, line))
        elif values:
            questions += [Question.of(X, Sum(sign_of[j] * np.eye(1, X.shape[1], j)[0])) for j in values]
        else:
            column = Question.of(X, Levels.in_table(X, indicators))
            if column.n_answers <= FEW_LEVELS:
                questions += [column.reordered(chain) for chain in level_orders(column.n_answers)]
            else:
                many.append(column)
    return [question for question in questions if question.n_answers > 1], many


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
