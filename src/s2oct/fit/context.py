"""What a fit may use, and what every part of it shares."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from s2oct.model.evidence import AUTO_GUIDE_WEIGHT, Sparsity
from s2oct.model.prepared import Prepared
from s2oct.model.problem import Advice, Guide
from s2oct.model.proof import Moment
from s2oct.model.tree import ObliqueTree
from s2oct.solvers import Solver
from s2oct.stopping import Clock, Deadline, Stop, never

COMPILING, PREPARING, ASKING_GUIDE, SEARCHING, BREAKING_TIES, SOLVING, COMPARING = STAGES = (
    "compiling",
    "preparing",
    "asking the guide",
    "searching",
    "choosing between trees of equal cost",
    "searching and solving",
    "looking for other trees of this cost",
)
"""The parts of a fit. Most fits have only some of them, and the strategy decides on their order."""


class Listener(Protocol):
    """Is informed about the progress of a fit. Methods are called from any thread of the fit and must be quick."""

    def stage(self, name: str) -> None:
        """The fit has begun another part of its work, one of `STAGES`."""

    def progress(self, moment: Moment) -> None:
        """The best cost fell, or the lower bound rose."""


@runtime_checkable
class TreeListener(Protocol):
    """A listener that wants to see trees, too. The method is called from any thread of the fit and must be quick."""

    def found(self, tree: ObliqueTree) -> None:
        """A tree is better than all before; it is in the user's units, and its numbers are not short yet."""


class NoListener:
    """Ignores everything."""

    def stage(self, name: str) -> None:
        """Ignore."""

    def progress(self, moment: Moment) -> None:
        """Ignore."""


class SeveralListeners:
    """Passes everything on to several listeners."""

    def __init__(self, listeners: Iterable[Listener]) -> None:
        self._listeners = tuple(listeners)

    def stage(self, name: str) -> None:
        """Pass on."""
        for listener in self._listeners:
            listener.stage(name)

    def progress(self, moment: Moment) -> None:
        """Pass on."""
        for listener in self._listeners:
            listener.progress(moment)

    @property
    def wants_trees(self) -> bool:
        """Whether any of them does."""
        return any(map(wants_trees, self._listeners))

    def found(self, tree: ObliqueTree) -> None:
        """Pass on to those who want to see trees."""
        for listener in self._listeners:
            if isinstance(listener, TreeListener):
                listener.found(tree)


class UserUnits:
    """Passes everything on, trees in another form.

    Parameters
    ----------
    listener : Listener
        Gets everything.
    convert : callable
        From a tree in the units of the model to one in those of the user.
    """

    def __init__(self, listener: Listener, convert: Callable[[ObliqueTree], ObliqueTree]) -> None:
        self._listener, self._convert = listener, convert

    def stage(self, name: str) -> None:
        """Pass on."""
        self._listener.stage(name)

    def progress(self, moment: Moment) -> None:
        """Pass on."""
        self._listener.progress(moment)

    @property
    def wants_trees(self) -> bool:
        """Whether the listener does."""
        return wants_trees(self._listener)

    def found(self, tree: ObliqueTree) -> None:
        """Convert and pass on."""
        if isinstance(self._listener, TreeListener):
            self._listener.found(self._convert(tree))


def wants_trees(listener: Listener) -> bool:
    """Whether a listener, or one that it passes things on to, wants to see trees."""
    return isinstance(listener, TreeListener) and bool(getattr(listener, "wants_trees", True))


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
    sparsity : Sparsity
        How sparse the splits of the evidence model should be.
    is_busy : callable
        Whether the guide still runs although the fit no longer waits for it.
    """

    ask: Callable[[Deadline], Advice | None]
    weight: float = AUTO_GUIDE_WEIGHT
    sparsity: Sparsity = field(default_factory=Sparsity)
    is_busy: Callable[[], bool] = never
    _answers: list[Advice] = field(default_factory=list)

    @property
    def answer(self) -> Advice | None:
        """What the guide said; None if it was not asked or gave no answer in time."""
        return self._answers[-1] if self._answers else None

    def asked(self, deadline: Deadline) -> Advice | None:
        """Ask the guide, and remember what it says."""
        said = self.ask(deadline)
        if said is not None:
            self._answers.append(said)
        return said


def advised(prepared: Prepared, guidance: Guidance, context: FitContext) -> Prepared | None:
    """Ask the guide and put its answer into the problem; None if the fit has to end before it answers."""
    context.listener.stage(ASKING_GUIDE)
    clock = context.clock
    patience = GUIDE_PATIENCE * clock.seconds_left
    advice = None
    if not clock.is_over:
        advice = guidance.asked(clock.deadline(patience))
    if advice is None:
        if not clock.stopped():
            context.notices.append(
                f"The guide gave no answer within {patience:.3g} s of a time limit of {clock.limit:g} s: the tree was "
                "chosen without it."
            )
        return None
    return prepared.guided_by(Guide.from_probabilities(advice.probabilities, guidance.weight))
