"""What users pass to a classifier, checked at the edge: features, labels, totals and parameters."""

from __future__ import annotations

import difflib
import numbers
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import validate_data

from s2oct.arrays import FloatArray, IntArray, ObjectArray
from s2oct.errors import InvalidProblem, S2OCTWarning
from s2oct.model.labels import UNLABELED, Labels, read_labels
from s2oct.model.totals import Totals, named_classes, read_totals
from s2oct.wording import listed


def read_features(estimator: Any, X: Any, *, reset: bool) -> FloatArray:
    """Validate a feature table with scikit-learn, which also records or compares the feature names."""
    if X is None or isinstance(X, (str, bytes)):
        raise InvalidProblem(f"Expected a table of rows and features, got {X!r}.")
    _refuse_repeated_names(X)
    try:
        rows = validate_data(estimator, X, reset=reset, dtype=np.float64, accept_sparse=False, order="C")
    except (TypeError, ValueError) as error:
        problem = _column_problem(X) if hasattr(X, "columns") else _cell_problem(X)
        if problem is None:
            raise
        raise InvalidProblem(problem) from error
    return np.asarray(rows, dtype=np.float64)


def _refuse_repeated_names(X: Any) -> None:
    names = [str(name) for name in getattr(X, "columns", [])]
    repeated = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if repeated:
        raise InvalidProblem(f"Expected distinct column names, got {repeated} more than once.")


def _column_problem(X: Any) -> str | None:
    """A sentence about the first column of a frame that cannot be a feature."""
    for name in X.columns:
        try:
            if np.asarray(X[name]).dtype.kind in "mM":  # dates would be read as numbers of nanoseconds
                raise TypeError("a date is no number")
            values = np.asarray(X[name], dtype=float)
        except (TypeError, ValueError):
            return (
                f"Expected numeric features, got column {str(name)!r} of {X[name].dtype} values. Encode it first, "
                "for instance with sklearn.preprocessing.OneHotEncoder."
            )
        if np.isnan(values).any():
            n_missing = int(np.isnan(values).sum())
            return f"Expected complete features, got {n_missing} missing values (NaN) in column {str(name)!r}."
        if np.isinf(values).any():
            return f"Expected finite features, got infinity (inf) in column {str(name)!r}."
    return None


def _cell_problem(X: Any) -> str | None:
    """A sentence about the first row or cell of a list or an object array that cannot be read as numbers."""
    if not isinstance(X, (list, tuple)) and getattr(X, "dtype", np.dtype(float)).kind != "O":
        return None
    lengths = sorted({len(row) for row in X if hasattr(row, "__len__") and not isinstance(row, str)})
    if len(lengths) > 1:
        return f"Expected rows of equal length, got rows of {' and '.join(map(str, lengths))} features."
    for cell in np.asarray(X, dtype=object).ravel():
        if isinstance(cell, (str, bytes)):
            try:
                float(cell)
            except ValueError:
                return f"Expected numeric features, got values that are not numbers, as {cell!r}."
    return None


def read_rule_features(given: Any, names: Sequence[str] | None, n_features: int) -> tuple[int, ...] | None:
    """The columns that rules may use, from names or column numbers, in ascending order; None for all."""
    if given is None:
        return None
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InvalidProblem(f"Expected features to be a list of column names or numbers, or None, got {given!r}.")
    columns = {_column_number(entry, names, n_features) for entry in given}
    if not columns:
        raise InvalidProblem("Expected features to name at least one column that rules may use, got none.")
    return tuple(sorted(columns))


def _column_number(entry: Any, names: Sequence[str] | None, n_features: int) -> int:
    if isinstance(entry, numbers.Integral) and not isinstance(entry, bool):
        if 0 <= int(entry) < n_features:
            return int(entry)
        raise InvalidProblem(f"Expected features to have column numbers from 0 to {n_features - 1}, got {entry}.")
    if not isinstance(entry, str):
        raise InvalidProblem(f"Expected features to be column names or numbers, got {entry!r} among them.")
    if names is None:
        raise InvalidProblem(f"Expected column numbers in features, because X has no column names, got {entry!r}.")
    if entry not in names:
        lower = {name.lower(): name for name in names}
        close = [lower[text] for text in difflib.get_close_matches(entry.lower(), list(lower))]
        known = close or [*names[:10], *(["..."] if len(names) > 10 else [])]
        kind = "close names are" if close else "its columns are"
        raise InvalidProblem(f"Expected features to be columns of X, got {entry!r}; {kind} {known}.")
    return list(names).index(entry)


def read_answers(
    y: Any, n_rows: int, totals: Totals | None, population_totals: Totals | None
) -> tuple[Labels, IntArray]:
    """Labels of two classes, one per row, and the unlabeled rows of each class; warns about doubtful input."""
    warn_of_column(y)
    labels = read_labels(y, n_rows=n_rows, named=named_classes(totals, population_totals))
    _refuse_other_than_two_classes(labels.classes.tolist())
    counts = read_totals(labels, totals, population_totals)
    for doubt in doubts_about(labels, counts, has_totals=totals is not None or population_totals is not None):
        warnings.warn(doubt, S2OCTWarning, stacklevel=3)
    return labels, counts


