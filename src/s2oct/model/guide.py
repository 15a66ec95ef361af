"""What another classifier says about the classes of the unlabeled rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.errors import InvalidProblem


class Advice(NamedTuple):
    """The answer of a guide: class probabilities of the unlabeled rows, and held-out votes on the labeled rows.

    ``probabilities`` has shape (m, n_classes). ``held_out`` has a row for each labeled row, from models that were not
    fitted to that row, and is None if the guide has no such votes.
    """

    probabilities: FloatArray
    held_out: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Guide:
    """What another classifier charges for the classes of the unlabeled rows.

    Attributes
    ----------
    charges : ndarray of shape (m, n_classes)
        What it charges for putting a row into a class; at least 0.
    weight : float
        What an unlabeled row of which the guide is sure counts against a labeled one. With 0 the guide only chooses
        between trees of equal cost in P2.
    """

    charges: FloatArray
    weight: float = 0.0

    @classmethod
    def from_probabilities(cls, probabilities: FloatArray, weight: float = 0.0) -> Guide:
        """Charge for each class the difference between its probability and that of the row's likeliest class."""
        if not np.isfinite(probabilities).all():
            raise InvalidProblem("Expected the guide to give finite probabilities, got NaN or infinity.")
        return cls(probabilities.max(axis=1, keepdims=True) - probabilities, weight)

    def is_against(self, classes: IntArray) -> BoolArray:
        """Whether the guide finds another class likelier than the given one, for each row, shape (m,)."""
        charged = self.charges[np.arange(len(classes)), classes]
        return np.asarray(charged > self.charges.min(axis=1))
