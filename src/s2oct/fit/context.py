"""What a fit may use, and what every part of it shares."""

from __future__ import annotations

from dataclasses import dataclass, field

from s2oct.fit.listening import Listener
from s2oct.solvers import Solver
from s2oct.stopping import Clock, Deadline, Stop

CHECK_SHARE = 0.05
"""Share of the time limit that a check of the labels before the fit may take."""


@dataclass(frozen=True)
class Budget:
    """What a fit may use, for any model.

    Attributes
    ----------
    solver : str or None
        Name of the solver; with None the search runs alone.
    time_limit : float
        Seconds of wall clock for the whole fit.
    n_jobs : int
        Threads.
    seed : int
        Seed of everything random.
    """

    solver: str | None = "highs"
    time_limit: float = 60.0
    n_jobs: int = 1
    seed: int = 0

    def for_checks(self, stop: Stop) -> Deadline:
        """The deadline of a check that begins now."""
        return Deadline.after(CHECK_SHARE * self.time_limit, stop)


@dataclass(frozen=True, eq=False)
class FitContext:
    """What every part of one fit shares.

    Attributes
    ----------
    budget : Budget
        What the fit may use.
    solver : Solver or None
        The solver that the budget names, loaded.
    clock : Clock
        When the fit began, how long it may take, and whether it was asked to stop.
    listener : Listener
        Is informed about the progress of the fit.
    notices : list of str
        Sentences for the user from any part of the fit. The caller of the fit decides how to show them.
    """

    budget: Budget
    solver: Solver | None
    clock: Clock
    listener: Listener
    notices: list[str] = field(default_factory=list)
