"""Totals of one margin: checked domain by domain, completed, and turned into bounds on the unlabeled rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.errors import InvalidProblem, InvalidTable, Remedy
from s2oct.model.divisions import Division, matched
from s2oct.model.labels import Labels
from s2oct.model.targets import Margin
from s2oct.model.total_tables import Cells
from s2oct.model.total_values import (
    Base,
    Total,
    largest_remainder,
    look_like_shares,
    number_text,
    read_total,
    refuse_unsaid_percentages,
    refuse_unsaid_shares,
)
from s2oct.wording import brief

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


def _domain_totals(given: Mapping[Any, Any], classes: list[Any], base: Base) -> list[Total]:
    """One total for each class: those given, and what follows for the others."""
    refuse_unsaid_percentages(list(given.items()), base)
    known = {classes.index(label): read_total(label, total, base) for label, total in given.items()}
    missing = [index for index in range(len(classes)) if index not in known]
    _refuse_impossible_sums(list(known.values()), given, base, is_complete=not missing)
    if base.as_shares and not base.is_weighted:
        known = _in_whole_rows(known, base)
    low, high = sum(total.low for total in known.values()), sum(total.high for total in known.values())
    rest = Total(0.0, base.rows, math.nan, 0.0)
    if len(missing) == 1:
        rest = _between(base.rows - high, base.rows - low, base)
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
        _refuse_outside(label, total.high, base, "least", n_own, "its labeled rows")
    for label, total, n_own in zip(classes, known, own, strict=True):
        _refuse_outside(label, total.low, base, "most", n_own + unlabeled, "its labeled and all unlabeled rows")
    left = [_reduced(total, n_own, unlabeled) for total, n_own in zip(known, own, strict=True)]
    low, high = sum(total.low for total in left), sum(total.high for total in left)
    if low > unlabeled + base.slack or high < unlabeled - base.slack:
        got = f"at least {number_text(low)}" if low > unlabeled else f"at most {number_text(high)}"
        raise InvalidProblem(
            f"Expected population_totals that leave {number_text(unlabeled)} unlabeled rows{base.where} beside the "
            f"labeled ones, got totals that leave {got}."
        )
    return left


def _refuse_outside(label: Any, number: float, base: Base, end: str, bound: float, which: str) -> None:
    is_off = number < bound - base.slack if end == "least" else number > bound + base.slack
    if is_off:
        raise InvalidProblem(
            f"Expected a population total of class {brief(label)}{base.where} of at {end} {number_text(bound)} "
            f"({which}), got {number_text(number)}."
        )


def _reduced(total: Total, labeled: float, unlabeled: float) -> Total:
    low, high, value = (min(max(number - labeled, 0.0), unlabeled) for number in total[:3])
    return Total(low, high, math.nan if math.isnan(total.value) else value, total.se)
