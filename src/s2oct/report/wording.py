"""Numbers and names as the report writes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

NBSP, MINUS = "\N{NO-BREAK SPACE}", "\N{MINUS SIGN}"


def clean(name: Any) -> str:
    """A name on one line, without characters that no page can show."""
    shown = (c if c.isprintable() or c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in str(name))
    return " ".join("".join(shown).split())


def count(number: Any) -> str:
    """A whole number with thousands apart."""
    return f"{int(number):,}"


def percent(share: float, digits: int = 0) -> str:
    """A share in percent; what is not quite all or nothing does not round to it."""
    text = f"{100 * share:.{digits}f}"
    if 0 < share < 1 and text in (f"{0:.{digits}f}", f"{100:.{digits}f}"):
        step = 10.0**-digits
        return f"under {step:g}{NBSP}%" if share < 0.5 else f"over {100 - step:g}{NBSP}%"
    return f"{text}{NBSP}%"


def signed(value: float, digits: int = 0) -> str:
    """A difference with its sign; none where it rounds to nothing."""
    text = f"{abs(value):,.{digits}f}"
    if not text.strip("0."):
        return text
    return f"{'+' if value > 0 else MINUS}{text}"


def plural(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{count(number)} {noun}{'' if number == 1 else 's'}"


def shorten(name: str, most: int = 24) -> str:
    """A name for a small place."""
    return name if len(name) <= most else f"{name[: most - 1]}…"


def measure(value: float) -> str:
    """A value of some feature."""
    text = f"{value:,.0f}" if float(value).is_integer() and abs(value) < 1e15 else f"{value:.4g}"
    return text.replace("-", MINUS)


def listed(items: Sequence[str]) -> str:
    """Items in a sentence: a, b and c."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"


FILTERS: Mapping[str, Callable[..., str]] = {
    "count": count,
    "percent": percent,
    "plural": plural,
    "shorten": shorten,
    "signed": signed,
}
"""What the template calls them."""
