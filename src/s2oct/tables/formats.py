"""File formats: detection, the optional packages that read them, and limits on their size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from s2oct.errors import InvalidProblem, MissingExtra

_TAIL = 2**16
"""Number of bytes read at the end of a zip archive, where its entries are listed."""

_ZIP, GZIP, _OLD_EXCEL = b"PK\x03\x04", b"\x1f\x8b", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OPEN_DOCUMENT = b"mimetypeapplication/vnd.oasis.opendocument"


class Format(Enum):
    """The format of a table in a file; the value is the format's name."""

    CSV = "CSV"
    PARQUET = "Parquet"
    ARROW = "Arrow"
    EXCEL = "Excel"
    SPSS = "SPSS"
    STATA = "Stata"
    SAS = "SAS"

    @property
    def is_typed(self) -> bool:
        """Whether its columns have reliable types; cells of a sheet hold whatever was typed."""
        return self not in (Format.CSV, Format.EXCEL)


SUFFIXES = {
    Format.CSV: (".csv", ".tsv", ".txt", ".tab", ".csv.gz", ".tsv.gz", ".txt.gz", ".gz"),
    Format.PARQUET: (".parquet", ".pq"),
    Format.ARROW: (".arrow", ".feather", ".arrows"),
    Format.EXCEL: (".xlsx", ".xlsm"),
    Format.SPSS: (".sav", ".zsav"),
    Format.STATA: (".dta",),
    Format.SAS: (".sas7bdat", ".xpt"),
}
"""File suffixes of each format."""

_SIGNATURES = (
    (GZIP, Format.CSV),
    (b"PAR1", Format.PARQUET),
    (b"ARROW1\0\0", Format.ARROW),
    (b"\xff\xff\xff\xff", Format.ARROW),
    (b"$FL2@(#)", Format.SPSS),
    (b"$FL3@(#)", Format.SPSS),
    (b"<stata_dta>", Format.STATA),
    *((bytes([release, order, 1, 0]), Format.STATA) for release in range(104, 116) for order in (1, 2)),
    (bytes(12) + bytes.fromhex("c2ea8160b31411cfbd92080009c7318c"), Format.SAS),
    (b"HEADER RECORD*******LIB", Format.SAS),
)


def format_of(path: Path, head: bytes, name: str) -> Format:
    """Detect the format of a file from its content or, without a signature, from its name; the default is CSV.

    Unsupported formats of other programs are refused with advice on how to convert them.

    Parameters
    ----------
    path : Path
        The file.
    head : bytes
        Its first 128 bytes, or all of them if it is shorter.
    name : str
        Its name in messages.
    """
    for signature, found in _SIGNATURES:
        if head.startswith(signature):
            return found
    if head.startswith(_ZIP) and b"xl/" in _tail(path):
        return Format.EXCEL
    _refuse_others(head, name)
    suffix = path.suffix.lower()
    return next((found for found, suffixes in SUFFIXES.items() if suffix in suffixes), Format.CSV)


def _tail(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - _TAIL, 0))
        return file.read(_TAIL)


def _refuse_others(head: bytes, name: str) -> None:
    if head.startswith(_OLD_EXCEL):
        raise InvalidProblem(
            f"{name!r} is an Excel file that is in the old format (.xls) or needs a password: in Excel, save it "
            "without a password with File > Save As as “Excel Workbook (.xlsx)” or “CSV UTF-8”."
        )
    if head.startswith(_ZIP) and head[30:].startswith(_OPEN_DOCUMENT):
        raise InvalidProblem(
            f"{name!r} is an OpenDocument spreadsheet, which s2oct cannot read: in LibreOffice, save it with "
            "File > Save As as “Text CSV” or as “Excel 2007-365 (.xlsx)”."
        )
    if head.startswith(_ZIP):
        raise InvalidProblem(
            f"{name!r} is a zip archive, which s2oct cannot read: unpack it, and use the table inside."
        )


