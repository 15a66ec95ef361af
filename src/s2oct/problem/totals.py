"""Known totals in every form that users have: recognised by class and domain, then counted as bounds on rows."""

from __future__ import annotations

import difflib
import math
import numbers
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray, ObjectArray
from s2oct.errors import InvalidKind, InvalidProblem, InvalidTable, Remedy
from s2oct.problem.labels import UNLABELED, Labels, distinct_values, marks_missing, read_labels, refuse_unusable_classes
from s2oct.problem.targets import Margin, Targets
from s2oct.wording import brief, listed, plural

ERRORS_EACH_WAY = 1.96
"""An estimate stands for the totals within so many standard errors, which is a 95 % interval."""


@dataclass(frozen=True)
class Estimate:
    """A total, or a share, that is known up to its standard error.

    A fit pays nothing for a total within 1.96 standard errors of the value, which is a 95 % interval.

    Parameters
    ----------
    value : float
        The estimated number of rows, or their share.
    se : float
        The standard error of the value, at least 0.

    Examples
    --------
    >>> Estimate(120, se=10).interval
    (100.4, 139.6)
    """

    value: float
    se: float

    def __post_init__(self) -> None:
        for name, number in (("value", self.value), ("standard error", self.se)):
            if isinstance(number, bool) or not isinstance(number, numbers.Real) or not _is_finite(number):
                raise InvalidProblem(f"Expected the {name} of an estimate to be a finite number, got {brief(number)}.")
        if self.se < 0:
            raise InvalidProblem(f"Expected the standard error of an estimate to be at least 0, got {brief(self.se)}.")

    @property
    def interval(self) -> tuple[float, float]:
        """Lower and upper end of the 95 % interval."""
        reach = ERRORS_EACH_WAY * float(self.se)
        return float(self.value) - reach, float(self.value) + reach


ESTIMATE = "estimate"
"""What stands for a total that nobody knows and that the fit is to estimate."""


def is_to_estimate(given: Any) -> bool:
    """Whether a total, those of a domain or all of them are to be estimated."""
    return isinstance(given, str) and given.strip().lower() == ESTIMATE


@dataclass(frozen=True)
class EstimatedShare:
    """The share of a class among the unlabeled rows of its domain as a fit has estimated it, and its standard error."""

    value: float
    se: float


def _is_finite(number: numbers.Real) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


AGREE = 1e-6
"""Sums of weights agree if they differ by this part at most."""
_ALMOST_WHOLE = 1e-9
"""A share times a number of rows misses a whole number by rounding errors only."""


class Total(NamedTuple):
    """Bounds on a number of rows, the number or its estimate (NaN if unknown), and its standard error."""

    low: float
    high: float
    value: float
    se: float

    @property
    def is_exact(self) -> bool:
        """Whether the number is known."""
        return self.low == self.high


@dataclass(frozen=True)
class Base:
    """The rows of one domain that its totals divide.

    Attributes
    ----------
    name : str
        What the user calls the totals: totals or population_totals.
    rows : float
        How many rows there are, each counted with its weight.
    which : str
        Which rows these are.
    where : str
        The domain as messages have it, with a blank before it; empty for the whole table.
    as_shares : bool
        Whether totals are shares of these rows.
    is_weighted : bool
        Whether rows have weights; without any, counts are whole numbers.
    """

    name: str
    rows: float
    which: str
    where: str
    as_shares: bool
    is_weighted: bool

    @property
    def slack(self) -> float:
        """What rounding errors may add to a sum over the rows; always less than a row without weights."""
        return AGREE * self.rows if self.is_weighted else min(AGREE * self.rows, 0.25)

    @property
    def can_miscount(self) -> bool:
        """Whether totals that do not fit may count other rows: those of all rows, or more rows than a fold has."""
        return not self.as_shares and not self.is_weighted and not self.where

    def expected(self, label: Any) -> str:
        """The beginning of a refusal."""
        if self.as_shares:
            return f"Expected a share of class {brief(label)}{self.where} between 0 and 1 (of {self.which})"
        rows = number_text(self.rows)
        return f"Expected a total of class {brief(label)}{self.where} between 0 and {rows} ({self.which})"


