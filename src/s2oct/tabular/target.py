"""A table to write to a file, batch after batch, and the columns that predictions add."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from s2oct.errors import InvalidProblem
from s2oct.tabular.cells import as_values
from s2oct.tabular.parquet_file import PARQUET_SUFFIXES

_TAB_SUFFIXES = {".tsv", ".tab"}
_CSV_SUFFIXES = {".csv", ".txt", *_TAB_SUFFIXES}


class Target:
    """A table to write, in the format that its name says.

    Parameters
    ----------
    draft : Path
        The file to write to.
    name : Path
        The name that the file will have, which says the format.
    """

    def __init__(self, draft: Path, name: Path) -> None:
        check_table_name(name)
        self._draft, self._suffix = draft, name.suffix.lower()
        self._writer: Any = None

    def write(self, batch: Any) -> None:
        """Append some rows."""
        if self._writer is None:
            self._writer = self._open(batch.schema)
        self._writer.write_table(batch)

    def close(self) -> None:
        """Finish the file."""
        if self._writer is not None:
            self._writer.close()

    def _open(self, schema: Any) -> Any:
        if self._suffix in PARQUET_SUFFIXES:
            return pq.ParquetWriter(self._draft, schema)
        return _CsvWriter(self._draft, schema.names, "\t" if self._suffix in _TAB_SUFFIXES else ",")


def check_table_name(name: Path) -> None:
    """Refuse a name whose ending says no format that can be written."""
    if name.suffix.lower() not in _CSV_SUFFIXES | PARQUET_SUFFIXES:
        raise InvalidProblem(f"Expected a table to write to, .csv, .tsv, .txt or .parquet, got {str(name)!r}.")


class _CsvWriter:
    """Writes CSV with quotes only in batches that need them."""

    def __init__(self, path: Path, names: Sequence[str], delimiter: str) -> None:
        self._delimiter = delimiter
        self._file = path.open("wb")
        header = io.StringIO()
        csv.writer(header, delimiter=delimiter, lineterminator="\n").writerow(names)
        self._file.write(header.getvalue().encode())

    def write_table(self, batch: Any) -> None:
        columns = [as_values(column) for column in batch.columns]
        spelled = pa.table(dict(zip(batch.column_names, columns, strict=True)))
        try:
            self._file.write(self._text(spelled, "none"))
        except pa.ArrowInvalid:
            self._file.write(self._text(spelled, "needed"))

    def close(self) -> None:
        self._file.close()

    def _text(self, table: Any, quoting: str) -> Any:
        buffer = pa.BufferOutputStream()
        options = pyarrow.csv.WriteOptions(include_header=False, delimiter=self._delimiter, quoting_style=quoting)
        pyarrow.csv.write_csv(table, buffer, options)
        return buffer.getvalue()
