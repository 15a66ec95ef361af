"""The dialect of a file, given or detected: delimiter, encoding, decimal sign, missing values."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow.compute as pc

from s2oct.errors import InvalidProblem

MISSING = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA"),
    *("NULL", "NaN", "None", "n/a", "nan", "null"),
)
"""Default marks of missing values, the same as in pandas."""

UTF8, UTF8_MARKED = "utf-8", "utf-8-sig"
"""UTF-8 without and with a byte-order mark."""


def is_unicode(text: str) -> bool:
    """Whether a text can be encoded; undecodable bytes from a shell arrive as surrogates."""
    return not any("\ud800" <= sign <= "\udfff" for sign in text)


@dataclass(frozen=True)
class Dialect:
    """The notation of the cells of a file; only missing values and the decimal sign apply to a Parquet file.

    `Source.dialect` detects the values of fields that are None.

    Parameters
    ----------
    delimiter : str, optional
        Delimiter of a CSV file.
    charset : str, optional
        Character encoding of a CSV file, by its Python name.
    decimal : {".", ","}, optional
        Decimal sign of numbers.
    missing : tuple of str
        Marks of missing values in addition to the default ones; if one of them is empty, instead of the default ones.
    typed : bool
        Whether the columns have reliable types. In CSV and Excel files, text can be a number.
    """

    delimiter: str | None = None
    charset: str | None = None
    decimal: str | None = None
    missing: tuple[str, ...] = ()
    typed: bool = False

    def __post_init__(self) -> None:
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n\0'):
            raise InvalidProblem(
                f"Expected a delimiter of one character that is not a quote or a line end, got {self.delimiter!r}."
            )
        if self.delimiter is not None and not self.delimiter.isascii():
            raise InvalidProblem(f"Expected a delimiter that is an ASCII character, got {self.delimiter!r}.")
        if self.decimal not in (".", ",", None):
            raise InvalidProblem(f"Expected the decimal sign '.' or ',', got {self.decimal!r}.")
        for mark in self.missing:
            if not is_unicode(mark):
                raise InvalidProblem(f"Expected marks of missing values that are text, got {mark!r}.")
        if self.charset is not None:
            try:
                " ".encode(self.charset)
            except (LookupError, ValueError) as error:
                raise InvalidProblem(f"Expected an encoding that Python knows, got {self.charset!r}.") from error

    @property
    def codec(self) -> str:
        """The Python codec that reads the file and removes a byte-order mark."""
        charset = codecs.lookup(self.charset or UTF8).name
        return UTF8_MARKED if charset == UTF8 else charset

    @property
    def charset_name(self) -> str:
        """The usual name of the character encoding."""
        return "UTF-8" if self.codec == UTF8_MARKED else str(self.charset)

    @property
    def gaps(self) -> tuple[str, ...]:
        """All marks of missing values."""
        return self.missing if "" in self.missing else (*MISSING, *self.missing)


IN_MEMORY = Dialect(missing=("",), typed=True)
"""The dialect of pandas, polars and Arrow tables: columns have types, and only empty text is a missing value."""


_DELIMITERS = ",;\t|"

_MARKS = (
    (codecs.BOM_UTF8, UTF8_MARKED),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""Byte-order marks; those of UTF-32 come first, because they start with those of UTF-16."""

_NOT_CONTROL = bytes(code for code in range(256) if code >= 32 or code in b"\t\n\r\f\x1a")
_POSSIBLE_IN_LATIN = bytes(code for code in range(256) if not 0x80 <= code < 0xA0)
_POSSIBLE_IN_WINDOWS = bytes(code for code in range(256) if code not in b"\x81\x8d\x8f\x90\x9d")

_INTEGER_OR_POINT = r"^[-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?$"
_INTEGER_OR_COMMA = r"^[-+]?[0-9]*,?[0-9]+(?:[eE][-+]?[0-9]+)?$"
_THOUSANDS = r"^[-+]?[0-9]{1,3}(?:,[0-9]{3})+$"


