"""A table in a file, read whole or in batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from s2oct.errors import InvalidProblem
from s2oct.model.batches import BATCH_ROWS
from s2oct.tables.cells import without_gaps
from s2oct.tables.csv_file import CsvFile
from s2oct.tables.detection import detect_charset, detect_decimal, detect_delimiter
from s2oct.tables.dialect import Dialect
from s2oct.tables.foreign_formats import refuse_foreign_formats
from s2oct.tables.parquet_file import PARQUET_SUFFIXES, ParquetFile
from s2oct.tables.reading_limit import ReadingLimit

_SAMPLED_ROWS = 2**14
"""Rows in which the decimal sign is looked for."""

_LIMITED_ROWS = 2**10
"""Rows of a Parquet file that are read between two looks at a limit: its compressed texts can be long."""


@dataclass(frozen=True)
class Source:
    """A table in a file.

    Parameters
    ----------
    path : Path
        A Parquet file by its name, otherwise a CSV file.
    wanted : Dialect
        What is known for certain about how its cells are written.
    usual : Dialect
        How such tables are usually written, for instance the one that a model was fitted to.
    limit : ReadingLimit, optional
        The largest table to read; no limit by default.
    """

    path: Path
    wanted: Dialect = field(default_factory=Dialect)
    usual: Dialect = field(default_factory=Dialect)
    limit: ReadingLimit | None = None

    def __post_init__(self) -> None:
        if not self.path.exists():
            raise InvalidProblem(f"Expected a data file, got {self._name}, which does not exist.")
        if self.path.is_dir():
            raise InvalidProblem(f"Expected a data file, got the folder {self._name}.")
        if self.path.stat().st_size == 0:
            raise InvalidProblem(f"Expected a table in {self._name}, got an empty file.")
        refuse_foreign_formats(self.path)

    @property
    def _name(self) -> str:
        return repr(str(self.path))

    @cached_property
    def dialect(self) -> Dialect:
        """How the cells are written: as wanted, and detected where nothing is wanted."""
        if self.wanted.decimal is not None:
            return self._written
        known = replace(self._written, decimal=self.usual.decimal)
        return known if known.decimal is not None else replace(known, decimal=self._detected_decimal())

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, which must be distinct and not empty."""
        names = self._file.header()
        repeated = sorted(name for name, times in Counter(names).items() if times > 1)
        if repeated:
            raise InvalidProblem(f"Expected distinct column names in {self._name}, got {repeated} more than once.")
        if "" in names:
            raise InvalidProblem(
                f"Expected a name for every column of {self._name}, got none for column {names.index('') + 1}."
            )
        return tuple(names)

    def whole(self) -> Any:
        """Read the whole table."""
        batches = list(self.batches(self.columns))
        if not batches or not sum(batch.num_rows for batch in batches):
            raise InvalidProblem(f"Expected rows in {self._name}, got column names only.")
        return pa.concat_tables(batches)

    def batches(self, columns: Sequence[str], rows: int = BATCH_ROWS, *, group: int | None = None) -> Iterator[Any]:
        """Yield some columns of the table, at most so many rows at a time; cells of CSV files are text.

        A Parquet file has row groups, and can be read by them.
        """
        if isinstance(self._file, ParquetFile):
            found = self._file.batches(columns, rows if self.limit is None else min(rows, _LIMITED_ROWS), group)
        else:
            found = self._file.batches(columns, rows)
        yield from found if self.limit is None else self.limit.bounded_batches(found)

    @property
    def row_groups(self) -> list[int]:
        """How many rows each row group of a Parquet file has; a CSV file has one part of unknown size."""
        return self._file.row_groups() if isinstance(self._file, ParquetFile) else []

    def has_more_rows_than(self, number: int) -> bool:
        """Whether the table has more rows than this; no more of it is read than is needed to know."""
        if self.is_parquet:
            return sum(self.row_groups) > number
        n_rows = 0
        for batch in self.batches(self.columns[:1]):
            n_rows += batch.num_rows
            if n_rows > number:
                return True
        return False

    def require(self, names: Sequence[str], role: str) -> None:
        """Refuse names that no column has."""
        absent = [name for name in names if name not in self.columns]
        if absent:
            shown = list(self.columns[:20]) + (["..."] if len(self.columns) > 20 else [])
            raise InvalidProblem(f"Expected the {role} column {absent[0]!r} among {shown} of {self._name}.")

    @property
    def is_parquet(self) -> bool:
        """Whether the file is a Parquet file."""
        return self.path.suffix.lower() in PARQUET_SUFFIXES

    @cached_property
    def _file(self) -> CsvFile | ParquetFile:
        return ParquetFile(self.path) if self.is_parquet else CsvFile(self.path, self._written, self.limit)

    @cached_property
    def _written(self) -> Dialect:
        """The dialect with everything that is needed to cut the file into cells."""
        wanted = self.wanted if self.wanted.missing else replace(self.wanted, missing=self.usual.missing)
        if self.is_parquet:
            return wanted
        if wanted.charset is None:
            charset = detect_charset(CsvFile(self.path, wanted, self.limit).parts(), self.usual.charset)
            wanted = replace(wanted, charset=charset)
        if wanted.delimiter is None:
            delimiter = detect_delimiter(CsvFile(self.path, wanted).opening(), self.usual.delimiter)
            wanted = replace(wanted, delimiter=delimiter)
        return wanted

    def _detected_decimal(self) -> str:
        if self.is_parquet:
            return "."
        sample = next(self.batches(self.columns, _SAMPLED_ROWS), None)
        columns = [] if sample is None else [without_gaps(column, self._written) for column in sample.columns]
        return detect_decimal(columns, self._written.delimiter)
