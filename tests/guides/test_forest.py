"""The guide: what it says of the rows, and what it does to the tree."""

import time

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC

from s2oct import (
    OCTHClassifier,
    PriorCorrectedClassifier,
    S2OCTClassifier,
    S2OCTError,
    S2OCTWarning,
    SelfTrainedForest,
    TopTotalClassifier,
)
from s2oct.guides import guide_probabilities
from s2oct.model.guide import Guide
from s2oct.model.labels import read_labels

pytestmark = pytest.mark.usefixtures("compiled")


@pytest.fixture(scope="module")
def clusters():
    """Two clusters; the labeled rows are a biased few that alone leave the cut open."""
    rng = np.random.default_rng(3)
    X = np.vstack([rng.normal([0, 0], 1, (60, 2)), rng.normal([4, 0], 1, (40, 2))])
    truth = np.array(["a"] * 60 + ["b"] * 40)
    y = truth.astype(object)
    labeled = [*rng.choice(60, 8, replace=False).tolist(), 60, 61]
    y[[i for i in range(100) if i not in labeled]] = None
    unlabeled = np.array([label is None for label in y])
    return X, y, truth, unlabeled, {"b": int((truth[unlabeled] == "b").sum())}


def fit(data, **parameters):
    X, y, _, _, totals = data
    return S2OCTClassifier(random_state=0, time_limit=10.0, solver=None, **parameters).fit(X, y, totals=totals)


def agreement(clf, guide, data):
    X, _, _, unlabeled, _ = data
    return float((clf.predict(X[unlabeled]) == guide.predict(X[unlabeled])).mean())


# What the guide says


def test_self_trained_forests_meet_the_total_and_keep_the_given_labels(clusters):
    X, y, truth, unlabeled, totals = clusters
    forest = SelfTrainedForest(n_estimators=30, random_state=0).fit(X, y, totals=totals)
    assert (forest.transduction_[unlabeled] == "b").sum() == totals["b"]
    assert (forest.transduction_[~unlabeled] == y[~unlabeled]).all()
    assert (forest.transduction_ == truth).mean() > 0.9


def test_probabilities_are_at_a_half_where_the_total_is_met(clusters):
    X, y, _, unlabeled, totals = clusters
    forest = SelfTrainedForest(n_estimators=30, random_state=0).fit(X, y, totals=totals)
    assert forest.probabilities_.shape == (unlabeled.sum(), 2)
    assert np.allclose(forest.probabilities_.sum(axis=1), 1)
    above = (forest.probabilities_[:, 1] > 0.5).sum()
    ties = np.isclose(forest.probabilities_[:, 1], 0.5).sum()
    assert above <= totals["b"] <= above + ties


def test_new_rows_get_probabilities_that_agree_with_predict(clusters):
    X, y, _, _, totals = clusters
    forest = SelfTrainedForest(n_estimators=30, random_state=0).fit(X, y, totals=totals)
    new = np.array([[-1.0, 0.0], [5.0, 0.0]])
    assert forest.predict(new).tolist() == ["a", "b"]
    assert (forest.predict_proba(new).argmax(axis=1) == [0, 1]).all()


def test_the_same_seed_gives_the_same_forest(clusters):
    X, y, _, _, totals = clusters
    first, second = (SelfTrainedForest(n_estimators=20, random_state=5).fit(X, y, totals=totals) for _ in range(2))
    assert (first.probabilities_ == second.probabilities_).all()


@pytest.mark.parametrize("total", [0, 1, 89, 90])
def test_any_total_can_be_met(clusters, total):
    X, y, _, unlabeled, _ = clusters
    forest = SelfTrainedForest(n_estimators=10, random_state=0).fit(X, y, totals={"b": total})
    assert (forest.transduction_[unlabeled] == "b").sum() == total
    assert np.isfinite(forest.probabilities_).all()


def test_one_labeled_class_is_separated_from_the_unlabeled_rows(clusters):
    X, y, truth, _, _ = clusters
    only_a = np.where(y == "b", None, y)
    totals = {"a": 52, "b": 40}
    forest = SelfTrainedForest(n_estimators=60, random_state=0).fit(X, only_a, totals=totals)
    assert (forest.transduction_ == truth).mean() > 0.8


def test_no_further_forest_is_begun_after_its_seconds(clusters):
    X, y, _, _, totals = clusters
    hasty = SelfTrainedForest(n_estimators=10, max_seconds=1e-9, random_state=0).fit(X, y, totals=totals)
    assert len(hasty.members_) == 1


def test_features_of_any_size_are_read():
    X = np.array([[1e300], [2e300], [8e300], [9e300], [1.5e300], [7e300]])
    y = ["a", "a", "b", "b", None, None]
    forest = SelfTrainedForest(n_estimators=10, random_state=0).fit(X, y, totals={"b": 1})
    assert forest.transduction_.tolist()[-2:] == ["a", "b"]


