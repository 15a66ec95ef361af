"""One known total: of a class in a domain, and what the tree puts there."""

from __future__ import annotations

from dataclasses import dataclass

from s2oct.model.targets import NEARLY_MET
from s2oct.wording import count


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
        What is known of its unlabeled rows, or of their weight; equal where the total is known exactly.
    assigned : float
        What the tree puts there.
    """

    margin: str
    domain: str
    class_index: int
    low: float
    high: float
    assigned: float

    @property
    def place(self) -> str:
        """The domain in words, to stand before the class; empty for the whole table."""
        return f"{self.margin or 'domain'} {self.domain!r}, " if self.domain else ""

    @property
    def known(self) -> str:
        """What is known of the total, in words."""
        if self.low == self.high:
            return f"the total says {count(self.low)}"
        return f"the total says {count(self.low)} to {count(self.high)}"

    @property
    def excess(self) -> float:
        """Rows above the upper bound, or, below 0, rows that the lower bound lacks."""
        return max(self.assigned - self.high, 0.0) - max(self.low - self.assigned, 0.0)

    def is_met(self, unit: float = 1.0) -> bool:
        """Whether the total is met, to within half a row of the mean weight."""
        return abs(self.excess) < NEARLY_MET * unit
