"""Solves in tests: watchers that a test can read afterwards, and checks of solutions."""

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


def least_cost(backend: Solver, milp: Milp, **options) -> float:
    """Solve in this thread, and return the cost of the solution."""
    return float(milp.c @ solve(backend, milp, **options).x)


def violations(milp: Milp, x: np.ndarray, tolerance: float = 1e-6) -> dict[str, float]:
    """Largest violation of each violated equation, of the column bounds and of integrality, by name."""
    activity = milp.A @ x
    excess = np.maximum(milp.row_lower - activity, activity - milp.row_upper)
    found = {name: float(excess[rows].max(initial=0.0)) for name, rows in milp.equations.items()}
    found["bounds"] = float(np.maximum(milp.lower - x, x - milp.upper).max(initial=0.0))
    integral = milp.integrality == 1
    found["integrality"] = float(np.abs(x[integral] - np.round(x[integral])).max(initial=0.0))
    return {name: excess for name, excess in found.items() if excess > tolerance}