class Transcoder:
    """Converts the bytes of a file to UTF-8 and detects their character encoding.

    A byte-order mark decides. Without one, the first bytes that are not ASCII decide: if they are valid UTF-8, so is
    the file; otherwise it has the ``default`` encoding or, without one, the one-byte encoding of western Europe. UTF-8
    and bytes that are not text are passed on unchanged; the reader checks them.

    Parameters
    ----------
    charset : str, optional
        The character encoding, if known.
    default : str, optional
        The default character encoding of such files.

    Attributes
    ----------
    charset : str
        The character encoding detected so far.
    """

    def __init__(self, charset: str | None = None, default: str | None = None) -> None:
        self.charset = charset or default or UTF8
        self._default = default
        self._is_text = True
        self._pending = b""
        self._convert = self._begin if charset is None else _converter(charset)

    def utf8(self, part: bytes, is_last: bool = False) -> bytes:
        """Convert the next part of the file to UTF-8."""
        return self._convert(part, is_last)

    def _begin(self, part: bytes, is_last: bool) -> bytes:
        marked = [charset for mark, charset in _MARKS if part.startswith(mark)]
        if marked:
            return self._switch(marked[0], part, is_last)
        if len(" ".encode(self.charset).removeprefix(codecs.BOM_UTF8)) > 1:
            # Zero bytes between letters are the only sign of a multibyte encoding.
            if b"\0" in part:
                return self._switch(self.charset, part, is_last)
            self.charset, self._default = UTF8, None
        self._convert = self._decide
        return self._decide(part, is_last)

    def _decide(self, part: bytes, is_last: bool) -> bytes:
        part, self._pending = self._pending + part, b""
        self._is_text = self._is_text and not part.translate(None, _NOT_CONTROL)
        if part.isascii():
            return part
        try:
            _, n_read = codecs.utf_8_decode(part, "strict", is_last)
        except UnicodeDecodeError:
            if self._default is not None and codecs.lookup(self._default).name not in (UTF8, UTF8_MARKED):
                return self._switch(self._default, part, is_last)
            if not self._is_text:
                return self._switch(UTF8, part, is_last)
            self.charset, self._convert = "latin-1", self._western
            return self._western(part, is_last)
        if part[:n_read].isascii():
            # The last byte may start a character in UTF-8, or be a complete one in another encoding.
            self._pending = part[n_read:]
            return part[:n_read]
        return self._switch(UTF8, part, is_last)

    def _switch(self, charset: str, part: bytes, is_last: bool) -> bytes:
        self.charset, self._convert = charset, _converter(charset)
        return self._convert(part, is_last)

    def _western(self, part: bytes, is_last: bool) -> bytes:
        if part.translate(None, _POSSIBLE_IN_WINDOWS) or (part.translate(None, _NOT_CONTROL) and not part.isascii()):
            return self._switch(UTF8, part, is_last)
        if part.translate(None, _POSSIBLE_IN_LATIN):
            self.charset = "cp1252"
        return part.decode(self.charset).encode()


def _converter(charset: str) -> Callable[[bytes, bool], bytes]:
    """Return a function that converts parts in a known encoding to UTF-8."""
    codec = codecs.lookup(charset).name
    if codec in (UTF8, UTF8_MARKED):
        return lambda part, is_last: part
    decoder = codecs.getincrementaldecoder(codec)()
    return lambda part, is_last: decoder.decode(part, is_last).encode()


def detect_delimiter(opening: str, default: str | None = None) -> str:
    """Detect the delimiter that splits each of the first lines into the same number of cells, and into the most cells.

    The ``default`` delimiter has priority if it splits all lines into the same number of cells.
    """
    lines = opening.splitlines()[:20]
    best, most = ",", 0.0
    for delimiter in dict.fromkeys([*filter(None, [default]), *_DELIMITERS]):
        widths = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
        # The last line may be truncated.
        is_regular = len(set(widths[:-1] or widths)) == 1
        if widths and widths[0] > 1 and (widths[0] if is_regular else 0.5) > most:
            best, most = delimiter, widths[0] if is_regular else 1
            if delimiter == default and is_regular:
                break
    return best


def detect_decimal(columns: Iterable[Any], delimiter: str | None) -> str:
    """Detect the decimal sign of text columns: a comma if some numbers have one and none has a point.

    In a comma-delimited file, 1,234 in quotes has a thousands separator, not a decimal comma.
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
