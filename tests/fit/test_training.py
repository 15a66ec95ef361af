"""A fit from end to end: it returns the best tree, and its certificate is true in the user's units."""

import re
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import GaussianNB

from s2oct import OCTHClassifier, S2OCTClassifier
from s2oct.datasets import make_labour_force
from s2oct.errors import S2OCTWarning, SolverUnavailable
from s2oct.fit.context import Budget, Guidance
from s2oct.fit.training import train, train_plain
from s2oct.p2.prepared import ModelSpec
from s2oct.p2.proof import TIME_LIMIT
from s2oct.problem.known import read_known
from s2oct.problem.problem import Problem
from s2oct.solvers import SOLVERS
from s2oct.solvers import worker as memory
from tests.conftest import backend_or_skip
from tests.instances import TINY
from tests.messages import naming
from tests.preparing import score_of

BUDGET = Budget(time_limit=60.0)


def with_solver(name: str | None, time_limit: float = 60.0) -> Budget:
    return Budget(solver=name, time_limit=time_limit)


@pytest.mark.parametrize("name", TINY)
def test_a_named_problem_is_solved_and_proved(name):
    """The paper's scaling centres these problems, which changes no cost."""
    instance = TINY[name]
    certificate = train(instance.problem, instance.spec, BUDGET).certificate
    assert certificate.proved
    assert certificate.feasible
    assert certificate.objective == pytest.approx(instance.optimum if instance.optimum is not None else 4.5, abs=1e-5)
    assert certificate.lower_bound == pytest.approx(certificate.objective, abs=1e-5)


def test_every_backend_can_train(backend, corners):
    trained = train(corners.problem, corners.spec, with_solver(backend.name))
    assert trained.certificate.proved
    assert trained.certificate.objective == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("name", TINY)
def test_the_witness_costs_in_the_users_units_what_the_certificate_says_and_puts_every_row_where_the_tree_does(name):
    instance = TINY[name]
    stretched = Problem.from_arrays(
        instance.problem.X * 1000 + 7,
        [*instance.problem.classes[instance.problem.labels], *[None] * instance.problem.n_unlabeled],
        totals=dict(zip(instance.problem.classes.tolist(), instance.problem.totals.tolist(), strict=True)),
    )
    trained = train(stretched, ModelSpec(instance.depth, instance.C), BUDGET)
    found = score_of(stretched, trained.witness)
    assert trained.tree.apply(stretched.X).tolist() == trained.witness.apply(stretched.X).tolist()
    assert found.leaf_error == pytest.approx(trained.certificate.leaf_error, abs=1e-6)
    assert found.xi == trained.certificate.xi
    assert found.min_margin == pytest.approx(trained.certificate.min_margin, rel=1e-6)


def fit_claims(X, y, totals, **parameters):
    """Fit; return the certificate, rows off the total by the tree itself, and least margins of its witness."""
    clf = S2OCTClassifier(random_state=0, **parameters).fit(X, y, totals=totals)
    unlabeled = np.array([label is None for label in y])
    label, wanted = next(iter(totals.items()))
    off = abs(int((clf.predict(X[unlabeled]) == label).sum()) - wanted)
    return clf.certificate_, off, np.abs(clf.witness_.values(X[unlabeled])).min(axis=1)


