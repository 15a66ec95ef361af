"""Search and solver side by side: whatever becomes of the solver, the fit goes on and says what happened."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

import numpy as np
import pytest

from s2oct import S2OCTClassifier
from s2oct.fit.context import SOLVING, Budget, FitContext, Listeners
from s2oct.fit.portfolio import search_and_solve
from s2oct.fit.training import open_incumbent, p2_formulation, solve_p2
from s2oct.solvers import SolveResult
from s2oct.stopping import Clock
from tests.conftest import backend_or_skip
from tests.messages import names


class Dying:
    """A backend that fails as soon as it has looked at its start."""

    name = "dying"

    def solve(self, milp, *, limits, watcher, start=None) -> SolveResult:
        watcher.incumbent(start)
        raise Exception("error in LP solver!")


def test_a_solver_that_dies_costs_its_bound_and_not_the_tree(medium, stepping_clock):
    stepping_clock.step = 0.002
    context = FitContext(Budget(solver="dying", time_limit=2.0), Dying(), Clock(2.0), Listeners())
    outcome = solve_p2(medium.prepared, context)
    (notice,) = context.notices
    assert names(notice, "dying", "error in LP solver!")
    assert outcome.ended == "time limit"
    assert outcome.tree.omega.any()
    assert outcome.bound.source == "a bound that needs no solver"


def test_rounds_are_not_run_twice_when_the_solver_fails(medium):
    """The search beside a solver that died had its own rounds; the next ones follow them."""
    numbers: list[int] = []

    def explore(number: int, seconds: float) -> int:
        numbers.append(number)
        return number + 10

    context = FitContext(Budget(solver="dying", time_limit=5.0), Dying(), Clock(5.0), Listeners())
    incumbent = open_incumbent(medium.prepared, context)
    search_and_solve(context, incumbent, explore, p2_formulation(medium.prepared))
    assert numbers == [0, 10, 20]


def test_without_a_model_for_the_solver_no_round_is_cut_short(medium):
    """The search alone has a share of the time only where a solver has the rest."""
    given: list[float] = []

    def explore(number: int, seconds: float) -> int:
        given.append(seconds)
        return number + 1

    context = FitContext(Budget(solver="dying", time_limit=5.0), Dying(), Clock(5.0), Listeners())
    incumbent = open_incumbent(medium.prepared, context)
    formulation = p2_formulation(medium.prepared)
    too_large = replace(formulation, size=replace(formulation.size, n_entries=10**9))
    search_and_solve(context, incumbent, explore, too_large)
    assert len(given) == 1
    assert given[0] > 4.5


@pytest.mark.filterwarnings("ignore::s2oct.S2OCTWarning")
@pytest.mark.parametrize("seed", range(8))
def test_short_fits_beside_scip_keep_their_tree(seed):
    """Trees of the search are suggested to SCIP, which has replaced some of its variables by sums."""
    backend_or_skip("scip")
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 2))
    clf = S2OCTClassifier(depth=2, guide=None, solver="scip", time_limit=2.0, random_state=seed)
    clf.fit(X, ["A", "B"] * 5 + [None] * 20, totals={"A": 7})
    assert clf.certificate_.feasible
    assert not any("failed" in notice for notice in clf.notices_)


@pytest.mark.filterwarnings("ignore::s2oct.S2OCTWarning")
@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_is_heard_after_a_refused_licence(size_limited_gurobi, four_hundred, stepping_clock):
    """Gurobi has refused the model; the search goes on alone and ends when it is asked to."""
    stepping_clock.step = 0.01
    y = [*four_hundred.classes[four_hundred.labels], *[None] * four_hundred.n_unlabeled]
    clf = S2OCTClassifier(depth=2, guide=None, solver=size_limited_gurobi.name, time_limit=60.0, random_state=0)

    class PressSoon(Listeners):
        def stage(self, name: str) -> None:
            if name == SOLVING:
                stepping_clock.call_after(1.0, lambda: os.kill(os.getpid(), signal.SIGINT))

    clf.fit(four_hundred.X, y, totals={"A": 190}, listener=PressSoon())
    assert clf.certificate_.ended == "interrupted"
    assert "size-limited licence" in clf.notices_[0]
