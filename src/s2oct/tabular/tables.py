"""Tables in files: CSV and Parquet, read whole or in batches, and written the same way."""

from __future__ import annotations

import csv
import gzip
import io
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from s2oct.arrays import FloatArray, IntArray, ObjectArray
from s2oct.errors import InvalidProblem

BATCH_ROWS = 2**17
"""Rows that are in memory at a time: some megabytes, and enough to make the work per batch small."""

MISSING = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA"),
    *("NULL", "NaN", "None", "n/a", "nan", "null"),
)
"""Cells that are gaps; those that pandas reads as such."""

_PARQUET = {".parquet", ".pq"}
_CSV = {".csv", ".tsv", ".tab", ".txt"}
_DELIMITERS = ",;\t|"
_SNIFFED = 2**16
_READ_BUFFER = 2**20


@dataclass(frozen=True)
class Source:
    """A table in a file and how to read it.

    Parameters
    ----------
    path : Path
    delimiter : str, optional
        Between the cells of a CSV file; found out if not given.
    encoding : str
    decimal : str
        What stands before the decimals of a number.
    missing : tuple of str
        Cells that are gaps, beside the usual ones.
    """

    path: Path
    delimiter: str | None = None
    encoding: str = "utf-8-sig"
    decimal: str = "."
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.path.exists():
            raise InvalidProblem(f"Expected a data file, got {self._name}, which does not exist.")
        if self.path.is_dir():
            raise InvalidProblem(f"Expected a data file, got the folder {self._name}.")
        if self.path.stat().st_size == 0:
            raise InvalidProblem(f"Expected a table in {self._name}, got an empty file.")
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise InvalidProblem(f"Expected a delimiter of one character, got {self.delimiter!r}.")
        if self.decimal not in (".", ","):
            raise InvalidProblem(f"Expected the decimal sign '.' or ',', got {self.decimal!r}.")

    @property
    def _name(self) -> str:
        return repr(str(self.path))

    @property
    def is_parquet(self) -> bool:
        """Whether the file is Parquet, by its name."""
        return self.path.suffix.lower() in _PARQUET

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, which must be distinct and not empty."""
        names = self._parquet().schema_arrow.names if self.is_parquet else self._header()
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise InvalidProblem(f"Expected distinct column names in {self._name}, got {repeated} more than once.")
        if "" in names:
            raise InvalidProblem(
                f"Expected a name for every column of {self._name}, got none for column {names.index('') + 1}."
            )
        return tuple(names)

    def whole(self) -> Any:
        """The whole table."""
        batches = list(self.batches(self.columns))
        if not batches or not sum(batch.num_rows for batch in batches):
            raise InvalidProblem(f"Expected rows in {self._name}, got column names only.")
        return pa.concat_tables(batches)

    def batches(self, columns: Sequence[str], rows: int = BATCH_ROWS) -> Iterator[Any]:
        """Some columns of the table, so many rows at a time; cells of CSV files are text."""
        if self.is_parquet:
            yield from self._parquet_batches(columns, rows)
        else:
            yield from self._csv_batches(columns, rows)

    def _parquet(self) -> Any:
        try:
            # A buffer keeps long row groups out of memory.
            return pq.ParquetFile(self.path, buffer_size=_READ_BUFFER, pre_buffer=False)
        except pa.ArrowInvalid as error:
            raise InvalidProblem(f"Expected a Parquet file in {self._name}, got other bytes.") from error

    def _parquet_batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        try:
            for batch in self._parquet().iter_batches(batch_size=rows, columns=list(columns)):
                yield pa.Table.from_batches([batch])
        except (pa.ArrowInvalid, OSError) as error:
            raise InvalidProblem(f"Expected a complete Parquet file in {self._name}, got a damaged one.") from error

    def _csv_batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        wanted = list(columns)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", pd.errors.ParserWarning)
                # Without usecols, which would let rows with surplus cells pass.
                chunks = pd.read_csv(
                    self.path,
                    sep=self._separator,
                    encoding=self.encoding,
                    names=list(self.columns),
                    header=0,
                    dtype=str,
                    na_filter=False,
                    index_col=False,
                    chunksize=rows,
                )
                for chunk in chunks:
                    yield pa.Table.from_pandas(chunk[wanted], preserve_index=False)
        except UnicodeError as error:
            raise self._wrong_encoding() from error
        except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
            reason = " ".join(str(error).replace("Error tokenizing data. C error: ", "").split()).rstrip(".")
            raise InvalidProblem(f"Expected rows of {len(self.columns)} cells in {self._name}: {reason}.") from error
        except pd.errors.EmptyDataError as error:
            raise InvalidProblem(f"Expected a table in {self._name}, got an empty file.") from error

    def _header(self) -> list[str]:
        names = next(csv.reader(io.StringIO(self._opening), delimiter=self._separator), [])
        if not any(names):
            raise InvalidProblem(f"Expected column names in the first line of {self._name}, got nothing.")
        return [name.strip() for name in names]

    @cached_property
    def _opening(self) -> str:
        """The first lines of a CSV file."""
        try:
            with self._binary() as file, io.TextIOWrapper(file, encoding=self.encoding, newline="") as text:
                opening = text.read(_SNIFFED)
        except LookupError as error:
            raise InvalidProblem(f"Expected an encoding that Python knows, got {self.encoding!r}.") from error
        except UnicodeError as error:
            raise self._wrong_encoding() from error
        except gzip.BadGzipFile as error:
            raise InvalidProblem(f"Expected a gzip file in {self._name}, got other bytes.") from error
        if "\0" in opening:
            raise InvalidProblem(f"Expected text in {self._name}, got bytes that are none.")
        return opening.lstrip("\r\n")

    def _binary(self) -> Any:
        return gzip.open(self.path, "rb") if self.path.suffix.lower() == ".gz" else self.path.open("rb")

    @cached_property
    def _separator(self) -> str:
        return self.delimiter if self.delimiter is not None else _sniffed(self._opening)

    def _wrong_encoding(self) -> InvalidProblem:
        name = "UTF-8" if self.encoding == "utf-8-sig" else self.encoding
        return InvalidProblem(
            f"Expected text in the encoding {name} in {self._name}, got bytes that are none: name another one with "
            "--encoding, for instance latin-1."
        )

    def numbers(self, column: Any) -> FloatArray | None:
        """The cells of a column as floats with NaN for gaps; None if they are no numbers."""
        column = _decoded(column)
        kind = column.type
        if pa.types.is_boolean(kind):
            column = column.cast(pa.uint8())
        if _is_text(kind):
            text = pc.utf8_trim_whitespace(column)
            text = pc.if_else(self._is_gap(text), pa.scalar(None, text.type), text)
            if self.decimal == ",":
                text = pc.replace_substring(text, ",", ".")
            column = pc.replace_substring_regex(text, r"^\+", "")
        elif not (
            pa.types.is_integer(kind)
            or pa.types.is_floating(kind)
            or pa.types.is_boolean(kind)
            or pa.types.is_decimal(kind)
            or pa.types.is_null(kind)
        ):
            return None
        try:
            return _as_floats(column)
        except pa.ArrowInvalid:
            return None

    def texts(self, column: Any) -> ObjectArray | None:
        """The cells of a column as text with None for gaps; None if they are neither text nor whole numbers."""
        column = _decoded(column)
        kind = column.type
        if not (_is_text(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind)):
            return None
        text = column.cast(pa.large_string())
        return np.array(pc.if_else(self._is_gap(text), pa.scalar(None, text.type), text).to_pylist(), dtype=object)

    def labels(self, column: Any) -> list[Any]:
        """The cells of a label column, None for gaps; whole numbers as such, also where they were written as 1.0."""
        column = _decoded(column)
        if not _is_text(column.type):
            return [_label(value) for value in column.to_pylist()]
        cells = self.texts(column)
        return _whole_numbers([] if cells is None else cells.tolist())

    def _is_gap(self, text: Any) -> Any:
        marks = pa.array([*MISSING, *self.missing], type=text.type)
        return pc.is_in(pc.utf8_trim_whitespace(text), value_set=marks)


class Target:
    """A table to be written, batch after batch, in the format its name says."""

    def __init__(self, draft: Path, name: Path) -> None:
        self._draft, self._suffix = draft, table_suffix(name)
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
        if self._suffix in _PARQUET:
            return pq.ParquetWriter(self._draft, schema)
        return _CsvWriter(self._draft, schema.names, "\t" if self._suffix in {".tsv", ".tab"} else ",")


class _CsvWriter:
    """Writes CSV with quotes only in batches that need them."""

    def __init__(self, path: Path, names: Sequence[str], delimiter: str) -> None:
        self._delimiter = delimiter
        self._file = path.open("wb")
        header = io.StringIO()
        csv.writer(header, delimiter=delimiter, lineterminator="\n").writerow(names)
        self._file.write(header.getvalue().encode())

    def write_table(self, batch: Any) -> None:
        columns = [_decoded(column) for column in batch.columns]
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


def table_suffix(name: Path) -> str:
    """The end of a table's name, if it is one that can be written."""
    suffix = name.suffix.lower()
    if suffix not in _CSV | _PARQUET:
        raise InvalidProblem(f"Expected a table to write to, .csv, .tsv, .txt or .parquet, got {str(name)!r}.")
    return suffix


