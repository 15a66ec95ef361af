"""Known totals: how many rows of each class there are, as users give them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.errors import InvalidKind, InvalidProblem
from s2oct.model.divisions import read_divisions
from s2oct.model.labels import Labels, distinct_values, refuse_unusable_classes
from s2oct.model.margin_totals import Counting, read_margin
from s2oct.model.targets import Margin, Targets
from s2oct.model.total_forms import Domains, classes_in, read_forms
from s2oct.model.total_tables import Cells
from s2oct.model.total_values import AGREE, largest_remainder, number_text
from s2oct.wording import brief

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
    """

    tables: tuple[Cells, ...] = ()
    of_all: bool = False
    as_shares: bool = False

    @property
    def name(self) -> str:
        """What the user calls them."""
        return "population_totals" if self.of_all else "totals"

    @property
    def classes(self) -> list[Any]:
        """The classes that they name."""
        return classes_in(self.tables)


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
    _refuse_disagreement(margins, counting)
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


def _refuse_disagreement(margins: tuple[Margin, ...], counting: Counting) -> None:
    """Refuse margins of which one knows more rows of a class than the other allows."""
    in_all = float(counting.sizes[~counting.labels.is_labeled].sum())
    for (first, margin), (second, other) in permutations(enumerate(margins, start=1), 2):
        slack = AGREE * in_all if counting.is_weighted else 0.25
        if counting.as_shares and not counting.is_weighted:
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
