"""Tables in memory as Arrow tables: pandas, polars and Arrow tables, arrays and lists of rows.

Neither pandas nor polars is imported: who passes such a table has imported it.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from numbers import Number
from typing import Any

import numpy as np
import pyarrow as pa

from s2oct.errors import InvalidKind, InvalidProblem, InvalidTable, Remedy
from s2oct.model.labels import marks_missing
from s2oct.wording import brief, plural

_NUMBERS = "biuf"
"""Kinds of numpy's types of numbers."""


def is_table(X: Any) -> bool:
    """Whether an object is a table with named columns."""
    return isinstance(X, (pa.Table, pa.RecordBatch)) or any(
        hasattr(X, name) for name in ("__arrow_c_stream__", "__dataframe__")
    )


def arrow_table(X: Any) -> Any:
    """Make an Arrow table of a table in memory.

    Text, numbers, booleans, categories with or without an order, dates and missing values stay what they are.

    Parameters
    ----------
    X : pandas, polars or Arrow table, array or list of rows
        Columns of an array are called x0, x1, ...

    Returns
    -------
    pyarrow.Table
    """
    n_axes = len(getattr(X, "shape", (0, 0)))
    if n_axes != 2:
        raise InvalidKind(f"Expected a table with rows and columns, got {plural(n_axes, 'dimension')}: {brief(X)}.")
    if isinstance(X, pa.RecordBatch):
        X = pa.Table.from_batches([X])
    elif _is_of(X, "pandas", "DataFrame"):
        X = _from_pandas(X)
    elif _is_of(X, "polars", "LazyFrame"):
        raise InvalidKind("Expected a table, got a polars LazyFrame: pass its collect().")
    elif not isinstance(X, pa.Table):
        X = _from_frame(X) if is_table(X) else _from_rows(X)
    refuse_repeated(X.column_names)
    return pa.table([_without_views(column) for column in X.columns], names=X.column_names)


def _without_views(column: Any) -> Any:
    """A column whose texts are stored in the way that Arrow can work with; polars has another one."""
    kind = column.type
    if pa.types.is_string_view(kind):
        return column.cast(pa.large_string())
    if not (pa.types.is_dictionary(kind) and pa.types.is_string_view(kind.value_type)):
        return column
    whole = column.unify_dictionaries()
    chunks = [
        pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(pa.large_string()), ordered=kind.ordered)
        for chunk in whole.chunks
    ]
    return pa.chunked_array(chunks, pa.dictionary(kind.index_type, pa.large_string(), kind.ordered))


def _is_of(X: Any, package: str, name: str) -> bool:
    """Whether an object has a class of a package that may not be imported."""
    module = sys.modules.get(package)
    return module is not None and isinstance(X, getattr(module, name))


def _from_frame(X: Any) -> Any:
    """A table of polars or of any other program that hands its columns over."""
    if hasattr(X, "__arrow_c_stream__"):
        return pa.table(X)
    from pyarrow.interchange import from_dataframe

    return from_dataframe(X)


def _from_pandas(X: Any) -> Any:
    if X.columns.nlevels > 1:
        raise InvalidKind(
            f"Expected columns with one name each, got names of {X.columns.nlevels} levels: join them, for instance "
            "with X.columns = ['_'.join(map(str, name)) for name in X.columns]."
        )
    names = [str(name) for name in X.columns]
    refuse_repeated(names)
    return pa.table([_pandas_column(X.iloc[:, i], name) for i, name in enumerate(names)], names=names)


def _pandas_column(series: Any, name: str) -> Any:
    kind = str(series.dtype)
    if kind.startswith("Sparse"):
        series = series.sparse.to_dense()
    elif kind.startswith("period"):
        series = series.dt.to_timestamp()
    elif kind == "category" and series.cat.categories.dtype.kind not in "biufMm":
        series = series.cat.rename_categories([str(level) for level in series.cat.categories])
    if series.dtype == object:
        return _object_column(series.tolist(), name)
    try:
        column = pa.array(series, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InvalidTable(
            f"Expected text, numbers or booleans in column {name!r}, got {kind} values", Remedy.LEAVE_OUT, column=name
        ) from error
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def _from_rows(X: Any) -> Any:
    """An array or a list of rows; what is text there is text, also beside numbers."""
    try:
        array = X if isinstance(X, np.ndarray) else np.asarray(X)
    except ValueError as error:
        raise InvalidKind(f"Expected rows of equal length, got {brief(X)}.") from error
    if array.dtype.kind not in _NUMBERS and not isinstance(X, np.ndarray):
        # As an array of text, numbers beside text would be text.
        array = np.array(X, dtype=object)
    if array.ndim != 2:
        raise InvalidKind(f"Expected a table with rows and columns, got {plural(array.ndim, 'dimension')}: {brief(X)}.")
    names = [f"x{j}" for j in range(array.shape[1])]
    if array.dtype.kind in _NUMBERS:
        columns = [pa.chunked_array([pa.array(np.ascontiguousarray(column))]) for column in array.T]
    else:
        columns = [_object_column(column.tolist(), name) for name, column in zip(names, array.T, strict=True)]
    return pa.table(columns, names=names)


def _object_column(cells: Sequence[Any], name: str) -> Any:
    """A column of Python's objects, which must be of one kind."""
    known = [None if marks_missing(cell) else cell for cell in cells]
    for kind, row in _first_of_each_kind(known).items():
        if kind == "other":
            raise InvalidKind(
                f"Column {name!r} has {brief(known[row])} in row {row + 1}: the argument must be a table whose cells "
                "are a string, a number, a boolean or a date."
            )
    try:
        return pa.chunked_array([pa.array(known)])
    except (pa.ArrowException, OverflowError, UnicodeError) as error:
        found = _first_of_each_kind(known)
        if set(found) <= {"number"}:
            # Numbers of several types, or larger than 64 bits.
            return pa.chunked_array([pa.array([None if cell is None else _as_float(cell, name) for cell in known])])
        named = " and ".join(f"{brief(known[row])} in row {row + 1}" for row in sorted(found.values())[:2])
        raise InvalidProblem(f"Column {name!r} has {named}: make it all text or all numbers.") from error


def _as_float(cell: Any, name: str) -> float:
    try:
        return float(cell)
    except OverflowError as error:
        raise InvalidProblem(f"Column {name!r} has a number that is too large for a float.") from error


def _first_of_each_kind(cells: Sequence[Any]) -> dict[str, int]:
    found: dict[str, int] = {}
    for row, cell in enumerate(cells):
        if cell is not None:
            found.setdefault(_kind(cell), row)
    return found


def _kind(cell: Any) -> str:
    if isinstance(cell, str):
        return "text"
    if isinstance(cell, (bool, np.bool_)):
        return "boolean"
    if isinstance(cell, Number) and not isinstance(cell, complex):
        return "number"
    return "date" if hasattr(cell, "isoformat") or hasattr(cell, "total_seconds") else "other"


def refuse_repeated(names: Sequence[str]) -> None:
    """Refuse columns that share a name."""
    repeated = sorted(name for name, times in Counter(names).items() if times > 1)
    if repeated:
        raise InvalidProblem(f"Expected distinct column names, got {repeated} more than once: rename them.")
