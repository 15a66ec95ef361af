"""The interface of a solver: its limits, its reports, its result; and the solvers by name."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from enum import Enum
from importlib import import_module
from typing import Any, Protocol

from s2oct.arrays import FloatArray
from s2oct.errors import InvalidProblem, SolverUnavailable
from s2oct.solvers.model import Milp


class Termination(Enum):
    """Why a solver stopped; only its bounds say what it proved."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    TIME_LIMIT = "time limit"
    MEMORY_LIMIT = "memory limit"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Limits:
    """Wall-clock seconds, threads and seed of one solve."""

    seconds: float
    threads: int = 1
    seed: int = 0

    def seconds_left(self, began: float) -> float:
        """Return the seconds left, at least 0.01, for a solve that began at a time of ``time.monotonic``."""
        return max(self.seconds - (time.monotonic() - began), 0.01)


@dataclass(frozen=True, eq=False)
class SolveResult:
    """The outcome of a solve as the solver reports it; the fit checks all of it but the bound."""

    termination: Termination
    x: FloatArray | None = field(repr=False)
    dual_bound: float


class Watcher:
    """Receives updates of a running solve, in the solver's thread. This one ignores them and lets the solver run.

    Its methods must be quick; their errors end the solve.
    """

    def incumbent(self, x: FloatArray) -> None:
        """Receive a new best solution."""

    def bound(self, value: float) -> None:
        """Receive the solver's claim that no solution costs less."""

    def should_stop(self) -> bool:
        """Return whether the solve is no longer needed."""
        return False

    def interrupted(self) -> None:
        """Learn that the solver was interrupted, and not because of `should_stop`: it caught Ctrl-C itself."""

    def suggestion(self) -> FloatArray | None:
        """Return a complete solution found elsewhere that the solver may not know yet."""
        return None


class KeptError:
    """Keeps the first error of the blocks that it guards, until the solver has returned.

    Solvers crash if a callback raises, or ignore the error.
    """

    def __init__(self) -> None:
        self._error: BaseException | None = None

    def __bool__(self) -> bool:
        return self._error is not None

    def __enter__(self) -> None:
        """Guard a block."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        """Keep the error of the block, if it is the first."""
        self._error = self._error or error
        return True

    def raise_if_any(self) -> None:
        """Raise the error that was kept."""
        if self._error is not None:
            raise self._error


class Solver(Protocol):
    """A backend, which is a module of this package: solves a model within limits, from a complete start vector."""

    name: str

    def solve(self, milp: Milp, *, limits: Limits, watcher: Watcher, start: FloatArray | None = None) -> SolveResult:
        """Minimise; keep the time limit; stop soon after ``watcher.should_stop()`` turns true."""


SOLVERS = {"highs": "highspy", "scip": "pyscipopt", "gurobi": "gurobipy"}
"""The solvers, each with its package. The module of a solver has its name and is imported only when needed."""


def load_solver(name: str) -> Solver:
    """The backend of that name. If its package is missing, the error says how to install it."""
    if name not in SOLVERS:
        raise InvalidProblem(f"Expected a solver among {sorted(SOLVERS)} or None, got {name!r}.")
    try:
        module: Any = import_module(f"s2oct.solvers.{name}")
    except ImportError as error:
        raise SolverUnavailable(
            f"Solver {name!r} is not installed ({error}). Install it with: pip install {SOLVERS[name]}"
        ) from error
    solver: Solver = module
    return solver
