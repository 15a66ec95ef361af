"""Known totals in every form that users have: recognised by class and domain, then counted as bounds on rows.

`stated_totals` recognises the form and `read_targets` counts. A form is a mapping or a series of classes, a mapping of
domains to such mappings, a wide table with a column for each class, or a long table with a row for each class.

`Targets` are the result: totals of the unlabeled rows by cell, which is a domain and a class. A margin divides all rows
into domains, for instance regions, and has bounds on the number of rows of each class in each domain. There may be
several margins, for instance regions and age groups. One margin with one domain and exact totals is the paper's case.
"""

from __future__ import annotations

import difflib
import math
import numbers
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray, ObjectArray, object_array
from s2oct.errors import InvalidKind, InvalidProblem, InvalidTable, Remedy
from s2oct.problem.labels import Labels, distinct_values, marks_missing, read_labels, refuse_unusable_classes
from s2oct.wording import brief, listed, plural

ERRORS_EACH_WAY = 1.96
"""Half the width of a 95 % interval, in standard errors."""

ESTIMATE = "estimate"
"""Stands for a total that the fit estimates."""

WHOLE = ""
"""The only domain if nothing divides the rows."""

_AGREE = 1e-6
"""Sums of weights agree if they differ by at most this part."""

_ALMOST_WHOLE = 1e-9
"""A share times a number of rows misses a whole number by rounding errors of at most this size."""

_LONGEST_SHOWN = 200
_MOST_NAMED = 5

Totals = Any
"""Totals as users have them: a mapping of classes to counts, a table by domain and class, or a list of these."""

Cells = dict[Any, dict[Any, Any]]
"""Domain -> class -> total as given."""

Domains = Sequence[tuple[str, ObjectArray]]
"""For each margin its name and the domain of each row."""


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
            if isinstance(number, bool) or not isinstance(number, numbers.Real) or not math.isfinite(_float(number)):
                raise InvalidProblem(f"The {name} of an estimate must be a finite number, got {brief(number)}.")
        if self.se < 0:
            raise InvalidProblem(f"The standard error of an estimate must be at least 0, got {brief(self.se)}.")

    @property
    def interval(self) -> tuple[float, float]:
        """Lower and upper end of the 95 % interval."""
        reach = ERRORS_EACH_WAY * float(self.se)
        return float(self.value) - reach, float(self.value) + reach


@dataclass(frozen=True)
class EstimatedShare:
    """The share of a class among the unlabeled rows of its domain, as a fit estimated it, and its standard error."""

    value: float
    se: float


