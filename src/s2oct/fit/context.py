"""What a fit may use, whom it informs, which guide it asks, and what all its parts share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from s2oct.evidence.evidence import AUTO_GUIDE_WEIGHT, Evidence, EvidenceSpec
from s2oct.evidence.exact import SearchParams
from s2oct.p2.prepared import Prepared
from s2oct.p2.proof import Moment
from s2oct.problem.problem import Advice, Guide, Problem
from s2oct.solvers import Solver
from s2oct.stopping import Clock, Deadline, Stop, never
from s2oct.trees.topology import Topology
from s2oct.trees.tree import ObliqueTree

PREPARING, ASKING_GUIDE, SEARCHING, BREAKING_TIES, SOLVING, COMPARING = STAGES = (
    "preparing",
    "asking the guide",
    "searching",
    "choosing between trees of equal cost",
    "searching and solving",
    "looking for other trees of this cost",
)
"""The parts of a fit. Most fits have only some of them, and the strategy decides on their order."""


class Listener(Protocol):
    """Receives stage, cost and bound updates. Methods are called from any thread of the fit and must be quick.

    A listener with a method ``found(tree)`` also receives every tree that is better than all before, in the user's
    units; its numbers are not short yet.
    """

    def stage(self, name: str) -> None:
        """The fit has begun another part of its work, one of `STAGES`."""

    def progress(self, moment: Moment) -> None:
        """The best cost fell, or the lower bound rose."""


@dataclass(frozen=True)
class Listeners:
    """Passes every update on to all listeners, and trees after ``convert`` has put them into the user's units."""

    listeners: tuple[Listener, ...] = ()
    convert: Callable[[ObliqueTree], ObliqueTree] = lambda tree: tree

    @classmethod
    def of(cls, listener: Listener | None) -> Listeners:
        """Those that a caller passes as one."""
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
        """Pass on to those who receive trees."""
        for listener in self.listeners:
            if hasattr(listener, "found"):
                listener.found(self.convert(tree))


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
    listener : Listeners
        Is informed about the progress of the fit.
    notices : list of str
        Sentences for the user from any part of the fit. The caller of the fit decides how to show them.
    """

    budget: Budget
    solver: Solver | None
    clock: Clock
    listener: Listeners
    notices: list[str] = field(default_factory=list)


GUIDE_PATIENCE = 0.8
"""Share of the time that is left for which a fit waits for its guide: the rest is for a tree without it."""

GUIDE_RUNS_ON = (
    "The guide did not end with the fit and still runs in the background: compiled code cannot be ended from outside. "
    "It ends by itself or with this process. Allow the fit more time, or use a faster guide."
)


@dataclass(frozen=True, eq=False)
class Guidance:
    """The guide that is asked about the unlabeled rows, and how its answer is used.

    Attributes
    ----------
    ask : callable
        Takes the deadline after which the fit goes on without the guide. Returns the guide's `Advice`, or None if there
        is no answer by the deadline.
    weight : float
        What an unlabeled row of which the guide is sure counts against a labeled one. With 0 the guide only chooses
        among the trees of least cost in P2.
    spec : EvidenceSpec
        What the user chose about trees of the evidence model.
    is_busy : callable
        Whether the guide still runs although the fit no longer waits for it.
    effort : SearchParams
        How hard the search for a tree tries.
    """

    ask: Callable[[Deadline], Advice | None]
    weight: float = AUTO_GUIDE_WEIGHT
    spec: EvidenceSpec = field(default_factory=EvidenceSpec)
    is_busy: Callable[[], bool] = never
    effort: SearchParams = field(default_factory=SearchParams)

    def advised(self, prepared: Prepared, advice: Advice) -> Prepared:
        """The problem with the guide's answer."""
        return prepared.guided_by(Guide.from_probabilities(advice.probabilities, self.weight))

    def evidence(self, problem: Problem, topology: Topology) -> Evidence:
        """What classes cost the rows of a problem that has the guide's answer."""
        return Evidence.of(problem, topology, self.weight, self.spec.total_price)


def advice_in_time(guidance: Guidance, context: FitContext) -> Advice | None:
    """Ask the guide about the unlabeled rows; None, with a notice, if the fit has to end before it answers."""
    context.listener.stage(ASKING_GUIDE)
    clock = context.clock
    patience = GUIDE_PATIENCE * clock.seconds_left
    advice = None if clock.is_over else guidance.ask(clock.deadline(patience))
    if advice is None and not clock.stopped():
        context.notices.append(
            f"The guide gave no answer within {patience:.3g} s of a time limit of {clock.limit:g} s: the tree was "
            "chosen without it."
        )
    return advice
