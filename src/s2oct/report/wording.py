"""Numbers and names as only the report writes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from s2oct.estimators.fitted import FittedRows
from s2oct.model.features import Feature
from s2oct.wording import amount, count, duration, plural

NBSP, MINUS = "\N{NO-BREAK SPACE}", "\N{MINUS SIGN}"


def clean(name: Any) -> str:
    """A name on one line, without characters that no page can show."""
    shown = (c if c.isprintable() or c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in str(name))
    return " ".join("".join(shown).split())


def with_clean_names(rows: FittedRows) -> FittedRows:
    """The rows with columns, levels and classes that a page can show."""
    return replace(
        rows, features=tuple(map(_with_clean_texts, rows.features)), class_names=tuple(map(clean, rows.class_names))
    )


def _with_clean_texts(feature: Feature) -> Feature:
    return replace(
        feature,
        name=clean(feature.name),
        column=clean(feature.column),
        level=None if feature.level is None else clean(feature.level),
        rest=None if feature.rest is None else clean(feature.rest),
        levels=tuple(map(clean, feature.levels)),
    )


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


def shorten(name: str, most: int = 24) -> str:
    """A name for a small place."""
    return name if len(name) <= most else f"{name[: most - 1]}…"


def measure(value: float) -> str:
    """A value of some feature."""
    return amount(value).replace("-", MINUS)


def rounded(value: float) -> str:
    """A number of rows that need not be whole, to three digits."""
    return amount(value, 3).replace("-", MINUS)


FILTERS: Mapping[str, Callable[..., str]] = {
    "clean": clean,
    "count": count,
    "duration": duration,
    "measure": measure,
    "percent": percent,
    "plural": plural,
    "rounded": rounded,
    "shorten": shorten,
    "signed": signed,
}
"""What the template calls them."""
