"""Solvers by name, imported only when needed."""

from __future__ import annotations

from importlib import import_module

from s2oct.errors import InvalidProblem, SolverUnavailable
from s2oct.solvers.protocol import Solver

SOLVERS = {
    "highs": ("s2oct.solvers.highs", "Highs", "pip install highspy"),
    "scip": ("s2oct.solvers.scip", "Scip", "pip install pyscipopt"),
    "gurobi": ("s2oct.solvers.gurobi", "Gurobi", "pip install gurobipy"),
}
"""Name -> module, class, and how to install what it needs."""


def load_solver(name: str) -> Solver:
    """The backend of that name, or an error that says how to install it."""
    if name not in SOLVERS:
        raise InvalidProblem(f"Expected a solver among {sorted(SOLVERS)} or None, got {name!r}.")
    module, class_name, remedy = SOLVERS[name]
    try:
        solver: Solver = getattr(import_module(module), class_name)()
    except ImportError as error:
        raise SolverUnavailable(f"Solver {name!r} is not installed ({error}). Install it with: {remedy}") from error
    return solver
