"""A fit from end to end: what is returned is the best tree, and what is said of it is true in the user's units."""

import threading
import time
import warnings

import numpy as np
import pytest

from s2oct import OCTHClassifier, S2OCTClassifier, memory
from s2oct.errors import S2OCTWarning, SolverUnavailable
from s2oct.objective import score
from s2oct.problem import Problem
from s2oct.solvers import SOLVERS
from s2oct.training import Settings, train
from tests.conftest import backend_or_skip
from tests.instances import TINY


def settings(depth: int, solver: str | None = "highs", time_limit: float = 20.0) -> Settings:
    return Settings(depth=depth, solver=solver, time_limit=time_limit, n_jobs=1, seed=0, verbose=0)


@pytest.mark.parametrize("name", TINY)
def test_a_named_problem_is_solved_and_proved(name):
    """The paper's scaling centres these problems, which changes no cost."""
    instance = TINY[name]
    certificate = train(instance.problem, settings(instance.depth), weight_bound=instance.weight_bound).certificate
    assert certificate.proved
    assert certificate.feasible
    assert certificate.objective == pytest.approx(instance.optimum if instance.optimum is not None else 4.5, abs=1e-5)
    assert certificate.lower_bound == pytest.approx(certificate.objective, abs=1e-5)


def test_every_backend_can_train(backend, corners):
    trained = train(corners.problem, settings(2, backend.name))
    assert trained.certificate.proved
    assert trained.certificate.objective == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("name", TINY)
def test_the_tree_costs_in_the_users_units_what_the_certificate_says(name):
    instance = TINY[name]
    stretched = Problem.from_arrays(
        instance.problem.X * 1000 + 7,
        [*instance.problem.classes[instance.problem.labels], *[None] * instance.problem.n_unlabeled],
        totals=dict(zip(instance.problem.classes.tolist(), instance.problem.totals.tolist(), strict=True)),
        C=instance.problem.C,
    )
    trained = train(stretched, settings(instance.depth))
    found = score(stretched, trained.tree)
    assert found.leaf_error == pytest.approx(trained.certificate.leaf_error, abs=1e-6)
    assert found.xi == trained.certificate.xi
    assert found.min_margin == pytest.approx(trained.certificate.min_margin, rel=1e-6)


