"""Numbers and names as only the report writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from s2oct.estimators.fitted import FittedRows
from s2oct.trees.features import Feature, columns_of, renamed
from s2oct.wording import amount, count, duration, plural

NBSP, MINUS = "\N{NO-BREAK SPACE}", "\N{MINUS SIGN}"


def clean(name: Any) -> str:
    """A name on one line, without characters that no page can show."""
    shown = (c if c.isprintable() or c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in str(name))
    return " ".join("".join(shown).split())


def with_clean_names(rows: FittedRows) -> FittedRows:
    """The rows with columns, levels and classes that a page can show."""
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
    """Each name as a page can show it; different names stay different, because rules tell columns by them."""
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
