"""Tables in CSV files, also gzipped; all their cells are text."""

from __future__ import annotations

import csv
import gzip
import io
import warnings
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from s2oct.errors import InvalidProblem, InvalidTable, Remedy
from s2oct.tabular.dialect import Dialect, sniff_delimiter

_SNIFFED = 2**16
_DAMAGED_GZIP = (gzip.BadGzipFile, EOFError, zlib.error)


@dataclass(frozen=True)
class CsvFile:
    """A CSV file and how its cells are written."""

    path: Path
    dialect: Dialect

    @property
    def _name(self) -> str:
        return repr(str(self.path))

    def header(self) -> list[str]:
        """Names of the columns, without the blanks around them."""
        names = next(csv.reader(io.StringIO(self._opening), delimiter=self._delimiter), [])
        if not any(names):
            raise InvalidProblem(f"Expected column names in the first line of {self._name}, got nothing.")
        return [name.strip() for name in names]

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        """Yield some columns of the table, at most so many rows at a time."""
        wanted, names = list(columns), self.header()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", pd.errors.ParserWarning)
                for chunk in self._chunks(names, rows):
                    yield pa.Table.from_pandas(chunk[wanted], preserve_index=False)
        except UnicodeError as error:
            raise self._wrong_charset() from error
        except _DAMAGED_GZIP as error:
            raise self._damaged_gzip() from error
        except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
            reason = " ".join(str(error).replace("Error tokenizing data. C error: ", "").split()).rstrip(".")
            raise InvalidProblem(f"Expected rows of {len(names)} cells in {self._name}: {reason}.") from error
        except pd.errors.EmptyDataError as error:
            raise InvalidProblem(f"Expected a table in {self._name}, got an empty file.") from error

    def _chunks(self, names: list[str], rows: int) -> Any:
        # Without usecols, which would let rows with surplus cells pass.
        return pd.read_csv(
            self.path,
            sep=self._delimiter,
            encoding=self.dialect.charset,
            names=names,
            header=0,
            dtype=str,
            na_filter=False,
            index_col=False,
            chunksize=rows,
        )

    @cached_property
    def _delimiter(self) -> str:
        return self.dialect.delimiter or sniff_delimiter(self._opening)

    @cached_property
    def _opening(self) -> str:
        """The first lines of the file."""
        try:
            with self._binary() as file, io.TextIOWrapper(file, encoding=self.dialect.charset, newline="") as text:
                opening = text.read(_SNIFFED)
        except UnicodeError as error:
            raise self._wrong_charset() from error
        except _DAMAGED_GZIP as error:
            raise self._damaged_gzip() from error
        if "\0" in opening:
            raise InvalidProblem(f"Expected text in {self._name}, got a file with zero bytes.")
        # Files of old Macs end their lines with a carriage return alone, which Python's reader refuses.
        return (opening if "\n" in opening else opening.replace("\r", "\n")).lstrip("\r\n")

    def _binary(self) -> Any:
        return gzip.open(self.path, "rb") if self.path.suffix.lower() == ".gz" else self.path.open("rb")

    def _wrong_charset(self) -> InvalidTable:
        return InvalidTable(
            f"Expected text in the encoding {self.dialect.charset_name} in {self._name}, got bytes that it does not "
            "allow",
            Remedy.OTHER_CHARSET,
        )

    def _damaged_gzip(self) -> InvalidProblem:
        return InvalidProblem(f"Expected a complete gzip file in {self._name}, got other or damaged bytes.")
