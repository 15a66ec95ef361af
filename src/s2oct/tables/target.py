"""Writing a table to a file in batches, and the columns that a fit adds to it."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterable, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

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


def write_batches(
    draft: Path, name: Path, batches: Iterable[Any], dialect: Dialect | None = None, *, keep_formulas: bool = False
) -> int:
    """Write a table, given as one or more batches of rows, and return its number of rows.

    Parameters
    ----------
    draft : Path
        The file to write to.
    name : Path
        The final name of the file, which determines the format.
    batches : iterable of pyarrow.Table
        The rows.
    dialect : Dialect
        The dialect of a CSV file: by default commas, decimal points and UTF-8; tabs if the name says so.
    keep_formulas : bool
        Leave text that a spreadsheet would execute unchanged. By default it is prefixed with an apostrophe, which marks
        text in spreadsheets.
    """
    check_table_name(name)
    coming = iter(batches)
    first, n_rows, suffix = next(coming), 0, name.suffix.lower()
    writer: Any
    if suffix in _PARQUET_SUFFIXES:
        writer = pq.ParquetWriter(draft, first.schema)
    else:
        delimiter = "\t" if suffix in _TAB_SUFFIXES else None
        writer = _CsvWriter(draft, first.column_names, dialect or Dialect(), delimiter, keep_formulas)
    with closing(writer):
        for batch in chain([first], coming):
            writer.write_table(batch)
            n_rows += batch.num_rows
    return n_rows


def write_table(file: Path, batches: Iterable[Any], dialect: Dialect) -> None:
    """Write a table to a file, completely or not at all."""
    draft = Draft.beside(file)
    try:
        write_batches(draft.path, file, batches, dialect)
        draft.publish()
    finally:
        draft.discard()


def check_table_name(name: Path) -> None:
    """Refuse a name whose suffix is not a writable format."""
    if name.suffix.lower() not in _CSV_SUFFIXES | _PARQUET_SUFFIXES:
        raise InvalidProblem(f"Expected a table to write to, .csv, .tsv, .txt or .parquet, got {str(name)!r}.")


class _CsvWriter:
    """A CSV writer that quotes cells only in batches that need it."""

    def __init__(
        self, path: Path, names: Sequence[str], dialect: Dialect, delimiter: str | None, keep_formulas: bool
    ) -> None:
        self._dialect, self._keep_formulas = dialect, keep_formulas
        # The delimiter of the input; a semicolon if the input was a sheet with decimal commas.
        self._delimiter = delimiter or dialect.delimiter or (";" if dialect.decimal == "," else ",")
        # One encoder for the whole file, because some encodings start with a byte-order mark.
        self._encoder = codecs.getincrementalencoder(dialect.charset or UTF8)()
        self._file = path.open("wb")
        header = io.StringIO()
        cells = self._harmless(pa.array(names, pa.large_string())).to_pylist()
        csv.writer(header, delimiter=self._delimiter, lineterminator="\n").writerow(cells)
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


ADDED = COMPLETED, PREDICTED, LEAF, STABILITY = "completed", "predicted", "leaf", "stability"
"""Contents of the columns that a fit adds, in their order: the label, or the predicted class of an unlabeled row; the
predicted class; the leaf; and the share of equally good trees that agree on the row."""


def added_name(content: str, label: str | None) -> str:
    """Return the name of a column that a fit adds; ``label`` is None if the model was not fitted to a table."""
    return f"{label}_{content}" if label else content
