"""One row as users give it: numbers in order, or values by name."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from s2oct.errors import InvalidProblem
from s2oct.inputs import names_of_columns
from s2oct.model.labels import marks_missing
from s2oct.tables.dialect import IN_MEMORY
from s2oct.tables.table_row import TableRow


def read_row(row: Any, names: Sequence[str]) -> TableRow:
    """One row with these columns: an array, a series, a mapping of names to values, or a table of one row."""
    given = _by_name(row)
    if given is None:
        values = _in_order(row, len(names))
    else:
        missing = [name for name in names if name not in given]
        if missing:
            raise InvalidProblem(f"Expected a value for each of {_listed(names)}, got no value of {missing[0]!r}.")
        values = [given[name] for name in names]
    cells = pa.table({name: pa.array([_cell(value, name)]) for name, value in zip(names, values, strict=True)})
    return TableRow(1, cells, IN_MEMORY)


def _by_name(row: Any) -> Mapping[str, Any] | None:
    """The values by name; None where the row has no names, or names that are no text."""
    if isinstance(row, Mapping):
        return {str(name): value for name, value in row.items()}
    names = names_of_columns(row)
    if names:
        _refuse_other_than_one(len(row))
        named = {name: np.asarray(row[name], dtype=object)[0] for name in names}
        if len(named) < len(names):
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


def _cell(value: Any, name: str) -> Any:
    """A cell as Arrow takes it: text, a boolean, a finite number, or None for a missing value."""
    value = value.item() if isinstance(value, np.generic) else value
    if marks_missing(value) or isinstance(value, (str, bool)):
        return None if marks_missing(value) else value
    try:
        number = math.inf if hasattr(value, "isoformat") else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.inf
    if math.isinf(number):
        raise InvalidProblem(f"Expected a finite number for {name!r}, got {reprlib.repr(value)}.")
    return value if isinstance(value, int) else number


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names[:20]) + (", ..." if len(names) > 20 else "")
