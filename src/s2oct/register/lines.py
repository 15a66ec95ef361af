"""Questions that can be put to any row: where it lies on a line, and the splits that cuts of the line stand for.

The questions of a search know the answers of its rows alone. A line has what is needed for all others, and it is small
enough to be sent to other processes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from s2oct._core import values as sums_of
from s2oct.arrays import FloatArray, IntArray
from s2oct.model.rules import shortest_between
from s2oct.search.questions import LevelSets, Question, Threshold, names_left

NOTHING_MISSING = float(np.finfo(float).max)
"""A cut with all known numbers on its left, and missing ones on its right."""


class LineSplit(NamedTuple):
    """The split of a cut: omega . x is at most ``low`` on the left, and at least ``high`` on the right."""

    omega: FloatArray
    low: float
    high: float


class QuestionLine(Protocol):
    """Where rows lie, and the splits of cuts: rows up to a cut go left."""

    def of(self, X: FloatArray) -> FloatArray:
        """The place of each row."""

    def split(self, cut: float) -> LineSplit:
        """The split of a cut."""


@dataclass(frozen=True, eq=False)
class SumLine:
    """The value of a feature, or of a sum of several."""

    omega: FloatArray

    def of(self, X: FloatArray) -> FloatArray:
        """The sums that a tree compares with its offsets."""
        return np.asarray(sums_of(X, self.omega[None, :], np.zeros(1)))[:, 0]

    def split(self, cut: float) -> LineSplit:
        """Compare with the cut."""
        return LineSplit(self.omega, cut, float(np.nextafter(cut, np.inf)))


@dataclass(frozen=True, eq=False)
class GapLine:
    """The value of a feature, or its negative; missing values lie below or above all others.

    Attributes
    ----------
    feature, gap : int
        The feature and the indicator of its missing values.
    sign : float
        1 or -1.
    is_lowest : bool
        Whether missing values lie below all others.
    filled : float
        What stands for them in the feature.
    reach : float
        More than any value of the sample.
    n_features : int
        All features.
    """

    feature: int
    gap: int
    sign: float
    is_lowest: bool
    filled: float
    reach: float
    n_features: int

    def of(self, X: FloatArray) -> FloatArray:
        """Known values, and infinities."""
        return np.where(X[:, self.gap] > 0.5, -np.inf if self.is_lowest else np.inf, self.sign * X[:, self.feature])

    def split(self, cut: float) -> LineSplit:
        """Compare with the cut; a large coefficient of the indicator moves missing values to their side."""
        omega = np.zeros(self.n_features)
        if cut in (-np.inf, NOTHING_MISSING):
            omega[self.gap] = -1.0 if self.is_lowest else 1.0
            return LineSplit(omega, *((-0.5, -0.5) if self.is_lowest else (0.5, 0.5)))
        omega[self.feature] = self.sign
        if self.is_lowest != (self.filled <= cut):
            power = 10.0 ** np.ceil(np.log10(2 * max(self.reach, abs(cut), 1.0) + 1))
            omega[self.gap] = -power if self.is_lowest else power
        return LineSplit(omega, cut, float(np.nextafter(cut, np.inf)))


@dataclass(frozen=True, eq=False)
class LevelLine:
    """The position of a level in an order of those that the sample has; no rule names the levels that it lacks."""

    indicators: tuple[int, ...]
    order: tuple[int, ...]
    n_features: int

    def of(self, X: FloatArray) -> FloatArray:
        """The position of each row's level."""
        # A rule names the levels of its left or of its right side. A level that is in neither goes with the one that
        # has no indicator, and if that is missing as well, to the side with more levels.
        other = self.order.index(-1) if -1 in self.order else len(self.order) // 2
        place = np.full(len(self.indicators) + 1, float(other))
        place[list(self.order)] = np.arange(len(self.order))
        shown = X[:, list(self.indicators)] > 0.5
        return np.asarray(place[np.where(shown.any(axis=1), shown.argmax(axis=1), -1)])

    def split(self, cut: float) -> LineSplit:
        """Name the levels of one side."""
        number = int(np.ceil(cut))
        left, right = self.order[:number], self.order[number:]
        omega = np.zeros(self.n_features)
        if names_left(left, right):
            omega[[self.indicators[level] for level in left]] = -1.0
            return LineSplit(omega, -0.5, -0.5)
        omega[[self.indicators[level] for level in right]] = 1.0
        return LineSplit(omega, 0.5, 0.5)


def line_of(question: Question) -> QuestionLine:
    """The line of a question."""
    if isinstance(question, Threshold):
        return SumLine(question.omega)
    if isinstance(question, LevelSets):
        return LevelLine(question.indicators, question.order, question.n_features)
    gaps = question.is_gap
    return GapLine(
        question.feature,
        question.gap,
        question.sign,
        bool((question.answers[gaps] == 0).all()),
        float(question.values[gaps][0]),
        float(np.abs(question.values).max()),
        question.n_features,
    )


@dataclass(frozen=True, eq=False)
class Asked:
    """A line with cuts.

    Attributes
    ----------
    line : QuestionLine
        Where rows lie.
    cuts : ndarray of shape (k,)
        Ascending: rows of at most this value go left.
    price : float
        What a split costs at least, in prices of one term.
    extra : ndarray of shape (k,)
        What each cut costs more because its rule names several levels.
    n_places : ndarray of shape (k + 1,)
        Places between the cuts, by the sample: rows of one place cannot be divided.
    """

    line: QuestionLine
    cuts: FloatArray
    price: float
    extra: FloatArray
    n_places: IntArray

    def answers(self, X: FloatArray) -> IntArray:
        """How many cuts each row lies above."""
        return np.searchsorted(self.cuts, self.line.of(X))


def cuts_between(question: Question, places: FloatArray, first: IntArray, last: IntArray) -> FloatArray:
    """The shortest cuts after answers of ``first`` at least and ``last`` at most, ascending and distinct.

    ``places`` are those of the rows of the sample.
    """
    if isinstance(question, LevelSets):
        return np.asarray(first + 0.5)
    order = np.argsort(question.answers, kind="stable")
    begins = np.flatnonzero(np.diff(question.answers[order], prepend=-1))
    lowest, highest = (part.reduceat(places[order], begins) for part in (np.minimum, np.maximum))
    return np.unique([_between(*ends) for ends in zip(highest[first].tolist(), lowest[last + 1].tolist(), strict=True)])


def _between(low: float, high: float) -> float:
    if low == -np.inf:
        return -np.inf
    return NOTHING_MISSING if high == np.inf else shortest_between(low, high)
