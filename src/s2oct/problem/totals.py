"""Known totals in every form that users have: recognised by class and domain, then counted as bounds on rows.

`stated_totals` recognises the form and `read_targets` counts. A form is a mapping or a series of classes, a mapping of
domains to such mappings, a wide table with a column for each class, or a long table with a row for each class.
"""

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
                raise InvalidProblem(f"Expected the {name} of an estimate to be a finite number, got {brief(number)}.")
        if self.se < 0:
            raise InvalidProblem(f"Expected the standard error of an estimate to be at least 0, got {brief(self.se)}.")

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
    known = [_Known(margin, distinct_values(values), classes) for margin, values in domains]
    tables = [
        _read_form(form, name, part)
        for form, part in zip(_one_for_each(given, name, domains), known or [_Known("", None, classes)], strict=True)
    ]
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
            raise InvalidProblem(f"Expected {name} of the classes {labeled}, got {brief(label)}.{hint}")


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
    return [_divide(name, values, labels, needs_all=needs_all) for name, values in domains]


def _divide(name: str, values: ObjectArray, labels: Labels, *, needs_all: bool) -> Division:
    if len(values) != len(labels.codes):
        raise InvalidProblem(f"Expected one domain per row, got {len(values)} domains for {len(labels.codes)} rows.")
    cells = values.tolist()
    missing = np.fromiter((marks_missing(cell) for cell in cells), dtype=bool, count=len(cells))
    needed = missing if needs_all else missing & (labels.codes == UNLABELED)
    if needed.any():
        which = plural(int(needed.sum()), "row" if needs_all else "unlabeled row")
        of_margin = f" of {brief(name)}" if name else ""
        verb = "has" if needed.sum() == 1 else "have"
        raise InvalidProblem(f"{which} {verb} no domain{of_margin}: give each of them one, or leave them out.")
    found = _sorted({cell for cell, is_missing in zip(cells, missing, strict=True) if not is_missing})
    place = {domain: code for code, domain in enumerate(found)}
    codes = [_NO_DOMAIN if is_missing else place[cell] for cell, is_missing in zip(cells, missing, strict=True)]
    return Division(name, found, np.array(codes, dtype=np.int64))


def _sorted(domains: set[Any]) -> list[Any]:
    try:
        return sorted(domains)
    except TypeError:
        return sorted(domains, key=lambda domain: (type(domain).__name__, text_of(domain)))


class _Total(NamedTuple):
    """Bounds on a number of rows, the number or its estimate (NaN if unknown), and its standard error."""

    low: float
    high: float
    value: float
    se: float

    @property
    def is_exact(self) -> bool:
        return self.low == self.high


@dataclass(frozen=True)
class _Base:
    """The rows of one domain that its totals divide.

    Attributes
    ----------
    stated : StatedTotals
        What the totals count, and whether they are shares.
    where : str
        The domain in messages, with a blank before it; empty for the whole table.
    rows : float
        How many rows there are, each counted with its weight.
    is_weighted : bool
        Whether rows have weights; without any, counts are whole numbers.
    """

    stated: StatedTotals
    where: str
    rows: float
    is_weighted: bool

    @property
    def as_shares(self) -> bool:
        return self.stated.as_shares

    @property
    def most(self) -> float:
        """The largest total: all rows, or the share 1."""
        return 1.0 if self.as_shares else self.rows

    @property
    def which(self) -> str:
        if self.where:
            return "all its rows" if self.stated.of_all else "its unlabeled rows"
        return "all rows" if self.stated.of_all else "the unlabeled rows"

    @property
    def slack(self) -> float:
        """What rounding errors may add to a sum over the rows; always less than a row without weights."""
        return _AGREE * self.rows if self.is_weighted else min(_AGREE * self.rows, 0.25)

    @property
    def can_miscount(self) -> bool:
        """Whether totals that do not fit may count other rows: those of all rows, or more rows than a fold has."""
        return not self.as_shares and not self.is_weighted and not self.where

    def expected(self, label: Any) -> str:
        """The beginning of a refusal."""
        what, of = ("share", f"of {self.which}") if self.as_shares else ("total", self.which)
        return f"Expected a {what} of class {brief(label)}{self.where} between 0 and {_number_text(self.most)} ({of})"


