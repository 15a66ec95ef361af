"""Features from the user's X: arrays, lists, pandas, polars and Arrow tables."""

from __future__ import annotations

import numbers
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from numbers import Number
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.utils.validation import _check_feature_names, check_array, validate_data

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.errors import InvalidKind, InvalidProblem, InvalidTable, Remedy
from s2oct.problem.known import counted_rows, names_of_columns, read_weights, warn_caller
from s2oct.problem.labels import marks_missing
from s2oct.tables.columns import Treatment, detected_ids, encode_rows, is_named_as_row_numbers
from s2oct.tables.dialect import IN_MEMORY
from s2oct.tables.encoding import Encoding, Features, Unseen, learn_column, refuse_same_features
from s2oct.trees.features import NUMBER
from s2oct.wording import brief, listed, plural

# Conversion to Arrow tables, from pandas, polars and Arrow tables, arrays and lists of rows.

_NUMBERS = "biuf"
"""Kinds of numpy's numeric types."""


def arrow_table(X: Any) -> Any:
    """Convert a table in memory to an Arrow table.

    Text, numbers, booleans, ordered and unordered categories, dates and missing values keep their types.

    Parameters
    ----------
    X : pandas, polars or Arrow table, array or list of rows
        Columns of an array are named x0, x1, ...

    Returns
    -------
    pyarrow.Table
    """
    X = _as_table(X)
    n_axes = len(getattr(X, "shape", (0, 0)))
    if n_axes != 2:
        raise InvalidKind(f"Expected a table with rows and columns, got {plural(n_axes, 'dimension')}: {brief(X)}.")
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(X, pandas.DataFrame):
        X = _from_pandas(X)
    elif hasattr(X, "__arrow_c_stream__"):
        X = pa.table(X)
    elif hasattr(X, "__dataframe__"):
        from pyarrow.interchange import from_dataframe

        X = from_dataframe(X)
    elif not isinstance(X, pa.Table):
        X = _from_rows(X)
    # Some tables of other programs show their names only now.
    refuse_repeated(X.column_names)
    return pa.table([_without_views(column) for column in X.columns], names=X.column_names)


def _without_views(column: Any) -> Any:
    """Return a column with text in Arrow's usual layout; polars uses string views."""
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


def _from_pandas(X: Any) -> Any:
    if X.columns.nlevels > 1:
        raise InvalidKind(
            f"Expected columns with one name each, got names of {X.columns.nlevels} levels: join them, for instance "
            "with X.columns = ['_'.join(map(str, name)) for name in X.columns]."
        )
    names = [str(name) for name in X.columns]
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
    """Convert an array or a list of rows; text stays text, even next to numbers."""
    try:
        array = X if isinstance(X, np.ndarray) else np.asarray(X)
    except ValueError as error:
        raise InvalidKind(f"Expected rows of equal length, got {brief(X)}.") from error
    if array.dtype.kind not in _NUMBERS and not isinstance(X, np.ndarray):
        # In an array of text, numbers next to text would become text.
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
    """Convert a column of Python objects, which must have one type."""
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
            # Numbers of mixed types, or beyond 64 bits.
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


# Features of the tables passed to a classifier, and the columns that rules may use.

_NUMERIC = re.compile(r"^u?int\d|^float|^double|^half|^decimal", re.IGNORECASE)
"""Names of numeric types in pandas, polars and Arrow."""

_MOST_FOR_MEDIAN = 100_000
"""Minimum number of rows used for the median of a column without missing values: it only fills other tables."""


FROM_DTYPE = "from_dtype"


