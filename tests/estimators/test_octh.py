import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from s2oct import LabeledKFold, OCTHCertificate, OCTHClassifier
from tests.oracles import brute_force_octh
from tests.solvers.test_optima import OCTH, octh_problem


def classifier(**parameters) -> OCTHClassifier:
    return OCTHClassifier(**{"depth": 1, "time_limit": 4.0, "random_state": 0, **parameters})


@pytest.mark.parametrize("name", OCTH)
def test_a_named_problem_is_solved_and_proved(name):
    """Mapping the rows onto [0, 1] changes none of these optima."""
    x, labels, octh, optimum = OCTH[name]
    clf = classifier(min_leaf=octh.min_leaf, complexity=octh.complexity, mu=octh.mu)
    clf.fit(np.array(x)[:, None], list(labels))
    assert isinstance(clf.certificate_, OCTHCertificate)
    assert clf.certificate_.objective == pytest.approx(optimum, abs=1e-6)
    assert clf.certificate_.proved
    assert brute_force_octh(octh_problem(x, labels), octh) == pytest.approx(optimum, abs=1e-6)


def test_the_errors_are_those_of_the_predictions(survey):
    X, y, _ = survey
    y = ["yes", *y[1:]]
    clf = classifier().fit(X, y)
    wrong = sum(label is not None and label != guess for label, guess in zip(y, clf.predict(X), strict=True))
    assert clf.certificate_.n_errors == wrong


def test_rows_in_any_units_are_fitted():
    X = np.array([[-5e6, 1.0], [-4e6, 1.0], [3e6, 1.0], [9e6, 1.0]])
    clf = classifier().fit(X, ["a", "a", "b", "b"])
    assert clf.predict(X).tolist() == ["a", "a", "b", "b"]
    assert clf.certificate_.proved


def test_unlabeled_rows_take_part_in_the_scaling_only():
    X = np.array([[0.0], [0.2], [0.8], [1.0], [1e6]])
    clf = classifier(mu=0.005).fit(X, ["a", "a", "b", "b", None])
    assert clf.certificate_.n_errors == 2
    assert classifier(mu=0.005).fit(X[:4], ["a", "a", "b", "b"]).certificate_.n_errors == 0


def test_the_minimum_leaf_is_5_percent_of_the_labeled_rows():
    """Of 60 rows, one is of the rare class at the end: alone it would make a leaf of 1, and 3 are asked for."""
    X = np.linspace(0, 1, 60)[:, None]
    y = ["a"] * 59 + ["b"]
    assert classifier().fit(X, y).certificate_.n_errors == 1
    assert classifier(min_leaf=1).fit(X, y).certificate_.n_errors == 0


def test_three_classes_share_the_leaves():
    X = np.array([[0.0], [0.1], [0.5], [0.55], [0.9], [1.0]])
    y = ["low", "low", "middle", "middle", "high", "high"]
    clf = classifier(depth=2, min_leaf=1).fit(X, y)
    assert clf.predict(X).tolist() == y
    assert clf.predict_proba(X).shape == (6, 3)
    assert clf.certificate_.proved


def test_probabilities_are_the_shares_of_the_leaf():
    X = np.array([[0.0], [0.1], [0.1], [0.1], [0.9]])
    clf = classifier().fit(X, ["a", "a", "a", "b", "b"])
    assert clf.predict_proba([[0.1], [0.95]]) == pytest.approx(np.array([[3 / 4, 1 / 4], [0.0, 1.0]]))
    assert clf.predict([[0.1], [0.95]]).tolist() == ["a", "b"]


def test_leaves_have_the_papers_ids(survey):
    X, y, _ = survey
    assert set(classifier().fit(X, y).apply(X)) <= {2, 3}


def test_a_price_above_all_errors_leaves_no_split(survey):
    X, y, _ = survey
    clf = classifier(complexity=2.0).fit(X, y)
    assert clf.certificate_.n_coefficients == 0
    assert clf.certificate_.objective == pytest.approx(1.0)
    assert len(set(clf.predict(X))) == 1


def test_the_score_counts_labeled_rows_only(survey):
    X, y, _ = survey
    assert classifier().fit(X, y).score(X, y) == 1.0


def test_it_clones_pickles_and_joins_pipelines_and_searches(survey):
    X, y, _ = survey
    clf = classifier().fit(X, y)
    assert pickle.loads(pickle.dumps(clf)).predict(X).tolist() == clf.predict(X).tolist()
    assert clone(clf).get_params() == clf.get_params()
    assert make_pipeline(StandardScaler(), classifier()).fit(X, y).score(X, y) == 1.0
    search = GridSearchCV(classifier(), {"min_leaf": [1, 2]}, cv=LabeledKFold(3), error_score="raise").fit(X, y)
    assert search.best_estimator_.certificate_.n_errors == 0
    assert search.predict(X[:6]).tolist() == y[:6]


def test_a_proved_fit_is_the_same_every_time(survey):
    X, y, _ = survey
    first, second = (classifier(depth=2).fit(X, y) for _ in range(2))
    assert first.certificate_.proved
    assert second.tree_.omega.tolist() == first.tree_.omega.tolist()


def test_columns_that_span_most_of_the_float_range_are_fitted():
    X = np.array([[-1e308], [-0.9e308], [0.9e308], [1e308]])
    clf = classifier().fit(X, ["a", "a", "b", "b"])
    assert clf.predict(X).tolist() == ["a", "a", "b", "b"]
