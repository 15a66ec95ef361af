"""Watchers of a solve that a test can read afterwards."""

from __future__ import annotations

import numpy as np

from s2oct.solvers import Limits, Solver, SolveResult, Watcher
from s2oct.solvers.model import Milp
from s2oct.stopping import now


class Recorder(Watcher):
    """Remembers what it hears, and asks to stop once ``stop_when`` says so of it."""

    def __init__(self, stop_when=lambda recorder: False, suggest=None) -> None:
        self.incumbents: list[np.ndarray] = []
        self.bounds: list[float] = []
        self.stop_when, self.suggest = stop_when, suggest
        self.asked_at: float | None = None
        self.was_interrupted = False

    def incumbent(self, x: np.ndarray) -> None:
        self.incumbents.append(x.copy())

    def bound(self, value: float) -> None:
        self.bounds.append(value)

    def should_stop(self) -> bool:
        stop = bool(self.stop_when(self))
        if stop and self.asked_at is None:
            self.asked_at = now()
        return stop

    def interrupted(self) -> None:
        self.was_interrupted = True

    def suggestion(self) -> np.ndarray | None:
        suggested, self.suggest = self.suggest, None
        return suggested


def solve(backend: Solver, milp: Milp, *, seconds: float = 120.0, watcher=None, start=None) -> SolveResult:
    """Solve in this thread."""
    return backend.solve(milp, limits=Limits(seconds), watcher=watcher or Recorder(), start=start)
