"""A solve in a thread of its own, and whether its model fits into memory."""

from __future__ import annotations

import atexit
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psutil

from s2oct.arrays import FloatArray
from s2oct.errors import ModelTooLarge, S2OCTError, SolverFailed
from s2oct.solvers.model import Milp
from s2oct.solvers.protocol import KeptError, Limits, Solver, SolveResult, Termination, Watcher
from s2oct.stopping import now

# A solve in its own thread, so that the deadline and requests to stop always work.

GRACE_SECONDS, GRACE_ON_REQUEST = 0.6, 0.15
"""How long a solver may take to stop, after the deadline and after a request, before the fit goes on without it."""

LAST_WAIT_SECONDS = 5.0
"""How long the end of the program waits for solvers that were left behind. They have been asked to stop."""

POLL_SECONDS = 0.02
"""How often the thread that waits for a solver looks at the clock."""

_left_behind: list[threading.Thread] = []


@atexit.register
def _wait_for_solvers() -> None:
    """A solver that calls back while Python shuts down aborts the process, with its exit code and its last output."""
    until = time.monotonic() + LAST_WAIT_SECONDS
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

    ``meanwhile`` is called once in this thread while the solver works in its own. Whatever else than an error of this
    package the solver raises becomes `SolverFailed`; errors of the watcher come out as they are.
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


class _Job:
    """One running solve, and the watcher that stands between it and the caller."""

    def __init__(self, solver: Solver, milp: Milp, limits: Limits, watcher: Watcher, start: FloatArray | None) -> None:
        self.solver, self.milp, self.limits, self.watcher, self.start = solver, milp, limits, watcher, start
        self.stop = threading.Event()
        self.requested = False
        self.began = now()
        self.abandoned = False
        self.incumbent_x: FloatArray | None = None
        self.best_bound = float("-inf")
        self._outcome: SolveResult | BaseException | None = None
        self._done = threading.Event()
        self.thread = threading.Thread(target=self._run, name=f"s2oct-{solver.name}", daemon=True)

    def _run(self) -> None:
        relay = _Relay(self)
        try:
            outcome = self.solver.solve(self.milp, limits=self.limits, watcher=relay, start=self.start)
            # Reported at once: the caller may be busy with a search that this proof ends.
            if outcome.x is not None:
                relay.incumbent(outcome.x)
            relay.bound(outcome.dual_bound)
            if outcome.termination is Termination.INTERRUPTED and not relay.should_stop():
                # No stop was requested here, so the solver itself caught the user's Ctrl-C.
                self.watcher.interrupted()
            self._outcome = outcome
        except BaseException as error:  # handed to the waiting thread, which raises it
            self._outcome = error if relay.error else _failure(self.solver, error)
        finally:
            self._done.set()

    def wait(self) -> None:
        deadline = self.began + self.limits.seconds
        latest = deadline + GRACE_SECONDS
        while not self._done.wait(POLL_SECONDS):
            moment = now()
            if not self.requested and self.watcher.should_stop():
                self.requested = True
                latest = min(latest, moment + GRACE_ON_REQUEST)
            if self.requested or moment > deadline:
                self.stop.set()
            if moment > latest:
                self.abandon()
                return

    def abandon(self) -> None:
        """Go on without the solver: it is asked to stop, and what it still reports is ignored."""
        self.abandoned = True
        self.stop.set()
        _left_behind[:] = [*(thread for thread in _left_behind if thread.is_alive()), self.thread]

    def result(self) -> SolveResult:
        seconds = now() - self.began
        outcome: Any = self._outcome
        if isinstance(outcome, BaseException):
            raise outcome
        termination = Termination.INTERRUPTED if self.requested else Termination.TIME_LIMIT
        if self.abandoned or outcome is None:
            return SolveResult(termination, self.incumbent_x, float("inf"), self.best_bound, 0, seconds)
        # A solver that was stopped at the deadline also reports an interrupt; here the two differ.
        if self.stop.is_set() and outcome.termination is Termination.INTERRUPTED:
            return SolveResult(termination, outcome.x, outcome.primal_bound, outcome.dual_bound, outcome.nodes, seconds)
        return outcome  # type: ignore[no-any-return]


def _failure(solver: Solver, error: BaseException) -> BaseException:
    """What a solver raised, as an error of this package; bindings raise whatever they like."""
    if isinstance(error, (S2OCTError, MemoryError)) or not isinstance(error, Exception):
        return error
    failure = SolverFailed(f"The solver {solver.name} failed ({str(error) or type(error).__name__}).")
    failure.__cause__ = error
    return failure


class _Relay:
    """Passes the solver's reports on, remembers the last incumbent and the best bound, and errors of the watcher."""

    def __init__(self, job: _Job) -> None:
        self._job = job
        self.error = KeptError()

    def incumbent(self, x: FloatArray) -> None:
        if not self._job.abandoned:
            self._job.incumbent_x = x
            with self._noted():
                self._job.watcher.incumbent(x)

    def bound(self, value: float) -> None:
        if not self._job.abandoned:
            self._job.best_bound = max(self._job.best_bound, value)
            with self._noted():
                self._job.watcher.bound(value)

    def should_stop(self) -> bool:
        if self._job.stop.is_set() or self._job.abandoned:
            return True
        with self._noted():
            return self._job.watcher.should_stop()

    def interrupted(self) -> None:
        with self._noted():
            self._job.watcher.interrupted()

    def suggestion(self) -> FloatArray | None:
        if self._job.abandoned:
            return None
        with self._noted():
            return self._job.watcher.suggestion()

    @contextmanager
    def _noted(self) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            self.error.keep(error)
            raise


# Check that a model fits into memory, before the system kills the process.


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
