"""Search and solver, one after the other or at the same time, on one incumbent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from joblib import Parallel, delayed

from s2oct.arrays import FloatArray
from s2oct.errors import SolverFailed, SolverLicenceError
from s2oct.fit.context import SEARCHING, SOLVING, FitContext
from s2oct.fit.incumbent import Incumbent
from s2oct.p2.instance import Instance
from s2oct.p2.milp import ENTRIES_PER_SECOND, ModelSize
from s2oct.p2.rounds import descends, run_round
from s2oct.solvers import Limits, Watcher, load_solver, solve_in_worker
from s2oct.solvers.model import Milp
from s2oct.solvers.worker import require_memory
from s2oct.stopping import Deadline
from s2oct.trees.tree import ObliqueTree

# Rounds of search until a deadline. Every new best tree is refitted.

IMPROVEMENT_SHARE = 0.05
"""Maximum share of the time limit for refitting one new best tree; at least a second is allowed."""

WORTH_SHARE = 0.01
"""A search with `patience` counts a tree as better only if it is cheaper by at least this share."""


@dataclass(eq=False)
class Exploration:
    """A search for trees that beat the incumbent.

    Parameters
    ----------
    instance : Instance
        The problem as the search sees it.
    incumbent : Incumbent
        Receives every tree found.
    improve : callable
        Refits a new best tree that is not yet proved optimal, until a deadline.
    seed : int
        Seed of all rounds.
    n_jobs : int
        Number of rounds to run in parallel through joblib, on the configured backend.
    patience : int, optional
        Rounds without a better tree after which to stop.
    worth : float
        Minimum improvement that counts as better for `patience`; at least `WORTH_SHARE` of the cost.
    """

    instance: Instance
    incumbent: Incumbent
    improve: Callable[[ObliqueTree, Deadline], ObliqueTree]
    seed: int
    n_jobs: int = 1
    patience: int | None = None
    worth: float = 0.0
    descents_lead: bool = field(default=False, init=False)
    """Whether the last round that found a better tree used descents: most rounds then do."""

    def run(self, first_round: int = 0, seconds: float = float("inf"), max_rounds: int | None = None) -> int:
        """Run rounds until the fit is over, the seconds are spent, or enough rounds have run.

        Returns the number of the next round.
        """
        incumbent, until = self.incumbent, self.incumbent.clock.deadline(seconds)
        number = led = first_round
        to_beat = incumbent.best_cost
        while True:
            # Check the clock last: a search that has finished was not cut.
            if max_rounds is not None and number - first_round >= max_rounds:
                break
            if self.patience is not None and number - led >= self.patience:
                break
            if incumbent.is_over or until.passed or not until.allows(self.instance.step_seconds):
                break
            numbers = range(number, number + self.n_jobs)
            turns = [descends(self.instance, k, descents_lead=self.descents_lead) for k in numbers]
            for by_descents, trees in zip(turns, self._rounds(number, turns, until), strict=True):
                for tree in trees:
                    if self._enter(tree, until):
                        self.descents_lead = by_descents
            number += len(turns)
            if incumbent.best_cost < to_beat - max(self.worth, WORTH_SHARE * incumbent.best_cost):
                led, to_beat = number, incumbent.best_cost
        return number

    def _rounds(self, number: int, turns: list[bool], deadline: Deadline) -> list[list[ObliqueTree]]:
        """Run one round for each turn, and return its trees."""
        best = self.incumbent.best
        if self.n_jobs == 1:
            return [run_round(self.instance, self.seed, number, deadline, best, by_descents=turns[0])]
        run_all = Parallel(n_jobs=self.n_jobs, prefer="threads")
        found: list[list[ObliqueTree]] = run_all(
            delayed(run_round)(self.instance, self.seed, number + k, deadline, best, by_descents=by_descents)
            for k, by_descents in enumerate(turns)
        )
        # Rounds in other processes cannot report that they were cut.
        deadline.sooner(self.instance.step_seconds).allows(0.0)
        return found

    def _enter(self, tree: ObliqueTree, until: Deadline) -> bool:
        """Offer a tree, and refit it while that improves it. Returns whether it became the best."""
        leads = False
        while self.incumbent.offer(tree):
            leads = True
            if self.incumbent.is_over:
                break
            # A linear program with many features can take longer than all rounds together.
            allowed = max(1.0, IMPROVEMENT_SHARE * self.incumbent.clock.limit)
            tree = self.improve(tree, until.within(allowed))
        return leads


# Search and solver in parallel: first the search alone, then both.

HEAD_START, LONGEST_HEAD_START = 0.15, 30.0
"""Share of the time limit in which the search runs alone, and its maximum seconds: by then most problems are solved."""

FINISH_SECONDS = 0.05
"""Seconds reserved for the steps from the solver's last tree to the certificate."""

Explore = Callable[[int, float], int]
"""Runs search rounds, starting with a given number, for given seconds; returns the next number."""


@dataclass(frozen=True, eq=False)
class Formulation:
    """A model for a solver: its size, how to build it, and how to convert trees to solutions and back."""

    size: ModelSize
    build: Callable[[], Milp]
    encode: Callable[[Milp, ObliqueTree], FloatArray]
    decode: Callable[[Milp, FloatArray], ObliqueTree]
    attainable: Callable[[float], float] = float
    """The minimum cost of a tree if the model's objective is at least the given value."""


@dataclass(frozen=True, eq=False)
class Portfolio:
    """A search and, if the context has one, a solver, which improve the same incumbent."""

    context: FitContext
    incumbent: Incumbent
    explore: Explore
    formulation: Formulation
    head_start: float = HEAD_START

    def run(self) -> None:
        """Run until the fit is over. The best tree stays in the incumbent."""
        incumbent, clock = self.incumbent, self.context.clock
        self.context.listener.stage(SEARCHING)
        alone = min(self.head_start * clock.limit, LONGEST_HEAD_START)
        # The end of the head start cuts a round, whose work is lost. So the head start ends only if a solver follows.
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
        """Whether a solver has time for more than reading the model."""
        return self.formulation.size.n_entries <= ENTRIES_PER_SECOND * seconds

    def solve(self, start: ObliqueTree | None, meanwhile: Callable[[], object] = lambda: None) -> None:
        """Run the solver until the time is over, while ``meanwhile`` runs in this thread."""
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


def bound_small(incumbent: Incumbent, milp: Milp, deadline: Deadline) -> float:
    """Lower bound on the objective of a small model, from HiGHS in one thread until a deadline."""
    limits = Limits(max(deadline.seconds_left, 0.01))
    return solve_in_worker(load_solver("highs"), milp, limits=limits, watcher=_UntilOver(incumbent)).dual_bound


class _UntilOver(Watcher):
    """Lets a solver run until the incumbent is decided or the time is over."""

    def __init__(self, incumbent: Incumbent) -> None:
        self._incumbent = incumbent

    def should_stop(self) -> bool:
        return self._incumbent.is_over

    def interrupted(self) -> None:
        self._incumbent.clock.interrupt()


class _Exchange(_UntilOver):
    """Passes the solver's trees and bounds to the incumbent, and the incumbent's better trees to the solver."""

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
