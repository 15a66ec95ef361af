"""Tables of totals: one row for each domain and one column for each class, or one row for each total."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from s2oct.errors import InvalidProblem, InvalidTable, Remedy
from s2oct.model.estimate import Estimate
from s2oct.model.labels import marks_missing
from s2oct.model.total_values import is_number
from s2oct.wording import brief

Cells = dict[Any, dict[Any, Any]]
"""Domain -> class -> what is given for it."""


@dataclass(frozen=True)
class TotalTable:
    """Columns of any frame, and the index if it has one."""

    columns: dict[Any, list[Any]]
    index: list[Any] | None = None
    has_plain_index: bool = True

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values()), []))


@dataclass(frozen=True)
class Recognised:
    """What the columns of a table are recognised by: the name of the margin, domains and classes."""

    margin: str
    domains: Sequence[Any]
    classes: Sequence[Any]


@dataclass(frozen=True)
class _Reading:
    """Which columns hold domains (None: the whole table), classes and totals."""

    domain: Any
    label: Any
    totals: tuple[Any, ...]


def text_of(value: Any) -> str:
    """The text that a domain or a class would have in a file."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def cells_by_domain(table: TotalTable, name: str, known: Recognised) -> Cells:
    """Totals of a table with one row for each domain, or with columns for domain, class and total."""
    if not any(_is_among(column, known.classes) for column in table.columns):
        reading = _long_reading(table, name, known)
        if reading is not None:
            return _long_cells(table, name, reading, known.classes)
    column, domains = _domain_column(table, name, known)
    _refuse_odd_keys(domains, name, "domain")
    _refuse_twice([text_of(domain) for domain in domains], f"one row of {name} for each domain")
    cells: Cells = {domain: {} for domain in domains}
    for label, values in table.columns.items():
        if column is None or label != column:
            for domain, value in zip(domains, values, strict=True):
                if not marks_missing(value):
                    cells[domain][_as_class(label, known.classes)] = value
    return cells


def whole_cells(table: TotalTable, name: str, classes: Sequence[Any]) -> dict[Any, Any]:
    """Totals of a table with a column of classes and one of totals, or of one row with a column for each class."""
    if any(_is_among(column, classes) for column in table.columns):
        if table.n_rows != 1:
            raise InvalidTable(
                f"Expected domains for {name} of {table.n_rows} rows, got {name} alone", Remedy.PASS_DOMAINS
            )
        return {_as_class(c, classes): value for c, (value,) in table.columns.items() if not marks_missing(value)}
    if table.index is not None and not table.has_plain_index:
        table = TotalTable({"": table.index, **table.columns})
    reading = _long_reading(table, name, Recognised("", (), classes))
    if reading is None:
        raise InvalidTable(
            f"Expected a table of {name} with a column of the classes {list(classes[:10])} and a column of counts, "
            f"got the columns {list(table.columns)[:10]}",
            Remedy.PASS_DOMAINS,
        )
    return next(iter(_long_cells(table, name, reading, classes).values()))


def _long_reading(table: TotalTable, name: str, known: Recognised) -> _Reading | None:
    """The reading whose columns hold known domains and classes; None if there is none."""
    worth = {reading: _worth(table, reading, known) for reading in _readings(table, has_domains=bool(known.domains))}
    possible = {reading: value for reading, value in worth.items() if value > 0}
    best = [reading for reading, value in possible.items() if value == max(possible.values())]
    if len(best) > 1:
        raise InvalidProblem(
            f"Expected it to be clear which columns of {name} are domains, classes and counts, got the columns "
            f"{list(table.columns)}, which can be read in {len(best)} ways. Pass a mapping of domains to mappings of "
            "classes to counts."
        )
    return best[0] if best else None


def _readings(table: TotalTable, *, has_domains: bool) -> Iterator[_Reading]:
    """All ways to read the columns: one total, or low and high, or a total and its standard error named se."""
    by_name = {str(column).strip().lower(): column for column in table.columns}
    n_keys = 2 if has_domains else 1
    bounds = tuple(by_name[end] for end in ("low", "high") if end in by_name)
    errors = tuple(by_name[end] for end in ("se",) if end in by_name and len(bounds) < 2)
    rest = [column for column in table.columns if column not in (bounds if len(bounds) == 2 else errors)]
    if len(bounds) == 2 and len(rest) == n_keys:
        for keys in permutations(rest):
            yield _Reading(keys[0] if has_domains else None, keys[-1], bounds)
    elif len(bounds) < 2 and len(rest) == n_keys + 1:
        for *others, total in permutations(rest):
            yield _Reading(others[0] if has_domains else None, others[-1], (total, *errors))