def feature_frame(X: FloatArray, names: Sequence[str]) -> Any:
    """Features with their names, as estimators take them."""
    return pd.DataFrame(X, columns=list(names))


def class_column(codes: IntArray, classes: Sequence[Any]) -> Any:
    """Class labels from their indices, stored once each; no tree has more of them than 16 bits count."""
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int16)), pa.array(list(classes)))


def leaf_column(leaves: IntArray) -> Any:
    """Ids of leaves, in no more bits than the deepest tree needs."""
    return pa.array(leaves.astype(np.int16))


def number_column(numbers: FloatArray) -> Any:
    """Numbers, with a gap for NaN."""
    return pa.array(numbers, from_pandas=True)


def _decoded(column: Any) -> Any:
    if pa.types.is_dictionary(column.type):
        return column.cast(column.type.value_type)
    return column


def _as_floats(column: Any) -> FloatArray:
    """A column as floats with NaN for gaps, without a copy where there is nothing to change."""
    if not pa.types.is_float64(column.type):
        column = column.cast(pa.float64(), safe=False)
    whole = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return np.asarray(whole.to_numpy(zero_copy_only=False), dtype=float)


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _sniffed(opening: str) -> str:
    """The delimiter that cuts the first lines into the same number of cells, the most if there are several."""
    lines = opening.splitlines()[:20]
    best, most = ",", 0
    for delimiter in _DELIMITERS:
        widths = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
        # The last line may have been cut off.
        regular = len(set(widths[:-1] or widths)) == 1
        if widths and widths[0] > 1 and (widths[0] if regular else 0.5) > most:
            best, most = delimiter, widths[0] if regular else 1
    return best


def _label(value: Any) -> Any:
    if isinstance(value, float):
        return None if value != value else int(value) if value.is_integer() else value
    return value


def _whole_numbers(cells: list[str | None]) -> list[Any]:
    """Cells as integers if all are written as such, or all as 1.0; otherwise the cells as they are."""
    known = {cell for cell in cells if cell is not None}
    for reading in (_integer, _float_integer):
        if known and all(reading(cell) is not None for cell in known):
            return [None if cell is None else reading(cell) for cell in cells]
    return list(cells)


def _integer(cell: str) -> int | None:
    digits = cell.strip().removeprefix("-")
    # 007 is a name.
    return int(cell) if digits.isascii() and digits.isdigit() and str(int(digits)) == digits else None


def _float_integer(cell: str) -> int | None:
    whole, point, rest = cell.strip().partition(".")
    return _integer(whole) if point and rest and set(rest) == {"0"} else None
