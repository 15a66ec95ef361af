import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from s2oct import Certificate, LabeledKFold, ObliqueTree, S2OCTClassifier
from s2oct.datasets import make_labour_force
from s2oct.errors import EstimatedTotalsWarning, S2OCTWarning
from s2oct.estimators.s2oct import probabilities_of, slope_for
from s2oct.evidence.evidence import (
    AUTO_GUIDE_WEIGHT,
    AUTO_MOST,
    AUTO_TERM_ROWS,
    AUTO_TERM_SHARE,
    AUTO_TOTAL_PRICE,
    MIXING,
)
from s2oct.problem.problem import Problem
from tests.messages import names, naming
from tests.preparing import score_of


def classifier(**parameters) -> S2OCTClassifier:
    """Depth 1 solves the survey at no cost, at once; the guide is a quick one."""
    return S2OCTClassifier(**{"depth": 1, "guide": GaussianNB(), "time_limit": 20.0, "random_state": 0, **parameters})


@pytest.fixture
def fitted(survey):
    X, y, totals = survey
    return classifier().fit(X, y, totals=totals)


def test_the_contract_of_the_fitted_attributes(fitted, survey):
    X, _, _ = survey
    assert isinstance(fitted.tree_, ObliqueTree)
    assert isinstance(fitted.certificate_, Certificate)
    assert fitted.classes_.tolist() == ["no", "yes"]
    assert fitted.n_features_in_ == 2
    assert not hasattr(fitted, "feature_names_in_")
    assert fitted.transduction_.shape == (len(X),)
    assert is_classifier(fitted)


def test_the_docstring_says_what_auto_is():
    text = " ".join(S2OCTClassifier.__doc__.split())
    assert names(text, '"auto"', ["no", "one", "two", "three"][AUTO_MOST])
    assert names(text, '"auto"', f"{AUTO_TERM_SHARE:.1%}".replace("%", " %"), AUTO_TERM_ROWS)
    assert names(text, "sum", MIXING)
    assert f'"auto" is 1/{1 / AUTO_GUIDE_WEIGHT:.0f}.' in text
    assert f'"auto" is {AUTO_TOTAL_PRICE}' in text


@pytest.mark.parametrize("seed", range(8))
def test_the_certificate_is_about_the_tree_that_predicts_where_sums_lose_their_digits(seed):
    """Beside 3e15 rows change sides on the way to model units and back."""
    exact = np.random.default_rng(seed).normal(size=(120, 3))
    truth = np.where(exact[:, 0] > 0, "a", "b").astype(object)
    X, y = np.round(10 * exact) + 3e15, np.where(np.arange(120) < 30, truth, None)
    total = int((truth[30:] == "a").sum())
    clf = S2OCTClassifier(total_price=np.inf, random_state=0).fit(X, y, totals={"a": total})
    assert clf.witness_.apply(X).tolist() == clf.tree_.apply(X).tolist()
    assert clf.certificate_.xi == abs(np.count_nonzero(clf.predict(X[30:]) == "a") - total)
    assert clf.certificate_.xi == 0 or not clf.certificate_.proved_best


def test_the_default_parameters_are_those_of_the_contract():
    assert S2OCTClassifier().get_params() == {
        "depth": "auto",
        "C": 1.0,
        "guide": "auto",
        "guide_weight": "auto",
        "max_features_per_split": "auto",
        "term_price": "auto",
        "total_price": "auto",
        "min_rows_per_leaf": 1,
        "features": None,
        "categorical_features": "from_dtype",
        "coefficient_bound": "auto",
        "scaling": "paper",
        "solver": "highs",
        "time_limit": 60.0,
        "n_jobs": 1,
        "random_state": None,
        "verbose": 0,
    }


def test_labels_that_were_given_are_kept_and_the_others_are_the_trees(fitted, survey):
    X, y, totals = survey
    unlabeled = np.array([label is None for label in y])
    assert fitted.transduction_[~unlabeled].tolist() == [label for label in y if label is not None]
    assert fitted.transduction_[unlabeled].tolist() == fitted.predict(X[unlabeled]).tolist()
    assert (fitted.transduction_[unlabeled] == "yes").sum() == totals["yes"]


def test_a_label_that_the_tree_gets_wrong_is_kept_in_the_transduction():
    X = [[0.0], [0.0], [5.0], [6.0]]
    clf = classifier(guide="auto").fit(X, ["a", "b", None, None], totals={"a": 0})
    assert clf.transduction_[:2].tolist() == ["a", "b"]
    assert len(set(clf.predict(X[:2]))) == 1