def number_text(number: float) -> str:
    """A number as messages have it: without a decimal point if it is whole."""
    return f"{number:.0f}" if float(number).is_integer() else f"{number:.10g}"


def read_total(label: Any, given: Any, base: Base) -> Total:
    """Read what is given for one class: a number, a pair of bounds or an `Estimate`, or a share of the rows."""
    if isinstance(given, Total):
        return given
    if isinstance(given, Estimate):
        return _estimate(label, given, base)
    if isinstance(given, (tuple, list)) and len(given) == 2:
        return _interval(label, given, base)
    number = _point(label, given, base) * (base.rows if base.as_shares else 1.0)
    return Total(number, number, number, 0.0)


def look_like_shares(totals: Iterable[Any]) -> bool:
    """Whether all numbers are between 0 and 1, and not just 0 and 1."""
    found = [number for total in totals for number in numbers_in(total)]
    return all(0 <= number <= 1 for number in found) and any(0 < number < 1 for number in found)


def refuse_unsaid_shares(given: Sequence[tuple[Any, Any]], base: Base) -> None:
    """Refuse totals that look like shares where nobody said that they are."""
    for label, total in given:
        if look_like_shares([total]) and not base.as_shares and base.rows >= 2:
            kind = "" if base.is_weighted or not is_number(total) else ", a whole number"
            raise InvalidTable(
                f"{base.expected(label)}{kind}, got {brief(total)}", Remedy.MULTIPLY_SHARES, Remedy.SAY_SHARES
            )


def refuse_unsaid_percentages(given: Sequence[tuple[Any, Any]], base: Base) -> None:
    """Refuse numbers that add up to 100 where there are fewer rows."""
    found = [(label, float(total)) for label, total in given if is_number(total) and math.isfinite(_float(total))]
    in_all = sum(number for _, number in found)
    if not base.as_shares and len(found) > 1 and abs(in_all - 100) < 0.5 and base.rows < 99:
        label, number = max(found, key=lambda pair: pair[1])
        raise InvalidTable(f"{base.expected(label)}, got {number_text(number)}", Remedy.SAY_PERCENTAGES)


def numbers_in(given: Any) -> list[float]:
    """The finite numbers of a total in any form."""
    if isinstance(given, Estimate):
        return [float(given.value)]
    parts = given if isinstance(given, (tuple, list)) else [given]
    return [number for part in parts if is_number(part) and math.isfinite(number := _float(part))]


def is_number(value: Any) -> bool:
    """Whether a value is a real number; booleans are none."""
    return isinstance(value, (numbers.Real, Decimal)) and not isinstance(value, (bool, np.bool_))


def largest_remainder(parts: FloatArray, total: int) -> IntArray:
    """Whole numbers next to parts that add up to a whole number: those with the largest remainders are rounded up."""
    floors = np.floor(parts + _ALMOST_WHOLE)
    n_up = int(total - floors.sum())
    upwards = np.argsort(-(parts - floors), kind="stable")[: max(n_up, 0)]
    floors[upwards] += 1
    return np.asarray(floors, dtype=np.int64)


