"""The thread a solve runs in: what becomes of a solver that does not stop."""

import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from s2oct.errors import ModelTooLarge, SolverFailed, SolverLicenceError
from s2oct.solvers import Limits, SolveResult, Termination, solve_in_worker
from s2oct.solvers.model import Milp, ModelBuilder, linear_rows
from s2oct.solvers.worker import PARAMS
from tests.messages import naming
from tests.solvers.watchers import Recorder


class Deaf:
    """A backend that reports one incumbent and one bound, and then works on whatever anybody asks."""

    name = "deaf"

    def __init__(self) -> None:
        self.may_end, self.has_ended, self.heard = threading.Event(), threading.Event(), []

    def solve(self, milp, *, limits, watcher, start=None) -> SolveResult:
        watcher.incumbent(np.array([1.0]))
        watcher.bound(0.5)
        self.may_end.wait()
        watcher.incumbent(np.array([2.0]))
        self.heard.append(watcher.should_stop())
        self.has_ended.set()
        return SolveResult(Termination.OPTIMAL, np.array([2.0]), 0.7)


class Obedient:
    """A backend that works until it is asked to stop, and then says that it was interrupted."""

    name = "obedient"

    def solve(self, milp, *, limits, watcher, start=None) -> SolveResult:
        while not watcher.should_stop():
            time.sleep(0.01)
        return SolveResult(Termination.INTERRUPTED, np.array([1.0]), 0.0)


class Interrupted:
    """A backend that ends at once and says that it was interrupted, as one does that caught Ctrl-C itself."""

    name = "interrupted"

    def solve(self, milp, *, limits, watcher, start=None) -> SolveResult:
        return SolveResult(Termination.INTERRUPTED, np.array([1.0]), 0.0)


class Dying:
    """A backend that reports one incumbent and then raises an error."""

    name = "dying"

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def solve(self, milp, *, limits, watcher, start=None) -> SolveResult:
        watcher.incumbent(np.array([1.0]))
        raise self.error


@pytest.fixture(autouse=True)
def polled(stepping_clock):
    """Time passes as the thread that waits for the solver looks at the clock, five polls at a time."""
    stepping_clock.step = 5 * PARAMS.poll
    return stepping_clock


@pytest.fixture
def deaf():
    backend = Deaf()
    yield backend
    backend.may_end.set()


@pytest.fixture
def milp() -> Milp:
    builder = ModelBuilder()
    x = builder.add("x", (1,))
    return builder.build([(x, 1.0)], [linear_rows("row", (1,), [(x.index, 1.0)], lower=0.0)])


def test_a_solver_that_does_not_stop_is_left_behind_with_what_it_had_reported(deaf, milp, polled):
    result = solve_in_worker(deaf, milp, limits=Limits(0.3), watcher=Recorder())
    assert 0.3 + PARAMS.grace <= polled.seconds <= 0.3 + PARAMS.grace + 0.3
    assert result.termination is Termination.TIME_LIMIT
    assert result.x.tolist() == [1.0]
    assert result.dual_bound == 0.5


def test_what_a_solver_reports_after_it_was_left_behind_is_not_heard(deaf, milp):
    watcher = Recorder()
    solve_in_worker(deaf, milp, limits=Limits(0.2), watcher=watcher)
    deaf.may_end.set()
    assert deaf.has_ended.wait(60)
    assert deaf.heard == [True]
    assert [x.tolist() for x in watcher.incumbents] == [[1.0]]


def test_a_request_to_stop_leaves_a_deaf_solver_behind_after_the_grace_period(deaf, milp, polled):
    """The user waits, so it takes at most 0.3 s: 0.15 s of grace, and the time in which the request is noticed."""
    polled.step = PARAMS.poll
    watcher = Recorder(stop_when=lambda recorder: bool(recorder.bounds))
    result = solve_in_worker(deaf, milp, limits=Limits(600.0), watcher=watcher)
    assert PARAMS.grace_on_request <= polled.seconds - watcher.asked_at <= 0.3
    assert result.termination is Termination.INTERRUPTED
    assert result.x.tolist() == [1.0]
    assert result.dual_bound == 0.5
    assert not watcher.was_interrupted


def test_a_request_to_stop_shortly_before_the_deadline_does_not_extend_the_wait(deaf, milp, polled):
    """After a request the solver has 0.15 s, even where the deadline's own grace would last longer."""
    polled.step = PARAMS.poll
    watcher = Recorder(stop_when=lambda _: polled.seconds > 0.25)
    solve_in_worker(deaf, milp, limits=Limits(0.3), watcher=watcher)
    assert polled.seconds - watcher.asked_at <= 0.3


