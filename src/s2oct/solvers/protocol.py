"""What a solver is given, what it reports on the way, and what it returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from s2oct.arrays import FloatArray
from s2oct.linear.model import Milp


class Termination(Enum):
    """Why a solver stopped; what it proved is told by its bounds alone."""

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


@dataclass(frozen=True, eq=False)
class SolveResult:
    """The outcome of a solve in the solver's own words; nothing in it is believed unchecked."""

    termination: Termination
    x: FloatArray | None = field(repr=False)
    primal_bound: float
    dual_bound: float
    nodes: int
    seconds: float


class Listener(Protocol):
    """Follows a running solve. Called from the solver's thread; must be quick, and its errors end the solve."""

    def incumbent(self, x: FloatArray) -> None:
        """A new best solution was found."""

    def bound(self, value: float) -> None:
        """The solver claims that no solution costs less."""

    def should_stop(self) -> bool:
        """Whether the solve has become pointless or unwanted."""

    def suggestion(self) -> FloatArray | None:
        """A complete solution found elsewhere that the solver may not know yet."""


class Solver(Protocol):
    """A backend: solves a model within limits, from a complete start vector."""

    name: str

    def solve(self, milp: Milp, *, limits: Limits, listener: Listener, start: FloatArray | None = None) -> SolveResult:
        """Minimise; keep the time limit; stop soon after ``listener.should_stop()`` turns true."""