@pytest.mark.parametrize("depth", [1, 2])
def test_the_sign_of_the_decision_function_is_the_predicted_class(survey, depth):
    X, y, totals = survey
    clf = classifier(depth=depth).fit(X, y, totals=totals)
    grid = np.column_stack([np.linspace(0, 100, 60), np.linspace(40_000, 0, 60)])
    for rows in (X, grid):
        decision = clf.decision_function(rows)
        assert (decision != 0).all()
        assert clf.predict(rows).tolist() == clf.classes_[(decision > 0).astype(int)].tolist()


@pytest.mark.parametrize("guide", [None, GaussianNB(), "auto"], ids=str)
def test_the_decision_function_is_the_margin_that_the_certificate_is_about(survey, guide):
    """At depth 1 every row has one hyperplane on its way. In a tree of P2 the unlabeled rows keep distance 1."""
    X, y, totals = survey
    clf = classifier(guide=guide).fit(X, y, totals=totals)
    unlabeled = np.array([label is None for label in y])
    margins = np.abs(clf.decision_function(X[unlabeled]))
    assert margins.min() == clf.certificate_.min_margin
    assert (margins >= 1 - 1e-6).sum() == 10 - clf.certificate_.n_margin_violations
    if guide is None:
        assert (margins >= 1 - 1e-6).all()


@pytest.mark.parametrize("guide", [None, GaussianNB(), "auto"], ids=str)
@pytest.mark.parametrize("depth", [1, 2])
def test_tree_and_witness_put_every_row_of_the_fit_into_the_same_leaf(survey, guide, depth):
    X, y, totals = survey
    clf = classifier(guide=guide, depth=depth).fit(X, y, totals=totals)
    assert clf.witness_.apply(X).tolist() == clf.apply(X).tolist()


@pytest.mark.parametrize("total", [0, 3, 5, 10])
def test_probabilities_add_up_to_the_total(survey, total):
    """Within half a row, and the rows by which the tree itself misses it."""
    X, y, _ = survey
    clf = classifier(depth=2).fit(X, y, totals={"yes": total})
    unlabeled = np.array([label is None for label in y])
    probabilities = clf.predict_proba(X[unlabeled])
    assert probabilities.sum(axis=1) == pytest.approx(np.ones(10))
    assert (probabilities >= 0).all()
    assert abs(probabilities[:, 1].sum() - total) <= clf.certificate_.xi + 0.5
    assert clf.classes_[probabilities.argmax(axis=1)].tolist() == clf.predict(X[unlabeled]).tolist()


def test_leaves_have_the_papers_ids_and_classes(survey):
    X, y, totals = survey
    clf = classifier(depth=2).fit(X, y, totals=totals)
    leaves = clf.apply(X)
    assert set(leaves) <= {4, 5, 6, 7}
    assert clf.predict(X).tolist() == clf.classes_[leaves % 2].tolist()


def test_the_score_counts_labeled_rows_only(fitted, survey):
    X, y, _ = survey
    assert fitted.score(X, y) == 1.0
    wrong = ["yes", *y[1:]]
    assert fitted.score(X, wrong) == pytest.approx(5 / 6)
    weights = np.where(np.arange(len(y)) == 0, 5.0, 1.0)
    assert fitted.score(X, wrong, sample_weight=weights) == pytest.approx(5 / 10)


def test_the_score_knows_the_classes_of_the_fit():
    """A test set with -1 markers and one class only is not ambiguous to a fitted classifier."""
    X = [[0.0], [1.0], [8.0], [9.0]]
    clf = classifier().fit(X, [0, -1, 1, -1], totals={1: 1})
    assert clf.score(X, [0, -1, -1, -1]) == 1.0


def test_totals_and_population_totals_say_the_same(survey):
    X, y, totals = survey
    first = classifier().fit(X, y, totals=totals)
    second = classifier().fit(X, y, population_totals={"yes": totals["yes"] + 3})
    assert second.certificate_.objective == first.certificate_.objective
    assert second.tree_.omega.tolist() == first.tree_.omega.tolist()
    assert second.transduction_.tolist() == first.transduction_.tolist()


