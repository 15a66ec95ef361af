"""How the cells of a file are written: delimiter, character encoding, decimal sign and marks of gaps."""

from __future__ import annotations

import csv
from dataclasses import dataclass

from s2oct.errors import InvalidProblem

MISSING = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA"),
    *("NULL", "NaN", "None", "n/a", "nan", "null"),
)
"""Cells that are gaps in every file; pandas reads the same ones as such."""

UTF8 = "utf-8-sig"
"""UTF-8 with or without a byte-order mark, which is no part of the first column's name."""

_DELIMITERS = ",;\t|"


@dataclass(frozen=True)
class Dialect:
    """How the cells of a file are written; only the marks of gaps matter for Parquet.

    Parameters
    ----------
    delimiter : str, optional
        Character between the cells of a CSV file; by default the first lines of the file decide.
    charset : str
        Character encoding of a CSV file, by its Python name.
    decimal : {".", ","}
        Sign before the decimals of a number.
    missing : tuple of str
        Cells that are gaps, in addition to the usual ones.
    """

    delimiter: str | None = None
    charset: str = UTF8
    decimal: str = "."
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n\0'):
            raise InvalidProblem(
                f"Expected a delimiter of one character, no quote and no line end, got {self.delimiter!r}."
            )
        if self.decimal not in (".", ","):
            raise InvalidProblem(f"Expected the decimal sign '.' or ',', got {self.decimal!r}.")
        try:
            " ".encode(self.charset)
        except (LookupError, ValueError) as error:
            raise InvalidProblem(f"Expected an encoding that Python knows, got {self.charset!r}.") from error

    @property
    def charset_name(self) -> str:
        """The character encoding as people call it."""
        return "UTF-8" if self.charset == UTF8 else self.charset

    @property
    def gaps(self) -> tuple[str, ...]:
        """All cells that are gaps."""
        return (*MISSING, *self.missing)


def sniff_delimiter(opening: str) -> str:
    """Find the delimiter that cuts the first lines into equally many cells; of several, the one with most cells."""
    lines = opening.splitlines()[:20]
    best, most = ",", 0.0
    for delimiter in _DELIMITERS:
        widths = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
        # The last line may have been cut off.
        is_regular = len(set(widths[:-1] or widths)) == 1
        if widths and widths[0] > 1 and (widths[0] if is_regular else 0.5) > most:
            best, most = delimiter, widths[0] if is_regular else 1
    return best
