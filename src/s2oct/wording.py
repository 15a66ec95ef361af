"""Numbers and lists formatted for sentences in messages, on the console and on pages."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence

_LARGEST_WRITTEN_OUT = 1e15
"""From this size, a float has no digits after the decimal point, and its last digits are meaningless."""
_MOST_DECIMALS = 12


def amount(value: float, digits: int = 4) -> str:
    """Format a number to ``digits`` digits, with thousands separators and no exponent: 21,870 and 0.0123."""
    size = abs(value)
    if not math.isfinite(size) or size >= _LARGEST_WRITTEN_OUT:
        return f"{value:.{digits}g}"
    if float(value).is_integer():
        return f"{value:,.0f}"
    decimals = min(max(digits - 1 - math.floor(math.log10(size)), 0), _MOST_DECIMALS)
    text = f"{value:,.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def percentage(share: float, digits: int = 0) -> str:
    """Format a share in percent: 81 %."""
    return f"{100 * share:.{digits}f} %"


def plural(number: float, noun: str, nouns: str | None = None) -> str:
    """Format a number with its noun: 1 row, 2 rows; ``nouns`` is an irregular plural."""
    return f"{amount(number)} {noun if number == 1 else nouns or f'{noun}s'}"


def printable(text: object) -> str:
    r"""Escape line ends and terminal control characters in a name: a line end is \n, an escape is \x1b."""
    return "".join(c if _is_harmless(c) else c.encode("unicode_escape").decode() for c in str(text))


def _is_harmless(character: str) -> bool:
    return character.isprintable() or unicodedata.category(character) == "Zs"


def listed(items: Sequence[str]) -> str:
    """Join items with "and": a, b and c."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"


def aligned(rows: Sequence[Sequence[str]], n_left: int = 1) -> list[str]:
    """Return the lines of a text table without empty columns; the first ``n_left`` columns are left-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if place < n_left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            if width
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def alternatives(items: Sequence[str]) -> str:
    """Join items with "or": a, b or c."""
    return " or ".join([part for part in (", ".join(items[:-1]), *items[-1:]) if part])


def brief(value: object, most: int = 60) -> str:
    """Return the repr of a value on one line, truncated if long; Python refuses to write very long integers."""
    try:
        text = repr(value)
    except ValueError:
        return "a number of thousands of digits"
    if "\n" in text:  # arrays and tables
        text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 3]}..."


def duration(seconds: float) -> str:
    """Format seconds with as many decimals as are useful."""
    return f"{seconds:,.{1 if seconds >= 0.1 else 2}f} s"
