"""Tables in CSV files, plain or gzipped; all cells are text."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import queue
import re
import threading
import zlib
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.csv

from s2oct.errors import InvalidProblem, InvalidTable, Remedy
from s2oct.tables.columns import named_columns
from s2oct.tables.dialect import Dialect, Transcoder, detect_delimiter
from s2oct.tables.formats import GZIP, ReadingLimit
from s2oct.wording import amount

LOOK = 2**16
"""Number of bytes used to detect encoding and delimiter; most headers are shorter."""

_PART = 2**20
_BLOCK = 2**23
"""Number of bytes parsed at a time; no row may be longer."""

_GZIP_WINDOW = 31
_DAMAGED_GZIP = (gzip.BadGzipFile, EOFError, zlib.error)


@dataclass(frozen=True)
class _Look:
    """Properties detected from the beginning of a file."""

    delimiter: str
    n_blank: int
    names: list[str]


class CsvFile:
    """A CSV file, read in one pass after its encoding, delimiter and header are detected from its beginning.

    Parameters
    ----------
    path : Path
        The file.
    name : str
        Its name in messages.
    head : bytes
        Its first bytes.
    given : Dialect
        The given part of its dialect.
    default : Dialect
        Defaults for the rest of its dialect.
    limit : ReadingLimit, optional
        The largest table to read; no limit by default.
    """

    def __init__(
        self, path: Path, name: str, head: bytes, given: Dialect, default: Dialect, limit: ReadingLimit | None = None
    ) -> None:
        self.path, self._name, self.limit = path, name, limit
        self._head, self._given, self._default = head, given, default
        self._charset = given.charset
        self._is_certain = False

    @property
    def dialect(self) -> Dialect:
        """The dialect without the decimal sign; the encoding is certain once all bytes have been read."""
        return replace(self._given, delimiter=self._look.delimiter, charset=self._charset)

    @property
    def header(self) -> list[str]:
        """Names of the columns, stripped."""
        return self._look.names

    def blocks(self) -> Iterator[Any]:
        """Yield all rows, in the blocks in which they are parsed."""
        names, last = self.header, None
        try:
            for batch in self._reader():
                last = pa.Table.from_batches([batch])
                yield last
        except UnicodeError as error:
            raise self._wrong_charset() from error
        except pa.ArrowException as error:
            raise self._unreadable(str(error), len(names)) from error
        if last is not None and last.num_rows and str(last[names[-1]][-1]).endswith(("\n", "\r")):
            raise InvalidProblem(f"Expected a closing quote in {self._name!r}, got a cell that runs to the end.")

    def parts(self) -> Iterator[bytes]:
        """Yield all bytes of the file, decompressed, in parts; the first part is as long as the detected beginning."""
        try:
            with gzip.open(self.path, "rb") if self.is_gzipped else self.path.open("rb") as file:
                parts = chain([file.read(LOOK)], iter(lambda: file.read(_PART), b""))
                yield from parts if self.limit is None else self.limit.bounded_parts(parts)
        except _DAMAGED_GZIP as error:
            raise self._damaged_gzip() from error

    def utf8(self) -> Generator[bytes]:
        """Yield all bytes of the file as UTF-8; the encoding is detected on the fly."""
        transcoder = Transcoder(self._charset if self._is_certain else self._given.charset, self._default.charset)
        for part in self.parts():
            yield transcoder.utf8(part)
            self._charset = transcoder.charset
        yield transcoder.utf8(b"", is_last=True)
        self._charset, self._is_certain = transcoder.charset, True

    @property
    def is_gzipped(self) -> bool:
        """Whether the file is compressed."""
        return self._head.startswith(GZIP)

    @cached_property
    def _look(self) -> _Look:
        """Inspect the beginning of the file, up to the end of the header."""
        size, delimiter = LOOK, self._given.delimiter
        while True:
            text, is_whole = self._beginning(size)
            delimiter = delimiter or detect_delimiter(text, self._default.delimiter)
            table = text.lstrip("\n")
            lines = io.StringIO(table)
            try:
                names = next(csv.reader(lines, delimiter=delimiter), [])
            except csv.Error as error:
                raise InvalidProblem(
                    f"A column name in the first line of {self._name!r} has more than {amount(csv.field_size_limit())} "
                    "characters: is a closing quote missing?"
                ) from error
            if is_whole or lines.read(1):
                break
            if size >= _BLOCK:
                raise self._too_long("The header")
            size *= 2
        if not any(names):
            raise InvalidProblem(f"Expected column names in the first line of {self._name!r}, got nothing.")
        return _Look(delimiter, len(text) - len(table), named_columns(names))

    def _beginning(self, size: int) -> tuple[str, bool]:
        """Return the first characters, with line feeds as line ends, and whether they are the whole file."""
        data, is_whole = self._first_bytes(size)
        transcoder = Transcoder(self._given.charset, self._default.charset)
        try:
            utf8 = transcoder.utf8(data[:LOOK], is_whole and len(data) <= LOOK)
            utf8 += transcoder.utf8(data[LOOK:], is_whole) if len(data) > LOOK else b""
            self._charset = transcoder.charset
            text, _ = codecs.utf_8_decode(utf8.removeprefix(codecs.BOM_UTF8), "strict", is_whole)
        except UnicodeError as error:
            raise self._wrong_charset() from error
        if "\0" in text:
            raise InvalidProblem(f"Expected text in {self._name!r}, got a file with zero bytes.")
        return text.replace("\r\n", "\n").replace("\r", "\n"), is_whole

    def _first_bytes(self, size: int) -> tuple[bytes, bool]:
        if size == LOOK and not self.is_gzipped:
            return self._head, len(self._head) < LOOK
        if size == LOOK:
            unpacking = zlib.decompressobj(_GZIP_WINDOW)
            try:
                data = unpacking.decompress(self._head, LOOK)
            except zlib.error as error:
                raise self._damaged_gzip() from error
            if not unpacking.eof and len(data) < LOOK and len(self._head) < LOOK:
                raise self._damaged_gzip()
            return data, unpacking.eof and not unpacking.unused_data
        found = bytearray()
        for part in self.parts():
            found += part
            if len(found) > size:
                return bytes(found[:size]), False
        return bytes(found), True

    def _reader(self) -> Any:
        return pyarrow.csv.open_csv(
            _Utf8Stream(self),
            pyarrow.csv.ReadOptions(
                block_size=_BLOCK,
                # Rows before the names are counted in lines, later ones in CSV records.
                skip_rows=self._look.n_blank,
                skip_rows_after_names=1,
                column_names=self.header,
            ),
            pyarrow.csv.ParseOptions(delimiter=self._look.delimiter, newlines_in_values=True),
            pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(self.header, pa.large_string()), null_values=[]),
        )

    def _unreadable(self, reason: str, n_columns: int) -> InvalidProblem:
        if "invalid UTF8" in reason:
            return self._wrong_charset()
        if "straddling" in reason:
            return self._too_long("A row")
        found = re.search(r"(?:Row #(\d+): )?Expected \d+ columns, got (\d+)", reason)
        if found:
            line, width = found.groups()
            where = f"in row {int(line) - 1}" if line else "in another row"
            return InvalidProblem(f"Expected rows of {n_columns} cells in {self._name!r}, got {width} {where}.")
        return InvalidProblem(
            f"The rows of {self._name!r} cannot be cut into {n_columns} cells each: check its delimiter and quotes."
        )

    def _too_long(self, what: str) -> InvalidProblem:
        return InvalidProblem(f"{what} of {self._name!r} has more than {_BLOCK >> 20} MiB: is a closing quote missing?")

    def _wrong_charset(self) -> InvalidTable:
        charset = Dialect(charset=self._charset).charset_name
        return InvalidTable(
            f"Expected text in the encoding {charset} in {self._name!r}, got bytes that it does not allow",
            Remedy.OTHER_CHARSET,
        )

    def _damaged_gzip(self) -> InvalidProblem:
        return InvalidProblem(f"Expected a complete gzip file in {self._name!r}, got other or damaged bytes.")


class _Utf8Stream:
    """A file for Arrow's reader: full blocks until the end of the file."""

    closed = False

    def __init__(self, file: CsvFile) -> None:
        self._parts = file.utf8()
        self._buffered = b""

    def read(self, size: int) -> bytes:
        """Return the next bytes."""
        found = [self._buffered]
        n_bytes = len(self._buffered)
        while n_bytes < size and (part := next(self._parts, None)) is not None:
            found.append(part)
            n_bytes += len(part)
        whole = b"".join(found)
        self._buffered = whole[size:]
        return whole[:size]

    def close(self) -> None:
        """Close the file."""
        self._parts.close()


T = TypeVar("T")

_AHEAD = 2
"""Maximum number of queued batches, so that memory stays bounded."""

_PATIENCE = 0.1
"""Seconds after which a reader with a full queue checks whether its items are still needed."""


def read_ahead(items: Iterable[T]) -> Iterator[T]:
    """Yield the items in order while another thread fetches them; its errors are raised here."""
    waiting: queue.Queue[tuple[T] | BaseException | None] = queue.Queue(_AHEAD)
    abandoned = threading.Event()

    def put(entry: tuple[T] | BaseException | None) -> bool:
        while not abandoned.is_set():
            try:
                waiting.put(entry, timeout=_PATIENCE)
            except queue.Full:
                continue
            return True
        return False

    def fetch() -> None:
        try:
            for item in items:
                if not put((item,)):
                    return
            put(None)
        except BaseException as error:  # any error must reach the consumer
            put(error)

    reader = threading.Thread(target=fetch, name="s2oct-reader", daemon=True)
    reader.start()
    try:
        while (entry := waiting.get()) is not None:
            if isinstance(entry, BaseException):
                raise entry
            yield entry[0]
    finally:
        abandoned.set()
        reader.join()
