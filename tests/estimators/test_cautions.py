"""Warnings that protect users: few labels, no signal, open totals, unlabeled rows in a score; each with a category."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, cross_val_score

from s2oct import LabeledKFold, OCTHClassifier, S2OCTClassifier, TopTotalClassifier
from s2oct.datasets import make_labour_force
from s2oct.errors import (
    ChanceLevelWarning,
    FewLabelsWarning,
    InvalidProblem,
    OpenTotalsWarning,
    S2OCTWarning,
    UnlabeledScoreWarning,
)
from s2oct.fit.context import SEARCHING
from s2oct.p2.proof import Moment
from tests.fitted import quick
from tests.messages import names, naming

pytestmark = pytest.mark.filterwarnings("always::s2oct.errors.S2OCTWarning")


def line(n_a: int, n_b: int, m: int = 20) -> tuple[np.ndarray, list[str | None]]:
    """Rows of a left of 0 and rows of b right of it, then unlabeled rows on both sides."""
    x = np.concatenate([-np.arange(1, n_a + 1), np.arange(1, n_b + 1), np.arange(m) - (m - 1) / 2])
    return x.reshape(-1, 1).astype(float), [*["a"] * n_a, *["b"] * n_b, *[None] * m]


def warned(caught, category) -> list[str]:
    return [str(one.message) for one in caught if issubclass(one.category, category)]


def test_a_class_with_few_labels_is_named_with_their_number():
    X, y = line(12, 2)
    with pytest.warns(FewLabelsWarning) as caught:
        clf = quick().fit(X, y, totals={"b": 10})
    (said,) = warned(caught, FewLabelsWarning)
    assert "class 'b' (2 labels)" in said
    assert "'a'" not in said
    assert names(said, 10, "label", "class")
    assert said in clf.notices_
    assert caught[0].filename == __file__


def test_several_classes_with_few_labels_are_one_warning():
    X, y = line(3, 1)
    with pytest.warns(FewLabelsWarning) as caught:
        quick().fit(X, y, totals={"b": 10})
    (said,) = warned(caught, FewLabelsWarning)
    assert names(said, "'a'", 3, "'b'", 1)


def test_ten_labels_of_each_class_are_enough():
    X, y = line(10, 10)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FewLabelsWarning)
        quick().fit(X, y, totals={"b": 10})
        OCTHClassifier(depth=1, solver=None, time_limit=2.0).fit(X, y)


def test_labels_of_weight_0_do_not_count():
    X, y = line(12, 12)
    weights = np.ones(len(y))
    weights[12:20] = 0
    with pytest.warns(FewLabelsWarning, match=r"class 'b' \(4 labels\)"):
        clf = quick().fit(X, y, totals={"b": 10}, sample_weight=weights)
    assert clf.certificate_.labels == (12, 4)


def test_the_supervised_tree_warns_of_few_labels_too():
    X, y = line(12, 2)
    with pytest.warns(FewLabelsWarning, match=r"class 'b' \(2 labels\)"):
        clf = OCTHClassifier(depth=1, solver=None, time_limit=2.0).fit(X, y)
    assert clf.certificate_.labels == (12, 2)


def noise() -> tuple[np.ndarray, list[str | None]]:
    """Labels without any pattern: 20 of each class among 200 rows."""
    return np.random.default_rng(0).normal(size=(200, 3)), [*["a", "b"] * 20, *[None] * 160]


class UntilSearch:
    """Stops a fit once its search begins: the test against chance comes before that, on any machine."""

    def __init__(self) -> None:
        self.began = False

    def stop(self) -> bool:
        return self.began

    def stage(self, name: str) -> None:
        self.began |= name == SEARCHING

    def progress(self, moment: Moment) -> None:
        """Nothing to do."""


GUIDES = {"default": "auto", "another guide": LogisticRegression(), "paper": None}
"""The test needs a small part of the time limit; this one is far longer than a slow machine needs."""


def fitted(guide, X, y, totals) -> S2OCTClassifier:
    until = UntilSearch()
    told = {} if guide == "auto" else {"stop": until.stop, "listener": until}
    return quick(depth=2, guide=guide, time_limit=600.0).fit(X, y, totals=totals, **told)


@pytest.mark.parametrize("guide", GUIDES.values(), ids=GUIDES)
def test_labels_without_a_pattern_are_a_warning(guide):
    X, y = noise()
    with pytest.warns(ChanceLevelWarning, match=r"chance.*p = 0\.\d\d") as caught:
        clf = fitted(guide, X, y, {"a": 80})
    (said,) = warned(caught, ChanceLevelWarning)
    assert said in clf.notices_
    assert clf.certificate_.chance > 0.15


@pytest.mark.parametrize("guide", GUIDES.values(), ids=GUIDES)
def test_labels_with_a_pattern_are_not(guide):
    survey = make_labour_force(n_labeled=80, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ChanceLevelWarning)
        clf = fitted(guide, survey.X, survey.y, survey.totals)
    assert clf.certificate_.chance < 0.05


def test_the_supervised_tree_is_tested_against_chance_too():
    X, y = noise()
    clf, until = OCTHClassifier(depth=1, solver=None, time_limit=600.0, random_state=0), UntilSearch()
    with pytest.warns(ChanceLevelWarning):
        clf.fit(X, y, stop=until.stop, listener=until)
    X[:40, 0] += np.where(np.array(y[:40]) == "a", 9, 0)
    assert clf.fit(X, y).certificate_.chance < 0.05


@pytest.mark.parametrize("guide", ["auto", None])
def test_labels_of_weight_0_take_no_part_in_the_test_against_chance(guide):
    """Eight of the rows of b have a pattern and weight 0; without them b has too few rows for a test."""
    X, y = line(12, 17)
    weights = np.ones(len(y))
    weights[12:20] = 0
    with pytest.warns(FewLabelsWarning):
        clf = quick(guide=guide).fit(X, y, totals={"b": 10}, sample_weight=weights)
    assert clf.certificate_.chance is None


def test_few_labels_are_not_tested_against_chance():
    X, y = line(30, 9)
    clf = quick(guide="auto").fit(X, y, totals={"b": 10})
    assert clf.certificate_.chance is None


def test_a_test_that_the_clock_leaves_no_time_for_is_not_made(stepping_clock):
    X, y = noise()
    stepping_clock.step = 0.2
    clf = quick(guide=LogisticRegression(), time_limit=1.0).fit(X, y, totals={"a": 80})
    assert clf.certificate_.chance is None


def three_classes() -> tuple[np.ndarray, list[str | None]]:
    x = np.concatenate([np.arange(10), 20 + np.arange(10), 40 + np.arange(10), np.linspace(0, 49, 60)])
    return x.reshape(-1, 1), [*["a"] * 10, *["b"] * 10, *["c"] * 10, *[None] * 60]


def test_one_total_for_three_classes_leaves_two_open():
    X, y = three_classes()
    with pytest.warns(OpenTotalsWarning) as caught:
        clf = quick(depth=2).fit(X, y, totals={"a": 20})
    (said,) = warned(caught, OpenTotalsWarning)
    _, n_b, n_c = clf.certificate_.assigned
    assert names(said, "'b'", f"{n_b:.0f}", "'c'", f"{n_c:.0f}")
    assert names(said, "total", "class")


def test_totals_for_all_classes_but_one_leave_none_open():
    X, y = three_classes()
    with warnings.catch_warnings():
        warnings.simplefilter("error", OpenTotalsWarning)
        quick(depth=2).fit(X, y, totals={"a": 20, "b": 20})
        quick(depth=2).fit(X, y, totals={"a": (15, 25), "b": (15, 25)})


def test_a_class_that_one_domain_leaves_open_is_named():
    X, y = three_classes()
    region = np.tile(["north", "south"], 45)
    totals = {"north": {"a": 10, "b": 10, "c": 10}, "south": {"a": 10}}
    with pytest.warns(OpenTotalsWarning, match=naming("'b'", "'c'")):
        quick(depth=2).fit(X, y, totals=totals, domains=region)


def test_a_class_that_a_second_margin_counts_is_not_open():
    X, y = three_classes()
    region, sex = np.tile(["north", "south"], 45), np.repeat(["f", "m"], 45)
    by_region = {"north": {"a": 10}, "south": {"a": 10}}
    by_sex = {"f": {"a": 10, "b": 5}, "m": {"a": 10, "b": 15}}
    with warnings.catch_warnings():
        warnings.simplefilter("error", OpenTotalsWarning)
        warnings.filterwarnings("ignore", "The tree misses")
        quick(depth=2, time_limit=0.5).fit(X, y, totals=[by_region, by_sex], domains={"region": region, "sex": sex})


def test_unlabeled_rows_in_a_score_are_a_warning_with_the_remedy():
    X, y = line(10, 10)
    clf = quick().fit(X, y, totals={"b": 10})
    with pytest.warns(UnlabeledScoreWarning, match=naming(20, 40, "LabeledKFold")) as caught:
        clf.score(X, y)
    assert caught[0].filename == __file__


def test_labeled_rows_alone_are_scored_without_a_warning():
    X, y = line(10, 10)
    clf = quick().fit(X, y, totals={"b": 10})
    with warnings.catch_warnings():
        warnings.simplefilter("error", S2OCTWarning)
        assert clf.score(X[:20], y[:20]) == 1.0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_cross_validation_that_splits_unlabeled_rows_is_a_warning_and_labeled_folds_are_not():
    X, y = line(10, 10)
    y = np.array(y, dtype=object)
    clf, told = TopTotalClassifier(LogisticRegression()), {"totals": {"b": 10}}
    plain = KFold(2, shuffle=True, random_state=0)
    with pytest.warns(UnlabeledScoreWarning, match="LabeledKFold"):
        cross_val_score(clf, X, y, cv=plain, params=told)
    with warnings.catch_warnings():
        warnings.simplefilter("error", S2OCTWarning)
        cross_val_score(clf, X, y, cv=LabeledKFold(2), params=told, error_score="raise")


def test_totals_that_do_not_fit_a_training_fold_name_the_remedy():
    X, y = line(10, 10)
    train = np.r_[0:5, 10:15, 20:30]
    with pytest.raises(InvalidProblem, match=naming(10, "LabeledKFold")):
        quick().fit(X[train], [y[i] for i in train], totals={"a": 10, "b": 10})
