"""Known totals beside what the tree puts there, as `fit` prints them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from s2oct.cli.messages import say
from s2oct.wording import amount, plural, printable

if TYPE_CHECKING:  # it imports numpy, for which no help text should wait
    from s2oct.certificate import Certificate
    from s2oct.certificate.cell import Cell

_MOST = 12
"""Totals that are listed."""

_LONGEST_NAME = 40


def print_cells(certificate: Certificate, classes: Sequence[Any]) -> None:
    """Print a line for each total, the worst first, and where the others are."""
    cells = sorted(certificate.cells, key=lambda cell: -abs(cell.excess))
    margins = list(dict.fromkeys(cell.margin for cell in cells))
    heading = margins[0] or "domain" if len(margins) == 1 else "domain"
    rows = [(heading, "class", "known", "achieved", "off")]
    rows += [_texts(cell, classes, names_margin=len(margins) > 1) for cell in cells[:_MOST]]
    if all(cell.domain == "" for cell in cells):
        rows = [("", *row[1:]) for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        left = [text.ljust(width) for text, width in zip(row[:2], widths, strict=False) if width]
        right = [text.rjust(width) for text, width in zip(row[2:], widths[2:], strict=True)]
        say("  ".join([*left, *right]).rstrip())
    if len(cells) > _MOST:
        print(f"and {plural(len(cells) - _MOST, 'more total')}; the model file and the report have all of them")


def _texts(cell: Cell, classes: Sequence[Any], *, names_margin: bool) -> tuple[str, str, str, str, str]:
    domain = f"{cell.margin} {cell.domain}" if names_margin else cell.domain
    known = amount(cell.low, 6) if cell.low == cell.high else f"{amount(cell.low, 6)} to {amount(cell.high, 6)}"
    known += f" ± {amount(cell.se, 2)} (estimated)" if cell.is_aim else ""
    off = f"{'+' if cell.excess > 0 else ''}{amount(cell.excess, 6)}"
    return _short(domain), _short(classes[cell.class_index]), known, amount(cell.assigned, 6), off


def _short(name: Any) -> str:
    text = printable(name)
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 3]}..."