def read_complete_labels(y: Any, n_rows: int) -> Labels | None:
    """Labels of two classes if every row has one, else None. Here -1 is no marker: without totals it can be a class."""
    labels = read_labels(y, n_rows=n_rows, named=[UNLABELED])
    if not labels.is_labeled.all() or len(labels.classes) != 2 or not labels.counts().all():
        return None
    warn_of_column(y)
    return labels


def doubts_about(labels: Labels, counts: IntArray, *, has_totals: bool) -> tuple[str, ...]:
    """What is doubtful about labels and totals, in sentences."""
    m = int((~labels.is_labeled).sum())
    if m == 0:
        return ("Every row is labeled, so totals have no effect; OCTHClassifier is the supervised tree.",)
    if has_totals:
        return ()
    shares = listed([f"{label!r}: {total}" for label, total in zip(labels.classes.tolist(), counts, strict=True)])
    return (
        f"No totals were given: the class shares of the labeled rows are used, {shares} of {m} unlabeled rows. "
        "A biased sample has wrong shares: give a known total of the unlabeled rows or of all rows.",
    )


def warn_of_column(y: Any) -> None:
    """Warn about labels in a table of one column, as scikit-learn does. Call it from ``fit`` or one level below."""
    if getattr(y, "ndim", 1) == 2 and y.shape[1] == 1:
        message = "A column-vector y was passed when a 1d array was expected. Pass y.ravel()."
        warnings.warn(message, DataConversionWarning, stacklevel=4)


def _refuse_other_than_two_classes(classes: list[Any]) -> None:
    if len(classes) > 2:
        marks = [label for label in classes if str(label).strip().lower() in {"", "nan", "na", "none", "null", "?"}]
        hint = f" {marks[0]!r} looks like a marker: mark unlabeled rows with NaN or None." if marks else ""
        # scikit-learn's own checks look for the words of the first sentence.
        raise InvalidProblem(
            f"Only binary classification is supported. Expected two classes, got {len(classes)}: {classes[:10]}.{hint}"
        )
    if len(classes) < 2:
        raise InvalidProblem(
            f"Expected labeled rows of two classes, got one class only: {classes[0]!r}. One class is enough when the "
            "totals name the other class, too."
        )


def labeled_accuracy(y: Any, predicted: ObjectArray, classes: ObjectArray, sample_weight: Any) -> float:
    """Share of the labeled rows of ``y`` that are predicted correctly."""
    labels = read_labels(y, n_rows=len(predicted), named=classes.tolist())
    known = labels.is_labeled
    weights = None if sample_weight is None else np.asarray(sample_weight)[known]
    truth = labels.classes[labels.codes[known]]
    return float(accuracy_score(truth, predicted[known], sample_weight=weights))


def check_guide(guide: Any) -> None:
    """Refuse a guide that is no classifier, "auto" or None."""
    if isinstance(guide, str) and guide != "auto":
        raise InvalidProblem(f"Expected guide to be a classifier, 'auto' or None, got {guide!r}.")
    if isinstance(guide, str | None):
        return
    if isinstance(guide, type) or not hasattr(guide, "fit") or not hasattr(guide, "predict_proba"):
        raise InvalidProblem(
            f"Expected guide to be a classifier with fit and predict_proba, 'auto' or None, got {guide!r}."
        )


def positive(name: str, value: Any) -> float:
    """A parameter that must be a positive number."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not float(value) > 0:
        raise InvalidProblem(f"Expected {name} to be a positive number, got {value!r}.")
    return float(value)


def at_least_zero(name: str, value: Any) -> float:
    """A parameter that must be a finite number of at least 0."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0 <= float(value) < np.inf:
        raise InvalidProblem(f"Expected {name} to be a finite number of at least 0, got {value!r}.")
    return float(value)


def at_least_zero_or_auto(name: str, value: Any) -> float | None:
    """A finite number of at least 0, or None for "auto"."""
    if isinstance(value, str) and value == "auto":
        return None
    if isinstance(value, str):
        raise InvalidProblem(f"Expected {name} to be 'auto' or a finite number of at least 0, got {value!r}.")
    return at_least_zero(name, value)


def positive_or_auto(name: str, value: Any) -> float | None:
    """A positive number, or None for "auto"."""
    if isinstance(value, str) and value == "auto":
        return None
    if isinstance(value, str):
        raise InvalidProblem(f"Expected {name} to be 'auto' or a positive number, got {value!r}.")
    return positive(name, value)


def whole_or_auto(name: str, value: Any, least: int) -> int | None:
    """A whole number, or None for "auto"."""
    if isinstance(value, str) and value == "auto":
        return None
    return whole(name, value, least, "'auto' or a")


def whole_auto_or_none(name: str, value: Any, least: int) -> int | None:
    """A whole number, or None for "auto" and None."""
    if value is None or (isinstance(value, str) and value == "auto"):
        return None
    return whole(name, value, least, "'auto', None or a")


def whole(name: str, value: Any, least: int, expected: str = "a") -> int:
    """A whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or int(value) < least:
        raise InvalidProblem(f"Expected {name} to be {expected} whole number of at least {least}, got {value!r}.")
    return int(value)