@pytest.mark.filterwarnings("ignore:.*time limit")
@pytest.mark.parametrize("offset", [1e3, 1e6, 1e9, 1e12, 1e14])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_certificate_is_true_of_the_predictions_far_from_the_origin(seed, offset):
    """Times and identifiers are large numbers that differ little; rounding must not make the certificate a lie.

    Up to 1e6 a double has digits enough for every margin. Beyond, rows may come too near a hyperplane; the
    certificate then counts them and calls the tree infeasible.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(24, 2)) * rng.choice([1, 30, 1000], 2) + offset
    y = ["a"] * 4 + ["b"] * 4 + [None] * 16
    certificate, off, margins = fit_claims(X, y, {"a": 7}, guide=None, depth=2, time_limit=3.0)
    assert certificate.xi == off
    assert certificate.n_margin_violations == (margins < 1 - 1e-6).sum()
    assert certificate.min_margin == margins.min()
    if offset <= 1e6:
        assert certificate.feasible
    if certificate.n_margin_violations:
        assert not certificate.feasible


@pytest.mark.parametrize("value", [0.0, -5.0, 1e9, 1e15, 1e300])
@pytest.mark.parametrize("solver", list(SOLVERS))
def test_a_constant_feature_spoils_nothing(solver, value):
    """A constant feature gets the coefficient 0, so its size cannot drown the others."""
    backend_or_skip(solver)
    x = [1.0, 2.0, 8.0, 9.0, 1.5, 3.0, 7.0, 7.5]
    X = np.column_stack([x, np.full(8, value)])
    y = ["no", "no", "yes", "yes", None, None, None, None]
    certificate, off, margins = fit_claims(X, y, {"yes": 2}, guide=None, depth=1, solver=solver, time_limit=5.0)
    assert (certificate.objective, certificate.proved) == (0.0, True)
    assert off == 0
    assert margins.min() >= 1 - 1e-6


class Halves(ClassifierMixin, BaseEstimator):
    """Knows that the larger half of the first feature is the second class, in whatever units."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        second = np.where(X[:, 0] > np.median(X[:, 0]), 0.9, 0.1)
        return np.column_stack([1 - second, second])


@pytest.mark.parametrize("unit", [1e-150, 1e-15, 1e-6, 1.0, 1e6, 1e150, 1e300])
@pytest.mark.parametrize("value", [0.0, -5.0, 1e15, 1e300])
def test_evidence_is_weighed_in_any_units_and_beside_any_constant_feature(unit, value):
    x = np.array([1.0, 2.0, 8.0, 9.0, 1.5, 3.0, 7.0, 7.5]) * unit
    y = ["no", "no", "yes", "yes", None, None, None, None]
    clf = S2OCTClassifier(depth=1, guide=Halves(), random_state=0)
    clf.fit(np.column_stack([x, np.full(8, value)]), y, totals={"yes": 2})
    assert clf.transduction_.tolist() == ["no", "no", "yes", "yes", "no", "no", "yes", "yes"]
    assert clf.certificate_.xi == 0
    assert np.flatnonzero(clf.tree_.omega.any(axis=0)).tolist() == [0]


@pytest.mark.parametrize("unit", [1e-3, 1e-6, 1e-9, 1e-10, 1e-12, 1e-15])
@pytest.mark.parametrize("solver", list(SOLVERS))
def test_a_false_optimum_of_tiny_features_is_not_called_proved(solver, unit):
    """Solvers drop entries below 1e-9. The rule for s makes up for tiny features, so a tree of cost 0 exists."""
    backend_or_skip(solver)
    X = np.array([[1.0], [2.0], [8.0], [9.0], [1.5], [3.0], [7.0], [7.5]]) * unit
    y = ["no", "no", "yes", "yes", None, None, None, None]
    certificate, _, _ = fit_claims(X, y, {"yes": 2}, guide=None, depth=1, solver=solver, time_limit=5.0)
    assert certificate.lower_bound == 0.0
    assert certificate.proved == (certificate.objective <= 1e-6)


@pytest.mark.parametrize("unit", [1e-3, 1e-6, 1e-9, 1e-10, 1e-12, 1e-15])
@pytest.mark.parametrize("solver", list(SOLVERS))
def test_a_solver_alone_proves_nothing_false_of_tiny_features(solver, unit):
    """The same without a search that would have found the tree of cost 0 before the solver denies it."""
    backend_or_skip(solver)
    X = np.array([[1.0], [2.0], [8.0], [9.0], [1.5], [3.0], [7.0], [7.5]]) * unit
    problem = Problem.from_arrays(X, ["no", "no", "yes", "yes", None, None, None, None], totals={"yes": 2})
    certificate = train_plain(problem, ModelSpec(1), with_solver(solver)).certificate
    assert certificate.lower_bound == 0.0
    assert certificate.proved == (certificate.objective <= 1e-6)


