import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.metrics import matthews_corrcoef
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from s2oct import Estimate, LabeledKFold, S2OCTClassifier, by_known_shares
from s2oct.datasets import make_labour_force
from s2oct.errors import InvalidProblem, MisfitTotalsWarning, S2OCTWarning, UnlabeledScoreWarning
from tests.messages import names, naming


@given(st.lists(st.sampled_from(["a", "b", None]), min_size=0, max_size=20), st.sampled_from([None, 0, 7]))
def test_labeled_rows_are_tested_once_and_unlabeled_ones_always_trained_on(rest, random_state):
    y = ["a", "a", "b", "b", None, *rest]
    labeled = {i for i, label in enumerate(y) if label is not None}
    tested = []
    for train, test in LabeledKFold(2, random_state=random_state).split(np.zeros((len(y), 1)), y):
        assert set(test) <= labeled
        assert set(train) == set(range(len(y))) - set(test)
        assert train.tolist() == sorted(train)
        tested += test.tolist()
    assert sorted(tested) == sorted(labeled)


def test_both_classes_are_in_every_fold():
    y = ["a"] * 6 + ["b"] * 3 + [None] * 5
    for train, test in LabeledKFold(3).split(None, y):
        assert sorted(y[i] for i in test) == ["a", "a", "b"]
        assert sum(y[i] is None for i in train) == 5


def test_a_random_state_shuffles_reproducibly():
    y = ["a", "b"] * 10 + [None]
    folds = [[test.tolist() for _, test in LabeledKFold(2, state).split(None, y)] for state in (1, 1, 2, None)]
    assert folds[0] == folds[1]
    assert folds[0] != folds[2]
    assert folds[3] == [list(range(10)), list(range(10, 20))]


def test_the_number_of_folds_is_known():
    assert LabeledKFold(4).get_n_splits() == 4


def test_more_folds_than_labeled_rows_are_refused():
    with pytest.raises(ValueError, match="n_splits=3"):
        list(LabeledKFold(3).split(None, ["a", "b", None, None]))


def people(n_people=240, n_labeled=60, seed=3):
    survey = make_labour_force(n_people=n_people, n_labeled=n_labeled, seed=seed)
    return survey.X, survey.y, survey.totals


class Fixed(ClassifierMixin, BaseEstimator):
    """Predicts what the only feature says."""

    def fit(self, X, y):
        self.classes_ = np.array(["no", "yes"])
        return self

    def predict(self, X):
        return np.where(np.asarray(X)[:, 0] > 0, "yes", "no").astype(object)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=20), st.integers(1, 99))
def test_a_score_by_known_shares_is_the_mean_of_the_class_scores_in_these_shares(rows, percent):
    """Oracle: the accuracy within each class, added up in the known shares."""
    rows = [(True, True), (False, False), *rows]
    y, X = np.array(["yes" if own else "no" for own, _ in rows], dtype=object), [[float(said)] for _, said in rows]
    within = {label: np.mean([(y[i] == "yes") == rows[i][1] for i in np.flatnonzero(y == label)]) for label in y}
    expected = (percent * within["yes"] + (100 - percent) * within["no"]) / 100
    scorer = by_known_shares({"yes": percent, "no": 100 - percent})
    assert scorer(Fixed().fit(X, y), X, y) == pytest.approx(expected)
    assert by_known_shares({"yes": Estimate(percent, 3), "no": 100 - percent})(Fixed(), X, y) == pytest.approx(expected)


def test_any_metric_with_weights_can_be_scored_by_known_shares():
    y, X = np.array(["no", "no", "no", "yes"], dtype=object), [[0.0], [0.0], [1.0], [1.0]]
    found = by_known_shares({"no": 0.25, "yes": 0.75}, matthews_corrcoef)(Fixed(), X, y)
    copies = ["no"] * 3 + ["yes"] * 9  # each of the three counts a twelfth, and the last one nine twelfths
    assert found == pytest.approx(matthews_corrcoef(copies, ["no", "no", "yes", *["yes"] * 9]))


def test_sample_weights_count_within_classes():
    y, X = np.array(["no", "no", "yes"], dtype=object), [[0.0], [1.0], [1.0]]
    assert by_known_shares({"no": 1, "yes": 1})(Fixed(), X, y, sample_weight=[3, 1, 5]) == pytest.approx(0.875)