def is_to_estimate(given: Any) -> bool:
    """Whether a total, those of a domain or all of them are to be estimated."""
    return isinstance(given, str) and given.strip().lower() == ESTIMATE


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
        Whether no totals were passed, so that the fit estimates them.
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
        """No total was passed: the fit estimates those of the whole table."""
        return cls(({WHOLE: dict.fromkeys(classes, ESTIMATE)},), is_default=True)

    @property
    def name(self) -> str:
        """The parameter that has them."""
        return "population_totals" if self.of_all else "totals"

    @property
    def classes(self) -> list[Any]:
        """The classes that they name, in their order."""
        return list(dict.fromkeys(label for table in self.tables for part in table.values() for label in part))

    @property
    def _given(self) -> Iterator[Any]:
        return (given for table in self.tables for part in table.values() for given in part.values())

    @property
    def wants_estimates(self) -> bool:
        """Whether some of them are still to be estimated."""
        return any(is_to_estimate(given) for given in self._given)

    @property
    def has_estimates(self) -> bool:
        """Whether a fit has estimated some of them."""
        return any(isinstance(given, EstimatedShare) for given in self._given)


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
    """Recognise totals in any of their forms; tables are recognised by the labels in ``y``."""
    if totals is not None and population_totals is not None:
        raise InvalidProblem("Pass totals (of the unlabeled rows) or population_totals (of all rows), not both.")
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
    name = "population_totals" if of_all else "totals"
    readers = [_FormReader(name, margin, distinct_values(values), classes) for margin, values in domains]
    forms = zip(readers or [_FormReader(name, "", None, classes)], _one_for_each(given, name, domains), strict=True)
    tables = [reader.read(form) for reader, form in forms]
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
        The totals. The labeled rows are subtracted from those of all rows. Without any, the class shares of the labeled
        rows are used.
    domains : sequence of (str, ndarray of shape (n_rows,))
        For each margin its name and the domain of each row; empty for the whole table.
    weights : ndarray of shape (n_rows,), optional
        What each row counts towards totals; 1 each if None.
    unseen : ndarray of shape (n_rows,), optional
        For each row, the weight of the unlabeled rows of its domains that are in the register but not among these rows.
    """
    if not stated.tables:
        return Targets.exact(_assumed_totals(labels, weights, unseen), int((~labels.is_labeled).sum()))
    _refuse_misnamed(labels, stated.classes, stated.name)
    sizes = np.ones(len(labels.codes)) if weights is None else np.asarray(weights, dtype=float)
    if unseen is not None:
        sizes = sizes + unseen
    is_weighted = weights is not None
    divisions = read_divisions(domains, labels, needs_all=stated.of_all)
    margins = tuple(
        _margin(cells, division, labels, sizes, stated, is_weighted)
        for cells, division in zip(stated.tables, divisions, strict=True)
    )
    slack = _AGREE * float(sizes[~labels.is_labeled].sum()) if is_weighted else 0.25
    is_rounded = (stated.as_shares or stated.has_estimates) and not is_weighted
    _refuse_disagreement(margins, labels.classes.tolist(), None if is_rounded else slack)
    return Targets(margins)


def largest_remainder(parts: FloatArray, total: int) -> IntArray:
    """Round parts of a whole number to whole numbers with the same sum: those of largest remainder are rounded up."""
    floors = np.floor(parts + _ALMOST_WHOLE)
    n_up = int(total - floors.sum())
    upwards = np.argsort(-(parts - floors), kind="stable")[: max(n_up, 0)]
    floors[upwards] += 1
    return np.asarray(floors, dtype=np.int64)


def _assumed_totals(labels: Labels, weights: FloatArray | None, unseen: FloatArray | None) -> IntArray | FloatArray:
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
        hint = f" Did you mean {brief(twin)}?" if twin != label else _similar_class(label, unnamed)
        is_other = label not in classes or (len(labeled) > 1 and len(unnamed) == len(labeled))
        if is_other and not hint and label in classes:
            hint = f" If {brief(label)} is another class, name the total of a labeled class, too."
        if twin != label or is_other or (len(labeled) > 1 and hint):
            raise InvalidProblem(f"The {name} name the class {brief(label)}, but the classes are {labeled}.{hint}")


def _similar_class(label: Any, unnamed: list[Any]) -> str:
    """A hint at the labeled class that may be meant: one with similar letters that the totals do not name."""
    text, by_text = str(label).lower(), {str(known).lower(): known for known in unnamed}
    for close in difflib.get_close_matches(text, list(by_text), n=1):
        # class_1 and class_2, or employed and unemployed, are different classes, not typing errors.
        letters = re.sub(r"\d", "", close)
        is_sibling = letters == re.sub(r"\d", "", text) != "" or close.endswith(text) or text.endswith(close)
        if not is_sibling or close == text:
            return f" Did you mean {by_text[close]!r}?"
    return ""


def _refuse_disagreement(margins: tuple[Margin, ...], classes: list[Any], slack: float | None) -> None:
    """Refuse margins if one knows more rows of a class than another allows; without a slack, totals are rounded."""
    for (first, margin), (second, other) in permutations(enumerate(margins, start=1), 2):
        # Shares are rounded to whole rows in each domain.
        most = margin.n_domains + other.n_domains if slack is None else slack
        is_off = margin.low.sum(axis=0) > other.high.sum(axis=0) + most
        for index in np.flatnonzero(is_off).tolist():
            raise InvalidProblem(
                f"The margins disagree on the unlabeled rows of class {brief(classes[index])}: "
                f"{_sum_text(margin, index, first)} and {_sum_text(other, index, second)}."
            )


def _sum_text(margin: Margin, index: int, place: int) -> str:
    low, high = margin.low[:, index].sum(), margin.high[:, index].sum()
    rows = _number_text(low) if low == high else f"{_number_text(low)} to {_number_text(high)}"
    return f"{rows} in margin {brief(margin.name) if margin.name else place}"


# Counting: domains of the rows, and the totals of each domain as bounds.

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

    def sizes(self, of_rows: FloatArray, chosen: BoolArray) -> FloatArray:
        """Rows of each domain among the chosen ones, each counted with its size."""
        rows = chosen & (self.codes != _NO_DOMAIN)
        return np.bincount(self.codes[rows], weights=of_rows[rows], minlength=len(self.domains)).astype(float)


def read_divisions(domains: Domains, labels: Labels, *, needs_all: bool) -> list[Division]:
    """Give every row the index of its domain, for each margin; labeled rows need one only if all rows are counted."""
    if not domains:
        return [Division("", [WHOLE], np.zeros(len(labels.codes), dtype=np.int64))]
    return [_divide(name, values.tolist(), labels, needs_all=needs_all) for name, values in domains]


def _divide(name: str, values: list[Any], labels: Labels, *, needs_all: bool) -> Division:
    distinct = {domain for domain in values if not marks_missing(domain)}
    try:
        found = sorted(distinct)
    except TypeError:
        found = sorted(distinct, key=lambda domain: (type(domain).__name__, text_of(domain)))
    place = {domain: code for code, domain in enumerate(found)}
    codes = np.array([place.get(domain, _NO_DOMAIN) for domain in values], dtype=np.int64)
    is_missing = (codes == _NO_DOMAIN) & (needs_all | ~labels.is_labeled)
    if is_missing.any():
        which = plural(int(is_missing.sum()), "row" if needs_all else "unlabeled row")
        of_margin = f" of {brief(name)}" if name else ""
        verb = "has" if is_missing.sum() == 1 else "have"
        raise InvalidProblem(f"{which} {verb} no domain{of_margin}: give each of them one, or leave them out.")
    return Division(name, found, codes)


def _margin(
    cells: Cells, division: Division, labels: Labels, sizes: FloatArray, stated: StatedTotals, is_weighted: bool
) -> Margin:
    """Bounds on the unlabeled rows of each class in each domain that has any."""
    classes, is_unlabeled = labels.classes.tolist(), ~labels.is_labeled
    unlabeled = division.sizes(sizes, is_unlabeled)
    rows, labeled = unlabeled, np.zeros((len(division.domains), len(classes)))
    if stated.of_all:
        rows = division.sizes(sizes, np.ones(len(sizes), dtype=bool))
        labeled = np.column_stack([division.sizes(sizes, labels.codes == k) for k in range(len(classes))])
    has_unlabeled = division.sizes(np.ones(len(sizes)), is_unlabeled) > 0
    given = _matched(cells, division, stated.name, has_unlabeled)
    # Small totals of one domain may be estimates below 1; those of all domains are shares.
    look_like_shares = not stated.as_shares and _look_like_shares(
        total for entries in given for total in entries.values()
    )
    totals = np.zeros((4, len(given), len(classes)))
    for k, (name, entries) in enumerate(zip(division.domains, given, strict=True)):
        if not entries:
            continue  # All its rows are labeled, so nothing is left to know.
        where = "" if division.is_whole else f" in domain {brief(name)}"
        domain = _Domain(stated, where, classes, float(rows[k]), float(unlabeled[k]), labeled[k], is_weighted)
        if look_like_shares:
            domain.refuse_shares(entries)
        totals[:, k] = domain.count(entries)
    # If every row is labeled, all domains stay: a margin needs at least one.
    kept = has_unlabeled if has_unlabeled.any() else np.ones(len(given), dtype=bool)
    codes = (np.cumsum(kept) - 1)[division.codes[is_unlabeled]]
    return Margin(division.name, object_array(division.domains)[kept], codes.astype(np.int64), *totals[:, kept])


def _matched(cells: Cells, division: Division, name: str, has_unlabeled: BoolArray) -> list[dict[Any, Any]]:
    """The totals of each domain of the rows; refuses domains without rows, and domains without totals."""
    if division.is_whole:
        return [cells[WHOLE]]
    # A domain of the totals is the one with the same value and type, or else the only one with the same text.
    places: dict[Any, list[int]] = {}
    for place, domain in enumerate(division.domains):
        places.setdefault((type(domain), domain), []).append(place)
        places.setdefault(text_of(domain), []).append(place)
    entries: list[dict[Any, Any]] = [{} for _ in division.domains]
    for domain, given in cells.items():
        found = places.get((type(domain), domain)) or places.get(text_of(domain), [])
        if len(found) != 1:
            _refuse_positive(domain, given, division, name)
        elif entries[found[0]]:
            raise InvalidProblem(f"Domain {brief(domain)} has {name} twice: keep one of them.")
        else:
            entries[found[0]] = given
    unnamed = [
        brief(d)
        for d, known, needs in zip(division.domains, entries, has_unlabeled, strict=True)
        if needs and not known
    ]
    if unnamed:
        more = len(unnamed) - _MOST_NAMED
        which = f"{', '.join(unnamed[:_MOST_NAMED])} and {more} more" if more > 0 else listed(unnamed)
        raise InvalidProblem(f"There are no {name} for {which}: every domain of unlabeled rows needs them.")
    return entries


def _refuse_positive(domain: Any, given: dict[Any, Any], division: Division, name: str) -> None:
    """Refuse a domain that no row has, unless all its totals can be 0."""
    for label, total in given.items():
        if (number := min(_numbers_in(total), default=0.0)) <= 0:
            continue
        by_text = {text_of(known).lower(): known for known in division.domains}
        close = difflib.get_close_matches(text_of(domain).lower(), list(by_text), n=1)
        hint = f" Did you mean {brief(by_text[close[0]])}?" if close else ""
        raise InvalidProblem(
            f"The {name} have {_number_text(number)} of class {brief(label)} in domain {brief(domain)}, but no row has "
            f"this domain.{hint}"
        )


@dataclass(frozen=True, eq=False)
class _Domain:
    """The rows of one domain, which its totals divide among the classes.

    A counted total has four numbers: lower and upper bound in rows, its value (NaN if unknown) and its standard error.

    Attributes
    ----------
    stated : StatedTotals
        What the totals count, and whether they are shares.
    where : str
        The domain in messages, with a blank before it; empty for the whole table.
    classes : list
        The class labels.
    rows : float
        Rows that the totals divide, each counted with its weight.
    unlabeled : float
        The unlabeled ones among them.
    labeled : ndarray of shape (n_classes,)
        Labeled rows of each class that the totals include: 0 unless they count all rows.
    is_weighted : bool
        Whether rows have weights; without any, counts are whole numbers.
    """

    stated: StatedTotals
    where: str
    classes: list[Any]
    rows: float
    unlabeled: float
    labeled: FloatArray
    is_weighted: bool

    @property
    def _as_shares(self) -> bool:
        return self.stated.as_shares

    @property
    def _most(self) -> float:
        """The largest total: all rows, or the share 1."""
        return 1.0 if self._as_shares else self.rows

    @property
    def _unit(self) -> float:
        """Rows that a total of 1 stands for."""
        return self.rows if self._as_shares else 1.0

    @property
    def _slack(self) -> float:
        """What rounding errors may add to a sum over the rows; always less than a row without weights."""
        return _AGREE * self.rows if self.is_weighted else min(_AGREE * self.rows, 0.25)

    @property
    def _which(self) -> str:
        if self.stated.of_all:
            return "all its rows" if self.where else "all rows"
        return "its unlabeled rows" if self.where else "the unlabeled rows"

    @property
    def _recount(self) -> tuple[Remedy, ...]:
        """The remedy if totals that do not fit may count other rows: those of all rows, or more than a fold has."""
        return () if self._as_shares or self.is_weighted or self.where else (Remedy.COUNT_ROWS,)

    def count(self, given: Mapping[Any, Any]) -> FloatArray:
        """Count the totals of all classes, those given and what follows for the others, shape (4, n_classes)."""
        self._refuse_percentages(given)
        places = [self.classes.index(label) for label in given]
        known = np.array([self._read_total(label, total) for label, total in given.items()], dtype=float).T
        missing = [k for k in range(len(self.classes)) if k not in places]
        self._refuse_impossible_sums(known, given, is_complete=not missing)
        has_shares = self._as_shares or any(isinstance(total, EstimatedShare) for total in given.values())
        if has_shares and not self.is_weighted:
            self._round_to_rows(known)
        counted = np.tile([[0.0], [self.rows], [math.nan], [0.0]], len(self.classes))
        counted[:, places] = known
        if len(missing) == 1:
            low, high = (
                min(max(self.rows - sum(ends), 0.0), self.rows) for ends in (known[1].tolist(), known[0].tolist())
            )
            is_exact = low == high
            counted[:, missing[0]] = (
                low,
                high,
                low if is_exact else math.nan,
                math.hypot(*known[3]) if is_exact else 0.0,
            )
        return self._without_labeled(counted) if self.stated.of_all else counted

    def _round_to_rows(self, known: FloatArray) -> None:
        """Make exact totals whole numbers of rows, which add up to all rows together with the rest."""
        exact = np.flatnonzero(known[0] == known[1])
        rest = max(self.rows - sum(known[2, exact].tolist()), 0.0)
        known[:3, exact] = largest_remainder(np.array([*known[2, exact], rest]), round(self.rows))[:-1]

    def _refuse_impossible_sums(self, known: FloatArray, given: Mapping[Any, Any], *, is_complete: bool) -> None:
        """Refuse totals that cannot add up to the rows of their domain."""
        low, high = known[:2].sum(axis=1).tolist()
        is_above, is_below = low > self.rows + self._slack, is_complete and high < self.rows - self._slack
        if not is_above and not is_below:
            return
        noun = "shares" if self._as_shares else self.stated.name
        rows = f"{_number_text(self._most)}{self.where} ({self._which})"
        in_all = _number_text((low if is_above else high) / (self._unit or 1.0))
        got = f"got {brief(dict(given), _LONGEST_SHOWN)}, {in_all} in all"
        if (known[0] == known[1]).all():
            are_percent = not self._as_shares and is_complete and abs(low - 100) < 0.5
            cures = (Remedy.SAY_PERCENTAGES,) if are_percent else self._recount
            raise InvalidTable(f"Expected {noun} that add up to {rows}, {got}", *cures)
        end, most = ("lower", "most") if is_above else ("upper", "least")
        raise InvalidProblem(f"Expected {noun} whose {end} bounds add up to at {most} {rows}, {got}.")

    def _without_labeled(self, counted: FloatArray) -> FloatArray:
        """Totals of the unlabeled rows from those of all rows."""
        most = self.labeled + self.unlabeled
        for is_wrong, got, limit, what in (
            (counted[1] < self.labeled - self._slack, counted[1], self.labeled, "at least {} (its labeled rows)"),
            (counted[0] > most + self._slack, counted[0], most, "at most {} (its labeled and all unlabeled rows)"),
        ):
            for k in np.flatnonzero(is_wrong).tolist():
                raise InvalidProblem(
                    f"Expected a population total of class {brief(self.classes[k])}{self.where} of "
                    f"{what.format(_number_text(limit[k]))}, got {_number_text(got[k])}."
                )
        left = np.vstack([np.clip(counted[:3] - self.labeled, 0.0, self.unlabeled), counted[3]])
        low, high = left[:2].sum(axis=1).tolist()
        if low > self.unlabeled + self._slack or high < self.unlabeled - self._slack:
            remain = f"at least {_number_text(low)}" if low > self.unlabeled else f"at most {_number_text(high)}"
            raise InvalidProblem(
                f"There are {_number_text(self.unlabeled)} unlabeled rows{self.where}, but population_totals leave "
                f"{remain} after the labeled rows are subtracted."
            )
        return left

    def _read_total(self, label: Any, given: Any) -> tuple[float, float, float, float]:
        """Count the total of one class: a number, a pair of bounds or an estimate, in rows or as a share."""
        if isinstance(given, EstimatedShare):
            # The fit aims at its estimate: within its interval, guide and tree would follow the biased labels.
            rows = given.value * self.unlabeled + float(self.labeled[self.classes.index(label)])
            return rows, rows, rows, given.se * self.unlabeled
        if isinstance(given, Estimate):
            return self._read_estimate(label, given)
        if is_to_estimate(given):
            given = (None, None)
        if isinstance(given, (tuple, list)) and len(given) == 2:
            return self._read_bounds(label, given)
        if not is_number(given) or (isinstance(given, int) and math.isinf(_float(given))):
            raise InvalidProblem(f"{self._expected(label)}, got {brief(given)}.")
        number = _float(given)
        self._refuse_fraction(number, given, label)
        self._refuse_outside(number, _number_text(number), label)
        rows = min(number, self._most) * self._unit
        return rows, rows, rows, 0.0

    def _read_bounds(self, label: Any, given: Sequence[Any]) -> tuple[float, float, float, float]:
        """None leaves a bound open; what exceeds the rows is cut off."""
        low, high = (default if end is None else end for end, default in zip(given, (0.0, self._most), strict=True))
        if not (is_number(low) and is_number(high)) or not _float(low) <= _float(high):
            raise InvalidProblem(
                f"Expected an interval (low, high) for class {brief(label)}{self.where}, two numbers in ascending "
                f"order, got {brief(given)}."
            )
        self._refuse_outside(_float(low), brief(given), label)
        if self._as_shares:
            self._refuse_outside(_float(high), brief(given), label)
        low, high = (min(_float(end), self._most) * self._unit for end in (low, high))
        if low == high:
            self._refuse_fraction(low, given, label)
            return low, high, low, 0.0
        if self._as_shares and not self.is_weighted:
            # Outwards, so that whole numbers that add up to the rows remain within the bounds.
            low, high = math.floor(low + _ALMOST_WHOLE), math.ceil(high - _ALMOST_WHOLE)
        return low, high, math.nan, 0.0

    def _read_estimate(self, label: Any, given: Estimate) -> tuple[float, float, float, float]:
        """Cut the 95 % interval to what is possible."""
        low, high = (end * self._unit for end in given.interval)
        is_large_share = self._as_shares and given.value > 1 + _AGREE
        if high < 0 or low > self.rows + self._slack or is_large_share:
            raise InvalidTable(f"{self._expected(label)}, got {brief(given)}", *self._if_percentage(given.value))
        low, high, value = (min(max(n, 0.0), self.rows) for n in (low, high, given.value * self._unit))
        return low, high, value, float(given.se) * self._unit

    def _expected(self, label: Any) -> str:
        """The beginning of a refusal."""
        what, of = ("share", "of ") if self._as_shares else ("total", "")
        most = f"{_number_text(self._most)} ({of}{self._which})"
        return f"Expected a {what} of class {brief(label)}{self.where} between 0 and {most}"

    def _refuse_fraction(self, number: float, given: Any, label: Any) -> None:
        """Refuse an exact count that no number of rows can meet."""
        if not self.is_weighted and not self._as_shares and not number.is_integer():
            raise InvalidTable(
                f"{self._expected(label)}, a whole number, got {brief(given)}",
                Remedy.MULTIPLY_SHARES,
                Remedy.SAY_SHARES,
            )

    def _refuse_outside(self, number: float, shown: str, label: Any) -> None:
        if not 0 <= number <= self._most + (_AGREE if self._as_shares else self._slack):
            cures = self._recount if number > self._most else ()
            raise InvalidTable(f"{self._expected(label)}, got {shown}", *cures, *self._if_percentage(number))

    def _if_percentage(self, number: float) -> tuple[Remedy, ...]:
        """The remedy if a share is probably a percentage."""
        return (Remedy.DIVIDE_PERCENTAGES,) if self._as_shares and 1 < number <= 100 else ()

    def refuse_shares(self, given: Mapping[Any, Any]) -> None:
        """Refuse totals that look like shares but are not marked as such."""
        for label, total in given.items():
            if _look_like_shares([total]) and self.rows >= 2:
                kind = "" if self.is_weighted or not is_number(total) else ", a whole number"
                raise InvalidTable(
                    f"{self._expected(label)}{kind}, got {brief(total)}", Remedy.MULTIPLY_SHARES, Remedy.SAY_SHARES
                )

    def _refuse_percentages(self, given: Mapping[Any, Any]) -> None:
        """Refuse numbers that add up to 100 where there are fewer rows."""
        found = [(_float(total), label) for label, total in given.items() if is_number(total)]
        finite = [(number, label) for number, label in found if math.isfinite(number)]
        if self._as_shares or self.rows >= 99 or len(finite) < 2 or abs(sum(n for n, _ in finite) - 100) >= 0.5:
            return
        number, label = max(finite, key=lambda pair: pair[0])
        raise InvalidTable(f"{self._expected(label)}, got {_number_text(number)}", Remedy.SAY_PERCENTAGES)


def _look_like_shares(totals: Iterable[Any]) -> bool:
    """Whether all numbers are between 0 and 1, and not just 0 and 1."""
    found = [number for total in totals for number in _numbers_in(total)]
    return all(0 <= number <= 1 for number in found) and any(0 < number < 1 for number in found)


def _numbers_in(given: Any) -> list[float]:
    """The finite numbers of a total in any form."""
    if isinstance(given, Estimate):
        return [float(given.value)]
    parts = given if isinstance(given, (tuple, list)) else [given]
    return [number for part in parts if is_number(part) and math.isfinite(number := _float(part))]


def is_number(value: Any) -> bool:
    """Whether a value is a real number; booleans are not."""
    return isinstance(value, (numbers.Real, Decimal)) and not isinstance(value, (bool, np.bool_))


def _float(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _number_text(number: float) -> str:
    """A number in messages: without a decimal point if it is whole."""
    return f"{number:.0f}" if float(number).is_integer() else f"{number:.10g}"


# Forms: mappings, series and tables as domains and classes with their totals.


def text_of(value: Any) -> str:
    """The text that a domain or a class would have in a file."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def mapping_of(given: Any) -> dict[Any, Any] | None:
    """A mapping or a pandas series as a dictionary, None for anything else."""
    if isinstance(given, Mapping):
        return dict(given)
    if hasattr(given, "index") and hasattr(given, "items") and not hasattr(given, "columns"):
        keys = given.index.tolist()
        _refuse_repeated_classes(keys)
        return dict(zip(keys, given.tolist(), strict=True))
    return None


