"""What every backend must do: take a start, report on the way, stop in time, and never be more hopeful than it may."""

import math
import os
import signal
import threading
import time
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from s2oct.errors import S2OCTError, SolverFailed, SolverLicenceError
from s2oct.p2.milp import build_lean, build_p2, encode_tree
from s2oct.p2.prepared import ModelSpec, prepare
from s2oct.problem.labels import read_labels
from s2oct.problem.problem import Problem
from s2oct.solvers import Limits, Termination, load_solver, solve_in_worker
from s2oct.solvers.model import Milp, ModelBuilder, linear_rows
from s2oct.solvers.worker import PARAMS
from s2oct.trees.tree import ObliqueTree
from tests.conftest import backend_or_skip
from tests.instances import TINY
from tests.messages import naming
from tests.preparing import prepared_as_is
from tests.solvers.watchers import Recorder, least_cost, solve, violations
from tests.totals import read_targets

WITH_A_COST = "corners_at_depth_1"
LONG = 120.0
"""Real seconds in which no backend solves the medium model: what ends sooner was ended."""


@pytest.fixture
def milp(medium) -> Milp:
    """A model that no backend solves in the seconds a test may take."""
    return build_lean(medium.prepared)


@pytest.fixture
def start(medium, milp) -> np.ndarray:
    """The tree that sends every row to the right, as a solution vector."""
    return encode_tree(milp, medium.problem, ObliqueTree.constant(medium.topology, 3, right=True))


def lean(name: str) -> Milp:
    return build_lean(TINY[name].prepared)


def test_a_complete_start_is_accepted(backend, milp, start):
    """What comes back is at least as good as the start. In real time: taking it up needs a small part of the second."""
    result = solve(backend, milp, seconds=1.0, start=start)
    assert result.termination is Termination.TIME_LIMIT
    assert result.x is not None
    assert violations(milp, result.x) == {}
    assert milp.c @ result.x <= milp.c @ start + 1e-6
    assert result.dual_bound <= milp.c @ result.x + 1e-6


def test_an_infeasible_start_does_no_harm(backend):
    milp = lean(WITH_A_COST)
    result = solve(backend, milp, start=np.full(milp.n_columns, 0.3))
    assert result.termination is Termination.OPTIMAL
    assert milp.c @ result.x == pytest.approx(4.5)


@pytest.mark.parametrize("name", [WITH_A_COST, "alternating_line_at_depth_2"])
def test_incumbents_reach_the_watcher(backend, name):
    """Every one is feasible, they get no worse, and the last is the result."""
    milp, watcher = lean(name), Recorder()
    result = solve(backend, milp, watcher=watcher)
    costs = [float(milp.c @ x) for x in watcher.incumbents]
    assert costs
    assert all(violations(milp, x, tolerance=1e-5) == {} for x in watcher.incumbents)
    assert all(later <= earlier + 1e-6 for earlier, later in pairwise(costs))
    assert costs[-1] == pytest.approx(milp.c @ result.x, abs=1e-6)


def test_bounds_reach_the_watcher_before_the_end(backend):
    """None of them is above the optimum, and some of them are worth more than nothing."""
    watcher = Recorder()
    cost = least_cost(backend, lean(WITH_A_COST), watcher=watcher)
    assert watcher.bounds
    assert max(watcher.bounds) > 0
    assert max(watcher.bounds) <= cost + 1e-6
    assert np.isfinite(watcher.bounds).all()


def test_a_suggested_solution_is_taken_up(backend, milp, start):
    """A tree found elsewhere becomes the incumbent of a solve that began without one."""

    def is_known(recorder: Recorder) -> bool:
        return any(milp.c @ x <= milp.c @ start + 1e-6 for x in recorder.incumbents)

    watcher = Recorder(stop_when=is_known, suggest=start)
    result = solve(backend, milp, watcher=watcher)
    assert watcher.suggest is None
    assert is_known(watcher)
    assert milp.c @ result.x <= milp.c @ start + 1e-6


def test_a_suggestion_survives_a_presolve_that_replaces_variables_by_sums(backend, tiny):
    """SCIP refuses values of such variables: an error ended the fit, and its tree was lost."""
    milp = build_lean(tiny.prepared)
    constant = ObliqueTree.constant(tiny.topology, tiny.problem.n_features, right=True)
    suggested = encode_tree(milp, tiny.problem, constant)
    result = solve(backend, milp, watcher=Recorder(suggest=suggested))
    assert milp.c @ result.x <= milp.c @ suggested + 1e-6