def fit_claims(X, y, totals, **parameters):
    """Fit; return the certificate and the same facts counted from the fitted classifier's own predictions."""
    clf = S2OCTClassifier(random_state=0, **parameters).fit(X, y, totals=totals)
    unlabeled = np.array([label is None for label in y])
    label, wanted = next(iter(totals.items()))
    off = abs(int((clf.predict(X[unlabeled]) == label).sum()) - wanted)
    return clf.certificate_, off, float(np.abs(clf.tree_.values(X[unlabeled])).min())


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e9, 1e12, 1e14])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_certificate_is_true_of_the_predictions_far_from_the_origin(seed, offset):
    """Times and identifiers are large numbers that differ little; rounding must not make the certificate a lie."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(24, 2)) * rng.choice([1, 30, 1000], 2) + offset
    y = ["a"] * 4 + ["b"] * 4 + [None] * 16
    certificate, off, margin = fit_claims(X, y, {"a": 7}, depth=2, time_limit=0.6)
    assert certificate.xi == off
    assert not certificate.feasible or margin >= 1 - 2e-6


@pytest.mark.parametrize("value", [0.0, -5.0, 1e9, 1e15, 1e300])
@pytest.mark.parametrize("solver", list(SOLVERS))
def test_a_constant_feature_spoils_nothing(solver, value):
    """A feature that tells no rows apart gets no weight, so its size cannot drown the others."""
    backend_or_skip(solver)
    x = [1.0, 2.0, 8.0, 9.0, 1.5, 3.0, 7.0, 7.5]
    X = np.column_stack([x, np.full(8, value)])
    y = ["no", "no", "yes", "yes", None, None, None, None]
    certificate, off, margin = fit_claims(X, y, {"yes": 2}, depth=1, solver=solver, time_limit=5.0)
    assert (certificate.objective, certificate.proved) == (0.0, True)
    assert off == 0
    assert margin >= 1 - 1e-6


@pytest.mark.parametrize("unit", [1e-3, 1e-6, 1e-9, 1e-10, 1e-12, 1e-15])
@pytest.mark.parametrize("solver", list(SOLVERS))
def test_a_false_optimum_of_tiny_features_is_not_called_proved(solver, unit):
    """Solvers drop entries below 1e-9. The rule for s makes up for tiny features, so a tree of cost 0 exists."""
    backend_or_skip(solver)
    X = np.array([[1.0], [2.0], [8.0], [9.0], [1.5], [3.0], [7.0], [7.5]]) * unit
    y = ["no", "no", "yes", "yes", None, None, None, None]
    certificate, _, _ = fit_claims(X, y, {"yes": 2}, depth=1, solver=solver, time_limit=5.0)
    assert certificate.lower_bound == 0.0
    assert certificate.proved == (certificate.objective <= 1e-6)


@pytest.mark.parametrize("unit", [1e3, 1e30, 1e150, 1e300])
def test_huge_features_are_fitted_like_any_others(unit):
    X = np.array([[1.0], [2.0], [8.0], [9.0], [1.5], [3.0], [7.0], [7.5]]) * unit
    y = ["no", "no", "yes", "yes", None, None, None, None]
    certificate, off, margin = fit_claims(X, y, {"yes": 2}, depth=1, time_limit=5.0)
    assert (certificate.objective, certificate.proved, off) == (0.0, True, 0)
    assert margin >= 1 - 1e-6


@pytest.fixture
def hard(medium):
    """Rows, labels and totals of the medium problem."""
    problem = medium.problem
    y = [*problem.classes[problem.labels].tolist(), *[None] * problem.n_unlabeled]
    return problem.X, y, {"A": 31}


def test_ctrl_c_returns_the_best_tree_with_a_warning(backend, hard, ctrl_c):
    X, y, totals = hard
    timer = threading.Timer(0.8, ctrl_c)
    timer.start()
    began = time.monotonic()
    with pytest.warns(S2OCTWarning, match=r"interrupted after .* s: the tree is the best found so far, of cost"):
        clf = S2OCTClassifier(depth=2, solver=backend.name, time_limit=30.0).fit(X, y, totals=totals)
    timer.join()
    assert time.monotonic() - began <= 3.0
    assert clf.certificate_.feasible
    assert not clf.certificate_.proved
    assert clf.predict(X).shape == (100,)


def test_ctrl_c_returns_the_best_octh_tree_with_a_warning(ctrl_c):
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(100, 3)), rng.choice(["A", "B"], 100)
    timer = threading.Timer(0.8, ctrl_c)
    timer.start()
    with pytest.warns(S2OCTWarning, match="interrupted after"):
        clf = OCTHClassifier(depth=2, min_leaf=2, time_limit=30.0).fit(X, y)
    timer.join()
    assert clf.certificate_.feasible
    assert clf.predict(X).shape == (100,)


@pytest.mark.parametrize("solver", ["highs", "scip", "gurobi", None])
@pytest.mark.parametrize("time_limit", [0.3, 1.5])
def test_the_time_limit_of_a_fit_is_kept_without_a_warning(hard, solver, time_limit):
    """Running out of time is no interrupt; S2OCTWarning is an error in these tests."""
    if solver is not None:
        backend_or_skip(solver)
    X, y, totals = hard
    began = time.monotonic()
    clf = S2OCTClassifier(depth=2, solver=solver, time_limit=time_limit).fit(X, y, totals=totals)
    assert time.monotonic() - began <= time_limit * 1.05 + 1.0
    assert clf.certificate_.seconds <= time_limit * 1.05 + 1.0
    assert clf.certificate_.feasible


@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_the_time_limit_of_a_large_fit_is_kept_without_a_warning(solver):
    """Building and presolving count too: the watchdog goes on without a solver that does not stop."""
    backend_or_skip(solver)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 10))
    y = [*rng.choice(["A", "B"], 300).tolist(), *[None] * 2700]
    began = time.monotonic()
    clf = S2OCTClassifier(depth=3, solver=solver, time_limit=2.0).fit(X, y, totals={"A": 1000})
    assert time.monotonic() - began <= 2.0 * 1.05 + 1.0
    assert clf.certificate_.feasible


def test_a_model_over_gurobis_free_licence_leaves_the_best_tree_with_a_warning(size_limited_gurobi, four_hundred):
    with pytest.warns(S2OCTWarning, match=r"size-limited licence .* Use solver='highs'.* best that was found without"):
        certificate = train(four_hundred, settings(2, size_limited_gurobi.name, 5.0)).certificate
    assert certificate.feasible
    assert certificate.bound_source != "the bound of gurobi"


@pytest.mark.parametrize("estimator", [S2OCTClassifier, OCTHClassifier])
def test_a_model_without_memory_leaves_the_best_tree_with_a_warning(estimator, hard, monkeypatch):
    X, y, totals = hard
    monkeypatch.setattr(memory, "available_memory", lambda: 1000.0)
    given = {"totals": totals} if estimator is S2OCTClassifier else {}
    with pytest.warns(S2OCTWarning, match=r"needs about .* GiB .* solver=None.* best that was found without it"):
        clf = estimator(depth=2, time_limit=2.0).fit(X, y, **given)
    assert clf.certificate_.feasible
    assert not clf.certificate_.proved


@pytest.mark.parametrize("name", SOLVERS)
def test_a_missing_solver_ends_the_fit_with_its_remedy(name, without_package, line):
    without_package(name)
    with pytest.raises(SolverUnavailable, match=f"Solver '{name}' is not installed .* Install it with: pip install"):
        train(line.problem, settings(1, name))


def test_a_fit_without_a_solver_needs_no_solver(line, without_package):
    for name in SOLVERS:
        without_package(name)
    certificate = train(line.problem, settings(1, None, 2.0)).certificate
    assert certificate.feasible
    assert certificate.lower_bound == 0.0


def test_the_history_ends_with_what_the_certificate_says(corners):
    certificate = train(corners.problem, settings(2)).certificate
    assert certificate.history
    assert certificate.history[-1].objective == pytest.approx(certificate.objective, abs=1e-6)
    assert certificate.history[-1].lower_bound == certificate.lower_bound
    assert all(now.seconds <= certificate.seconds for now in certificate.history)


def test_a_bound_that_needs_no_solver_ends_a_fit_at_once():
    """A contradiction is all that is wrong: its bound meets the tree before any model is built."""
    instance = TINY["contradictory_pair"]
    certificate = train(instance.problem, settings(1, None)).certificate
    assert certificate.proved
    assert certificate.proved_by == "a bound that needs no solver"


def test_verbose_fits_tell_their_progress(corners, capsys):
    train(corners.problem, Settings(depth=2, solver="highs", time_limit=10.0, n_jobs=1, seed=0, verbose=1))
    assert "cost" in capsys.readouterr().err


def test_silent_fits_are_silent(corners, backend, capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        train(corners.problem, settings(2, backend.name))
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "")
