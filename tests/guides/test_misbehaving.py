"""Classifiers that break the contract of scikit-learn: each ends in one clear error, and none runs on after a fit."""

from __future__ import annotations

import threading
import traceback

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import GaussianNB

from s2oct import PriorCorrectedClassifier, S2OCTClassifier, TopTotalClassifier
from s2oct.errors import InvalidProblem, S2OCTWarning
from s2oct.fit.context import GUIDE_RUNS_ON
from s2oct.problem.known import Known
from s2oct.problem.labels import Labels
from s2oct.problem.totals import Targets
from s2oct.workflow.comparison import assign_classes
from tests.messages import names, naming

X = np.arange(24.0).reshape(12, 2)
Y = ["no", "yes", "no", "yes", *[None] * 8]
UNLABELED = 8


class Saying(ClassifierMixin, BaseEstimator):
    """Gives every row the same probabilities, whatever they are."""

    def __init__(self, row=(0.5, 0.5), classes=("no", "yes")):
        self.row = row
        self.classes = classes

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.array(self.classes, dtype=object)
        return self

    def predict(self, X):
        return np.repeat(self.classes_[:1], len(X))

    def predict_proba(self, X):
        return np.tile(np.array(self.row, dtype=object if "text" in self.row else float), (len(X), 1))


class OneRowShort(Saying):
    def predict_proba(self, X):
        return super().predict_proba(X)[1:]


class Flat(Saying):
    def predict_proba(self, X):
        return np.full(len(X), 0.5)


class Scoring(ClassifierMixin, BaseEstimator):
    """A decision function that is not finite."""

    def __init__(self, score=np.nan):
        self.score = score

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.repeat(self.classes_[:1], len(X))

    def decision_function(self, X):
        return np.full(len(X), self.score)


BROKEN = {
    "NaN": (Saying((np.nan, np.nan)), ("Saying", "NaN", 8)),
    "infinite": (Saying((np.inf, 0.0)), ("Saying", "NaN", 8)),
    "negative": (Saying((1.5, -0.5)), ("Saying", 0, 8)),
    "not normalised": (Saying((3.0, 5.0)), ("Saying", 8, 0)),
    "text": (Saying(("text", "more")), ("Saying", "number")),
    "a column too many": (Saying((0.2, 0.3, 0.5)), ("Saying", "(8, 3)")),
    "a row too few": (OneRowShort(), ("OneRowShort", "(7, 2)")),
    "flat": (Flat(), ("Flat", "(8,)")),
    "a class is missing": (Saying((1.0,), ("no",)), ("Saying", "'yes'", "classes_")),
    "an unknown class": (
        Saying(classes=("no", "maybe")),
        ("Saying", "'maybe'", "classes_"),
    ),
}


@pytest.mark.parametrize("totals", [{"yes": 4}, {"yes": (2, 5)}], ids=["exact", "interval"])
@pytest.mark.parametrize(("broken", "named"), BROKEN.values(), ids=BROKEN)
def test_what_is_no_probability_is_refused_as_a_guide_and_in_a_wrapper(broken, named, totals):
    with pytest.raises(InvalidProblem, match=naming(*named)):
        TopTotalClassifier(broken).fit(X, Y, totals=totals)
    with pytest.raises(InvalidProblem, match=naming(*named)):
        S2OCTClassifier(depth=1, guide=broken, time_limit=30).fit(X, Y, totals=totals)
    with pytest.raises(InvalidProblem, match=naming(*named)):
        S2OCTClassifier(depth=1, guide=PriorCorrectedClassifier(broken), time_limit=30).fit(X, Y, totals=totals)


def test_what_is_no_probability_is_refused_from_a_rival():
    labels = Labels(np.arange(2), np.array([0, 1, 0, 1, *[-1] * UNLABELED]))
    known = Known.of_rows(labels, Targets.exact([4, 4], UNLABELED))
    with pytest.raises(InvalidProblem, match=naming("Saying", "NaN", 8)):
        assign_classes(
            {"broken": Saying((np.nan, np.nan), (0, 1))},
            X,
            known,
        )


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_naive_bayes_on_rows_without_spread_is_an_error_and_no_endless_loop():
    rows = np.zeros((12, 2))
    with pytest.raises(InvalidProblem, match=naming("GaussianNB", "NaN")):
        TopTotalClassifier(GaussianNB(var_smoothing=0.0)).fit(rows, Y, totals={"yes": (2, 5)})


@pytest.mark.parametrize("predicted", [["no"], ["maybe"] * UNLABELED], ids=["too few", "unknown"])
def test_classes_that_are_none_are_refused(predicted):
    class Predicting(Saying):
        def predict(self, X):
            return np.array(predicted, dtype=object)

    with pytest.raises(InvalidProblem, match="Predicting predicted"):
        PriorCorrectedClassifier(Predicting()).fit(X, Y, totals={"yes": 4})


