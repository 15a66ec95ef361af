"""What a classifier says about all classes, although it was fitted to some of them only."""

from __future__ import annotations

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, ObjectArray
from s2oct.guides.votes import with_missing_classes


def probabilities_of_all(
    probabilities: FloatArray, fitted: ObjectArray, classes: ObjectArray, missing: BoolArray
) -> FloatArray:
    """Probabilities with a column for each class, given those of the fitted classes.

    Classes without labeled rows share what is improbable under all others. If one class alone is labeled, they share
    the probability of the class that stands for them.
    """
    if probabilities.shape[1] == len(classes):
        return probabilities
    full = np.zeros((len(probabilities), len(classes)))
    full[:, np.searchsorted(classes, fitted)] = probabilities
    if (~missing).sum() > 1:
        return with_missing_classes(full, missing)
    full[:, missing] = full[:, missing].sum(axis=1, keepdims=True) / missing.sum()
    return full


def scores_of_all(scores: FloatArray, fitted: ObjectArray, classes: ObjectArray, missing: BoolArray) -> FloatArray:
    """Scores of a decision function with a column for each class.

    A class without labeled rows has the highest score of the others, with the opposite sign. If one class alone is
    labeled, it has the score of the class that stands for it.
    """
    scores = scores if scores.ndim == 2 else np.column_stack([-0.5 * scores, 0.5 * scores])
    if scores.shape[1] == len(classes):
        return scores
    full = np.zeros((len(scores), len(classes)))
    full[:, np.searchsorted(classes, fitted)] = scores
    highest = scores.max(axis=1, keepdims=True)
    stands_in = np.isin(classes, fitted) & missing
    full[:, missing] = full[:, stands_in] if stands_in.any() else -highest
    return full
