"""How the cells of a file are written: delimiter, character encoding, decimal sign and marks of gaps."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from s2oct.errors import InvalidProblem

MISSING = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA"),
    *("NULL", "NaN", "None", "n/a", "nan", "null"),
)
"""Cells that are gaps unless somebody names others; pandas reads the same ones as such."""

UTF8, UTF8_MARKED = "utf-8", "utf-8-sig"
"""UTF-8 without and with a byte-order mark at the beginning of the file."""


def is_unicode(text: str) -> bool:
    """Whether files can hold a text; bytes of a shell that are no text arrive as parts of characters."""
    return not any("\ud800" <= sign <= "\udfff" for sign in text)


@dataclass(frozen=True)
class Dialect:
    """How the cells of a file are written; only the marks of gaps and the decimal sign of text matter for Parquet.

    What is None is not known, and `Source.dialect` detects it.

    Parameters
    ----------
    delimiter : str, optional
        Character between the cells of a CSV file.
    charset : str, optional
        Character encoding of a CSV file, by its Python name.
    decimal : {".", ","}, optional
        Sign before the decimals of a number.
    missing : tuple of str
        Cells that are gaps, in addition to the usual ones; with an empty one among them, instead of the usual ones.
    typed : bool
        Whether the types of the columns say what they hold. Otherwise, as in CSV and Excel files, text can be a number.
    """

    delimiter: str | None = None
    charset: str | None = None
    decimal: str | None = None
    missing: tuple[str, ...] = ()
    typed: bool = False

    def __post_init__(self) -> None:
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n\0'):
            raise InvalidProblem(
                f"Expected a delimiter of one character, no quote and no line end, got {self.delimiter!r}."
            )
        if self.delimiter is not None and not self.delimiter.isascii():
            raise InvalidProblem(f"Expected a delimiter that is an ASCII character, got {self.delimiter!r}.")
        if self.decimal not in (".", ",", None):
            raise InvalidProblem(f"Expected the decimal sign '.' or ',', got {self.decimal!r}.")
        for mark in self.missing:
            if not is_unicode(mark):
                raise InvalidProblem(f"Expected marks of gaps that are text, got {mark!r}.")
        if self.charset is not None:
            try:
                " ".encode(self.charset)
            except (LookupError, ValueError) as error:
                raise InvalidProblem(f"Expected an encoding that Python knows, got {self.charset!r}.") from error

    @property
    def codec(self) -> str:
        """The Python codec that reads the file; a byte-order mark is no part of the first column's name."""
        charset = codecs.lookup(self.charset or UTF8).name
        return UTF8_MARKED if charset == UTF8 else charset

    @property
    def charset_name(self) -> str:
        """The character encoding as people call it."""
        return "UTF-8" if self.codec == UTF8_MARKED else str(self.charset)

    @property
    def gaps(self) -> tuple[str, ...]:
        """All cells that are gaps."""
        return self.missing if "" in self.missing else (*MISSING, *self.missing)


IN_MEMORY = Dialect(missing=("",), typed=True)
"""The dialect of pandas, polars and Arrow tables: their columns have types, and only an empty text is a gap."""
