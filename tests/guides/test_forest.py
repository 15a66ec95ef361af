"""The guide: what it says of the rows, and what it does to the tree."""

import threading

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from s2oct import (
    OCTHClassifier,
    PriorCorrectedClassifier,
    S2OCTClassifier,
    S2OCTError,
    S2OCTWarning,
    SelfTrainedForest,
    TopTotalClassifier,
)
from s2oct.errors import InvalidProblem
from s2oct.guides import ask_guide
from s2oct.guides.forest import GuideStopped
from s2oct.problem.known import Known
from s2oct.problem.labels import Labels, read_labels
from s2oct.problem.problem import Guide
from s2oct.problem.totals import Targets
from s2oct.stopping import Deadline
from tests.messages import names, naming
from tests.stopwatch import processor_seconds


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
    return S2OCTClassifier(random_state=0, solver=None, **parameters).fit(X, y, totals=totals)


def agreement(clf, guide, data):
    X, _, _, unlabeled, _ = data
    return float((clf.predict(X[unlabeled]) == guide.predict(X[unlabeled])).mean())


@pytest.mark.parametrize("X", [None, "rows", {"x": [1.0, 2.0, 3.0, 4.0]}], ids=["nothing", "text", "mapping"])
def test_an_object_that_is_no_table_is_refused_as_such(X):
    with pytest.raises(InvalidProblem, match="table of rows and features"):
        SelfTrainedForest().fit(X, ["a", "b", None, None], totals={"a": 1})


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


FEW = ["a", "a", "b", "b", None, None]


@pytest.mark.parametrize("size", [1e300, 1e-300, 1e-310], ids=str)
def test_features_of_any_size_are_read(size):
    X = np.array([[1.0], [2.0], [8.0], [9.0], [1.5], [7.0]]) * size
    forest = SelfTrainedForest(n_estimators=10, random_state=0).fit(X, FEW, totals={"b": 1})
    assert forest.transduction_.tolist()[-2:] == ["a", "b"]
    assert np.isfinite(forest.predict_proba([[-1.7e308], [1.7e308]])).all()


DRAWS = {
    "one unlabeled row": ([[0.0], [1.0], [0.9]], ["a", "b", None], {"b": 1}),
    "two labeled rows": ([[0.0, 1.0], [1.0, 0.0], [0.1, 1.0], [0.9, 0.0]], ["a", "b", None, None], {"b": 1}),
    "one labeled row": ([[0.0], [1.0], [0.1], [0.9]], ["a", None, None, None], {"a": 1, "b": 2}),
    "one class and nothing unlabeled": ([[0.0], [1.0]], ["a", "a"], {"a": 0, "b": 0}),
    "one row": ([[0.0]], ["a"], {"a": 0, "b": 0}),
    "total 0": (np.arange(6.0)[:, None], FEW, {"b": 0}),
    "total of all": (np.arange(6.0)[:, None], FEW, {"b": 2}),
    "a constant feature": (np.column_stack([np.arange(6.0), np.ones(6)]), FEW, {"b": 1}),
    "equal rows": (np.ones((6, 3)), FEW, {"b": 1}),
    "more features than rows": (np.random.default_rng(0).normal(size=(6, 300)), FEW, {"b": 1}),
}


@pytest.mark.filterwarnings("error", "ignore:.*every row:s2oct.errors.S2OCTWarning")
@pytest.mark.parametrize("draw", DRAWS)
def test_every_draw_is_fitted_without_a_warning(draw):
    X, y, totals = DRAWS[draw]
    forest = SelfTrainedForest(n_estimators=15, random_state=0).fit(X, y, totals=totals)
    unlabeled = np.array([label is None for label in y])
    assert (forest.transduction_[unlabeled] == "b").sum() == totals["b"]
    assert forest.probabilities_.shape == (unlabeled.sum(), 2)
    assert np.isfinite(forest.probabilities_).all()
    assert np.allclose(forest.predict_proba(X).sum(axis=1), 1)


