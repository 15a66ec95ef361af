"""Tables in CSV files, also gzipped; all their cells are text."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from s2oct.errors import InvalidProblem, InvalidTable, Remedy
from s2oct.tables.dialect import UTF8_MARKED, Dialect
from s2oct.tables.reading_limit import ReadingLimit
from s2oct.wording import count

_OPENING = 2**16
"""Characters in which the delimiter is looked for, and in which most headers end."""

_PART = 2**20
_BLOCK = 2**23
"""Bytes that are parsed at a time; no row may be longer."""

_DAMAGED_GZIP = (gzip.BadGzipFile, EOFError, zlib.error)


@dataclass(frozen=True)
class CsvFile:
    """A CSV file and how its cells are written, which is known."""

    path: Path
    dialect: Dialect
    limit: ReadingLimit | None = None

    @property
    def _name(self) -> str:
        return repr(str(self.path))

    def header(self) -> list[str]:
        """Names of the columns, without the blanks around them."""
        return self._blank_lines_and_names()[1]

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        """Yield some columns of the table, at most so many rows at a time."""
        n_blank, names = self._blank_lines_and_names()
        last = None
        try:
            for batch in self._reader(n_blank, names):
                for first in range(0, batch.num_rows, rows):
                    last = pa.Table.from_batches([batch]).slice(first, rows)
                    yield last.select(list(columns))
        except UnicodeError as error:
            raise self._wrong_charset() from error
        except pa.ArrowException as error:
            raise self._unreadable(str(error), len(names)) from error
        except OSError as error:
            raise self._damaged_gzip() if self._is_gzipped else error from error
        if last is not None and last.num_rows and str(last[names[-1]][-1]).endswith(("\n", "\r")):
            raise InvalidProblem(f"Expected a closing quote in {self._name}, got a cell that runs to the end.")

    def opening(self, size: int = _OPENING) -> str:
        """The first characters of the file; its lines end with line feeds."""
        try:
            with self._binary() as file, io.TextIOWrapper(file, encoding=self.dialect.codec, newline=None) as text:
                opening = text.read(size)
        except UnicodeError as error:
            raise self._wrong_charset() from error
        except _DAMAGED_GZIP as error:
            raise self._damaged_gzip() from error
        if "\0" in opening:
            raise InvalidProblem(f"Expected text in {self._name}, got a file with zero bytes.")
        return opening

    def parts(self) -> Iterator[bytes]:
        """Yield all bytes of the file, unpacked, a part at a time."""
        try:
            with self._binary() as file:
                parts = iter(lambda: file.read(_PART), b"")
                yield from parts if self.limit is None else self.limit.bounded_parts(parts)
        except _DAMAGED_GZIP as error:
            raise self._damaged_gzip() from error

    def _blank_lines_and_names(self) -> tuple[int, list[str]]:
        """How many blank lines come first, and the names of the columns; as much is read as the header needs."""
        size = _OPENING
        while True:
            opening = self.opening(size)
            table = opening.lstrip("\n")
            lines = io.StringIO(table)
            try:
                names = next(csv.reader(lines, delimiter=self._delimiter), [])
            except csv.Error as error:
                raise InvalidProblem(
                    f"A column name in the first line of {self._name} has more than {count(csv.field_size_limit())} "
                    "characters: is a closing quote missing?"
                ) from error
            is_complete = len(opening) < size or lines.read(1)
            if is_complete:
                break
            if size >= _BLOCK:
                raise self._too_long("The header")
            size *= 2
        if not any(names):
            raise InvalidProblem(f"Expected column names in the first line of {self._name}, got nothing.")
        return len(opening) - len(table), [name.strip() for name in names]

    def _reader(self, n_blank: int, names: list[str]) -> Any:
        codec = self.dialect.codec
        return pyarrow.csv.open_csv(
            pa.input_stream(str(self.path), compression="gzip" if self._is_gzipped else None),
            pyarrow.csv.ReadOptions(
                block_size=_BLOCK,
                # Rows before the names are counted in lines, those after them as a reader of CSV counts.
                skip_rows=n_blank,
                skip_rows_after_names=1,
                column_names=names,
                encoding="utf8" if codec == UTF8_MARKED else codec,
            ),
            pyarrow.csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
            pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.large_string()), null_values=[]),
        )

    @property
    def _delimiter(self) -> str:
        return self.dialect.delimiter or ","

    @property
    def _is_gzipped(self) -> bool:
        return self.path.suffix.lower() == ".gz"

    def _binary(self) -> Any:
        return gzip.open(self.path, "rb") if self._is_gzipped else self.path.open("rb")

    def _unreadable(self, reason: str, n_columns: int) -> InvalidProblem:
        if "invalid UTF8" in reason:
            return self._wrong_charset()
        if "straddling" in reason:
            return self._too_long("A row")
        found = re.search(r"(?:Row #(\d+): )?Expected \d+ columns, got (\d+)", reason)
        if found:
            line, width = found.groups()
            where = f"in row {int(line) - 1}" if line else "in another row"
            return InvalidProblem(f"Expected rows of {n_columns} cells in {self._name}, got {width} {where}.")
        return InvalidProblem(
            f"The rows of {self._name} cannot be cut into {n_columns} cells each: check its delimiter and its quotes."
        )

    def _too_long(self, what: str) -> InvalidProblem:
        return InvalidProblem(f"{what} of {self._name} has more than {_BLOCK >> 20} MiB: is a closing quote missing?")

    def _wrong_charset(self) -> InvalidTable:
        return InvalidTable(
            f"Expected text in the encoding {self.dialect.charset_name} in {self._name}, got bytes that it does not "
            "allow",
            Remedy.OTHER_CHARSET,
        )

    def _damaged_gzip(self) -> InvalidProblem:
        return InvalidProblem(f"Expected a complete gzip file in {self._name}, got other or damaged bytes.")
