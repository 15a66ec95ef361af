"""Search and solver, one after the other or at the same time, on one incumbent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from joblib import Parallel, delayed

from s2oct.arrays import FloatArray
from s2oct.errors import SolverFailed, SolverLicenceError
from s2oct.fit.context import SEARCHING, SOLVING, FitContext, Incumbent
from s2oct.p2.instance import Instance
from s2oct.p2.milp import ENTRIES_PER_SECOND, ModelSize
from s2oct.p2.rounds import descends, run_round
from s2oct.solvers import Limits, Watcher, load_solver, solve_in_worker
from s2oct.solvers.model import Milp
from s2oct.solvers.worker import require_memory
from s2oct.stopping import Deadline
from s2oct.trees.tree import ObliqueTree


@dataclass(frozen=True)
class PortfolioParams:
    """How search and solver share the time limit.

    Attributes
    ----------
    head_start, longest_head_start : float
        Share of the limit in which the search runs alone, and its maximum seconds: by then most problems are solved.
    refit_share, refit_seconds : float
        Maximum share of the limit for refitting one new best tree, and seconds that are allowed in any case: a linear
        program with many features can take longer than all rounds together.
    worth_share : float
        A search with `patience` counts a tree as better only if it is cheaper by at least this share.
    finish_seconds : float
        Seconds reserved for the steps from the solver's last tree to the certificate.
    """

    head_start: float = 0.15
    longest_head_start: float = 30.0
    refit_share: float = 0.05
    refit_seconds: float = 1.0
    worth_share: float = 0.01
    finish_seconds: float = 0.05


PARAMS = PortfolioParams()


# Rounds of search until a deadline. Every new best tree is refitted.


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
        Minimum improvement that counts as better for `patience`; at least `worth_share` of the cost.
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
            if incumbent.best_cost < to_beat - max(self.worth, PARAMS.worth_share * incumbent.best_cost):
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
            allowed = max(PARAMS.refit_seconds, PARAMS.refit_share * self.incumbent.clock.limit)
            tree = self.improve(tree, until.within(allowed))
        return leads


# Search and solver in parallel: first the search alone, then both.

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


def search_and_solve(
    context: FitContext,
    incumbent: Incumbent,
    explore: Explore,
    formulation: Formulation,
    head_start: float = PARAMS.head_start,
) -> None:
    """Run a search and, if the context has one, a solver until the fit is over. The best tree stays in the incumbent.

    ``head_start`` is the share of the time limit in which the search runs alone.
    """
    clock = context.clock
    context.listener.stage(SEARCHING)
    alone = min(head_start * clock.limit, PARAMS.longest_head_start)
    # A solver needs time for more than reading the model. The end of the head start cuts a round, whose work is lost.
    # So the head start ends only if a solver follows.
    is_worth_solving = formulation.size.n_entries <= ENTRIES_PER_SECOND * (clock.seconds_left - alone)
    if context.solver is None or not is_worth_solving:
        explore(0, clock.seconds_left)
        return
    number = explore(0, alone)
    if incumbent.is_over:
        return

    def go_on() -> None:
        nonlocal number
        number = explore(number, clock.seconds_left)

    try:
        run_solver(context, incumbent, formulation, go_on)
    except (SolverLicenceError, SolverFailed, MemoryError) as error:
        reason = str(error) or "There is no memory for the model."
        context.notices.append(f"{reason} The fit went on without it.")
        go_on()


def run_solver(
    context: FitContext,
    incumbent: Incumbent,
    formulation: Formulation,
    meanwhile: Callable[[], object] = lambda: None,
) -> None:
    """Run the solver from the best tree until the time is over, while ``meanwhile`` runs in this thread."""
    solver, budget, start = context.solver, context.budget, incumbent.best
    assert solver is not None
    require_memory(formulation.size.n_bytes, f"The model for {solver.name}")
    context.listener.stage(SOLVING)
    milp = formulation.build()
    allowed = max(context.clock.seconds_left - PARAMS.finish_seconds, 0.01)
    solve_in_worker(
        solver,
        milp,
        limits=Limits(allowed, budget.n_jobs, budget.seed),
        watcher=_Exchange(incumbent, milp, formulation, solver.name, known=start),
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