@pytest.mark.parametrize(("total", "label"), [(0, "a"), (90, "b")])
def test_where_the_total_leaves_no_choice_the_probabilities_say_so(clusters, total, label):
    X, y, _, _, _ = clusters
    forest = SelfTrainedForest(n_estimators=10, random_state=0).fit(X, y, totals={"b": total})
    assert (forest.probabilities_.max(axis=1) > 0.5).all()
    assert (forest.classes_[forest.probabilities_.argmax(axis=1)] == label).all()


def test_equal_rows_are_given_out_as_the_total_says():
    y = np.array(["a", "b", *[None] * 6], dtype=object)
    forest = SelfTrainedForest(n_estimators=10, random_state=0).fit(np.ones((8, 2)), y, totals={"b": 2})
    assert sorted(forest.transduction_[2:]) == ["a"] * 4 + ["b"] * 2
    assert np.allclose(forest.probabilities_, 0.5)


@pytest.mark.filterwarnings("error")
def test_without_unlabeled_rows_it_is_a_forest(clusters):
    X, _, truth, _, _ = clusters
    train = np.arange(100) % 2 == 0
    forest = SelfTrainedForest(random_state=0).fit(X[train], truth[train])
    plain = RandomForestClassifier(200, random_state=0).fit(X[train], truth[train])
    assert forest.probabilities_.shape == (0, 2)
    assert (forest.transduction_ == truth[train]).all()
    assert forest.score(X[~train], truth[~train]) >= plain.score(X[~train], truth[~train]) - 0.04
    assert np.abs(forest.predict_proba(X[~train]) - plain.predict_proba(X[~train])).mean() < 0.06


def test_without_totals_minus_1_beside_one_label_is_a_class_and_with_totals_it_may_be_a_marker(clusters):
    X, _, truth, _, _ = clusters
    forest = SelfTrainedForest(n_estimators=10, random_state=0).fit(X, np.where(truth == "b", 1, -1))
    assert forest.classes_.tolist() == [-1, 1]
    assert forest.score(X, np.where(truth == "b", 1, -1)) > 0.95
    y = np.where(truth == "b", 1, -1)
    y[:8] = 0
    assert SelfTrainedForest(n_estimators=10).fit(X, y, totals={1: 10}).probabilities_.shape == (52, 2)


def test_without_totals_the_shares_of_the_labels_are_used_with_a_warning(clusters):
    X, y, _, unlabeled, _ = clusters
    with pytest.warns(S2OCTWarning, match=naming("totals", "share")):
        forest = SelfTrainedForest(n_estimators=10, random_state=0).fit(X, y)
    assert (forest.transduction_[unlabeled] == "b").sum() == 18


def test_the_number_of_jobs_changes_nothing(clusters):
    X, y, _, _, totals = clusters
    X = np.round(X)
    one, two = (
        SelfTrainedForest(n_estimators=20, n_jobs=n_jobs, random_state=5).fit(X, y, totals=totals) for n_jobs in (1, 2)
    )
    assert (one.probabilities_ == two.probabilities_).all()
    assert (one.predict_proba(X) == two.predict_proba(X)).all()


def test_new_rows_like_the_unlabeled_ones_get_probabilities_like_theirs(clusters):
    X, y, _, unlabeled, totals = clusters
    forest = SelfTrainedForest(random_state=0).fit(X, y, totals=totals)
    near = forest.predict_proba(X[unlabeled] + 1e-6)
    assert np.abs(near - forest.probabilities_).mean() < 0.1
    assert (near[:, 1] > 0.5).sum() == pytest.approx(totals["b"], abs=5)


