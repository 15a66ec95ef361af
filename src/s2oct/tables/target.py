"""A table to write to a file, batch after batch, and the columns that a fit adds to it."""

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
    """A table to write, in the format that its name says.

    Parameters
    ----------
    draft : Path
        The file to write to.
    name : Path
        The name that the file will have, which says the format.
    dialect : Dialect
        How a CSV file is written: by default with commas and points, in UTF-8. Tabs if the name says so.
    keep_formulas : bool
        Write text that a spreadsheet would execute as it is. By default it gets an apostrophe in front, which
        spreadsheets read as "this is text".
    """

    def __init__(self, draft: Path, name: Path, dialect: Dialect | None = None, *, keep_formulas: bool = False) -> None:
        check_table_name(name)
        self._draft, self._suffix = draft, name.suffix.lower()
        self._dialect, self._keep_formulas = dialect or Dialect(), keep_formulas
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

    @property
    def _delimiter(self) -> str:
        """As in the table that came in; semicolons if a sheet with decimal commas came in."""
        return self._dialect.delimiter or (";" if self._dialect.decimal == "," else ",")

    def _open(self, schema: Any) -> Any:
        if self._suffix in _PARQUET_SUFFIXES:
            return pq.ParquetWriter(self._draft, schema)
        delimiter = "\t" if self._suffix in _TAB_SUFFIXES else self._delimiter
        return _CsvWriter(self._draft, schema.names, delimiter, self._dialect, self._keep_formulas)


def write_table(file: Path, table: Any, dialect: Dialect) -> None:
    """Write a table whose cells are at hand: the file is complete, or not written at all."""
    draft = Draft.beside(file)
    try:
        with closing(Target(draft.path, file, dialect)) as target:
            target.write(table)
        draft.publish()
    finally:
        draft.discard()


def check_table_name(name: Path) -> None:
    """Refuse a name whose ending says no format that can be written."""
    if name.suffix.lower() not in _CSV_SUFFIXES | _PARQUET_SUFFIXES:
        raise InvalidProblem(f"Expected a table to write to, .csv, .tsv, .txt or .parquet, got {str(name)!r}.")


class _CsvWriter:
    """Writes CSV with quotes only in batches that need them."""

    def __init__(self, path: Path, names: Sequence[str], delimiter: str, dialect: Dialect, keep_formulas: bool) -> None:
        self._delimiter, self._dialect, self._keep_formulas = delimiter, dialect, keep_formulas
        # One encoder for the whole file: some encodings begin with a mark.
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
        """A column with decimal signs and harmless text, as it will be written."""
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
    """Names of the columns that are added to a table.

    Parameters
    ----------
    label : str, optional
        Column of the labels, which begins their names; None where the model was not fitted to a table.
    """

    label: str | None = None

    @property
    def predicted(self) -> str:
        """Column with the class that the tree predicts."""
        return self._named("predicted")

    @property
    def leaf(self) -> str:
        """Column with the leaf in which a row ends."""
        return self._named("leaf")

    @property
    def completed(self) -> str:
        """Column with the given labels and, in their gaps, the predicted classes."""
        return self._named("completed")

    @property
    def stability(self) -> str:
        """Column with the share of equally good trees that agree on a row."""
        return self._named("stability")

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, in the order in which a fit adds them."""
        return self.completed, self.predicted, self.leaf, self.stability

    def _named(self, content: str) -> str:
        return f"{self.label}_{content}" if self.label else content


def class_column(codes: IntArray, classes: Sequence[Any]) -> Any:
    """Make a column of class labels from their indices; 16 bits count more classes than any tree has."""
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int16)), pa.array(list(classes)))


def leaf_column(leaves: IntArray) -> Any:
    """Make a column of leaf ids; 16 bits are enough for the deepest tree."""
    return pa.array(leaves.astype(np.int16))


def number_column(numbers: FloatArray) -> Any:
    """Make a column of numbers, with a gap for NaN."""
    return pa.array(numbers, from_pandas=True)