@pytest.mark.parametrize(
    "parameters", [{"n_estimators": 0}, {"n_rounds": -1}, {"n_rounds": 1.5}, {"max_seconds": 0}], ids=str
)
def test_parameters_out_of_range_are_refused(clusters, parameters):
    X, y, _, _, totals = clusters
    with pytest.raises(S2OCTError, match="Expected"):
        SelfTrainedForest(**parameters).fit(X, y, totals=totals)


def test_charges_are_nothing_for_the_likelier_class_and_the_lead_for_the_other():
    guide = Guide.from_probabilities(np.array([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]]), 2.0)
    assert np.allclose(guide.charges, [[0, 0.8], [0, 0], [0.6, 0]])
    assert guide.price == 2.0


def test_probabilities_that_are_no_numbers_are_refused():
    with pytest.raises(S2OCTError, match="finite probabilities"):
        Guide.from_probabilities(np.array([[np.nan, 1.0]]), 1.0)


@pytest.mark.parametrize(
    "guide",
    [
        LogisticRegression(),
        TopTotalClassifier(LogisticRegression()),
        PriorCorrectedClassifier(LogisticRegression()),
        TopTotalClassifier(PriorCorrectedClassifier(LogisticRegression())),
    ],
    ids=["plain", "top-total", "reweighted", "both"],
)
def test_any_classifier_with_probabilities_is_given_the_totals(clusters, guide):
    X, y, _, unlabeled, totals = clusters
    labels = read_labels(y)
    counts = np.array([unlabeled.sum() - totals["b"], totals["b"]])
    found = guide_probabilities(guide, X, labels, counts)
    wrapped = guide if not isinstance(guide, LogisticRegression) else TopTotalClassifier(guide)
    assert np.allclose(found, wrapped.fit(X, y, totals=totals).predict_proba(X[unlabeled]))


# What it does to the tree


def test_a_guided_fit_that_the_clock_does_not_end_is_the_same_every_time(clusters):
    X, y, _, _, totals = clusters
    clf = S2OCTClassifier(random_state=4, time_limit=120.0, solver=None, guide=LogisticRegression())
    first, second = (clone(clf).fit(X, y, totals=totals) for _ in range(2))
    assert second.tree_.omega.tolist() == first.tree_.omega.tolist()
    assert second.tree_.gamma.tolist() == first.tree_.gamma.tolist()


def test_the_default_tree_follows_its_guide_and_meets_the_total(clusters):
    X, y, truth, unlabeled, totals = clusters
    clf = fit(clusters)
    forest = SelfTrainedForest(random_state=0).fit(X, y, totals=totals)
    assert (clf.predict(X[unlabeled]) == forest.transduction_[unlabeled]).mean() > 0.95
    assert clf.certificate_.feasible
    assert (clf.transduction_ == truth)[unlabeled].mean() > 0.9


def only_feature(j):
    keep = np.arange(2) == j
    return make_pipeline(FunctionTransformer(lambda X: X * keep), LogisticRegression())


def test_guides_that_disagree_lead_to_different_trees(clusters):
    X, y, _, _, totals = clusters
    trees = [fit(clusters, guide=only_feature(j)) for j in (0, 1)]
    guides = [TopTotalClassifier(only_feature(j)).fit(X, y, totals=totals) for j in (0, 1)]
    found = np.array([[agreement(tree, guide, clusters) for guide in guides] for tree in trees])
    assert found[0, 0] > found[0, 1]
    assert found[1, 1] > found[1, 0]
    assert all(tree.certificate_.feasible for tree in trees)


def test_weight_0_breaks_ties_only(clusters):
    plain, tied = fit(clusters, guide=None), fit(clusters, guide=LogisticRegression(), guide_weight=0)
    assert plain.certificate_.proved
    assert tied.certificate_.proved
    assert tied.certificate_.objective <= plain.certificate_.objective + 1e-6
    assert tied.certificate_.guide_weight == 0
    assert tied.certificate_.guided_lower_bound is None
    wrapped = TopTotalClassifier(LogisticRegression()).fit(clusters[0], clusters[1], totals=clusters[4])
    assert agreement(tied, wrapped, clusters) >= agreement(plain, wrapped, clusters)


