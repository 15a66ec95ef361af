"""The race for the best tree: whoever finds one hands it in here, whoever proves a bound says so here."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from s2oct.model.proof import DECIDED_TOLERANCE, NOT_NEGATIVE, Bound, Moment
from s2oct.model.tree import ObliqueTree

WORTH_NOTING = 1e-9
"""A bound must rise by this much to count: solvers report rounding errors as progress."""


Watcher = Callable[[Moment], None]

_WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watched_by(watcher: Watcher) -> Iterator[None]:
    """Tell every improvement of the fits inside the block to ``watcher``. It must be quick: the race waits for it."""
    before = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(before)


@dataclass
class Race:
    """Best tree and lower bound so far, against the clock. Safe to use from several threads.

    Parameters
    ----------
    seconds : float
        Wall-clock time until the deadline, counted from ``began``.
    verbose : int
        1 or more prints every improvement to standard error.
    """

    seconds: float
    verbose: int = 0
    began: float = field(default_factory=time.monotonic)
    bound: Bound = NOT_NEGATIVE
    best: ObliqueTree | None = None
    best_cost: float = float("inf")
    history: list[Moment] = field(default_factory=list)
    _cost: Callable[[ObliqueTree], float | None] = field(default=lambda tree: None, repr=False)
    _opening: Bound = NOT_NEGATIVE
    watcher: Watcher | None = field(default_factory=_WATCHER.get, repr=False)
    _refuted: set[str] = field(default_factory=set, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def open(self, cost: Callable[[ObliqueTree], float | None], bound: Bound) -> None:
        """Admit trees: ``cost`` evaluates one from scratch, None where it is not feasible; the clock runs already."""
        self._cost, self.bound, self._opening = cost, bound, bound

    def offer(self, tree: ObliqueTree) -> bool:
        """Hand in a tree; it is evaluated here, and kept if it is feasible and cheaper than the best."""
        cost = self._cost(tree)
        with self._lock:
            if cost is None or cost >= self.best_cost:
                return False
            self.best, self.best_cost = tree, cost
            if cost < self.bound.value - DECIDED_TOLERANCE:
                # A checked tree refutes the bound, and with it whoever reported it.
                self._refuted.add(self.bound.source)
                self.bound = self._opening
            self._note()
            return True

    def raise_bound(self, value: float, source: str) -> None:
        """Report a lower bound. One above the cost of a tree that was checked is false, and ignored."""
        with self._lock:
            if source in self._refuted:
                return
            if self.bound.value + WORTH_NOTING < value <= self.best_cost + DECIDED_TOLERANCE:
                self.bound = Bound(min(value, self.best_cost), source)
                self._note()

    @property
    def winner(self) -> ObliqueTree:
        """The best tree; a constant one is always feasible, so a race that was offered it has one."""
        if self.best is None:
            raise RuntimeError("The race was given no feasible tree.")
        return self.best

    @property
    def elapsed(self) -> float:
        """Seconds since the fit began."""
        return time.monotonic() - self.began

    @property
    def seconds_left(self) -> float:
        """Seconds until the deadline, 0 after it."""
        return max(self.seconds - self.elapsed, 0.0)

    @property
    def is_decided(self) -> bool:
        """Whether the best tree is proved optimal."""
        return self.best_cost <= self.bound.value + DECIDED_TOLERANCE

    @property
    def is_over(self) -> bool:
        """Whether the race is decided or out of time."""
        return self.is_decided or self.seconds_left <= 0

    def _note(self) -> None:
        now = Moment(self.elapsed, self.best_cost, self.bound.value)
        self.history.append(now)
        if self.watcher is not None:
            self.watcher(now)
        if self.verbose:
            print(f"{now.seconds:8.2f} s  cost {now.objective:<12.6g} bound {now.lower_bound:.6g}", file=sys.stderr)