@pytest.mark.parametrize("value", [-5.0, 1e9, 1e15, 1e300])
@pytest.mark.parametrize("solver", list(SOLVERS))
def test_a_solver_alone_is_not_fooled_by_a_constant_feature(solver, value):
    """Solvers give any weight to a feature that costs nothing; in the user's units it must not drown the others."""
    backend_or_skip(solver)
    X = np.column_stack([[1.0, 2.0, 8.0, 9.0, 1.5, 3.0, 7.0, 7.5], np.full(8, value)])
    problem = Problem.from_arrays(X, ["no", "no", "yes", "yes", None, None, None, None], totals={"yes": 2})
    trained = train_plain(problem, ModelSpec(1), with_solver(solver))
    found = score_of(problem, trained.witness)
    assert (trained.certificate.objective, trained.certificate.proved) == (0.0, True)
    assert (found.objective, found.n_margin_violations) == (0.0, 0)


WITH_A_COST = [name for name, instance in TINY.items() if instance.optimum != 0 and instance.coefficient_bound is None]


@pytest.mark.parametrize("name", WITH_A_COST)
def test_a_solver_alone_solves_and_proves_a_named_problem(name, backend):
    """The literal model, the paper's rule for s, and no search."""
    instance = TINY[name]
    certificate = train_plain(instance.problem, instance.spec, with_solver(backend.name)).certificate
    assert certificate.proved
    assert certificate.objective == pytest.approx(instance.optimum if instance.optimum is not None else 4.5, abs=1e-5)


@pytest.mark.parametrize("unit", [1e3, 1e30, 1e150, 1e300])
def test_huge_features_are_fitted_like_any_others(unit):
    X = np.array([[1.0], [2.0], [8.0], [9.0], [1.5], [3.0], [7.0], [7.5]]) * unit
    y = ["no", "no", "yes", "yes", None, None, None, None]
    certificate, off, margins = fit_claims(X, y, {"yes": 2}, guide=None, depth=1, time_limit=5.0)
    assert (certificate.objective, certificate.proved, off) == (0.0, True, 0)
    assert margins.min() >= 1 - 1e-6


@pytest.fixture
def hard(medium):
    """Rows, labels and totals of the medium problem."""
    problem = medium.problem
    y = [*problem.classes[problem.labels].tolist(), *[None] * problem.n_unlabeled]
    return problem.X, y, {"A": 31}


@pytest.mark.filterwarnings("ignore:.*total.* row")
@pytest.mark.parametrize("seconds", [1.0, 4.0])
def test_ctrl_c_returns_the_best_tree_with_a_warning(backend, hard, ctrl_c, seconds):
    """Whether it comes in the search or, after its head start of 3 s, beside the solver."""
    X, y, totals = hard
    with (
        ctrl_c(seconds),
        pytest.warns(S2OCTWarning, match=naming("interrupt")),
    ):
        clf = S2OCTClassifier(depth=2, guide=None, solver=backend.name, time_limit=20.0).fit(X, y, totals=totals)
    assert clf.certificate_.ended == "interrupted"
    assert clf.certificate_.seconds <= seconds + 0.5
    assert clf.certificate_.feasible
    assert not clf.certificate_.proved
    assert clf.predict(X).shape == (100,)


@pytest.mark.parametrize("solver", ["highs", None])
def test_ctrl_c_returns_the_best_octh_tree_with_a_warning(solver, ctrl_c):
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(100, 3)), rng.choice(["A", "B"], 100)
    with ctrl_c(0.5), pytest.warns(S2OCTWarning, match="interrupted after"):
        clf = OCTHClassifier(depth=2, min_leaf=2, solver=solver, time_limit=6.0).fit(X, y)
    assert clf.certificate_.feasible
    assert clf.predict(X).shape == (100,)


