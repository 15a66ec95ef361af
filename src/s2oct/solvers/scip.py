"""SCIP through PySCIPOpt."""

from __future__ import annotations

import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from pyscipopt import SCIP_EVENTTYPE, Eventhdlr, Heur, Model
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


class Scip:
    """The SCIP branch-and-cut solver."""

    name = "scip"

    def solve(self, milp: Milp, *, limits: Limits, watcher: Watcher, start: FloatArray | None = None) -> SolveResult:
        """Solve a model; see `Solver.solve`."""
        began = time.monotonic()
        model, variables = _read_model(milp)
        model.setParams(_parameters(limits))
        if start is not None:
            _add_start(model, variables, start)
        relay = _Relay(model, variables, watcher)
        model.setParam("limits/time", min(max(limits.seconds - (time.monotonic() - began), 0.01), 1e20))
        with relay:
            model.optimizeNogil()
        relay.error.raise_if_any()
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


class _Relay:
    """Passes incumbents and bounds to the watcher, and the watcher's request to stop to SCIP."""

    def __init__(self, model: Any, variables: list[Any], watcher: Watcher) -> None:
        self._model, self._variables, self._watcher = model, variables, watcher
        self.error = KeptError()
        self._over = threading.Event()
        self._poller = threading.Thread(target=self._poll, name="s2oct-scip-poller", daemon=True)
        model.includeEventhdlr(_Events(self), "s2oct", "reports to s2oct")
        model.includeHeur(
            _Suggestions(self), "s2oct", "solutions found by s2oct", "Y", priority=10**6, freq=1,
            timingmask=PY_SCIP_HEURTIMING.BEFORENODE,
        )  # fmt: skip

    def __enter__(self) -> None:
        self._poller.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._poller.join()

    def _poll(self) -> None:
        """Poll the watcher: SCIP can work for seconds between two events, too long for a prompt stop."""
        while not self._over.wait(_POLL_SECONDS):
            with self.error:
                if self._watcher.should_stop():
                    self._model.interruptSolve()
            if self.error:
                self._model.interruptSolve()

    def improved(self) -> None:
        with self.error:
            best = self._model.getBestSol()
            self._watcher.incumbent(_values(self._model, best, self._variables))
            self.progressed()

    def progressed(self) -> None:
        with self.error:
            bound = float(self._model.getDualbound())
            if abs(bound) < self._model.infinity():
                self._watcher.bound(bound)

    def suggest(self, heuristic: Any) -> bool:
        with self.error:
            suggested = self._watcher.suggestion()
            if suggested is not None:
                # In the original variables: presolving replaces some of them by sums of others.
                solution = self._model.createOrigSol(heuristic)
                for variable, value in zip(self._variables, suggested.tolist(), strict=True):
                    self._model.setSolVal(solution, variable, value)
                return bool(self._model.trySol(solution, printreason=False))
        return False


class _Events(Eventhdlr):  # type: ignore[misc]
    def __init__(self, relay: _Relay) -> None:
        self._relay = relay

    def eventinit(self) -> None:
        self.model.catchEvent(SCIP_EVENTTYPE.BESTSOLFOUND, self)
        self.model.catchEvent(SCIP_EVENTTYPE.NODESOLVED, self)

    def eventexec(self, event: Any) -> None:
        if event.getType() == SCIP_EVENTTYPE.BESTSOLFOUND:
            self._relay.improved()
        else:
            self._relay.progressed()


class _Suggestions(Heur):  # type: ignore[misc]
    def __init__(self, relay: _Relay) -> None:
        self._relay = relay

    def heurexec(self, heurtiming: Any, nodeinfeasible: bool) -> dict[str, Any]:
        found = self._relay.suggest(self)
        return {"result": PY_SCIP_RESULT.FOUNDSOL if found else PY_SCIP_RESULT.DIDNOTRUN}


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
        primal_bound=float(model.getPrimalbound()) if found else float("inf"),
        dual_bound=float(model.getDualbound()),
    )
