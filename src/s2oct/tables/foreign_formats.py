"""Files of other programs, recognised by their first bytes, and how to save each of them as CSV."""

from __future__ import annotations

from pathlib import Path

from s2oct.errors import InvalidProblem

_HEAD, _TAIL = 128, 2**16
"""Bytes at the beginning and at the end of a file that are looked at; a zip archive lists its entries at the end."""

_ZIP, _GZIP, _PARQUET = b"PK\x03\x04", b"\x1f\x8b", b"PAR1"
_OPEN_DOCUMENT = b"mimetypeapplication/vnd.oasis.opendocument"
_SAS = bytes(12) + bytes.fromhex("c2ea8160b31411cfbd92080009c7318c")
_OLD_STATA = {bytes([release, order, 1, 0]) for release in (113, 114, 115) for order in (1, 2)}

_EXCEL = "an Excel file, which s2oct cannot read", "in Excel, save it with File > Save As as “CSV UTF-8”"
_SPSS = "an SPSS file, which s2oct cannot read", "in SPSS, export it with File > Export > CSV Data"
_FORMATS = (
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", _EXCEL),
    (b"$FL2@(#)", _SPSS),
    (b"$FL3@(#)", _SPSS),
    (b"<stata_dta>", ("a Stata file, which s2oct cannot read", "in Stata, run export delimited using table.csv")),
    (_SAS, ("a SAS file, which s2oct cannot read", "in SAS, export it with proc export and dbms=csv")),
)
"""Signatures, each with the name of its format and the way to CSV."""


def refuse_foreign_formats(path: Path, called: str | None = None) -> None:
    """Refuse a file of another program, or one whose suffix hides its format.

    Parameters
    ----------
    path : Path
        The file.
    called : str, optional
        What the user calls the file; its path otherwise.
    """
    found = _format_of(path)
    if found is not None:
        name, remedy = found
        raise InvalidProblem(f"{(called or str(path))!r} is {name}: {remedy}.")


def _format_of(path: Path) -> tuple[str, str] | None:
    """The format and the way to CSV; None for a file that can be read as its suffix says."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
        file.seek(max(path.stat().st_size - _TAIL, 0))
        tail = file.read(_TAIL) if head.startswith(_ZIP) else b""
    if head.startswith(_ZIP):
        return _kind_of_zip(head, tail)
    if head[:4] in _OLD_STATA:
        head = b"<stata_dta>"
    for signature, found in _FORMATS:
        if head.startswith(signature):
            return found
    suffix = path.suffix.lower()
    if head.startswith(_PARQUET) and suffix not in (".parquet", ".pq"):
        return "a Parquet file with another suffix", "rename it so that its name ends in .parquet"
    if head.startswith(_GZIP) and suffix != ".gz":
        return "a gzip file with another suffix", "rename it so that its name ends in .gz"
    return None


def _kind_of_zip(head: bytes, tail: bytes) -> tuple[str, str]:
    if b"xl/" in tail:
        return _EXCEL
    if head[30:].startswith(_OPEN_DOCUMENT):
        return (
            "an OpenDocument spreadsheet, which s2oct cannot read",
            "in LibreOffice, save it with File > Save As as “Text CSV”",
        )
    return "a zip archive, which s2oct cannot read", "unpack it, and use the CSV or Parquet file inside"
