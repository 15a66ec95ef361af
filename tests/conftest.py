"""Named tiny problems, solver backends that may be missing, and hypothesis settings."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from s2oct.errors import SolverUnavailable
from s2oct.problem.problem import Problem
from s2oct.solvers import SOLVERS, Solver, load_solver
from tests.browser import Browser, find_browser
from tests.clocks import clock_of_fits, count_work, real_time, stepping_clock  # noqa: F401 (fixtures)
from tests.fitted import _quiet_pictures, labour_force, plane, tree_of  # noqa: F401 (fixtures for every room that draws)
from tests.instances import TINY, Tiny

# The same examples every time: a suite that fails must fail again.
settings.register_profile("s2oct", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("s2oct")

# A shell without job control starts background jobs (``make test &``, nohup) with Ctrl-C ignored, and every process
# that a test starts would inherit that: no test of Ctrl-C could pass.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

LONGEST_TEST = 600
"""Seconds after which a test hangs: the slowest one needs a tenth of them on a quiet machine."""


def pytest_configure() -> None:
    """Replace the clock before any fixture of a session or a module fits."""
    count_work()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Let a test that hangs fail, so that it does not keep the others from running."""

    def give_up(number: int, frame: object) -> None:
        raise TimeoutError(f"{item.nodeid} took longer than {LONGEST_TEST} s.")

    if not hasattr(signal, "SIGALRM"):  # Windows
        return (yield)
    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(LONGEST_TEST)
    try:
        return (yield)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def require(found: bool, what: str) -> None:
    """Skip a test that needs what is not there, but fail it where CI promises that everything is."""
    if not found and os.environ.get("CI") == "true":
        pytest.fail(f"CI must test everything: {what}")
    if not found:
        pytest.skip(what)


def require_package(name: str) -> Any:
    """Import a package that an extra installs."""
    require(find_spec(name) is not None, f"{name} is not installed")
    return import_module(name)


@pytest.fixture(params=TINY)
def tiny(request: pytest.FixtureRequest) -> Tiny:
    """Every named tiny problem in turn."""
    return TINY[request.param]


@pytest.fixture
def corners() -> Tiny:
    """Four labeled corners of a square, A opposite A, and three unlabeled rows: depth 2 solves it at no cost."""
    return TINY["corners_at_depth_2"]


@pytest.fixture
def line() -> Tiny:
    """A on the left, B on the right, four unlabeled rows between them: one hyperplane solves it at no cost."""
    return TINY["separable_line"]


@pytest.fixture
def medium() -> Tiny:
    """Labels without any pattern: no tree is free, no solver proves one in seconds, and Gurobi's free licence holds."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(100, 3))
    y = [str(label) for label in rng.choice(["A", "B"], 24)] + [None] * 76
    return Tiny(Problem.from_arrays(X, y, totals={"A": 31}), depth=2, optimum=None)


@pytest.fixture
def survey() -> tuple[np.ndarray, list[str | None], dict[str, int]]:
    """Rows, labels and totals of sixteen people in the user's own units: young ones answer no, old ones yes."""
    age = np.array([19, 24, 31, 60, 66, 71, 18, 22, 27, 33, 36, 55, 58, 61, 68, 73], dtype=float)
    income = np.array([9, 14, 22, 30, 24, 20, 8, 12, 19, 25, 28, 33, 31, 27, 22, 18], dtype=float) * 1000
    y = ["no", "no", "no", "yes", "yes", "yes", *[None] * 10]
    return np.column_stack([age, income]), y, {"yes": 5}


def backend_or_skip(name: str) -> Solver:
    """A backend; a missing extra skips the test with its reason, but fails it where CI promises all of them."""
    try:
        return load_solver(name)
    except SolverUnavailable as error:
        require(False, str(error))
        raise


@pytest.fixture(params=SOLVERS)
def backend(request: pytest.FixtureRequest) -> Solver:
    """Every solver backend in turn."""
    return backend_or_skip(request.param)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium; where none is installed the test is skipped, but fails where CI promises one."""
    executable = find_browser()
    require(executable is not None, "no Chromium or Chrome is installed")
    opened = Browser(executable)
    yield opened
    opened.close()


@pytest.fixture
def ctrl_c():
    """``with ctrl_c(seconds):`` presses Ctrl-C once the clock of fits has gone on so far, unless the block is over."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    @contextmanager
    def press_after(seconds: float) -> Iterator[None]:
        def press() -> None:
            os.kill(os.getpid(), signal.SIGINT)

        clock_of_fits().call_after(seconds, press)
        yield
        clock_of_fits().call_off(press)

    yield press_after
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def without_package(monkeypatch):
    """Makes the import of a solver's package fail, as where it is not installed."""

    def remove(name: str) -> None:
        monkeypatch.setitem(sys.modules, SOLVERS[name], None)
        monkeypatch.delitem(sys.modules, f"s2oct.solvers.{name}", raising=False)

    return remove


@pytest.fixture
def size_limited_gurobi() -> Solver:
    """Gurobi under its free licence of 2000 rows and columns."""
    gurobi = backend_or_skip("gurobi")
    import gurobipy

    is_limited = False
    with gurobipy.Env(params={"OutputFlag": 0}) as env, gurobipy.Model(env=env) as model:
        model.addMVar(2001)
        try:
            model.optimize()
        except gurobipy.GurobiError:
            is_limited = True
    require(is_limited, "a full Gurobi licence is installed, and the refusal of the free one cannot be tested")
    return gurobi


@pytest.fixture
def four_hundred() -> Problem:
    """400 rows: too many for Gurobi's free licence at depth 2."""
    rng = np.random.default_rng(0)
    y = [*rng.choice(["A", "B"], 20).tolist(), *[None] * 380]
    return Problem.from_arrays(rng.normal(size=(400, 3)), y, totals={"A": 190})