def test_naming_the_other_class_says_the_same(survey):
    X, y, totals = survey
    first = classifier().fit(X, y, totals=totals)
    second = classifier().fit(X, y, totals={"no": 10 - totals["yes"]})
    assert second.tree_.omega.tolist() == first.tree_.omega.tolist()


@pytest.mark.filterwarnings("ignore:.*total.* row")
@pytest.mark.parametrize("depth", [1, 2])
def test_swapping_the_names_of_the_classes_changes_no_cost(depth):
    X = np.array([[0.0], [0.0], [2.0], [5.0], [5.0], [9.0], [4.0]])
    y = ["a", "b", "a", None, None, None, None]
    other = {"a": "b", "b": "a", None: None}
    clf = classifier(depth=depth, guide=None).fit(X, y, totals={"a": 1})
    swapped = classifier(depth=depth, guide=None).fit(X, [other[label] for label in y], totals={"b": 1})
    assert clf.certificate_.proved
    assert swapped.certificate_.proved
    assert swapped.certificate_.objective == pytest.approx(clf.certificate_.objective, abs=1e-5)
    assert clf.certificate_.objective > 0


def test_a_proved_fit_is_the_same_every_time(survey):
    X, y, totals = survey
    first, second = (classifier(depth=2, guide=None, random_state=3).fit(X, y, totals=totals) for _ in range(2))
    assert first.certificate_.proved
    assert second.tree_.omega.tolist() == first.tree_.omega.tolist()
    assert second.tree_.gamma.tolist() == first.tree_.gamma.tolist()


@pytest.mark.parametrize("random_state", [None, 0, 12345, np.random.RandomState(1)], ids=str)
def test_any_random_state_finds_the_optimum(survey, random_state):
    X, y, totals = survey
    certificate = classifier(guide=None, random_state=random_state).fit(X, y, totals=totals).certificate_
    assert certificate.proved
    assert certificate.objective == pytest.approx(0.0, abs=1e-6)


@pytest.mark.filterwarnings("ignore:.*total.* row")
def test_the_price_of_the_total_is_C():
    """One unlabeled row sits on a labeled one of the other class: C or 2, whichever is less."""
    X, y = [[0.0], [4.0], [4.0]], ["a", "b", None]
    costs = [classifier(guide=None, C=C).fit(X, y, totals={"a": 1}).certificate_.objective for C in (0.5, 1.0, 5.0)]
    assert costs == pytest.approx([0.5, 1.0, 2.0])


def test_coefficients_stay_within_the_weight_bound():
    X, y = [[0.0], [1.0], [10.0]], ["a", "b", None]
    clf = classifier(guide=None, coefficient_bound=0.5, scaling=None).fit(X, y, totals={"a": 0})
    assert np.abs(clf.witness_.omega).max() <= 0.5 + 1e-9
    assert clf.certificate_.objective == pytest.approx(1.5)


def test_with_a_guide_the_weight_bound_changes_the_witness_and_not_the_tree(survey):
    X, y, totals = survey
    wide, narrow = (classifier(coefficient_bound=s, scaling=None).fit(X, y, totals=totals) for s in (10.0, 1e-3))
    assert narrow.tree_.omega.tolist() == wide.tree_.omega.tolist()
    assert np.abs(narrow.witness_.omega).max() <= 1e-3 + 1e-12
    assert (narrow.certificate_.coefficient_bound, narrow.certificate_.feasible) == (1e-3, False)
    assert (wide.certificate_.coefficient_bound, wide.certificate_.feasible) == (10.0, True)


