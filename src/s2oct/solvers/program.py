"""A linear program that grows: rows are added when they are needed, and each solve starts where the last one ended.

HiGHS keeps the model and its basis, so a solve after some new rows takes a few dual simplex steps.
"""

from __future__ import annotations

import threading
from typing import Any

import highspy
import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.stopping import NO_DEADLINE, Deadline

_pools = threading.local()


def use_threads(n_threads: int) -> None:
    """HiGHS keeps one thread pool per calling thread, and cannot solve with a pool of another size: reset it then."""
    if getattr(_pools, "size", n_threads) != n_threads:
        highspy.Highs.resetGlobalScheduler(False)
    _pools.size = n_threads


class LinearProgram:
    """Minimise cost . x over lower <= x <= upper and the rows A x >= b added so far.

    Examples
    --------
    >>> program = LinearProgram(cost=np.array([1.0, 2.0]), lower=np.zeros(2), upper=np.full(2, 10.0))
    >>> program.add_rows(np.array([[1.0, 1.0]]), np.array([3.0]))
    >>> program.solve(Deadline.after(1.0)).tolist()
    [3.0, 0.0]
    >>> program.add_rows(np.array([[-1.0, 0.0]]), np.array([-2.0]))
    >>> program.solve(Deadline.after(1.0)).tolist()
    [2.0, 1.0]
    """

    def __init__(self, cost: FloatArray, lower: FloatArray, upper: FloatArray) -> None:
        self._highs = highspy.Highs()
        for option, value in {
            "output_flag": False,
            "threads": 1,
            "solver": "simplex",
            "primal_feasibility_tolerance": 1e-9,
            "dual_feasibility_tolerance": 1e-9,
        }.items():
            self._highs.setOptionValue(option, value)
        n_columns = len(cost)
        self._highs.addVars(n_columns, lower, upper)
        self._highs.changeColsCost(n_columns, np.arange(n_columns, dtype=np.int32), cost)
        self.iterations = 0
        self._deadline = NO_DEADLINE
        self._highs.cbSimplexInterrupt += self._end_in_time

    def _end_in_time(self, event: Any) -> None:
        if self._deadline.passed:
            event.interrupt()

    def add_rows(self, A: FloatArray, least: FloatArray) -> None:
        """Add the rows A x >= least, A of shape (rows, columns)."""
        # The time to pass a row grows with its stored entries, so zeros are left out.
        rows, columns = np.nonzero(A)
        starts = np.searchsorted(rows, np.arange(len(A))).astype(np.int32)
        self._highs.addRows(
            len(A), least, np.full(len(A), np.inf), len(rows), starts, columns.astype(np.int32), A[rows, columns]
        )

    def set_costs(self, cost: FloatArray) -> None:
        """Minimise another cost from now on."""
        self._highs.changeColsCost(len(cost), np.arange(len(cost), dtype=np.int32), cost)

    def set_upper(self, columns: IntArray, upper: float) -> None:
        """Bound some columns by 0 from below and by ``upper`` from above from now on."""
        n = len(columns)
        self._highs.changeColsBounds(n, columns.astype(np.int32), np.zeros(n), np.full(n, upper))

    def solve(self, deadline: Deadline) -> FloatArray | None:
        """An optimal x, or None if no optimal x exists or was found in time."""
        use_threads(1)
        self._deadline = deadline
        self._highs.run()
        self.iterations = int(self._highs.getInfo().simplex_iteration_count)
        if self._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        return np.array(self._highs.getSolution().col_value)
