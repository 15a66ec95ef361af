"""The search and a solver against the clock: first the search alone, then both side by side."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

from s2oct.arrays import FloatArray
from s2oct.errors import ModelTooLarge, S2OCTWarning, SolverFailed, SolverLicenceError
from s2oct.fit.incumbent import Race
from s2oct.linear.model import Milp
from s2oct.memory import require_memory
from s2oct.milp.size import ModelSize
from s2oct.model.tree import ObliqueTree
from s2oct.solvers import Limits, Solver, Termination, load_solver, solve_in_worker

HEAD_START, LONGEST_HEAD_START = 0.15, 30.0
"""Share of the time limit that the search has to itself, and at most how many seconds: most problems end there."""

LONGEST_EPILOGUE = 3.0
"""Most seconds of a solver after a search that has converged: beyond, it hardly ever gains, and somebody waits."""

ENTRIES_PER_SECOND = 10_000
"""A model with more matrix entries than this per second left is not worth a core: its root relaxation alone would
take the time in which the search tries millions of moves."""

FINISH_SECONDS = 0.05
"""Kept back from the solver for the way from its last tree to the certificate."""

Explore = Callable[[int, float], int]
"""Runs search rounds from a number on, for so many seconds; returns the next number."""


@dataclass(frozen=True, eq=False)
class Contender:
    """A solver, its limits apart from time, and the model it would solve."""

    solver: Solver
    threads: int
    seed: int
    size: ModelSize
    build: Callable[[], Milp]
    encode: Callable[[Milp, ObliqueTree], FloatArray]
    decode: Callable[[Milp, FloatArray], ObliqueTree]
    attainable: Callable[[float], float] = float
    """The least cost a tree can have at or above a bound."""


def compete(race: Race, explore: Explore, contender: Contender | None, *, converging: bool = False) -> bool:
    """Run until the race is over; False if Ctrl-C ended it early, with a warning. The best tree stays in the race.

    ``converging`` says that the search stops by itself once it finds nothing better, since no bound will tell; the
    solver then has as long as the search took (or `LONGEST_EPILOGUE`), to improve or to prove.
    """
    try:
        if contender is None:
            explore(0, race.seconds_left)
            return True
        alone = race.seconds_left if converging else min(HEAD_START * race.seconds, LONGEST_HEAD_START)
        number = explore(0, alone)
        if race.is_over:
            return True
        allowed = min(race.elapsed, race.seconds_left, LONGEST_EPILOGUE) if converging else race.seconds_left

        def go_on() -> None:
            if not converging:
                explore(number, race.seconds_left)

        if contender.size.n_entries > ENTRIES_PER_SECOND * allowed:
            go_on()
            return True
        try:
            return _run_solver(race, contender, go_on, start=race.best, seconds=allowed)
        except (SolverLicenceError, ModelTooLarge, MemoryError) as error:
            reason = str(error) or "There is no memory for the model."
            warnings.warn(f"{reason} The tree will be the best that was found without it.", S2OCTWarning, stacklevel=5)
            go_on()
            return True
    except KeyboardInterrupt:
        warn_interrupted(race)
        return False


def solve_alone(race: Race, contender: Contender) -> None:
    """Let the solver run without a search and without a start, whatever the model's size."""
    _run_solver(race, contender, lambda: None, start=None, seconds=race.seconds_left)


def _run_solver(
    race: Race, contender: Contender, meanwhile: Callable[[], object], start: ObliqueTree | None, seconds: float
) -> bool:
    """Solve until the seconds are over; False if Ctrl-C came first."""
    require_memory(contender.size.n_bytes, f"The model for {contender.solver.name}")
    milp = contender.build()
    result = solve_in_worker(
        contender.solver,
        milp,
        limits=Limits(max(min(seconds, race.seconds_left) - FINISH_SECONDS, 0.01), contender.threads, contender.seed),
        listener=_Listener(race, milp, contender, known=start),
        start=None if start is None else contender.encode(milp, start),
        meanwhile=meanwhile,
    )
    if result.termination is Termination.INTERRUPTED and not race.is_over:
        warn_interrupted(race)
        return False
    return True


def solve_small(race: Race, milp: Milp, start: FloatArray, deadline: float) -> FloatArray | None:
    """The best solution of a small model that HiGHS finds until a deadline, from a complete start, in one thread."""
    limits = Limits(max(deadline - time.monotonic(), 0.01))
    try:
        result = solve_in_worker(load_solver("highs"), milp, limits=limits, listener=_Silent(race), start=start)
    except SolverFailed:
        return None
    if result.termination is Termination.INTERRUPTED and not race.is_over:
        # Whoever searches is to hear Ctrl-C.
        raise KeyboardInterrupt
    return result.x


def warn_interrupted(race: Race) -> None:
    """Say that the tree is what was found until Ctrl-C."""
    warnings.warn(
        f"The fit was interrupted after {race.elapsed:.1f} s: the tree is the best found so far, of cost "
        f"{race.best_cost:.6g}; the lower bound is {race.bound.value:.6g}.",
        S2OCTWarning,
        stacklevel=6,
    )


class _Silent:
    """Lets a solver run until the race is over."""

    def __init__(self, race: Race) -> None:
        self._race = race

    def incumbent(self, x: FloatArray) -> None:
        pass

    def bound(self, value: float) -> None:
        pass

    def should_stop(self) -> bool:
        return self._race.is_over

    def suggestion(self) -> FloatArray | None:
        return None


class _Listener:
    """Hands a solver's trees and bounds to the race, and the race's better trees to the solver."""

    def __init__(self, race: Race, milp: Milp, contender: Contender, known: ObliqueTree | None) -> None:
        self._race, self._milp, self._contender, self._known = race, milp, contender, known

    def incumbent(self, x: FloatArray) -> None:
        tree = self._contender.decode(self._milp, x)
        if self._race.offer(tree):
            self._known = tree

    def bound(self, value: float) -> None:
        self._race.raise_bound(self._contender.attainable(value), f"the bound of {self._contender.solver.name}")

    def should_stop(self) -> bool:
        return self._race.is_over

    def suggestion(self) -> FloatArray | None:
        best = self._race.best
        if best is None or best is self._known:
            return None
        self._known = best
        return self._contender.encode(self._milp, best)
