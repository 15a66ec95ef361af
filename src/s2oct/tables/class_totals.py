"""Totals of a table, given as text by class or in files by domain and class."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from s2oct.errors import InvalidProblem
from s2oct.problem.known import Known
from s2oct.problem.totals import ESTIMATE, Estimate, is_to_estimate
from s2oct.tables.columns import read_numbers, read_texts
from s2oct.tables.dialect import is_unicode
from s2oct.tables.partly_labeled import PartlyLabeledTable, domain_of_rows, margin_name
from s2oct.tables.source import Source

_NUMBER = r"\d{1,18}(?:\.\d{1,18})?\s*%?"
_INTERVAL = re.compile(rf"({_NUMBER})?\s*\.\.\s*({_NUMBER})?", re.ASCII)
_ESTIMATE = re.compile(rf"({_NUMBER})\s*(?:±|\+-|\+/-)\s*({_NUMBER})", re.ASCII)
_POINT = re.compile(f"({_NUMBER})", re.ASCII)


Amount = tuple[Any, bool | None]
"""A total for the fit, and whether it is written as a share, with a percent sign; None if the fit estimates it.

The total is a number, a pair of bounds (one may be open), or an `Estimate`. Shares are fractions of 1.
"""


def read_amount(text: str) -> Amount | None:
    """Read ``1840``, ``38%``, ``1800..1880``, ``1840±20`` (also ``1840+-20``) or ``estimate``; None for other text."""
    if is_to_estimate(text):
        return ESTIMATE, None
    for form in (_POINT, _INTERVAL, _ESTIMATE):
        found = form.fullmatch(text.strip())
        if found is None:
            continue
        parts = [None if part is None else part.strip() for part in found.groups()]
        ends = [part.endswith("%") for part in parts if part]
        if not ends or (ends[0] and not ends[-1]):
            return None
        numbers = [None if part is None else _number(part, is_share=ends[-1]) for part in parts]
        if form is _ESTIMATE:
            return Estimate(numbers[0] or 0, numbers[1] or 0), ends[-1]
        return tuple(numbers) if form is _INTERVAL else numbers[0], ends[-1]
    return None


def _number(text: str, *, is_share: bool) -> int | float:
    digits = text.removesuffix("%").strip()
    if is_share:
        return float(Decimal(digits) / 100)
    return float(digits) if "." in digits else int(digits)


@dataclass(frozen=True)
class ClassTotal:
    """The number of rows of a class.

    Parameters
    ----------
    name : str
        The class as written in the table.
    amount : str
        A count such as ``1840``, a share of the rows such as ``38%``, an interval such as ``1800..1880``, an estimate
        with its standard error such as ``1840±20``, or ``estimate`` to let the fit estimate it.
    """

    name: str
    amount: str

    def __post_init__(self) -> None:
        if not is_unicode(self.name):
            raise InvalidProblem(f"Expected the name of a class to be text, got {self.name!r}.")
        given, is_share = self.read
        if is_share and isinstance(given, float) and given > 1:
            raise InvalidProblem(f"Expected a share of at most 100% for class {self.name!r}, got {self.amount!r}.")

    @property
    def read(self) -> Amount:
        """Return the total that the amount states."""
        amount = read_amount(self.amount)
        if amount is None:
            raise InvalidProblem(
                f"Expected the total of class {self.name!r} to be a count, a share, an interval or an estimate, as in "
                f"1840, 38%, 1800..1880 or 1840±20, or the word estimate, got {self.amount!r}."
            )
        return amount


@dataclass(frozen=True)
class ClassTotals:
    """Totals of the whole table, among its unlabeled rows or among all rows.

    Parameters
    ----------
    of_unlabeled : tuple of ClassTotal
        Totals among the unlabeled rows.
    of_all : tuple of ClassTotal
        Totals among all rows, the labeled ones included.
    as_shares : bool
        Whether numbers without a percent sign are shares, too.
    estimates_all : bool
        Whether the fit estimates all totals, in every domain if the table has any.
    """

    of_unlabeled: tuple[ClassTotal, ...] = ()
    of_all: tuple[ClassTotal, ...] = ()
    as_shares: bool = False
    estimates_all: bool = False

    def known(self, table: PartlyLabeledTable, also: Sequence[Any] = ()) -> Known:
        """Combine labels, weights and these totals of a table; ``also`` are further classes.

        If only one class is labeled and only this class has a total, all other rows belong to a class named after it.
        """
        if self.estimates_all:
            return table.known(ESTIMATE, domains=table.domains, also=also)
        for total in (*self.of_unlabeled, *self.of_all):
            table.refuse_gap_as_class(total.name)
        as_shares = self.as_shares or are_written_as_shares(
            [total.read for total in (*self.of_unlabeled, *self.of_all)]
        )
        in_all, unlabeled = float(table.n_rows), float(table.n_unlabeled)
        if table.weights is not None:
            sizes = table.weights.tolist()
            unseen = 0.0 if table.unseen is None else float(table.unseen.sum())
            in_all = sum(sizes) + unseen
            unlabeled = sum(size for size, label in zip(sizes, table.labels, strict=True) if label is None) + unseen
        return table.known(
            _given(self.of_unlabeled, table.labels, 1 if as_shares else unlabeled),
            _given(self.of_all, table.labels, 1 if as_shares else in_all),
            as_shares=as_shares,
            also=also,
        )


def are_written_as_shares(amounts: Sequence[Amount]) -> bool:
    """Whether totals have percent signs; refuse totals if only some have one."""
    written = {is_share for _, is_share in amounts if is_share is not None}
    if len(written) > 1:
        raise InvalidProblem("Some totals are counts and some are shares: write all of them in the same way.")
    return True in written


def _given(totals: Sequence[ClassTotal], labels: Sequence[Any], rows: float) -> dict[Any, Any] | None:
    """Return the total of each class; ``rows`` is the sum of the totals of all classes."""
    given: dict[Any, Any] = {}
    for total in totals:
        label = _class(total.name, labels)
        if label in given:
            raise InvalidProblem(f"Class {total.name!r} has several totals: keep one of them.")
        given[label] = total.read[0]
    labeled = {label for label in labels if label is not None}
    if len(labeled) == 1 and set(given) == labeled:
        (label,) = labeled
        rest = _rest(given[label], rows)
        given |= {} if rest is None else {_other_class(label): rest}
    return given or None


def _rest(given: Any, rows: float) -> Any:
    """Return the total of the only other class; None if it cannot be derived."""
    if is_to_estimate(given):
        return None
    if isinstance(given, Estimate):
        return Estimate(rows - given.value, given.se)
    if isinstance(given, tuple):
        low, high = given
        return (None if high is None else max(rows - high, 0), None if low is None else rows - low)
    return rows - given if given <= rows else None


def _other_class(label: Any) -> Any:
    """Make a name for the class without labels and total."""
    if isinstance(label, bool):
        return not label
    return f"not {label}" if isinstance(label, str) else int(label == 0)


def _class(name: str, labels: Sequence[Any]) -> Any:
    """Return the class with this name: the label with the same text, or a new one of the same type."""
    known = {str(label): label for label in labels if label is not None}
    if name in known:
        return known[name]
    alike = [label for text, label in known.items() if text.strip() == name.strip()]
    if len(alike) == 1:  # some programs pad cells with blanks
        return alike[0]
    kinds = {type(label) for label in known.values()}
    if kinds == {int} and re.fullmatch(r"-?\d{1,18}", name):
        return int(name)
    if kinds == {bool} and name.lower() in ("true", "false"):
        return name.lower() == "true"
    return name


@dataclass(frozen=True)
class TotalFiles:
    """Files with totals of the whole table or of the domains of each margin.

    Parameters
    ----------
    sources : tuple of Source
        One file per margin of the table's roles, in their order; one file if there is no margin.
    of_all : bool
        Whether the totals count all rows, the labeled ones included.
    as_shares : bool
        Whether numbers without a percent sign are shares.
    """

    sources: tuple[Source, ...]
    of_all: bool = False
    as_shares: bool = False

    def known(self, table: PartlyLabeledTable, also: Sequence[Any] = ()) -> Known:
        """Combine labels, weights and the totals in the files; ``also`` are further classes."""
        margins, amounts = table.roles.margins, list[Amount]()
        forms: Any = [_records(*file, amounts) for file in zip(self.sources, margins or ((),), strict=True)]
        as_shares = self.as_shares or are_written_as_shares(amounts)
        given = forms if len(forms) > 1 else forms[0]
        of_unlabeled, of_all = (None, given) if self.of_all else (given, None)
        return table.known(of_unlabeled, of_all, as_shares=as_shares, domains=table.domains, also=also)


def _records(source: Source, by: Sequence[str], amounts: list[Amount]) -> list[dict[str, Any]]:
    """Read the rows of a file of totals, with totals as numbers; other amounts are also added to ``amounts``."""
    cells = source.whole()
    named = [name for name in by if name in cells.column_names]
    if len(by) > 1 and len(named) < len(by):
        source.require(by, "domain")
    columns = {margin_name(by): domain_of_rows(cells, by, source.dialect).tolist()} if named else {}
    for name in cells.column_names:
        if name not in named:
            columns[name] = _column(cells[name], name, source, amounts)
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _column(cells: Any, name: str, source: Source, amounts: list[Amount]) -> list[Any]:
    """Read cells as numbers or amounts if all of them are; otherwise as text, as for codes like 01."""
    numbers, found = read_numbers(cells, source.dialect), read_texts(cells, source.dialect)
    if found is None and numbers is None:
        raise InvalidProblem(
            f"Expected totals or names in column {name!r} of {source.name!r}, got {cells.type} values."
        )
    texts = [] if found is None else [None if text is None else text.strip() for text in found]
    if numbers is not None and not any(text is not None and _is_code(text) for text in texts):
        return [None if np.isnan(number) else _whole(number) for number in numbers]
    read = {text: read_amount(text) for text in texts if text is not None}
    given = {text: amount[0] for text, amount in read.items() if amount is not None}
    if numbers is not None or len(given) < len(read):
        return list(texts)
    amounts += filter(None, read.values())
    return [None if text is None else given[text] for text in texts]


def _is_code(text: str) -> bool:
    """Whether a number is a code, such as 01."""
    return len(text) > 1 and text[0] == "0" and text[1].isdigit()


def _whole(number: float) -> int | float:
    return int(number) if float(number).is_integer() else float(number)