def _margin(
    cells: Cells, division: Division, labels: Labels, sizes: FloatArray, stated: StatedTotals, is_weighted: bool
) -> Margin:
    """Bounds on the unlabeled rows of each class in each domain that has any."""
    classes = labels.classes.tolist()
    everywhere = np.ones(len(labels.codes), dtype=bool)
    unlabeled = division.sizes(sizes, ~labels.is_labeled)
    in_all = division.sizes(sizes, everywhere) if stated.of_all else unlabeled
    has_unlabeled = division.sizes(np.ones(len(sizes)), ~labels.is_labeled) > 0
    labeled = np.zeros((len(division.domains), len(classes)))
    if stated.of_all:
        labeled = np.column_stack([division.sizes(sizes, labels.codes == k) for k in range(len(classes))])
    given = _matched(cells, division, stated.name, has_unlabeled)
    # Small totals of one domain may be estimates below 1; those of all domains are shares.
    are_shares = _look_like_shares(total for entries in given for total in entries.values())
    totals = np.zeros((4, len(given), len(classes)))
    for k, (domain, entries) in enumerate(zip(division.domains, given, strict=True)):
        if not entries:
            continue  # All its rows are labeled, so nothing is left to know.
        where = "" if division.is_whole else f" in domain {brief(domain)}"
        base = _Base(stated, where, float(in_all[k]), is_weighted)
        if are_shares:
            _refuse_unmarked_shares(entries, base)
        own = dict(zip(classes, labeled[k].tolist(), strict=True))
        entries = {label: _in_rows(total, float(unlabeled[k]), own[label]) for label, total in entries.items()}
        known = _domain_totals(entries, classes, base)
        if stated.of_all:
            known = _less_labeled(known, own, float(unlabeled[k]), base)
        totals[:, k] = np.array(known).T
    # If every row is labeled, all domains stay: a margin needs at least one.
    kept = has_unlabeled if has_unlabeled.any() else np.ones(len(given), dtype=bool)
    domains = np.empty(len(division.domains), dtype=object)
    domains[:] = division.domains
    codes = (np.cumsum(kept) - 1)[division.codes[~labels.is_labeled]]
    return Margin(division.name, domains[kept], codes.astype(np.int64), *totals[:, kept])


def _matched(cells: Cells, division: Division, name: str, has_unlabeled: BoolArray) -> list[dict[Any, Any]]:
    """The totals of each domain of the rows; refuses domains without rows, and domains without totals."""
    if division.is_whole:
        return [cells[WHOLE]]
    # A domain of the totals is the one with the same value and type, or else the only one with the same text.
    places: dict[Any, list[int]] = {}
    for place, domain in enumerate(division.domains):
        places.setdefault((type(domain), domain), []).append(place)
        places.setdefault(text_of(domain), []).append(place)
    entries: dict[int, dict[Any, Any]] = {}
    for domain, given in cells.items():
        found = places.get((type(domain), domain)) or places.get(text_of(domain), [])
        if len(found) != 1:
            _refuse_positive(domain, given, division, name)
        elif found[0] in entries:
            raise InvalidProblem(f"Domain {brief(domain)} has {name} twice: keep one of them.")
        else:
            entries[found[0]] = given
    unnamed = [d for k, d in enumerate(division.domains) if has_unlabeled[k] and not entries.get(k)]
    if unnamed:
        shown = [brief(domain) for domain in unnamed[:_MOST_NAMED]]
        more = len(unnamed) - len(shown)
        which = f"{', '.join(shown)} and {more} more" if more else listed(shown)
        raise InvalidProblem(f"Expected {name} for every domain of the unlabeled rows, got none for {which}.")
    return [entries.get(k, {}) for k in range(len(division.domains))]


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


