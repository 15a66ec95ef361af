"""A total that is an estimate, as surveys publish it: a value and its standard error."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass

from s2oct.errors import InvalidProblem
from s2oct.wording import brief

ERRORS_EACH_WAY = 1.96
"""An estimate stands for the totals within so many standard errors, which is a 95 % interval."""


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
            if isinstance(number, bool) or not isinstance(number, numbers.Real) or not _is_finite(number):
                raise InvalidProblem(f"Expected the {name} of an estimate to be a finite number, got {brief(number)}.")
        if self.se < 0:
            raise InvalidProblem(f"Expected the standard error of an estimate to be at least 0, got {brief(self.se)}.")

    @property
    def interval(self) -> tuple[float, float]:
        """Lower and upper end of the 95 % interval."""
        reach = ERRORS_EACH_WAY * float(self.se)
        return float(self.value) - reach, float(self.value) + reach


def _is_finite(number: numbers.Real) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:
        return False
