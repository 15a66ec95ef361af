"""What all parts of one fit share: its budget, listeners and guide, their context, and the incumbent."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

from s2oct.evidence.evidence import AUTO_GUIDE_WEIGHT, Evidence, EvidenceSpec
from s2oct.evidence.exact import SearchParams
from s2oct.p2.prepared import Prepared
from s2oct.p2.proof import CONVERGED, DECIDED_TOLERANCE, INTERRUPTED, NOT_NEGATIVE, PROVED, TIME_LIMIT, Bound, Moment
from s2oct.problem.problem import Advice, Guide, Problem
from s2oct.solvers import Solver, load_solver
from s2oct.stopping import Clock, Deadline, Stop, never, now
from s2oct.trees.tree import ObliqueTree, Topology

PREPARING, ASKING_GUIDE, SEARCHING, BREAKING_TIES, SOLVING, COMPARING = STAGES = (
    "preparing",
    "asking the guide",
    "searching",
    "choosing between trees of equal cost",
    "searching and solving",
    "looking for other trees of this cost",
)
"""The stages of a fit. Most fits have only some of them, and the strategy determines their order."""


class Listener(Protocol):
    """Receives stage, cost and bound updates. Methods are called from any thread of the fit and must be quick.

    A listener with a method ``found(tree)`` also receives every new best tree, in the user's units and before
    rounding.
    """

    def stage(self, name: str) -> None:
        """The fit has started another stage, one of `STAGES`."""

    def progress(self, moment: Moment) -> None:
        """The best cost fell, or the lower bound rose."""


@dataclass(frozen=True)
class Listeners:
    """Passes every update on to all listeners; ``convert`` puts trees into the user's units first."""

    listeners: tuple[Listener, ...] = ()
    convert: Callable[[ObliqueTree], ObliqueTree] = lambda tree: tree

    @classmethod
    def of(cls, listener: Listener | None) -> Listeners:
        """Wrap the listener that a caller passes, if any."""
        if isinstance(listener, Listeners):
            return listener
        return cls(() if listener is None else (listener,))

    def stage(self, name: str) -> None:
        """Pass on."""
        for listener in self.listeners:
            listener.stage(name)

    def progress(self, moment: Moment) -> None:
        """Pass on."""
        for listener in self.listeners:
            listener.progress(moment)

    @property
    def wants_trees(self) -> bool:
        """Whether any of them receives trees."""
        return any(hasattr(listener, "found") for listener in self.listeners)

    def found(self, tree: ObliqueTree) -> None:
        """Pass on to the listeners that receive trees."""
        for listener in self.listeners:
            if hasattr(listener, "found"):
                listener.found(self.convert(tree))


@dataclass(frozen=True)
class TimeParams:
    """How a fit divides its time limit.

    Attributes
    ----------
    checks : float
        Maximum share of the limit for a check of the labels before the fit.
    preparation : float
        Maximum share of the limit for preparing the problem: most of the time is for the search.
    guide : float
        Share of the remaining time for which a fit waits for its guide: the rest is for a tree without it.
    reserve, reserve_factor : float
        The steps after the search take less than this multiple of the time for reading and preparation. A time measured
        on this table, at the present load of the machine, is more accurate than any constant. ``reserve`` is the
        maximum share of the limit.
    """

    checks: float = 0.05
    preparation: float = 0.25
    guide: float = 0.8
    reserve: float = 0.2
    reserve_factor: float = 2.0


PARAMS = TimeParams()


@dataclass(frozen=True)
class Budget:
    """Solver, time, threads and seed of a fit, for any model.

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
        """The deadline of a check that starts now."""
        return Deadline.after(PARAMS.checks * self.time_limit, stop)


@dataclass(frozen=True, eq=False)
class FitContext:
    """The objects that all parts of one fit share.

    Attributes
    ----------
    budget : Budget
        Solver, time, threads and seed.
    solver : Solver or None
        The loaded solver that the budget names.
    clock : Clock
        Start and time limit of the fit, and whether it was asked to stop.
    listener : Listeners
        Receives stage, cost and bound updates.
    notices : list of str
        Messages for the user from any part of the fit. The caller decides how to show them.
    """

    budget: Budget
    solver: Solver | None
    clock: Clock
    listener: Listeners
    notices: list[str] = field(default_factory=list)


def open_context(budget: Budget, stop: Stop, listener: Listener | None, spent: float = 0.0) -> FitContext:
    """Load the solver, then start the clock: the time limit covers reading the data, but not importing the solver."""
    solver = load_solver(budget.solver) if budget.solver is not None else None
    clock = Clock(budget.time_limit, stop, now() - spent)
    context = FitContext(budget, solver, clock, Listeners.of(listener))
    context.listener.stage(PREPARING)
    return context


def with_reserve(context: FitContext) -> FitContext:
    """Reserve time for the steps after the search."""
    clock = context.clock.anew()  # steps that preparation skipped have their own notice
    reserve = min(PARAMS.reserve_factor * clock.elapsed, PARAMS.reserve * clock.limit)
    return replace(context, clock=replace(clock, reserve=reserve))


GUIDE_RUNS_ON = (
    "The guide did not end with the fit and still runs in the background: compiled code cannot be ended from outside. "
    "It ends by itself or with this process. Allow the fit more time, or use a faster guide."
)


@dataclass(frozen=True, eq=False)
class Guidance:
    """The guide for the unlabeled rows, and how its probabilities are used.

    Attributes
    ----------
    ask : callable
        Takes the deadline after which the fit continues without the guide. Returns the guide's `Advice`, or None if
        the guide does not finish by the deadline.
    weight : float
        Weight of an unlabeled row about which the guide is certain, relative to a labeled row. With 0, the guide only
        chooses between trees of minimum cost in P2.
    spec : EvidenceSpec
        The user's choices about trees of the evidence model.
    is_busy : callable
        Whether the guide is still running although the fit no longer waits for it.
    effort : SearchParams
        Effort of the search for a tree.
    """

    ask: Callable[[Deadline], Advice | None]
    weight: float = AUTO_GUIDE_WEIGHT
    spec: EvidenceSpec = field(default_factory=EvidenceSpec)
    is_busy: Callable[[], bool] = never
    effort: SearchParams = field(default_factory=SearchParams)

    def advised(self, prepared: Prepared, advice: Advice) -> Prepared:
        """Return the problem with the guide's advice."""
        return prepared.guided_by(Guide.from_probabilities(advice.probabilities, self.weight))

    def evidence(self, problem: Problem, topology: Topology) -> Evidence:
        """Return the evidence of a problem that has the guide's advice."""
        return Evidence.of(problem, topology, self.weight, self.spec.total_price)


