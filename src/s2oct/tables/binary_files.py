"""Files that are not text: Arrow and Parquet, sheets of Excel, and tables of SPSS, Stata and SAS with their labels."""

from __future__ import annotations

import datetime as dt
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from s2oct.errors import InvalidProblem
from s2oct.problem.batches import BATCH_ROWS
from s2oct.tables.columns import named_columns
from s2oct.tables.formats import Format, OpenedFile, ReadingLimit, damage_reported, reader_of


def open_arrow(path: Path, name: str) -> OpenedFile:
    """Open an Arrow file, also called a Feather file, in the file format or the stream format."""

    def blocks() -> Iterator[Any]:
        with _arrow_reader(path, name) as (reader, batches):
            for batch in batches:
                batch.validate()
                yield pa.Table.from_batches([batch], reader.schema)

    with _arrow_reader(path, name) as (reader, _):
        return OpenedFile(list(reader.schema.names), blocks)


@contextmanager
def _arrow_reader(path: Path, name: str) -> Iterator[tuple[Any, Iterator[Any]]]:
    """Open the file and yield its reader and its batches."""
    errors = (pa.ArrowException, OSError, ValueError)
    with damage_reported(Format.ARROW, name, errors), pa.OSFile(str(path), "rb") as file:
        if file.read(6) == b"ARROW1":
            reader = pa.ipc.open_file(file)
            yield reader, map(reader.get_batch, range(reader.num_record_batches))
        else:
            file.seek(0)
            reader = pa.ipc.open_stream(file)
            yield reader, iter(reader)


_READ_BUFFER = 2**20


def open_parquet(path: Path, name: str) -> OpenedFile:
    """Open a Parquet file, whose columns and row groups can also be read separately, by `parquet_batches`."""
    with damage_reported(Format.PARQUET, name, (pa.ArrowException, OSError)):
        file = pq.ParquetFile(path)
        names, facts = list(file.schema_arrow.names), file.metadata
        sizes = [facts.row_group(group).num_rows for group in range(facts.num_row_groups)]
    blocks = partial(parquet_batches, path, name, names, BATCH_ROWS)
    return OpenedFile(names, blocks, n_rows=sum(sizes), row_groups=sizes)


def parquet_batches(
    path: Path, name: str, columns: Sequence[str], rows: int, group: int | None = None
) -> Iterator[Any]:
    """Yield columns of a Parquet file or of one of its row groups, at most ``rows`` rows at a time."""
    groups = None if group is None else [group]
    with damage_reported(Format.PARQUET, name, (pa.ArrowException, OSError)):
        # A buffer keeps long row groups out of memory.
        file = pq.ParquetFile(path, buffer_size=_READ_BUFFER, pre_buffer=False)
        for batch in file.iter_batches(batch_size=rows, columns=list(columns), row_groups=groups):
            yield pa.Table.from_batches([batch])


_MOST_CELLS = 10**8
"""Maximum number of cells between the corners of a sheet, because the reader allocates all of them."""

_PART = 2**20
_LOOK = 2**14
_DIMENSION = re.compile(rb"<dimension\s+ref\s*=\s*[\"'](?:[A-Z]+\d+:)?([A-Z]+)(\d+)[\"']")
_FILLED_CELL = re.compile(rb"<c\s[^>]*?\br\s*=\s*[\"']([A-Z]+)(\d+)[\"'][^>]*(?<!/)>")


def open_excel(path: Path, name: str, sheet: str | None, limit: ReadingLimit | None) -> OpenedFile:
    """Read a sheet of an Excel file, by default the first, with column names in its first row."""
    with _workbook(path, name, limit) as book:
        sheets: list[str] = book.sheet_names
        if sheet is None and sheets:
            sheet = sheets[0]
        if sheet not in sheets:
            raise InvalidProblem(f"Expected one of the sheets {sheets} of {name!r}, got {sheet!r}.")
        # Empty cells and errors are empty text.
        rows: list[list[Any]] = book.get_sheet_by_name(sheet).to_python()
    while rows and not any(cell != "" for cell in rows[-1]):
        rows.pop()
    if not rows:
        raise InvalidProblem(f"Expected a table in the sheet {sheet!r} of {name!r}, got an empty sheet.")
    # Empty columns at the right are ignored.
    width = max((i + 1 for row in rows for i, cell in enumerate(row) if cell != ""), default=0)
    names = named_columns([_text(cell) for cell in rows[0][:width]])
    columns = [_excel_column([row[i] for row in rows[1:]]) for i in range(width)]
    table = pa.Table.from_arrays(columns, names=names)
    return OpenedFile(names, lambda: iter([table]), n_rows=table.num_rows)


def sheet_names(path: Path, name: str, limit: ReadingLimit | None) -> tuple[str, ...]:
    """Return the names of all sheets of an Excel file, even if they are empty."""
    with _workbook(path, name, limit) as book:
        return tuple(book.sheet_names)


