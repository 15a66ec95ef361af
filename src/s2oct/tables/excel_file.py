"""Tables in sheets of Excel files."""

from __future__ import annotations

import datetime as dt
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from s2oct.errors import InvalidProblem
from s2oct.tables.arrow_files import as_whole_numbers, column_of_numbers, column_of_texts
from s2oct.tables.columns import named_columns
from s2oct.tables.formats import Format, ReadingLimit, reader_of

_MOST_CELLS = 10**8
"""Cells between the corners of a sheet that are read at most: the reader makes room for all of them."""

_PART = 2**20
_LOOK = 2**14
_DIMENSION = re.compile(rb"<dimension\s+ref\s*=\s*[\"'](?:[A-Z]+\d+:)?([A-Z]+)(\d+)[\"']")
_FILLED_CELL = re.compile(rb"<c\s[^>]*?\br\s*=\s*[\"']([A-Z]+)(\d+)[\"'][^>]*(?<!/)>")


@dataclass(frozen=True)
class ExcelFile:
    """A sheet of an Excel file: the names of its columns are in its first row."""

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
        """Names of the columns, without the blanks around them; columns without any cell at the right do not count."""
        width = max((i + 1 for row in self._rows for i, cell in enumerate(row) if cell != ""), default=0)
        return named_columns([_text(cell) for cell in self._rows[0][:width]])

    @property
    def n_rows(self) -> int:
        """How many rows the table has."""
        return int(self._table.num_rows)

    def blocks(self) -> Iterator[Any]:
        """Yield the table."""
        yield self._table

    @cached_property
    def _table(self) -> Any:
        names = self.header
        rows = self.__dict__.pop("_rows")[1:]
        return pa.Table.from_arrays([_column([row[i] for row in rows]) for i in range(len(names))], names=names)

    @cached_property
    def _rows(self) -> list[list[Any]]:
        """The cells from the first to the last row that has any; an empty cell or one with an error is empty text."""
        name = self._chosen(self.sheets)
        with self._read_in_our_words(), self.__dict__.pop("_book") as book:
            rows: list[list[Any]] = book.get_sheet_by_name(name).to_python()
        while rows and not any(cell != "" for cell in rows[-1]):
            rows.pop()
        if not rows:
            raise InvalidProblem(f"Expected a table in the sheet {name!r} of {self.called!r}, got an empty sheet.")
        return rows

    @cached_property
    def _book(self) -> Any:
        calamine = reader_of(Format.EXCEL)
        with self._read_in_our_words():
            self._refuse_wide_sheets()
            return calamine.CalamineWorkbook.from_path(self.path)

    @contextmanager
    def _read_in_our_words(self) -> Iterator[None]:
        """Replace what the reader says about a file by a sentence."""
        calamine = reader_of(Format.EXCEL)
        try:
            yield
        except (calamine.CalamineError, zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError) as error:
            raise InvalidProblem(f"The Excel file {self.called!r} is damaged, or is not an Excel file.") from error

    def _chosen(self, names: tuple[str, ...]) -> str:
        if self.sheet is None and names:
            return names[0]
        if self.sheet not in names:
            raise InvalidProblem(f"Expected one of the sheets {list(names)} of {self.called!r}, got {self.sheet!r}.")
        return self.sheet

    def _refuse_wide_sheets(self) -> None:
        """Refuse sheets whose cells are far apart, and those beyond a limit, before room is made for them.

        Without a limit a sheet may say how large it is; one that claims to be huge may only have formats there.
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
        if self.limit is None and (said is None or _n_cells(*said.groups()) <= _MOST_CELLS):
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


def _n_cells(letters: bytes, number: bytes) -> int:
    return int(number) * _column_number(letters)


def _column_number(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + letter - ord("A") + 1
    return number


def _column(cells: list[Any]) -> Any:
    """A column of cells, typed if all of them are of one type; otherwise it is text, as somebody reads it."""
    kinds = {type(cell) for cell in cells if cell != ""}
    if not kinds:
        return pa.nulls(len(cells))
    if kinds <= {int, float}:
        return as_whole_numbers(column_of_numbers([None if cell == "" else cell for cell in cells]))
    for typed, (arrow, read) in _TYPES.items():
        if kinds <= typed:
            return pa.array([None if cell == "" else read(cell) for cell in cells], arrow)
    return column_of_texts([_text(cell) for cell in cells])


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
