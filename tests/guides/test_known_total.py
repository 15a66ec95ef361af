"""Any classifier that is given the totals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from s2oct import PriorCorrectedClassifier, TopTotalClassifier
from s2oct.errors import InvalidProblem, S2OCTWarning
from tests.messages import naming


def weighted_top(estimator, random_state=None):
    """Both wrappers at once."""
    return TopTotalClassifier(PriorCorrectedClassifier(estimator), random_state=random_state)


WRAPPERS = [TopTotalClassifier, PriorCorrectedClassifier, weighted_top]
EXEMPT = {"check_classifiers_classes": "y in {-1, +1} without another marker is refused by contract"}


@pytest.fixture
def biased():
    """Two overlapping clouds; the sample has mostly the second class, the rest mostly the first."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 0, 1], [6, 24, 120, 40])
    X = rng.normal(size=(190, 3)) + 1.2 * truth[:, None]
    y = np.array(["no", "yes"], dtype=object)[truth]
    y[30:] = None
    return X, y, np.array(["no", "yes"])[truth]


@pytest.mark.filterwarnings("ignore::s2oct.errors.S2OCTWarning")
@parametrize_with_checks(
    [wrapper(LogisticRegression()) for wrapper in WRAPPERS],
    expected_failed_checks=lambda estimator: EXEMPT,
)
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


@pytest.mark.parametrize("total", [0, 1, 40, 100, 160])
@pytest.mark.parametrize("estimator", [LogisticRegression(), LinearSVC(), RandomForestClassifier(20, random_state=0)])
def test_the_top_rows_meet_the_total_exactly(biased, estimator, total):
    """Ties included: forests have many."""
    X, y, _ = biased
    clf = TopTotalClassifier(estimator).fit(X, y, totals={"yes": total})
    assert (clf.transduction_[30:] == "yes").sum() == total
    assert (clf.transduction_[:30] == y[:30]).all()


def test_without_ties_the_threshold_predicts_what_the_ranking_says(biased):
    X, y, _ = biased
    clf = TopTotalClassifier(LogisticRegression()).fit(X, y, totals={"yes": 40})
    assert (clf.predict(X[30:]) == clf.transduction_[30:]).all()
    scores = LogisticRegression().fit(X[:30], y[:30].astype(str)).decision_function(X[30:])
    assert (clf.predict(X[30:]) == "yes").tolist() == (scores >= np.sort(scores)[-40]).tolist()
    np.testing.assert_array_equal(clf.predict_proba(X).argmax(axis=1) == 1, clf.decision_function(X) > 0)


def test_a_known_total_corrects_the_bias_of_the_sample(biased):
    """With the total, both predict nearer to the true share than the classifier alone."""
    X, y, truth = biased
    plain = LogisticRegression().fit(X[:30], y[:30].astype(str)).predict(X[30:])
    off = abs((plain == "yes").sum() - 40)
    for wrapper in WRAPPERS:
        clf = wrapper(LogisticRegression()).fit(X, y, totals={"yes": 40})
        assert abs((clf.transduction_[30:] == "yes").sum() - 40) < off
        assert (clf.transduction_ == truth)[30:].mean() > (plain == truth[30:]).mean()


def test_weights_give_the_classes_their_known_shares(biased):
    """24 of 30 labeled rows are of a class that has a quarter of the unlabeled ones."""
    X, y, _ = biased
    clf = PriorCorrectedClassifier(LogisticRegression()).fit(X, y, totals={"yes": 40})
    np.testing.assert_allclose(clf.class_weights_, [(120 / 160) / (6 / 30), (40 / 160) / (24 / 30)])
    weighted = LogisticRegression().fit(
        X[:30], y[:30].astype(str), sample_weight=np.repeat(clf.class_weights_, [6, 24])
    )
    np.testing.assert_allclose(clf.predict_proba(X), weighted.predict_proba(X))


def test_both_wrappers_weight_the_rows_and_then_meet_the_total(biased):
    """Computed by hand; weights change the ranking of a regularised regression, so the order of rows differs."""
    X, y, _ = biased
    clf = weighted_top(LogisticRegression(C=0.1)).fit(X, y, totals={"yes": 40})
    weights = np.repeat([(120 / 160) / (6 / 30), (40 / 160) / (24 / 30)], [6, 24])
    scores = LogisticRegression(C=0.1).fit(X[:30], y[:30].astype(str), sample_weight=weights).decision_function(X[30:])
    assert (clf.transduction_[30:] == "yes").tolist() == (scores >= np.sort(scores)[-40]).tolist()
    assert (clf.predict(X[30:]) == clf.transduction_[30:]).all()
    plain = TopTotalClassifier(LogisticRegression(C=0.1)).fit(X, y, totals={"yes": 40})
    assert (clf.transduction_ != plain.transduction_).any()