@contextmanager
def _workbook(path: Path, name: str, limit: ReadingLimit | None) -> Iterator[Any]:
    calamine = reader_of(Format.EXCEL)
    errors = (calamine.CalamineError, zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError)
    with damage_reported(Format.EXCEL, name, errors):
        _refuse_wide_sheets(path, name, limit)
        with calamine.CalamineWorkbook.from_path(path) as book:
            yield book


def _refuse_wide_sheets(path: Path, name: str, limit: ReadingLimit | None) -> None:
    """Refuse sheets with cells far apart and sheets beyond a limit, before memory is allocated for them.

    Without a limit, a small declared size is trusted. A huge one is checked, because it may count cells that only
    have a format.
    """
    with zipfile.ZipFile(path) as archive:
        entries = [entry for entry in archive.infolist() if entry.filename.startswith("xl/")]
        if limit is not None:
            limit.refuse_bytes(sum(entry.file_size for entry in entries))
        for entry in entries:
            if entry.filename.startswith("xl/worksheets/") and entry.filename.endswith(".xml"):
                with archive.open(entry) as file:
                    _refuse_wide_sheet(file, name, limit)


def _refuse_wide_sheet(file: Any, name: str, limit: ReadingLimit | None) -> None:
    part = file.read(_LOOK)
    declared = _DIMENSION.search(part)
    if limit is None and (declared is None or int(declared[2]) * _column_number(declared[1]) <= _MOST_CELLS):
        return
    n_rows = n_columns = 0
    while part:
        for letters, number in _FILLED_CELL.findall(part):
            n_rows, n_columns = max(n_rows, int(number)), max(n_columns, _column_number(letters))
        read = file.read(_PART)
        part = part[part.rfind(b"<") :] + read if read else b""
    if limit is not None:
        limit.refuse_cells(n_rows * n_columns)
    if n_rows * n_columns > _MOST_CELLS:
        raise InvalidProblem(
            f"The cells of {name!r} reach to row {n_rows:,} and column {n_columns:,}: delete cells far from the "
            "table, or save it as CSV."
        )


