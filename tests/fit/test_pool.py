"""Other trees that are as good: how long the search for them takes, and the note if there are too few."""

from __future__ import annotations

import numpy as np
import pytest

from s2oct import S2OCTClassifier
from s2oct.fit.simplicity import POOL, agreement, too_few_others
from s2oct.problem.problem import Problem
from s2oct.stopping import now
from s2oct.trees.tree import ObliqueTree, Topology
from tests.messages import names
from tests.preparing import prepared_as_is

# P2 weighs a row off the total against labels.
pytestmark = pytest.mark.filterwarnings("ignore:.*total.* row", "ignore:.*time limit")


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
    began = now()
    clf = S2OCTClassifier(depth=1, guide=None, time_limit=12.0, random_state=0).fit(X, y, totals=totals)
    assert clf.certificate_.proved
    assert now() - began <= clf.certificate_.seconds + POOL.longest_seconds + 1.0


def test_a_fit_without_a_stability_or_from_few_trees_says_why(sixty):
    X, y, totals = sixty
    clf = S2OCTClassifier(depth=1, guide=None, solver=None, time_limit=1.0, random_state=0).fit(X, y, totals=totals)
    is_known = "not known" not in clf.stability_note_
    assert np.isnan(clf.stability_).tolist() == [not is_known] * 40
    assert names(clf.stability_note_, "stability", "tree")
    with pytest.warns(UserWarning, match="interrupted"):
        clf.fit(X, y, totals=totals, stop=lambda: True)
    assert np.isnan(clf.stability_).all()
    assert names(clf.stability_note_, "interrupt")


def test_a_fit_with_a_stability_has_no_note(survey):
    X, y, totals = survey
    clf = S2OCTClassifier(depth=1, guide=None, solver=None, random_state=0).fit(X, y, totals=totals)
    assert not np.isnan(clf.stability_).any()
    assert clf.stability_note_ == ""


@pytest.mark.parametrize(
    ("n_found", "weighed"),
    [
        (POOL.enough, True),
        (3, True),
        (0, False),
        (0, True),
    ],
)
def test_only_too_few_trees_are_said_to_be_too_few(n_found, weighed):
    assert bool(too_few_others(n_found, "converged", weighed=weighed)) == (n_found < POOL.enough)


def test_few_other_trees_are_counted_in_the_note():
    note = too_few_others(1, "converged", weighed=True)
    assert names(note, "stability", 1, POOL.enough)


def test_one_other_tree_shows_which_rows_are_open():
    """Of the rows between the two splits nothing is settled, whatever the number of trees."""
    X = np.array([[0.0], [10.0], [2.0], [4.0], [6.0], [8.0]])
    problem = Problem.from_arrays(X, ["A", "B", None, None, None, None], totals={"A": 2})
    prepared = prepared_as_is(problem, depth=1)
    one, other = (ObliqueTree(Topology(1), np.array([[1.0]]), np.array([at]), np.array([0, 1])) for at in (5.0, 7.0))
    found = agreement(prepared, one, [prepared.scaling.to_model(other)])
    assert found.tolist() == [1.0, 1.0, 0.0, 1.0]
    assert np.isnan(agreement(prepared, one, [])).all()


def test_where_every_start_leads_to_the_fitted_tree_all_rows_are_stable_and_the_note_says_so():
    """Two clusters far apart: no tree as good divides them otherwise."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 0.1, (30, 2)), rng.normal(9, 0.1, (30, 2))])
    y = [None if i % 5 else "AB"[i // 30] for i in range(60)]
    clf = S2OCTClassifier(depth=1, random_state=0).fit(X, y, totals={"A": 24})
    assert clf.alternatives_ == ()
    assert clf.stability_.tolist() == [1.0] * 48
    assert names(clf.stability_note_, "no other tree")
