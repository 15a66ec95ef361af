"""How a file is written, found out from its bytes and cells: character encoding, delimiter and decimal sign."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterable
from typing import Any

import pyarrow.compute as pc

from s2oct.tables.dialect import UTF8, UTF8_MARKED

_DELIMITERS = ",;\t|"

_MARKS = (
    (codecs.BOM_UTF8, UTF8_MARKED),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""Byte-order marks; those of UTF-32 begin with those of UTF-16."""

_NOT_CONTROL = bytes(code for code in range(256) if code >= 32 or code in b"\t\n\r\f\x1a")
_WINDOWS_ONLY = bytes(range(0x80, 0xA0))
_NOT_EVEN_WINDOWS = bytes([0x81, 0x8D, 0x8F, 0x90, 0x9D])

_INTEGER_OR_POINT = r"^[-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?$"
_INTEGER_OR_COMMA = r"^[-+]?[0-9]*,?[0-9]+(?:[eE][-+]?[0-9]+)?$"
_THOUSANDS = r"^[-+]?[0-9]{1,3}(?:,[0-9]{3})+$"


def detect_charset(parts: Iterable[bytes], usual: str | None = None) -> str:
    """Find the character encoding of a file from its bytes.

    A byte-order mark decides. Bytes that are all UTF-8 are UTF-8. Otherwise the file is in the ``usual`` encoding or,
    if none is known, in the one-byte encoding of western Europe. Bytes that are no text are called UTF-8, too, and
    the reader then refuses them.
    """
    decoder = codecs.getincrementaldecoder(UTF8)()
    is_ascii, is_utf8, is_text, seen = True, True, True, set[int]()
    for i, part in enumerate(parts):
        marked = [charset for mark, charset in _MARKS if i == 0 and part.startswith(mark)]
        if marked:
            return marked[0]
        is_text = is_text and not part.translate(None, _NOT_CONTROL)
        if not part.isascii():
            is_ascii = False
            seen.update(part.translate(None, bytes(range(0x80))))
        try:
            decoder.decode(part)
        except UnicodeDecodeError:
            is_utf8 = False
    if is_ascii or not is_utf8:
        return usual or _western(seen, is_text)
    return UTF8


def _western(seen: set[int], is_text: bool) -> str:
    if not seen or not is_text or seen.intersection(_NOT_EVEN_WINDOWS):
        return UTF8
    return "cp1252" if seen.intersection(_WINDOWS_ONLY) else "latin-1"


def detect_delimiter(opening: str, usual: str | None = None) -> str:
    """Find the delimiter that cuts the first lines into equally many cells; of several, the one with most cells.

    The ``usual`` one is taken wherever it cuts the lines into equally many cells.
    """
    lines = opening.splitlines()[:20]
    best, most = ",", 0.0
    for delimiter in dict.fromkeys([*filter(None, [usual]), *_DELIMITERS]):
        widths = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
        # The last line may have been cut off.
        is_regular = len(set(widths[:-1] or widths)) == 1
        if widths and widths[0] > 1 and (widths[0] if is_regular else 0.5) > most:
            best, most = delimiter, widths[0] if is_regular else 1
            if delimiter == usual and is_regular:
                break
    return best


def detect_decimal(columns: Iterable[Any], delimiter: str | None) -> str:
    """Find the decimal sign of columns of text without their gaps: a comma where nothing speaks for a point.

    Between commas, 1,234 in quotes is a number with thousands apart. It is no evidence for a decimal comma.
    """
    has_commas = False
    for column in columns:
        cells = pc.utf8_trim_whitespace(column).drop_null()
        if _are(cells, _INTEGER_OR_POINT) and _any_has(cells, "."):
            return "."
        if _are(cells, _INTEGER_OR_COMMA) and _any_has(cells, ","):
            with_commas = cells.filter(pc.match_substring(cells, ","))
            has_commas = has_commas or delimiter != "," or not _are(with_commas, _THOUSANDS)
    return "," if has_commas else "."


def _are(cells: Any, pattern: str) -> bool:
    return bool(len(cells) and pc.all(pc.match_substring_regex(cells, pattern)).as_py())


def _any_has(cells: Any, sign: str) -> bool:
    return bool(pc.any(pc.match_substring(cells, sign)).as_py())