def _one_for_each(given: Any, name: str, domains: Domains) -> Sequence[Any]:
    """One form for each margin, or for the whole table."""
    is_list = isinstance(given, (list, tuple)) and not _are_records(given)
    if len(domains) <= 1:
        return given if domains and is_list and len(given) == 1 else [given]
    if is_to_estimate(given):
        return [given] * len(domains)
    if not is_list or len(given) != len(domains):
        got = plural(len(given), "entry", "entries") if is_list else brief(given)
        raise InvalidProblem(
            f"Expected {name} to be a list with one table for each of the {len(domains)} margins of domains, got {got}."
        )
    return list(given)


class _Table(NamedTuple):
    """Columns of any frame, and the index of a pandas frame: names of its rows, or only their numbers."""

    columns: dict[Any, list[Any]]
    row_names: list[Any] | None = None
    has_only_numbers: bool = True


Reading = tuple[Any, Any, tuple[Any, ...]]
"""Columns of a long table: domains (None: the whole table), classes, and one or two for the totals."""


@dataclass(frozen=True)
class _FormReader:
    """Finds domains and classes in a form of totals by those that the rows have.

    Attributes
    ----------
    name : str
        The parameter that has the totals.
    margin : str
        The name of the margin; empty if it has none.
    domains : list or None
        Its domains; None for the whole table.
    classes : list
        The classes.
    """

    name: str
    margin: str
    domains: list[Any] | None
    classes: list[Any]

    def read(self, given: Any) -> Cells:
        """The totals of each class in each domain."""
        if is_to_estimate(given):
            return {domain: dict.fromkeys(self.classes, ESTIMATE) for domain in self.domains or [WHOLE]}
        is_whole = self.domains is None
        table, entries = _table_of(given), mapping_of(given)
        if table is None and not is_whole and entries and all(isinstance(k, tuple) and len(k) == 2 for k in entries):
            first, second = zip(*entries, strict=True)
            table = _Table({"first": list(first), "second": list(second), "value": list(entries.values())})
        if table is not None:
            cells = self._read_table(table)
            if not is_whole:
                return cells
            entries = cells[WHOLE]
        if not entries or (is_whole and any(mapping_of(value) is not None for value in entries.values())):
            raise self._unknown_form(given, has_domains=bool(entries))
        if is_whole:
            return {WHOLE: entries}
        found: Cells = {}
        for domain, part in entries.items():
            inner = dict.fromkeys(self.classes, ESTIMATE) if is_to_estimate(part) else mapping_of(part)
            if not inner:
                raise self._unknown_form(given, has_domains=True)
            found[domain] = inner
        return found

    def _unknown_form(self, given: Any, *, has_domains: bool) -> InvalidProblem:
        if self.domains is None and has_domains:
            return InvalidTable(f"The {self.name} are by domain, but no domains were passed", Remedy.PASS_DOMAINS)
        expected = "classes to counts, as in {'A': 120}"
        if self.domains is not None:
            expected = "domains to the counts of classes, as in {'north': {'A': 120}}, because rows have domains"
        return InvalidProblem(f"Expected {self.name} to map {expected}, got {brief(given)}.")

    def _read_table(self, table: _Table) -> Cells:
        """Totals of a wide table, with a column for each class, or of a long one, with a row for each class."""
        if any(_is_among(column, self.classes) for column in table.columns):
            return self._read_wide(table)
        columns = table.columns
        if self.domains is None and table.row_names is not None and not table.has_only_numbers:
            columns = {"": table.row_names, **columns}
        reading = self._best_reading(columns)
        if reading is not None:
            return self._read_long(columns, *reading)
        if self.domains is not None:  # its classes may have no label
            return self._read_wide(table)
        raise InvalidTable(
            f"Expected a table of {self.name} with a column of the classes {self.classes[:10]} and a column of counts, "
            f"got the columns {list(columns)[:10]}",
            Remedy.PASS_DOMAINS,
        )

    def _read_wide(self, table: _Table) -> Cells:
        column, domains = self._domain_column(table)
        self._refuse_odd_keys(domains, "domain")
        for domain in _repeated([text_of(domain) for domain in domains]):
            raise InvalidProblem(f"Domain {brief(domain)} has two rows in the table of {self.name}: keep one of them.")
        cells: Cells = {domain: {} for domain in domains}
        for label, totals in table.columns.items():
            if column is None or label != column:
                for domain, total in zip(domains, totals, strict=True):
                    if not marks_missing(total):
                        cells[domain][self._as_class(label)] = total
        return cells

    def _domain_column(self, table: _Table) -> tuple[Any, list[Any]]:
        """The column of a wide table that holds the domains, None for its index; and the domains."""
        if self.domains is None:
            n_rows = len(next(iter(table.columns.values()), []))
            if n_rows != 1:
                raise InvalidTable(
                    f"The table of {self.name} has {n_rows} rows, but no domains were passed for them",
                    Remedy.PASS_DOMAINS,
                )
            return None, [WHOLE]
        if table.row_names is not None and not table.has_only_numbers and _share_among(table.row_names, self.domains):
            return None, table.row_names
        others = {column: values for column, values in table.columns.items() if not _is_among(column, self.classes)}
        if others:
            known = self.domains
            # The column named like the margin, or with its domains, or at least with something other than numbers.
            column = max(
                others,
                key=lambda column: (
                    self.margin != "" and str(column) == self.margin,
                    _share_among(others[column], known) > 0,
                    not all(map(is_number, others[column])),
                ),
            )
            return column, others[column]
        if table.row_names is not None:
            return None, table.row_names
        raise InvalidProblem(
            f"The table of {self.name} needs a column of domains next to those of the classes; its columns are "
            f"{list(table.columns)[:10]}."
        )

    def _read_long(self, columns: dict[Any, list[Any]], domain: Any, label: Any, totals: tuple[Any, ...]) -> Cells:
        keys = _keys(columns, domain, label)
        for where, what in _repeated([(text_of(where), text_of(what)) for where, what in keys]):
            in_domain = "" if domain is None else f" in domain {brief(where)}"
            raise InvalidProblem(
                f"Class {brief(what)}{in_domain} has two rows in the table of {self.name}: keep one of them."
            )
        self._refuse_odd_keys([what for _, what in keys], "class")
        self._refuse_odd_keys([where for where, _ in keys], "domain")
        is_estimate = len(totals) == 2 and str(totals[1]).strip().lower() == "se"
        cells: Cells = {}
        for (where, what), *parts in zip(keys, *(columns[column] for column in totals), strict=True):
            entries = cells.setdefault(where, {})
            if all(marks_missing(part) for part in parts):
                continue
            total: Any = parts[0]
            if is_estimate and not marks_missing(parts[1]):
                total = Estimate(*parts)
            elif len(parts) == 2 and not is_estimate:
                total = tuple(None if marks_missing(part) else part for part in parts)
            entries[self._as_class(what)] = total
        return cells

    def _best_reading(self, columns: dict[Any, list[Any]]) -> Reading | None:
        """The reading whose columns hold known domains and classes; None if there is none."""
        worth = {reading: self._worth(columns, *reading) for reading in self._readings(columns)}
        most = max(worth.values(), default=0.0)
        best = [reading for reading, value in worth.items() if value == most > 0]
        if len(best) > 1:
            raise InvalidProblem(
                f"The columns {list(columns)} of {self.name} can be read in {len(best)} ways as domains, classes and "
                "counts: pass a mapping of domains to mappings of classes to counts."
            )
        return best[0] if best else None

    def _readings(self, columns: dict[Any, list[Any]]) -> Iterator[Reading]:
        """All ways to read the columns: one total, or low and high, or a total and its standard error named se."""
        by_name = {str(column).strip().lower(): column for column in columns}
        ends = tuple(by_name[end] for end in ("low", "high") if end in by_name)
        bounds = ends if len(ends) == 2 else ()
        errors = (by_name["se"],) if "se" in by_name and not bounds else ()
        rest = [column for column in columns if column not in bounds + errors]
        n_keys = 2 if self.domains else 1
        if len(rest) == n_keys + (not bounds):
            for chosen in permutations(rest):
                keys, total = chosen[:n_keys], chosen[n_keys:]
                yield keys[0] if n_keys == 2 else None, keys[-1], bounds or (*total, *errors)

    def _worth(self, columns: dict[Any, list[Any]], domain: Any, label: Any, totals: tuple[Any, ...]) -> float:
        """How well a reading fits: by shares of known domains and classes, and totals that are numbers; 0 if not."""
        labels = _share_among(columns[label], self.classes)
        domains = 1.0 if domain is None else _share_among(columns[domain], self.domains or ())
        if not labels or not domains:
            return 0.0
        are_totals = all(
            is_number(total)
            or isinstance(total, (Estimate, tuple, list))
            or marks_missing(total)
            or is_to_estimate(total)
            for column in totals
            for total in columns[column]
        )
        is_named = domain is not None and self.margin != "" and str(domain) == self.margin
        keys = [(text_of(where), text_of(what)) for where, what in _keys(columns, domain, label)]
        return labels + domains + 4.0 * are_totals + 2.0 * is_named + 3.0 * (not _repeated(keys))

    def _as_class(self, value: Any) -> Any:
        """The known class that a column name or an entry stands for: files hold text, whatever the labels are."""
        if value in self.classes:
            return value
        twins = [label for label in self.classes if text_of(label) == text_of(value)]
        if len(twins) == 1:
            return twins[0]
        are_whole = all(isinstance(label, int) and not isinstance(label, bool) for label in self.classes)
        if self.classes and are_whole and isinstance(value, str) and value.strip().isdecimal():
            return int(value)
        return value

    def _refuse_odd_keys(self, keys: Sequence[Any], kind: str) -> None:
        for key in keys:
            if marks_missing(key) or type(key).__hash__ is None:
                raise InvalidProblem(f"Every row of the table of {self.name} needs a {kind}, but one has {brief(key)}.")