def _in_rows(given: Any, unlabeled: float, labeled: float) -> Any:
    """Turn a share that the fit estimated into rows; bounds are open for a total that is still to be estimated.

    The fit aims at its estimate: within the interval of an `Estimate`, guide and tree would follow the biased labels.
    """
    if is_to_estimate(given):
        return (None, None)
    if not isinstance(given, EstimatedShare):
        return given
    rows = given.value * unlabeled + labeled
    return _Total(rows, rows, rows, given.se * unlabeled)


def _domain_totals(given: Mapping[Any, Any], classes: list[Any], base: _Base) -> list[_Total]:
    """One total for each class: those given, and what follows for the others."""
    _refuse_unmarked_percentages(given, base)
    known = {classes.index(label): _read_total(label, total, base) for label, total in given.items()}
    missing = [index for index in range(len(classes)) if index not in known]
    _refuse_impossible_sums(list(known.values()), given, base, is_complete=not missing)
    if (base.as_shares or any(isinstance(total, _Total) for total in given.values())) and not base.is_weighted:
        known = _in_whole_rows(known, base)
    rest = _Total(0.0, base.rows, math.nan, 0.0)
    if len(missing) == 1:
        low, high = (
            min(max(base.rows - sum(ends), 0.0), base.rows)
            for ends in ([total.high for total in known.values()], [total.low for total in known.values()])
        )
        errors = (total.se for total in known.values())
        rest = _Total(low, high, low, math.hypot(*errors)) if low == high else _Total(low, high, math.nan, 0.0)
    return [known.get(index, rest) for index in range(len(classes))]


def _in_whole_rows(known: dict[int, _Total], base: _Base) -> dict[int, _Total]:
    """Shares that are known exactly as whole numbers of rows; together with the rest they add up to all rows."""
    exact = [index for index, total in known.items() if total.is_exact]
    parts = [known[index].value for index in exact]
    rest = max(base.rows - sum(parts), 0.0)
    rounded = largest_remainder(np.array([*parts, rest]), round(base.rows))[:-1].astype(float).tolist()
    return known | {i: _Total(n, n, n, known[i].se) for i, n in zip(exact, rounded, strict=True)}


def _refuse_impossible_sums(known: list[_Total], given: Mapping[Any, Any], base: _Base, *, is_complete: bool) -> None:
    """Refuse totals that cannot add up to the rows of their domain."""
    low, high = sum(total.low for total in known), sum(total.high for total in known)
    unit = base.rows if base.as_shares and base.rows else 1.0
    noun = "shares" if base.as_shares else base.stated.name
    rows = f"{_number_text(base.most)}{base.where} ({base.which})"
    shown = brief(dict(given), _LONGEST_SHOWN)
    is_above, is_below = low > base.rows + base.slack, is_complete and high < base.rows - base.slack
    if not is_above and not is_below:
        return
    in_all = f"{_number_text((low if is_above else high) / unit)} in all"
    if all(total.is_exact for total in known):
        are_percent = not base.as_shares and is_complete and abs(low - 100) < 0.5
        cure = Remedy.SAY_PERCENTAGES if are_percent else Remedy.COUNT_ROWS
        cures = (cure,) if are_percent or base.can_miscount else ()
        raise InvalidTable(f"Expected {noun} that add up to {rows}, got {shown}, {in_all}", *cures)
    end, most = ("lower", "most") if is_above else ("upper", "least")
    raise InvalidProblem(f"Expected {noun} whose {end} bounds add up to at {most} {rows}, got {shown}, {in_all}.")


