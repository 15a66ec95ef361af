"""Search and solver side by side: first the search alone, then both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from s2oct.arrays import FloatArray
from s2oct.errors import SolverFailed, SolverLicenceError
from s2oct.fit.context import SEARCHING, SOLVING, FitContext
from s2oct.fit.incumbent import Incumbent
from s2oct.linear.model import Milp
from s2oct.memory import require_memory
from s2oct.milp.size import ENTRIES_PER_SECOND, ModelSize
from s2oct.model.tree import ObliqueTree
from s2oct.solvers import Limits, Unwatched, load_solver, solve_in_worker
from s2oct.stopping import Deadline

HEAD_START, LONGEST_HEAD_START = 0.15, 30.0
"""Share of the time limit in which the search runs alone, and most seconds of it: most problems are solved by then."""

FINISH_SECONDS = 0.05
"""Seconds that the solver does not get, for the steps from its last tree to the certificate."""

Explore = Callable[[int, float], int]
"""Runs search rounds from a given number on, for given seconds; returns the next number."""


@dataclass(frozen=True, eq=False)
class Formulation:
    """A model for a solver: how large it is, how to build it, and how trees become solutions and back."""

    size: ModelSize
    build: Callable[[], Milp]
    encode: Callable[[Milp, ObliqueTree], FloatArray]
    decode: Callable[[Milp, FloatArray], ObliqueTree]
    attainable: Callable[[float], float] = float
    """The least cost that a tree can have if the model's objective is at least the given value."""


@dataclass(frozen=True, eq=False)
class Portfolio:
    """A search and, if the context has one, a solver that both improve one incumbent."""

    context: FitContext
    incumbent: Incumbent
    explore: Explore
    formulation: Formulation
    head_start: float = HEAD_START

    def run(self) -> None:
        """Run until there is nothing more to do. The best tree stays in the incumbent."""
        incumbent, clock = self.incumbent, self.context.clock
        self.context.listener.stage(SEARCHING)
        alone = min(self.head_start * clock.limit, LONGEST_HEAD_START)
        # The end of the head start cuts a round short, and that round is lost. So it ends only if a solver follows.
        if self.context.solver is None or not self._is_worth_solving(clock.seconds_left - alone):
            self.explore(0, clock.seconds_left)
            return
        number = self.explore(0, alone)
        if incumbent.is_over:
            return

        def go_on() -> None:
            nonlocal number
            number = self.explore(number, clock.seconds_left)

        try:
            self.solve(incumbent.best, go_on)
        except (SolverLicenceError, SolverFailed, MemoryError) as error:
            reason = str(error) or "There is no memory for the model."
            self.context.notices.append(f"{reason} The fit went on without it.")
            go_on()

    def _is_worth_solving(self, seconds: float) -> bool:
        """Whether a solver does more with its model in that time than read it."""
        return self.formulation.size.n_entries <= ENTRIES_PER_SECOND * seconds

    def solve(self, start: ObliqueTree | None, meanwhile: Callable[[], object] = lambda: None) -> None:
        """Let the solver work until the time is over, while ``meanwhile`` runs in this thread."""
        solver, budget, formulation = self.context.solver, self.context.budget, self.formulation
        assert solver is not None
        require_memory(formulation.size.n_bytes, f"The model for {solver.name}")
        self.context.listener.stage(SOLVING)
        milp = formulation.build()
        allowed = max(self.context.clock.seconds_left - FINISH_SECONDS, 0.01)
        solve_in_worker(
            solver,
            milp,
            limits=Limits(allowed, budget.n_jobs, budget.seed),
            watcher=_Exchange(self.incumbent, milp, formulation, solver.name, known=start),
            start=None if start is None else formulation.encode(milp, start),
            meanwhile=meanwhile,
        )


def solve_small(incumbent: Incumbent, milp: Milp, start: FloatArray, deadline: Deadline) -> FloatArray | None:
    """The best solution of a small model that HiGHS finds by a deadline, from a complete start, in one thread."""
    limits = Limits(max(deadline.seconds_left, 0.01))
    try:
        result = solve_in_worker(load_solver("highs"), milp, limits=limits, watcher=_UntilOver(incumbent), start=start)
    except (SolverFailed, MemoryError):
        return None
    return result.x


def bound_small(incumbent: Incumbent, milp: Milp, deadline: Deadline) -> float:
    """A lower bound on the objective of a small model, from HiGHS in one thread until a deadline."""
    limits = Limits(max(deadline.seconds_left, 0.01))
    return solve_in_worker(load_solver("highs"), milp, limits=limits, watcher=_UntilOver(incumbent)).dual_bound


class _UntilOver(Unwatched):
    """Lets a solver run until the incumbent is decided or the time is over."""

    def __init__(self, incumbent: Incumbent) -> None:
        self._incumbent = incumbent

    def should_stop(self) -> bool:
        return self._incumbent.is_over

    def interrupted(self) -> None:
        self._incumbent.clock.interrupt()


class _Exchange(_UntilOver):
    """Hands a solver's trees and bounds to the incumbent, and the incumbent's better trees to the solver."""

    def __init__(
        self, incumbent: Incumbent, milp: Milp, formulation: Formulation, solver: str, known: ObliqueTree | None
    ) -> None:
        super().__init__(incumbent)
        self._milp, self._formulation, self._known = milp, formulation, known
        self._source = f"the bound of {solver}"

    def incumbent(self, x: FloatArray) -> None:
        if self._incumbent.offer(self._formulation.decode(self._milp, x)):
            self._known = self._incumbent.best

    def bound(self, value: float) -> None:
        self._incumbent.raise_bound(self._formulation.attainable(value), self._source)

    def suggestion(self) -> FloatArray | None:
        best = self._incumbent.best
        if best is None or best is self._known:
            return None
        self._known = best
        return self._formulation.encode(self._milp, best)
