"""A table in a file of any format, read once: as a whole, in batches, or a single row of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from s2oct.errors import InvalidProblem
from s2oct.problem.batches import BATCH_ROWS
from s2oct.tables.binary_files import (
    open_arrow,
    open_excel,
    open_parquet,
    open_statistics,
    parquet_batches,
    sheet_names,
)
from s2oct.tables.columns import is_text, without_gaps
from s2oct.tables.csv_file import LOOK, CsvFile
from s2oct.tables.dialect import Dialect, detect_decimal
from s2oct.tables.formats import Format, OpenedFile, ReadingLimit, format_of

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
    given : Dialect
        The dialect, as far as the user gave it.
    default : Dialect
        Defaults for the rest of the dialect, for instance from the table of a model's fit.
    limit : ReadingLimit, optional
        The largest table to read; no limit by default.
    sheet : str, optional
        The sheet of an Excel file; the first by default.
    called : str, optional
        Name of the file in messages; its path by default.
    """

    path: Path
    given: Dialect = field(default_factory=Dialect)
    default: Dialect = field(default_factory=Dialect)
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
        return replace(self._written, decimal=self._decimal, typed=self.format.is_typed)

    @property
    def variable_labels(self) -> Mapping[str, str]:
        """Descriptions of columns in the file."""
        return self._file.variable_labels

    @cached_property
    def sheets(self) -> tuple[str, ...]:
        """Names of the sheets of an Excel file, so that another can be chosen if this one has no table."""
        return sheet_names(self.path, self.name, self.limit) if self.format is Format.EXCEL else ()

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
        if self.is_parquet:
            most = rows if self.limit is None else min(rows, _LIMITED_ROWS)
            yield from self._limited(parquet_batches(self.path, self.name, columns, most, group))
            return
        # First, because detection reads the first rows, and the loop continues after them.
        _ = self._decimal
        seen, coming = self.__dict__.pop("_begun", None) or ([], self._blocks())
        while (block := seen.pop(0) if seen else next(coming, None)) is not None:
            for first in range(0, block.num_rows, rows):
                yield block.slice(first, rows).select(list(columns))

    @property
    def row_groups(self) -> Sequence[int]:
        """The number of rows of each row group of a Parquet file; empty for other files."""
        return self._file.row_groups

    def has_more_rows_than(self, number: int) -> bool:
        """Whether the table has more than ``number`` rows; rows read to find out are not read again."""
        n_rows = self._file.n_rows
        return (sum(block.num_rows for block in self._first_blocks(number + 1)) if n_rows is None else n_rows) > number

    def require(self, names: Sequence[str], role: str) -> None:
        """Refuse names that are not columns of the table."""
        absent = [name for name in names if name not in self.columns]
        if absent:
            shown = list(self.columns[:20]) + (["..."] if len(self.columns) > 20 else [])
            raise InvalidProblem(f"{self.name!r} has no {role} column {absent[0]!r}; its columns are {shown}.")

    def refuse_unread(self) -> None:
        """Refuse a file whose size, known before its cells are read, exceeds the limit."""
        if self._csv is not None:
            for _ in self._csv.parts() if self._csv.is_gzipped else ():
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
    def _csv(self) -> CsvFile | None:
        if self.format is not Format.CSV:
            return None
        return CsvFile(self.path, self.name, self._head, self._given, self.default, self.limit)

    @cached_property
    def _file(self) -> OpenedFile:
        if self._csv is not None:
            return OpenedFile(self._csv.header, self._csv.blocks)
        if self.format is Format.PARQUET:
            return open_parquet(self.path, self.name)
        if self.format is Format.ARROW:
            return open_arrow(self.path, self.name)
        if self.format is Format.EXCEL:
            return open_excel(self.path, self.name, self.sheet, self.limit)
        return open_statistics(self.path, self.name, self.format, self.limit)

    @property
    def _given(self) -> Dialect:
        """The given dialect with marks of missing values; typed files need no default marks."""
        if self.format.is_typed:
            return replace(self.given, missing=("", *self.given.missing))
        default = () if self.default.typed else self.default.missing
        return replace(self.given, missing=self.given.missing or default)

    @property
    def _written(self) -> Dialect:
        """The dialect without the decimal sign."""
        return self._given if self._csv is None else self._csv.dialect

    @cached_property
    def _decimal(self) -> str:
        known = self.given.decimal or (None if self.default.typed else self.default.decimal)
        if known is not None or self.format.is_typed:
            return known or "."
        blocks = self._first_blocks(_SAMPLED_ROWS)
        columns = pa.concat_tables(blocks).slice(0, _SAMPLED_ROWS).columns if blocks else ()
        texts = [without_gaps(column, self._written) for column in columns if is_text(column.type)]
        return detect_decimal(texts, self._written.delimiter)

    @cached_property
    def _begun(self) -> tuple[list[Any], Iterator[Any]]:
        """The blocks read early, kept until they are needed, and those to read."""
        return [], self._blocks()

    def _first_blocks(self, n_rows: int) -> list[Any]:
        """Read blocks until they have this many rows, or until the file ends."""
        seen, coming = self._begun
        while sum(block.num_rows for block in seen) < n_rows and (block := next(coming, None)) is not None:
            seen.append(block)
        return seen

    def _blocks(self) -> Iterator[Any]:
        """Yield all rows in the blocks of the file's reader."""
        _ = self.columns  # refuses invalid names
        return self._limited(self._file.blocks())

    def _limited(self, batches: Iterator[Any]) -> Iterator[Any]:
        return batches if self.limit is None else self.limit.bounded_batches(batches)


def row_by_number(source: Source, columns: Sequence[str], number: int) -> Any:
    """Return the row with a number, from 1, as an Arrow table."""
    before = 0
    for batch in source.batches(columns):
        if before < number <= before + batch.num_rows:
            return batch.slice(number - before - 1, 1)
        before += batch.num_rows
    raise InvalidProblem(f"Expected a row number from 1 to {before}, got {number}.")


def row_by_id(source: Source, columns: Sequence[str], column: str, value: str) -> tuple[int, Any]:
    """Return the number, from 1, and the cells of the only row with this value in an id column."""
    found: list[tuple[int, Any]] = []
    before = 0
    for batch in source.batches(list(dict.fromkeys([*columns, column]))):
        here = [i for i, cell in enumerate(batch[column].to_pylist()) if str(cell) == value]
        found += [(before + i + 1, batch.slice(i, 1)) for i in here]
        before += batch.num_rows
    if len(found) != 1:
        got = f"Rows {found[0][0]} and {found[1][0]} have" if found else "No row has"
        raise InvalidProblem(f"{got} {value!r} in column {column!r}; exactly one row must have it.")
    return found[0]


def cell_text(row: Any, column: str) -> str:
    """Return a cell of a row as text; empty for a missing value."""
    [cell] = row[column].to_pylist()
    return "" if cell is None else str(cell)
