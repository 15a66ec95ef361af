"""Solver backends behind one small protocol; each solver's package is imported in one file only."""

from s2oct.solvers.protocol import SOLVERS, Limits, Solver, SolveResult, Termination, Watcher, load_solver
from s2oct.solvers.worker import solve_in_worker

__all__ = [
    "SOLVERS",
    "Limits",
    "SolveResult",
    "Solver",
    "Termination",
    "Watcher",
    "load_solver",
    "solve_in_worker",
]