def learn_features(
    estimator: Any,
    X: Any,
    *,
    categorical: Any = FROM_DTYPE,
    left_out: tuple[str, ...] = (),
    sample_weight: Any = None,
    keep_single: bool = False,
) -> Features:
    """Learn the encoding of a table as features; set ``encoding_`` and the column names of the estimator.

    Parameters
    ----------
    estimator : classifier
        The classifier to fit.
    X : array-like or table
        Numbers; a table or an object array can also hold text, categories, booleans and missing values.
    categorical : object
        The parameter ``categorical_features``.
    left_out : tuple of str
        Columns that are not features.
    sample_weight : array-like of shape (n_rows,), optional
        Survey weights; rows of weight 0 are ignored.
    keep_single : bool
        Whether 32-bit floats are kept, so that a large table is not copied.
    """
    if isinstance(X, Features):
        estimator.n_features_in_, estimator.encoding_ = len(X.encoding.names), X.encoding
        estimator.feature_names_in_ = np.array(X.encoding.names, dtype=object)
        return X
    X = _as_table(X)
    table = without_columns(X, left_out)
    if isinstance(categorical, str):
        read_categorical_features(categorical, ())
    has_row_numbers = any(map(is_named_as_row_numbers, map(str, names_of_columns(table))))
    if holds_numbers(table) and not has_row_numbers and (categorical is None or isinstance(categorical, str)):
        numbers = _numbers(estimator, table, reset=True, keep_single=keep_single)
        counted = _counted(sample_weight, len(numbers))
        encoding, rows = _plain(numbers, getattr(estimator, "feature_names_in_", None), counted)
        estimator.encoding_ = encoding
        return Features(X, encoding, rows, left_out, is_plain=rows is numbers)
    _check_feature_names(estimator, table, reset=True)
    arrow = _arrow(estimator, table)
    estimator.n_features_in_ = arrow.num_columns
    names = [str(name) for name in names_of_columns(X)] or arrow.column_names
    chosen = read_categorical_features(categorical, names)
    treatment = Treatment(categorical=None if chosen is None else tuple(c for c in chosen if c not in left_out))
    counted = _counted(sample_weight, arrow.num_rows)
    teaching = arrow if counted is None else arrow.take(pa.array(counted))
    encoding, uses = treatment.learn(teaching, arrow.column_names, IN_MEMORY)
    estimator.encoding_ = encoding
    rows = np.ascontiguousarray(encode_rows(arrow, encoding, IN_MEMORY, unseen=Unseen()))
    return Features(X, encoding, rows, left_out, doubts=_unused(detected_ids(uses)))


def read_rows(estimator: Any, X: Any) -> FloatArray:
    """Return the features of a table for a fitted classifier; warn about levels and missing values not seen in the fit.

    In a table with column names, columns that the fit did not have are ignored.
    """
    if isinstance(X, Features):
        return X.rows
    X = _as_table(X)
    encoding, unseen = estimator.encoding_, Unseen()
    table = _columns_of(encoding, X) if hasattr(estimator, "feature_names_in_") else None
    is_matched = table is not None
    table = X if table is None else table
    if encoding.is_numeric and holds_numbers(table):
        rows = _filled(_numbers(estimator, table, reset=False, is_matched=is_matched), encoding, unseen)
    else:
        arrow = _arrow(estimator, table)
        if not is_matched:
            _check_feature_names(estimator, X, reset=False)
            if arrow.num_columns != estimator.n_features_in_:
                raise InvalidProblem(
                    f"X has {arrow.num_columns} features, but {type(estimator).__name__} is expecting "
                    f"{estimator.n_features_in_} features as input."
                )
            names = getattr(estimator, "feature_names_in_", encoding.names)
            arrow = arrow.rename_columns([str(name) for name in names])
        rows = encode_rows(arrow, encoding, IN_MEMORY, unseen=unseen)
    if unseen:
        warn_caller(unseen.sentence(encoding.columns))
    return rows


def _as_table(X: Any) -> Any:
    """Return an object that can be read as a table; refuse any other."""
    if X is None or isinstance(X, (str, bytes, Mapping, Set)):
        raise InvalidProblem(f"Expected a table of rows and features, got {brief(X)}.")
    if type(X).__name__ == "LazyFrame":
        raise InvalidKind("Expected a table, got a polars LazyFrame: pass its collect().")
    if isinstance(X, pa.RecordBatch):
        X = pa.Table.from_batches([X])
    refuse_repeated([str(name) for name in names_of_columns(X)])
    return X


def _counted(sample_weight: Any, n_rows: int) -> IntArray | None:
    """Return the positions of the rows with positive weight; None if all have one."""
    return None if sample_weight is None else counted_rows(read_weights(sample_weight, n_rows))


def _numbers(estimator: Any, X: Any, *, reset: bool, keep_single: bool = False, is_matched: bool = False) -> FloatArray:
    """Validate a numeric table with scikit-learn, which also records or compares names; missing values are NaN.

    The names of a table that already matches the fit are not compared again.
    """
    if np.ma.is_masked(X):
        X = np.ma.filled(X.astype(float), np.nan)
    kinds = [np.float64, np.float32] if keep_single else np.float64
    try:
        if is_matched:
            rows = check_array(X, dtype=kinds, order="C", ensure_all_finite="allow-nan", estimator=estimator)
        else:
            rows = validate_data(
                estimator, X, reset=reset, dtype=kinds, accept_sparse=False, order="C", ensure_all_finite="allow-nan"
            )
    except (TypeError, ValueError, OverflowError) as error:
        problem = _column_problem(X) if hasattr(X, "columns") else _cell_problem(X)
        kind = InvalidKind if isinstance(error, TypeError) and problem is None else InvalidProblem
        raise kind(problem or str(error)) from error
    return np.asarray(rows) if keep_single else np.asarray(rows, dtype=np.float64)


