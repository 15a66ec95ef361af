"""Gurobi through gurobipy; its free licence allows 2000 rows and 2000 columns."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import gurobipy as gp
import numpy as np
from gurobipy import GRB

from s2oct.arrays import FloatArray
from s2oct.errors import ModelTooLarge, SolverFailed, SolverLicenceError
from s2oct.solvers.model import Milp
from s2oct.solvers.protocol import KeptError, Limits, SolveResult, Termination, Watcher

_STATUS = {
    GRB.OPTIMAL: Termination.OPTIMAL,
    GRB.INFEASIBLE: Termination.INFEASIBLE,
    GRB.INF_OR_UNBD: Termination.INFEASIBLE,
    GRB.TIME_LIMIT: Termination.TIME_LIMIT,
    GRB.MEM_LIMIT: Termination.MEMORY_LIMIT,
    GRB.INTERRUPTED: Termination.INTERRUPTED,
}

_OUT_OF_MEMORY, _NO_LICENCE, _SIZE_LIMIT = 10001, 10009, 10010


name = "gurobi"


def solve(milp: Milp, *, limits: Limits, watcher: Watcher, start: FloatArray | None = None) -> SolveResult:
    """Solve a model, with the focus on feasible solutions as in the paper; see `Solver.solve`."""
    began = time.monotonic()
    try:
        with gp.Env(params={"OutputFlag": 0}) as env, gp.Model(env=env) as model:
            variables = _load(model, milp)
            if start is not None:
                variables.Start = start
            for parameter, value in _parameters(limits).items():
                model.setParam(parameter, value)
            model.setParam("TimeLimit", limits.seconds_left(began))
            kept = KeptError()
            model.optimize(_callback(variables, watcher, kept))
            kept.raise_if_any()
            return _result(model, variables)
    except gp.GurobiError as error:
        raise _translate(error, milp) from error


def _parameters(limits: Limits) -> dict[str, Any]:
    return {
        "Threads": limits.threads,
        "Seed": limits.seed % 2_000_000_000,
        "MIPGap": 0.0,
        "MIPFocus": 1,
        # With looser tolerances, a binary's error times a large M gives "optimal" trees that are not feasible.
        "IntegralityFocus": 1,
        "IntFeasTol": 1e-9,
        "FeasibilityTol": 1e-9,
    }


def _load(model: Any, milp: Milp) -> Any:
    types = np.where(milp.integrality == 1, GRB.BINARY, GRB.CONTINUOUS)
    variables = model.addMVar(milp.n_columns, lb=milp.lower, ub=milp.upper, obj=milp.c, vtype=types)
    equal = milp.row_lower == milp.row_upper
    # Each ranged row would need a column, and the free licence counts columns.
    for sense, side, chosen in (
        (GRB.EQUAL, milp.row_lower, equal),
        (GRB.GREATER_EQUAL, milp.row_lower, ~equal & np.isfinite(milp.row_lower)),
        (GRB.LESS_EQUAL, milp.row_upper, ~equal & np.isfinite(milp.row_upper)),
    ):
        if chosen.any():
            model.addMConstr(milp.A[np.flatnonzero(chosen)], variables, sense, side[chosen])
    model.update()
    return variables


def _callback(variables: Any, watcher: Watcher, error: KeptError) -> Callable[[Any, int], None]:
    """Return a callback that passes reports to the watcher. Gurobi ignores exceptions in it, so they are kept."""

    def report(bound: float) -> None:
        if abs(bound) < GRB.INFINITY:
            watcher.bound(float(bound))

    def callback(model: Any, where: int) -> None:
        with error:
            if where == GRB.Callback.MIPSOL:
                watcher.incumbent(np.array(model.cbGetSolution(variables), dtype=float))
                report(model.cbGet(GRB.Callback.MIPSOL_OBJBND))
            elif where == GRB.Callback.MIP:
                report(model.cbGet(GRB.Callback.MIP_OBJBND))
            elif where == GRB.Callback.MIPNODE:
                suggested = watcher.suggestion()
                if suggested is not None:
                    model.cbSetSolution(variables, suggested)
                    model.cbUseSolution()
            if watcher.should_stop():
                model.terminate()
        if error:
            model.terminate()

    return callback


def _result(model: Any, variables: Any) -> SolveResult:
    if model.Status not in _STATUS:
        raise SolverFailed(f"Gurobi ended with status {model.Status}.")
    return SolveResult(
        termination=_STATUS[model.Status],
        x=np.array(variables.X, dtype=float) if model.SolCount else None,
        dual_bound=float(model.ObjBound) if model.IsMIP else float(model.ObjVal),
    )


def _translate(error: Any, milp: Milp) -> Exception:
    if error.errno == _SIZE_LIMIT:
        return SolverLicenceError(
            f"Gurobi's size-limited licence allows 2000 rows and 2000 columns; this model has {milp.n_rows} rows "
            f"and {milp.n_columns} columns. Choose the solver 'highs', or install a full Gurobi licence."
        )
    if error.errno == _NO_LICENCE:
        return SolverLicenceError(f"Gurobi found no valid licence ({error}). Choose the solver 'highs' or install one.")
    if error.errno == _OUT_OF_MEMORY:
        return ModelTooLarge(f"Gurobi has no memory for a model of {milp.n_columns} columns; fit fewer rows.")
    return SolverFailed(f"Gurobi failed: {error}")
