"""One row as users give it: numbers in order, or values by name."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.errors import InvalidProblem


def read_row(row: Any, feature_names: Sequence[str]) -> FloatArray:
    """Read one row, shape (p,): an array or a series, a mapping of names to values, or a table of one row."""
    given = _by_name(row)
    if given is None:
        values = _in_order(row, len(feature_names))
    else:
        unknown = [name for name in given if name not in feature_names]
        missing = [name for name in feature_names if name not in given]
        if unknown or missing:
            found = f"no value of {missing[0]!r}" if missing else f"the unknown name {unknown[0]!r}"
            raise InvalidProblem(f"Expected a value for each of {_listed(feature_names)}, got {found}.")
        values = [given[name] for name in feature_names]
    return np.array([_number(value, name) for value, name in zip(values, feature_names, strict=True)])


def _by_name(row: Any) -> Mapping[str, Any] | None:
    """The values by name; None where the row has no names, or names that are no text."""
    if isinstance(row, Mapping):
        return {str(name): value for name, value in row.items()}
    if hasattr(row, "columns"):
        _refuse_other_than_one(len(row))
        named = {name: np.asarray(row[name], dtype=object)[0] for name in row.columns}
        if len(named) < len(row.columns):
            raise InvalidProblem("Expected distinct column names, got one more than once.")
    elif hasattr(row, "items") and hasattr(row, "index"):
        named = dict(row.items())
        if len(named) < len(row):
            raise InvalidProblem("Expected distinct names of the values, got one more than once.")
    else:
        return None
    return named if all(isinstance(name, str) for name in named) else None


def _in_order(row: Any, n_features: int) -> list[Any]:
    if row is None or isinstance(row, (str, bytes)) or not hasattr(row, "__len__"):
        raise InvalidProblem(f"Expected a row of {n_features} values, got {reprlib.repr(row)}.")
    try:
        values = np.asarray(row, dtype=object)
    except ValueError as error:
        raise InvalidProblem(f"Expected a row of {n_features} values, got lists of different lengths.") from error
    if values.ndim == 2:
        _refuse_other_than_one(len(values))
        values = values[0]
    if values.ndim != 1:
        raise InvalidProblem(f"Expected a row of {n_features} values, got an array of shape {values.shape}.")
    if len(values) != n_features:
        raise InvalidProblem(f"Expected a row of {n_features} values, one for each feature, got {len(values)}.")
    return list(values)


def _refuse_other_than_one(n_rows: int) -> None:
    if n_rows != 1:
        raise InvalidProblem(f"Expected one row, got {n_rows}: explain the rows one by one.")


def _number(value: Any, name: str) -> float:
    is_date = getattr(value, "dtype", np.dtype(float)).kind in "mM"  # would be read as a number of nanoseconds
    try:
        number = math.inf if is_date else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan if value is None else math.inf
    if math.isnan(number):
        raise InvalidProblem(f"Expected a number for {name!r}, got a missing value (NaN).")
    if math.isinf(number):
        raise InvalidProblem(f"Expected a finite number for {name!r}, got {reprlib.repr(value)}.")
    return number


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names[:20]) + (", ..." if len(names) > 20 else "")