def _worth(table: TotalTable, reading: _Reading, known: Recognised) -> float:
    """How well a reading fits, 0 if it cannot be: shares of known domains and classes, and totals that are numbers."""
    labels = _share_among(table.columns[reading.label], known.classes)
    domains = 1.0 if reading.domain is None else _share_among(table.columns[reading.domain], known.domains)
    if not labels or not domains:
        return 0.0
    cells = [cell for column in reading.totals for cell in table.columns[column]]
    are_totals = all(
        is_number(cell) or isinstance(cell, (Estimate, tuple, list)) or marks_missing(cell) for cell in cells
    )
    is_named = reading.domain is not None and known.margin != "" and str(reading.domain) == known.margin
    return labels + domains + 4.0 * are_totals + 2.0 * is_named + 3.0 * (not _twice(_keys(table, reading)))


def _keys(table: TotalTable, reading: _Reading) -> list[tuple[str, str]]:
    labels = table.columns[reading.label]
    domains = [""] * len(labels) if reading.domain is None else table.columns[reading.domain]
    return [(text_of(domain), text_of(label)) for domain, label in zip(domains, labels, strict=True)]


def _long_cells(table: TotalTable, name: str, reading: _Reading, classes: Sequence[Any]) -> Cells:
    twice = _twice(_keys(table, reading))
    if twice:
        domain, label = twice[0]
        where = f" in domain {brief(domain)}" if reading.domain is not None else ""
        raise InvalidProblem(f"Expected one row of {name} for each class, got class {brief(label)}{where} twice.")
    cells: Cells = {}
    labels = table.columns[reading.label]
    domains = [""] * len(labels) if reading.domain is None else table.columns[reading.domain]
    _refuse_odd_keys(labels, name, "class")
    _refuse_odd_keys(domains, name, "domain")
    totals = [table.columns[column] for column in reading.totals]
    is_estimate = len(reading.totals) == 2 and str(reading.totals[1]).strip().lower() == "se"
    for domain, label, *parts in zip(domains, labels, *totals, strict=True):
        entries = cells.setdefault(domain, {})
        if not all(marks_missing(part) for part in parts):
            entries[_as_class(label, classes)] = _joined(parts, is_estimate=is_estimate)
    return cells


def _joined(parts: list[Any], *, is_estimate: bool) -> Any:
    if is_estimate:
        return parts[0] if marks_missing(parts[1]) else Estimate(parts[0], parts[1])
    open_ends = tuple(None if marks_missing(part) else part for part in parts)
    return open_ends if len(parts) == 2 else parts[0]


def _domain_column(table: TotalTable, name: str, known: Recognised) -> tuple[Any, list[Any]]:
    """The column of a wide table that holds the domains, None for its index; and the domains."""
    index = table.index
    if index is not None and not table.has_plain_index and _share_among(index, known.domains) > 0:
        return None, index
    others = [column for column in table.columns if not _is_among(column, known.classes)]
    if others:
        column = max(others, key=lambda column: _likeness(column, table.columns[column], known))
        return column, table.columns[column]
    if index is not None:
        return None, index
    raise InvalidProblem(
        f"Expected a column of domains beside the classes in the table of {name}, got the columns "
        f"{list(table.columns)[:10]}."
    )


def _likeness(column: Any, cells: list[Any], known: Recognised) -> tuple[bool, bool, bool]:
    """Whether a column has the name of the margin, holds some of its domains, holds anything but numbers."""
    is_named = known.margin != "" and str(column) == known.margin
    return is_named, _share_among(cells, known.domains) > 0, not all(is_number(cell) for cell in cells)


def _as_class(value: Any, classes: Sequence[Any]) -> Any:
    """The known class that a column name or a cell stands for: files hold text, whatever the labels are."""
    if value in classes:
        return value
    twins = [label for label in classes if text_of(label) == text_of(value)]
    if len(twins) == 1:
        return twins[0]
    are_whole = all(isinstance(label, int) and not isinstance(label, bool) for label in classes)
    return int(value) if are_whole and classes and isinstance(value, str) and value.strip().isdecimal() else value


def _is_among(value: Any, known: Sequence[Any]) -> bool:
    return text_of(value) in {text_of(one) for one in known}


def _share_among(values: list[Any], known: Sequence[Any]) -> float:
    found, texts = {text_of(value) for value in values}, {text_of(one) for one in known}
    return len(found & texts) / max(len(found), 1)


def _refuse_odd_keys(keys: Sequence[Any], name: str, kind: str) -> None:
    for key in keys:
        if marks_missing(key) or type(key).__hash__ is None:
            raise InvalidProblem(f"Expected a {kind} in each row of {name}, got {brief(key)}.")


def _twice(keys: Sequence[Any]) -> list[Any]:
    return [key for key, number in Counter(keys).items() if number > 1]


def _refuse_twice(keys: Sequence[str], expected: str) -> None:
    twice = _twice(keys)
    if twice:
        raise InvalidProblem(f"Expected {expected}, got {brief(twice[0])} twice.")
