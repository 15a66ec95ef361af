"""A table in a file of any format, read once: as a whole, in batches, or a single row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from s2oct.arrays import FloatArray
from s2oct.errors import InvalidProblem
from s2oct.problem.batches import BATCH_ROWS
from s2oct.tables.arrow_files import ArrowFile, ParquetFile
from s2oct.tables.columns import encode_rows, is_text, read_cells, without_gaps
from s2oct.tables.csv_file import LOOK, CsvFile
from s2oct.tables.dialect import Dialect, detect_decimal
from s2oct.tables.encoding import Encoding, Unseen
from s2oct.tables.foreign_files import ExcelFile, StatisticsFile
from s2oct.tables.formats import Format, ReadingLimit, format_of

_SAMPLED_ROWS = 2**14
"""Number of rows used to detect the decimal sign."""

_LIMITED_ROWS = 2**10
"""Number of rows of a Parquet file read between two checks of a limit: compressed text can be long."""


@dataclass(frozen=True)
class Source:
    """A table in a file.

    Parameters
    ----------
    path : Path
        The file, in any format of `Format`; the format is detected from the content.
    wanted : Dialect
        The dialect, as far as the user gave it.
    usual : Dialect
        Defaults for the rest of the dialect, for instance from the table of a model's fit.
    limit : ReadingLimit, optional
        The largest table to read; no limit by default.
    sheet : str, optional
        The sheet of an Excel file; the first by default.
    called : str, optional
        Name of the file in messages; its path by default.
    """

    path: Path
    wanted: Dialect = field(default_factory=Dialect)
    usual: Dialect = field(default_factory=Dialect)
    limit: ReadingLimit | None = None
    sheet: str | None = None
    called: str | None = None

    def __post_init__(self) -> None:
        if not self.path.exists():
            raise InvalidProblem(f"The data file {self.name!r} does not exist.")
        if self.path.is_dir():
            raise InvalidProblem(f"Expected a data file, got the folder {self.name!r}.")
        if self.path.stat().st_size == 0:
            raise InvalidProblem(f"The data file {self.name!r} is empty.")
        found = self.format  # refuses formats that cannot be read
        if self.sheet is not None and found is not Format.EXCEL:
            raise InvalidProblem(f"{self.name!r} is not an Excel file and has no sheet {self.sheet!r}.")

    def __getstate__(self) -> dict[str, Any]:
        # A copy in another process reads from the beginning.
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @property
    def name(self) -> str:
        """The name of the file in messages."""
        return self.called or str(self.path)

    @cached_property
    def format(self) -> Format:
        """The format of the file."""
        return format_of(self.path, self._head, self.name)

    @property
    def dialect(self) -> Dialect:
        """The dialect, given by the user or detected."""
        written = self._file.dialect if isinstance(self._file, CsvFile) else self._wanted
        return replace(written, decimal=self._decimal, typed=self.format.is_typed)

    @property
    def variable_labels(self) -> Mapping[str, str]:
        """Descriptions of columns in the file."""
        return self._file.variable_labels if isinstance(self._file, StatisticsFile) else {}

    @property
    def sheets(self) -> tuple[str, ...]:
        """Names of the sheets of an Excel file."""
        return self._file.sheets if isinstance(self._file, ExcelFile) else ()

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, which must be distinct and nonempty."""
        names = self._file.header
        if not names:
            raise InvalidProblem(f"The table in {self.name!r} has no columns.")
        repeated = sorted(name for name, times in Counter(names).items() if times > 1)
        if repeated:
            raise InvalidProblem(f"Several columns of {self.name!r} are called {repeated}: rename them.")
        if "" in names:
            raise InvalidProblem(f"Column {names.index('') + 1} of {self.name!r} has no name: give it one.")
        return tuple(names)

    def whole(self) -> Any:
        """Read the whole table."""
        batches = list(self.batches(self.columns))
        if not batches or not sum(batch.num_rows for batch in batches):
            raise InvalidProblem(f"{self.name!r} has column names but no rows.")
        return pa.concat_tables(batches).unify_dictionaries()

    def batches(self, columns: Sequence[str], rows: int = BATCH_ROWS, *, group: int | None = None) -> Iterator[Any]:
        """Yield columns of the table in batches of at most ``rows`` rows; cells of CSV files are text.

        Rows that were already read are not read again. ``group`` is a row group of a Parquet file.
        """
        if isinstance(self._file, ParquetFile):
            found = self._file.batches(columns, rows if self.limit is None else min(rows, _LIMITED_ROWS), group)
            yield from found if self.limit is None else self.limit.bounded_batches(found)
            return
        # First, because detection reads the first rows, and the loop continues after them.
        _ = self._decimal
        for block in self.__dict__.pop("_begun", None) or self._blocks():
            for first in range(0, block.num_rows, rows):
                yield block.slice(first, rows).select(list(columns))

    @property
    def row_groups(self) -> list[int]:
        """Return the number of rows of each row group of a Parquet file; empty for other files."""
        return self._file.row_groups() if isinstance(self._file, ParquetFile) else []

    def has_more_rows_than(self, number: int) -> bool:
        """Whether the table has more than ``number`` rows; rows read to find out are not read again."""
        n_rows = self._file.n_rows
        return self._begun.sees_more_than(number) if n_rows is None else n_rows > number

    def require(self, names: Sequence[str], role: str) -> None:
        """Refuse names that are not columns of the table."""
        absent = [name for name in names if name not in self.columns]
        if absent:
            shown = list(self.columns[:20]) + (["..."] if len(self.columns) > 20 else [])
            raise InvalidProblem(f"{self.name!r} has no {role} column {absent[0]!r}; its columns are {shown}.")

    def refuse_unread(self) -> None:
        """Refuse a file whose size, known before its cells are read, exceeds the limit."""
        if isinstance(self._file, CsvFile):
            for _ in self._file.parts() if self._file.is_gzipped else ():
                pass
        elif self._file.n_rows is not None and self.limit is not None:
            self.limit.refuse_cells(self._file.n_rows * max(len(self.columns), 1))

    @property
    def is_parquet(self) -> bool:
        """Whether the file is a Parquet file."""
        return self.format is Format.PARQUET

    @cached_property
    def _head(self) -> bytes:
        """The first bytes of the file, read once."""
        with self.path.open("rb") as file:
            return file.read(LOOK)

    @cached_property
    def _file(self) -> CsvFile | ParquetFile | ArrowFile | ExcelFile | StatisticsFile:
        if self.format is Format.CSV:
            return CsvFile(self.path, self.name, self._head, self._wanted, self.usual, self.limit)
        if self.format is Format.PARQUET:
            return ParquetFile(self.path, self.name)
        if self.format is Format.ARROW:
            return ArrowFile(self.path, self.name)
        if self.format is Format.EXCEL:
            return ExcelFile(self.path, self.name, self.sheet, self.limit)
        return StatisticsFile(self.path, self.name, self.format, self.limit)

    @property
    def _wanted(self) -> Dialect:
        """The given dialect with marks of missing values; typed files need no default marks."""
        if self.format.is_typed:
            return replace(self.wanted, missing=("", *self.wanted.missing))
        usual = () if self.usual.typed else self.usual.missing
        return replace(self.wanted, missing=self.wanted.missing or usual)

    @cached_property
    def _decimal(self) -> str:
        known = self.wanted.decimal or (None if self.usual.typed else self.usual.decimal)
        if known is not None or self.format.is_typed:
            return known or "."
        written = self._file.dialect if isinstance(self._file, CsvFile) else self._wanted
        columns = [column for column in self._begun.first(_SAMPLED_ROWS).columns if is_text(column.type)]
        return detect_decimal([without_gaps(column, written) for column in columns], written.delimiter)

    @cached_property
    def _begun(self) -> _BegunReading:
        return _BegunReading(self._blocks())

    def _blocks(self) -> Iterator[Any]:
        """Yield all rows in the blocks of the file's reader."""
        _ = self.columns  # refuses invalid names
        assert not isinstance(self._file, ParquetFile)
        found = self._file.blocks()
        return found if self.limit is None else self.limit.bounded_batches(found)


