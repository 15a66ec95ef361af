"""``estimate``: fits replicated from end to end, refused where they cannot be, and the same on any backend."""

import os
import pickle
import signal
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline

from s2oct import Estimate, S2OCTClassifier
from s2oct.datasets import make_labour_force
from s2oct.errors import InvalidProblem
from s2oct.estimates.table import COLUMNS
from tests.conftest import require_package
from tests.messages import names, naming

NUMBERS = [name for name in COLUMNS if name not in ("domain", "class", "by")]


def people(n_classes=2, n=120, seed=0):
    """Rows, partly unknown labels, truth, and a region for each row that has something to do with the class."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["age", "income", "children"])
    score = X["age"] + 0.5 * X["income"] + 0.5 * rng.normal(size=n)
    truth = np.array(["a", "b", "c"][:n_classes], dtype=object)[pd.qcut(score, n_classes, labels=False)]
    region = np.array(["east", "north", "west"], dtype=object)[np.clip(np.round(X["age"] + 1), 0, 2).astype(int)]
    y = np.where(rng.random(n) < 0.35, truth, None)
    return X, y, truth, region


def totals_of(y, truth, weights=None):
    """Unlabeled rows of each class, or their weights."""
    counted = pd.isna(y) * (1 if weights is None else weights)
    return {str(label): counted[truth == label].sum() for label in np.unique(truth)}


def known_totals(y, truth, weights=None):
    """The same of all rows."""
    counted = np.ones(len(y)) if weights is None else weights
    return {str(label): counted[truth == label].sum() for label in np.unique(truth)}


def fitted(X, y, truth, **changes):
    fit_changes = {name: changes.pop(name) for name in ("sample_weight", "domains", "totals") if name in changes}
    clf = S2OCTClassifier(**({"depth": 2, "random_state": 0, "time_limit": 20} | changes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clf.fit(X, y, **({"totals": totals_of(y, truth)} | fit_changes))


def numbers(estimates):
    return np.array([[row[name] for name in NUMBERS] for row in estimates], dtype=float)


@pytest.fixture(scope="module")
def two_classes():
    X, y, truth, region = people()
    return fitted(X, y, truth), region


@pytest.fixture(scope="module")
def estimates(two_classes):
    clf, region = two_classes
    return clf.estimate(region, replicates=4)


def test_pandas_makes_a_table_of_estimates(estimates):
    frame = pd.DataFrame(estimates)
    assert frame.columns.tolist() == list(COLUMNS)
    assert frame["domain"].tolist() == ["east", "east", "north", "north", "west", "west"]
    assert frame["class"].tolist() == ["a", "b"] * 3
    assert estimates.n_replicates == 4
    assert estimates.confidence == 0.95


def test_estimates_of_a_class_add_up_to_labels_and_total(two_classes):
    """To within the tolerance of raking: the domains are alike, so no estimate is cut at 0 or at all rows."""
    clf, _ = two_classes
    X, y, truth, _ = people()
    frame = pd.DataFrame(clf.estimate(np.arange(len(X)) % 3, replicates=3))
    assert frame.groupby("class")["estimate"].sum().to_dict() == pytest.approx(known_totals(y, truth), abs=1e-2)


def test_estimates_of_a_class_add_up_where_a_domain_has_one_class_only():
    X, y, truth, region = people()
    weights = np.where(np.arange(len(y)) % 2 == 0, 30.0, 10.0)
    clf = fitted(X, y, truth, sample_weight=weights, totals=totals_of(y, truth, weights))
    frame = pd.DataFrame(clf.estimate(region, replicates=6))
    known = known_totals(y, truth, weights)
    assert frame.groupby("class")["estimate"].sum().to_dict() == pytest.approx(known, rel=0.01)


def test_the_same_call_gives_the_same_numbers(two_classes, estimates):
    clf, region = two_classes
    assert np.array_equal(numbers(clf.estimate(region, replicates=4)), numbers(estimates), equal_nan=True)


def test_several_divisions_come_one_after_the_other_and_columns_of_the_table_may_be_named(two_classes, estimates):
    clf, region = two_classes
    older = pd.Series(people()[0]["age"] > 0, name="older")
    found = clf.estimate([pd.Series(region, name="region"), older], replicates=4)
    assert [row["by"] for row in found] == ["region"] * 6 + ["older"] * 4
    assert np.array_equal(numbers(found[:6]), numbers(estimates), equal_nan=True)
    rounded = people()[0].assign(children=lambda X: X["children"].round())
    named = fitted(rounded, *people()[1:3], depth=1).estimate("children", replicates=2)
    assert {row["domain"] for row in named} == set(rounded["children"])
    assert {row["by"] for row in named} == {"children"}


def test_totals_of_the_same_domains_are_returned_exactly():
    X, y, truth, region = people()
    free = pd.isna(y)
    known = pd.crosstab(region[free], truth[free])
    for row in fitted(X, y, truth, domains=region, totals=known).estimate(region, replicates=2):
        assert row["predicted"] == known.loc[row["domain"], row["class"]]
        assert row["se"] == 0
        assert row["low"] == row["estimate"] == row["high"]


def test_estimates_are_in_weights():
    X, y, truth, region = people()
    weights = np.where(np.arange(len(y)) % 2 == 0, 30.0, 10.0)
    clf = fitted(X, y, truth, sample_weight=weights, totals=totals_of(y, truth, weights))
    found = pd.DataFrame(clf.estimate(region, replicates=3))
    for row in found.to_dict("records"):
        here = region == row["domain"]
        assert row["rows"] == pytest.approx(weights[here].sum())
        assert row["observed"] == pytest.approx(weights[here & (y == row["class"])].sum())
        assert row["uncorrected"] == pytest.approx(weights[here & (clf.transduction_ == row["class"])].sum())


def test_three_classes():
    X, y, truth, region = people(n_classes=3, n=150)
    found = pd.DataFrame(fitted(X, y, truth).estimate(region, replicates=3))
    assert len(found) == 9
    assert (found["low"] <= found["estimate"]).all()
    assert (found["estimate"] <= found["high"]).all()


def test_without_a_guide_there_is_nothing_to_say_of_it():
    X, y, truth, region = people()
    clf = fitted(X, y, truth, guide=None, solver=None, depth=1, time_limit=0.5)
    found = pd.DataFrame(clf.estimate(region, replicates=3))
    assert found["guide"].isna().all()
    assert np.isfinite(found[["estimate", "se", "low", "high"]]).all(axis=None)


def test_a_foreign_guide_sees_the_table_of_the_user():
    """The pipeline picks columns by name, so it fails if it gets an array."""
    X, y, truth, region = people()
    pick = make_column_transformer(("passthrough", ["age", "income"]))
    guide = make_pipeline(pick, RandomForestClassifier(20))
    clf = fitted(X, y, truth, guide=guide)
    one, two = (numbers(clf.estimate(region, replicates=3)) for _ in range(2))
    assert np.array_equal(one, two, equal_nan=True)
    assert np.isfinite(one).all()


def test_alternatives_are_distinct_and_meet_the_totals_nearly(two_classes):
    clf, _ = two_classes
    X, y, truth, _ = people()
    free = pd.isna(y)
    answers = [tree.predict(X.to_numpy()) for tree in (clf.tree_, *clf.alternatives_)]
    assert len({tuple(classes) for classes in answers}) == len(answers) > 1
    totals = np.array(list(totals_of(y, truth).values()))
    assert all(np.abs(np.bincount(classes[free]) - totals).max() <= 0.02 * free.sum() for classes in answers)


def test_the_range_over_alternatives_contains_the_uncorrected_count(estimates):
    assert all(row["least"] <= row["uncorrected"] <= row["most"] for row in estimates)


def test_estimated_totals_are_taken():
    X, y, truth, region = people()
    totals = {"a": Estimate(totals_of(y, truth)["a"], 5.0)}
    found = fitted(X, y, truth, totals=totals).estimate(region, replicates=3)
    assert all(row["se"] > 0 for row in found)


def test_a_classifier_from_a_pickle_says_that_it_lacks_the_rows(two_classes):
    clf, region = two_classes
    with pytest.raises(InvalidProblem, match="neither model files nor pickles keep them") as refusal:
        pickle.loads(pickle.dumps(clf)).estimate(region)
    assert str(refusal.value).startswith("Expected a classifier that was fitted in this session, got one without")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"by": "region"}, "Expected domains to be a column of X, got 'region'; "),
        ({"by": ["east"] * 7}, "Expected "),
        ({"by": 7}, "Expected domains to be one value per row or a column name of X, got 7."),
        ({"replicates": 1}, "Expected replicates to be a whole number of at least 2, got 1."),
        ({"replicates": 2.5}, "Expected replicates to be a whole number of at least 2, got 2.5."),
        ({"confidence": 95}, "Expected confidence to be a number between 0 and 1, got 95."),
        ({"confidence": 1.0}, "Expected confidence to be a number between 0 and 1, got 1.0."),
        ({"confidence": float("nan")}, "Expected confidence to be a number between 0 and 1, got nan."),
    ],
)
def test_bad_arguments_are_refused_in_one_sentence(two_classes, arguments, message):
    clf, _ = two_classes
    with pytest.raises(InvalidProblem) as refusal:
        clf.estimate(**arguments)
    assert str(refusal.value).startswith(message)


@pytest.mark.parametrize(
    ("levels", "name"), [(["east"], "missing"), ([7], "missing"), (["missing", "(missing)"], "((missing))")], ids=str
)
def test_rows_without_a_domain_are_a_domain_of_their_own(two_classes, levels, name):
    """The fit may have filled these gaps, so the same rows must not be refused here."""
    clf, region = two_classes
    by = pd.Series([levels[number % len(levels)] for number in range(len(region))], name="region", dtype=object)
    by[:5] = None
    found = clf.estimate(by, replicates=2)
    domains = [row["domain"] for row in found]
    assert domains == [*sorted([*levels, *levels], key=str), name, name]
    assert {row["rows"] for row in found if row["domain"] == name} == {5.0}
    assert names(found.notes, 5, "'region'", f"'{name}'")


def test_without_gaps_there_is_no_domain_of_missing_values(two_classes):
    clf, region = two_classes
    found = clf.estimate(region, replicates=2)
    assert "missing" not in {row["domain"] for row in found}
    assert not any("no value" in note for note in found.notes)


def test_confidence_may_be_a_number_of_numpy(two_classes):
    clf, region = two_classes
    assert clf.estimate(region, replicates=2, confidence=np.float32(0.5)).confidence == pytest.approx(0.5)


def test_an_interrupted_estimate_goes_on_where_it_ended(two_classes, estimates, tmp_path):
    clf, region = two_classes

    def give_up(done, of):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        clf.estimate(region, replicates=4, folder=tmp_path, progress=give_up)
    told = []
    found = clf.estimate(region, replicates=4, folder=tmp_path, progress=lambda done, of: told.append((done, of)))
    assert told == [(3, 4), (4, 4)]
    assert np.array_equal(numbers(found), numbers(estimates), equal_nan=True)


def test_a_classifier_that_is_fitted_again_estimates_from_its_new_rows():
    X, y, truth, region = people()
    clf = fitted(X, y, truth, depth=1)
    assert sum(row["rows"] for row in clf.estimate(region, replicates=2) if row["class"] == "a") == 120
    clf.fit(X[:100], y[:100], totals=totals_of(y[:100], truth[:100]))
    assert sum(row["rows"] for row in clf.estimate(region[:100], replicates=2) if row["class"] == "a") == 100


@pytest.mark.slow
def test_two_processes_give_the_same_numbers(two_classes, estimates):
    clf, region = two_classes
    assert np.array_equal(numbers(clf.estimate(region, 4, n_jobs=2)), numbers(estimates), equal_nan=True)


@pytest.fixture
def cluster():
    """Two worker processes of Dask."""
    distributed = require_package("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as made,
        distributed.Client(made),
    ):
        yield made


@pytest.mark.slow
@pytest.mark.parametrize("loses_a_worker", [False, True])
def test_a_dask_cluster_gives_the_same_numbers_also_if_it_loses_a_worker(two_classes, cluster, loses_a_worker):
    clf, region = two_classes
    alone = clf.estimate(region, replicates=8)

    def lose(done, of):
        if loses_a_worker and done == 3:
            os.kill(cluster.workers[0].pid, signal.SIGKILL)

    with joblib.parallel_config("dask"):
        found = clf.estimate(region, replicates=8, progress=lose)
    assert np.array_equal(numbers(found), numbers(alone), equal_nan=True)


def test_replicate_weights_of_a_survey_stand_for_drawing(two_classes):
    """A jackknife of ten groups: with its scale, nine times the variance of balanced half samples."""
    clf, region = two_classes
    n_rows = len(region)
    groups = np.arange(n_rows) % 10
    weights = np.where(groups[:, None] == np.arange(10), 0.0, 10 / 9)
    half = clf.estimate(region, replicate_weights=weights)
    whole = clf.estimate(region, replicates=10, replicate_weights=weights, replicate_scale=0.9)
    assert half.n_replicates == whole.n_replicates == 10
    for small, large in zip(half, whole, strict=True):
        assert small["estimate"] == large["estimate"]
        assert small["se"] < large["se"]


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"replicate_scale": 0.9}, ("replicate_scale", "replicate_weights")),
        ({"replicate_weights": np.ones((120, 3)), "replicates": 5}, (3, "column", "weight")),
        ({"replicate_weights": np.ones((120, 3)), "replicate_scale": 0}, ("replicate_scale",)),
        ({"replicate_weights": np.ones((4, 3))}, ("shape",)),
    ],
)
def test_what_does_not_go_with_replicate_weights_is_refused(two_classes, given, named):
    clf, region = two_classes
    with pytest.raises(InvalidProblem, match=naming(*named)):
        clf.estimate(region, **given)


@pytest.fixture(scope="module")
def difference(two_classes):
    clf, region = two_classes
    return clf.estimate(region, method="difference")


def test_the_difference_estimator_adds_up_and_says_what_it_is(two_classes, difference):
    _, y, truth, region = people()
    assert difference.n_replicates == 0
    assert names(repr(difference), 6, "Estimate", "difference")
    for label in ("a", "b"):
        total = (y == label).sum() + totals_of(y, truth)[label]
        assert sum(row["estimate"] for row in difference if row["class"] == label) == pytest.approx(total)
    for name in np.unique(region):
        here = [row for row in difference if row["domain"] == name]
        assert sum(row["estimate"] for row in here) == pytest.approx((region == name).sum())
    assert all(row["se"] > 0 and row["low"] <= row["estimate"] <= row["high"] for row in difference)


def test_a_classifier_without_its_rows_estimates_from_a_table_that_is_passed(two_classes):
    clf, region = two_classes
    X, y, truth, _ = people()
    kept = pickle.loads(pickle.dumps(clf))
    found = kept.estimate(region, X=X, y=y, totals=totals_of(y, truth))
    again = clf.estimate(region, X=X, y=y, totals=totals_of(y, truth), n_jobs=2)
    assert (numbers(found) == numbers(again)).all()
    assert sum(row["predicted"] for row in found if row["class"] == "a") == pytest.approx(totals_of(y, truth)["a"])


def test_labels_that_took_no_part_in_the_fit_need_no_further_fit(two_classes):
    """With one region, one class by the tree and a known total the formula is short: the total itself."""
    clf, _ = two_classes
    X, y, truth, region = people(seed=5)
    told = []
    found = clf.estimate(
        {"region": region},
        X=X,
        y=y,
        population_totals=known_totals(y, truth),
        held_out=True,
        progress=lambda done, of: told.append(done),
    )
    assert not told
    uncorrected = pd.Series(np.where(pd.isna(y), clf.predict(X), y)).groupby(region).apply(lambda s: (s == "a").sum())
    assert [row["uncorrected"] for row in found if row["class"] == "a"] == uncorrected.tolist()
    for label, total in known_totals(y, truth).items():
        assert sum(row["estimate"] for row in found if row["class"] == label) == pytest.approx(total)


def test_a_probability_sample_needs_no_totals(two_classes):
    clf, _ = two_classes
    X, y, truth, _ = people(n=400, seed=7)
    design = np.where(pd.isna(y), np.nan, 1 / 0.35)
    found = clf.estimate(X=X, y=y, design_weight=design, held_out=True)
    for row in found:
        assert abs(row["estimate"] - (truth == row["class"]).sum()) < 4 * row["se"]
        assert 0 < row["se"] < 40
    assert sum(row["estimate"] for row in found) == pytest.approx(400)


def test_a_table_with_many_rows_is_judged_by_a_sample_and_counted_in_full(two_classes, monkeypatch):
    clf, _ = two_classes
    X, y, truth, region = people(n=600, seed=8)
    monkeypatch.setattr("s2oct.estimates.domains.FOLD_ROWS", 60)
    found = clf.estimate(region, X=X, y=y, totals=totals_of(y, truth))
    assert {row["domain"]: row["rows"] for row in found} == pytest.approx(pd.Series(region).value_counts().to_dict())
    assert sum(row["predicted"] for row in found if row["class"] == "b") == pytest.approx(totals_of(y, truth)["b"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "bootstrap"}, "Expected method to be one of 'auto', 'replicates', 'difference', got 'bootstrap'."),
        ({"method": "difference", "replicates": 5}, "The difference estimator has no replicates"),
        ({"totals": {"a": 3}}, "totals without X"),
        ({"held_out": True}, "held_out without X"),
        ({"X": "table", "method": "replicates"}, "Replicates repeat the fit of this session"),
        ({"X": "table"}, "No totals are known: pass totals or population_totals, or design_weight"),
        ({"X": "table", "y": None}, "Expected some labeled rows in y, got none"),
        ({"X": "table", "total": 5}, "Expected arguments among totals, population_totals, domains, as_shares, "),
        ({"X": "table", "design_weight": np.zeros(120)}, "At least one weight must be positive, but design_weight "),
    ],
)
def test_what_does_not_go_together_is_refused_in_one_sentence(two_classes, arguments, message):
    clf, _ = two_classes
    X, y, _, _ = people()
    if "X" in arguments:
        arguments = {"y": y} | arguments | {"X": X}
    with pytest.raises(InvalidProblem) as refusal:
        clf.estimate(**arguments)
    assert str(refusal.value).startswith(message)


@pytest.mark.filterwarnings("ignore::s2oct.S2OCTWarning")
def test_a_total_that_the_fit_has_estimated_leaves_its_standard_error_in_the_estimates():
    """Of the whole table nothing else is uncertain, so that the totals of the replicates vary as the estimate says."""
    survey = make_labour_force(n_people=200, n_labeled=60, seed=5)
    clf = S2OCTClassifier(depth=1, random_state=0).fit(survey.X, survey.y, totals="estimate")
    (cell, _), found = clf.certificate_.cells, clf.estimate(replicates=40)
    assert cell.is_aim
    assert found[0]["se"] == pytest.approx(cell.se, rel=0.4)
    assert found[0]["estimate"] + found[1]["estimate"] == pytest.approx(200)
