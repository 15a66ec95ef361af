"""Known totals as a table's user states them: a count or a share of the rows for some classes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from s2oct.errors import InvalidProblem
from s2oct.tabular.dialect import is_unicode


@dataclass(frozen=True)
class ClassTotal:
    """The number of rows of a class, as a count or as a share.

    Parameters
    ----------
    name : str
        The class as it is written in the table.
    amount : str
        A count as ``1840`` or a share of the rows as ``38%``.
    """

    name: str
    amount: str

    def __post_init__(self) -> None:
        if not is_unicode(self.name):
            raise InvalidProblem(f"Expected the name of a class to be text, got {self.name!r}.")
        if not re.fullmatch(r"\d{1,18}|\d{1,18}(\.\d{1,18})?\s*%", self.amount):
            raise InvalidProblem(
                f"Expected the total of class {self.name!r} to be a count or a share, as in 1840 or 38%, got "
                f"{self.amount!r}."
            )
        if self.percent is not None and self.percent > 100:
            raise InvalidProblem(f"Expected a share of at most 100% for class {self.name!r}, got {self.amount!r}.")

    @property
    def percent(self) -> Decimal | None:
        """The share in percent; None for a count."""
        return Decimal(self.amount.removesuffix("%").strip()) if self.amount.endswith("%") else None

    def count(self, n_rows: int) -> int:
        """Number of rows of the class among ``n_rows``; shares are rounded."""
        if self.percent is None:
            return int(self.amount)
        return int((self.percent * n_rows / 100).quantize(Decimal(1), ROUND_HALF_UP))


@dataclass(frozen=True)
class ClassTotals:
    """Totals among the unlabeled rows, or among all rows.

    Parameters
    ----------
    of_unlabeled : tuple of ClassTotal
        Totals among the unlabeled rows.
    of_all : tuple of ClassTotal
        Totals among all rows, the labeled ones included.
    """

    of_unlabeled: tuple[ClassTotal, ...] = ()
    of_all: tuple[ClassTotal, ...] = ()

    def counts(self, labels: Sequence[Any]) -> dict[str, Any]:
        """Count rows for these labels: the keywords ``totals`` and ``population_totals`` of a fit.

        If only one class is labeled and only this class has a total, all other rows are of a class named after it.
        """
        n_unlabeled = sum(label is None for label in labels)
        return {
            "totals": _counts(self.of_unlabeled, labels, n_unlabeled),
            "population_totals": _counts(self.of_all, labels, len(labels)),
        }


def _counts(totals: Sequence[ClassTotal], labels: Sequence[Any], n_rows: int) -> dict[Any, int] | None:
    counts: dict[Any, int] = {}
    shares = Decimal(0)
    for total in totals:
        label, count = _class(total.name, labels), total.count(n_rows)
        if label in counts:
            raise InvalidProblem(f"Expected one total for every class, got several for {total.name!r}.")
        if total.percent is not None:
            shares += total.percent
            if shares == 100 and len(totals) > 1:
                # Shares that add up to the whole leave the rest to the last class, however the others were rounded.
                count = n_rows - sum(counts.values())
        counts[label] = count
    labeled = {label for label in labels if label is not None}
    if len(labeled) == 1 and set(counts) == labeled and sum(counts.values()) <= n_rows:
        counts[_other_class(*labeled)] = n_rows - sum(counts.values())
    return counts or None


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
