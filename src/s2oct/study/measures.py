"""Accuracy, MCC, precision and recall of Sec. 4.3 and Appendix A, and macro-F1, from counts of rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from s2oct.arrays import IntArray

MEASURES = ("accuracy", "mcc", "precision", "recall")
"""The paper's measures."""

MEASURES_OF_CLASSES = ("accuracy", "mcc", "macro_f1")
"""Measures that treat all classes alike, for studies with more than two classes."""


def measures_of(n_classes: int) -> tuple[str, ...]:
    """The measures of a study with at most this number of classes."""
    return MEASURES if n_classes == 2 else MEASURES_OF_CLASSES


@dataclass(frozen=True)
class Confusion:
    """Numbers of rows by true class (first index) and predicted class. A measure whose denominator is 0 is 0.

    Examples
    --------
    >>> counts = Confusion(((3, 1), (1, 5)))
    >>> counts.accuracy, counts.precision, counts.recall
    (0.8, 0.75, 0.75)
    >>> Confusion(((4, 0), (6, 0))).mcc
    0.0
    >>> counts = Confusion(((4, 0, 0), (1, 3, 0), (0, 1, 3)))
    >>> counts.n_off
    1
    >>> round(counts.accuracy, 3), round(counts.macro_f1, 3)
    (0.833, 0.832)
    """

    table: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, codes: IntArray, predicted: IntArray, n_classes: int = 2) -> Confusion:
        """Count rows; both arrays have one class index per row, 0 for class A."""
        counts = np.bincount(codes * n_classes + predicted, minlength=n_classes**2)
        return cls(tuple(map(tuple, counts.reshape(n_classes, n_classes).tolist())))

    @property
    def n_rows(self) -> int:
        """Number of all rows."""
        return sum(map(sum, self.table))

    @property
    def accuracy(self) -> float:
        """(AC): share of rows in their true class."""
        return _ratio(self._n_right, self.n_rows)

    @property
    def mcc(self) -> float:
        """(MCC): Matthews correlation of true and predicted class, in Gorodkin's form for any number of classes."""
        true, predicted, n = self._true, self._predicted, self.n_rows
        together = self._n_right * n - sum(t * p for t, p in zip(true, predicted, strict=True))
        alone = (n * n - sum(t * t for t in true)) * (n * n - sum(p * p for p in predicted))
        return _ratio(together, math.sqrt(alone))

    @property
    def precision(self) -> float:
        """(prec): share of rows of class A among the rows predicted as A."""
        return _ratio(self.table[0][0], self._predicted[0])

    @property
    def recall(self) -> float:
        """(recall): share of the rows of class A that are predicted as A."""
        return _ratio(self.table[0][0], self._true[0])

    @property
    def macro_f1(self) -> float:
        """Mean over the classes of the harmonic mean of precision and recall."""
        margins = zip(self._true, self._predicted, strict=True)
        scores = [_ratio(2 * self.table[k][k], true + predicted) for k, (true, predicted) in enumerate(margins)]
        return sum(scores) / len(scores)

    @property
    def n_off(self) -> int:
        """Number of rows that would have to change class to give every class its true number of rows."""
        return sum(max(0, t - p) for t, p in zip(self._true, self._predicted, strict=True))

    @property
    def _n_right(self) -> int:
        return sum(self.table[k][k] for k in range(len(self.table)))

    @property
    def _true(self) -> tuple[int, ...]:
        return tuple(map(sum, self.table))

    @property
    def _predicted(self) -> tuple[int, ...]:
        return tuple(map(sum, zip(*self.table, strict=True)))


def _ratio(above: float, below: float) -> float:
    return above / below if below else 0.0