def _table_of(given: Any) -> _Table | None:
    """The columns of a pandas or polars frame, an Arrow table or a list of records; None for anything else."""
    if hasattr(given, "reset_index") and type(given.index).__name__ == "MultiIndex":
        if not hasattr(given, "columns"):
            given = given.rename("value")
        levels = [f"level {k}" if level is None else level for k, level in enumerate(given.index.names)]
        given = given.rename_axis(levels).reset_index()
    if hasattr(given, "column_names") and hasattr(given, "to_pydict"):
        return _Table(given.to_pydict())
    if _are_records(given):
        names = dict.fromkeys(name for record in given for name in record)
        return _Table({name: [record.get(name) for record in given] for name in names})
    if not (hasattr(given, "index") or hasattr(given, "get_column")) or not hasattr(given, "columns"):
        return None
    _refuse_repeated_classes(list(given.columns))
    columns = {name: given[name].to_list() for name in given.columns}
    if not hasattr(given, "index"):
        return _Table(columns)
    return _Table(columns, given.index.tolist(), type(given.index).__name__ == "RangeIndex")


def _are_records(given: Any) -> bool:
    """Whether this is a list of rows, each a mapping of column names to totals, domains and classes."""
    return (
        isinstance(given, (list, tuple))
        and len(given) > 0
        and all(isinstance(row, Mapping) for row in given)
        and not any(isinstance(entry, Mapping) or hasattr(entry, "items") for row in given for entry in row.values())
    )


