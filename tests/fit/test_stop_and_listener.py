"""A fit can be stopped from any thread and watched by anybody; nothing below the estimator prints or warns."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from s2oct import OCTHClassifier, S2OCTClassifier
from s2oct.errors import S2OCTWarning
from s2oct.fit.context import (
    ASKING_GUIDE,
    BREAKING_TIES,
    COMPARING,
    PREPARING,
    SEARCHING,
    SOLVING,
    STAGES,
    Budget,
    Guidance,
    open_context,
)
from s2oct.fit.training import train, weigh_evidence
from s2oct.p2.prepared import ModelSpec, prepare
from s2oct.problem.problem import Advice, Problem
from s2oct.solvers.worker import PARAMS
from s2oct.trees.tree import ObliqueTree
from tests.conftest import backend_or_skip
from tests.messages import naming

# These fits are cut short.
pytestmark = pytest.mark.filterwarnings("ignore:.*total.* row", "ignore:.*time limit")

LOOKS, SECONDS = 60, 3.0
"""Looks at the clock in which a fit must end once it is asked to: about 0.3 s. A busy machine has ten times as long."""


class Notebook:
    """Writes down what a fit says."""

    def __init__(self) -> None:
        self.stages, self.moments = [], []

    def stage(self, name):
        self.stages.append(name)

    def progress(self, moment):
        self.moments.append(moment)


@pytest.fixture(scope="module")
def noise():
    """Labels without any pattern, in more rows than any fit decides in seconds, and many features."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(1500, 12))
    y = np.array([*rng.choice(["A", "B"], 200), *[None] * 1300], dtype=object)
    return X, y, {"A": 500}


