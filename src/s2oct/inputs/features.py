"""Features that users pass to a classifier: tables of numbers, and which of their columns rules may use."""

from __future__ import annotations

import difflib
import numbers
import re
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from s2oct.arrays import FloatArray
from s2oct.errors import InvalidKind, InvalidProblem
from s2oct.wording import brief, listed, plural

_NUMERIC = re.compile(r"^u?int|^float|^double|^half|decimal|bool", re.IGNORECASE)
"""Types of numbers, as pandas, polars and Arrow call them."""

_TEMPORAL = re.compile(r"date|time|duration|period", re.IGNORECASE)
"""Types of dates and times, as pandas, polars and Arrow call them."""


def read_features(estimator: Any, X: Any, *, reset: bool, keep_single: bool = False) -> FloatArray:
    """Validate a feature table with scikit-learn, which also records or compares the feature names.

    With ``keep_single``, floats of 32 bits stay so: a large table is not copied.
    """
    if X is None or isinstance(X, (str, bytes)):
        raise InvalidProblem(f"Expected a table of rows and features, got {brief(X)}.")
    _refuse_repeated_names(X)
    X = without_columns(X, getattr(estimator, "_left_out", ()))
    _refuse_dates(X)
    if np.ma.is_masked(X):
        raise InvalidProblem(
            f"Expected complete features, got {plural(int(np.ma.getmaskarray(X).sum()), 'masked value')}."
        )
    kinds = [np.float64, np.float32] if keep_single else np.float64
    try:
        rows = validate_data(estimator, X, reset=reset, dtype=kinds, accept_sparse=False, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        problem = _column_problem(X) if hasattr(X, "columns") else _cell_problem(X)
        kind = InvalidKind if isinstance(error, TypeError) and problem is None else InvalidProblem
        raise kind(problem or str(error)) from error
    return np.asarray(rows) if keep_single else np.asarray(rows, dtype=np.float64)


def without_columns(X: Any, names: Sequence[str]) -> Any:
    """A frame without the columns that are no features; anything else as it is."""
    known = _column_types(X)[0]
    if not any(name in names for name in known):
        return X
    kept = [name for name in known if name not in names]
    return X.select(kept) if hasattr(X, "column_names") else X[kept]


def text_columns(X: Any, names: Any) -> tuple[str, ...]:
    """Which of some named columns of a frame have no numbers."""
    wanted = [names] if isinstance(names, str) else names if isinstance(names, (list, tuple)) else []
    kinds = dict(zip(*_column_types(X), strict=True))
    named = [name for name in wanted if isinstance(name, str) and name in kinds]
    return tuple(name for name in named if not _NUMERIC.search(str(kinds[name])))


def _refuse_repeated_names(X: Any) -> None:
    names = [str(name) for name in _column_types(X)[0]]
    repeated = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if repeated:
        raise InvalidProblem(f"Expected distinct column names, got {repeated} more than once.")


def _column_types(X: Any) -> tuple[list[Any], list[Any]]:
    """Names and types of the columns of a pandas or polars frame or an Arrow table; nothing of anything else."""
    if hasattr(X, "schema") and hasattr(X, "column_names"):
        return list(X.column_names), list(X.schema.types)
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        return list(X.columns), list(X.dtypes)
    return [], []


def _refuse_dates(X: Any) -> None:
    """Refuse dates and times, which numpy would turn into numbers of nanoseconds or days."""
    names, types = _column_types(X)
    found = {str(name): kind for name, kind in zip(names, types, strict=True) if _TEMPORAL.match(str(kind))}
    if found:
        columns = listed([f"column {name!r} of {kind} values" for name, kind in found.items()])
        raise InvalidProblem(
            f"Expected numeric features, got {columns}. Use numbers instead of dates, for instance years or ages."
        )
    if not names and _holds_dates(X):
        raise InvalidProblem(
            "Expected numeric features, got dates or times. Use numbers instead, for instance years or ages."
        )


def _holds_dates(X: Any) -> bool:
    if isinstance(X, np.ndarray) and X.dtype != object:
        return X.dtype.kind in "mM"
    if not isinstance(X, (np.ndarray, list, tuple)):
        return False
    cells = (cell for row in X for cell in (row if isinstance(row, (np.ndarray, list, tuple)) else [row]))
    return any(
        isinstance(cell, (date, timedelta, np.datetime64, np.timedelta64))
        or (isinstance(cell, np.ndarray) and cell.dtype.kind in "mM")
        for cell in cells
    )


def _column_problem(X: Any) -> str | None:
    """Sentences about all columns of a frame that cannot be features."""
    problems = [problem for name in X.columns if (problem := _problem_of(X[name], str(name)))]
    return " ".join(problems) or None


def _problem_of(column: Any, name: str) -> str | None:
    try:
        values = np.asarray(column, dtype=float)
    except (TypeError, ValueError, OverflowError):
        return (
            f"Expected numeric features, got column {name!r} of {column.dtype} values. Encode it first, "
            "for instance with sklearn.preprocessing.OneHotEncoder."
        )
    if np.isnan(values).any():
        n_missing = plural(int(np.isnan(values).sum()), "missing value")
        return f"Expected complete features, got {n_missing} (NaN) in column {name!r}."
    if np.isinf(values).any():
        return f"Expected finite features, got infinity (inf) in column {name!r}."
    return None


def _cell_problem(X: Any) -> str | None:
    """A sentence about the first row or cell of a list or an object array that cannot be read as numbers."""
    if not isinstance(X, (list, tuple)) and getattr(X, "dtype", np.dtype(float)).kind != "O":
        return None
    lengths = sorted({len(row) for row in X if hasattr(row, "__len__") and not isinstance(row, str)})
    if len(lengths) > 1:
        return f"Expected rows of equal length, got rows of {' and '.join(map(str, lengths))} features."
    for cell in np.asarray(X, dtype=object).ravel():
        if isinstance(cell, (str, bytes, int)):
            try:
                float(cell)
            except ValueError:
                return f"Expected numeric features, got values that are not numbers, as {brief(cell)}."
            except OverflowError:
                return "Expected numeric features, got a number that is too large for a float."
    return None


def read_rule_features(given: Any, names: Sequence[str] | None, n_features: int) -> tuple[int, ...] | None:
    """The columns that rules may use, from names or column numbers, in ascending order; None for all."""
    if given is None:
        return None
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InvalidProblem(f"Expected features to be a list of column names or numbers, or None, got {brief(given)}.")
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
        raise InvalidProblem(f"Expected features to be column names or numbers, got {brief(entry)} among them.")
    if names is None:
        raise InvalidProblem(f"Expected column numbers in features, because X has no column names, got {brief(entry)}.")
    if entry not in names:
        lower = {name.lower(): name for name in names}
        close = [lower[text] for text in difflib.get_close_matches(entry.lower(), list(lower))]
        known = close or [*names[:10], *(["..."] if len(names) > 10 else [])]
        kind = "close names are" if close else "its columns are"
        raise InvalidProblem(f"Expected features to be columns of X, got {brief(entry)}; {kind} {known}.")
    return list(names).index(entry)
