"""Guides of three and more classes, with totals by domain, intervals, several margins and weights."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from s2oct import PriorCorrectedClassifier, SelfTrainedForest, TopTotalClassifier
from s2oct.guides import ask_guide
from s2oct.problem.known import Known
from s2oct.problem.labels import Labels
from s2oct.problem.totals import Margin, Targets
from s2oct.workflow.comparison import assign_classes, usual_rivals

NAMES = np.array(["employed", "inactive", "unemployed"])


class Survey:
    """Three clouds; the labeled rows are few and biased; shares of the classes differ between three regions."""

    def __init__(self, seed=0, m=240, n=45):
        rng = np.random.default_rng(seed)
        self.region = rng.integers(0, 3, n + m)
        odds = np.array([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.1, 0.6, 0.3]])
        self.truth = np.array([rng.choice(3, p=odds[r]) for r in self.region])
        self.truth[:n] = np.repeat([0, 1, 2], n // 3)
        self.X = rng.normal(size=(n + m, 4))
        self.X[:, :2] += 1.3 * np.array([[0, 0], [2, 0], [0, 2]])[self.truth]
        self.unlabeled = np.arange(n + m) >= n
        self.y = np.where(self.unlabeled, None, NAMES[self.truth])
        self.codes = np.where(self.unlabeled, -1, self.truth)
        self.weights = rng.uniform(0.5, 2.0, n + m)

    def counts(self, classes, sizes=None):
        """Unlabeled rows of each class in each region."""
        counts = np.zeros((3, 3))
        np.add.at(counts, (self.region[self.unlabeled], classes), 1.0 if sizes is None else sizes)
        return counts

    def known(self, weighted=False):
        sizes = self.weights[self.unlabeled] if weighted else None
        return self.counts(self.truth[self.unlabeled], sizes)

    def assigned(self, guide):
        return np.searchsorted(NAMES, guide.transduction_[self.unlabeled])

    def accuracy(self, guide):
        return float((self.assigned(guide) == self.truth[self.unlabeled]).mean())

    def targets(self, low, high=None):
        high = low if high is None else high
        regions = np.arange(3).astype(object)
        codes = self.region[self.unlabeled]
        return Targets((Margin("", regions, codes, low, high, low.copy(), np.zeros_like(low)),))


@pytest.fixture(scope="module")
def survey():
    return Survey()


def forest(**parameters):
    return SelfTrainedForest(n_estimators=30, random_state=0, **parameters)


GUIDES = {
    "forest": forest(),
    "probabilities": TopTotalClassifier(LogisticRegression(), random_state=0),
    "ties": TopTotalClassifier(KNeighborsClassifier(3), random_state=0),
    "decision function": TopTotalClassifier(LinearSVC(random_state=0), random_state=0),
    "weighted classes": TopTotalClassifier(PriorCorrectedClassifier(LogisticRegression()), random_state=0),
}


@pytest.mark.parametrize("name", GUIDES)
def test_totals_of_three_classes_are_met_exactly(survey, name):
    totals = dict(zip(NAMES.tolist(), survey.known().sum(axis=0).tolist(), strict=True))
    guide = clone(GUIDES[name]).fit(survey.X, survey.y, totals=totals)
    assert np.bincount(survey.assigned(guide)).tolist() == list(totals.values())
    assert (guide.transduction_[~survey.unlabeled] == survey.y[~survey.unlabeled]).all()
    assert guide.probabilities_.shape == (240, 3)
    assert np.allclose(guide.probabilities_.sum(axis=1), 1)
    assert (guide.probabilities_.argmax(axis=1) == survey.assigned(guide)).all()
    assert survey.accuracy(guide) > 0.6


@pytest.mark.parametrize("name", GUIDES)
def test_totals_by_region_are_met_in_every_region_and_help(survey, name):
    table = pd.DataFrame(survey.known(), index=[0, 1, 2], columns=NAMES)
    guide = clone(GUIDES[name]).fit(survey.X, survey.y, totals=table, domains=survey.region)
    assert (survey.counts(survey.assigned(guide)) == survey.known()).all()
    assert (guide.probabilities_.argmax(axis=1) == survey.assigned(guide)).all()
    plain = clone(GUIDES[name]).fit(
        survey.X, survey.y, totals=dict(zip(NAMES, survey.known().sum(axis=0), strict=True))
    )
    assert survey.accuracy(guide) > survey.accuracy(plain)


def test_new_rows_are_classified_by_the_totals_of_all_regions_together(survey):
    table = pd.DataFrame(survey.known(), index=[0, 1, 2], columns=NAMES)
    guide = TopTotalClassifier(LogisticRegression()).fit(survey.X, survey.y, totals=table, domains=survey.region)
    predicted = np.searchsorted(NAMES, guide.predict(survey.X[survey.unlabeled]))
    assert np.bincount(predicted).tolist() == survey.known().sum(axis=0).tolist()
    scores = guide.decision_function(survey.X)
    assert scores.shape == (285, 3)
    assert (scores.argmax(axis=1) == guide.predict_proba(survey.X).argmax(axis=1)).all()
    assert guide.multipliers_.shape == (3,)
    assert not hasattr(guide, "threshold_")


def test_new_rows_of_a_forest_get_about_the_totals_over_all_regions(survey):
    table = pd.DataFrame(survey.known(), index=[0, 1, 2], columns=NAMES)
    guide = forest().fit(survey.X, survey.y, totals=table, domains=survey.region)
    predicted = np.searchsorted(NAMES, guide.predict(survey.X[survey.unlabeled] + 1e-6))
    assert np.abs(np.bincount(predicted) - survey.known().sum(axis=0)).max() <= 12


def test_two_classes_by_region_have_a_threshold_for_new_rows(survey):
    y = np.where(survey.unlabeled, None, np.where(survey.truth == 0, "yes", "no"))
    counts = survey.known()
    table = pd.DataFrame({"yes": counts[:, 0], "no": counts[:, 1:].sum(axis=1)}, index=[0, 1, 2])
    for guide in (forest(), TopTotalClassifier(LogisticRegression(), random_state=0)):
        guide.fit(survey.X, y, totals=table, domains=survey.region)
        found = guide.transduction_[survey.unlabeled] == "yes"
        by_region = np.bincount(survey.region[survey.unlabeled], weights=found)
        assert by_region.tolist() == counts[:, 0].tolist()
        assert ((guide.probabilities_[:, 1] > 0.5) == found).all()
    above = guide.decision_function(survey.X[survey.unlabeled]) > 0
    assert above.sum() == counts[:, 0].sum()
    assert guide.threshold_ == pytest.approx(guide.multipliers_[0] - guide.multipliers_[1])


def test_intervals_are_kept_and_change_nothing_where_they_hold_anyway(survey):
    labels = Labels(NAMES, survey.codes)
    free = survey.targets(np.zeros((3, 3)), np.full((3, 3), 240.0))
    unbound = TopTotalClassifier(LogisticRegression())._fit_known(survey.X, Known.of_rows(labels, free))
    plain = LogisticRegression().fit(survey.X[:45], survey.truth[:45]).predict(survey.X[45:])
    assert (survey.assigned(unbound) == plain).all()
    low, high = np.maximum(survey.known() - 3, 0), survey.known() + 3
    known = Known.of_rows(labels, survey.targets(low, high))
    bound = TopTotalClassifier(LogisticRegression())._fit_known(survey.X, known)
    counts = survey.counts(survey.assigned(bound))
    assert (counts >= low).all()
    assert (counts <= high).all()


@pytest.mark.parametrize("name", ["forest", "probabilities"])
def test_two_margins_are_met_at_once(survey, name):
    group = np.arange(285) % 2
    truth = NAMES[survey.truth[survey.unlabeled]]
    tables = [pd.crosstab(by[survey.unlabeled], truth) for by in (survey.region, group)]
    guide = clone(GUIDES[name]).fit(survey.X, survey.y, totals=tables, domains=[survey.region, group])
    assert (survey.counts(survey.assigned(guide)) == survey.known()).all()
    found = pd.crosstab(group[survey.unlabeled], guide.transduction_[survey.unlabeled])
    assert (found.to_numpy() == tables[1].to_numpy()).all()
    assert (guide.probabilities_.argmax(axis=1) == survey.assigned(guide)).all()


@pytest.mark.parametrize("name", ["forest", "probabilities", "weighted classes"])
def test_weighted_totals_by_region_are_met_to_half_the_largest_weight(survey, name):
    table = pd.DataFrame(survey.known(weighted=True), index=[0, 1, 2], columns=NAMES)
    guide = clone(GUIDES[name]).fit(
        survey.X, survey.y, totals=table, domains=survey.region, sample_weight=survey.weights
    )
    counts = survey.counts(survey.assigned(guide), survey.weights[survey.unlabeled])
    assert np.abs(counts - table.to_numpy()).max() <= 1.0


def test_equal_weights_change_no_forest(survey):
    totals = survey.known().sum(axis=0)
    plain, weighted = (
        forest().fit(survey.X, survey.y, totals=dict(zip(NAMES, k * totals, strict=True)), sample_weight=weights)
        for k, weights in ((1, None), (2, np.full(285, 2.0)))
    )
    assert (plain.probabilities_ == weighted.probabilities_).all()


def test_heavy_labeled_rows_draw_the_forest_to_their_class():
    """Equal rows with both labels: the weights alone decide."""
    X = np.ones((40, 2))
    y = np.array(["a", "b"] * 20, dtype=object)
    heavy = forest().fit(X, y, sample_weight=np.where(y == "b", 9.0, 1.0))
    assert heavy.predict_proba(X[:1])[0, 1] == pytest.approx(0.9, abs=0.05)


def test_weights_multiply_the_weights_of_the_classes(survey):
    labels = Labels(NAMES, survey.codes)
    counts = survey.known().sum(axis=0)
    weights = survey.weights
    clf = PriorCorrectedClassifier(LogisticRegression())._fit_known(
        survey.X, Known.of_rows(labels, Targets.exact(counts, 240), weights)
    )
    shares = np.bincount(survey.truth[:45], weights=weights[:45]) / weights[:45].sum()
    np.testing.assert_allclose(clf.class_weights_, counts / 240 / shares)
    own = clf.class_weights_[survey.truth[:45]] * weights[:45]
    by_hand = LogisticRegression().fit(survey.X[:45], NAMES[survey.truth[:45]], sample_weight=own)
    np.testing.assert_allclose(clf.predict_proba(survey.X), by_hand.predict_proba(survey.X))


# Classes without labeled rows


OUTLIERS = {
    "forest": forest(),
    "probabilities": TopTotalClassifier(LogisticRegression(), random_state=0),
    "decision function": TopTotalClassifier(LinearSVC(random_state=0), random_state=0),
    "weighted classes": TopTotalClassifier(PriorCorrectedClassifier(LogisticRegression()), random_state=0),
}


@pytest.mark.parametrize("name", OUTLIERS)
def test_a_class_without_labels_gets_rows_that_resemble_no_labeled_class(name):
    """The third cloud lies between the two labeled ones, where no labeled class is sure."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 60)
    X = rng.normal(size=(180, 2)) + np.array([[-5.0, 0.0], [5.0, 0.0], [0.0, 0.0]])[truth]
    codes = np.where((np.arange(180) % 6 == 0) & (truth < 2), truth, -1)
    totals = np.bincount(truth[codes == -1])
    labels = Labels(np.array(["left", "right", "third"]), codes)
    found = ask_guide(OUTLIERS[name], X, Known.of_rows(labels, Targets.exact(totals, int(totals.sum())))).probabilities
    assert np.bincount(found.argmax(axis=1)).tolist() == totals.tolist()
    assert (found.argmax(axis=1) == truth[codes == -1]).mean() > 0.8


