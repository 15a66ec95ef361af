"""The search as a whole: what it finds, that it repeats itself, and that it stops."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2oct import S2OCTClassifier
from s2oct.errors import S2OCTWarning
from s2oct.fit.context import Incumbent
from s2oct.fit.portfolio import Exploration
from s2oct.fit.training import price_tree
from s2oct.p2.costs import mended
from s2oct.p2.instance import Instance, grid_quanta
from s2oct.p2.node_programs import polish
from s2oct.p2.proof import Bound
from s2oct.p2.rounds import luby, run_round, separating_start
from s2oct.problem.problem import Problem
from s2oct.stopping import NO_DEADLINE, Clock, Deadline
from s2oct.trees.tree import ObliqueTree, Topology
from tests.preparing import cost_of, prepared_as_is, score_of


def planted(seed: int, n_rows: int, p: int, depth: int, labeled: int, *, integer: bool = True) -> Problem:
    """Rows labeled by a random oblique tree, so that a cheap tree exists."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 9, (n_rows, p)).astype(float) if integer else rng.normal(size=(n_rows, p)) * 3
    topology = Topology(depth)
    omega = rng.integers(-3, 4, (topology.n_branches, p)).astype(float)
    truth = ObliqueTree.of(topology, omega, np.median(X @ omega.T, axis=0) + 0.5).predict(X)
    y = np.array(["A", "B"], dtype=object)[truth]
    y[labeled:] = None
    return Problem.from_arrays(X, y, totals={"A": int((truth[labeled:] == 0).sum()), "B": int(truth[labeled:].sum())})


def explored(problem: Problem, depth: int, *, seed: int = 0, n_jobs: int = 1, rounds: int = 6) -> Incumbent:
    """Search for a number of rounds; returns the incumbent."""
    prepared = prepared_as_is(problem.merged(), depth)
    incumbent = Incumbent(Clock(60.0), partial(price_tree, prepared), Bound(0.0, "test"))
    for right in (False, True):
        incumbent.offer(ObliqueTree.constant(Topology(depth), problem.n_features, right=right))
    instance = Instance.of(prepared, 0.0)
    Exploration(instance, incumbent, partial(polish, prepared), seed, n_jobs).run(max_rounds=rounds)
    return incumbent


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_planted_tree_is_found_at_no_cost(depth):
    assert explored(planted(depth, 150, 3, depth, 15), depth, rounds=40).best_cost <= 1e-6


@pytest.mark.parametrize("depth", [4, 5])
def test_deep_trees_are_searched_as_well(depth):
    incumbent = explored(planted(depth, 120, 3, 2, 12), depth, rounds=4)
    assert incumbent.best_cost <= 1e-6


def test_a_search_repeats_itself_for_a_seed_and_a_number_of_rounds():
    """Reproducible by work, not by time: the same rounds give the same tree."""
    problem = planted(5, 300, 4, 3, 60, integer=False)
    first, second, other = (explored(problem, 2, seed=seed, rounds=3) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.winner.omega, second.winner.omega)
    assert first.best_cost == second.best_cost
    assert first.best_cost != other.best_cost


def test_parallel_rounds_find_what_the_same_rounds_find_one_by_one():
    """Rounds 0 and 1 are pure functions of the instance and the seed, wherever they run."""
    problem = planted(5, 200, 4, 3, 40, integer=False)
    assert explored(problem, 2, n_jobs=2, rounds=2).best_cost == explored(problem, 2, rounds=2).best_cost


@pytest.mark.parametrize("number", [0, 30])
def test_a_round_returns_by_its_deadline(stepping_clock, number):
    """Once the deadline has passed, the clock is read a few times more, and then the round is over."""
    problem = planted(1, 4000, 8, 3, 400, integer=False).merged()
    instance = Instance.of(prepared_as_is(problem, 3), 0.0)
    stepping_clock.step = 1.0
    run_round(instance, 0, number, Deadline.after(50.0))
    assert 50 <= stepping_clock.seconds <= 80


@pytest.mark.usefixtures("real_time")
@pytest.mark.filterwarnings("ignore::s2oct.errors.S2OCTWarning")
def test_a_fit_keeps_its_deadline_in_real_time():
    """Users set a limit on the clock of the machine: a fit that would not end by itself ends there.

    On a busy machine the fit warns of more than its limit, such as a constant that it had no time to compute.
    """
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1500, 6)), [*rng.choice(["A", "B"], 200).tolist(), *[None] * 1300]
    clf = S2OCTClassifier(guide=None, time_limit=0.5, random_state=0).fit(X, y, totals={"A": 400})
    assert clf.certificate_.ended == "time limit"
    assert clf.certificate_.seconds >= 0.4


