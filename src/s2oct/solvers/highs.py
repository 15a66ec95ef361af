"""HiGHS, the embedded default."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
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


name = "highs"


def solve(milp: Milp, *, limits: Limits, watcher: Watcher, start: FloatArray | None = None) -> SolveResult:
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
    error = KeptError()
    _subscribe(highs, watcher, error)
    highs.setOptionValue("time_limit", limits.seconds_left(began))
    highs.run()
    error.raise_if_any()
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


def _subscribe(highs: Any, watcher: Watcher, error: KeptError) -> None:
    """Pass the reports of HiGHS to the watcher. An exception in a callback would crash HiGHS, so it is kept."""

    def improved(event: Any) -> None:
        watcher.incumbent(np.array(event.data_out.mip_solution, dtype=float))

    def interrupt(event: Any) -> None:
        if error or watcher.should_stop():
            event.interrupt()

    def progressed(event: Any) -> None:
        interrupt(event)
        # The logging callback is not called when output is off. This one gets the bound as well.
        bound = float(event.data_out.mip_dual_bound)
        if math.isfinite(bound):
            watcher.bound(bound)

    def suggest(event: Any) -> None:
        suggested = watcher.suggestion()
        if suggested is not None:
            event.data_in.setSolution(suggested)

    def guarded(handler: Callable[[Any], None]) -> Callable[[Any], None]:
        def guard(event: Any) -> None:
            with error:
                handler(event)

        return guard

    highs.cbMipImprovingSolution += guarded(improved)
    highs.cbMipInterrupt += guarded(progressed)
    highs.cbSimplexInterrupt += guarded(interrupt)
    highs.cbMipUserSolution += guarded(suggest)


def _result(highs: Any) -> SolveResult:
    status = highs.getModelStatus()
    if status not in _STATUS:
        raise SolverFailed(f"HiGHS ended with status {highs.modelStatusToString(status)!r}.")
    info = highs.getInfo()
    found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    return SolveResult(
        termination=_STATUS[status],
        x=np.array(highs.getSolution().col_value, dtype=float) if found else None,
        dual_bound=float(info.mip_dual_bound),
    )