@pytest.mark.parametrize("inner", [LogisticRegression(C=0.1), LinearSVC(C=0.01)])
def test_the_last_step_of_a_pipeline_gets_the_weights(biased, inner):
    """With a scaler that changes nothing, the pipeline scores as its last step does alone."""
    X, y, _ = biased
    X = StandardScaler().fit(X[:30]).transform(X)
    alone, piped = (
        weighted_top(estimator).fit(X, y, totals={"yes": 40})
        for estimator in (inner, make_pipeline(StandardScaler(), inner))
    )
    np.testing.assert_allclose(alone.decision_function(X), piped.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("total", [1, 40, 150])
def test_equal_scores_are_taken_in_a_seeded_random_order(biased, total):
    """A stump ties whole halves of the table; row order must not decide who gets the class."""
    X, y, _ = biased
    stump = DecisionTreeClassifier(max_depth=1, random_state=0)
    runs = [TopTotalClassifier(stump, random_state=seed).fit(X, y, totals={"yes": total}) for seed in (0, 0, 1)]
    same, again, other = (run.transduction_[30:] == "yes" for run in runs)
    assert (same == again).all()
    assert (same != other).any()
    assert same.sum() == other.sum() == total
    # The seed decides only among the rows of one leaf, and not about new rows.
    scores = runs[0].decision_function(X[30:])
    assert scores[same].min() >= scores[~same].max()
    assert (runs[0].predict(X) == runs[2].predict(X)).all()


def test_a_classifier_without_weights_has_its_probabilities_corrected(biased):
    """By Bayes' rule, the ratio of the odds is the ratio of the class weights."""
    X, y, _ = biased
    clf = PriorCorrectedClassifier(KNeighborsClassifier(7)).fit(X, y, totals={"yes": 40})
    before = KNeighborsClassifier(7).fit(X[:30], y[:30].astype(str)).predict_proba(X)
    expected = before * clf.class_weights_
    np.testing.assert_allclose(clf.predict_proba(X), expected / expected.sum(axis=1, keepdims=True))
    assert (clf.predict(X) == clf.classes_[clf.predict_proba(X).argmax(axis=1)]).all()


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_one_labeled_class_is_separated_from_the_unlabeled_rows(wrapper):
    """Rows that resemble the labeled ones come first."""
    rng = np.random.default_rng(1)
    X = np.vstack([rng.normal(size=(10, 2)) + 4, rng.normal(size=(30, 2)) + 4, rng.normal(size=(50, 2))])
    y = ["in"] * 10 + [None] * 80
    clf = wrapper(LogisticRegression()).fit(X, y, totals={"in": 30, "out": 50})
    truth = np.repeat(["in", "out"], [40, 50])
    assert (clf.transduction_ == truth).mean() > 0.85


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_population_totals_are_the_totals_plus_the_labeled_rows(biased, wrapper):
    X, y, _ = biased
    first = wrapper(LogisticRegression()).fit(X, y, totals={"yes": 40})
    second = wrapper(LogisticRegression()).fit(X, y, population_totals={"yes": 64})
    assert (first.transduction_ == second.transduction_).all()


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_tables_go_to_the_classifier_as_they_are(biased, wrapper):
    """Frames keep their names, sparse tables stay sparse, and gaps are the wrapped classifier's business."""
    X, y, _ = biased
    named = wrapper(LogisticRegression()).fit(pd.DataFrame(X, columns=list("abc")), y, totals={"yes": 40})
    assert named.feature_names_in_.tolist() == ["a", "b", "c"]
    packed = sparse.csr_array(X)
    predicted = wrapper(LogisticRegression()).fit(packed, y, totals={"yes": 40}).predict(packed)
    assert (predicted == named.predict(pd.DataFrame(X, columns=list("abc")))).all()
    holes = np.where(X > 2, np.nan, X)
    takes_gaps = wrapper(HistGradientBoostingClassifier(learning_rate=1.0, max_iter=9, min_samples_leaf=2)).fit(
        holes, y, totals={"yes": 40}
    )
    assert set(takes_gaps.predict(holes)) == {"no", "yes"}
    piped = wrapper(make_pipeline(StandardScaler(), GaussianNB())).fit(X, y, totals={"yes": 40})
    assert set(piped.predict(X)) == {"no", "yes"}


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_without_totals_the_labeled_shares_are_taken_with_a_warning(biased, wrapper):
    X, y, _ = biased
    with pytest.warns(S2OCTWarning, match=naming("total", "estimate")):
        wrapper(LogisticRegression()).fit(X, y)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (
            lambda X, y: TopTotalClassifier(LinearRegression()).fit(
                X, [None if label is None else int(label == "yes") for label in y], totals={1: 9}
            ),
            ("predict_proba", "decision_function", "LinearRegression"),
        ),
        (lambda X, y: TopTotalClassifier(LogisticRegression()).fit(X, y, totals={"yes": 900}), (0, 160)),
        (lambda X, y: TopTotalClassifier(LogisticRegression()).fit(X[:9], y, totals={"yes": 9}), (190, 9)),
        (
            lambda X, y: PriorCorrectedClassifier(LogisticRegression()).fit(X, y, totals={"Yes": 9}),
            ("'yes'",),
        ),
        (
            lambda X, y: PriorCorrectedClassifier(Perceptron()).fit(X, ["nan", "nan", *y[2:]], totals={"yes": 9}),
            ("'nan'", "marker"),
        ),
    ],
)
def test_bad_input_gets_its_sentence(biased, call, named):
    X, y, _ = biased
    with pytest.raises((InvalidProblem, ValueError), match=naming(*named)):
        call(X, y)
