"""HiGHS, the embedded default."""

from __future__ import annotations

import math
import time
from typing import Any

import highspy
import numpy as np

from s2oct.arrays import FloatArray
from s2oct.errors import ModelTooLarge, SolverFailed
from s2oct.solvers.model import Milp
from s2oct.solvers.program import use_threads
from s2oct.solvers.protocol import KeptError, Limits, SolveResult, Termination, Watcher

_STATUS = {
    highspy.HighsModelStatus.kOptimal: Termination.OPTIMAL,
    highspy.HighsModelStatus.kInfeasible: Termination.INFEASIBLE,
    highspy.HighsModelStatus.kTimeLimit: Termination.TIME_LIMIT,
    highspy.HighsModelStatus.kMemoryLimit: Termination.MEMORY_LIMIT,
    highspy.HighsModelStatus.kInterrupt: Termination.INTERRUPTED,
}


class Highs:
    """The HiGHS branch-and-cut solver."""

    name = "highs"

    def solve(self, milp: Milp, *, limits: Limits, watcher: Watcher, start: FloatArray | None = None) -> SolveResult:
        """Solve a model; see `Solver.solve`."""
        began = time.monotonic()
        highs = highspy.Highs()
        use_threads(limits.threads)
        for option, value in _options(limits).items():
            highs.setOptionValue(option, value)
        _pass_model(highs, milp)
        if start is not None:
            solution = highspy.HighsSolution()
            solution.col_value = list(start)
            highs.setSolution(solution)
        callbacks = _Callbacks(highs, watcher)
        left = limits.seconds - (time.monotonic() - began)
        highs.setOptionValue("time_limit", max(left, 0.01))
        highs.run()
        callbacks.error.raise_if_any()
        return _result(highs)


def _options(limits: Limits) -> dict[str, Any]:
    return {
        "output_flag": False,
        "threads": limits.threads,
        "random_seed": limits.seed,
        "mip_rel_gap": 0.0,
        "mip_abs_gap": 1e-7,
        # M times the default 1e-6 would allow rows on a hyperplane. This is the smallest value that HiGHS accepts.
        "mip_feasibility_tolerance": 1e-9,
        "primal_feasibility_tolerance": 1e-8,
    }


def _pass_model(highs: Any, milp: Milp) -> None:
    columnwise = milp.A.tocsc()
    try:
        status = highs.passModel(
            milp.n_columns,
            milp.n_rows,
            columnwise.nnz,
            int(highspy.MatrixFormat.kColwise),
            int(highspy.ObjSense.kMinimize),
            0.0,
            milp.c,
            milp.lower,
            milp.upper,
            milp.row_lower,
            milp.row_upper,
            columnwise.indptr.astype(np.int32),
            columnwise.indices.astype(np.int32),
            columnwise.data,
            milp.integrality.astype(np.int32),
        )
    except MemoryError as error:
        raise ModelTooLarge(f"HiGHS has no memory for {columnwise.nnz} entries; fit fewer rows.") from error
    if status == highspy.HighsStatus.kError:
        raise SolverFailed("HiGHS rejected the model.")


class _Callbacks:
    """Translates HiGHS callbacks for the watcher. An exception in a callback would crash HiGHS, so it is kept here."""

    def __init__(self, highs: Any, watcher: Watcher) -> None:
        self._watcher = watcher
        self.error = KeptError()
        self._bound = -math.inf
        highs.cbMipImprovingSolution += self._guard(self._improving)
        highs.cbMipInterrupt += self._guard(self._mip_interrupt)
        highs.cbSimplexInterrupt += self._guard(self._interrupt)
        highs.cbMipUserSolution += self._guard(self._user_solution)

    def _guard(self, handler: Any) -> Any:
        def guarded(event: Any) -> None:
            with self.error:
                handler(event)

        return guarded

    def _improving(self, event: Any) -> None:
        self._watcher.incumbent(np.array(event.data_out.mip_solution, dtype=float))

    def _mip_interrupt(self, event: Any) -> None:
        # The logging callback is not called when output is off. This one gets the bound as well.
        bound = float(event.data_out.mip_dual_bound)
        if math.isfinite(bound) and bound > self._bound:
            self._bound = bound
            self._watcher.bound(bound)
        self._interrupt(event)

    def _interrupt(self, event: Any) -> None:
        if self.error or self._watcher.should_stop():
            event.interrupt()

    def _user_solution(self, event: Any) -> None:
        suggested = self._watcher.suggestion()
        if suggested is not None:
            event.data_in.setSolution(suggested)


def _result(highs: Any) -> SolveResult:
    status = highs.getModelStatus()
    if status not in _STATUS:
        raise SolverFailed(f"HiGHS ended with status {highs.modelStatusToString(status)!r}.")
    info = highs.getInfo()
    found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    return SolveResult(
        termination=_STATUS[status],
        x=np.array(highs.getSolution().col_value, dtype=float) if found else None,
        primal_bound=float(info.objective_function_value) if found else float("inf"),
        dual_bound=float(info.mip_dual_bound),
    )
