"""What a classifier says about all classes, although it was fitted to some of them only.

Every probability and score of a classifier from outside enters the package here and is checked here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import _num_samples

from s2oct.arrays import BoolArray, FloatArray, IntArray, ObjectArray
from s2oct.errors import InvalidProblem
from s2oct.guides.votes import with_missing_classes
from s2oct.wording import amount

_ROUNDING = 1e-3
"""How far probabilities may be below 0, and their sum in a row from 1: some classifiers compute in single precision."""


def probabilities_of_all(classifier: Any, X: Any, classes: ObjectArray, missing: BoolArray) -> FloatArray:
    """Probabilities of a fitted classifier, checked, with a column for each class.

    Classes without labeled rows share what is improbable under all others. If one class alone is labeled, they share
    the probability of the class that stands for them. A classifier whose probabilities are none is refused.
    """
    name, n_rows = type(classifier).__name__, _num_samples(X)
    fitted = np.asarray(getattr(classifier, "classes_", classes))
    said = _as_numbers(classifier.predict_proba(X), f"{name} gave probabilities")
    if said.shape != (n_rows, len(fitted)):
        raise InvalidProblem(
            f"{name} gave probabilities of shape {said.shape}, and {n_rows} rows of {len(fitted)} classes need "
            f"{(n_rows, len(fitted))}."
        )
    _require_finite(said, f"{name} gave a probability")
    is_negative = (said < -_ROUNDING).any(axis=1)
    if is_negative.any():
        raise InvalidProblem(f"{name} gave a probability below 0 to {is_negative.sum()} of {n_rows} rows.")
    sums = said.sum(axis=1)
    if (np.abs(sums - 1) > _ROUNDING).any():
        row = int(np.abs(sums - 1).argmax())
        raise InvalidProblem(f"The probabilities of {name} add up to {amount(sums[row])} in row {row}, not to 1.")
    full = np.zeros((n_rows, len(classes)))
    full[:, _places(fitted, classes, missing, name)] = np.maximum(said, 0.0)
    if len(fitted) == len(classes):
        return full
    if (~missing).sum() > 1:
        return with_missing_classes(full, missing)
    full[:, missing] = full[:, missing].sum(axis=1, keepdims=True) / missing.sum()
    return full


def scores_of_all(classifier: Any, X: Any, classes: ObjectArray, missing: BoolArray) -> FloatArray:
    """Scores of a fitted classifier's decision function, checked: of the second of two classes, or of each class.

    A class without labeled rows has the highest score of the others, with the opposite sign. If one class alone is
    labeled, it has the score of the class that stands for it.
    """
    name, n_rows = type(classifier).__name__, _num_samples(X)
    fitted = np.asarray(getattr(classifier, "classes_", classes))
    scores = _as_numbers(classifier.decision_function(X), f"{name} gave scores")
    expected = (n_rows,) if len(fitted) == 2 else (n_rows, len(fitted))
    if scores.shape != expected:
        raise InvalidProblem(f"{name} gave scores of shape {scores.shape}, and its rows and classes need {expected}.")
    _require_finite(scores, f"{name} gave a score")
    places = _places(fitted, classes, missing, name)
    if len(classes) == 2:
        return scores if places[0] == 0 else -scores
    scores = scores if scores.ndim == 2 else np.column_stack([-0.5 * scores, 0.5 * scores])
    full = np.zeros((len(scores), len(classes)))
    full[:, places] = scores
    if len(fitted) == len(classes):
        return full
    highest = scores.max(axis=1, keepdims=True)
    stands_in = np.isin(classes, fitted) & missing
    full[:, missing] = full[:, stands_in] if stands_in.any() else -highest
    return full


def predicted_codes(classifier: Any, predicted: ObjectArray, n_rows: int, classes: ObjectArray) -> IntArray:
    """The class index of each predicted label, checked."""
    name, known = type(classifier).__name__, {label: k for k, label in enumerate(classes.tolist())}
    if len(predicted) != n_rows:
        raise InvalidProblem(f"{name} predicted {len(predicted)} classes for {n_rows} rows.")
    for label in predicted.tolist():
        if label not in known:
            raise InvalidProblem(f"{name} predicted class {label!r}, which is not among the labels.")
    return np.array([known[label] for label in predicted.tolist()], dtype=np.int64)


def _as_numbers(said: Any, what: str) -> FloatArray:
    try:
        return np.asarray(said, dtype=float)
    except (TypeError, ValueError) as error:
        raise InvalidProblem(f"{what} that are not numbers: {error}.") from error


def _require_finite(said: FloatArray, what: str) -> None:
    is_wrong = ~np.isfinite(said.reshape(len(said), -1)).all(axis=1)
    if is_wrong.any():
        raise InvalidProblem(
            f"{what} that is NaN or infinite to {is_wrong.sum()} of {len(said)} rows. Scale the features, drop those "
            "that do not vary, or use another classifier."
        )


def _places(fitted: ObjectArray, classes: ObjectArray, missing: BoolArray, name: str) -> IntArray:
    """The columns of a classifier's classes among all classes, in whatever order it has them."""
    known = {label: k for k, label in enumerate(classes.tolist())}
    for label in fitted.tolist():
        if label not in known:
            raise InvalidProblem(f"{name} has a class {label!r} in classes_ that is not among the labels.")
    places = np.array([known[label] for label in fitted.tolist()], dtype=np.int64)
    for k in np.setdiff1d(np.flatnonzero(~missing), places):
        label = classes.tolist()[k]
        raise InvalidProblem(f"{name} has no class {label!r} in classes_, though it was fitted to rows of it.")
    return places
