"""Bounds and the course of a fit: what a proof is made of."""

from __future__ import annotations

from dataclasses import dataclass

DECIDED_TOLERANCE = 1e-6
"""A cost within this of the lower bound ends the race."""


@dataclass(frozen=True)
class Bound:
    """A cost that no tree can undercut, and who says so."""

    value: float
    source: str


NOT_NEGATIVE = Bound(0.0, "costs are not negative")


@dataclass(frozen=True)
class Moment:
    """The state of a fit at some second."""

    seconds: float
    objective: float
    lower_bound: float
