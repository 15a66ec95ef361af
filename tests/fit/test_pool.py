"""Other trees that are as good: how long they are looked for, and what is said where they are too few."""

from __future__ import annotations

import numpy as np
import pytest

from s2oct import S2OCTClassifier
from s2oct.fit.pool import LEAST_POOL, LONGEST_POOL, too_few_others
from tests.stopwatch import Stopwatch

pytestmark = [
    pytest.mark.usefixtures("compiled"),
    # P2 weighs a row off the total against labels.
    pytest.mark.filterwarnings("ignore:The tree misses the total"),
]


@pytest.fixture(scope="module")
def sixty():
    """60 rows and a share of 40 %: P2 is proved within seconds, and trees of no higher cost are rare."""
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.normal(size=60), rng.integers(0, 5, 60), rng.normal(size=60) * 1000])
    truth = np.where(X[:, 0] + 0.3 * X[:, 1] + rng.normal(size=60) * 0.05 > 0.5, "B", "A")
    return X, [*truth[:20].tolist(), *[None] * 40], {"A": 16}


def test_a_fit_ends_soon_after_its_tree_is_proved_also_where_other_trees_are_rare(sixty):
    """It used to look for others as long as the proof had taken, often to the time limit."""
    X, y, totals = sixty
    watch = Stopwatch()
    clf = S2OCTClassifier(depth=1, guide=None, time_limit=12.0, random_state=0).fit(X, y, totals=totals)
    assert clf.certificate_.proved
    assert watch.within(clf.certificate_.seconds + LONGEST_POOL + 1.0)


def test_a_fit_without_a_stability_says_why(sixty):
    X, y, totals = sixty
    clf = S2OCTClassifier(depth=1, guide=None, solver=None, time_limit=1.0, random_state=0).fit(X, y, totals=totals)
    assert np.isnan(clf.stability_).all()
    assert "other trees of no higher cost, and the fit found" in clf.stability_note_
    with pytest.warns(UserWarning, match="interrupted"):
        clf.fit(X, y, totals=totals, stop=lambda: True)
    assert np.isnan(clf.stability_).all()
    assert clf.stability_note_.endswith("the fit was interrupted before it looked for other trees.")


def test_a_fit_with_a_stability_has_no_note(survey):
    X, y, totals = survey
    clf = S2OCTClassifier(depth=1, guide=None, solver=None, random_state=0).fit(X, y, totals=totals)
    assert not np.isnan(clf.stability_).any()
    assert clf.stability_note_ == ""


@pytest.mark.parametrize(
    ("n_found", "weighed", "said"),
    [
        (LEAST_POOL, True, ""),
        (3, True, "needs at least 5 other trees nearly as good, and the fit found 3."),
        (0, False, "needs at least 5 other trees of no higher cost, and the fit found 0."),
    ],
)
def test_what_is_said_of_too_few_trees(n_found, weighed, said):
    assert too_few_others(n_found, "converged", weighed=weighed).endswith(said)
    assert bool(too_few_others(n_found, "converged", weighed=weighed)) == bool(said)
