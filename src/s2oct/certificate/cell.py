"""One known total: of a class in a domain, and what the tree puts there."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.model.problem import whole_if_whole
from s2oct.model.targets import NEARLY_MET, Margin, Targets
from s2oct.wording import amount


@dataclass(frozen=True)
class Cell:
    """A class in a domain.

    Attributes
    ----------
    margin : str
        What divides the rows into domains; empty for the whole table.
    domain : str
        The domain as text; empty for the whole table.
    class_index : int
        Position of the class.
    low, high : float
        What is known of its unlabeled rows, or of their weight; equal where the total is known exactly, or where the
        fit has estimated it.
    assigned : float
        What the tree puts there.
    value : float or None
        The known total, or the estimate of it; None where only bounds are known.
    se : float
        Standard error of an estimate; 0 of everything else.
    """

    margin: str
    domain: str
    class_index: int
    low: float
    high: float
    assigned: float
    value: float | None = None
    se: float = 0.0

    @property
    def place(self) -> str:
        """The domain in words, to stand before the class; empty for the whole table."""
        return f"{self.margin or 'domain'} {self.domain!r}, " if self.domain else ""

    @property
    def is_aim(self) -> bool:
        """Whether the fit has estimated the total, and met the estimate as far as it could."""
        return self.low == self.high and self.se > 0

    @property
    def known(self) -> str:
        """What is known of the total, in words."""
        if self.is_aim:
            return f"the total is estimated as {amount(self.low)} ± {amount(self.se, 2)}"
        if self.low == self.high:
            return f"the total says {amount(self.low)}"
        return f"the total says {amount(self.low)} to {amount(self.high)}"

    @property
    def excess(self) -> float:
        """Rows above the upper bound, or, below 0, rows that the lower bound lacks."""
        return max(self.assigned - self.high, 0.0) - max(self.low - self.assigned, 0.0)

    def is_met(self, unit: float = 1.0) -> bool:
        """Whether the total is met, to within half a row of the mean weight."""
        return abs(self.excess) <= NEARLY_MET * unit * (1 + 1e-9)


def counted_cells(targets: Targets, classes: IntArray, sizes: FloatArray, unit: float = 1.0) -> tuple[Cell, ...]:
    """All cells of some totals, with what is assigned to them; rows count with their sizes, in units of ``unit``."""
    return cells_of_counts(targets, [margin.counts(classes, sizes) for margin in targets.margins], unit)


def cells_of_counts(targets: Targets, counts: Sequence[FloatArray], unit: float = 1.0) -> tuple[Cell, ...]:
    """All cells of some totals, with the rows of each domain and class that each margin has."""
    return tuple(
        cell
        for margin, assigned in zip(targets.margins, counts, strict=True)
        for cell in _cells_of_margin(margin, assigned, unit)
    )


def _cells_of_margin(margin: Margin, assigned: FloatArray, unit: float) -> Iterator[Cell]:
    for d, k in np.ndindex(*margin.low.shape):
        numbers = np.array([margin.low[d, k], margin.high[d, k], assigned[d, k], margin.value[d, k]])
        low, high, number, value = whole_if_whole(unit * numbers)
        known = None if math.isnan(value) else value
        yield Cell(margin.name, str(margin.domains[d]), k, low, high, number, known, unit * float(margin.se[d, k]))
