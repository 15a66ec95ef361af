"""One known total as text: a count, an interval, an estimate with its standard error, or a share of the rows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from s2oct.model.estimate import Estimate

_NUMBER = r"\d{1,18}(?:\.\d{1,18})?\s*%?"
_INTERVAL = re.compile(rf"({_NUMBER})?\s*\.\.\s*({_NUMBER})?", re.ASCII)
_ESTIMATE = re.compile(rf"({_NUMBER})\s*(?:±|\+-|\+/-)\s*({_NUMBER})", re.ASCII)
_POINT = re.compile(f"({_NUMBER})", re.ASCII)


@dataclass(frozen=True)
class Amount:
    """What a text says of a total.

    Parameters
    ----------
    given : int, float, tuple of float or None, or Estimate
        The total as a fit takes it: a number, bounds of which one may be open, or an estimate. Shares are parts of 1.
    is_share : bool
        Whether it is written as a share, with a percent sign.
    """

    given: Any
    is_share: bool


def read_amount(text: str) -> Amount | None:
    """Read ``1840``, ``38%``, ``1800..1880`` or ``1840±20``, also ``1840+-20``; None if it is none of these."""
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
            return Amount(Estimate(numbers[0] or 0, numbers[1] or 0), ends[-1])
        return Amount(tuple(numbers) if form is _INTERVAL else numbers[0], ends[-1])
    return None


def _number(text: str, *, is_share: bool) -> int | float:
    digits = text.removesuffix("%").strip()
    if is_share:
        return float(Decimal(digits) / 100)
    return float(digits) if "." in digits else int(digits)