@pytest.mark.parametrize("guide_weight", [None, 0.0, "auto"])
@pytest.mark.parametrize("k", [1, 2])
def test_no_split_uses_more_features_than_asked_for(k, guide_weight):
    """Nor where a guide breaks ties of the paper's model, whose proof holds for all trees, nor where it has weight."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, (120, 5)).astype(float)
    y = np.where(X[:, 1] > 4, "b", "a").astype(object)
    total = int((y[20:] == "b").sum())
    y[20:] = None
    guided = {"guide": None} if guide_weight is None else {"guide_weight": guide_weight}
    clf = classifier(depth=2, max_features_per_split=k, solver=None, **guided).fit(X, y, totals={"b": total})
    assert np.count_nonzero(clf.tree_.omega, axis=1).max() <= k
    assert clf.certificate_.max_features_per_split == k
    assert clf.certificate_.proved_for_any_features or guide_weight == "auto"


@pytest.mark.filterwarnings("ignore:.*total.* row")
def test_a_split_has_three_features_by_default_fewer_at_a_higher_price_and_more_without_a_limit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 6))
    truth = X @ [3.0, 2.0, 1.0, 0.5, 0.5, 0.0] > 0
    y = [*np.where(truth[:50], "b", "a"), *[None] * 100]
    total = int(truth[50:].sum())
    by_default = classifier(term_price=0.0).fit(X, y, totals={"b": total})
    capped = classifier(max_features_per_split=1).fit(X, y, totals={"b": total})
    free = classifier(max_features_per_split=None, term_price=0.0).fit(X, y, totals={"b": total})
    costly = classifier(term_price=1000.0).fit(X, y, totals={"b": total})
    used = [np.count_nonzero(clf.tree_.omega) for clf in (costly, capped, by_default, free)]
    assert used == sorted(used)
    assert used[:3] == [0, 1, 3]
    assert used[3] > 3
    assert by_default.certificate_.xi == 0


def test_no_leaf_has_fewer_rows_than_asked_for():
    """Nor a leaf of a tree that is as good or simpler."""
    survey = make_labour_force(n_people=200, n_labeled=30, seed=1)
    clf = classifier(depth=2, guide="auto", min_rows_per_leaf=40).fit(survey.X, survey.y, totals=survey.totals)
    trees = [clf.tree_, *clf.alternatives_, *(step.tree for step in clf.simplicity_path(assess=False))]
    assert clf.certificate_.n_splits > 0
    assert len(trees) > 2
    for tree in trees:
        sizes = np.bincount(tree.apply(survey.X))
        assert sizes[sizes > 0].min() >= 40


@pytest.mark.filterwarnings("ignore:.*total.* row")
def test_leaves_of_more_than_half_the_rows_leave_one_class(survey):
    X, y, totals = survey
    assert classifier(guide="auto", min_rows_per_leaf=9).fit(X, y, totals=totals).certificate_.n_splits == 0


def test_the_depth_follows_the_papers_rule(survey):
    X, y, totals = survey
    assert classifier(depth="auto").fit(X, y, totals=totals).tree_.topology.depth == 2
    rows = np.vstack([X] * 63)
    many = classifier(depth="auto", solver=None).fit(rows, y * 63, totals={"yes": 5 * 63})
    assert many.tree_.topology.depth == 3


@pytest.mark.parametrize("guide", [None, GaussianNB()], ids=str)
@pytest.mark.parametrize("scaling", ["paper", None])
def test_scaling_or_not_both_solve_the_survey(survey, scaling, guide):
    X, y, totals = survey
    clf = classifier(scaling=scaling, guide=guide).fit(X[:, :1], y, totals=totals)
    assert clf.transduction_.tolist() == np.where(X[:, 0] > 50, "yes", "no").tolist()
    assert clf.certificate_.proved
    assert clf.certificate_.objective == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(
    ("guide", "guide_weight", "used"),
    [
        (None, "auto", None),
        (None, 0, None),
        (GaussianNB(), 0, 0.0),
        (GaussianNB(), 2, 2.0),
        ("auto", "auto", AUTO_GUIDE_WEIGHT),
    ],
    ids=str,
)
def test_the_certificate_is_about_p2_whatever_the_guide_and_its_weight(survey, guide, guide_weight, used):
    X, y, totals = survey
    clf = classifier(guide=guide, guide_weight=guide_weight, C=3.0).fit(X, y, totals=totals)
    expected = score_of(Problem.from_arrays(X, y, totals=totals), clf.witness_, C=3.0)
    assert clf.certificate_.objective == pytest.approx(expected.objective)
    assert clf.certificate_.lower_bound == 0
    assert clf.certificate_.guide_weight == used


class ByFirstFeature(ClassifierMixin, BaseEstimator):
    """Finds b where the first feature is 1, whatever the labels."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        second = np.where(X[:, 0] == 1, 0.95, 0.05)
        return np.column_stack([1 - second, second])


@pytest.mark.parametrize(("guide_weight", "follows"), [(100.0, 0), (0.01, 1)])
def test_the_weight_decides_between_labels_and_guide(guide_weight, follows):
    """4 labels say that the second feature decides, the guide says of 20 rows that it is the first."""
    X = np.repeat([[0.0, 1.0], [1.0, 0.0]], 12, axis=0)
    y = ["b", "b", *[None] * 10, "a", "a", *[None] * 10]
    clf = classifier(guide=ByFirstFeature(), guide_weight=guide_weight).fit(X, y, totals={"b": 10})
    assert clf.predict(X).tolist() == np.where(X[:, follows] == 1, "b", "a").tolist()