class _BegunReading:
    """The blocks of a file; blocks read early are kept until needed."""

    def __init__(self, blocks: Iterator[Any]) -> None:
        self._blocks = blocks
        self._seen: list[Any] = []

    def sees_more_than(self, number: int) -> bool:
        """Read until more than ``number`` rows are seen; False if the file has fewer."""
        n_rows: int = sum(block.num_rows for block in self._seen)
        while n_rows <= number and (block := next(self._blocks, None)) is not None:
            self._seen.append(block)
            n_rows += block.num_rows
        return n_rows > number

    def first(self, number: int) -> Any:
        """Return the first rows."""
        self.sees_more_than(number - 1)
        return pa.concat_tables(self._seen).slice(0, number) if self._seen else pa.table({})

    def __iter__(self) -> Iterator[Any]:
        while self._seen:
            yield self._seen.pop(0)
        yield from self._blocks


@dataclass(frozen=True, eq=False)
class TableRow:
    """One row of a table.

    Attributes
    ----------
    number : int
        Number of the row, from 1.
    cells : Arrow table
        The row.
    dialect : Dialect
        The dialect of its cells.
    """

    number: int
    cells: Any
    dialect: Dialect

    @classmethod
    def by_number(cls, source: Source, columns: Sequence[str], number: int) -> TableRow:
        """Find a row by its number, from 1."""
        before = 0
        for batch in source.batches(columns):
            if before < number <= before + batch.num_rows:
                return cls(number, batch.slice(number - before - 1, 1), source.dialect)
            before += batch.num_rows
        raise InvalidProblem(f"Expected a row number from 1 to {before}, got {number}.")

    @classmethod
    def by_id(cls, source: Source, columns: Sequence[str], column: str, value: str) -> TableRow:
        """Find the only row with this value in an id column."""
        found: list[TableRow] = []
        before = 0
        for batch in source.batches(list(dict.fromkeys([*columns, column]))):
            here = [i for i, cell in enumerate(batch[column].to_pylist()) if str(cell) == value]
            found += [cls(before + i + 1, batch.slice(i, 1), source.dialect) for i in here]
            before += batch.num_rows
        if len(found) != 1:
            got = f"Rows {found[0].number} and {found[1].number} have" if found else "No row has"
            raise InvalidProblem(f"{got} {value!r} in column {column!r}; exactly one row must have it.")
        return found[0]

    def text(self, column: str) -> str:
        """Return a cell as text."""
        [cell] = self.cells[column].to_pylist()
        return "" if cell is None else str(cell)

    def features(self, encoding: Encoding) -> FloatArray:
        """Return the features of the row, shape (p,)."""
        return np.asarray(encode_rows(self.cells, encoding, self.dialect, self.number, Unseen())[0])

    def texts(self, encoding: Encoding) -> dict[str, str | None]:
        """Return the cells of all columns as text: levels in the spelling of the fit, None for a missing value."""
        return {
            column.name: column.text(read_cells(self.cells[column.name], column.name, column.kind, self.dialect)[0])
            for column in encoding.columns
        }