def _keys(columns: dict[Any, list[Any]], domain: Any, label: Any) -> list[tuple[Any, Any]]:
    """The domain and the class of each row of a long table."""
    labels = columns[label]
    return list(zip([WHOLE] * len(labels) if domain is None else columns[domain], labels, strict=True))


def _is_among(value: Any, known: Sequence[Any]) -> bool:
    return _share_among([value], known) > 0


def _share_among(values: list[Any], known: Sequence[Any]) -> float:
    found, texts = {text_of(value) for value in values}, {text_of(one) for one in known}
    return len(found & texts) / max(len(found), 1)


def _repeated(keys: Sequence[Any]) -> list[Any]:
    return [key for key, number in Counter(keys).items() if number > 1]


def _refuse_repeated_classes(keys: list[Any]) -> None:
    for key in _repeated(keys):
        raise InvalidProblem(f"Class {brief(key)} has more than one total: keep one of them.")


NEARLY_MET = 0.5
"""A total counts as met up to this part of a row: sums of weights rarely reach it exactly."""


@dataclass(frozen=True, eq=False)
class Margin:
    """Totals of every class in every domain of one division of the rows.

    Attributes
    ----------
    name : str
        What divides the rows, for instance the region; empty if the whole table is the only domain.
    domains : ndarray of shape (n_domains,)
        The domains in the user's terms.
    codes : ndarray of shape (m,)
        Domain of each unlabeled row.
    low, high : ndarray of shape (n_domains, n_classes)
        Bounds on the unlabeled rows of each class, equal if the total is known exactly; 0 and all rows of the domain
        if nothing is known.
    value : ndarray of shape (n_domains, n_classes)
        The known total, or its estimate; NaN if only bounds are known.
    se : ndarray of shape (n_domains, n_classes)
        Standard error of the total: 0 unless it is an estimate.
    """

    name: str
    domains: ObjectArray
    codes: IntArray
    low: FloatArray
    high: FloatArray
    value: FloatArray
    se: FloatArray

    @classmethod
    def exact(cls, totals: Sequence[float] | IntArray | FloatArray, n_unlabeled: int) -> Margin:
        """The paper's case: one domain, all totals known."""
        known = np.asarray(totals, dtype=float)[None, :]
        everything = np.array([""], dtype=object)
        codes = np.zeros(n_unlabeled, dtype=np.int64)
        return cls("", everything, codes, known, known, known, np.zeros_like(known))

    @property
    def n_domains(self) -> int:
        """Number of domains."""
        return len(self.domains)

    def mapped(self, change: Callable[[FloatArray], FloatArray]) -> Margin:
        """The same with a change to each of the four arrays."""
        low, high, value, se = map(change, (self.low, self.high, self.value, self.se))
        return replace(self, low=low, high=high, value=value, se=se)

    def counts(self, classes: IntArray, sizes: FloatArray) -> FloatArray:
        """Rows of each class in each domain, each row counted with its size, shape (n_domains, n_classes)."""
        n_classes = self.low.shape[1]
        cell = self.codes * n_classes + classes
        return np.bincount(cell, weights=sizes, minlength=self.low.size).astype(float).reshape(self.low.shape)

    def rows_off(self, counts: FloatArray) -> FloatArray:
        """For each domain, the rows that would have to change class to be within the bounds, shape (n_domains,)."""
        return rows_beyond_bounds(counts, self.low, self.high)

    def excess(self, counts: FloatArray) -> FloatArray:
        """For each cell, the rows above its upper bound, or as a negative number those missing to its lower bound."""
        return np.asarray(np.maximum(counts - self.high, 0.0) - np.maximum(self.low - counts, 0.0))


