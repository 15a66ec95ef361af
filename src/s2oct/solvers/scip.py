"""SCIP through PySCIPOpt."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from pyscipopt import SCIP_EVENTTYPE, Heur, Model
from pyscipopt.scip import PY_SCIP_HEURTIMING, PY_SCIP_RESULT

from s2oct.arrays import FloatArray
from s2oct.errors import SolverFailed
from s2oct.solvers.model import Milp, write_mps
from s2oct.solvers.protocol import KeptError, Limits, SolveResult, Termination, Watcher

_STATUS = {
    "optimal": Termination.OPTIMAL,
    "infeasible": Termination.INFEASIBLE,
    "timelimit": Termination.TIME_LIMIT,
    "memlimit": Termination.MEMORY_LIMIT,
    "userinterrupt": Termination.INTERRUPTED,
}

_POLL_SECONDS = 0.05


name = "scip"


def solve(milp: Milp, *, limits: Limits, watcher: Watcher, start: FloatArray | None = None) -> SolveResult:
    """Solve a model; see `Solver.solve`."""
    began = time.monotonic()
    model, variables = _read_model(milp)
    model.setParams(_parameters(limits))
    if start is not None:
        _add_start(model, variables, start)
    error = KeptError()
    _subscribe(model, variables, watcher, error)
    model.setParam("limits/time", min(limits.seconds_left(began), 1e20))
    with _stopped_by(watcher, model, error):
        model.optimizeNogil()
    error.raise_if_any()
    return _result(model, variables)


def _parameters(limits: Limits) -> dict[str, Any]:
    return {
        "display/verblevel": 0,
        "misc/catchctrlc": False,
        "parallel/maxnthreads": limits.threads,
        "randomization/randomseedshift": limits.seed % 2**31,
        "limits/gap": 0.0,
        "numerics/feastol": 1e-9,
        # SCIP would solve LPs again with a tolerance that SoPlex refuses, in a line on standard error. The solutions
        # are checked again in any case, and the bounds need dual feasibility only.
        "lp/checkprimfeas": False,
        # With CPU time, a solve on a busy machine would exceed its wall-clock limit.
        "timing/clocktype": 2,
    }


def _read_model(milp: Milp) -> tuple[Any, list[Any]]:
    """Pass the model through a file: a Python call per entry would take longer than many solves."""
    model = Model()
    model.hideOutput()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.mps"
        write_mps(milp, path, readable_names=False)
        model.readProblem(str(path))
    variables = sorted(model.getVars(), key=lambda variable: int(variable.name[1:]))
    return model, variables


def _add_start(model: Any, variables: list[Any], start: FloatArray) -> None:
    solution = model.createSol()
    for variable, value in zip(variables, start.tolist(), strict=True):
        model.setSolVal(solution, variable, value)
    # addSol accepts infeasible solutions as well.
    if model.checkSol(solution):
        model.addSol(solution)


def _subscribe(model: Any, variables: list[Any], watcher: Watcher, error: KeptError) -> None:
    """Pass SCIP's incumbents and bounds to the watcher, and the watcher's suggestions to SCIP."""

    def improved(model: Any, event: Any) -> None:
        with error:
            watcher.incumbent(_values(model, model.getBestSol(), variables))
        progressed(model, event)

    def progressed(model: Any, event: Any) -> None:
        with error:
            bound = float(model.getDualbound())
            if abs(bound) < model.infinity():
                watcher.bound(bound)

    model.attachEventHandlerCallback(improved, [SCIP_EVENTTYPE.BESTSOLFOUND], name="improved")
    model.attachEventHandlerCallback(progressed, [SCIP_EVENTTYPE.NODESOLVED], name="progressed")
    model.includeHeur(
        _Suggestions(variables, watcher, error), "s2oct", "solutions found by s2oct", "Y", priority=10**6, freq=1,
        timingmask=PY_SCIP_HEURTIMING.BEFORENODE,
    )  # fmt: skip


class _Suggestions(Heur):  # type: ignore[misc]
    """A heuristic that tries the watcher's suggestions."""

    def __init__(self, variables: list[Any], watcher: Watcher, error: KeptError) -> None:
        self._variables, self._watcher, self._error = variables, watcher, error

    def heurexec(self, heurtiming: Any, nodeinfeasible: bool) -> dict[str, Any]:
        with self._error:
            suggested = self._watcher.suggestion()
            if suggested is not None:
                # In the original variables: presolving replaces some of them by sums of others.
                solution = self.model.createOrigSol(self)
                for variable, value in zip(self._variables, suggested.tolist(), strict=True):
                    self.model.setSolVal(solution, variable, value)
                if self.model.trySol(solution, printreason=False):
                    return {"result": PY_SCIP_RESULT.FOUNDSOL}
        return {"result": PY_SCIP_RESULT.DIDNOTRUN}


@contextmanager
def _stopped_by(watcher: Watcher, model: Any, error: KeptError) -> Iterator[None]:
    """Poll the watcher in a thread: SCIP can work for seconds between two events, too long for a prompt stop."""
    over = threading.Event()

    def poll() -> None:
        while not over.wait(_POLL_SECONDS):
            with error:
                if watcher.should_stop():
                    model.interruptSolve()
            if error:
                model.interruptSolve()

    poller = threading.Thread(target=poll, name="s2oct-scip-poller", daemon=True)
    poller.start()
    try:
        yield
    finally:
        over.set()
        poller.join()


def _values(model: Any, solution: Any, variables: list[Any]) -> FloatArray:
    return np.array([model.getSolVal(solution, variable) for variable in variables], dtype=float)


def _result(model: Any, variables: list[Any]) -> SolveResult:
    status = model.getStatus()
    if status not in _STATUS:
        raise SolverFailed(f"SCIP ended with status {status!r}.")
    found = model.getNSols() > 0
    return SolveResult(
        termination=_STATUS[status],
        x=_values(model, model.getBestSol(), variables) if found else None,
        dual_bound=float(model.getDualbound()),
    )