def test_a_solver_that_was_interrupted_without_a_request_reports_it(milp):
    """It caught the user's Ctrl-C itself, and nothing else noticed it."""
    watcher = Recorder()
    result = solve_in_worker(Interrupted(), milp, limits=Limits(9.0), watcher=watcher)
    assert watcher.was_interrupted
    assert result.termination is Termination.INTERRUPTED
    assert result.x.tolist() == [1.0]


def test_a_solver_that_stopped_on_request_reports_no_interrupt_of_its_own(milp):
    """Neither after a wish of the watcher nor after the deadline."""
    for limits, watcher in ((Limits(9.0), Recorder(stop_when=lambda _: True)), (Limits(0.1), Recorder())):
        solve_in_worker(Obedient(), milp, limits=limits, watcher=watcher)
        assert not watcher.was_interrupted


def test_a_result_in_time_is_passed_on_unchanged(deaf, milp):
    deaf.may_end.set()
    result = solve_in_worker(deaf, milp, limits=Limits(600.0), watcher=Recorder())
    assert result.termination is Termination.OPTIMAL
    assert result.x.tolist() == [2.0]


def test_a_solver_that_the_clock_stopped_was_not_interrupted(milp):
    """The user is warned about an interrupt, but not about the time limit."""
    result = solve_in_worker(Obedient(), milp, limits=Limits(0.2), watcher=Recorder())
    assert result.termination is Termination.TIME_LIMIT
    assert result.x.tolist() == [1.0]


def test_a_solver_that_the_watcher_stopped_was_interrupted(milp):
    watcher = Recorder(stop_when=lambda _: True)
    assert solve_in_worker(Obedient(), milp, limits=Limits(9.0), watcher=watcher).termination is (
        Termination.INTERRUPTED
    )


def test_a_result_reaches_the_watcher_while_the_caller_is_busy(deaf, milp):
    """Otherwise a search beside the solver would run on although the solver has proved its tree."""
    deaf.may_end.set()
    watcher, heard = Recorder(), []

    def search() -> None:
        assert deaf.has_ended.wait(60)
        while 0.7 not in watcher.bounds:
            time.sleep(0.01)
        heard.extend(watcher.bounds)

    solve_in_worker(deaf, milp, limits=Limits(600.0), watcher=watcher, meanwhile=search)
    assert 0.7 in heard


@pytest.mark.parametrize(
    ("error", "named"),
    [
        (Exception("SCIP: error in LP solver!"), ("dying", "SCIP: error in LP solver!")),
        (OSError("read error"), ("dying", "read error")),
        (ArithmeticError(), ("dying", "ArithmeticError")),
    ],
    ids=["binding", "file", "without words"],
)
def test_a_solver_that_dies_has_failed(milp, error, named):
    with pytest.raises(SolverFailed, match=naming(*named)) as raised:
        solve_in_worker(Dying(error), milp, limits=Limits(600.0), watcher=Recorder())
    assert raised.value.__cause__ is error


@pytest.mark.parametrize("error", [SolverLicenceError("none"), ModelTooLarge("all"), MemoryError()], ids=repr)
def test_errors_that_say_what_happened_are_passed_on(milp, error):
    with pytest.raises(type(error)) as raised:
        solve_in_worker(Dying(error), milp, limits=Limits(600.0), watcher=Recorder())
    assert raised.value is error


def test_an_error_of_the_watcher_is_not_taken_for_one_of_the_solver(milp, deaf):
    watcher = Recorder()

    def fail(x: np.ndarray) -> None:
        raise ZeroDivisionError

    watcher.incumbent = fail
    with pytest.raises(ZeroDivisionError):
        solve_in_worker(deaf, milp, limits=Limits(600.0), watcher=watcher)


def test_the_end_of_the_program_waits_for_a_solver_that_was_left_behind():
    """HiGHS that called back while Python shut down aborted the process after the fit had succeeded.

    In real time: the solver ends half a second after the fit, and the program waits for it ten times as long.
    """
    program = (
        "import threading, time\n"
        "from tests.solvers.test_worker import Deaf; from tests.solvers.watchers import Recorder;"
        "from tests.solvers.test_backends import unit_model; from s2oct.solvers import Limits, solve_in_worker\n"
        "is_over = threading.Event()\n"
        "class Slow(Deaf):\n"
        "    def solve(self, milp, *, limits, watcher, start=None):\n"
        "        is_over.wait()\n"
        "        time.sleep(0.5)\n"
        "        print('the solver has ended', flush=True)\n"
        "solve_in_worker(Slow(), unit_model(lower=0, upper=1, cost=1.0, limit=1.0), limits=Limits(0.1),"
        " watcher=Recorder())\n"
        "print('the fit has ended', flush=True)\n"
        "is_over.set()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.splitlines() == ["the fit has ended", "the solver has ended"], done.stderr
    assert done.returncode == 0