def _less_labeled(known: list[_Total], own: Mapping[Any, float], unlabeled: float, base: _Base) -> list[_Total]:
    """Totals of the unlabeled rows from those of all rows; ``own`` are the labeled rows of each class."""
    for (label, n_own), total in zip(own.items(), known, strict=True):
        if total.high < n_own - base.slack:
            raise _beyond(label, total.high, base, f"at least {_number_text(n_own)} (its labeled rows)")
    for (label, n_own), total in zip(own.items(), known, strict=True):
        if total.low > n_own + unlabeled + base.slack:
            most = _number_text(n_own + unlabeled)
            raise _beyond(label, total.low, base, f"at most {most} (its labeled and all unlabeled rows)")
    left = [_reduced(total, n_own, unlabeled) for total, n_own in zip(known, own.values(), strict=True)]
    low, high = sum(total.low for total in left), sum(total.high for total in left)
    if low > unlabeled + base.slack or high < unlabeled - base.slack:
        got = f"at least {_number_text(low)}" if low > unlabeled else f"at most {_number_text(high)}"
        raise InvalidProblem(
            f"There are {_number_text(unlabeled)} unlabeled rows{base.where}, but population_totals leave {got} after "
            "the labeled rows are subtracted."
        )
    return left


def _beyond(label: Any, number: float, base: _Base, expected: str) -> InvalidProblem:
    return InvalidProblem(
        f"Expected a population total of class {brief(label)}{base.where} of {expected}, got {_number_text(number)}."
    )


def _reduced(total: _Total, labeled: float, unlabeled: float) -> _Total:
    low, high, value = (min(max(number - labeled, 0.0), unlabeled) for number in total[:3])
    return _Total(low, high, math.nan if math.isnan(total.value) else value, total.se)


# A single total: a number, bounds or an estimate.


def _read_total(label: Any, given: Any, base: _Base) -> _Total:
    """Read the total of one class: a number, a pair of bounds or an `Estimate`, in rows or as a share."""
    if isinstance(given, _Total):
        return given
    if isinstance(given, Estimate):
        return _read_estimate(label, given, base)
    if isinstance(given, (tuple, list)) and len(given) == 2:
        return _read_bounds(label, given, base)
    if not is_number(given) or (isinstance(given, int) and math.isinf(_float(given))):
        raise InvalidProblem(f"{base.expected(label)}, got {brief(given)}.")
    number = _float(given)
    _refuse_fraction(number, given, label, base)
    _refuse_outside(number, _number_text(number), label, base)
    rows = min(number, base.most) * (base.rows if base.as_shares else 1.0)
    return _Total(rows, rows, rows, 0.0)


def _read_bounds(label: Any, given: Sequence[Any], base: _Base) -> _Total:
    """Bounds; None leaves one open, and what exceeds the rows is cut off."""
    low, high = (open_end if end is None else end for end, open_end in zip(given, (0.0, base.most), strict=True))
    if not (is_number(low) and is_number(high)) or not _float(low) <= _float(high):
        raise InvalidProblem(
            f"Expected an interval (low, high) for class {brief(label)}{base.where}, two numbers in ascending order, "
            f"got {brief(given)}."
        )
    _refuse_outside(_float(low), brief(given), label, base)
    if base.as_shares:
        _refuse_outside(_float(high), brief(given), label, base)
    low, high = min(_float(low), base.most), min(_float(high), base.most)
    if base.as_shares:
        low, high = low * base.rows, high * base.rows
    if low == high:
        _refuse_fraction(low, given, label, base)
        return _Total(low, high, low, 0.0)
    if base.as_shares and not base.is_weighted:
        # Outwards, so that whole numbers that add up to the rows remain within the bounds.
        low, high = math.floor(low + _ALMOST_WHOLE), math.ceil(high - _ALMOST_WHOLE)
    return _Total(float(low), float(high), math.nan, 0.0)


def _read_estimate(label: Any, given: Estimate, base: _Base) -> _Total:
    """The 95 % interval, cut to what is possible."""
    unit = base.rows if base.as_shares else 1.0
    low, high = (end * unit for end in given.interval)
    if high < 0 or low > base.rows + base.slack:
        cures = (Remedy.DIVIDE_PERCENTAGES,) if base.as_shares and 1 < given.value <= 100 else ()
        raise InvalidTable(f"{base.expected(label)}, got {brief(given)}", *cures)
    if base.as_shares and given.value > 1:
        _refuse_outside(float(given.value), brief(given), label, base)
    low, high, value = (min(max(number, 0.0), base.rows) for number in (low, high, given.value * unit))
    return _Total(low, high, value, float(given.se) * unit)


