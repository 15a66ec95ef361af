"""Known totals as a table's user states them, class by class: counts, shares, intervals or estimates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from s2oct.errors import InvalidProblem
from s2oct.model.estimate import Estimate
from s2oct.model.known import Known
from s2oct.tables.amounts import Amount, read_amount
from s2oct.tables.dialect import is_unicode
from s2oct.tables.partly_labeled import PartlyLabeledTable


@dataclass(frozen=True)
class ClassTotal:
    """The number of rows of a class.

    Parameters
    ----------
    name : str
        The class as it is written in the table.
    amount : str
        A count as ``1840``, a share of the rows as ``38%``, an interval as ``1800..1880``, or an estimate with its
        standard error as ``1840±20``.
    """

    name: str
    amount: str

    def __post_init__(self) -> None:
        if not is_unicode(self.name):
            raise InvalidProblem(f"Expected the name of a class to be text, got {self.name!r}.")
        amount = read_amount(self.amount)
        if amount is None:
            raise InvalidProblem(
                f"Expected the total of class {self.name!r} to be a count, a share, an interval or an estimate, as in "
                f"1840, 38%, 1800..1880 or 1840±20, got {self.amount!r}."
            )
        if amount.is_share and isinstance(amount.given, float) and amount.given > 1:
            raise InvalidProblem(f"Expected a share of at most 100% for class {self.name!r}, got {self.amount!r}.")

    @property
    def read(self) -> Amount:
        """What the amount says."""
        return read_amount(self.amount) or Amount(None, is_share=False)


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
    """

    of_unlabeled: tuple[ClassTotal, ...] = ()
    of_all: tuple[ClassTotal, ...] = ()
    as_shares: bool = False

    def known(self, table: PartlyLabeledTable, also: Sequence[Any] = ()) -> Known:
        """Say what is known of the classes of a table; ``also`` are further classes.

        If only one class is labeled and only this class has a total, all other rows are of a class named after it.
        """
        for total in (*self.of_unlabeled, *self.of_all):
            table.refuse_gap_as_class(total.name)
        as_shares = are_shares([total.read for total in (*self.of_unlabeled, *self.of_all)], said=self.as_shares)
        in_all, unlabeled = float(table.n_rows), float(table.n_unlabeled)
        if table.weights is not None:
            sizes = table.weights.tolist()
            beside = 0.0 if table.unseen is None else float(table.unseen.sum())
            in_all = sum(sizes) + beside
            unlabeled = sum(size for size, label in zip(sizes, table.labels, strict=True) if label is None) + beside
        return table.known(
            _given(self.of_unlabeled, table.labels, 1 if as_shares else unlabeled),
            _given(self.of_all, table.labels, 1 if as_shares else in_all),
            as_shares=as_shares,
            also=also,
        )


def are_shares(amounts: Sequence[Amount], *, said: bool) -> bool:
    """Whether totals are shares, because somebody said so or because all are written as such."""
    written = {amount.is_share for amount in amounts}
    if len(written) > 1 and not said:
        raise InvalidProblem("Expected totals that are all counts or all shares, got some of each.")
    return said or True in written


def _given(totals: Sequence[ClassTotal], labels: Sequence[Any], rows: float) -> dict[Any, Any] | None:
    """What is given for each class; ``rows`` is what the totals of all classes add up to."""
    given: dict[Any, Any] = {}
    for total in totals:
        label = _class(total.name, labels)
        if label in given:
            raise InvalidProblem(f"Expected one total for every class, got several for {total.name!r}.")
        given[label] = total.read.given
    labeled = {label for label in labels if label is not None}
    if len(labeled) == 1 and set(given) == labeled:
        (label,) = labeled
        rest = _rest(given[label], rows)
        given |= {} if rest is None else {_other_class(label): rest}
    return given or None


def _rest(given: Any, rows: float) -> Any:
    """What is left for the only other class; None where nothing can be left."""
    if isinstance(given, Estimate):
        return Estimate(rows - given.value, given.se)
    if isinstance(given, tuple):
        low, high = given
        return (None if high is None else max(rows - high, 0), None if low is None else rows - low)
    return rows - given if given <= rows else None


def _other_class(label: Any) -> Any:
    """Name the class that no row is labeled with and no total names."""
    if isinstance(label, bool):
        return not label
    return f"not {label}" if isinstance(label, str) else int(label == 0)


def _class(name: str, labels: Sequence[Any]) -> Any:
    """The class with this name: the label that is written like it, or a new one of the same kind."""
    known = {str(label): label for label in labels if label is not None}
    if name in known:
        return known[name]
    kinds = {type(label) for label in known.values()}
    if kinds == {int} and re.fullmatch(r"-?\d{1,18}", name):
        return int(name)
    if kinds == {bool} and name.lower() in ("true", "false"):
        return name.lower() == "true"
    return name