def _plain(rows: FloatArray, names: Any, counted: IntArray | None) -> tuple[Encoding, FloatArray]:
    """Return the encoding of a numeric table, and its features."""
    shown = [f"x{j}" for j in range(rows.shape[1])] if names is None else [str(name) for name in names]
    teaching = rows if counted is None else rows[counted]
    gaps: BoolArray = np.asarray(np.isnan(teaching).any(axis=0))
    step = max(len(teaching) // _MOST_FOR_MEDIAN, 1)
    known = [np.asarray(teaching[:: 1 if gaps[j] else step, j], dtype=np.float64) for j in range(rows.shape[1])]
    columns = tuple(learn_column(name, values, NUMBER) for name, values in zip(shown, known, strict=True))
    encoding = Encoding(columns)
    refuse_same_features(encoding)
    return encoding, _filled(rows, encoding, Unseen())


def _filled(rows: FloatArray, encoding: Encoding, unseen: Unseen) -> FloatArray:
    """Return the features of numbers; count missing values of columns that had none in the fit."""
    if len(encoding.features) == rows.shape[1] and not np.isnan(rows).any():
        return rows
    cells = {column.name: np.asarray(rows[:, j], dtype=float) for j, column in enumerate(encoding.columns)}
    return np.ascontiguousarray(encoding.encode(cells, unseen=unseen))


def _arrow(estimator: Any, X: Any) -> Any:
    """Convert a table to an Arrow table with at least one row and one column."""
    arrow = arrow_table(X)
    for number, what in ((arrow.num_rows, "sample"), (arrow.num_columns, "feature")):
        if not number:
            raise InvalidProblem(
                f"Found array with 0 {what}(s) (shape={arrow.shape}) while a minimum of 1 is required by "
                f"{type(estimator).__name__}."
            )
    return arrow


def _columns_of(encoding: Encoding, X: Any) -> Any | None:
    """Return the columns of an encoding if the table has them in the same order; None otherwise."""
    names, needed = names_of_columns(X), list(encoding.names)
    if [name for name in names if name in needed] != needed:
        return None
    return X.select(needed) if hasattr(X, "column_names") else X[needed]


def _unused(ids: Sequence[str]) -> tuple[str, ...]:
    """Name the columns that are not used because they identify rows."""
    if not ids:
        return ()
    columns, differ, are, them = ("Column", "has", "is", "it") if len(ids) == 1 else ("Columns", "have", "are", "them")
    return (
        f"{columns} {listed([repr(name) for name in ids])} {differ} a different value in every row, as an id does, and "
        f"{are} not used: drop {them}, or name {them} in categorical_features.",
    )


def holds_numbers(X: Any) -> bool:
    """Whether a table has only numbers, with or without missing values."""
    if names_of_columns(X):
        return all(_NUMERIC.search(str(kind)) for kind in _types_of_columns(X))
    if hasattr(X, "dtype"):
        return getattr(X.dtype, "kind", "O") not in "OUSMm"  # polars columns have their own types
    if not isinstance(X, (list, tuple)):
        return True
    cells = (cell for row in X for cell in (row if isinstance(row, (list, tuple, np.ndarray)) else (row,)))
    return all(isinstance(cell, numbers.Real) and not isinstance(cell, (bool, np.bool_)) for cell in cells)


def has_gaps(X: Any) -> bool:
    """Whether a numeric table has missing values."""
    is_complex = getattr(getattr(X, "dtype", None), "kind", "") == "c"
    if hasattr(X, "tocsr") or is_complex:
        return False  # the classifier reports what is wrong with the table
    names = names_of_columns(X)
    try:
        parts = [X[name] for name in names] or [X]
        return any(bool(np.isnan(np.asarray(part, dtype=float)).any()) for part in parts)
    except (TypeError, ValueError, OverflowError):
        return False  # the classifier reports what is wrong with the table


def without_columns(X: Any, names: Sequence[str]) -> Any:
    """Drop these columns from a data frame; return any other object unchanged."""
    known = names_of_columns(X)
    if not any(name in names for name in known):
        return X
    kept = [name for name in known if name not in names]
    return X.select(kept) if hasattr(X, "column_names") else X[kept]


def text_columns(X: Any, names: Any) -> tuple[str, ...]:
    """Return those of the named columns of a data frame that are not numeric."""
    wanted = [names] if isinstance(names, str) else names if isinstance(names, (list, tuple)) else []
    kinds = {name: str(kind) for name, kind in zip(names_of_columns(X), _types_of_columns(X), strict=True)}
    named = [name for name in wanted if isinstance(name, str) and name in kinds]
    return tuple(name for name in named if not (_NUMERIC.search(kinds[name]) or "bool" in kinds[name].lower()))


def _types_of_columns(X: Any) -> list[Any]:
    """Return the types of the columns that `names_of_columns` names."""
    return list(X.schema.types if hasattr(X, "column_names") else X.dtypes) if names_of_columns(X) else []


def _column_problem(X: Any) -> str | None:
    """Describe all columns of a data frame that cannot be features."""
    problems = [problem for name in names_of_columns(X) if (problem := _problem_of(X[name], str(name)))]
    return " ".join(problems) or None


def _problem_of(column: Any, name: str) -> str | None:
    try:
        values = np.asarray(column, dtype=float)
    except (TypeError, ValueError, OverflowError):
        return f"Expected numeric features, got column {name!r} of {getattr(column, 'dtype', '')} values."
    return f"Expected finite features, got infinity (inf) in column {name!r}." if np.isinf(values).any() else None


def _cell_problem(X: Any) -> str | None:
    """Describe the first row or cell of a list or an object array that cannot be read as numbers."""
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


def read_categorical_features(given: Any, names: Sequence[str]) -> tuple[str, ...] | None:
    """Return the names of the categorical columns, for `Treatment`; None if the column types decide.

    Parameters
    ----------
    given : "from_dtype", None, or array of str, int or bool
        Column types decide; no column is categorical; or names, positions or a mask of the categorical columns.
    names : sequence of str
        Names of all columns.

    Examples
    --------
    >>> read_categorical_features([False, True], ["age", "region"])
    ('region',)
    """
    if isinstance(given, str):
        if given != FROM_DTYPE:
            raise InvalidProblem(f"Expected categorical_features to be {FROM_DTYPE!r} or a list, got {given!r}.")
        return None
    if given is None:
        return ()
    try:
        chosen = list(given)
    except TypeError as error:
        raise _of_other_kind(given) from error
    kinds = {type(entry.item() if isinstance(entry, np.generic) else entry) for entry in chosen}
    if not kinds:
        return ()
    if kinds == {bool}:
        if len(chosen) != len(names):
            raise InvalidProblem(
                f"Expected categorical_features to have {len(names)} entries, one for each column, got {len(chosen)}."
            )
        return tuple(name for name, is_chosen in zip(names, chosen, strict=True) if is_chosen)
    if kinds == {int}:
        unknown = [place for place in chosen if not 0 <= place < len(names)]
        if unknown:
            raise InvalidProblem(
                f"Expected categorical_features between 0 and {len(names) - 1}, the positions of the columns, got "
                f"{unknown[0]}."
            )
        return tuple(names[place] for place in chosen)
    if kinds != {str}:
        raise _of_other_kind(given)
    unknown = [name for name in chosen if name not in names]
    if unknown:
        raise InvalidProblem(
            f"Expected categorical_features among the columns {brief(list(names))}, got {unknown[0]!r}."
        )
    return tuple(map(str, chosen))


def _of_other_kind(given: Any) -> InvalidProblem:
    return InvalidProblem(
        f"Expected categorical_features to be {FROM_DTYPE!r}, None, or a list of names, positions or booleans, got "
        f"{brief(given)}."
    )


def read_rule_features(given: Any, encoding: Encoding, names: Sequence[Any]) -> tuple[int, ...] | None:
    """Return the sorted positions of the features that rules may use, from column names or positions; None for all.

    ``names`` are the names of all columns; empty if the table has none.
    """
    if given is None:
        return None
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InvalidProblem(f"Expected features to be a list of column names or numbers, or None, got {brief(given)}.")
    chosen = {j for entry in given for j in _features_of(entry, encoding, names)}
    if not chosen:
        raise InvalidProblem("Expected features to name at least one column that rules may use, got none.")
    return tuple(sorted(chosen))


def _features_of(entry: Any, encoding: Encoding, given: Sequence[Any]) -> list[int]:
    """Return the positions of the features of a column, given by name or position, or of the named feature."""
    is_named = bool(given) and all(isinstance(name, str) for name in given)
    names = list(given if is_named else encoding.names)
    if isinstance(entry, numbers.Integral) and not isinstance(entry, bool):
        if not 0 <= int(entry) < len(names):
            raise InvalidProblem(f"Expected features to have column numbers from 0 to {len(names) - 1}, got {entry}.")
        entry = names[int(entry)]
    elif not isinstance(entry, str):
        raise InvalidProblem(f"Expected features to be column names or numbers, got {brief(entry)} among them.")
    elif not is_named:
        raise InvalidProblem(f"Expected column numbers in features, because X has no column names, got {brief(entry)}.")
    if entry in names and entry not in encoding.names and entry not in encoding.features:
        raise InvalidProblem(f"Column {entry!r} is not a feature: it holds domains or identifies rows.")
    return encoding.features_of(entry)
