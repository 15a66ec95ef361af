"""The best tree and the lower bound so far. Search and solver hand in trees and bounds here."""

from __future__ import annotations

import threading
from collections.abc import Callable

from s2oct.fit.context import Listener, Listeners
from s2oct.model.proof import (
    CONVERGED,
    DECIDED_TOLERANCE,
    INTERRUPTED,
    NOT_NEGATIVE,
    PROVED,
    TIME_LIMIT,
    Bound,
    Moment,
)
from s2oct.model.tree import ObliqueTree
from s2oct.stopping import Clock

WORTH_NOTING = 1e-9
"""A bound must rise by this much to count: solvers report rounding errors as progress."""

Assess = Callable[[ObliqueTree], tuple[ObliqueTree, float] | None]
"""Checks a tree from scratch: the tree as it will be kept and its cost, or None if it is not feasible."""


class Incumbent:
    """Best tree and lower bound so far, with the clock of the fit. Safe to use from several threads.

    Parameters
    ----------
    clock : Clock
        The time of the fit.
    assess : callable
        Evaluates every tree that is offered.
    opening : Bound
        The lower bound to begin with.
    listener : Listener, optional
        Is informed about every improvement.
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
        """Hand in a tree; it is evaluated here, and kept if it is feasible and cheaper than the best."""
        found = self._assess(tree)
        if found is None:
            return False
        kept, cost = found
        with self._lock:
            if cost >= self.best_cost:
                return False
            if cost < self.bound.value - DECIDED_TOLERANCE:
                # A checked tree refutes the bound, so its source is no longer trusted. The bound changes before the
                # cost: other threads read both without the lock, and must not take them for a proof.
                self._refuted.add(self.bound.source)
                self.bound = self._opening
            self.best, self.best_cost = kept, cost
            self._note()
            if self._listener.wants_trees:
                self._listener.found(kept)
            return True

    def raise_bound(self, value: float, source: str) -> None:
        """Report a lower bound. A bound above the cost of a checked tree is false, and is ignored."""
        with self._lock:
            if source in self._refuted:
                return
            if self.bound.value + WORTH_NOTING < value <= self.best_cost + DECIDED_TOLERANCE:
                self.bound = Bound(min(value, self.best_cost), source)
                self._note()

    @property
    def winner(self) -> ObliqueTree:
        """The best tree. It exists once a constant tree was offered, which is always feasible."""
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
        """Why the fit ends, if it ends now."""
        if self.is_decided:
            return PROVED
        if self.clock.stopped():
            return INTERRUPTED
        return TIME_LIMIT if self.clock.has_cut else CONVERGED

    def _note(self) -> None:
        moment = Moment(self.clock.elapsed, self.best_cost, self.bound.value)
        self.history.append(moment)
        self._listener.progress(moment)