def test_a_weight_left_to_the_fit_is_the_price_of_labels_that_the_guide_gets_wrong(clusters):
    """Clean labels cost nothing along the guide's cut; labels on the wrong side cost as far as they are from it."""
    X, y, _, unlabeled, totals = clusters
    clean = S2OCTClassifier(guide=LogisticRegression(), random_state=0, solver=None, time_limit=5)
    clean.fit(X, y, totals=totals)
    paper_s = (
        S2OCTClassifier(guide=None, solver=None, random_state=0).fit(X, y, totals=totals).certificate_.weight_bound
    )
    assert clean.certificate_.guide_weight == clean.certificate_.weight_bound / paper_s
    flipped = y.copy()
    far_left = np.flatnonzero(~unlabeled)[np.argsort(X[~unlabeled, 0])[:2]]
    flipped[far_left] = "b"
    noisy = clone(clean).fit(X, flipped, totals=totals)
    assert noisy.certificate_.guide_weight > 2 * noisy.certificate_.weight_bound / paper_s


class Watched(LogisticRegression):
    """Records whether it was ever fitted."""

    was_fitted = False

    def fit(self, X, y, sample_weight=None):
        type(self).was_fitted = True
        return super().fit(X, y, sample_weight)


@pytest.mark.filterwarnings("ignore:The tree misses the total")
def test_weight_0_does_not_ask_the_guide_while_p2_is_open():
    """Labels by chance along a line cost something whatever the tree; nothing proves how much."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 1))
    y = np.array([*rng.choice(["a", "b"], 60), *[None] * 240], dtype=object)
    clf = S2OCTClassifier(guide=Watched(), guide_weight=0, solver=None, time_limit=1.0, random_state=0)
    clf.fit(X, y, totals={"a": 100})
    assert not clf.certificate_.proved
    assert clf.certificate_.guide_cost is None
    assert not Watched.was_fitted


def test_without_a_guide_the_certificate_says_nothing_of_one(clusters):
    certificate = fit(clusters, guide=None).certificate_
    assert certificate.guide_cost is None
    assert certificate.guide_weight is None
    assert certificate.guided_objective is None
    assert "guide" not in str(certificate)


def test_the_guided_objective_is_recomputed_from_the_tree(clusters):
    X, y, _, unlabeled, totals = clusters
    clf = fit(clusters, guide=LogisticRegression(), guide_weight=0.7)
    wrapped = TopTotalClassifier(LogisticRegression()).fit(X, y, totals=totals)
    p = wrapped.predict_proba(X[unlabeled])
    charged = np.where(clf.predict(X[unlabeled]) == "a", p[:, 1] - p[:, 0], p[:, 0] - p[:, 1])
    certificate = clf.certificate_
    assert certificate.guide_cost == pytest.approx(np.maximum(charged, 0).sum() + certificate.xi, abs=1e-9)
    assert certificate.guided_objective == pytest.approx(certificate.objective + 0.7 * certificate.guide_cost)
    assert certificate.guided_lower_bound <= certificate.guided_objective + 1e-6
    n_against = int((charged > 0).sum())
    assert certificate.n_against_guide == n_against
    assert f"differs from the guide on {n_against} of 90 unlabeled rows" in str(certificate)


def test_more_weight_never_charges_more(clusters):
    light, heavy = (fit(clusters, guide=LogisticRegression(), guide_weight=w).certificate_ for w in (0.01, 100.0))
    assert heavy.guide_cost <= light.guide_cost + 1e-9
    assert light.objective <= heavy.objective + 1e-6


def test_a_guide_without_an_opinion_leaves_the_least_cost(clusters):
    plain, free = fit(clusters, guide=None), fit(clusters, guide=DummyClassifier(strategy="uniform", random_state=0))
    assert free.certificate_.objective <= plain.certificate_.objective + 1e-6


@pytest.mark.parametrize(
    ("guide", "says"),
    [
        ("forest", "classifier, 'auto' or None"),
        (LinearSVC(), "predict_proba"),
        (LogisticRegression, "predict_proba"),
        (3, "predict_proba"),
    ],
    ids=["a name", "no probabilities", "a class", "a number"],
)
def test_what_is_no_guide_is_refused(clusters, guide, says):
    with pytest.raises(S2OCTError, match=says):
        fit(clusters, guide=guide)


def test_one_labeled_class_is_fitted_with_a_guide(clusters):
    X, y, _, _, _ = clusters
    only_a = np.where(y == "b", None, y)
    with pytest.warns(S2OCTWarning, match="No labeled row has class 'b'.* rests on the total and the guide"):
        clf = S2OCTClassifier(random_state=0, time_limit=5.0, solver=None).fit(X, only_a, totals={"a": 52, "b": 40})
    assert (clf.transduction_[[label is None for label in only_a]] == "b").sum() == pytest.approx(40, abs=3)


class Slow(LogisticRegression):
    """Takes seconds to fit, and looks at no clock."""

    def fit(self, X, y, sample_weight=None):
        time.sleep(3.0)
        return super().fit(X, y, sample_weight)


@pytest.mark.filterwarnings("ignore:The tree misses the total")
def test_ctrl_c_while_the_guide_is_asked_still_gives_a_tree(clusters, ctrl_c):
    began = time.monotonic()
    with ctrl_c(0.4), pytest.warns(S2OCTWarning, match="interrupted after"):
        clf = fit(clusters, guide=Slow())
    assert time.monotonic() - began < 0.4 + 0.5
    assert clf.certificate_.feasible
    assert clf.certificate_.ended == "interrupted"
    assert len(clf.predict(clusters[0])) == 100


def test_a_guide_that_does_not_answer_in_time_is_left_behind_with_a_warning(clusters):
    X, y, _, _, totals = clusters
    began = time.monotonic()
    with pytest.warns(S2OCTWarning, match=r"The guide gave no answer within \S+ s of a time limit of 1 s"):
        clf = S2OCTClassifier(guide=Slow(), solver=None, time_limit=1.0, random_state=0).fit(X, y, totals=totals)
    assert time.monotonic() - began < 1.0 + 0.5
    assert clf.certificate_.guide_weight is None
    assert clf.certificate_.xi == 0, "what is left of the time is enough for the paper's model"


def test_an_error_of_the_guide_reaches_the_user(clusters):
    class Broken(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            raise RuntimeError("the guide's own words")

    with pytest.raises(RuntimeError, match="the guide's own words"):
        fit(clusters, guide=Broken())


def test_the_guide_runs_under_the_users_settings_of_scikit_learn_and_joblib(clusters):
    """Both libraries keep them per thread, and the guide has a thread of its own."""
    seen = {}

    class Curious(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            seen["assume_finite"] = sklearn.get_config()["assume_finite"]
            seen["backend"] = joblib.parallel.get_active_backend()[0]
            return super().fit(X, y, sample_weight)

    with sklearn.config_context(assume_finite=True), joblib.parallel_config("threading"):
        fit(clusters, guide=Curious())
    assert seen["assume_finite"] is True
    assert type(seen["backend"]).__name__ == "ThreadingBackend"


@pytest.mark.filterwarnings("ignore:The tree misses the total")
def test_rows_too_dense_for_the_papers_bound_are_given_room():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    truth = np.where(X[:, 0] + 0.5 * X[:, 1] > 0.3, "b", "a")
    y = truth.astype(object)
    y[100:] = None
    totals = {"b": int((truth[100:] == "b").sum())}
    paper = S2OCTClassifier(guide=None, time_limit=0.5, solver=None, random_state=0, depth=2).fit(X, y, totals=totals)
    clf = S2OCTClassifier(guide=LogisticRegression(), time_limit=10.0, solver=None, random_state=0, depth=2)
    clf.fit(X, y, totals=totals)
    assert clf.certificate_.weight_bound > paper.certificate_.weight_bound
    assert clf.certificate_.feasible
    assert (clf.transduction_ == truth).mean() > 0.97


def test_a_weight_bound_that_is_given_is_kept(clusters):
    assert fit(clusters, weight_bound=25.0).certificate_.weight_bound == 25.0


def test_probabilities_of_the_unlabeled_rows_add_up_to_the_total(clusters):
    X, _, _, unlabeled, totals = clusters
    clf = fit(clusters)
    assert clf.predict_proba(X[unlabeled])[:, 1].sum() == pytest.approx(totals["b"], abs=clf.certificate_.xi + 0.5)
    assert ((clf.decision_function(X) > 0) == (clf.predict(X) == "b")).all()


# Stability


def test_stability_is_a_share_for_every_unlabeled_row(clusters):
    clf = fit(clusters)
    stability = clf.stability_
    assert stability.shape == (clusters[3].sum(),)
    assert ((stability >= 0) & (stability <= 1)).all()


def test_rows_that_the_labels_determine_are_stabler_than_rows_in_between(monkeypatch):
    # Enough time for the pool on a busy machine, too.
    monkeypatch.setattr("s2oct.fit.pool.POOL_SECONDS", (5.0, 5.0))
    X = np.concatenate([np.linspace(0, 1, 20), np.linspace(9, 10, 20), np.linspace(4, 6, 11)])[:, None]
    y = np.array(["a"] * 10 + [None] * 10 + ["b"] * 10 + [None] * 10 + [None] * 11, dtype=object)
    # With no price worth speaking of on the total, the rows in between may go either way.
    clf = S2OCTClassifier(depth=2, C=1e-9, guide=None, random_state=0, time_limit=5.0, solver=None)
    stability = clf.fit(X, y, totals={"b": 15}).stability_
    assert stability[:20].mean() > stability[20:].mean()


def test_a_supervised_tree_has_no_stability(clusters):
    X, y, _, _, _ = clusters
    assert not hasattr(OCTHClassifier(depth=1, time_limit=2.0).fit(X, y), "stability_")
