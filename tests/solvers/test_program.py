"""The growing linear program against scipy's, solved cold."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from s2oct.solvers.program import LinearProgram, use_threads
from s2oct.stopping import Deadline
from tests.stopwatch import processor_seconds


def random_program(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cost, rows and right-hand sides; sometimes without a solution."""
    rng = np.random.default_rng(seed)
    A = rng.integers(-3, 4, (12, 4)).astype(float)
    return rng.integers(-4, 5, 4).astype(float), A, rng.integers(-6, 3, 12).astype(float)


@given(seed=st.integers(0, 10_000))
def test_rows_added_in_parts_lead_to_the_optimum_of_all_of_them(seed):
    cost, A, least = random_program(seed)
    program = LinearProgram(cost, np.full(4, -5.0), np.full(4, 5.0))
    for part in (slice(0, 3), slice(3, 4), slice(4, 12)):
        program.add_rows(A[part], least[part])
        x = program.solve(Deadline.after(600.0))
        upto = slice(0, part.stop)
        expected = linprog(cost, A_ub=-A[upto], b_ub=-least[upto], bounds=(-5, 5))
        assert (x is None) == (expected.status == 2)
        if x is None:
            return
        assert cost @ x == pytest.approx(expected.fun, abs=1e-7)
        assert (A[upto] @ x >= least[upto] - 1e-7).all()


def test_a_solve_after_new_rows_goes_on_from_the_last_basis():
    """A few steps, where a new program needs many."""
    rng = np.random.default_rng(0)
    A, cost = rng.normal(size=(400, 60)), rng.normal(size=60)
    extra = rng.normal(size=(1, 60))
    warm = LinearProgram(cost, np.full(60, -1.0), np.full(60, 1.0))
    warm.add_rows(A, np.full(400, -1.0))
    assert warm.solve(Deadline.after(600.0)) is not None
    warm.add_rows(extra, np.array([-0.5]))
    again = warm.solve(Deadline.after(600.0))
    cold = LinearProgram(cost, np.full(60, -1.0), np.full(60, 1.0))
    cold.add_rows(np.vstack([A, extra]), np.append(np.full(400, -1.0), -0.5))
    assert again is not None
    assert cost @ again == pytest.approx(cost @ cold.solve(Deadline.after(600.0)), abs=1e-7)
    assert warm.iterations < cold.iterations / 4


def long_program() -> LinearProgram:
    """A program that takes seconds."""
    rng = np.random.default_rng(1)
    A = rng.normal(size=(3000, 300))
    program = LinearProgram(rng.normal(size=300), np.full(300, -1.0), np.full(300, 1.0))
    program.add_rows(A, np.full(3000, -0.1))
    return program


def test_a_program_that_is_out_of_time_says_nothing_and_soon():
    """In real time: HiGHS looks at its own clock."""

    def solve() -> None:
        assert program.solve(Deadline.after(0.02)) is None

    program = long_program()
    assert processor_seconds(solve, enough=1) <= 1


def test_a_program_that_is_asked_to_stop_says_nothing_and_soon():
    """The request comes while HiGHS works, long before the time is up."""

    def solve() -> None:
        polls = iter(range(1000))
        assert program.solve(Deadline.after(600.0, lambda: next(polls) >= 20)) is None

    program = long_program()
    assert processor_seconds(solve, enough=1) <= 1


def test_a_program_that_was_asked_to_stop_can_be_solved_later():
    program = LinearProgram(np.ones(1), np.zeros(1), np.ones(1))
    program.add_rows(np.ones((1, 1)), np.full(1, 0.5))
    program.solve(Deadline.after(5.0, lambda: True))
    assert program.solve(Deadline.after(600.0)) == pytest.approx([0.5])


def test_the_number_of_threads_may_change_between_solves_in_any_thread():
    """Model solves with more threads and linear programs take turns in one thread, and run side by side in two."""

    def solve_one() -> None:
        program = LinearProgram(np.ones(1), np.zeros(1), np.ones(1))
        program.add_rows(np.ones((1, 1)), np.full(1, 0.5))
        assert program.solve(Deadline.after(600.0)) == pytest.approx([0.5])
        done.append(True)

    done: list[bool] = []
    solve_one()
    use_threads(2)
    solve_one()
    other = threading.Thread(target=solve_one)
    other.start()
    other.join()
    assert len(done) == 3
