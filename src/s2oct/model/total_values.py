"""One total of one class: a count, an interval or an estimate, as numbers of rows."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.errors import InvalidProblem, InvalidTable, Remedy
from s2oct.model.estimate import Estimate
from s2oct.wording import brief

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
