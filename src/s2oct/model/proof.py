"""Bounds and the course of a fit: what a proof is made of."""

from __future__ import annotations

from dataclasses import dataclass

DECIDED_TOLERANCE = 1e-6
"""A tree whose cost is this close to the lower bound counts as proved optimal."""


@dataclass(frozen=True)
class Bound:
    """A lower bound on the cost of every tree, and where it comes from."""

    value: float
    source: str


NOT_NEGATIVE = Bound(0.0, "costs are not negative")


@dataclass(frozen=True)
class Moment:
    """The state of a fit at some second."""

    seconds: float
    objective: float
    lower_bound: float

    def times(self, unit: float) -> Moment:
        """The same in another unit of cost."""
        return Moment(self.seconds, unit * self.objective, unit * self.lower_bound)


PAPER, EVIDENCE = MODELS = ("paper", "evidence")
"""What a fit minimises: the paper's P2, or in rows what labels, guide and total say against a tree."""


@dataclass(frozen=True)
class FitRecord:
    """How a fit went; its tree is kept elsewhere.

    Attributes
    ----------
    bound : Bound
        The lower bound on the cost in P2.
    seconds : float
        Wall-clock seconds until the tree was final.
    ended : str
        Why the fit ended, one of `ENDINGS`.
    history : tuple of Moment
        Best cost and lower bound over time.
    model : str
        The model that was fitted, one of `MODELS`.
    evidence_cost, evidence_bound : float, optional
        In the evidence model, the cost of the tree in rows and a lower bound of it.
    """

    bound: Bound
    seconds: float
    ended: str
    history: tuple[Moment, ...] = ()
    model: str = PAPER
    evidence_cost: float | None = None
    evidence_bound: float | None = None


PROVED, CONVERGED, TIME_LIMIT, INTERRUPTED = ENDINGS = ("proved", "converged", "time limit", "interrupted")
"""Why a fit ends.

"proved": its tree is proved optimal. "converged": the search came to its own end, and a longer time limit leads to the
same tree. "time limit": the limit cut something short, be it the guide, the search or the choice among equally good
trees; what is proved about the tree is stated apart. "interrupted": the fit was asked to stop.
"""