def rows_beyond_bounds(counts: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Rows that would have to change class to be within bounds; classes are on the last axis of all three arrays."""
    over, under = np.maximum(counts - high, 0.0).sum(axis=-1), np.maximum(low - counts, 0.0).sum(axis=-1)
    return np.asarray(np.maximum(over, under))


@dataclass(frozen=True, eq=False)
class Targets:
    """Known totals of the unlabeled rows in all margins.

    Parameters
    ----------
    margins : tuple of Margin
        At least one.
    """

    margins: tuple[Margin, ...]

    @classmethod
    def exact(cls, totals: Sequence[float] | IntArray | FloatArray, n_unlabeled: int) -> Targets:
        """The paper's case: one total of each class, over all unlabeled rows."""
        return cls((Margin.exact(totals, n_unlabeled),))

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.margins[0].low.shape[1])

    @property
    def n_cells(self) -> int:
        """Number of cells over all margins."""
        return sum(margin.low.size for margin in self.margins)

    @property
    def has_one_domain(self) -> bool:
        """Whether the whole table is the only domain."""
        return len(self.margins) == 1 and self.margins[0].n_domains == 1

    @cached_property
    def is_plain(self) -> bool:
        """Whether there is one domain, and each of its totals is a single number."""
        return self.has_one_domain and bool((self.margins[0].low == self.margins[0].high).all())

    @cached_property
    def is_known(self) -> bool:
        """Whether there is one domain, and its totals are known exactly, without estimates."""
        return self.is_plain and not self.margins[0].se.any()

    @cached_property
    def low(self) -> FloatArray:
        """Lower bounds of all cells, margin after margin, domain after domain, shape (n_cells,)."""
        return np.concatenate([margin.low.ravel() for margin in self.margins])

    @cached_property
    def high(self) -> FloatArray:
        """Upper bounds of all cells in the same order."""
        return np.concatenate([margin.high.ravel() for margin in self.margins])

    @cached_property
    def first_cells(self) -> IntArray:
        """Position of the cell of class 0 in the domain of each row, for each margin, shape (n_margins, m)."""
        begins = np.cumsum([0, *(margin.low.size for margin in self.margins[:-1])])
        return np.array(
            [begin + margin.codes * self.n_classes for begin, margin in zip(begins, self.margins, strict=True)],
            dtype=np.int64,
        )

    def rows_off(self, classes: IntArray, sizes: FloatArray) -> float:
        """Rows that would have to change class to meet all totals, added up over margins and domains."""
        return float(sum(margin.rows_off(margin.counts(classes, sizes)).sum() for margin in self.margins))

    def _each(self, change: Callable[[Margin], Margin]) -> Targets:
        return replace(self, margins=tuple(map(change, self.margins)))

    def of_rows(self, rows: IntArray) -> Targets:
        """The same totals for some of the rows, each of which may stand for several."""
        return self._each(lambda margin: replace(margin, codes=margin.codes[rows]))

    def arranged(self, rows: IntArray, classes: IntArray) -> Targets:
        """The same totals with rows and classes in another order."""
        return self.of_rows(rows)._each(lambda margin: margin.mapped(lambda part: part[:, classes]))

    def over(self, unit: float) -> Targets:
        """The same totals in another unit; numbers that should be whole are, in spite of rounding errors."""
        return self._each(lambda margin: margin.mapped(lambda part: _near_whole(part / unit)))

    def shifted(self, change: FloatArray) -> Targets:
        """The same with a change added to each cell, which does not fall below 0."""
        shifts = np.split(change, np.cumsum([margin.low.size for margin in self.margins[:-1]]))
        margins = []
        for margin, shift in zip(self.margins, shifts, strict=True):
            more = shift.reshape(margin.low.shape)
            low, high, value = (np.maximum(part + more, 0.0) for part in (margin.low, margin.high, margin.value))
            margins.append(replace(margin, low=low, high=high, value=value))
        return replace(self, margins=tuple(margins))

    def widened(self, rows: float) -> Targets:
        """The same with bounds that are wider by a number of rows on both sides."""
        return self._each(lambda m: replace(m, low=np.maximum(m.low - rows, 0.0), high=m.high + rows))

    def class_totals(self) -> FloatArray:
        """Total of each class over all domains of the first margin, with the middle of bounds as an unknown total."""
        margin = self.margins[0]
        middle = 0.5 * (margin.low + margin.high)
        return np.asarray(np.where(np.isnan(margin.value), middle, margin.value).sum(axis=0))


def _near_whole(numbers: FloatArray) -> FloatArray:
    """Remove the rounding errors of numbers that should be whole."""
    whole = np.round(numbers)
    return np.where(np.abs(numbers - whole) <= 1e-12 * np.maximum(np.abs(whole), 1.0), whole, numbers)