def _column_number(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + letter - ord("A") + 1
    return number


def _excel_column(cells: list[Any]) -> Any:
    """Make a column of cells, typed if all have the same type; otherwise text as displayed."""
    kinds = {type(cell) for cell in cells if cell != ""}
    if not kinds:
        return pa.nulls(len(cells))
    if kinds <= {int, float}:
        return _as_whole_numbers(_column_of_numbers([None if cell == "" else cell for cell in cells]))
    for typed, (arrow, read) in _TYPES.items():
        if kinds <= typed:
            return pa.array([None if cell == "" else read(cell) for cell in cells], arrow)
    return _column_of_texts([_text(cell) for cell in cells])


def _moment(cell: Any) -> dt.datetime:
    return cell if isinstance(cell, dt.datetime) else dt.datetime(cell.year, cell.month, cell.day)


def _text(cell: Any) -> str:
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    return str(cell)


_TYPES: dict[frozenset[type], tuple[Any, Callable[[Any], Any]]] = {
    frozenset({bool}): (pa.bool_(), bool),
    frozenset({dt.date}): (pa.date32(), lambda day: day),
    frozenset({dt.date, dt.datetime}): (pa.timestamp("us"), _moment),
    frozenset({dt.time}): (pa.time64("us"), lambda time: time),
    frozenset({dt.timedelta}): (pa.duration("us"), lambda span: span),
}


_ROWS = 2**18
"""Number of rows read at a time: Python's numbers need four times the memory of Arrow's."""


def open_statistics(path: Path, name: str, kind: Format, limit: ReadingLimit | None) -> OpenedFile:
    """Open a file of SPSS, Stata or SAS.

    If all values of a column have labels, the column becomes categorical, in the order of the codes; the categories are
    ordered if the SPSS variable is. If some values have no label, the column stays as it is: on a scale from 0 to 10
    often only the ends have labels. A nominal SPSS variable is always categorical, and a code without a label is a
    category. Values that the file declares as missing are missing values.
    """
    reader = reader_of(kind)
    errors = (reader.ReadstatError, reader.PyreadstatError, ValueError, OverflowError, UnicodeError)
    read: Callable[..., Any] = partial(_statistics_function(path, kind), path, output_format="dict")
    known_missing = {} if kind is Format.SAS else {"user_missing": True}
    with damage_reported(kind, name, errors):
        _, facts = read(metadataonly=True, **known_missing)

    @cache
    def table() -> Any:
        with damage_reported(kind, name, errors):
            columns = _statistics_columns(read, facts, limit)
        labeled = [_with_labels(name, column, facts) for name, column in columns.items()]
        return pa.Table.from_arrays(labeled, names=list(columns))

    return OpenedFile(
        list(facts.column_names),
        lambda: iter([table()]),
        n_rows=facts.number_rows,
        variable_labels={name: label for name, label in facts.column_names_to_labels.items() if label},
    )


def _statistics_function(path: Path, kind: Format) -> Callable[..., Any]:
    name = {Format.SPSS: "read_sav", Format.STATA: "read_dta", Format.SAS: "read_sas7bdat"}[kind]
    with path.open("rb") as file:
        if file.read(6) == b"HEADER":
            name = "read_xport"
    function: Callable[..., Any] = getattr(reader_of(kind), name)
    return function


def _statistics_columns(read: Callable[..., Any], facts: Any, limit: ReadingLimit | None) -> dict[str, Any]:
    """Read all columns, with the codes of categories; refuse more cells than the limit."""
    most = 2**62
    if limit is not None:
        # Text columns have the width declared in the file.
        widths: list[int] = list(facts.variable_storage_width.values())
        most = min(limit.n_cells // max(len(widths), 1), limit.n_bytes // max(sum(widths), 1))
    parts: dict[str, list[Any]] = {name: [] for name in facts.column_names}
    n_rows, n_read = 0, _ROWS
    while n_read == _ROWS and n_rows <= most:
        cells, types = read(row_offset=n_rows, row_limit=min(_ROWS, most + 1 - n_rows))
        for name, values in cells.items():
            is_text = types.readstat_variable_types[name] == "string"
            parts[name].append(_statistics_column(values, is_text=is_text))
        n_read = len(next(iter(cells.values()), ()))
        n_rows += n_read
    if limit is not None:
        limit.refuse_cells(n_rows * len(parts))
    return {name: pa.chunked_array(chunks) for name, chunks in parts.items()}


def _with_labels(name: str, column: Any, facts: Any) -> Any:
    """Replace the codes of a categorical column by their labels."""
    labels, measure = _labels_of_values(name, facts), facts.variable_measure.get(name)
    if labels and not pa.types.is_temporal(column.type):
        codes = column.combine_chunks().dictionary_encode()
        values = codes.dictionary.to_pylist()
        others = [value for value in values if value not in labels]
        if not others or measure == "nominal":
            named = labels | {value: _text(value) for value in others}
            ordered = list(dict.fromkeys(named[value] for value in sorted(named)))
            places = np.array([ordered.index(named[value]) for value in values] or [0], dtype=np.int32)
            indices = pc.take(_integers(places), codes.indices)
            return pa.DictionaryArray.from_arrays(indices, _column_of_texts(ordered), ordered=measure == "ordinal")
    return _as_whole_numbers(column) if pa.types.is_floating(column.type) else column


def _labels_of_values(name: str, facts: Any) -> dict[Any, str]:
    """Return the value labels of a column, without those of missing values."""
    ranges = facts.missing_ranges.get(name, ())
    is_text = facts.readstat_variable_types[name] == "string"
    return {
        value if is_text else float(value): label.strip()
        for value, label in facts.variable_value_labels.get(name, {}).items()
        # Stata's missing values .a to .z arrive as letters.
        if isinstance(value, str) is is_text and label.strip() and not any(_lies_in(value, part) for part in ranges)
    }


def _statistics_column(values: list[Any], is_text: bool) -> Any:
    if is_text:
        return _column_of_texts(values)
    known = next((value for value in values if value is not None), None)
    if known is None or isinstance(known, (int, float)):
        return _column_of_numbers(values)
    return pa.array(values)


def _integers(values: Any) -> Any:
    return pa.Array.from_buffers(pa.int32(), len(values), [None, pa.py_buffer(values)])


def _lies_in(value: Any, part: Any) -> bool:
    low, high = (part["lo"], part["hi"]) if isinstance(part, Mapping) else (part, part)
    return bool(isinstance(value, str) is isinstance(low, str) and low <= value <= high)


def _column_of_numbers(values: Sequence[float | None]) -> Any:
    """Make an Arrow array of numbers; None and NaN are missing values."""
    floats = np.array(values, dtype=float)
    numbers = pa.Array.from_buffers(pa.float64(), len(floats), [None, pa.py_buffer(floats)])
    return pc.if_else(pc.is_nan(numbers), pa.NULL, numbers)


def _column_of_texts(values: Sequence[str | None]) -> Any:
    """Make an Arrow array of text; None and empty text are missing values."""
    parts = [b"" if value is None else value.encode("utf-8", "replace") for value in values]
    offsets = np.zeros(len(parts) + 1, dtype=np.int64)
    np.cumsum([len(part) for part in parts], out=offsets[1:])
    texts = pa.Array.from_buffers(
        pa.large_string(), len(parts), [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(parts))]
    )
    return pc.if_else(pc.match_substring_regex(texts, "^$"), pa.NULL, texts)


def _as_whole_numbers(column: Any) -> Any:
    """Convert the column to integers if all its numbers are whole.

    Spreadsheets and statistics programs store every number as a float, but a region should not be shown as 3.0.
    """
    if column.null_count == len(column):
        return column
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column