@pytest.fixture(scope="module")
def much_noise():
    """The same in so many rows that a fit with the default guide takes seconds."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(6000, 30))
    y = np.array([*rng.choice(["A", "B"], 600), *[None] * 5400], dtype=object)
    return X, y, {"A": 2000}


class Request(Notebook):
    """A request to stop, made some seconds after a stage has begun; remembers when it was made.

    The clock goes on as if it was read only by a thread that waits for a solver.
    """

    def __init__(self, clock, stage, delay):
        super().__init__()
        self._clock, self._stage, self._delay, self._asked = clock, stage, delay, threading.Event()
        clock.step = PARAMS.poll

    def stage(self, name):
        super().stage(name)
        if name == self._stage:
            self._clock.call_after(self._delay, self._ask)

    def _ask(self):
        self.looks, self.seconds = self._clock.reads, time.process_time()
        self._asked.set()

    def __call__(self):
        return self._asked.is_set()

    def was_soon(self):
        """Whether the fit, which has ended, did so soon after the request."""
        return self._clock.reads - self.looks <= LOOKS and time.process_time() - self.seconds <= SECONDS


@pytest.mark.filterwarnings("ignore:.*Gurobi")
@pytest.mark.parametrize(
    ("guide", "stage", "delay", "solver"),
    [
        *[(None, SEARCHING, 1.0, solver) for solver in (None, "highs", "scip", "gurobi")],
        *[(None, SOLVING, 1.0, solver) for solver in (None, "highs", "scip", "gurobi")],
        ("auto", ASKING_GUIDE, 0.2, None),
        ("auto", SEARCHING, 0.2, None),
    ],
)
def test_a_fit_in_another_thread_stops_soon_and_keeps_its_best_tree(
    noise, much_noise, solver, guide, stage, delay, stepping_clock
):
    """While the guide is asked, during the search, in a linear program, or beside a solver."""
    if solver is None and stage == SOLVING:
        stage, delay = SEARCHING, 12.0
    if solver is not None:
        backend_or_skip(solver)
    X, y, totals = noise if guide is None else much_noise
    clf = S2OCTClassifier(guide=guide, solver=solver, time_limit=60.0 if guide is None else 600.0, random_state=0)

    request = Request(stepping_clock, stage, delay)

    def stop_in_another_thread() -> None:
        thread = threading.Thread(target=lambda: clf.fit(X, y, totals=totals, stop=request, listener=request))
        thread.start()
        thread.join()

    with pytest.warns(S2OCTWarning, match="interrupted after"):
        stop_in_another_thread()
    assert request.was_soon()
    assert clf.certificate_.ended == "interrupted"
    # A tree that weighs evidence need not be feasible for P2.
    assert clf.certificate_.feasible or guide is not None
    assert clf.predict(X).shape == (len(X),)


def test_an_octh_fit_stops_soon(noise, stepping_clock):
    X, y, _ = noise

    request = Request(stepping_clock, SEARCHING, 1.0)
    clf = OCTHClassifier(depth=2, solver=None, time_limit=60.0)
    with pytest.warns(S2OCTWarning, match="interrupted after"):
        clf.fit(X, y, stop=request, listener=request)
    assert request.was_soon()
    assert clf.certificate_.ended == "interrupted"


def test_a_fit_that_is_stopped_before_it_begins_has_a_constant_tree(noise):
    X, y, totals = noise
    with pytest.warns(S2OCTWarning, match="interrupted after"):
        clf = S2OCTClassifier(solver=None).fit(X, y, totals=totals, stop=lambda: True)
    assert clf.certificate_.feasible
    assert not clf.tree_.omega.any()


@pytest.mark.parametrize("n_asked", [1, 2, 5, 20, 100])
def test_a_search_that_is_cut_short_never_gives_a_tree_worse_than_one_class_for_all_rows(noise, n_asked):
    """So a tree with splits is better than what there was before the search, whenever the fit was interrupted."""
    X, y, totals = noise
    problem = Problem.from_arrays(X, y, totals=totals)
    prepared = prepare(problem, ModelSpec(3))
    heard, asked = Notebook(), []

    def stop() -> bool:
        if SEARCHING in heard.stages:
            asked.append(True)
        return len(asked) > n_asked

    guidance = Guidance(lambda deadline: Advice(np.full((problem.n_unlabeled, 2), 0.5)))
    context = open_context(Budget(solver=None), stop, heard)
    found = weigh_evidence(prepared, context, guidance)
    assert found.ended == "interrupted"
    evidence = found.evidence_fit.evidence

    def cost(tree):
        return evidence.total_cost(evidence.cost_of(tree), guidance.spec.price_of(evidence.total_size))

    constant = [ObliqueTree.constant(prepared.topology, problem.n_features, right=right) for right in (False, True)]
    least = min(map(cost, constant))
    best = found.evidence_fit.found.tree
    assert cost(best) < least if best.omega.any() else cost(best) == least


def test_stopping_one_fit_leaves_another_alone(survey):
    """A request to stop belongs to one fit; nothing global is set."""
    X, y, totals = survey
    with pytest.warns(S2OCTWarning):
        S2OCTClassifier(depth=1, solver=None).fit(X, y, totals=totals, stop=lambda: True)
    assert S2OCTClassifier(depth=1, guide=None, solver=None).fit(X, y, totals=totals).certificate_.proved


def test_a_listener_hears_the_stages_in_order_and_every_moment_of_the_history(medium, stepping_clock):
    stepping_clock.step = 0.0005
    heard = Notebook()
    trained = train(medium.problem, ModelSpec(2), Budget(time_limit=1.0), listener=heard)
    # A fit that uses up its limit has no time left to compare other trees.
    assert heard.stages[:4] == [PREPARING, SEARCHING, SOLVING, BREAKING_TIES]
    assert tuple(heard.moments) == trained.certificate.history
    assert heard.moments
    assert trained.certificate.ended == "time limit"


def test_a_listener_hears_that_the_guide_is_asked(noise):
    X, y, totals = noise
    heard = Notebook()
    clf = S2OCTClassifier(solver=None, random_state=0).fit(X, y, totals=totals, listener=heard)
    assert heard.stages[:2] == [PREPARING, ASKING_GUIDE]
    assert set(heard.stages) <= set(STAGES)
    assert tuple(heard.moments) == clf.certificate_.history


@pytest.mark.parametrize(
    ("parameters", "ended"),
    [
        ({"guide": None}, "proved"),
        ({"guide": None, "time_limit": 0.5, "noise": True}, "time limit"),
        ({"noise": True, "depth": 1, "time_limit": 60.0, "n_rows": 300}, "proved"),
        ({"noise": True, "depth": 3, "time_limit": 60.0, "n_rows": 300}, "converged"),
    ],
    ids=["P2 proved", "time limit", "proved", "converged"],
)
def test_the_certificate_says_why_the_fit_ended(survey, noise, parameters, ended):
    parameters = dict(parameters)
    n_rows = parameters.pop("n_rows", None)
    X, y, totals = noise if parameters.pop("noise", False) else survey
    if n_rows is not None:
        X, y, totals = X[:n_rows], y[:n_rows], {"A": 40}
    clf = S2OCTClassifier(**{"depth": 1, "solver": None, "random_state": 0, **parameters}).fit(X, y, totals=totals)
    assert clf.certificate_.ended == ended


def test_a_stop_while_other_trees_are_looked_for_is_not_silent(survey):
    X, y, totals = survey
    heard = Notebook()
    with pytest.warns(S2OCTWarning, match=naming("tree")):
        clf = S2OCTClassifier(depth=1, guide=None, solver=None, random_state=0).fit(
            X, y, totals=totals, stop=lambda: COMPARING in heard.stages, listener=heard
        )
    assert clf.certificate_.ended == "proved"


def test_a_limit_that_is_over_before_the_guide_is_asked_leaves_a_tree(noise):
    X, y, totals = noise
    with pytest.warns(S2OCTWarning, match=naming("guide")):
        clf = S2OCTClassifier(solver=None, time_limit=1e-4).fit(X, y, totals=totals)
    assert clf.certificate_.ended == "time limit"
    assert clf.predict(X).shape == (len(X),)


class TreeNotebook(Notebook):
    """Writes down trees, too."""

    def __init__(self) -> None:
        super().__init__()
        self.trees = []

    def found(self, tree):
        self.trees.append(tree)


@pytest.mark.parametrize("guide", ["auto", None])
def test_a_listener_that_wants_trees_gets_them_in_the_users_units_and_the_fit_stays_the_same(survey, guide):
    X, y, totals = survey
    heard = TreeNotebook()
    watched = S2OCTClassifier(depth=2, guide=guide, solver=None, random_state=0).fit(
        X, y, totals=totals, listener=heard
    )
    alone = S2OCTClassifier(depth=2, guide=guide, solver=None, random_state=0).fit(X, y, totals=totals)
    assert watched.rules_ == alone.rules_
    assert (heard.trees[-1].predict(X) == watched.tree_.predict(X)).all()