def _refuse_fraction(number: float, given: Any, label: Any, base: _Base) -> None:
    """Refuse an exact count that no number of rows can meet."""
    if not base.is_weighted and not base.as_shares and not number.is_integer():
        raise InvalidTable(
            f"{base.expected(label)}, a whole number, got {brief(given)}", Remedy.MULTIPLY_SHARES, Remedy.SAY_SHARES
        )


def _refuse_outside(number: float, shown: str, label: Any, base: _Base) -> None:
    if not 0 <= number <= base.most + (_AGREE if base.as_shares else base.slack):
        cures = (Remedy.DIVIDE_PERCENTAGES,) if base.as_shares and 1 < number <= 100 else ()
        if number > base.most and base.can_miscount:
            cures = (Remedy.COUNT_ROWS,)
        raise InvalidTable(f"{base.expected(label)}, got {shown}", *cures)


def _refuse_unmarked_shares(given: Mapping[Any, Any], base: _Base) -> None:
    """Refuse totals that look like shares although ``as_shares`` is false."""
    for label, total in given.items():
        if _look_like_shares([total]) and not base.as_shares and base.rows >= 2:
            kind = "" if base.is_weighted or not is_number(total) else ", a whole number"
            raise InvalidTable(
                f"{base.expected(label)}{kind}, got {brief(total)}", Remedy.MULTIPLY_SHARES, Remedy.SAY_SHARES
            )


def _refuse_unmarked_percentages(given: Mapping[Any, Any], base: _Base) -> None:
    """Refuse numbers that add up to 100 where there are fewer rows."""
    found = {label: _float(total) for label, total in given.items() if is_number(total)}
    found = {label: number for label, number in found.items() if math.isfinite(number)}
    if not base.as_shares and len(found) > 1 and abs(sum(found.values()) - 100) < 0.5 and base.rows < 99:
        label = max(found, key=lambda label: found[label])
        raise InvalidTable(f"{base.expected(label)}, got {_number_text(found[label])}", Remedy.SAY_PERCENTAGES)


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
    """Whether a value is a real number; booleans are none."""
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


class _Known(NamedTuple):
    """What forms are recognised by: the name of the margin, its domains (None: the whole table), and the classes."""

    margin: str
    domains: Sequence[Any] | None
    classes: Sequence[Any]


class _Table(NamedTuple):
    """Columns of any frame, and its index if it has one: names of rows, or row numbers."""

    columns: dict[Any, list[Any]]
    row_names: list[Any] | None = None
    row_numbers: list[Any] | None = None


class _Reading(NamedTuple):
    """Which columns of a long table hold domains (None: the whole table), classes and totals."""

    domain: Any
    label: Any
    totals: tuple[Any, ...]


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


def _read_form(given: Any, name: str, known: _Known) -> Cells:
    """The totals of each class in each domain of one margin, or of the whole table."""
    is_whole = known.domains is None
    if is_to_estimate(given):
        return {domain: dict.fromkeys(known.classes, ESTIMATE) for domain in known.domains or [WHOLE]}
    table, entries = _table_of(given), mapping_of(given)
    if table is None and not is_whole and entries and all(isinstance(key, tuple) and len(key) == 2 for key in entries):
        first, second = zip(*entries, strict=True)
        table = _Table({"first": list(first), "second": list(second), "value": list(entries.values())})
    if table is not None:
        cells = _cells_of_table(table, name, known)
        if not is_whole:
            return cells
        entries = next(iter(cells.values()))
    if not entries or (is_whole and any(mapping_of(value) is not None for value in entries.values())):
        raise _unknown_form(given, name, is_whole=is_whole, has_domains=bool(entries))
    if is_whole:
        return {WHOLE: entries}
    found: Cells = {}
    for domain, part in entries.items():
        inner = dict.fromkeys(known.classes, ESTIMATE) if is_to_estimate(part) else mapping_of(part)
        if not inner:
            raise _unknown_form(given, name, is_whole=False, has_domains=True)
        found[domain] = inner
    return found