def advice_in_time(guidance: Guidance, context: FitContext) -> Advice | None:
    """Ask the guide about the unlabeled rows; return None, and add a notice, if it does not finish in time."""
    context.listener.stage(ASKING_GUIDE)
    clock = context.clock
    patience = PARAMS.guide * clock.seconds_left
    advice = None if clock.is_over else guidance.ask(clock.deadline(patience))
    if advice is None and not clock.stopped():
        context.notices.append(
            f"The guide gave no answer within {patience:.3g} s of a time limit of {clock.limit:g} s: the tree was "
            "chosen without it."
        )
    return advice


WORTH_NOTING = 1e-9
"""A bound must rise by this much to count: solvers report rounding errors as progress."""

Assess = Callable[[ObliqueTree], tuple[ObliqueTree, float] | None]
"""Evaluates a tree from scratch: returns the tree as it will be kept and its cost, or None if it is not feasible."""


class Incumbent:
    """Best tree and lower bound so far, with the clock of the fit. Safe to use from several threads.

    Parameters
    ----------
    clock : Clock
        The time of the fit.
    assess : callable
        Evaluates every tree that is offered.
    opening : Bound
        The initial lower bound.
    listener : Listener, optional
        Receives every improvement.
    """

    def __init__(
        self, clock: Clock, assess: Assess, opening: Bound = NOT_NEGATIVE, listener: Listener | None = None
    ) -> None:
        self.clock = clock
        self.bound = self._opening = opening
        self.best: ObliqueTree | None = None
        self.best_cost = float("inf")
        self.history: list[Moment] = []
        self._assess = assess
        self._listener = Listeners.of(listener)
        self._refuted: set[str] = set()
        self._lock = threading.Lock()

    def offer(self, tree: ObliqueTree) -> bool:
        """Evaluate a tree, and keep it if it is feasible and cheaper than the best; return whether it was kept."""
        found = self._assess(tree)
        if found is None:
            return False
        kept, cost = found
        with self._lock:
            if cost >= self.best_cost:
                return False
            if cost < self.bound.value - DECIDED_TOLERANCE:
                # An evaluated tree refutes the bound, so its source is no longer trusted. The bound changes before the
                # cost: other threads read both without the lock, and must not mistake them for a proof.
                self._refuted.add(self.bound.source)
                self.bound = self._opening
            self.best, self.best_cost = kept, cost
            self._note()
            if self._listener.wants_trees:
                self._listener.found(kept)
            return True

    def raise_bound(self, value: float, source: str) -> None:
        """Report a lower bound. A bound above the cost of an evaluated tree is wrong, and is ignored."""
        with self._lock:
            if source in self._refuted:
                return
            if self.bound.value + WORTH_NOTING < value <= self.best_cost + DECIDED_TOLERANCE:
                self.bound = Bound(min(value, self.best_cost), source)
                self._note()

    @property
    def winner(self) -> ObliqueTree:
        """The best tree. It exists once a constant tree has been offered, which is always feasible."""
        if self.best is None:
            raise RuntimeError("No feasible tree was offered.")
        return self.best

    @property
    def is_decided(self) -> bool:
        """Whether the best tree is proved optimal."""
        return self.best_cost <= self.bound.value + DECIDED_TOLERANCE

    @property
    def is_over(self) -> bool:
        """Whether there is nothing more to do: decided, out of time, or asked to stop."""
        return self.is_decided or self.clock.is_over

    @property
    def ending(self) -> str:
        """The reason for the end of the fit, if it ended now."""
        if self.is_decided:
            return PROVED
        if self.clock.stopped():
            return INTERRUPTED
        return TIME_LIMIT if self.clock.has_cut else CONVERGED

    def _note(self) -> None:
        moment = Moment(self.clock.elapsed, self.best_cost, self.bound.value)
        self.history.append(moment)
        self._listener.progress(moment)