def test_one_class_of_labels_is_enough_when_totals_name_the_other():
    X = [[0.0], [1.0], [2.0], [8.0], [9.0]]
    with pytest.warns(S2OCTWarning, match=naming("'no'", "label", "class")):
        clf = classifier(guide="auto").fit(X, ["yes", "yes", None, None, None], totals={"yes": 1, "no": 2})
    assert clf.classes_.tolist() == ["no", "yes"]
    assert clf.transduction_.tolist() == ["yes", "yes", "yes", "no", "no"]


def test_without_totals_they_are_estimated_with_a_warning_that_names_the_assumption(survey):
    X, y, _ = survey
    with pytest.warns(EstimatedTotalsWarning, match=naming("label", "class")):
        clf = classifier().fit(X, y)
    assert all(cell.is_aim for cell in clf.certificate_.cells)
    assert sum(cell.value for cell in clf.certificate_.cells) == len(X) - 6


def test_a_fully_labeled_table_is_fitted_with_a_warning():
    X = [[0.0], [0.1], [1.0], [1.1]]
    with pytest.warns(S2OCTWarning, match=naming("every row", "label")):
        clf = classifier().fit(X, ["a", "a", "b", "b"])
    assert clf.predict(X).tolist() == ["a", "a", "b", "b"]