def test_whatever_a_backend_raises_leaves_the_worker_as_a_failure(backend):
    """A model that no backend accepts; the binding of SCIP raises a plain Exception."""
    milp = unit_model(lower=0, upper=1, cost=1.0, limit=1.0)
    entries = milp.A.copy()
    entries.data[0] = math.inf
    with pytest.raises(SolverFailed):
        solve_in_worker(backend, replace(milp, A=entries), limits=Limits(600.0), watcher=Recorder())


def test_the_time_limit_is_kept_in_a_worker(backend, milp, start, stepping_clock):
    """The watchdog asks the solver to stop at the same moment: that is the clock, not an interrupt.

    In real time: the solver has a second, of which it needs a part to take up its start.
    """
    stepping_clock.step = PARAMS.poll
    result = solve_in_worker(backend, milp, limits=Limits(1.0), watcher=Recorder(), start=start)
    assert result.termination is Termination.TIME_LIMIT
    assert milp.c @ result.x <= milp.c @ start + 1e-6


def test_a_watcher_that_asks_to_stop_is_obeyed_and_the_incumbent_kept(backend, milp, start):
    watcher = Recorder(stop_when=has_found, suggest=start)
    result = solve(backend, milp, watcher=watcher)
    assert result.termination is Termination.INTERRUPTED
    assert milp.c @ result.x <= min(milp.c @ x for x in watcher.incumbents) + 1e-6


def has_found(recorder: Recorder) -> bool:
    """Whether the solve has reported a solution, its own or the suggested one. Before that there is none to keep."""
    return bool(recorder.incumbents)


class Trouble(Exception):
    """Raised by watchers below."""


@pytest.mark.parametrize("method", ["incumbent", "bound", "should_stop", "suggestion"])
def test_an_exception_in_a_watcher_reaches_the_caller(backend, milp, method):
    """Solvers swallow or die of exceptions in their callbacks; ours end the solve and come out, in real time."""

    def fail(*_: object):
        raise Trouble(method)

    watcher = Recorder()
    setattr(watcher, method, fail)
    began = time.monotonic()
    with pytest.raises(Trouble, match=method):
        solve(backend, milp, seconds=LONG, watcher=watcher, start=None)
    assert time.monotonic() - began < LONG / 2


def test_an_exception_in_a_watcher_leaves_the_worker(backend, milp):
    watcher = Recorder()

    def fail() -> None:
        raise Trouble("suggestion")

    watcher.suggestion = fail
    with pytest.raises(Trouble):
        solve_in_worker(backend, milp, limits=Limits(LONG), watcher=watcher)


def test_a_request_to_stop_ends_a_solve_in_a_worker_and_keeps_its_incumbent(backend, milp, start):
    watcher = Recorder(stop_when=has_found, suggest=start)
    result = solve_in_worker(backend, milp, limits=Limits(LONG), watcher=watcher)
    assert not watcher.was_interrupted
    assert result.termination is Termination.INTERRUPTED
    assert milp.c @ result.x <= min(milp.c @ x for x in watcher.incumbents) + 1e-6


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_ends_a_solve_and_keeps_its_incumbent(backend, milp, start):
    """Either our handler notes it, or the solver has one of its own and reports the interrupt; never neither."""
    pressed, presses = threading.Event(), []
    signal.signal(signal.SIGINT, lambda *_: pressed.set())

    def press_once(recorder: Recorder) -> bool:
        if has_found(recorder) and not presses:
            presses.append(True)
            os.kill(os.getpid(), signal.SIGINT)
        return pressed.is_set()

    watcher = Recorder(stop_when=press_once, suggest=start)
    result = solve_in_worker(backend, milp, limits=Limits(LONG), watcher=watcher)
    assert pressed.is_set() or watcher.was_interrupted
    assert result.termination is Termination.INTERRUPTED
    assert milp.c @ result.x <= min(milp.c @ x for x in watcher.incumbents) + 1e-6


def unit_model(*, lower: float, upper: float, cost: float, limit: float) -> Milp:
    """min cost * x0 subject to x0 + x1 >= limit, x binary or bounded as given."""
    builder = ModelBuilder()
    x = builder.add("x", (2,), lower=lower, upper=upper, integral=upper == 1)
    # A binary besides, so that a relaxation is not all there is to solve.
    flag = builder.add("flag", (1,), upper=1, integral=True)
    rows = [
        linear_rows("limit", (1,), [(x.index[None, :], 1.0)], lower=limit),
        linear_rows("flag", (1,), [(flag.index, 1.0), (x.index[:1], 1.0)], lower=0.5),
    ]
    return builder.build([(x, np.array([cost, 0.0]))], rows)