@pytest.mark.parametrize("score", [np.nan, np.inf])
def test_scores_that_are_not_finite_are_refused(score):
    with pytest.raises(InvalidProblem, match=naming("Scoring", "NaN", 8)):
        TopTotalClassifier(Scoring(score)).fit(X, Y, totals={"yes": (2, 5)})


def test_columns_follow_the_classes_of_the_classifier_in_whatever_order_it_has_them():
    class Ranking(Saying):
        def predict_proba(self, X):
            yes = np.linspace(0.1, 0.9, len(X))
            return np.column_stack([yes, 1 - yes])

    clf = TopTotalClassifier(Ranking(classes=("yes", "no"))).fit(X, Y, totals={"yes": 3})
    assert clf.transduction_[4:].tolist() == ["no"] * 5 + ["yes"] * 3


def test_probabilities_in_single_precision_are_normalised_enough():
    class Single(Saying):
        def predict_proba(self, X):
            yes = np.linspace(0, 1, len(X), dtype=np.float32) / np.float32(3)
            return np.column_stack([np.float32(1) - yes, yes])

    TopTotalClassifier(Single()).fit(X, Y, totals={"yes": 3})


def test_an_exception_of_a_guide_keeps_its_type_and_says_where_it_comes_from():
    class Failing(Saying):
        def fit(self, X, y, sample_weight=None):
            raise ZeroDivisionError("the guide's own words")

    with pytest.raises(ZeroDivisionError, match="the guide's own words") as raised:
        S2OCTClassifier(depth=1, guide=Failing(), time_limit=30).fit(X, Y, totals={"yes": 4})
    assert "The guide Failing() failed" in "".join(traceback.format_exception(raised.value))


class Endless(Saying):
    """Loops until it is stopped from outside; says that it began and that it was ended."""

    began, ended = threading.Event(), threading.Event()

    def fit(self, X, y, sample_weight=None):
        Endless.began.set()
        try:
            while True:
                self._turn()
        finally:
            Endless.ended.set()

    def _turn(self):
        pass


class Stubborn(Endless):
    """Cannot be ended from outside until ``released`` is set, like a long call of compiled code."""

    released = threading.Event()

    def _turn(self):
        Stubborn.released.wait()


@pytest.fixture
def fresh_events():
    for event in (Endless.began, Endless.ended, Stubborn.released):
        event.clear()
    yield
    Stubborn.released.set()


def guide_threads():
    return [thread for thread in threading.enumerate() if thread.name == "s2oct-guide"]


def fit_stopped_once_the_guide_runs(guide, **parameters):
    """Fit with a guide that never answers; the request to stop comes as soon as the guide runs."""
    clf = S2OCTClassifier(depth=1, guide=guide, time_limit=600, random_state=0, **parameters)
    with pytest.warns(S2OCTWarning) as caught:
        clf.fit(X, Y, totals={"yes": 4}, stop=Endless.began.is_set)
    return clf, [str(warning.message) for warning in caught]


@pytest.mark.parametrize("guide_weight", [0.25, 0])
def test_a_guide_in_an_endless_loop_is_ended_with_the_fit(fresh_events, guide_weight):
    clf, warned = fit_stopped_once_the_guide_runs(Endless(), guide_weight=guide_weight)
    assert clf.certificate_.ended == "interrupted"
    assert Endless.ended.wait(60)
    for thread in guide_threads():
        thread.join(60)
    assert not guide_threads()
    assert GUIDE_RUNS_ON not in warned


def test_a_guide_that_cannot_be_ended_is_a_warning(fresh_events):
    _, warned = fit_stopped_once_the_guide_runs(Stubborn())
    assert GUIDE_RUNS_ON in warned
    assert guide_threads()
    Stubborn.released.set()
    for thread in guide_threads():
        thread.join(60)
    assert not guide_threads()


def test_a_guide_that_the_time_limit_leaves_behind_is_ended_and_the_fit_says_so(fresh_events, stepping_clock):
    """The clock passes the limit as soon as the guide runs."""

    class Late(Endless):
        def _turn(self):
            stepping_clock.advance(1e6)

    clf = S2OCTClassifier(depth=1, guide=Late(), solver=None, time_limit=60, random_state=0)
    with pytest.warns(S2OCTWarning) as caught:
        clf.fit(X, Y, totals={"yes": 4})
    warned = [str(warning.message) for warning in caught]
    assert clf.certificate_.ended == "time limit"
    assert not clf.certificate_.proved_best, "nothing is proved without the guide's answer"
    assert any(names(message, "guide", " s") for message in warned)
    assert any(names(message, "time limit") for message in warned)
    assert Endless.ended.wait(60)
