"""What became of the columns of a table, as `fit` prints it."""

from __future__ import annotations

from collections.abc import Sequence

from s2oct.cli.messages import print_warning, say
from s2oct.errors import Message
from s2oct.tables.content import FEATURE, ID, ColumnUse
from s2oct.wording import count, plural, printable

_MOST_PLAIN = 20
"""Columns of numbers without anything to say of them that are listed one by one."""

_LONGEST_NAME = 40


def print_columns(uses: Sequence[ColumnUse]) -> None:
    """Print one line for each column: name, role, treatment, and missing values."""
    plain = [use for use in uses if _is_plain(use)]
    hidden = plain[_MOST_PLAIN:]
    shown = [use for use in uses if use not in hidden]
    rows = [("column", "role", "treatment", "missing"), *map(_cells, shown)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        say("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    if hidden:
        print(f"and {plural(len(hidden), 'more column')} of numbers")


def warn_of_columns(uses: Sequence[ColumnUse]) -> None:
    """Print a warning for each column that may not be a feature, with options that help."""
    for use in uses:
        if use.doubt and use.role != ID:
            problem = f"{_short(use.name)} is a feature, but {use.doubt}"
            print_warning(Message(problem, *use.remedies, column=use.name))


def _is_plain(use: ColumnUse) -> bool:
    return use.role == FEATURE and use.treatment == "number" and not use.n_missing and not use.doubt


def _cells(use: ColumnUse) -> tuple[str, str, str, str]:
    missing = f"{count(use.n_missing)}: {use.filling}" if use.n_missing else ""
    return _short(use.name), use.role, printable(" ".join(use.treatment.split())), missing


def _short(name: str) -> str:
    text = printable(name)
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 3]}..."
