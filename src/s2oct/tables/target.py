"""Writing a table to a file in batches, and the columns that a fit adds to it."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from s2oct.arrays import FloatArray, IntArray
from s2oct.errors import InvalidProblem
from s2oct.files import Draft
from s2oct.tables.columns import as_values, is_text, without_gaps
from s2oct.tables.dialect import UTF8, Dialect
from s2oct.tables.formats import SUFFIXES, Format

_PARQUET_SUFFIXES = set(SUFFIXES[Format.PARQUET])
_TAB_SUFFIXES = {".tsv", ".tab"}
_CSV_SUFFIXES = {".csv", ".txt", *_TAB_SUFFIXES}

_FORMULA = r"^(?:[=@\t\r]|[-+].)"
_NUMBER = r"^[-+](?:[0-9]+[.,]?[0-9]*|[.,][0-9]+)(?:[eE][-+]?[0-9]+)?$"
_ESCAPE = "'"


class Target:
    """A table to write, in the format given by its name.

    Parameters
    ----------
    draft : Path
        The file to write to.
    name : Path
        The final name of the file, which determines the format.
    dialect : Dialect
        The dialect of a CSV file: by default commas, decimal points and UTF-8; tabs if the name says so.
    keep_formulas : bool
        Leave text that a spreadsheet would execute unchanged. By default it is prefixed with an apostrophe, which marks
        text in spreadsheets.
    """

    def __init__(self, draft: Path, name: Path, dialect: Dialect | None = None, *, keep_formulas: bool = False) -> None:
        check_table_name(name)
        self._draft, self._suffix = draft, name.suffix.lower()
        self._dialect, self._keep_formulas = dialect or Dialect(), keep_formulas
        self._writer: Any = None

    def write(self, batch: Any) -> None:
        """Append rows."""
        if self._writer is None:
            self._writer = self._open(batch.schema)
        self._writer.write_table(batch)

    def close(self) -> None:
        """Finish the file."""
        if self._writer is not None:
            self._writer.close()

    @property
    def _delimiter(self) -> str:
        """The delimiter of the input; a semicolon if the input was a sheet with decimal commas."""
        return self._dialect.delimiter or (";" if self._dialect.decimal == "," else ",")

    def _open(self, schema: Any) -> Any:
        if self._suffix in _PARQUET_SUFFIXES:
            return pq.ParquetWriter(self._draft, schema)
        delimiter = "\t" if self._suffix in _TAB_SUFFIXES else self._delimiter
        return _CsvWriter(self._draft, schema.names, delimiter, self._dialect, self._keep_formulas)


def write_table(file: Path, table: Any, dialect: Dialect) -> None:
    """Write a table in memory to a file, completely or not at all."""
    draft = Draft.beside(file)
    try:
        with closing(Target(draft.path, file, dialect)) as target:
            target.write(table)
        draft.publish()
    finally:
        draft.discard()


def check_table_name(name: Path) -> None:
    """Refuse a name whose suffix is not a writable format."""
    if name.suffix.lower() not in _CSV_SUFFIXES | _PARQUET_SUFFIXES:
        raise InvalidProblem(f"Expected a table to write to, .csv, .tsv, .txt or .parquet, got {str(name)!r}.")


class _CsvWriter:
    """A CSV writer that quotes cells only in batches that need it."""

    def __init__(self, path: Path, names: Sequence[str], delimiter: str, dialect: Dialect, keep_formulas: bool) -> None:
        self._delimiter, self._dialect, self._keep_formulas = delimiter, dialect, keep_formulas
        # One encoder for the whole file, because some encodings start with a byte-order mark.
        self._encoder = codecs.getincrementalencoder(dialect.charset or UTF8)()
        self._file = path.open("wb")
        header = io.StringIO()
        cells = self._harmless(pa.array(names, pa.large_string())).to_pylist()
        csv.writer(header, delimiter=delimiter, lineterminator="\n").writerow(cells)
        self._write(header.getvalue())

    def write_table(self, batch: Any) -> None:
        columns = [self._spelled(as_values(column)) for column in batch.columns]
        spelled = pa.table(dict(zip(batch.column_names, columns, strict=True)))
        try:
            self._write_bytes(self._text(spelled, "none"))
        except pa.ArrowInvalid:
            self._write_bytes(self._text(spelled, "needed"))

    def close(self) -> None:
        self._file.close()

    def _spelled(self, column: Any) -> Any:
        """Convert a column for writing: decimal signs, and text that spreadsheets do not execute."""
        if is_text(column.type):
            return self._harmless(column)
        if pa.types.is_floating(column.type) and self._dialect.decimal == ",":
            return pc.replace_substring(column.cast(pa.large_string()), ".", ",")
        return column

    def _harmless(self, column: Any) -> Any:
        if self._keep_formulas:
            return column
        is_formula = pc.match_substring_regex(column, _FORMULA)
        is_harmless = pc.or_(
            pc.match_substring_regex(pc.utf8_trim_whitespace(column), _NUMBER),
            pc.is_null(without_gaps(column, self._dialect)),
        )
        escaped = pc.binary_join_element_wise(pa.scalar(_ESCAPE, column.type), column, pa.scalar("", column.type))
        return pc.if_else(pc.and_not(is_formula, is_harmless), escaped, column)

    def _text(self, table: Any, quoting: str) -> Any:
        buffer = pa.BufferOutputStream()
        options = pyarrow.csv.WriteOptions(include_header=False, delimiter=self._delimiter, quoting_style=quoting)
        pyarrow.csv.write_csv(table, buffer, options)
        return buffer.getvalue()

    def _write_bytes(self, utf8: Any) -> None:
        if self._dialect.charset in (None, UTF8):
            self._file.write(utf8)
        else:
            self._write(utf8.to_pybytes().decode())

    def _write(self, text: str) -> None:
        try:
            self._file.write(self._encoder.encode(text))
        except UnicodeEncodeError as error:
            sign = text[error.start]
            raise InvalidProblem(
                f"Expected text that the encoding {self._dialect.charset_name} has, got {sign!r}."
            ) from error


@dataclass(frozen=True)
class AddedColumns:
    """Names of the columns that a fit adds to a table.

    Parameters
    ----------
    label : str, optional
        Label column, which is the prefix of the names; None if the model was not fitted to a table.
    """

    label: str | None = None

    @property
    def predicted(self) -> str:
        """Column of predicted classes."""
        return self._named("predicted")

    @property
    def leaf(self) -> str:
        """Column of leaves."""
        return self._named("leaf")

    @property
    def completed(self) -> str:
        """Column of labels, with predicted classes for unlabeled rows."""
        return self._named("completed")

    @property
    def stability(self) -> str:
        """Column with the share of equally good trees that agree on the row."""
        return self._named("stability")

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in the order in which a fit adds the columns."""
        return self.completed, self.predicted, self.leaf, self.stability

    def _named(self, content: str) -> str:
        return f"{self.label}_{content}" if self.label else content


def class_column(codes: IntArray, classes: Sequence[Any]) -> Any:
    """Make a column of class labels from their indices; 16 bits are enough for the classes of any tree."""
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int16)), pa.array(list(classes)))


def leaf_column(leaves: IntArray) -> Any:
    """Make a column of leaf ids; 16 bits are enough for the deepest tree."""
    return pa.array(leaves.astype(np.int16))


def number_column(numbers: FloatArray) -> Any:
    """Make a column of numbers; NaN becomes a missing value."""
    return pa.array(numbers, from_pandas=True)
