"""Numbers and names in the format of the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from s2oct.estimators.fitted import FittedRows
from s2oct.trees.features import Feature, columns_of, renamed
from s2oct.wording import amount, duration, plural

NBSP, MINUS = "\N{NO-BREAK SPACE}", "\N{MINUS SIGN}"


def clean(name: Any) -> str:
    """Return a name on one line, without characters that a page cannot show."""
    shown = (c if c.isprintable() or c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in str(name))
    return " ".join("".join(shown).split())


def with_clean_names(rows: FittedRows) -> FittedRows:
    """Return the rows with names of columns, levels and classes that a page can show."""
    columns = _cleaned(columns_of(rows.features))
    features = renamed(rows.features, list(columns.values()))
    of_column: dict[str, list[str | None]] = {}
    for feature in features:
        of_column.setdefault(feature.column, []).extend([feature.level, feature.rest, feature.missing, *feature.levels])
    words = {column: _cleaned(texts) for column, texts in of_column.items()}
    return replace(
        rows,
        features=tuple(_with_words(feature, words[feature.column]) for feature in features),
        class_names=tuple(map(clean, rows.class_names)),
    )


def _cleaned(names: Iterable[str | None]) -> dict[str | None, str]:
    """Map each name to one that a page can show; distinct names stay distinct, because rules refer to them."""
    found: dict[str | None, str] = {}
    for name in dict.fromkeys(name for name in names if name is not None):
        shown = clean(name)
        same = sum(clean(other) == shown for other in found)
        found[name] = f"{shown} ({same + 1})" if same else shown
    return found


def _with_words(feature: Feature, words: Mapping[str | None, str]) -> Feature:
    return replace(
        feature,
        name=clean(feature.name),
        level=words.get(feature.level),
        rest=words.get(feature.rest),
        missing=words.get(feature.missing),
        levels=tuple(words[level] for level in feature.levels),
    )


def percent(share: float, digits: int = 0) -> str:
    """Format a share in percent; a share that is not exactly 0 or 1 does not round to it."""
    text = f"{100 * share:.{digits}f}"
    if 0 < share < 1 and text in (f"{0:.{digits}f}", f"{100:.{digits}f}"):
        step = 10.0**-digits
        return f"under {step:g}{NBSP}%" if share < 0.5 else f"over {100 - step:g}{NBSP}%"
    return f"{text}{NBSP}%"


def signed(value: float, digits: int = 0) -> str:
    """Format a difference with its sign; without sign if it rounds to 0."""
    text = f"{abs(value):,.{digits}f}"
    if not text.strip("0."):
        return text
    return f"{'+' if value > 0 else MINUS}{text}"


def measure(value: float, digits: int = 4) -> str:
    """Format a value of a feature or a number of rows, with a proper minus sign."""
    return amount(value, digits).replace("-", MINUS)


FILTERS: Mapping[str, Callable[..., str]] = {
    "clean": clean,
    "duration": duration,
    "measure": measure,
    "percent": percent,
    "plural": plural,
    "signed": signed,
}
"""Names of the filters in the template."""
