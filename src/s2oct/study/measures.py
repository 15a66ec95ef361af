"""Accuracy, MCC, precision and recall of Sec. 4.3 and Appendix A, from counts of rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

from s2oct.arrays import BoolArray

MEASURES = ("accuracy", "mcc", "precision", "recall")


@dataclass(frozen=True)
class Confusion:
    """Rows by true and predicted class; class A is the positive one.

    A measure whose denominator is 0 is 0.

    Examples
    --------
    >>> counts = Confusion(tp=3, fp=1, fn=1, tn=5)
    >>> counts.accuracy, counts.precision, counts.recall
    (0.8, 0.75, 0.75)
    >>> Confusion(tp=4, fp=6, fn=0, tn=0).mcc
    0.0
    """

    tp: int
    fp: int
    fn: int
    tn: int

    @classmethod
    def of(cls, is_a: BoolArray, predicted_a: BoolArray) -> Confusion:
        """Count the rows; both arrays have one entry per row."""
        return cls(
            tp=int((is_a & predicted_a).sum()),
            fp=int((~is_a & predicted_a).sum()),
            fn=int((is_a & ~predicted_a).sum()),
            tn=int((~is_a & ~predicted_a).sum()),
        )

    @property
    def n_rows(self) -> int:
        """All rows."""
        return self.tp + self.fp + self.fn + self.tn

    @property
    def accuracy(self) -> float:
        """(AC): share of rows in their true class."""
        return _ratio(self.tp + self.tn, self.n_rows)

    @property
    def mcc(self) -> float:
        """(MCC): Matthews' correlation of true and predicted class."""
        product = (self.tp + self.fp) * (self.tp + self.fn) * (self.tn + self.fp) * (self.tn + self.fn)
        return _ratio(self.tp * self.tn - self.fp * self.fn, math.sqrt(product))

    @property
    def precision(self) -> float:
        """(prec): share of rows of class A among the rows predicted as A."""
        return _ratio(self.tp, self.tp + self.fp)

    @property
    def recall(self) -> float:
        """(recall): share of the rows of class A that are predicted as A."""
        return _ratio(self.tp, self.tp + self.fn)


def _ratio(above: float, below: float) -> float:
    return above / below if below else 0.0
