"""Fits to registers: a sample shapes the tree, and all rows count."""

from __future__ import annotations

import numpy as np
import pytest

from s2oct import S2OCTClassifier
from s2oct.errors import InvalidProblem
from s2oct.evidence.evidence import EvidenceSpec
from tests.fit.register_tables import PLAIN, Table, table
from tests.messages import names, naming


@pytest.fixture(scope="module")
def fitted() -> tuple[Table, S2OCTClassifier]:
    small = table()
    return small, S2OCTClassifier(depth=1, random_state=0)._fit_register(small.register(most=300), PLAIN)


def test_a_register_is_fitted_by_its_sample_and_meets_the_total_of_all_rows(
    fitted: tuple[Table, S2OCTClassifier],
) -> None:
    small, clf = fitted
    unlabeled = np.array([label is None for label in small.y])
    assert (clf.predict(small.X[unlabeled]) == "A").sum() == small.totals["A"]
    found = clf.certificate_
    assert (found.assigned[0], found.n_unlabeled, found.xi) == (small.totals["A"], 1960, 0)
    assert names(str(found), "guide", 340, "2,000")
    assert found.n_contradicted == (clf.predict(small.X[~unlabeled]) != small.y[~unlabeled]).sum()
    assert clf.data_summary_.totals == (small.totals["A"], 1960 - small.totals["A"])


def test_prices_and_least_leaves_are_in_rows_of_the_register() -> None:
    small = table()
    clf = S2OCTClassifier(depth=2, min_rows_per_leaf=500, random_state=0)
    clf._fit_register(small.register(most=300), PLAIN)
    sizes = np.bincount(clf.tree_.apply(small.X))
    assert clf.certificate_.n_splits > 0
    assert sizes[sizes > 0].min() >= 500
    assert EvidenceSpec(term_price=10, min_rows=7).of_sample(0.25) == EvidenceSpec(term_price=2.5, min_rows=2)


def test_estimates_of_a_register_need_its_rows_again_and_simpler_trees_are_those_of_the_sample(
    fitted: tuple[Table, S2OCTClassifier],
) -> None:
    small, clf = fitted
    with pytest.raises(InvalidProblem, match=naming(340, "2,000")):
        clf.estimate()
    found = clf.estimate(np.arange(2000) % 2, X=small.X, y=small.y, totals=small.totals)
    observed = (small.y == "A").sum()
    assert sum(row["estimate"] for row in found if row["class"] == "A") == pytest.approx(small.totals["A"] + observed)
    assert len(clf.simplicity_path(assess=False)) > 0
    assert len(clf.stability_) == 300


def test_a_fit_that_has_no_time_to_count_says_so() -> None:
    small = table()
    clf = S2OCTClassifier(depth=1, random_state=0)
    clf._fit_register(small.register(most=300), PLAIN, stop=lambda: True)
    assert any(names(notice, "not counted", "2,000") for notice in clf.notices_)
    assert not clf.certificate_.counted
    assert names(str(clf.certificate_), "2,000", "total", "time")


def test_a_large_array_is_a_register_and_is_not_copied_to_double_precision() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_100, 2)).astype(np.float32)
    truth = np.where(X[:, 0] > 0.4, "A", "B").astype(object)
    y = np.where(np.arange(len(X)) < 100, truth, None)
    clf = S2OCTClassifier(depth=1, random_state=0)
    clf.fit(X, y, totals={"A": int((truth[100:] == "A").sum())})
    assert clf.certificate_.n_register == 100_100
    assert clf.certificate_.xi == 0
    assert (clf.transduction_ == truth).mean() > 0.97
    assert np.isfinite(clf.stability_).sum() in (0, 50_000)


def test_a_total_that_rows_of_equal_value_cannot_meet_is_missed_with_a_warning() -> None:
    small = table(900, whole_numbers=True)
    clf = S2OCTClassifier(depth=1, features=[0], random_state=0)
    clf._fit_register(small.register(most=300), PLAIN)
    (notice,) = [notice for notice in clf.notices_ if "total" in notice]
    assert names(notice, "equal")
    unlabeled = np.array([label is None for label in small.y])
    off = abs(int((clf.predict(small.X[unlabeled]) == "A").sum()) - small.totals["A"])
    assert clf.certificate_.xi == off > 0


@pytest.mark.parametrize("depth", [1, 2])
def test_stability_is_about_the_tree_of_all_rows(depth: int) -> None:
    small = table()
    clf = S2OCTClassifier(depth=depth, random_state=0)._fit_register(small.register(most=300), PLAIN)
    assert clf.alternatives_
    rows = clf._session.fit.problem.X_unlabeled
    shares = np.mean([other.predict(rows) == clf.tree_.predict(rows) for other in clf.alternatives_], axis=0)
    # Alternatives that do not differ from the tree any more are left out, but they agreed.
    assert (clf.stability_ >= shares - 1e-12).all()
    assert (clf.stability_[shares == 1] == 1).all()
