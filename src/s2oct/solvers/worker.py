"""A solve in its own thread, so that deadlines and requests to stop always work; and memory for its model."""

from __future__ import annotations

import atexit
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import psutil

from s2oct.arrays import FloatArray
from s2oct.errors import ModelTooLarge, S2OCTError, SolverFailed
from s2oct.solvers.model import Milp
from s2oct.solvers.protocol import Limits, Solver, SolveResult, Termination, Watcher
from s2oct.stopping import now


@dataclass(frozen=True)
class WaitingParams:
    """How long a fit waits for a solver, in seconds.

    Attributes
    ----------
    poll : float
        Interval at which the waiting thread looks at the clock.
    grace, grace_on_request : float
        Time that a solver may take to stop, after the deadline and after a request, before the fit continues without
        it. A user who has asked to stop is waiting, so the second is shorter.
    at_exit : float
        Time that the program waits at its end for solvers that were left behind. They have been asked to stop.
    """

    poll: float = 0.02
    grace: float = 0.6
    grace_on_request: float = 0.15
    at_exit: float = 5.0


PARAMS = WaitingParams()

_left_behind: list[threading.Thread] = []


@atexit.register
def _wait_for_solvers() -> None:
    """A solver that calls back while Python shuts down aborts the process, with its exit code and its last output."""
    until = time.monotonic() + PARAMS.at_exit
    for thread in _left_behind:
        thread.join(max(until - time.monotonic(), 0.0))


def solve_in_worker(
    solver: Solver,
    milp: Milp,
    *,
    limits: Limits,
    watcher: Watcher,
    start: FloatArray | None = None,
    meanwhile: Callable[[], object] = lambda: None,
) -> SolveResult:
    """Solve; if the watcher asks to stop, return the incumbent so far, marked as interrupted.

    ``meanwhile`` is called once in this thread while the solver works in its own. Errors of the solver become
    `SolverFailed` unless they are errors of this package; errors of the watcher are raised unchanged.
    """
    job = _Job(solver, milp, limits, watcher, start)
    job.thread.start()
    try:
        meanwhile()
        job.wait()
    except BaseException:
        # The caller no longer waits for the solver, so later reports are ignored.
        job.abandon()
        raise
    return job.result()


class _Job(Watcher):
    """One running solve. It is the solver's watcher: it passes reports on and remembers the best of them."""

    def __init__(self, solver: Solver, milp: Milp, limits: Limits, watcher: Watcher, start: FloatArray | None) -> None:
        self.solver, self.milp, self.limits, self.watcher, self.start = solver, milp, limits, watcher, start
        self.began = now()
        self.requested = False
        self.abandoned = False
        self.watcher_failed = False
        self.incumbent_x: FloatArray | None = None
        self.best_bound = float("-inf")
        self._stop, self._done = threading.Event(), threading.Event()
        self._outcome: SolveResult | BaseException | None = None
        self.thread = threading.Thread(target=self._run, name=f"s2oct-{solver.name}", daemon=True)

    def _run(self) -> None:
        try:
            outcome = self.solver.solve(self.milp, limits=self.limits, watcher=self, start=self.start)
            # Reported at once: the caller may be busy with a search that this proof ends.
            if outcome.x is not None:
                self.incumbent(outcome.x)
            self.bound(outcome.dual_bound)
            if outcome.termination is Termination.INTERRUPTED and not self.should_stop():
                # No stop was requested here, so the solver itself caught the user's Ctrl-C.
                self.interrupted()
            self._outcome = outcome
        except BaseException as error:  # handed to the waiting thread, which raises it
            self._outcome = error if self.watcher_failed else _failure(self.solver, error)
        finally:
            self._done.set()

    def wait(self) -> None:
        """Wait until the solver has returned, or has not stopped in time."""
        deadline = self.began + self.limits.seconds
        latest = deadline + PARAMS.grace
        while not self._done.wait(PARAMS.poll):
            moment = now()
            if not self.requested and self.watcher.should_stop():
                self.requested = True
                latest = min(latest, now() + PARAMS.grace_on_request)
            if self.requested or moment > deadline:
                self._stop.set()
            if moment > latest:
                self.abandon()
                return

    def abandon(self) -> None:
        """Continue without the solver: it is asked to stop, and later reports are ignored."""
        self.abandoned = True
        self._stop.set()
        _left_behind[:] = [*(thread for thread in _left_behind if thread.is_alive()), self.thread]

    def result(self) -> SolveResult:
        """The outcome, or the best reports of a solver that did not stop in time."""
        outcome = self._outcome
        if isinstance(outcome, BaseException):
            raise outcome
        termination = Termination.INTERRUPTED if self.requested else Termination.TIME_LIMIT
        if self.abandoned or outcome is None:
            return SolveResult(termination, self.incumbent_x, self.best_bound)
        # A solver that was stopped at the deadline also reports an interrupt; here the two differ.
        if self._stop.is_set() and outcome.termination is Termination.INTERRUPTED:
            return replace(outcome, termination=termination)
        return outcome

    def incumbent(self, x: FloatArray) -> None:
        if not self.abandoned:
            self.incumbent_x = x
            with self._passed_on():
                self.watcher.incumbent(x)

    def bound(self, value: float) -> None:
        if not self.abandoned and value > self.best_bound:
            self.best_bound = value
            with self._passed_on():
                self.watcher.bound(value)

    def should_stop(self) -> bool:
        if self._stop.is_set() or self.abandoned:
            return True
        with self._passed_on():
            return self.watcher.should_stop()

    def interrupted(self) -> None:
        with self._passed_on():
            self.watcher.interrupted()

    def suggestion(self) -> FloatArray | None:
        if self.abandoned:
            return None
        with self._passed_on():
            return self.watcher.suggestion()

    @contextmanager
    def _passed_on(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.watcher_failed = True
            raise


def _failure(solver: Solver, error: BaseException) -> BaseException:
    """The error of a solver as an error of this package: bindings raise all kinds of exceptions."""
    if isinstance(error, (S2OCTError, MemoryError)) or not isinstance(error, Exception):
        return error
    failure = SolverFailed(f"The solver {solver.name} failed ({str(error) or type(error).__name__}).")
    failure.__cause__ = error
    return failure


def require_memory(n_bytes: float, what: str) -> None:
    """Raise `ModelTooLarge` if the machine cannot hold that many bytes."""
    available = available_memory()
    if n_bytes > available:
        raise ModelTooLarge(
            f"{what} needs about {n_bytes / 2**30:.1f} GiB and {available / 2**30:.1f} GiB are available. Fit fewer "
            "rows or a smaller depth, or fit without a solver: the search alone needs little memory."
        )


def available_memory() -> float:
    """Bytes that this process can still allocate."""
    return min(float(psutil.virtual_memory().available), _address_space())


def _address_space() -> float:
    """Bytes left under the limit of the process (ulimit -v); infinite without a limit."""
    try:
        import resource
    except ImportError:  # not on Windows
        return math.inf
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return math.inf
    return float(max(limit - psutil.Process().memory_info().vms, 0))