@pytest.mark.filterwarnings("ignore:.*total.* row")
def test_ctrl_c_during_the_search_returns_the_best_tree(ctrl_c):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 4)), [*rng.choice(["A", "B"], 60).tolist(), *[None] * 540]
    with ctrl_c(1.0), pytest.warns(S2OCTWarning, match="interrupted"):
        clf = S2OCTClassifier(solver=None, guide=None, random_state=0).fit(X, y, totals={"A": 200})
    assert clf.certificate_.seconds <= 1.5
    assert clf.certificate_.feasible


@pytest.mark.parametrize("total", [0, 40])
def test_extreme_totals_are_met(total):
    """lambda = 0 and lambda = m: all unlabeled rows in one class, the labeled ones still apart."""
    rng = np.random.default_rng(3)
    X = np.vstack([rng.integers(0, 4, (5, 3)), rng.integers(6, 10, (5, 3)), rng.integers(0, 10, (40, 3))]).astype(float)
    y = ["A"] * 5 + ["B"] * 5 + [None] * 40
    clf = S2OCTClassifier(solver=None, guide=None, time_limit=10, random_state=0).fit(X, y, totals={"A": total})
    assert clf.certificate_.xi == 0


@pytest.mark.filterwarnings("ignore:.*class 'B'")
def test_labels_of_one_class_leave_only_the_total_to_meet():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(80, 3))
    y = ["A"] * 8 + [None] * 72
    clf = S2OCTClassifier(solver=None, guide=None, time_limit=10, random_state=0).fit(X, y, totals={"A": 30, "B": 42})
    assert clf.certificate_.proved
    assert (clf.transduction_[8:] == "A").sum() == 30


def test_more_features_than_rows_and_useless_columns_do_no_harm():
    """p > n, a constant column and a duplicated one."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 90))
    X[:, 1], X[:, 2] = 7.0, X[:, 0]
    y = ["A", "B"] * 6 + [None] * 48
    clf = S2OCTClassifier(solver=None, guide=None, time_limit=10, random_state=0).fit(X, y, totals={"A": 20})
    assert clf.certificate_.proved


@given(steps=st.lists(st.integers(1, 40), min_size=1, max_size=8), spacing=st.sampled_from([1.0, 0.5, 0.1, 200 / 87]))
def test_the_quantum_of_a_grid_divides_every_distance(steps, spacing):
    """2 / g, where all values are whole multiples of g apart."""
    values = np.concatenate([[0.0], np.cumsum(steps)]) * spacing - 3.7
    (quantum,) = grid_quanta(values[:, None], s=1000.0)
    assert quantum == pytest.approx(2 / (np.gcd.reduce(steps) * spacing), rel=1e-6)


def test_features_without_a_usable_grid_have_no_quantum():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=50), np.full(50, 3.0), rng.integers(0, 9, 50) * 0.001])
    assert (grid_quanta(X, s=10.0) == 0).all()


def test_restarts_follow_the_luby_sequence():
    assert [luby(k) for k in range(1, 16)] == [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]


@pytest.mark.slow
@given(seed=st.integers(0, 1000))
def test_polishing_never_makes_a_feasible_tree_cost_more(seed):
    """The node LPs keep every row's side and minimise what the labeled rows pay on their way."""
    problem = planted(seed, 60, 3, 2, 20, integer=False).merged()
    prepared = prepared_as_is(problem, 2)
    for found in run_round(Instance.of(prepared, -1.0), seed, 1, Deadline.after(5.0)):
        tree = mended(prepared, found).tree
        before, after = cost_of(prepared, tree), cost_of(prepared, polish(prepared, tree, NO_DEADLINE))
        assert before is not None
        assert after is not None
        assert after <= before + 1e-6


@given(seed=st.integers(0, 1000), depth=st.integers(1, 3))
def test_a_separating_start_is_right_about_separable_labels_and_keeps_every_margin(seed, depth):
    """The LP's hyperplane, rounded to the grid: each side of the root leads to its class, every row at distance 1."""
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.integers(0, 4, (6, 3)), rng.integers(6, 10, (6, 3)), rng.integers(0, 10, (30, 3))]).astype(float)
    problem = Problem.from_arrays(X, ["A"] * 6 + ["B"] * 6 + [None] * 30, totals={"A": 15}).merged()
    instance = Instance.of(prepared_as_is(problem, depth), 0.0)
    tree = ObliqueTree.of(Topology(depth), *separating_start(instance, rng, NO_DEADLINE, 1e-3))
    found = score_of(problem, tree)
    assert found.n_margin_violations == 0
    assert found.leaf_error == pytest.approx(0.0, abs=1e-9)
    assert np.abs(tree.omega).max() <= instance.s * (1 + 1e-6)
