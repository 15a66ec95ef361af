"""The formats of tables in files, recognised by their first bytes, whatever their names end with."""

from __future__ import annotations

from enum import Enum
from pathlib import Path

from s2oct.errors import InvalidProblem

_TAIL = 2**16
"""Bytes at the end of a zip archive that are looked at: its entries are listed there."""

_ZIP, GZIP, _OPEN_DOCUMENT = b"PK\x03\x04", b"\x1f\x8b", b"mimetypeapplication/vnd.oasis.opendocument"


class Format(Enum):
    """The format of a table in a file; the value is its name."""

    CSV = "CSV"
    PARQUET = "Parquet"
    ARROW = "Arrow"
    EXCEL = "Excel"
    SPSS = "SPSS"
    STATA = "Stata"
    SAS = "SAS"

    @property
    def is_typed(self) -> bool:
        """Whether the types of its columns say what they hold; cells of a sheet hold what somebody typed."""
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
"""How names of files of each format end."""

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

_OLD_EXCEL = (
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
    "an Excel file that is in the old format (.xls) or needs a password",
    "in Excel, save it without a password with File > Save As as “Excel Workbook (.xlsx)” or “CSV UTF-8”",
)


def format_of(path: Path, head: bytes, called: str) -> Format:
    """Find the format of a file: its content says it or, without a signature, its name; otherwise it is CSV.

    Files of other programs that cannot be read are refused with the way to a format that can.

    Parameters
    ----------
    path : Path
        The file.
    head : bytes
        Its first bytes, 128 of them if it has so many.
    called : str
        What messages call it.
    """
    for signature, found in _SIGNATURES:
        if head.startswith(signature):
            return found
    if head.startswith(_ZIP) and b"xl/" in _tail(path):
        return Format.EXCEL
    _refuse_others(head, called)
    suffix = path.suffix.lower()
    return next((found for found, suffixes in SUFFIXES.items() if suffix in suffixes), Format.CSV)


def _tail(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - _TAIL, 0))
        return file.read(_TAIL)


def _refuse_others(head: bytes, called: str) -> None:
    signature, name, remedy = _OLD_EXCEL
    if head.startswith(signature):
        raise InvalidProblem(f"{called!r} is {name}: {remedy}.")
    if head.startswith(_ZIP) and head[30:].startswith(_OPEN_DOCUMENT):
        raise InvalidProblem(
            f"{called!r} is an OpenDocument spreadsheet, which s2oct cannot read: in LibreOffice, save it with "
            "File > Save As as “Text CSV” or as “Excel 2007-365 (.xlsx)”."
        )
    if head.startswith(_ZIP):
        raise InvalidProblem(
            f"{called!r} is a zip archive, which s2oct cannot read: unpack it, and use the table inside."
        )