@pytest.mark.filterwarnings("ignore:.*total.* row")
def test_ctrl_c_ends_a_search_without_a_solver(hard, ctrl_c):
    X, y, totals = hard
    with ctrl_c(2.0), pytest.warns(S2OCTWarning, match="interrupted after"):
        clf = S2OCTClassifier(depth=2, guide=None, solver=None, time_limit=6.0).fit(X, y, totals=totals)
    assert clf.certificate_.feasible


@pytest.mark.filterwarnings("ignore:.*total.* row")
@pytest.mark.parametrize("solver", ["highs", "scip", "gurobi", None])
@pytest.mark.parametrize("time_limit", [0.5, 3.0])
def test_the_time_limit_of_a_fit_is_kept_and_said(hard, solver, time_limit):
    """Running out of time is no interrupt, and the usual end of a hard P2."""
    if solver is not None:
        backend_or_skip(solver)
    X, y, totals = hard
    with pytest.warns(S2OCTWarning, match=naming("time limit")):
        clf = S2OCTClassifier(depth=2, guide=None, solver=solver, time_limit=time_limit).fit(X, y, totals=totals)
    assert clf.certificate_.ended == "time limit"
    assert clf.certificate_.seconds <= time_limit * 1.05 + 0.5
    assert clf.certificate_.feasible


@pytest.mark.parametrize("name", ["total_against_label", "corners_at_depth_1", "contradictory_pair_far_from_the_split"])
def test_a_fit_ends_soon_after_its_tree_is_proved(name):
    """The search has a head start; once the solver proves that its tree cannot be beaten, there is nothing to do."""
    instance = TINY[name]
    budget = Budget(time_limit=120.0)
    certificate = train(instance.problem, instance.spec, budget).certificate
    assert certificate.proved
    assert certificate.seconds < budget.time_limit / 2


@pytest.mark.filterwarnings("ignore:.*total.* row", "ignore:.*time limit")
@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_the_time_limit_of_a_large_fit_is_kept(solver):
    """Building and presolving count too: the watchdog goes on without a solver that does not stop."""
    backend_or_skip(solver)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 10))
    y = [*rng.choice(["A", "B"], 300).tolist(), *[None] * 2700]
    clf = S2OCTClassifier(depth=3, guide=None, solver=solver, time_limit=1.0).fit(X, y, totals={"A": 1000})
    assert clf.certificate_.ended == "time limit"
    assert clf.certificate_.seconds <= 1.0 * 1.05 + 0.5
    assert clf.certificate_.feasible


@pytest.mark.filterwarnings("ignore:.*total.* row")
def test_the_time_limit_of_weighing_evidence_is_kept(stepping_clock):
    """Noise in many rows: the search is cut short wherever it is, and its tree is still one that predicts."""
    stepping_clock.step = 0.005
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 10))
    y = [*rng.choice(["A", "B"], 200).tolist(), *[None] * 1800]
    clf = S2OCTClassifier(depth=3, guide=GaussianNB(), time_limit=1.0, random_state=0)
    with pytest.warns(S2OCTWarning, match=naming("time limit")):
        clf.fit(X, y, totals={"A": 700})
    assert clf.certificate_.ended == "time limit"
    assert clf.certificate_.seconds <= 1.0 * 1.05 + 0.5
    assert set(clf.predict(X)) <= {"A", "B"}


def test_a_model_over_gurobis_free_licence_leaves_the_best_tree_with_a_notice(
    size_limited_gurobi, four_hundred, stepping_clock
):
    stepping_clock.step = 0.01
    trained = train(four_hundred, ModelSpec(2), with_solver(size_limited_gurobi.name, 5.0))
    certificate = trained.certificate
    assert re.search(naming("licence", "'highs'"), trained.notices[0])
    assert certificate.feasible
    assert certificate.bound_source != "the bound of gurobi"


