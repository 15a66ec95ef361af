"""Of the trees of least cost, one with few features: what stays the same, what becomes less, and that it ends."""

from __future__ import annotations

import numpy as np
import pytest

from s2oct.fit.context import BREAKING_TIES, PREPARING, SEARCHING, Budget, open_context
from s2oct.fit.training import solve_p2, train
from s2oct.p2.prepared import ModelSpec, prepare
from s2oct.p2.proof import DECIDED_TOLERANCE, INTERRUPTED
from s2oct.problem.problem import Problem
from s2oct.stopping import never, now
from tests.fit.test_stop_and_listener import Notebook

BUDGET = Budget(solver=None, time_limit=30.0)


def planted(seed: int, n_rows: int = 120, p: int = 8, n_used: int = 1) -> Problem:
    """Classes by one of many features, or by the sum of some."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 9, (n_rows, p)).astype(float)
    score = X[:, :n_used].sum(axis=1)
    y = np.where(score > np.median(score), "B", "A").astype(object)
    total = int((y[n_rows // 8 :] == "A").sum())
    y[n_rows // 8 :] = None
    return Problem.from_arrays(X, y, totals={"A": total})


@pytest.mark.parametrize("seed", range(4))
def test_cost_and_proof_are_those_of_p2_and_the_tree_has_fewer_features(seed):
    problem = planted(seed, n_used=2)
    solved = solve_p2(prepare(problem, ModelSpec(2)), open_context(BUDGET, never, None))
    trained = train(problem, ModelSpec(2), BUDGET)
    assert solved.incumbent.is_decided
    assert trained.certificate.proved
    assert trained.certificate.ended == solved.ended == "proved"
    assert trained.certificate.lower_bound == solved.bound.value
    assert abs(trained.certificate.objective - solved.incumbent.best_cost) <= DECIDED_TOLERANCE
    assert np.count_nonzero(trained.tree.omega) < np.count_nonzero(solved.tree.omega)


def test_one_feature_is_enough_where_one_decides():
    assert np.count_nonzero(train(planted(0), ModelSpec(1), BUDGET).tree.omega) == 1


def test_it_repeats_itself():
    first, second = (train(planted(5, n_used=3), ModelSpec(2), BUDGET).tree for _ in range(2))
    assert first.omega.tolist() == second.omega.tolist()


def test_a_limit_on_the_features_still_holds():
    trained = train(planted(2, n_used=3), ModelSpec(2, max_features_per_split=3), BUDGET)
    assert np.count_nonzero(trained.tree.omega, axis=1).max() <= 3
    assert trained.certificate.feasible


def noise(n_rows: int) -> Problem:
    """Labels without a pattern, which no fit decides in a second."""
    rng = np.random.default_rng(1)
    y = [*rng.choice(["A", "B"], n_rows // 5), *[None] * (n_rows - n_rows // 5)]
    return Problem.from_arrays(rng.normal(size=(n_rows, 12)), y, totals={"A": n_rows // 3})


def test_features_are_dropped_within_the_time_limit_where_p2_stays_open():
    began = now()
    trained = train(noise(1200), ModelSpec(2), Budget(solver=None, time_limit=2.0))
    assert now() - began <= 2.0 * 1.05 + 0.5
    assert trained.certificate.ended == "time limit"
    assert trained.certificate.feasible


def test_a_fit_that_is_stopped_while_features_are_dropped_keeps_its_proof():
    """And ends at once."""
    heard = Notebook()
    trained = train(
        planted(1, n_used=3), ModelSpec(2), BUDGET, stop=lambda: BREAKING_TIES in heard.stages, listener=heard
    )
    assert heard.stages == [PREPARING, SEARCHING, BREAKING_TIES]
    assert trained.certificate.proved
    assert trained.certificate.ended == INTERRUPTED