def _unknown_form(given: Any, name: str, *, is_whole: bool, has_domains: bool) -> InvalidProblem:
    if is_whole and has_domains:
        return InvalidTable(f"The {name} are by domain, but no domains were passed", Remedy.PASS_DOMAINS)
    if is_whole:
        return InvalidProblem(f"Expected {name} to map classes to counts, as in {{'A': 120}}, got {brief(given)}.")
    return InvalidProblem(
        f"Expected {name} to map domains to the counts of classes, as in {{'north': {{'A': 120}}}}, because rows have "
        f"domains, got {brief(given)}."
    )


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
        keys = list(dict.fromkeys(key for record in given for key in record))
        return _Table({key: [record.get(key) for record in given] for key in keys})
    if not (hasattr(given, "index") or hasattr(given, "get_column")) or not hasattr(given, "columns"):
        return None
    _refuse_repeated_classes(list(given.columns))
    columns = {
        name: list(column.to_list() if hasattr(column, "to_list") else column)
        for name, column in ((name, given[name]) for name in given.columns)
    }
    if not hasattr(given, "index"):
        return _Table(columns)
    index = given.index.tolist()
    return _Table(columns, row_numbers=index) if type(given.index).__name__ == "RangeIndex" else _Table(columns, index)


def _are_records(given: Any) -> bool:
    """Whether this is a list of rows, each a mapping of column names to cells."""
    return (
        isinstance(given, (list, tuple))
        and len(given) > 0
        and all(isinstance(row, Mapping) for row in given)
        and not any(isinstance(cell, Mapping) or hasattr(cell, "items") for row in given for cell in row.values())
    )


def _cells_of_table(table: _Table, name: str, known: _Known) -> Cells:
    """Totals of a wide table, with a column for each class, or of a long one, with a row for each class."""
    if any(_is_among(column, known.classes) for column in table.columns):
        return _wide_cells(table, name, known)
    if known.domains is None and table.row_names is not None:
        table = _Table({"": table.row_names, **table.columns})
    reading = _long_reading(table, name, known)
    if reading is not None:
        return _long_cells(table, name, reading, known.classes)
    if known.domains is not None:  # its classes may have no label
        return _wide_cells(table, name, known)
    raise InvalidTable(
        f"Expected a table of {name} with a column of the classes {list(known.classes[:10])} and a column of counts, "
        f"got the columns {list(table.columns)[:10]}",
        Remedy.PASS_DOMAINS,
    )


def _wide_cells(table: _Table, name: str, known: _Known) -> Cells:
    column, domains = _domain_column(table, name, known)
    _refuse_odd_keys(domains, name, "domain")
    for domain in _repeated([text_of(domain) for domain in domains]):
        raise InvalidProblem(f"Domain {brief(domain)} has two rows in the table of {name}: keep one of them.")
    cells: Cells = {domain: {} for domain in domains}
    for label, values in table.columns.items():
        if column is None or label != column:
            for domain, value in zip(domains, values, strict=True):
                if not marks_missing(value):
                    cells[domain][_as_class(label, known.classes)] = value
    return cells


