"""The thread a solve runs in: what becomes of a solver that does not stop."""

import threading
import time

import numpy as np
import pytest

from s2oct.linear.model import Milp, ModelBuilder, linear_rows
from s2oct.solvers import Limits, SolveResult, Termination, solve_in_worker
from s2oct.solvers.worker import GRACE_SECONDS
from tests.solvers.watchers import Recorder


class Deaf:
    """A backend that reports one incumbent and one bound, and then works on whatever it is told."""

    name = "deaf"

    def __init__(self) -> None:
        self.may_end, self.heard = threading.Event(), []

    def solve(self, milp, *, limits, listener, start=None) -> SolveResult:
        listener.incumbent(np.array([1.0]))
        listener.bound(0.5)
        self.may_end.wait(20)
        listener.incumbent(np.array([2.0]))
        self.heard.append(listener.should_stop())
        return SolveResult(Termination.OPTIMAL, np.array([2.0]), 0.7, 0.7, 0, 0.0)


class Obedient:
    """A backend that works until it is told to stop, and then says that it was interrupted."""

    name = "obedient"

    def solve(self, milp, *, limits, listener, start=None) -> SolveResult:
        while not listener.should_stop():
            time.sleep(0.01)
        return SolveResult(Termination.INTERRUPTED, np.array([1.0]), 1.0, 0.0, 0, 0.0)


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


def test_a_solver_that_does_not_stop_is_left_behind_with_what_it_had_reported(deaf, milp):
    began = time.monotonic()
    result = solve_in_worker(deaf, milp, limits=Limits(0.3), listener=Recorder())
    assert time.monotonic() - began <= 0.3 + GRACE_SECONDS + 0.3
    assert result.termination is Termination.TIME_LIMIT
    assert result.x.tolist() == [1.0]
    assert result.dual_bound == 0.5


def test_what_a_solver_reports_after_it_was_left_behind_is_not_heard(deaf, milp):
    listener = Recorder()
    solve_in_worker(deaf, milp, limits=Limits(0.2), listener=listener)
    deaf.may_end.set()
    for _ in range(100):
        if deaf.heard:
            break
        time.sleep(0.02)
    assert deaf.heard == [True]
    assert [x.tolist() for x in listener.incumbents] == [[1.0]]


def test_ctrl_c_leaves_a_deaf_solver_behind_after_the_grace_period(deaf, milp, ctrl_c):
    began = time.monotonic()
    with ctrl_c(0.3):
        result = solve_in_worker(deaf, milp, limits=Limits(30.0), listener=Recorder())
    assert time.monotonic() - began <= 0.3 + GRACE_SECONDS + 0.5
    assert result.termination is Termination.INTERRUPTED
    assert result.x.tolist() == [1.0]


def test_a_result_in_time_is_passed_on_unchanged(deaf, milp):
    deaf.may_end.set()
    result = solve_in_worker(deaf, milp, limits=Limits(5.0), listener=Recorder())
    assert result.termination is Termination.OPTIMAL
    assert result.x.tolist() == [2.0]


def test_a_solver_that_the_clock_stopped_was_not_interrupted(milp):
    """An interrupt is somebody's wish, and is warned of; the time limit is not."""
    result = solve_in_worker(Obedient(), milp, limits=Limits(0.2), listener=Recorder())
    assert result.termination is Termination.TIME_LIMIT
    assert result.x.tolist() == [1.0]


def test_a_solver_that_the_listener_stopped_was_interrupted(milp):
    listener = Recorder(stop_when=lambda _: True)
    assert solve_in_worker(Obedient(), milp, limits=Limits(9.0), listener=listener).termination is (
        Termination.INTERRUPTED
    )


def test_a_result_reaches_the_listener_while_the_caller_is_busy(deaf, milp):
    """Otherwise a search beside the solver would run on although the solver has proved its tree."""
    deaf.may_end.set()
    listener, told = Recorder(), []

    def search() -> None:
        deadline = time.monotonic() + 3.0
        while time.monotonic() < deadline and 0.7 not in listener.bounds:
            time.sleep(0.01)
        told.extend(listener.bounds)

    solve_in_worker(deaf, milp, limits=Limits(9.0), listener=listener, meanwhile=search)
    assert 0.7 in told