def _float(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _point(label: Any, given: Any, base: Base) -> float:
    expected = base.expected(label)
    if not is_number(given) or (isinstance(given, int) and math.isinf(_float(given))):
        raise InvalidProblem(f"{expected}, got {brief(given)}.")
    number = _float(given)
    _refuse_fraction(number, given, label, base)
    _refuse_outside(number, number_text(number), label, base)
    return min(number, 1.0 if base.as_shares else base.rows)


def _refuse_fraction(number: float, given: Any, label: Any, base: Base) -> None:
    """Refuse an exact count that no number of rows can meet."""
    if not base.is_weighted and not base.as_shares and not number.is_integer():
        raise InvalidTable(
            f"{base.expected(label)}, a whole number, got {brief(given)}", Remedy.MULTIPLY_SHARES, Remedy.SAY_SHARES
        )


def _refuse_outside(number: float, shown: str, label: Any, base: Base) -> None:
    most = 1.0 if base.as_shares else base.rows
    slack = AGREE if base.as_shares else base.slack
    if not 0 <= number <= most + slack:
        cures = (Remedy.DIVIDE_PERCENTAGES,) if base.as_shares and 1 < number <= 100 else ()
        if number > most and base.can_miscount:
            cures = (Remedy.COUNT_ROWS,)
        raise InvalidTable(f"{base.expected(label)}, got {shown}", *cures)


def _interval(label: Any, given: Sequence[Any], base: Base) -> Total:
    """Bounds; None leaves one open, and what exceeds the rows is cut off."""
    most = 1.0 if base.as_shares else base.rows
    low, high = (open_end if end is None else end for end, open_end in zip(given, (0.0, most), strict=True))
    if not (is_number(low) and is_number(high)) or not _float(low) <= _float(high):
        raise InvalidProblem(
            f"Expected an interval (low, high) for class {brief(label)}{base.where}, two numbers in ascending order, "
            f"got {brief(given)}."
        )
    _refuse_outside(_float(low), brief(given), label, base)
    if base.as_shares and _float(high) > 1 + AGREE:
        _refuse_outside(_float(high), brief(given), label, base)
    low, high = min(_float(low), most), min(_float(high), most)
    if base.as_shares:
        low, high = low * base.rows, high * base.rows
    if low == high:
        _refuse_fraction(low, given, label, base)
        return Total(low, high, low, 0.0)
    if base.as_shares and not base.is_weighted:
        # Outwards, so that whole numbers that add up to the rows remain within the bounds.
        low, high = math.floor(low + _ALMOST_WHOLE), math.ceil(high - _ALMOST_WHOLE)
    return Total(float(low), float(high), math.nan, 0.0)


def _estimate(label: Any, given: Estimate, base: Base) -> Total:
    """The 95 % interval, cut to what is possible."""
    unit = base.rows if base.as_shares else 1.0
    low, high = (end * unit for end in given.interval)
    if high < 0 or low > base.rows + base.slack:
        cures = (Remedy.DIVIDE_PERCENTAGES,) if base.as_shares and 1 < given.value <= 100 else ()
        raise InvalidTable(f"{base.expected(label)}, got {brief(given)}", *cures)
    if base.as_shares and given.value > 1:
        _refuse_outside(float(given.value), brief(given), label, base)
    low, high = (min(max(end, 0.0), base.rows) for end in (low, high))
    return Total(low, high, min(max(given.value * unit, 0.0), base.rows), float(given.se) * unit)


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
        is_number(cell) or isinstance(cell, (Estimate, tuple, list)) or marks_missing(cell) or is_to_estimate(cell)
        for cell in cells
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


WHOLE = ""
"""The only domain where nothing divides the rows."""

Domains = Sequence[tuple[str, ObjectArray]]
"""For each margin its name and the domain of each row."""


def read_forms(given: Any, name: str, domains: Domains, classes: Sequence[Any]) -> list[Cells]:
    """What is given for each class in each domain, for each margin.

    Parameters
    ----------
    given : mapping, series, data frame or list of these
        Totals as the user has them.
    name : str
        What the user calls them: totals or population_totals.
    domains : sequence of (str, ndarray)
        The margins; empty for the whole table.
    classes : sequence
        Classes that are known already. Tables are recognised by them.
    """
    if not domains:
        return [{WHOLE: _of_whole_table(given, name, classes)}]
    forms = _one_for_each(given, name, domains)
    return [
        _by_domain(form, name, Recognised(margin, distinct_values(values), classes))
        for form, (margin, values) in zip(forms, domains, strict=True)
    ]


def classes_in(tables: Sequence[Cells]) -> list[Any]:
    """The classes that totals name, in the order of the totals."""
    return list(dict.fromkeys(label for table in tables for entries in table.values() for label in entries))


def _one_for_each(given: Any, name: str, domains: Domains) -> Sequence[Any]:
    """One form for each margin."""
    is_list = isinstance(given, (list, tuple)) and not _are_records(given)
    if len(domains) == 1:
        return given if is_list and len(given) == 1 else [given]
    if is_to_estimate(given):
        return [given] * len(domains)
    if not is_list or len(given) != len(domains):
        got = plural(len(given), "entry", "entries") if is_list else brief(given)
        raise InvalidProblem(
            f"Expected {name} to be a list with one table for each of the {len(domains)} margins of domains, got {got}."
        )
    return list(given)


def _of_whole_table(given: Any, name: str, classes: Sequence[Any]) -> dict[Any, Any]:
    if is_to_estimate(given):
        return dict.fromkeys(classes, ESTIMATE)
    table = _table_of(given)
    entries = mapping_of(given) if table is None else whole_cells(table, name, classes)
    if not entries:
        raise InvalidProblem(f"Expected {name} to map classes to counts, as in {{'A': 120}}, got {brief(given)}.")
    if any(mapping_of(value) is not None for value in entries.values()):
        raise InvalidTable(f"Expected domains for {name} by domain, got {name} alone", Remedy.PASS_DOMAINS)
    return entries


def _by_domain(given: Any, name: str, known: Recognised) -> Cells:
    if is_to_estimate(given):
        return {domain: dict.fromkeys(known.classes, ESTIMATE) for domain in known.domains}
    table = _table_of(given)
    if table is not None:
        return cells_by_domain(table, name, known)
    outer = mapping_of(given)
    if outer and all(isinstance(key, tuple) and len(key) == 2 for key in outer):
        first, second = zip(*outer, strict=True)
        columns = {"first": list(first), "second": list(second), "value": list(outer.values())}
        return cells_by_domain(TotalTable(columns), name, known)
    inner = {
        domain: dict.fromkeys(known.classes, ESTIMATE) if is_to_estimate(entries) else mapping_of(entries)
        for domain, entries in (outer or {}).items()
    }
    if not inner or not all(inner.values()):
        raise InvalidProblem(
            f"Expected {name} to map domains to the counts of classes, as in {{'north': {{'A': 120}}}}, because rows "
            f"have domains, got {brief(given)}."
        )
    return {domain: entries for domain, entries in inner.items() if entries is not None}


def mapping_of(given: Any) -> dict[Any, Any] | None:
    """A mapping or a pandas series as a dictionary, None for anything else."""
    if isinstance(given, Mapping):
        return dict(given)
    if hasattr(given, "index") and hasattr(given, "items") and not hasattr(given, "columns"):
        keys = given.index.tolist()
        _refuse_repeated(keys)
        return dict(zip(keys, given.tolist(), strict=True))
    return None


def _table_of(given: Any) -> TotalTable | None:
    """The columns of a pandas or polars frame, an Arrow table or a list of records; None for anything else."""
    if hasattr(given, "reset_index") and type(given.index).__name__ == "MultiIndex":
        if not hasattr(given, "columns"):
            given = given.rename("value")
        levels = [f"level {k}" if level is None else level for k, level in enumerate(given.index.names)]
        given = given.rename_axis(levels).reset_index()
    if hasattr(given, "column_names") and hasattr(given, "to_pydict"):
        return TotalTable(given.to_pydict())
    if _are_records(given):
        keys = list(dict.fromkeys(key for record in given for key in record))
        return TotalTable({key: [record.get(key) for record in given] for key in keys})
    if not (hasattr(given, "index") or hasattr(given, "get_column")) or not hasattr(given, "columns"):
        return None
    _refuse_repeated(list(given.columns))
    columns = {column: _plain_list(given[column]) for column in given.columns}
    if not hasattr(given, "index"):
        return TotalTable(columns)
    return TotalTable(columns, given.index.tolist(), has_plain_index=type(given.index).__name__ == "RangeIndex")


def _plain_list(column: Any) -> list[Any]:
    return list(column.to_list() if hasattr(column, "to_list") else column)


def _are_records(given: Any) -> bool:
    """Whether this is a list of rows, each a mapping of column names to cells."""
    return (
        isinstance(given, (list, tuple))
        and len(given) > 0
        and all(isinstance(row, Mapping) for row in given)
        and not any(isinstance(cell, Mapping) or hasattr(cell, "items") for row in given for cell in row.values())
    )


def _refuse_repeated(keys: list[Any]) -> None:
    repeated = [key for key, number in Counter(keys).items() if number > 1]
    if repeated:
        raise InvalidProblem(f"Expected one total of each class, got {brief(repeated[0])} more than once.")


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


_LONGEST_SHOWN = 200


@dataclass(frozen=True, eq=False)
class Counting:
    """How totals count: which rows, with which sizes, as counts or as shares.

    Attributes
    ----------
    name : str
        What the user calls the totals: totals or population_totals.
    labels : Labels
        Classes and codes of all rows.
    sizes : ndarray of shape (n_rows,)
        What each row counts.
    is_weighted : bool
        Whether sizes are weights; otherwise they are 1.
    as_shares : bool
        Whether totals are shares of the rows of their domain.
    """

    name: str
    labels: Labels
    sizes: FloatArray
    is_weighted: bool
    as_shares: bool

    @property
    def of_all_rows(self) -> bool:
        """Whether the labeled rows count."""
        return self.name == "population_totals"

    def base(self, rows: float, division: Division, domain: Any) -> Base:
        """The rows that the totals of a domain divide."""
        if division.is_whole:
            which = "all rows" if self.of_all_rows else "the unlabeled rows"
        else:
            which = "all its rows" if self.of_all_rows else "its unlabeled rows"
        return Base(self.name, rows, which, division.where(domain), self.as_shares, self.is_weighted)


def read_margin(cells: Cells, division: Division, counting: Counting) -> Margin:
    """Bounds on the unlabeled rows of each class in each domain that has any."""
    labels = counting.labels
    unlabeled = division.sizes(counting.sizes, ~labels.is_labeled)
    everything = division.sizes(counting.sizes, np.ones(len(labels.codes), dtype=bool))
    has_unlabeled = division.sizes(np.ones(len(labels.codes)), ~labels.is_labeled) > 0
    given = matched(cells, division, counting.name, has_unlabeled)
    labeled = division.labeled_cells(labels, counting.sizes)
    # Small totals of one domain may be estimates below 1; those of all domains are shares.
    are_shares = look_like_shares(total for entries in given for total in entries.values())
    totals = np.zeros((4, len(given), len(labels.classes)))
    for k, (domain, entries) in enumerate(zip(division.domains, given, strict=True)):
        if not entries:
            continue  # All its rows are labeled, so that nothing is left to know.
        base = counting.base(everything[k] if counting.of_all_rows else unlabeled[k], division, domain)
        if are_shares:
            refuse_unsaid_shares(list(entries.items()), base)
        own = dict(zip(labels.classes.tolist(), labeled[k] if counting.of_all_rows else 0 * labeled[k], strict=True))
        entries = {label: _in_rows(total, float(unlabeled[k]), float(own[label])) for label, total in entries.items()}
        known = _domain_totals(entries, labels.classes.tolist(), base)
        if counting.of_all_rows:
            known = _less_labeled(known, labeled[k], unlabeled[k], labels.classes.tolist(), base)
        totals[:, k] = np.array(known).T
    # Where every row is labeled the domains stay, so that there is a margin at all.
    kept = has_unlabeled if has_unlabeled.any() else np.ones(len(given), dtype=bool)
    domains = np.empty(len(division.domains), dtype=object)
    domains[:] = division.domains
    codes = (np.cumsum(kept) - 1)[division.codes[~labels.is_labeled]]
    return Margin(division.name, domains[kept], codes.astype(np.int64), *totals[:, kept])


def _in_rows(given: Any, unlabeled: float, labeled: float) -> Any:
    """A total that the fit has estimated in rows, and open bounds for one that is still to be estimated.

    The fit aims at its estimate: within the interval of an `Estimate`, guide and tree would follow the biased labels.
    """
    if is_to_estimate(given):
        return (None, None)
    if not isinstance(given, EstimatedShare):
        return given
    rows = given.value * unlabeled + labeled
    return Total(rows, rows, rows, given.se * unlabeled)


def _domain_totals(given: Mapping[Any, Any], classes: list[Any], base: Base) -> list[Total]:
    """One total for each class: those given, and what follows for the others."""
    refuse_unsaid_percentages(list(given.items()), base)
    known = {classes.index(label): read_total(label, total, base) for label, total in given.items()}
    missing = [index for index in range(len(classes)) if index not in known]
    _refuse_impossible_sums(list(known.values()), given, base, is_complete=not missing)
    if (base.as_shares or any(isinstance(total, Total) for total in given.values())) and not base.is_weighted:
        known = _in_whole_rows(known, base)
    low, high = sum(total.low for total in known.values()), sum(total.high for total in known.values())
    rest = Total(0.0, base.rows, math.nan, 0.0)
    if len(missing) == 1:
        rest = _between(base.rows - high, base.rows - low, base)
        if rest.is_exact:
            rest = rest._replace(se=math.hypot(*(total.se for total in known.values())))
    return [known.get(index, rest) for index in range(len(classes))]


def _between(low: float, high: float, base: Base) -> Total:
    low, high = max(low, 0.0), min(max(high, 0.0), base.rows)
    return Total(low, high, low if low == high else math.nan, 0.0)


def _in_whole_rows(known: dict[int, Total], base: Base) -> dict[int, Total]:
    """Shares that are known exactly as whole numbers of rows; together with the rest they add up to all rows."""
    exact = [index for index, total in known.items() if total.is_exact]
    parts = [known[index].value for index in exact]
    rest = max(base.rows - sum(parts), 0.0)
    rounded = largest_remainder(np.array([*parts, rest]), round(base.rows))[:-1].astype(float).tolist()
    return known | {i: Total(n, n, n, known[i].se) for i, n in zip(exact, rounded, strict=True)}


def _refuse_impossible_sums(known: list[Total], given: Mapping[Any, Any], base: Base, *, is_complete: bool) -> None:
    """Refuse totals that cannot add up to the rows of their domain."""
    low, high = sum(total.low for total in known), sum(total.high for total in known)
    unit = base.rows if base.as_shares and base.rows else 1.0
    noun, rows = ("shares", "1") if base.as_shares else (base.name, number_text(base.rows))
    shown = brief(dict(given), _LONGEST_SHOWN)
    if all(total.is_exact for total in known):
        if low > base.rows + base.slack or (is_complete and low < base.rows - base.slack):
            are_percent = not base.as_shares and is_complete and abs(low - 100) < 0.5
            cure = Remedy.SAY_PERCENTAGES if are_percent else Remedy.COUNT_ROWS
            raise InvalidTable(
                f"Expected {noun} that add up to {rows}{base.where} ({base.which}), got {shown}, "
                f"{number_text(low / unit)} in all",
                *((cure,) if are_percent or base.can_miscount else ()),
            )
        return
    for end, bound, most, is_off in (
        ("lower", low, "most", low > base.rows + base.slack),
        ("upper", high, "least", is_complete and high < base.rows - base.slack),
    ):
        if is_off:
            raise InvalidProblem(
                f"Expected {noun} whose {end} bounds add up to at {most} {rows}{base.where} ({base.which}), got "
                f"{shown}, {number_text(bound / unit)} in all."
            )


def _less_labeled(
    known: list[Total], labeled: FloatArray, unlabeled: float, classes: list[Any], base: Base
) -> list[Total]:
    """Totals of the unlabeled rows from those of all rows."""
    own = labeled.tolist()
    for label, total, n_own in zip(classes, known, own, strict=True):
        _refuse_beyond(label, total.high, base, "least", n_own, "its labeled rows")
    for label, total, n_own in zip(classes, known, own, strict=True):
        _refuse_beyond(label, total.low, base, "most", n_own + unlabeled, "its labeled and all unlabeled rows")
    left = [_reduced(total, n_own, unlabeled) for total, n_own in zip(known, own, strict=True)]
    low, high = sum(total.low for total in left), sum(total.high for total in left)
    if low > unlabeled + base.slack or high < unlabeled - base.slack:
        got = f"at least {number_text(low)}" if low > unlabeled else f"at most {number_text(high)}"
        raise InvalidProblem(
            f"Expected population_totals that leave {number_text(unlabeled)} unlabeled rows{base.where} beside the "
            f"labeled ones, got totals that leave {got}."
        )
    return left


def _refuse_beyond(label: Any, number: float, base: Base, end: str, bound: float, which: str) -> None:
    is_off = number < bound - base.slack if end == "least" else number > bound + base.slack
    if is_off:
        raise InvalidProblem(
            f"Expected a population total of class {brief(label)}{base.where} of at {end} {number_text(bound)} "
            f"({which}), got {number_text(number)}."
        )


def _reduced(total: Total, labeled: float, unlabeled: float) -> Total:
    low, high, value = (min(max(number - labeled, 0.0), unlabeled) for number in total[:3])
    return Total(low, high, math.nan if math.isnan(total.value) else value, total.se)


Totals = Any
"""Totals as users have them: a mapping of classes to counts, a table by domain and class, or a list of these."""


@dataclass(frozen=True)
class StatedTotals:
    """Totals as the user stated them, recognised by class and domain and not yet counted.

    Attributes
    ----------
    tables : tuple of mapping
        For each margin a mapping of domains to classes to totals; empty if no total is known.
    of_all : bool
        Whether they count all rows, the labeled ones included.
    as_shares : bool
        Whether they are shares of the rows of their domain.
    is_default : bool
        Whether nobody stated them: the fit estimates totals where none are given.
    is_guess : bool
        Whether the fit had no evidence for its estimates.
    """

    tables: tuple[Cells, ...] = ()
    of_all: bool = False
    as_shares: bool = False
    is_default: bool = False
    is_guess: bool = False

    @classmethod
    def by_default(cls, classes: Sequence[Any]) -> StatedTotals:
        """All totals of the whole table are to be estimated, because none is given."""
        return cls(({WHOLE: dict.fromkeys(classes, ESTIMATE)},), is_default=True)

    @property
    def name(self) -> str:
        """What the user calls them."""
        return "population_totals" if self.of_all else "totals"

    @property
    def classes(self) -> list[Any]:
        """The classes that they name."""
        return classes_in(self.tables)

    @property
    def _cells(self) -> Iterator[Any]:
        return (given for table in self.tables for part in table.values() for given in part.values())

    @property
    def wants_estimates(self) -> bool:
        """Whether some of them are still to be estimated."""
        return any(is_to_estimate(given) for given in self._cells)

    @property
    def has_estimates(self) -> bool:
        """Whether a fit has estimated some of them."""
        return any(isinstance(given, EstimatedShare) for given in self._cells)


NOTHING_STATED = StatedTotals()
"""No total is known."""


def stated_totals(
    totals: Totals | None,
    population_totals: Totals | None,
    *,
    y: Any = None,
    domains: Domains = (),
    as_shares: bool = False,
) -> StatedTotals:
    """Recognise totals in any of their forms; tables are recognised by the labels in y."""
    if totals is not None and population_totals is not None:
        raise InvalidProblem(
            "Expected either totals (of the unlabeled rows) or population_totals (of all rows), got both."
        )
    if not isinstance(as_shares, (bool, np.bool_)):
        raise InvalidKind(f"as_shares must be True or False, got {brief(as_shares)}.")
    of_all = population_totals is not None
    given = population_totals if of_all else totals
    if given is None:
        return NOTHING_STATED
    names_itself = isinstance(given, Mapping) and not domains
    classes = [] if y is None or names_itself else distinct_values(y)
    if y is not None and is_to_estimate(given):
        classes = read_labels(y).classes.tolist()
    tables = read_forms(given, "population_totals" if of_all else "totals", domains, classes)
    return StatedTotals(tuple(tables), of_all, bool(as_shares))


def read_targets(
    labels: Labels,
    stated: StatedTotals,
    *,
    domains: Domains = (),
    weights: FloatArray | None = None,
    unseen: FloatArray | None = None,
) -> Targets:
    """Count what is known about the classes of the unlabeled rows.

    Parameters
    ----------
    labels : Labels
        Classes and codes of all rows.
    stated : StatedTotals
        The totals. From those of all rows the labeled rows are subtracted; without any, the class shares of the labeled
        rows are used.
    domains : sequence of (str, ndarray of shape (n_rows,))
        For each margin its name and the domain of each row; empty for the whole table.
    weights : ndarray of shape (n_rows,), optional
        What each row counts towards totals; 1 each if None.
    unseen : ndarray of shape (n_rows,), optional
        What unlabeled rows of a register count that are not among these rows, beside one of their domain.
    """
    if not stated.tables:
        n_unlabeled = int((~labels.is_labeled).sum())
        return Targets.exact(assumed_totals(labels, weights, unseen), n_unlabeled)
    _refuse_misnamed(labels, stated.classes, stated.name)
    sizes = np.ones(len(labels.codes)) if weights is None else np.asarray(weights, dtype=float)
    if unseen is not None:
        sizes = sizes + unseen
    counting = Counting(stated.name, labels, sizes, weights is not None, stated.as_shares)
    divisions = read_divisions(domains, labels, needs_all=counting.of_all_rows)
    margins = tuple(read_margin(*pair, counting) for pair in zip(stated.tables, divisions, strict=True))
    is_rounded = stated.as_shares or stated.has_estimates
    _refuse_disagreement(margins, counting, is_rounded=is_rounded and not counting.is_weighted)
    return Targets(margins)


def assumed_totals(
    labels: Labels, weights: FloatArray | None = None, unseen: FloatArray | None = None
) -> IntArray | FloatArray:
    """Totals from the class shares of the labeled rows, where no totals are known; wrong for a biased sample."""
    labeled, is_labeled = labels.counts(), labels.is_labeled
    more = 0.0 if unseen is None else float(unseen.sum())
    m = int((~is_labeled).sum()) + round(more)
    if len(labels.classes) < 2 and m > 0:
        refuse_unusable_classes(labels.classes.tolist())
    if weights is not None:
        known = np.bincount(labels.codes[is_labeled], weights=weights[is_labeled], minlength=len(labels.classes))
        return np.asarray(known * ((weights[~is_labeled].sum() + more) / known.sum()))
    parts = labeled * m / labeled.sum()
    if len(parts) == 2:
        first = round(parts[0])  # Halves go to the even number.
        return np.array([first, m - first], dtype=np.int64)
    return largest_remainder(parts, m)


def _refuse_misnamed(labels: Labels, named: list[Any], name: str) -> None:
    """Refuse classes that cannot be, and those that are probably typing errors."""
    classes = labels.classes.tolist()
    labeled = [label for label, count in zip(classes, labels.counts(), strict=True) if count]
    by_text = {str(known).strip().casefold(): known for known in labeled}
    unnamed = [label for label in labeled if label not in named]
    for label in named:
        if label in labeled:
            continue
        twin = by_text.get(str(label).strip().casefold(), label)
        hint = f" Did you mean {brief(twin)}?" if twin != label else _hint(label, unnamed)
        is_other = label not in classes or (len(labeled) > 1 and len(unnamed) == len(labeled))
        if is_other and not hint and label in classes:
            hint = f" If {brief(label)} is another class, name the total of a labeled class, too."
        if twin != label or is_other or (len(labeled) > 1 and hint):
            raise InvalidProblem(f"Expected {name} of the classes {labeled}, got {brief(label)}.{hint}")


def _hint(label: Any, unnamed: list[Any]) -> str:
    """The labeled class that may be meant: one with similar letters that the totals do not name."""
    text, by_text = str(label).lower(), {str(known).lower(): known for known in unnamed}
    for close in difflib.get_close_matches(text, list(by_text), n=1):
        # class_1 and class_2, or employed and unemployed, are different classes and no typing error.
        is_sibling = (
            _without_digits(close) == _without_digits(text) != "" or close.endswith(text) or text.endswith(close)
        )
        if not is_sibling or close == text:
            return f" Did you mean {by_text[close]!r}?"
    return ""


def _without_digits(text: str) -> str:
    return re.sub(r"\d", "", text)


def _refuse_disagreement(margins: tuple[Margin, ...], counting: Counting, *, is_rounded: bool) -> None:
    """Refuse margins of which one knows more rows of a class than the other allows."""
    in_all = float(counting.sizes[~counting.labels.is_labeled].sum())
    for (first, margin), (second, other) in permutations(enumerate(margins, start=1), 2):
        slack = AGREE * in_all if counting.is_weighted else 0.25
        if is_rounded:
            slack = margin.n_domains + other.n_domains  # Shares are rounded to whole rows in each domain.
        is_off = margin.low.sum(axis=0) > other.high.sum(axis=0) + slack
        for index in np.flatnonzero(is_off).tolist():
            label = brief(counting.labels.classes.tolist()[index])
            raise InvalidProblem(
                f"Expected margins that agree on the unlabeled rows of class {label}, got "
                f"{_sum_text(margin, index, first)} and {_sum_text(other, index, second)}."
            )


def _sum_text(margin: Margin, index: int, place: int) -> str:
    low, high = margin.low[:, index].sum(), margin.high[:, index].sum()
    rows = number_text(low) if low == high else f"{number_text(low)} to {number_text(high)}"
    return f"{rows} in margin {brief(margin.name) if margin.name else place}"