def _domain_column(table: _Table, name: str, known: _Known) -> tuple[Any, list[Any]]:
    """The column of a wide table that holds the domains, None for its index; and the domains."""
    if known.domains is None:
        n_rows = len(next(iter(table.columns.values()), []))
        if n_rows != 1:
            raise InvalidTable(
                f"The table of {name} has {n_rows} rows, but no domains were passed for them", Remedy.PASS_DOMAINS
            )
        return None, [WHOLE]
    if table.row_names is not None and _share_among(table.row_names, known.domains) > 0:
        return None, table.row_names
    others = {column: cells for column, cells in table.columns.items() if not _is_among(column, known.classes)}
    if others:
        # The column with the name of the margin, or with its domains, or at least with something other than numbers.
        column = max(
            others,
            key=lambda column: (
                known.margin != "" and str(column) == known.margin,
                _share_among(others[column], known.domains or ()) > 0,
                not all(is_number(cell) for cell in others[column]),
            ),
        )
        return column, others[column]
    index = table.row_names if table.row_names is not None else table.row_numbers
    if index is not None:
        return None, index
    raise InvalidProblem(
        f"The table of {name} has no column of domains beside the classes; its columns are {list(table.columns)[:10]}."
    )


def _long_cells(table: _Table, name: str, reading: _Reading, classes: Sequence[Any]) -> Cells:
    for domain, label in _repeated(_keys(table, reading)):
        where = f" in domain {brief(domain)}" if reading.domain is not None else ""
        raise InvalidProblem(f"Class {brief(label)}{where} has two rows in the table of {name}: keep one of them.")
    labels = table.columns[reading.label]
    domains = [WHOLE] * len(labels) if reading.domain is None else table.columns[reading.domain]
    _refuse_odd_keys(labels, name, "class")
    _refuse_odd_keys(domains, name, "domain")
    totals = [table.columns[column] for column in reading.totals]
    is_estimate = len(reading.totals) == 2 and str(reading.totals[1]).strip().lower() == "se"
    cells: Cells = {}
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


def _long_reading(table: _Table, name: str, known: _Known) -> _Reading | None:
    """The reading whose columns hold known domains and classes; None if there is none."""
    worth = {reading: _worth(table, reading, known) for reading in _readings(table, has_domains=bool(known.domains))}
    most = max(worth.values(), default=0.0)
    best = [reading for reading, value in worth.items() if value == most > 0]
    if len(best) > 1:
        raise InvalidProblem(
            f"The columns {list(table.columns)} of {name} can be read in {len(best)} ways as domains, classes and "
            "counts: pass a mapping of domains to mappings of classes to counts."
        )
    return best[0] if best else None


def _readings(table: _Table, *, has_domains: bool) -> Iterator[_Reading]:
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


def _worth(table: _Table, reading: _Reading, known: _Known) -> float:
    """How well a reading fits, 0 if it cannot be: shares of known domains and classes, and totals that are numbers."""
    labels = _share_among(table.columns[reading.label], known.classes)
    domains = 1.0 if reading.domain is None else _share_among(table.columns[reading.domain], known.domains or ())
    if not labels or not domains:
        return 0.0
    cells = [cell for column in reading.totals for cell in table.columns[column]]
    are_totals = all(
        is_number(cell) or isinstance(cell, (Estimate, tuple, list)) or marks_missing(cell) or is_to_estimate(cell)
        for cell in cells
    )
    is_named = reading.domain is not None and known.margin != "" and str(reading.domain) == known.margin
    return labels + domains + 4.0 * are_totals + 2.0 * is_named + 3.0 * (not _repeated(_keys(table, reading)))


def _keys(table: _Table, reading: _Reading) -> list[tuple[str, str]]:
    labels = table.columns[reading.label]
    domains = [WHOLE] * len(labels) if reading.domain is None else table.columns[reading.domain]
    return [(text_of(domain), text_of(label)) for domain, label in zip(domains, labels, strict=True)]


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
            raise InvalidProblem(f"Expected a {kind} in each row of the table of {name}, got {brief(key)}.")


def _repeated(keys: Sequence[Any]) -> list[Any]:
    return [key for key, number in Counter(keys).items() if number > 1]


def _refuse_repeated_classes(keys: list[Any]) -> None:
    for key in _repeated(keys):
        raise InvalidProblem(f"Class {brief(key)} has more than one total: keep one of them.")
