"""The classifier with several classes, domains, bounds and weights, as users pass them."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier

from s2oct import Estimate, S2OCTClassifier
from s2oct.errors import InvalidProblem, S2OCTWarning
from tests.messages import naming

pytestmark = pytest.mark.filterwarnings("ignore:.*total.* row")


class Survey:
    """Three clouds of rows in two regions, one class each; few rows are labeled."""

    def __init__(self, n_rows: int = 120, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.classes = rng.choice(["in", "out", "seeking"], n_rows)
        centre = {"in": (0, 0), "out": (4, 0), "seeking": (0, 4)}
        X = np.array([centre[c] for c in self.classes]) + rng.normal(scale=0.7, size=(n_rows, 2))
        self.X = pd.DataFrame(X, columns=["age", "years"])
        self.region = rng.choice(["north", "south"], n_rows)
        self.is_labeled = np.zeros(n_rows, dtype=bool)
        for c in np.unique(self.classes):
            self.is_labeled[rng.permutation(np.flatnonzero(self.classes == c))[:6]] = True
        self.y = np.where(self.is_labeled, self.classes, None)
        self.weights = rng.integers(1, 5, n_rows).astype(float)

    @property
    def counts(self) -> dict[str, int]:
        return pd.Series(self.classes[~self.is_labeled]).value_counts().to_dict()

    @property
    def table(self) -> pd.DataFrame:
        return pd.crosstab(self.region[~self.is_labeled], self.classes[~self.is_labeled])


@pytest.fixture
def survey() -> Survey:
    return Survey()


@pytest.mark.parametrize(
    "guide", ["auto", None, RandomForestClassifier(30, random_state=0)], ids=["auto", "none", "rf"]
)
def test_three_classes_are_told_apart_and_all_totals_are_met(survey, guide):
    clf = S2OCTClassifier(guide=guide, time_limit=10, random_state=0).fit(survey.X, survey.y, totals=survey.counts)
    assert np.mean(clf.predict(survey.X) == survey.classes) > 0.95
    found = pd.Series(clf.transduction_[~survey.is_labeled]).value_counts().to_dict()
    assert found == survey.counts
    assert clf.certificate_.meets_totals
    assert "seeking" in clf.rules_


def test_probabilities_of_three_classes_agree_with_predictions_and_add_up(survey):
    clf = S2OCTClassifier(random_state=0).fit(survey.X, survey.y, totals=survey.counts)
    probabilities = clf.predict_proba(survey.X)
    assert probabilities.shape == (120, 3)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert (clf.classes_[probabilities.argmax(axis=1)] == clf.predict(survey.X)).all()
    decision = clf.decision_function(survey.X)
    assert (clf.classes_[decision.argmax(axis=1)] == clf.predict(survey.X)).all()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.from_pandas], ids=["pandas", "polars"])
def test_a_column_of_text_divides_the_rows_and_is_no_feature(survey, frame):
    wide = frame(survey.X.assign(region=survey.region))
    clf = S2OCTClassifier(random_state=0).fit(wide, survey.y, totals=survey.table, domains="region")
    assert clf.feature_names_in_.tolist() == ["age", "years"]
    other = S2OCTClassifier(random_state=0).fit(survey.X, survey.y, totals=survey.table, domains=survey.region)
    assert clf.rules_ == other.rules_
    again = pickle.loads(pickle.dumps(clf))
    assert again.predict(wide).tolist() == clf.predict(frame(survey.X)).tolist()


def test_cells_of_the_certificate_are_what_the_tree_assigns(survey):
    clf = S2OCTClassifier(random_state=0).fit(survey.X, survey.y, totals=survey.table, domains=survey.region)
    unlabeled = ~survey.is_labeled
    assigned = pd.crosstab(survey.region[unlabeled], clf.transduction_[unlabeled])
    for cell in clf.certificate_.cells:
        label = clf.classes_[cell.class_index]
        assert cell.low == cell.high == survey.table.loc[cell.domain, label]
        assert cell.assigned == assigned.loc[cell.domain].get(label, 0)


def test_a_total_that_cannot_be_met_is_named_with_domain_and_class(survey):
    survey.X[:] = 1.0
    with pytest.warns(S2OCTWarning, match=r"'north'.*'\w+'.* \d+.* \d+"):
        S2OCTClassifier(random_state=0).fit(survey.X, survey.y, totals=survey.table, domains=survey.region)


def test_shares_counts_and_population_totals_say_the_same(survey):
    population = pd.Series(survey.classes).value_counts().to_dict()
    m = int((~survey.is_labeled).sum())
    fits = [
        S2OCTClassifier(random_state=0).fit(survey.X, survey.y, **told).rules_
        for told in (
            {"totals": survey.counts},
            {"population_totals": population},
            {"totals": {k: n / m for k, n in survey.counts.items()}, "as_shares": True},
        )
    ]
    assert fits[0] == fits[1] == fits[2]


def test_uniform_weights_change_nothing(survey):
    plain = S2OCTClassifier(random_state=0).fit(survey.X, survey.y, totals=survey.counts)
    weighted = S2OCTClassifier(random_state=0).fit(
        survey.X, survey.y, totals={k: 0.1 * n for k, n in survey.counts.items()}, sample_weight=np.full(120, 0.1)
    )
    assert weighted.rules_ == plain.rules_
    assert weighted.certificate_.objective == pytest.approx(0.1 * plain.certificate_.objective)
    assert weighted.certificate_.assigned == pytest.approx([0.1 * n for n in plain.certificate_.assigned])


def test_weighted_totals_are_met_to_within_half_a_row_of_mean_weight(survey):
    unlabeled = ~survey.is_labeled
    known = pd.Series(survey.weights[unlabeled]).groupby(survey.classes[unlabeled]).sum().to_dict()
    clf = S2OCTClassifier(random_state=0).fit(survey.X, survey.y, totals=known, sample_weight=survey.weights)
    found = pd.Series(survey.weights[unlabeled]).groupby(clf.transduction_[unlabeled]).sum().to_dict()
    half = 0.5 * survey.weights[unlabeled].mean()
    assert clf.certificate_.meets_totals
    assert all(abs(found[label] - total) <= half + 1e-9 for label, total in known.items())


def test_bounds_and_estimates_are_respected_and_the_class_left_out_follows(survey):
    low = survey.counts["in"] - 3
    told = {"in": (low, low + 1), "out": Estimate(survey.counts["out"], se=1.0)}
    clf = S2OCTClassifier(random_state=0).fit(survey.X, survey.y, totals=told)
    assigned = dict(zip(clf.classes_.tolist(), clf.certificate_.assigned, strict=True))
    assert low <= assigned["in"] <= low + 1
    assert abs(assigned["out"] - survey.counts["out"]) <= 1.96
    assert clf.certificate_.meets_totals


def test_two_margins_are_both_in_the_certificate(survey):
    half = np.where(np.arange(120) < 60, "first", "second")
    tables = [survey.table, pd.crosstab(half[~survey.is_labeled], survey.classes[~survey.is_labeled])]
    clf = S2OCTClassifier(random_state=0).fit(survey.X, survey.y, totals=tables, domains=[survey.region, half])
    assert {cell.domain for cell in clf.certificate_.cells} == {"north", "south", "first", "second"}


def test_more_classes_than_leaves_are_refused_with_the_depth_that_is_enough(survey):
    with pytest.raises(InvalidProblem, match=naming(3, "depth", 2)):
        S2OCTClassifier(depth=1).fit(survey.X, survey.y, totals=survey.counts)


def test_the_automatic_depth_has_a_leaf_for_every_class():
    X = np.arange(60.0)[:, None]
    y = [f"c{k // 12}" if k % 3 == 0 else None for k in range(60)]
    clf = S2OCTClassifier(random_state=0).fit(X, y, totals={f"c{k}": 8 for k in range(5)})
    assert clf.tree_.topology.depth == 3
    assert len(set(clf.predict(X))) == 5
