"""Files of other programs: sheets of Excel files, and tables of SPSS, Stata and SAS with their labels."""

from __future__ import annotations

import datetime as dt
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from s2oct.errors import InvalidProblem
from s2oct.tables.columns import named_columns
from s2oct.tables.formats import Format, ReadingLimit, damage_reported, reader_of

_MOST_CELLS = 10**8
"""Maximum number of cells between the corners of a sheet, because the reader allocates all of them."""

_PART = 2**20
_LOOK = 2**14
_DIMENSION = re.compile(rb"<dimension\s+ref\s*=\s*[\"'](?:[A-Z]+\d+:)?([A-Z]+)(\d+)[\"']")
_FILLED_CELL = re.compile(rb"<c\s[^>]*?\br\s*=\s*[\"']([A-Z]+)(\d+)[\"'][^>]*(?<!/)>")


@dataclass(frozen=True)
class ExcelFile:
    """A sheet of an Excel file, with column names in its first row."""

    path: Path
    called: str
    sheet: str | None = None
    limit: ReadingLimit | None = None

    @cached_property
    def sheets(self) -> tuple[str, ...]:
        """Names of the sheets."""
        return tuple(self._book.sheet_names)

    @cached_property
    def header(self) -> list[str]:
        """Names of the columns, stripped; empty columns at the right are ignored."""
        width = max((i + 1 for row in self._rows for i, cell in enumerate(row) if cell != ""), default=0)
        return named_columns([_text(cell) for cell in self._rows[0][:width]])

    @property
    def n_rows(self) -> int:
        """Number of rows of the table."""
        return int(self._table.num_rows)

    def blocks(self) -> Iterator[Any]:
        """Yield the table."""
        yield self._table

    @cached_property
    def _table(self) -> Any:
        names = self.header
        rows = self.__dict__.pop("_rows")[1:]
        return pa.Table.from_arrays([_excel_column([row[i] for row in rows]) for i in range(len(names))], names=names)

    @cached_property
    def _rows(self) -> list[list[Any]]:
        """The cells from the first to the last nonempty row; empty cells and errors are empty text."""
        name = self._chosen(self.sheets)
        with self._damage_reported(), self.__dict__.pop("_book") as book:
            rows: list[list[Any]] = book.get_sheet_by_name(name).to_python()
        while rows and not any(cell != "" for cell in rows[-1]):
            rows.pop()
        if not rows:
            raise InvalidProblem(f"Expected a table in the sheet {name!r} of {self.called!r}, got an empty sheet.")
        return rows

    @cached_property
    def _book(self) -> Any:
        calamine = reader_of(Format.EXCEL)
        with self._damage_reported():
            self._refuse_wide_sheets()
            return calamine.CalamineWorkbook.from_path(self.path)

    def _damage_reported(self) -> AbstractContextManager[None]:
        calamine = reader_of(Format.EXCEL)
        errors = (calamine.CalamineError, zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError)
        return damage_reported(Format.EXCEL, self.called, errors)

    def _chosen(self, names: tuple[str, ...]) -> str:
        if self.sheet is None and names:
            return names[0]
        if self.sheet not in names:
            raise InvalidProblem(f"Expected one of the sheets {list(names)} of {self.called!r}, got {self.sheet!r}.")
        return self.sheet

    def _refuse_wide_sheets(self) -> None:
        """Refuse sheets with cells far apart and sheets beyond a limit, before memory is allocated for them.

        Without a limit, a small declared size is trusted. A huge one is checked, because it may count cells that only
        have a format.
        """
        with zipfile.ZipFile(self.path) as archive:
            entries = [entry for entry in archive.infolist() if entry.filename.startswith("xl/")]
            if self.limit is not None:
                self.limit.refuse_bytes(sum(entry.file_size for entry in entries))
            for entry in entries:
                if entry.filename.startswith("xl/worksheets/") and entry.filename.endswith(".xml"):
                    with archive.open(entry) as file:
                        self._refuse_wide_sheet(file)

    def _refuse_wide_sheet(self, file: Any) -> None:
        part = file.read(_LOOK)
        said = _DIMENSION.search(part)
        if self.limit is None and (said is None or int(said[2]) * _column_number(said[1]) <= _MOST_CELLS):
            return
        n_rows = n_columns = 0
        while part:
            for letters, number in _FILLED_CELL.findall(part):
                n_rows, n_columns = max(n_rows, int(number)), max(n_columns, _column_number(letters))
            read = file.read(_PART)
            part = part[part.rfind(b"<") :] + read if read else b""
        if self.limit is not None:
            self.limit.refuse_cells(n_rows * n_columns)
        if n_rows * n_columns > _MOST_CELLS:
            raise InvalidProblem(
                f"The cells of {self.called!r} reach to row {n_rows:,} and column {n_columns:,}: delete cells far "
                "from the table, or save it as CSV."
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


@dataclass(frozen=True)
class StatisticsFile:
    """A file of SPSS, Stata or SAS.

    If all values of a column have labels, the column becomes categorical, in the order of the codes; the categories are
    ordered if the SPSS variable is. If some values have no label, the column stays as it is: on a scale from 0 to 10
    often only the ends have labels. A nominal SPSS variable is always categorical, and a code without a label is a
    category. Values that the file declares as missing are missing values.
    """

    path: Path
    called: str
    kind: Format
    limit: ReadingLimit | None = None

    @property
    def header(self) -> list[str]:
        """Names of the columns."""
        return list(self._facts.column_names)

    @property
    def variable_labels(self) -> Mapping[str, str]:
        """Descriptions of the columns that have one in the file."""
        return {name: label for name, label in self._facts.column_names_to_labels.items() if label}

    @property
    def n_rows(self) -> int:
        """Number of rows of the table."""
        said = self._facts.number_rows
        return int(self._table.num_rows) if said is None or "_table" in self.__dict__ else int(said)

    def blocks(self) -> Iterator[Any]:
        """Yield the table."""
        yield self._table

    @cached_property
    def _facts(self) -> Any:
        with self._damage_reported():
            return self._read(metadataonly=True, user_missing=True)[1]

    @cached_property
    def _table(self) -> Any:
        parts: dict[str, list[Any]] = {name: [] for name in self.header}
        most = self._most_rows()
        n_rows = 0
        with self._damage_reported():
            while True:
                cells, facts = self._read(row_offset=n_rows, row_limit=min(_ROWS, most + 1 - n_rows))
                found = len(next(iter(cells.values()), ()))
                for name, values in cells.items():
                    parts[name].append(
                        _statistics_column(values, is_text=facts.readstat_variable_types[name] == "string")
                    )
                n_rows += found
                if found < _ROWS or n_rows > most:
                    break
        if self.limit is not None:
            self.limit.refuse_cells(n_rows * len(parts))
        columns = [self._with_labels(name, pa.chunked_array(chunks)) for name, chunks in parts.items()]
        return pa.Table.from_arrays(columns, names=list(parts))

    def _read(self, **options: Any) -> tuple[Any, Any]:
        reader = reader_of(self.kind)
        functions: dict[Format, Callable[..., Any]] = {
            Format.SPSS: reader.read_sav,
            Format.STATA: reader.read_dta,
            Format.SAS: reader.read_xport if self._is_transport else reader.read_sas7bdat,
        }
        if self.kind is Format.SAS:
            options.pop("user_missing", None)
        found: tuple[Any, Any] = functions[self.kind](self.path, output_format="dict", **options)
        return found

    @cached_property
    def _is_transport(self) -> bool:
        with self.path.open("rb") as file:
            return file.read(6) == b"HEADER"

    def _most_rows(self) -> int:
        """Maximum number of rows under a limit; text columns have the width declared in the file."""
        if self.limit is None:
            return 2**62
        widths: list[int] = list(self._facts.variable_storage_width.values())
        return min(self.limit.n_cells // max(len(widths), 1), self.limit.n_bytes // max(sum(widths), 1))

    def _with_labels(self, name: str, column: Any) -> Any:
        """Replace the codes of a categorical column by their labels."""
        labels = self._labels_of_values(name)
        if not labels or pa.types.is_temporal(column.type):
            return _as_whole_numbers(column) if pa.types.is_floating(column.type) else column
        measure = self._facts.variable_measure.get(name)
        codes = column.combine_chunks().dictionary_encode()
        values = codes.dictionary.to_pylist()
        others = [value for value in values if value not in labels]
        if others and measure != "nominal":
            return _as_whole_numbers(column) if pa.types.is_floating(column.type) else column
        named = labels | {value: _text(value) for value in others}
        ordered = list(dict.fromkeys(named[value] for value in sorted(named)))
        places = np.array([ordered.index(named[value]) for value in values] or [0], dtype=np.int32)
        indices = pc.take(_integers(places), codes.indices)
        return pa.DictionaryArray.from_arrays(indices, _column_of_texts(ordered), ordered=measure == "ordinal")

    def _labels_of_values(self, name: str) -> dict[Any, str]:
        """Return the value labels of a column, without those of missing values."""
        ranges = self._facts.missing_ranges.get(name, ())
        is_text = self._facts.readstat_variable_types[name] == "string"
        return {
            value if is_text else float(value): label.strip()
            for value, label in self._facts.variable_value_labels.get(name, {}).items()
            # Stata's missing values .a to .z arrive as letters.
            if isinstance(value, str) is is_text and label.strip() and not any(_lies_in(value, part) for part in ranges)
        }

    def _damage_reported(self) -> AbstractContextManager[None]:
        reader = reader_of(self.kind)
        errors = (reader.ReadstatError, reader.PyreadstatError, ValueError, OverflowError, UnicodeError)
        return damage_reported(self.kind, self.called, errors)


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