def test_a_search_by_known_shares_does_not_prefer_the_class_that_answers_more_often():
    """In 90 % of the labels the class is yes, in 30 % of all rows; always saying yes must not win."""
    y = np.array(["yes"] * 18 + ["no"] * 2, dtype=object)
    X = np.zeros((20, 1))
    grid = {"constant": ["yes", "no"]}
    dummy = DummyClassifier(strategy="constant", constant="yes")
    plain = GridSearchCV(dummy, grid, cv=LabeledKFold(2)).fit(X, y)
    known = GridSearchCV(dummy, grid, cv=LabeledKFold(2), scoring=by_known_shares({"yes": 30, "no": 70})).fit(X, y)
    assert plain.best_params_ == {"constant": "yes"}
    assert known.best_params_ == {"constant": "no"}
    assert known.best_score_ == pytest.approx(0.7)


def test_trees_are_scored_by_known_shares_in_cross_validation_without_warnings():
    X, y, totals = people()
    clf = S2OCTClassifier(depth=1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnlabeledScoreWarning)
        warnings.simplefilter("error", MisfitTotalsWarning)
        scores = cross_val_score(
            clf,
            X,
            y,
            cv=LabeledKFold(2, random_state=0),
            scoring=by_known_shares(totals),
            params={"totals": totals},
            error_score="raise",
        )
    assert scores.shape == (2,)


@pytest.mark.filterwarnings("ignore::s2oct.S2OCTWarning")
def test_other_splitters_get_warnings_about_unlabeled_rows_and_totals_that_no_longer_fit():
    X, y, totals = people()
    clf = S2OCTClassifier(depth=1, random_state=0)
    folds = KFold(2, shuffle=True, random_state=0)
    with pytest.warns(S2OCTWarning) as caught:
        cross_val_score(
            clf, X, y, cv=folds, scoring=by_known_shares(totals), params={"totals": {"yes": 80}}, error_score="raise"
        )
    found = {warning.category for warning in caught}
    assert {UnlabeledScoreWarning, MisfitTotalsWarning} <= found
    message = next(str(w.message) for w in caught if w.category is MisfitTotalsWarning)
    assert names(message, "LabeledKFold", "total")


@pytest.mark.filterwarnings("ignore::s2oct.S2OCTWarning")
def test_a_fit_with_estimated_totals_is_told_to_take_the_known_ones():
    X, y, _ = people()
    clf = S2OCTClassifier(depth=1, random_state=0).fit(X, y, totals="estimate")
    is_labeled = np.array([label is not None for label in y])
    with pytest.warns(MisfitTotalsWarning, match=naming("total")) as caught:
        by_known_shares({"yes": 0.001, "no": 0.999})(clf, X[is_labeled], np.asarray(y, dtype=object)[is_labeled])
    assert not any("LabeledKFold" in str(warning.message) for warning in caught)


def test_known_shares_may_be_a_pandas_series():
    pd = pytest.importorskip("pandas")
    scorers = [by_known_shares(totals({"yes": 30, "no": 10})) for totals in (dict, pd.Series)]
    assert scorers[0].args == scorers[1].args


def test_a_class_without_a_row_to_be_scored_is_named():
    with pytest.warns(MisfitTotalsWarning, match=naming("'no'", "class")):
        assert by_known_shares({"no": 1, "yes": 1})(Fixed(), [[1.0]], np.array(["yes"], dtype=object)) == 1.0


@pytest.mark.parametrize(
    ("totals", "named"),
    [
        ({}, ("mapping",)),
        ("estimate", ("mapping",)),
        ({"a": "many"}, (0, "'a'", "'many'")),
        ({"a": -1}, (0,)),
        ({"a": 0, "b": 0}, ("zero",)),
    ],
)
def test_totals_that_are_no_shares_are_refused(totals, named):
    with pytest.raises(InvalidProblem, match=naming(*named)):
        by_known_shares(totals)


def test_a_class_without_a_total_is_refused():
    with pytest.raises(InvalidProblem, match=naming("'no'", "total")):
        by_known_shares({"yes": 3})(Fixed(), [[1.0], [0.0]], np.array(["yes", "no"], dtype=object))