@pytest.mark.parametrize("shape", [(40_000, 10), (1600, 1000)], ids=str)
@pytest.mark.parametrize("n_reads", [0, 3, 10])
def test_the_forests_stop_soon_after_the_deadline(shape, n_reads, stepping_clock):
    """Labels by chance make the largest trees. Each of them reads the clock."""
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=shape), rng.integers(-1, 2, shape[0])
    m = int((codes == -1).sum())
    stepping_clock.step = 1.0
    deadline = Deadline.after(n_reads)
    with pytest.raises(GuideStopped):
        SelfTrainedForest(random_state=0)._fit_known(
            X, Known.of_rows(Labels(np.array(["a", "b"]), codes), Targets.exact([m // 2, m - m // 2], m)), deadline
        )
    assert n_reads <= stepping_clock.reads <= n_reads + 10


def test_a_fit_takes_about_as_long_as_one_random_forest():
    """Ours has 420 trees of up to 400 rows, the random forest 200 trees of 40 rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 10))
    truth = (X[:, 0] + X[:, 1] > 0).astype(int)
    y = np.where(np.arange(400) < 40, truth, np.nan)

    def theirs() -> None:
        RandomForestClassifier(200, random_state=0).fit(X[:40], truth[:40]).predict_proba(X[40:])

    def ours() -> None:
        SelfTrainedForest(random_state=0, n_jobs=1).fit(X, y, totals={1: int(truth[40:].sum())})

    enough = 1.5 * processor_seconds(theirs, 0.0)
    assert processor_seconds(ours, enough) < enough


@pytest.mark.parametrize("parameters", [{"n_estimators": 0}, {"n_rounds": -1}, {"n_rounds": 1.5}], ids=str)
def test_parameters_out_of_range_are_refused(clusters, parameters):
    X, y, _, _, totals = clusters
    with pytest.raises(S2OCTError, match="Expected"):
        SelfTrainedForest(**parameters).fit(X, y, totals=totals)


EXEMPT = {
    "check_sample_weight_equivalence_on_dense_data": (
        "trees draw rows by their weights, so equal forests need equal draws; scikit-learn's own forests fail it, too"
    ),
}


@parametrize_with_checks([SelfTrainedForest(n_estimators=20)], expected_failed_checks=lambda estimator: EXEMPT)
@pytest.mark.filterwarnings("error::s2oct.errors.S2OCTWarning")
def test_scikit_learn_finds_nothing(estimator, check):
    check(estimator)


def test_charges_are_nothing_for_the_likelier_class_and_the_lead_for_the_other():
    guide = Guide.from_probabilities(np.array([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]]))
    assert np.allclose(guide.charges, [[0, 0.8], [0, 0], [0.6, 0]])


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
    targets = Targets.exact([unlabeled.sum() - totals["b"], totals["b"]], unlabeled.sum())
    found = ask_guide(guide, X, Known.of_rows(labels, targets)).probabilities
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
    assert clf.certificate_.xi == 0
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


def test_weight_0_breaks_ties_only(clusters):
    plain, tied = fit(clusters, guide=None), fit(clusters, guide=LogisticRegression(), guide_weight=0)
    assert plain.certificate_.proved
    assert tied.certificate_.proved
    assert tied.certificate_.objective <= plain.certificate_.objective + 1e-6
    assert tied.certificate_.guide_weight == 0
    wrapped = TopTotalClassifier(LogisticRegression()).fit(clusters[0], clusters[1], totals=clusters[4])
    assert agreement(tied, wrapped, clusters) >= agreement(plain, wrapped, clusters)


class Watched(LogisticRegression):
    """Records whether it was ever fitted."""

    was_fitted = False

    def fit(self, X, y, sample_weight=None):
        type(self).was_fitted = True
        return super().fit(X, y, sample_weight)


@pytest.mark.filterwarnings("ignore:.*total.* row", "ignore:.*time limit")
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
    assert "guide" not in str(certificate)


def test_disagreement_with_the_guide_is_recomputed_from_the_tree(clusters):
    X, y, _, unlabeled, totals = clusters
    clf = fit(clusters, guide=LogisticRegression(), guide_weight=0.7)
    wrapped = TopTotalClassifier(LogisticRegression()).fit(X, y, totals=totals)
    p = wrapped.predict_proba(X[unlabeled])
    charged = np.where(clf.predict(X[unlabeled]) == "a", p[:, 1] - p[:, 0], p[:, 0] - p[:, 1])
    certificate = clf.certificate_
    assert certificate.guide_cost == pytest.approx(np.maximum(charged, 0).sum() + certificate.xi, abs=1e-9)
    n_against = int((charged > 0).sum())
    assert certificate.n_against_guide == n_against
    assert names(str(certificate), "guide", 90 - n_against, 90)


def test_more_weight_never_charges_more(clusters):
    light, heavy = (fit(clusters, guide=LogisticRegression(), guide_weight=w).certificate_ for w in (0.01, 100.0))
    assert heavy.guide_cost <= light.guide_cost + 1e-9
    assert light.objective <= heavy.objective + 1e-6


@pytest.mark.parametrize(
    ("guide", "named"),
    [
        ("forest", ("'auto'", "None")),
        (LinearSVC(), ("predict_proba",)),
        (LogisticRegression, ("predict_proba",)),
        (3, ("predict_proba",)),
    ],
    ids=["a name", "no probabilities", "a class", "a number"],
)
def test_what_is_no_guide_is_refused(clusters, guide, named):
    with pytest.raises(S2OCTError, match=naming(*named)):
        fit(clusters, guide=guide)


def test_one_labeled_class_is_fitted_with_a_guide(clusters):
    X, y, _, _, _ = clusters
    only_a = np.where(y == "b", None, y)
    with pytest.warns(S2OCTWarning, match=naming("'b'", "total", "guide")):
        clf = S2OCTClassifier(random_state=0, time_limit=5.0, solver=None).fit(X, only_a, totals={"a": 52, "b": 40})
    assert (clf.transduction_[[label is None for label in only_a]] == "b").sum() == pytest.approx(40, abs=3)


class Slow(LogisticRegression):
    """Does not end before the test does, and looks at no clock."""

    may_end = threading.Event()

    def fit(self, X, y, sample_weight=None):
        self.may_end.wait()
        return super().fit(X, y, sample_weight)


@pytest.fixture
def slow(monkeypatch, stepping_clock):
    """A guide that does not answer. The thread that waits for it reads the clock, which makes time pass."""
    monkeypatch.setattr(Slow, "may_end", threading.Event())
    stepping_clock.step = 0.02
    yield Slow()
    Slow.may_end.set()


@pytest.mark.filterwarnings("ignore:.*total.* row")
def test_ctrl_c_while_the_guide_is_asked_ends_the_fit(clusters, ctrl_c, slow):
    """There is no tree yet that is worth keeping."""
    with ctrl_c(0.4), pytest.raises(KeyboardInterrupt):
        fit(clusters, guide=slow)


@pytest.mark.filterwarnings("ignore:.*guide")
@pytest.mark.filterwarnings("ignore:.*time limit")
def test_a_guide_that_does_not_answer_in_time_is_left_behind_with_a_warning(clusters, slow, stepping_clock):
    X, y, _, _, totals = clusters
    stepping_clock.step = 0.0001
    stepping_clock.call_after(0.01, lambda: stepping_clock.advance(0.8))
    with pytest.warns(S2OCTWarning, match=naming("guide", "time limit", "1 s")):
        clf = S2OCTClassifier(guide=slow, solver=None, time_limit=1.0, random_state=0).fit(X, y, totals=totals)
    assert clf.certificate_.guide_weight is None
    assert clf.certificate_.xi <= 1, "what is left of the time is enough for labels and totals"


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


def test_a_weight_bound_that_is_given_is_kept(clusters):
    assert fit(clusters, coefficient_bound=25.0).certificate_.coefficient_bound == 25.0


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


def test_rows_that_the_labels_determine_are_stabler_than_rows_in_between():
    X = np.concatenate([np.linspace(0, 1, 20), np.linspace(9, 10, 20), np.linspace(4, 6, 11)])[:, None]
    y = np.array(["a"] * 10 + [None] * 10 + ["b"] * 10 + [None] * 10 + [None] * 11, dtype=object)
    # With no price worth speaking of on the total, the rows in between may go either way.
    clf = S2OCTClassifier(depth=2, C=1e-9, guide=None, random_state=0, time_limit=5.0, solver=None)
    stability = clf.fit(X, y, totals={"b": 15}).stability_
    assert stability[:20].mean() > stability[20:].mean()


def test_a_supervised_tree_has_no_stability(clusters):
    X, y, _, _, _ = clusters
    assert not hasattr(OCTHClassifier(depth=1, time_limit=2.0).fit(X, y), "stability_")