@pytest.mark.filterwarnings("ignore:.*total.* row")
@pytest.mark.filterwarnings("ignore:.*time limit")
@pytest.mark.parametrize("estimator", [S2OCTClassifier(guide=None), OCTHClassifier()], ids=["s2oct", "octh"])
def test_a_model_without_memory_leaves_the_best_tree_with_a_warning(estimator, hard, monkeypatch, stepping_clock):
    stepping_clock.step = 0.01
    X, y, totals = hard
    monkeypatch.setattr(memory, "available_memory", lambda: 1000.0)
    given = {"totals": totals} if isinstance(estimator, S2OCTClassifier) else {}
    with pytest.warns(S2OCTWarning, match=naming("GiB", "solver")):
        clf = estimator.set_params(depth=2, time_limit=10.0).fit(X, y, **given)
    assert clf.certificate_.feasible
    assert not clf.certificate_.proved


@pytest.mark.parametrize("name", SOLVERS)
def test_a_missing_solver_ends_the_fit_with_its_remedy(name, without_package, line):
    without_package(name)
    with pytest.raises(SolverUnavailable, match=naming(f"'{name}'", "pip install")):
        train(line.problem, line.spec, with_solver(name))


def test_a_fit_without_a_solver_needs_no_solver(line, without_package):
    for name in SOLVERS:
        without_package(name)
    certificate = train(line.problem, line.spec, with_solver(None)).certificate
    assert certificate.feasible
    assert certificate.lower_bound == 0.0


def test_the_history_ends_with_what_the_certificate_says(corners):
    certificate = train(corners.problem, corners.spec, BUDGET).certificate
    assert certificate.history
    assert certificate.history[-1].objective == pytest.approx(certificate.objective, abs=1e-6)
    assert certificate.history[-1].lower_bound == certificate.lower_bound
    assert all(now.seconds <= certificate.seconds for now in certificate.history)


def test_a_bound_that_needs_no_solver_ends_a_fit_at_once():
    """A contradiction is all that is wrong: its bound meets the tree before any model is built."""
    instance = TINY["contradictory_pair"]
    certificate = train(instance.problem, instance.spec, with_solver(None)).certificate
    assert certificate.proved
    assert certificate.proved_by == "a bound that needs no solver"


def test_silent_fits_are_silent(corners, backend, capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        train(corners.problem, corners.spec, with_solver(backend.name))
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "")


@pytest.mark.parametrize("solver", [*SOLVERS, None])
def test_a_fit_without_a_time_limit_ends_with_its_proof(solver, line):
    """Infinity is a time limit like any other."""
    if solver is not None:
        backend_or_skip(solver)
    assert train(line.problem, line.spec, with_solver(solver, float("inf"))).certificate.proved


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_solver_without_a_time_limit_solves(solver, line):
    backend_or_skip(solver)
    assert train_plain(line.problem, line.spec, with_solver(solver, float("inf"))).certificate.proved


@pytest.mark.parametrize("seed", range(3))
def test_a_fit_whose_guide_does_not_answer_keeps_to_labels_and_totals(seed):
    survey = make_labour_force(n_people=800, n_labeled=80, seed=seed)
    known = read_known(survey.X, survey.y, survey.totals, None)
    problem = Problem.from_known(np.asarray(survey.X, dtype=float), known)
    trained = train(problem, ModelSpec(), BUDGET, Guidance(lambda deadline: None))
    certificate = trained.certificate
    assert certificate.n_contradicted < 0.25 * problem.n_labeled
    assert certificate.xi < 0.01 * problem.n_unlabeled
    assert certificate.ended == TIME_LIMIT, "nothing is proved of the model that was asked for"
    assert not certificate.proved_best
    assert not certificate.proved_among
