"""What a guide thinks of the unlabeled rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from s2oct.arrays import FloatArray, IntArray
from s2oct.errors import InvalidProblem
from s2oct.guides.forest import SelfTrainedForest
from s2oct.guides.known_total import KnownTotalClassifier
from s2oct.guides.top_total import TopTotalClassifier
from s2oct.model.labels import Labels


def guide_probabilities(guide: Any, X: Any, labels: Labels, counts: IntArray) -> FloatArray:
    """Probability of each class for each unlabeled row, shape (m, 2), by any classifier with probabilities.

    ``X`` are all rows in the form in which the user passed them; ``counts`` are the totals of the unlabeled rows.
    """
    unlabeled = np.flatnonzero(~labels.is_labeled)
    if not len(unlabeled):
        return np.empty((0, 2))
    if not isinstance(guide, KnownTotalClassifier | SelfTrainedForest):
        guide = TopTotalClassifier(guide)
    fitted = clone(guide).fit_read(X, labels, counts)
    if isinstance(fitted, SelfTrainedForest):
        return np.asarray(fitted.probabilities_)
    probabilities = np.asarray(fitted.predict_proba(_safe_indexing(X, unlabeled)), dtype=float)
    if probabilities.shape != (len(unlabeled), 2):
        raise InvalidProblem(
            f"Expected the guide to give two probabilities per unlabeled row, got shape {probabilities.shape}."
        )
    return probabilities
