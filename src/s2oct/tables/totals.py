"""Known totals of a table: typed class by class, in files by domain and class, or taken from a model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from s2oct.errors import InvalidProblem
from s2oct.problem.known import Known, known_of
from s2oct.problem.totals import ESTIMATE, Estimate, Totals, is_to_estimate, stated_totals
from s2oct.tables.columns import read_numbers, read_texts
from s2oct.tables.dialect import is_unicode
from s2oct.tables.partly_labeled import PartlyLabeledTable, domain_of_rows, margin_name
from s2oct.tables.source import Source


@dataclass(frozen=True)
class TableTotals:
    """Known totals of a table, given in one of three ways; without any, the fit estimates them.

    Parameters
    ----------
    by_class : sequence of (str, str)
        Each class as written in the table, and its total in the whole table: a count such as ``1840``, a share of the
        rows such as ``38%``, an interval such as ``1800..1880``, an estimate with its standard error such as
        ``1840±20``, or ``estimate`` to let the fit estimate it.
    files : sequence of Source
        Files with totals, one for each margin of the table's roles, in their order; one file if there is no margin.
    form : Totals, optional
        Totals in a form that `S2OCTClassifier.fit` takes; ``estimate`` to let the fit estimate all of them, in every
        domain if the table has any.
    of_all : bool
        Whether the totals count all rows, the labeled ones included.
    as_shares : bool
        Whether numbers without a percent sign are shares, too.
    """

    by_class: Sequence[tuple[str, str]] = ()
    files: Sequence[Source] = ()
    form: Totals | None = None
    of_all: bool = False
    as_shares: bool = False

    def __post_init__(self) -> None:
        for name, text in self.by_class:
            _read_class_total(name, text)

    def known(self, table: PartlyLabeledTable, also: Sequence[Any] = ()) -> Known:
        """Combine the labels, weights and totals of a table; ``also`` are further classes."""
        given, as_shares = self.form, self.as_shares
        if self.by_class:
            given, as_shares = self._of_classes(table)
        elif self.files:
            given, as_shares = self._in_files(table)
        domains = table.domains if given is not None and not self.by_class else ()
        stated = stated_totals(
            None if self.of_all else given,
            given if self.of_all else None,
            y=table.labels,
            domains=domains,
            as_shares=as_shares,
        )
        return known_of(
            table.labels,
            stated,
            domains=domains,
            weights=table.weights,
            also=also,
            unseen=table.unseen,
            n_unseen=table.n_unseen,
        )

    def _of_classes(self, table: PartlyLabeledTable) -> tuple[dict[Any, Any], bool]:
        """Return the total of each class, and whether all totals are shares.

        If only one class is labeled and only this class has a total, all other rows belong to a class named after it.
        """
        for name, _ in self.by_class:
            table.refuse_gap_as_class(name)
        amounts = [_read_class_total(name, text) for name, text in self.by_class]
        as_shares = self.as_shares or _are_shares(amounts)
        given: dict[Any, Any] = {}
        for (name, _), (total, _) in zip(self.by_class, amounts, strict=True):
            label = _class(name, table.labels)
            if label in given:
                raise InvalidProblem(f"Class {name!r} has several totals: keep one of them.")
            given[label] = total
        labeled = {label for label in table.labels if label is not None}
        if len(labeled) == 1 and set(given) == labeled:
            (label,) = labeled
            rest = _rest(given[label], 1 if as_shares else self._size(table))
            given |= {} if rest is None else {_other_class(label): rest}
        return given, as_shares

    def _in_files(self, table: PartlyLabeledTable) -> tuple[Any, bool]:
        """Return one table of totals for each margin, and whether all totals are shares."""
        amounts: list[Amount] = []
        margins = table.roles.margins or ((),)
        forms = [_records(*file, amounts) for file in zip(self.files, margins, strict=True)]
        return forms if len(forms) > 1 else forms[0], self.as_shares or _are_shares(amounts)

    def _size(self, table: PartlyLabeledTable) -> float:
        """Return the number or weight of the rows that the totals count."""
        sizes: list[float] = [1.0] * len(table.labels) if table.weights is None else table.weights.tolist()
        counted = [size for size, label in zip(sizes, table.labels, strict=True) if self.of_all or label is None]
        return sum(counted) + (0.0 if table.unseen is None else float(table.unseen.sum()))


_NUMBER = r"\d{1,18}(?:\.\d{1,18})?\s*%?"
_INTERVAL = re.compile(rf"({_NUMBER})?\s*\.\.\s*({_NUMBER})?", re.ASCII)
_ESTIMATE = re.compile(rf"({_NUMBER})\s*(?:±|\+-|\+/-)\s*({_NUMBER})", re.ASCII)
_POINT = re.compile(f"({_NUMBER})", re.ASCII)
_CODE = re.compile(r"0\d")
"""The beginning of a code such as 01, which is not a number."""

Amount = tuple[Any, bool | None]
"""A total for the fit, and whether it is written as a share, with a percent sign; None if the fit estimates it.

The total is a number, a pair of bounds (one may be open), or an `Estimate`. Shares are fractions of 1.
"""


def _read_amount(text: str) -> Amount | None:
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


def _read_class_total(name: str, text: str) -> Amount:
    """Read the total of a class; refuse text that is not an amount."""
    if not is_unicode(name):
        raise InvalidProblem(f"Expected the name of a class to be text, got {name!r}.")
    amount = _read_amount(text)
    if amount is None:
        raise InvalidProblem(
            f"Expected the total of class {name!r} to be a count, a share, an interval or an estimate, as in "
            f"1840, 38%, 1800..1880 or 1840±20, or the word estimate, got {text!r}."
        )
    total, is_share = amount
    if is_share and isinstance(total, float) and total > 1:
        raise InvalidProblem(f"Expected a share of at most 100% for class {name!r}, got {text!r}.")
    return amount


def _are_shares(amounts: Sequence[Amount]) -> bool:
    """Whether totals have percent signs; refuse totals if only some have one."""
    written = {is_share for _, is_share in amounts if is_share is not None}
    if len(written) > 1:
        raise InvalidProblem("Some totals are counts and some are shares: write all of them in the same way.")
    return True in written


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
    matching = [label for text, label in known.items() if text.strip() == name.strip()]
    if len(matching) == 1:  # some programs pad cells with blanks
        return matching[0]
    kinds = {type(label) for label in known.values()}
    if kinds == {int} and re.fullmatch(r"-?\d{1,18}", name):
        return int(name)
    if kinds == {bool} and name.lower() in ("true", "false"):
        return name.lower() == "true"
    return name


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
    if numbers is not None and not any(text is not None and _CODE.match(text) for text in texts):
        known = [None if number != number else number for number in numbers.tolist()]
        return [int(number) if number is not None and number.is_integer() else number for number in known]
    read = {text: _read_amount(text) for text in texts if text is not None}
    given = {text: amount[0] for text, amount in read.items() if amount is not None}
    if numbers is not None or len(given) < len(read):
        return list(texts)
    amounts += filter(None, read.values())
    return [None if text is None else given[text] for text in texts]
