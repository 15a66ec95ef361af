"""Numbers as the report of the study writes them; a dash for a missing number."""

from __future__ import annotations

from collections.abc import Callable, Mapping

MINUS, NOTHING, NARROW_SPACE = "\N{MINUS SIGN}", "\N{EN DASH}", "\N{NARROW NO-BREAK SPACE}"


def difference(value: float | None) -> str:
    """A difference with its sign."""
    return NOTHING if value is None else f"{value:+.3f}".replace("-", MINUS)


def fixed(value: float | None) -> str:
    """A measure with three decimals."""
    return NOTHING if value is None else f"{value:.3f}".replace("-", MINUS)


def share(value: float | None) -> str:
    """A share in whole percent."""
    return NOTHING if value is None else f"{value:.0%}"


def seconds(value: float | None) -> str:
    """A time, with milliseconds below one second."""
    if value is None:
        return NOTHING
    return f"{value:.3f}" if value < 1 else f"{value:.1f}"


def thousands(value: int) -> str:
    """A whole number, its thousands separated by a space, which reads the same in every language."""
    return f"{value:,}".replace(",", NARROW_SPACE)


FILTERS: Mapping[str, Callable[..., str]] = {
    "signed": difference,
    "fixed": fixed,
    "percent": share,
    "seconds": seconds,
    "whole": thousands,
}
"""What the template calls them."""