def test_a_single_label_is_no_reason_for_a_split():
    with pytest.warns(S2OCTWarning, match=naming("every row", "label")):
        clf = classifier().fit([[0.0], [0.1], [0.2], [1.0]], ["a", "a", "a", "b"])
    assert clf.certificate_.n_splits == 0
    assert clf.contradicted_.tolist() == [3]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_fully_labeled_table_is_fitted_until_its_tree_is_proved_best(n_classes, stepping_clock):
    """The time stands still, so that no limit can end the fit; labels without a pattern leave P2 open for long."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), rng.choice(list("abc")[:n_classes], 80)
    with pytest.warns(S2OCTWarning, match=naming("every row", "label")):
        clf = S2OCTClassifier(depth=2, random_state=0).fit(X, y)
    assert clf.certificate_.ended == "proved"
    assert clf.certificate_.proved_among.startswith("trees of depth 2 over ")
    assert clf.certificate_.model == "evidence"
    assert "guide" not in str(clf.certificate_)
    assert clf.score(X, y) > 1 / n_classes


@pytest.mark.parametrize("guide", [None, "auto"])
def test_constant_features_are_accepted(guide):
    with pytest.warns(S2OCTWarning, match=naming("total", 2, "50 %")):
        clf = classifier(guide=guide).fit(np.ones((6, 2)), ["a", "b", *[None] * 4], totals={"a": 2})
    assert clf.certificate_.proved
    assert clf.certificate_.objective == pytest.approx(4.0)


def test_a_refit_forgets_the_first_fit(fitted):
    frame = pd.DataFrame({"age": [0.0, 1.0, 2.0]})
    fitted.fit(frame, ["a", "b", None], totals={"a": 0})
    assert fitted.n_features_in_ == 1
    assert fitted.feature_names_in_.tolist() == ["age"]
    assert fitted.classes_.tolist() == ["a", "b"]


def test_a_clone_has_the_parameters_and_nothing_else(fitted, survey):
    twin = clone(fitted.set_params(C=3.0, guide="auto"))
    assert twin.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        twin.predict(survey[0])


@pytest.mark.parametrize("copied", [lambda clf: pickle.loads(pickle.dumps(clf)), copy.deepcopy], ids=["pickle", "copy"])
def test_a_copy_predicts_alike(fitted, survey, copied):
    X, y, _ = survey
    twin = copied(fitted)
    assert twin.predict(X).tolist() == fitted.predict(X).tolist()
    assert twin.predict_proba(X).tolist() == fitted.predict_proba(X).tolist()
    assert twin.certificate_ == fitted.certificate_
    assert twin.score(X, y) == 1.0


def test_it_works_at_the_end_of_a_pipeline(survey):
    X, y, totals = survey
    pipeline = make_pipeline(StandardScaler(), classifier())
    pipeline.fit(X, y, s2octclassifier__totals=totals)
    assert pipeline.score(X, y) == 1.0
    assert (pipeline.predict(X[6:]) == "yes").sum() == totals["yes"]


def test_feature_names_pass_through_a_pipeline_with_pandas_output(survey):
    X, y, totals = survey
    frame = pd.DataFrame(X, columns=["age", "income"])
    pipeline = Pipeline([("scale", StandardScaler()), ("tree", classifier())]).set_output(transform="pandas")
    pipeline.fit(frame, y, tree__totals=totals)
    assert pipeline[-1].feature_names_in_.tolist() == ["age", "income"]
    assert pipeline.score(frame, y) == 1.0


@pytest.fixture
def ages(survey):
    """The survey by age alone: five yes of the unlabeled rows leave one place for the split, for any fold."""
    X, y, totals = survey
    return X[:, :1], y, totals


@pytest.mark.filterwarnings("ignore:.*total.* row")
def test_parameters_are_chosen_by_grid_search(ages):
    """Unlabeled rows are trained on in every fold, so the totals stay true in every fold.

    With a coefficient bound of 1e-6 no hyperplane can part the ages, so only the other value can be right.
    """
    X, y, totals = ages
    grid = {"coefficient_bound": [1e-6, 10.0]}
    search = GridSearchCV(classifier(guide=None, time_limit=3.0), grid, cv=LabeledKFold(3), error_score="raise")
    search.fit(X, y, totals=totals)
    assert search.best_params_ == {"coefficient_bound": 10.0}
    assert search.best_score_ == 1.0
    assert search.cv_results_["mean_test_score"][0] < 1.0
    assert search.best_estimator_.certificate_.proved


def test_it_can_be_cross_validated(ages):
    X, y, totals = ages
    scores = cross_val_score(classifier(), X, y, cv=LabeledKFold(3), params={"totals": totals}, error_score="raise")
    assert scores.tolist() == [1.0, 1.0, 1.0]


@given(seed=st.integers(0, 1000), total=st.integers(0, 30), length=st.sampled_from([1.0, 40.0, 5000.0]))
def test_probabilities_do_not_depend_on_the_length_of_the_normals(seed, total, length):
    """A raised bound on the coefficients makes all margins longer, and no row surer."""
    rng = np.random.default_rng(seed)
    signed = np.where(np.arange(30) < total, 1.0, -1.0) * (1 + rng.exponential(3.0, 30))
    ones, totals = np.ones(30), np.array([30.0 - total, total])
    slope, shorter = (slope_for(times * signed, ones, totals, 0.0) for times in (1.0, length))
    assert abs(expit(shorter * length * signed).sum() - total) <= 0.5
    if slope < 64:
        assert shorter * length == pytest.approx(slope)


@pytest.mark.parametrize("seed", range(30))
def test_probabilities_of_three_classes_add_up_to_every_total(seed):
    """A sum is off by at most half a row plus the rows by which the tree misses the total, whatever class it is of."""
    rng = np.random.default_rng(seed)
    margins = -rng.gamma(0.5, 3.0, size=(80, 3))
    own = rng.integers(0, 3, 80)
    margins[np.arange(80), own] = np.where(np.arange(3) == own[:, None], np.inf, -margins).min(axis=1)
    sizes = rng.choice([0.5, 1.0, 2.0], 80)
    assigned = np.bincount(own, weights=sizes, minlength=3)
    shift = np.array([[0.0, 0, 0], [2, -1, -1], [0, -3, 3]])[seed % 3]
    slope = slope_for(margins, sizes, assigned + shift, np.abs(shift).max())
    expected = sizes @ probabilities_of(margins, slope)
    assert np.abs(expected - assigned - shift).max() <= np.abs(shift).max() + 0.5


def test_rows_near_a_split_do_not_keep_probabilities_from_adding_up():
    margins = np.array([1e-4] * 30 + [50.0] * 20 + [-50.0] * 20)
    slope = slope_for(margins, np.ones(70), np.array([20.0, 50.0]), 0.0)
    assert probabilities_of(margins, slope)[:, 1].sum() == pytest.approx(50, abs=0.5)


def test_bounds_on_a_total_do_not_make_probabilities_certain():
    """Between bounds a tree may be far from their middle without being off."""
    margins = np.linspace(1.0, 9.0, 40)
    slope = slope_for(margins, np.ones(40), np.array([10.0, 30.0]), 0.0)
    assert probabilities_of(margins, slope)[0, 1] < 0.99
