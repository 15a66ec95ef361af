"""``assess``: labels held out of guide and tree, beside the same fits made by hand."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from s2oct import S2OCTClassifier
from s2oct.datasets import make_labour_force
from s2oct.errors import InvalidProblem
from s2oct.estimates.assessment import held_out_folds
from s2oct.export import report_html
from s2oct.problem.known import read_seed
from tests.fit.register_tables import PLAIN, table
from tests.messages import names, naming

# Trees of depth 1 miss totals, and a logistic regression may not converge: neither matters here.
pytestmark = pytest.mark.filterwarnings("ignore")

QUICK = {"depth": 1, "guide": LogisticRegression(), "random_state": 0}


@pytest.fixture(scope="module")
def survey():
    return make_labour_force(n_people=240, n_labeled=60, seed=2)


@pytest.fixture(scope="module")
def fitted(survey):
    return S2OCTClassifier(**QUICK).fit(survey.X, survey.y, totals=survey.totals)


@pytest.fixture(scope="module")
def by_hand(survey):
    """Whether each held-out row was right, and the classes of these rows, by fits made one by one."""
    y = np.asarray(survey.y, dtype=object)
    labeled = np.array([label is not None for label in y])
    codes = np.where(labeled, (y == "yes").astype(int), -1)
    right = {"no": [], "yes": []}
    for held in held_out_folds(codes, 5, read_seed(0)):
        without, totals = y.copy(), dict(survey.totals)
        without[held] = None
        for label in y[held]:
            if label in totals:
                totals[label] += 1
        clf = S2OCTClassifier(**QUICK).fit(survey.X, without, totals=totals)
        for row, given in zip(held, clf.transduction_[held], strict=True):
            right[y[row]].append(given == y[row])
    return {label: np.mean(found) for label, found in right.items()}


def test_it_is_what_fits_without_the_labels_of_each_fold_give(fitted, survey, by_hand):
    found = fitted.assess(n_folds=5)
    assert {line.label: line.recall for line in found.per_class} == pytest.approx(by_hand)
    share = survey.totals["yes"] / 180
    assert found.accuracy == pytest.approx(share * by_hand["yes"] + (1 - share) * by_hand["no"])
    assert (found.n_labels, found.n_folds) == (60, 5)


def test_the_fit_itself_stays_as_it_is(fitted, survey):
    rules, before = fitted.rules_, fitted.transduction_.copy()
    fitted.assess(n_folds=5)
    assert fitted.rules_ == rules
    assert (fitted.transduction_ == before).all()


def test_a_pickled_classifier_is_assessed_with_the_rows_of_the_fit(fitted, survey):
    loaded = pickle.loads(pickle.dumps(fitted))
    with pytest.raises(InvalidProblem, match=naming("rows", "fit", "pickle")):
        loaded.assess()
    assert loaded.assess(survey.X, survey.y, totals=survey.totals, n_folds=5) == fitted.assess(n_folds=5)


def test_progress_is_told_and_a_request_to_stop_ends_it(survey):
    clf = S2OCTClassifier(**QUICK).fit(survey.X, survey.y, totals=survey.totals)
    told = []
    with pytest.raises(KeyboardInterrupt, match=naming(2, 4, "fold")):
        clf.assess(n_folds=4, progress=lambda *step: told.append(step), stop=lambda: len(told) > 2)
    assert told == [(0, 4), (1, 4), (2, 4)]
    clf.assess(n_folds=2, progress=lambda *step: told.append(step))
    assert told[-1] == (2, 2)


def test_rows_of_weight_0_take_no_part(survey):
    weights = np.ones(len(survey.X))
    weights[[0, 5, -1]] = 0
    counts = weights > 0
    given = [label for label, counted in zip(survey.y, counts, strict=True) if counted]
    n_unlabeled = sum(label is None for label in given)
    totals = {"yes": n_unlabeled // 2}
    whole = S2OCTClassifier(**QUICK).fit(survey.X, survey.y, totals=totals, sample_weight=weights)
    part = S2OCTClassifier(**QUICK).fit(np.asarray(survey.X)[counts], given, totals=totals)
    assert whole.assess(n_folds=3).accuracy == part.assess(n_folds=3).accuracy


def test_a_tree_from_labels_that_mean_nothing_is_not_better_than_chance():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.where(np.arange(300) < 80, rng.choice(["a", "b"], 300), None)
    clf = S2OCTClassifier(**QUICK).fit(X, y, totals={"a": 110})
    found = clf.assess(n_folds=5)
    assert found.interval[0] <= found.chance
    assert "chance" in found.cautions[0]


def test_a_register_is_assessed_on_its_sample():
    small = table()
    clf = S2OCTClassifier(depth=1, random_state=0)._fit_register(small.register(most=300), PLAIN)
    found = clf.assess(n_folds=2)
    assert found.n_labels == 40
    assert found.per_class[0].share == pytest.approx(small.totals["A"] / 1960, abs=0.01)


def test_one_fold_is_refused(fitted):
    with pytest.raises(InvalidProblem, match="n_folds"):
        fitted.assess(n_folds=1)


def test_a_fit_that_was_stopped_is_not_assessed_for_its_path(survey):
    clf = S2OCTClassifier(**QUICK).fit(survey.X, survey.y, totals=survey.totals, stop=lambda: True)
    assert not clf.can_be_assessed
    done = S2OCTClassifier(**QUICK).fit(survey.X, survey.y, totals=survey.totals)
    assert done.can_be_assessed
    assert not pickle.loads(pickle.dumps(done)).can_be_assessed


def test_parameters_are_resolved(survey, fitted):
    clf = S2OCTClassifier(random_state=0, max_features_per_split=1).fit(survey.X, survey.y, totals=survey.totals)
    assert clf.resolved_params_ == {
        "depth": 2,
        "guide": "SelfTrainedForest",
        "guide_weight": 0.5,
        "max_features_per_split": 1,
        "term_price": 2.1,
        "total_price": 1.5,
    }
    assert fitted.resolved_params_["guide"] == "LogisticRegression"
    plain = S2OCTClassifier(depth=1, guide=None, solver=None, time_limit=5, random_state=0)
    plain.fit(survey.X, survey.y, totals=survey.totals)
    assert plain.resolved_params_ == {"depth": 1, "guide": None, "max_features_per_split": None}


def test_a_report_does_not_repeat_a_long_fit(survey):
    clf = S2OCTClassifier(**QUICK).fit(survey.X, survey.y, totals=survey.totals)
    assert clf.can_be_assessed
    clf.certificate_ = replace(clf.certificate_, seconds=100.0)
    assert not clf.can_be_assessed
    page = report_html(clf, survey.X, survey.y, rivals=False)
    assert names(page, "10 fits", "100 s")
    assert clf.assess(n_folds=2).n_folds == 2
    assert clf.can_be_assessed, "what is known may be shown"


def test_held_out_labels_of_noise_are_not_given_away_where_no_row_is_unlabeled():
    rng = np.random.default_rng(3)
    found = []
    for _ in range(6):
        clf = S2OCTClassifier(depth=1, total_price=10, random_state=0)
        found.append(clf.fit(rng.normal(size=(16, 3)), np.array(["a", "b"] * 8)).assess().accuracy)
    # 65 of 96 tosses of a coin are more than three standard errors above a half.
    assert np.mean(found) < 65 / 96


@pytest.mark.parametrize("given", [{"totals": {"yes": 90}}, {"y": ["yes"]}, {"as_shares": True}], ids=str)
def test_what_is_said_of_a_table_is_refused_without_the_table(fitted, given):
    with pytest.raises(InvalidProblem, match=naming(next(iter(given)), "X")):
        fitted.assess(**given)


def test_unknown_arguments_and_rows_without_labels_are_refused(fitted, survey):
    with pytest.raises(InvalidProblem, match=naming("'folds'")):
        fitted.assess(folds=5)
    with pytest.raises(InvalidProblem, match=naming("'folds'")):
        fitted.assess(survey.X, survey.y, totals=survey.totals, folds=5)
    with pytest.raises(InvalidProblem, match="X without y"):
        fitted.assess(survey.X)


def test_a_loaded_classifier_is_assessed_by_the_columns_of_its_fit(survey):
    names = [f"c{j}" for j in range(np.shape(survey.X)[1])]
    rows = pd.DataFrame(np.asarray(survey.X), columns=names)
    clf = S2OCTClassifier(**QUICK).fit(rows, survey.y, totals=survey.totals)
    loaded = pickle.loads(pickle.dumps(clf))
    # A further column that tells the classes of the labeled rows would be used by any fit that sees it.
    telling = rows.assign(told=[{"yes": 1.0, "no": -1.0}.get(label, 0.0) for label in survey.y])[["told", *names]]
    assert loaded.assess(telling, survey.y, totals=survey.totals, n_folds=3) == clf.assess(n_folds=3)
    with pytest.raises(InvalidProblem, match=names[0]):
        loaded.assess(rows.drop(columns=names[0]), survey.y, totals=survey.totals)


def test_totals_of_a_loaded_classifier_are_estimated_if_none_are_given(survey):
    clf = S2OCTClassifier(**QUICK).fit(survey.X, survey.y)
    loaded = pickle.loads(pickle.dumps(clf))
    found = loaded.assess(survey.X, survey.y, n_folds=3)
    assert found == clf.assess(n_folds=3)
    assert "estimated shares" in found.method


def test_a_tree_chosen_from_the_path_is_assessed_as_the_path_says_and_is_the_fitted_one_of_its_own_path(survey):
    clf = S2OCTClassifier(**QUICK | {"depth": 2}).fit(survey.X, survey.y, totals=survey.totals)
    path = clf.simplicity_path()
    assert len(path.with_fitted) > 1
    for step in (path[0], path.fitted):
        chosen = clf.with_tree(step)
        found = chosen.assess()
        assert (found.accuracy, found.accuracy_se) == (step.accuracy, step.accuracy_se)
        own = chosen.simplicity_path()
        assert own.fitted.tree is chosen.tree_
        assert [other.accuracy for other in own.with_fitted] == [other.accuracy for other in path.with_fitted]
    again = clf.with_tree(path[0]).with_tree(path[-1])
    assert again.assess().accuracy == path[-1].accuracy
    assert clf.simplicity_path() is path
