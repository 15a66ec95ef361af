"""Divisions of the rows into domains, and the domains that totals name."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray, ObjectArray
from s2oct.errors import InvalidProblem
from s2oct.model.labels import UNLABELED, Labels, marks_missing
from s2oct.model.total_forms import WHOLE, Domains
from s2oct.model.total_tables import Cells, text_of
from s2oct.model.total_values import number_text, numbers_in
from s2oct.wording import brief, listed, plural

_NAMED_AT_MOST = 5
_NO_DOMAIN = -1


@dataclass(frozen=True, eq=False)
class Division:
    """The domain of every row, labeled or not, -1 where a labeled row has none."""

    name: str
    domains: list[Any]
    codes: IntArray

    @property
    def is_whole(self) -> bool:
        """Whether the only domain is the whole table."""
        return self.domains == [WHOLE]

    def where(self, domain: Any) -> str:
        """The domain as messages have it."""
        return "" if self.is_whole else f" in domain {brief(domain)}"

    def sizes(self, of_rows: FloatArray, chosen: BoolArray) -> FloatArray:
        """Rows of each domain among the chosen ones, each counted with its size."""
        rows = chosen & (self.codes != _NO_DOMAIN)
        return np.bincount(self.codes[rows], weights=of_rows[rows], minlength=len(self.domains)).astype(float)

    def labeled_cells(self, labels: Labels, of_rows: FloatArray) -> FloatArray:
        """Labeled rows of each class in each domain, each counted with its size, shape (n_domains, n_classes)."""
        n_domains, n_classes = len(self.domains), len(labels.classes)
        rows = labels.is_labeled & (self.codes != _NO_DOMAIN)
        cell = self.codes[rows] * n_classes + labels.codes[rows]
        counts = np.bincount(cell, weights=of_rows[rows], minlength=n_domains * n_classes)
        return counts.astype(float).reshape(n_domains, n_classes)


def read_divisions(domains: Domains, labels: Labels, *, needs_all: bool) -> list[Division]:
    """Give every row the index of its domain, for each margin; labeled rows need one only if all rows are counted."""
    if not domains:
        return [Division("", [WHOLE], np.zeros(len(labels.codes), dtype=np.int64))]
    return [_divide(name, values, labels, needs_all=needs_all) for name, values in domains]


def _divide(name: str, values: ObjectArray, labels: Labels, *, needs_all: bool) -> Division:
    if len(values) != len(labels.codes):
        raise InvalidProblem(f"Expected one domain per row, got {len(values)} domains for {len(labels.codes)} rows.")
    cells = values.tolist()
    missing = np.fromiter((marks_missing(cell) for cell in cells), dtype=bool, count=len(cells))
    needed = missing if needs_all else missing & (labels.codes == UNLABELED)
    if needed.any():
        which, of = ("row", "all rows") if needs_all else ("unlabeled row", "the unlabeled rows")
        of_margin = f" of {brief(name)}" if name else ""
        raise InvalidProblem(
            f"Expected a domain{of_margin} for {of}, got {plural(int(needed.sum()), which)} without one."
        )
    found = _sorted({cell for cell, is_missing in zip(cells, missing, strict=True) if not is_missing})
    place = {domain: code for code, domain in enumerate(found)}
    codes = [_NO_DOMAIN if is_missing else place[cell] for cell, is_missing in zip(cells, missing, strict=True)]
    return Division(name, found, np.array(codes, dtype=np.int64))


def _sorted(domains: set[Any]) -> list[Any]:
    try:
        return sorted(domains)
    except TypeError:
        return sorted(domains, key=lambda domain: (type(domain).__name__, text_of(domain)))


def matched(cells: Cells, division: Division, name: str, has_unlabeled: BoolArray) -> list[dict[Any, Any]]:
    """What is given for each domain of the rows; refuses domains that rows lack and domains that totals lack."""
    if division.is_whole:
        return [cells[WHOLE]]
    entries: dict[int, dict[Any, Any]] = {}
    places = _places(division.domains)
    for domain, given in cells.items():
        place = _place(domain, places)
        if place is None:
            _refuse_positive(domain, given, division, name)
        elif place in entries:
            raise InvalidProblem(f"Expected {name} of each domain once, got domain {brief(domain)} twice.")
        else:
            entries[place] = given
    unnamed = [d for k, d in enumerate(division.domains) if has_unlabeled[k] and not entries.get(k)]
    if unnamed:
        more = f" and {len(unnamed) - _NAMED_AT_MOST} more" if len(unnamed) > _NAMED_AT_MOST else ""
        shown = [brief(domain) for domain in unnamed[:_NAMED_AT_MOST]]
        raise InvalidProblem(
            f"Expected {name} for every domain of the unlabeled rows, got none for "
            f"{', '.join(shown) + more if more else listed(shown)}."
        )
    return [entries.get(k, {}) for k in range(len(division.domains))]


def _places(domains: Sequence[Any]) -> dict[Any, list[int]]:
    """Where each domain of the rows is, by its type and value and by its text."""
    places: dict[Any, list[int]] = {}
    for place, domain in enumerate(domains):
        places.setdefault((type(domain), domain), []).append(place)
        places.setdefault(text_of(domain), []).append(place)
    return places


def _place(domain: Any, places: dict[Any, list[int]]) -> int | None:
    """The domain of the rows that is meant: the same value, or else the only one with the same text."""
    found = places.get((type(domain), domain)) or places.get(text_of(domain), [])
    return found[0] if len(found) == 1 else None


def _refuse_positive(domain: Any, given: dict[Any, Any], division: Division, name: str) -> None:
    """A domain that no row has can have no rows of any class."""
    positive = [
        (label, min(found)) for label, total in given.items() if (found := numbers_in(total)) and min(found) > 0
    ]
    if not positive:
        return
    label, number = positive[0]
    by_text = {text_of(known).lower(): known for known in division.domains}
    close = difflib.get_close_matches(text_of(domain).lower(), list(by_text), n=1)
    hint = f" Did you mean {brief(by_text[close[0]])}?" if close else ""
    raise InvalidProblem(
        f"Expected {name} of domains that rows have, got a total of {number_text(number)} of class {brief(label)} in "
        f"domain {brief(domain)}, an empty domain with a positive total.{hint}"
    )
