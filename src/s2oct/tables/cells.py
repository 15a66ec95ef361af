"""Cells of a column as numbers, text or labels, with a mark where a cell is a gap."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from s2oct.arrays import FloatArray, ObjectArray
from s2oct.errors import InvalidProblem, InvalidTable, Remedy
from s2oct.tables.dialect import IN_MEMORY, Dialect
from s2oct.tables.encoding import NUMBER, Encoding, Unseen


def encode_rows(
    table: Any, encoding: Encoding, dialect: Dialect, first_row: int = 1, unseen: Unseen | None = None
) -> FloatArray:
    """Encode rows of a table, shape (rows, n_features); ``first_row`` is the number of the first one in messages.

    What the fit did not see is counted in ``unseen``, and refused without that.
    """
    cells = {
        column.name: read_cells(table[column.name], column.name, column.kind, dialect) for column in encoding.columns
    }
    return encoding.encode(cells, first_row, unseen)


def read_cells(column: Any, name: str, kind: str, dialect: Dialect) -> FloatArray | ObjectArray:
    """Read a column in the form that its encoding takes: numbers, or text for categories.

    A column that should hold numbers and does not is returned as text; its encoding then names the first bad cell.
    """
    if kind == NUMBER:
        # The usual marks are no numbers, so among numbers they are gaps wherever the text comes from.
        usual = replace(dialect, missing=tuple(filter(None, dialect.missing)))
        numbers = read_numbers(column, usual if dialect.typed else dialect)
        if numbers is not None:
            return numbers
    texts = read_texts(column, dialect)
    if texts is None:
        expected = "numbers" if kind == NUMBER else "text, numbers or booleans"
        raise InvalidTable(
            f"Expected {expected} in column {name!r}, got {column.type} values", Remedy.LEAVE_OUT, column=name
        )
    return texts if kind == NUMBER else category_texts(texts, dialect)


def category_texts(texts: ObjectArray, dialect: Dialect) -> ObjectArray:
    """Write whole numbers without decimals: a program that has a gap among them may have written 3 as 3.0."""
    if dialect.typed:
        return texts
    short = {text: _float_integer(text) for text in set(texts.tolist()) if text is not None}
    if not short or None in short.values():
        return texts
    return np.array([None if text is None else str(short[text]) for text in texts], dtype=object)


def read_numbers(column: Any, dialect: Dialect) -> FloatArray | None:
    """Read a column as floats with NaN for gaps; None if it holds anything but numbers."""
    column = as_values(column)
    kind = column.type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.uint8())
    elif is_text(kind):
        text = without_gaps(pc.utf8_trim_whitespace(column), dialect)
        if dialect.decimal == ",":
            # A point is then no decimal sign: 1.234 is more than a thousand.
            text = pc.replace_substring(pc.replace_substring(text, ".", "?"), ",", ".")
        column = pc.replace_substring_regex(text, r"^\+([0-9.])", r"\1")
    elif not (
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind)
    ):
        return None
    try:
        return _as_floats(column)
    except pa.ArrowInvalid:
        return None


def read_texts(column: Any, dialect: Dialect) -> ObjectArray | None:
    """Read a column as text with None for gaps; None if it holds neither text nor numbers nor booleans."""
    column = as_values(column)
    kind = column.type
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        numbers = _as_floats(column).tolist()
        return np.array([None if number != number else _number_text(number) for number in numbers], dtype=object)
    if not (is_text(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind)):
        return None
    return np.array(without_gaps(column.cast(pa.large_string()), dialect).to_pylist(), dtype=object)


def _number_text(number: float) -> str:
    return str(int(number)) if number.is_integer() else repr(number)


def read_label_cells(column: Any, dialect: Dialect) -> list[Any]:
    """Read a column of labels with None for gaps; whole numbers become integers, also those written as 1.0."""
    column = as_values(column)
    kind = column.type
    is_plain = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    if not (is_text(kind) or is_plain or pa.types.is_null(kind)):
        raise InvalidProblem(f"Expected labels that are text, whole numbers or booleans, got {kind} values.")
    if not is_text(kind):
        return [_label(value) for value in column.to_pylist()]
    texts = read_texts(column, dialect)
    return _whole_numbers([] if texts is None else texts.tolist())


def as_values(column: Any) -> Any:
    """Replace the codes of a dictionary column by the values they stand for."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def declared_order(column: Any) -> tuple[str, ...] | None:
    """The levels of a dictionary column in their order; None for other columns.

    Numbers whose type has no order keep their own.
    """
    kind = column.type
    if not pa.types.is_dictionary(kind) or not (kind.ordered or is_text(kind.value_type)):
        return None
    whole = column.unify_dictionaries() if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    if not whole.num_chunks:
        return ()
    texts = read_texts(whole.chunk(0).dictionary, IN_MEMORY)
    return None if texts is None else tuple(str(text) for text in texts if text is not None)


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is one of text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def without_gaps(text: Any, dialect: Dialect) -> Any:
    """Replace the marks of gaps in a column of text by nothing."""
    # Arrow imports pandas to make an array or a scalar of Python's objects: here a pattern and a constant will do.
    is_gap = pc.match_substring_regex(pc.utf8_trim_whitespace(text), f"^(?:{'|'.join(map(re.escape, dialect.gaps))})$")
    return pc.if_else(is_gap, pa.NULL, text)


def _as_floats(column: Any) -> FloatArray:
    """A column as floats with NaN for gaps, without a copy where there is nothing to change."""
    if not pa.types.is_float64(column.type):
        column = column.cast(pa.float64(), safe=False)
    whole = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    # Arrow imports pandas for its own conversion.
    floats = _buffer(whole, np.dtype(float))
    if not whole.null_count:
        return np.asarray(floats)
    return np.where(_buffer(whole.is_valid().cast(pa.uint8()), np.dtype(np.uint8)) == 1, floats, np.nan)


def _buffer(array: Any, kind: np.dtype[Any]) -> Any:
    """The values of an Arrow array of numbers, without a copy; those of gaps mean nothing."""
    buffer = array.buffers()[1]
    if buffer is None:
        return np.zeros(len(array), kind)
    return np.frombuffer(buffer, kind)[array.offset : array.offset + len(array)]


def _label(value: Any) -> Any:
    if isinstance(value, float):
        return None if value != value else int(value) if value.is_integer() else value
    return value


def _whole_numbers(cells: list[str | None]) -> list[Any]:
    """Cells as integers if all are written as such, or all as 1.0; otherwise the cells as they are."""
    known = {cell for cell in cells if cell is not None}
    for reading in (_integer, _float_integer):
        if known and all(reading(cell) is not None for cell in known):
            return [None if cell is None else reading(cell) for cell in cells]
    return list(cells)


def _integer(cell: str) -> int | None:
    # 007 is a name, and so is a number of more digits than 64 bits hold.
    return int(cell) if re.fullmatch(r"-?(0|[1-9]\d{0,17})", cell.strip(), re.ASCII) else None


def _float_integer(cell: str) -> int | None:
    whole, point, rest = cell.strip().partition(".")
    return _integer(whole) if point and rest and set(rest) == {"0"} else None