@dataclass(frozen=True, eq=False)
class OpenedFile:
    """A table in a file whose reader has found its columns.

    Parameters
    ----------
    header : list of str
        Names of the columns.
    blocks : callable
        Yields all rows, in the blocks in which the file has them.
    n_rows : int, optional
        Number of rows, if it is known before they are read.
    row_groups : sequence of int
        Number of rows of each row group of a Parquet file.
    variable_labels : mapping of str to str
        Descriptions of columns in a file of a statistics program.
    """

    header: list[str]
    blocks: Callable[[], Iterator[Any]]
    n_rows: int | None = None
    row_groups: Sequence[int] = ()
    variable_labels: Mapping[str, str] = field(default_factory=dict)


_READERS = {
    Format.EXCEL: ("python_calamine", "python-calamine"),
    Format.SPSS: ("pyreadstat", "pyreadstat"),
    Format.STATA: ("pyreadstat", "pyreadstat"),
    Format.SAS: ("pyreadstat", "pyreadstat"),
}
"""The module that reads each format, and the package that provides it."""

FOREIGN = frozenset(_READERS)
"""Formats whose readers are extras."""


def reader_of(kind: Format) -> Any:
    """Import the module that reads a format."""
    module, package = _READERS[kind]
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra(
            f"{kind.value} files need {package}, which is not installed: run pip install {package}."
        ) from error


@contextmanager
def damage_reported(kind: Format, name: str, errors: tuple[type[Exception], ...]) -> Iterator[None]:
    """Replace a library's error about a damaged file by one sentence; operating system errors pass through."""
    try:
        yield
    except MemoryError as error:
        raise InvalidProblem(
            f"The {kind.value} file {name!r} asks for more memory than there is: it is too large or damaged."
        ) from error
    except errors as error:
        if isinstance(error, InvalidProblem) or (isinstance(error, OSError) and error.errno is not None):
            raise
        article = "an" if kind in (Format.ARROW, Format.EXCEL, Format.SPSS) else "a"
        raise InvalidProblem(
            f"The {kind.value} file {name!r} is damaged, or is not {article} {kind.value} file."
        ) from error


class TooLarge(InvalidProblem):
    """A file is larger than its reader accepts."""


@dataclass(frozen=True)
class ReadingLimit:
    """The largest table that a reader accepts.

    Parameters
    ----------
    n_bytes : int
        Maximum decompressed bytes of the file, and of the table in memory.
    n_cells : int
        Maximum number of cells. Millions of empty cells take few bytes in a file, but many in memory.
    """

    n_bytes: int
    n_cells: int

    def bounded_parts(self, parts: Iterable[bytes]) -> Iterator[bytes]:
        """Yield parts of a file; refuse to continue beyond the limit."""
        n_bytes = 0
        for part in parts:
            n_bytes += len(part)
            self.refuse_bytes(n_bytes)
            yield part

    def bounded_batches(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield batches of a table; refuse to continue beyond the limit."""
        n_bytes = n_cells = 0
        for batch in batches:
            n_bytes += sum(map(_unpacked_size, batch.columns))
            n_cells += batch.num_rows * batch.num_columns
            self.refuse_cells(n_cells)
            self.refuse_bytes(n_bytes)
            yield batch

    def refuse_cells(self, n_cells: int) -> None:
        """Refuse a table with more cells than the limit."""
        if n_cells > self.n_cells:
            raise TooLarge(
                f"The table has more than {self.n_cells:,} cells, the limit here: leave out rows or columns, or fit it "
                "on the command line."
            )

    def refuse_bytes(self, n_bytes: int) -> None:
        """Refuse a file or table with more bytes than the limit."""
        if n_bytes > self.n_bytes:
            raise TooLarge(
                f"The file has more than {self.n_bytes:,} bytes when unpacked, the limit here: leave out rows or "
                "columns, or fit it on the command line."
            )


def _unpacked_size(column: Any) -> int:
    """Return the bytes of a column once values replace its dictionary codes: short codes can stand for long texts."""
    kind = column.type
    if not pa.types.is_dictionary(kind) or pa.types.is_primitive(kind.value_type):
        return int(column.nbytes)
    lengths = [pc.binary_length(chunk.dictionary).take(chunk.indices) for chunk in column.chunks]
    return sum(pc.sum(part).as_py() or 0 for part in lengths)