def test_an_infeasible_model_is_called_so_and_has_no_solution(backend):
    result = solve(backend, unit_model(lower=0, upper=1, cost=1.0, limit=3.0))
    assert result.termination is Termination.INFEASIBLE
    assert result.x is None


def test_an_unbounded_model_is_neither_solved_nor_infeasible(backend):
    """No status stands for what the solver did not find out."""
    with pytest.raises(SolverFailed):
        solve(backend, unit_model(lower=0, upper=np.inf, cost=-1.0, limit=0.0))


def test_a_status_that_means_nothing_raises():
    """A model that was never solved has a status, too; it is not in the map."""
    backend_or_skip("highs")
    import highspy

    from s2oct.solvers import highs

    with pytest.raises(SolverFailed, match=naming("HiGHS")):
        highs._result(highspy.Highs())


def test_a_status_of_scip_that_means_nothing_raises():
    backend_or_skip("scip")
    import pyscipopt

    from s2oct.solvers import scip

    with pytest.raises(SolverFailed, match=naming("SCIP", "'unknown'")):
        scip._result(pyscipopt.Model(), [])


def test_a_status_of_gurobi_that_means_nothing_raises():
    backend_or_skip("gurobi")
    import gurobipy

    from s2oct.solvers import gurobi

    with (
        gurobipy.Env(params={"OutputFlag": 0}) as env,
        gurobipy.Model(env=env) as model,
        pytest.raises(SolverFailed, match=naming("Gurobi", 1)),
    ):
        gurobi._result(model, None)


def test_no_status_without_a_proof_is_called_optimal(backend):
    """In every map, exactly one status of the solver stands for OPTIMAL."""
    assert list(backend._STATUS.values()).count(Termination.OPTIMAL) == 1


def test_a_backend_is_silent(backend, capfd):
    solve(backend, lean("alternating_line_at_depth_3"))
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "")


@pytest.mark.slow
def test_scip_is_silent_about_tolerances(capfd):
    """A model with linear programs that SCIP would solve again, with a tolerance that it may not set."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 3)) * 10.0 ** rng.integers(-3, 6, size=3)
    truth = np.where(X[:, 0] + rng.normal(size=40) * X[:, 0].std() > 0, "a", "b").astype(object)
    is_labeled = rng.random(40) < 0.4
    is_labeled[:2] = True
    y = [*"ab", *np.where(is_labeled, truth, None)[2:]]
    labels = read_labels(y, n_rows=40)
    targets = read_targets(labels, {"a": (~is_labeled).sum() // 2}, None)
    prepared = prepare(Problem.from_labels(X, labels, targets), ModelSpec(depth=2, C=1.0))
    solve(backend_or_skip("scip"), build_p2(prepared), seconds=3)
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "")


def test_the_same_seed_gives_the_same_solution(backend):
    milp = lean("alternating_line_at_depth_2")
    first, second = (solve(backend, milp).x for _ in range(2))
    assert first.tolist() == second.tolist()


@pytest.mark.parametrize("seed", [0, 7, 2**31 - 2])
def test_any_seed_is_accepted(backend, seed):
    milp = lean(WITH_A_COST)
    result = backend.solve(milp, limits=Limits(120.0, threads=1, seed=seed), watcher=Recorder())
    assert milp.c @ result.x == pytest.approx(4.5)


def test_two_threads_find_the_same_optimum(backend):
    milp = lean(WITH_A_COST)
    result = backend.solve(milp, limits=Limits(120.0, threads=2), watcher=Recorder())
    assert milp.c @ result.x == pytest.approx(4.5)


def test_a_model_over_gurobis_free_licence_is_refused_with_a_remedy(size_limited_gurobi, four_hundred):
    milp = build_p2(prepared_as_is(four_hundred, 2))
    with pytest.raises(SolverLicenceError, match=naming(2000, "solver", "'highs'")):
        solve(size_limited_gurobi, milp)


def test_every_error_of_a_solver_is_one_of_ours():
    assert issubclass(SolverLicenceError, S2OCTError)
    assert issubclass(SolverFailed, S2OCTError)


def test_one_backend_can_solve_twice():
    """Nothing of a solve is left behind in its backend."""
    highs = load_solver("highs")
    assert least_cost(highs, lean(WITH_A_COST)) == pytest.approx(4.5)
    assert least_cost(highs, lean("contradictory_pair")) == pytest.approx(2.0)
