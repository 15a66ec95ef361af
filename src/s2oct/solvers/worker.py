"""A solve in a thread of its own, so that Ctrl-C and the clock are always heard.

A solver in the main thread keeps Python from handling Ctrl-C, and some overrun their time limit in presolve.
The main thread waits here instead: it asks the solver to stop on Ctrl-C or at the deadline, and goes on without
it if it does not stop within a grace period.
"""

from __future__ import annotations

import _thread
import threading
import time
from collections.abc import Callable
from typing import Any

from s2oct.arrays import FloatArray
from s2oct.linear.model import Milp
from s2oct.solvers.protocol import Limits, Listener, Solver, SolveResult, Termination

GRACE_SECONDS = 0.6
"""How long after the deadline a solver may take to stop before the fit goes on without it."""


def solve_in_worker(
    solver: Solver,
    milp: Milp,
    *,
    limits: Limits,
    listener: Listener,
    start: FloatArray | None = None,
    meanwhile: Callable[[], object] = lambda: None,
) -> SolveResult:
    """Solve; a KeyboardInterrupt here ends the solve and its incumbent is returned, marked as interrupted.

    ``meanwhile`` is called once in this thread while the solver works in its own.
    """
    job = _Job(solver, milp, limits, listener, start)
    job.thread.start()
    try:
        meanwhile()
        job.wait()
    except KeyboardInterrupt:
        job.stop.set()
        job.interrupted = True
        job.wait()
    return job.result()


class _Job:
    """One running solve, and the listener that stands between it and the caller."""

    def __init__(
        self, solver: Solver, milp: Milp, limits: Limits, listener: Listener, start: FloatArray | None
    ) -> None:
        self.solver, self.milp, self.limits, self.listener, self.start = solver, milp, limits, listener, start
        self.stop = threading.Event()
        self.interrupted = False
        self.began = time.monotonic()
        self.abandoned = False
        self.incumbent_x: FloatArray | None = None
        self.best_bound = float("-inf")
        self._outcome: SolveResult | BaseException | None = None
        self._done = threading.Event()
        self.thread = threading.Thread(target=self._run, name=f"s2oct-{solver.name}", daemon=True)

    def _run(self) -> None:
        relay = _Relay(self)
        try:
            outcome = self.solver.solve(self.milp, limits=self.limits, listener=relay, start=self.start)
            # Told at once: the caller may be busy, and a proof may end what keeps it so.
            if outcome.x is not None:
                relay.incumbent(outcome.x)
            relay.bound(outcome.dual_bound)
            if outcome.termination is Termination.INTERRUPTED and not relay.should_stop():
                # Nobody here asked for it, so the solver caught the user's Ctrl-C; pass it on.
                _thread.interrupt_main()
            self._outcome = outcome
        except BaseException as error:  # handed to the waiting thread, which raises it
            self._outcome = error
        finally:
            self._done.set()

    def wait(self) -> None:
        deadline = self.began + self.limits.seconds
        while not self._done.wait(0.05):
            now = time.monotonic()
            if now > deadline:
                self.stop.set()
            if self.stop.is_set() and now > min(deadline, self._stop_asked()) + GRACE_SECONDS:
                self.abandoned = True
                return

    def _stop_asked(self) -> float:
        if not hasattr(self, "_asked"):
            self._asked = time.monotonic()
        return self._asked

    def result(self) -> SolveResult:
        seconds = time.monotonic() - self.began
        outcome: Any = self._outcome
        if isinstance(outcome, BaseException):
            raise outcome
        termination = Termination.INTERRUPTED if self.interrupted else Termination.TIME_LIMIT
        if self.abandoned or outcome is None:
            return SolveResult(termination, self.incumbent_x, float("inf"), self.best_bound, 0, seconds)
        # A solver that was stopped at the deadline calls that an interrupt as well; here they differ.
        if self.interrupted or (self.stop.is_set() and outcome.termination is Termination.INTERRUPTED):
            return SolveResult(termination, outcome.x, outcome.primal_bound, outcome.dual_bound, outcome.nodes, seconds)
        return outcome  # type: ignore[no-any-return]


class _Relay:
    """Passes the solver's reports on, remembers the last ones, and carries an error out of the callbacks."""

    def __init__(self, job: _Job) -> None:
        self._job = job

    def incumbent(self, x: FloatArray) -> None:
        if not self._job.abandoned:
            self._job.incumbent_x = x
            self._job.listener.incumbent(x)

    def bound(self, value: float) -> None:
        if not self._job.abandoned:
            self._job.best_bound = max(self._job.best_bound, value)
            self._job.listener.bound(value)

    def should_stop(self) -> bool:
        return self._job.stop.is_set() or self._job.abandoned or self._job.listener.should_stop()

    def suggestion(self) -> FloatArray | None:
        return None if self._job.abandoned else self._job.listener.suggestion()