@pytest.mark.parametrize("name", OUTLIERS)
def test_one_labeled_class_of_three_is_told_from_the_others(name):
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 60)
    X = rng.normal(size=(180, 2)) + np.array([[-5.0, 0.0], [5.0, 0.0], [5.0, 0.0]])[truth]
    codes = np.where((np.arange(180) % 6 == 0) & (truth == 0), 0, -1)
    totals = np.bincount(truth[codes == -1])
    labels = Labels(np.array(["left", "right", "third"]), codes)
    found = ask_guide(OUTLIERS[name], X, Known.of_rows(labels, Targets.exact(totals, int(totals.sum())))).probabilities
    assert np.bincount(found.argmax(axis=1)).tolist() == totals.tolist()
    assert ((found.argmax(axis=1) == 0) == (truth[codes == -1] == 0)).mean() > 0.85


# Rivals


def test_rivals_meet_the_totals_of_every_region(survey):
    assigned = assign_classes(
        usual_rivals(), survey.X, Known.of_rows(Labels(np.arange(3), survey.codes), survey.targets(survey.known()))
    )
    for classes in assigned.values():
        assert (survey.counts(classes) == survey.known()).all()


def test_scikit_learn_is_told_that_there_may_be_several_classes():
    for guide in GUIDES.values():
        assert guide.__sklearn_tags__().classifier_tags.multi_class


class Columns(LogisticRegression):
    """Predicts a table of one column for three classes, as some libraries do."""

    def predict(self, X):
        return super().predict(X)[:, None]


def test_predictions_in_a_column_are_taken_as_a_vector(survey):
    totals = dict(zip(NAMES, np.bincount(survey.truth[survey.unlabeled]).tolist(), strict=True))
    clf = PriorCorrectedClassifier(Columns()).fit(survey.X, survey.y, totals=totals)
    plain = PriorCorrectedClassifier(LogisticRegression()).fit(survey.X, survey.y, totals=totals)
    assert clf.predict(survey.X).shape == (len(survey.X),)
    assert clf.transduction_.tolist() == plain.transduction_.tolist()
