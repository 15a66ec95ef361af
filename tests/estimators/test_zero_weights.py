"""Rows of weight 0: every result is the one without these rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from s2oct import PriorCorrectedClassifier, S2OCTClassifier, SelfTrainedForest, TopTotalClassifier
from s2oct.errors import InvalidProblem
from s2oct.export import report_html
from s2oct.problem import batches
from s2oct.tables.partly_labeled import Roles
from s2oct.tables.source import Source
from s2oct.tables.totals import TableTotals
from s2oct.workflow.encoded_table import FitRequest, encode_table
from s2oct.workflow.fitted_table import fit_encoded
from tests.messages import naming

REGIONS = np.array(["north", "south", "west"])


class Survey:
    """People of whom some are labeled, with weights that differ; ``zero`` marks rows that get weight 0."""

    def __init__(self, n_classes: int = 2, n_rows: int = 120) -> None:
        rng = np.random.default_rng(n_classes)
        self.X = pd.DataFrame(rng.normal(size=(n_rows, 3)), columns=["age", "income", "height"])
        score = self.X["age"] + 0.5 * self.X["income"] + rng.normal(scale=0.3, size=n_rows)
        self.truth = np.array(["a", "b", "c"])[np.searchsorted([-0.2, 0.9][: n_classes - 1], score)]
        self.y = np.where(np.arange(n_rows) < 45, self.truth, None)
        self.region = REGIONS[np.arange(n_rows) % 3]
        self.weight = rng.integers(1, 9, n_rows) / 4

    def zeros(self, kind: str) -> Any:
        rows = np.arange(len(self.y))
        return {
            "one unlabeled row": rows == 60,
            "five unlabeled rows": (rows >= 60) & (rows < 65),
            "labeled rows": rows % 9 == 0,
            "a whole domain": self.region == "west",
            "a whole class": self.truth == "b",
        }[kind]

    def totals(self, counted: Any) -> dict[str, float]:
        free = counted & np.equal(self.y, None)
        return {k: float(self.weight[free & (self.truth == k)].sum()) for k in sorted(set(self.truth[counted]))}


KINDS = ["one unlabeled row", "five unlabeled rows", "labeled rows", "a whole domain"]
SCALES = {"zero": 0.0, "tiny": 1e-13, "least": 5e-324}


def both(survey: Survey, make: Any, kind: str, weight: float = 0.0) -> tuple[Any, Any, Any]:
    """The same classifier fitted with rows of no weight, and without these rows."""
    zero = survey.zeros(kind)
    totals = survey.totals(~zero)
    weights = np.where(zero, weight, survey.weight)
    padded = make().fit(survey.X, survey.y, totals=totals, sample_weight=weights)
    plain = make().fit(survey.X[~zero], survey.y[~zero], totals=totals, sample_weight=survey.weight[~zero])
    return padded, plain, ~zero


def paper() -> S2OCTClassifier:
    return S2OCTClassifier(depth=1, guide=None, solver=None, time_limit=60, random_state=0)


def default() -> S2OCTClassifier:
    return S2OCTClassifier(random_state=0)


def led_by_regression() -> S2OCTClassifier:
    return S2OCTClassifier(guide=LogisticRegression(), random_state=0)


@pytest.mark.filterwarnings("ignore:.*total.* row")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("make", "n_classes"), [(default, 3), (led_by_regression, 2)])
def test_the_tree_is_the_one_without_rows_of_weight_0(n_classes, make, kind):
    padded, plain, counted = both(Survey(n_classes), make, kind)
    assert padded.rules_ == plain.rules_
    assert padded.notices_ == plain.notices_
    assert padded.data_summary_ == plain.data_summary_
    assert padded.certificate_.xi == plain.certificate_.xi
    assert padded.certificate_.n_unlabeled == plain.certificate_.n_unlabeled
    assert padded.transduction_[counted].tolist() == plain.transduction_.tolist()
    assert np.flatnonzero(counted)[plain.contradicted_].tolist() == padded.contradicted_.tolist()


@pytest.mark.parametrize("weight", SCALES.values(), ids=SCALES)
def test_tiny_weights_count_like_none(weight):
    padded, plain, _ = both(Survey(), default, "five unlabeled rows", weight)
    assert padded.rules_ == plain.rules_
    assert padded.certificate_.meets_totals


def test_a_class_whose_rows_all_have_weight_0_is_no_class():
    survey = Survey(3)
    padded, plain, counted = both(survey, default, "a whole class")
    assert padded.classes_.tolist() == plain.classes_.tolist() == ["a", "c"]
    assert padded.rules_ == plain.rules_
    # Labels that users gave stay theirs.
    given = ~counted & ~np.equal(survey.y, None)
    assert (padded.transduction_[given] == "b").all()


def test_rows_of_weight_0_get_classes_but_no_stability():
    survey = Survey()
    padded, _, counted = both(survey, default, "five unlabeled rows")
    others = np.flatnonzero(~counted)
    assert padded.transduction_[others].tolist() == padded.predict(survey.X.iloc[others]).tolist()
    free = np.flatnonzero(np.equal(survey.y, None))
    assert padded.stability_.shape == free.shape
    assert np.isnan(padded.stability_[np.isin(free, others)]).all()
    assert not np.isnan(padded.stability_[~np.isin(free, others)]).any()


def test_a_table_without_weights_and_one_of_ones_and_a_zero_give_the_same_tree():
    survey = Survey()
    counted = np.arange(len(survey.y)) != 60
    totals = {"a": int((survey.truth[counted & np.equal(survey.y, None)] == "a").sum())}
    padded = default().fit(survey.X, survey.y, totals=totals, sample_weight=counted.astype(float))
    plain = default().fit(survey.X[counted], survey.y[counted], totals=totals)
    assert padded.rules_ == plain.rules_
    assert padded.certificate_.xi == 0


@pytest.mark.parametrize("kind", KINDS)
def test_the_papers_tree_is_the_one_without_rows_of_weight_0(kind):
    padded, plain, _ = both(Survey(n_rows=70), paper, kind)
    assert padded.certificate_.objective == pytest.approx(plain.certificate_.objective)
    assert padded.certificate_.least_xi == plain.certificate_.least_xi
    assert padded.data_summary_ == plain.data_summary_


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "make",
    [
        lambda: TopTotalClassifier(DecisionTreeClassifier(max_depth=3, random_state=0), random_state=0),
        lambda: PriorCorrectedClassifier(LogisticRegression()),
        lambda: SelfTrainedForest(n_estimators=20, random_state=0),
    ],
    ids=["top total", "prior corrected", "forest"],
)
def test_guides_give_what_they_give_without_rows_of_weight_0(make, n_classes, kind):
    survey = Survey(n_classes)
    padded, plain, counted = both(survey, make, kind)
    assert padded.transduction_[counted].tolist() == plain.transduction_.tolist()
    assert np.array_equal(padded.predict_proba(survey.X), plain.predict_proba(survey.X))
    if hasattr(plain, "probabilities_"):
        free = np.equal(survey.y, None)
        assert np.array_equal(padded.probabilities_[counted[free]], plain.probabilities_)
        assert not np.isnan(padded.probabilities_).any()


def test_a_forest_of_complete_labels_leaves_out_rows_of_weight_0():
    survey = Survey(3)
    weights = np.where(survey.truth == "b", 0.0, survey.weight)
    padded = SelfTrainedForest(n_estimators=10, random_state=0).fit(survey.X, survey.truth, sample_weight=weights)
    counted = weights > 0
    plain = SelfTrainedForest(n_estimators=10, random_state=0).fit(
        survey.X[counted], survey.truth[counted], sample_weight=weights[counted]
    )
    assert padded.classes_.tolist() == ["a", "c"]
    assert np.array_equal(padded.predict_proba(survey.X), plain.predict_proba(survey.X))
    assert padded.transduction_.tolist() == survey.truth.tolist()


def test_totals_by_domain_need_none_for_a_domain_without_weight():
    survey = Survey()
    zero = survey.region == "west"
    by_region = {region: survey.totals(survey.region == region) for region in ("north", "south")}
    weights = np.where(zero, 0.0, survey.weight)
    padded = default().fit(survey.X, survey.y, totals=by_region, domains=survey.region, sample_weight=weights)
    plain = default().fit(
        survey.X[~zero], survey.y[~zero], totals=by_region, domains=survey.region[~zero], sample_weight=weights[~zero]
    )
    assert padded.rules_ == plain.rules_
    assert padded.certificate_.cells == plain.certificate_.cells


def test_estimates_are_those_without_rows_of_weight_0():
    survey = Survey()
    zero = survey.zeros("labeled rows") | survey.zeros("five unlabeled rows")
    totals, weights = survey.totals(~zero), np.where(zero, 0.0, survey.weight)
    padded = led_by_regression().fit(survey.X, survey.y, totals=totals, sample_weight=weights)
    plain = led_by_regression().fit(survey.X[~zero], survey.y[~zero], totals=totals, sample_weight=weights[~zero])
    assert_alike(padded.estimate(survey.region, 3), plain.estimate(survey.region[~zero], 3))
    replicates = weights[:, None] * np.random.default_rng(0).choice([0.0, 2.0], size=(len(zero), 4))
    assert_alike(
        padded.estimate(survey.region, replicate_weights=replicates),
        plain.estimate(survey.region[~zero], replicate_weights=replicates[~zero]),
    )


def assert_alike(one: Any, other: Any) -> None:
    assert [(row["domain"], row["class"]) for row in one] == [(row["domain"], row["class"]) for row in other]
    for key in ("estimate", "se", "low", "high", "labeled_alone", "guide", "least", "most"):
        assert [row[key] for row in one] == pytest.approx([row[key] for row in other])


def test_a_register_is_the_one_without_rows_of_weight_0(monkeypatch):
    monkeypatch.setattr(batches, "MOST_WHOLE", 100)
    padded, plain, counted = both(Survey(n_rows=400), default, "five unlabeled rows")
    assert padded.certificate_.n_register == counted.sum()
    assert padded.rules_ == plain.rules_
    assert padded.transduction_[counted].tolist() == plain.transduction_.tolist()
    assert len(padded.stability_) == 355


def test_a_path_of_totals_does_not_count_rows_of_weight_0():
    survey = Survey()
    zero = survey.zeros("five unlabeled rows")
    totals, weights = survey.totals(~zero), np.where(zero, 0.0, survey.weight)
    value = totals["a"] - 3
    padded = default().totals_path(survey.X, survey.y, totals, of="a", values=[value], sample_weight=weights)
    plain = default().totals_path(
        survey.X[~zero], survey.y[~zero], totals, of="a", values=[value], sample_weight=weights[~zero]
    )
    assert list(padded) == list(plain)


@pytest.mark.parametrize("nothing", [0.0, 1e-13])
def test_labels_that_all_have_weight_0_are_refused(nothing):
    survey = Survey()
    weights = np.where(np.equal(survey.y, None), survey.weight, nothing)
    with pytest.raises(InvalidProblem, match=naming("positive", "weight", "label")):
        default().fit(survey.X, survey.y, totals={"a": 30.0}, sample_weight=weights)


def test_replicate_weights_fit_a_table_whose_other_weights_are_equal():
    survey = Survey()
    weights = np.where(survey.zeros("labeled rows"), 0.0, 5.0)
    counted = weights > 0
    totals = {"a": 5.0 * float((survey.truth[np.equal(survey.y, None)] == "a").sum())}
    clf = default().fit(survey.X, survey.y, totals=totals, sample_weight=weights)
    replicates = weights[:, None] * np.random.default_rng(0).choice([0.0, 2.0], size=(len(counted), 4))
    found = clf.estimate(survey.region, replicate_weights=replicates)
    plain = default().fit(survey.X[counted], survey.y[counted], totals=totals, sample_weight=weights[counted])
    assert_alike(found, plain.estimate(survey.region[counted], replicate_weights=replicates[counted]))


@pytest.mark.filterwarnings("ignore:.*total.* row")
@pytest.mark.parametrize("kind", ["five unlabeled rows", "a whole class"])
def test_a_report_says_the_same_of_the_fit_with_rows_of_weight_0(kind):
    survey = Survey(3)
    zero = survey.zeros(kind)
    known = {"totals": survey.totals(~zero), "sample_weight": np.where(zero, 0.0, survey.weight)}
    clf = default().fit(survey.X, survey.y, **known)
    page = report_html(clf, survey.X, survey.y, rivals=False, **known)  # other data than the fit's would be a warning
    assert "The data are not those of the fit" not in page


def test_a_completed_table_keeps_labels_of_weight_0(tmp_path):
    survey = Survey(3)
    zero = survey.zeros("a whole class")
    path = tmp_path / "people.csv"
    survey.X.assign(status=survey.y, w=np.where(zero, 0.0, survey.weight)).to_csv(path, index=False)
    totals = TableTotals([("a", str(survey.totals(~zero)["a"]))])
    request = FitRequest(Source(path), Roles("status", weight="w"), totals=totals, parameters={"random_state": 0})
    completed = pa.concat_tables(fit_encoded(encode_table(request)).completed())["status_completed"].to_pylist()
    given = ~np.equal(survey.y, None)
    assert np.array(completed, dtype=object)[given].tolist() == survey.y[given].tolist()
    assert "b" not in np.array(completed, dtype=object)[~given]
