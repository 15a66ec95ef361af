"""How a result depends on a total."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from s2oct import Estimate, S2OCTClassifier
from s2oct.errors import InvalidProblem
from s2oct.estimators.totals_path import totals_at
from tests.messages import naming

X = [[1.0], [2.0], [8.0], [9.0], [1.5], [3.0], [4.0], [6.0], [7.0], [7.5], [2.5], [3.5], [5.0], [5.5]]
Y = ["no", "no", "yes", "yes", *[None] * 10]


def tree(**parameters):
    return S2OCTClassifier(guide=None, solver=None, time_limit=5, **{"depth": 1, "random_state": 0, **parameters})


def test_rows_change_class_as_the_total_moves_and_none_at_the_known_one():
    """One feature and one split: exactly as many rows change as the total moves."""
    path = tree().totals_path(X, Y, totals={"yes": 5}, of="yes", values=[2, 5, 6, 8])
    assert [step.value for step in path] == [2, 5, 6, 8]
    assert [step.achieved for step in path] == [2, 5, 6, 8]
    assert [step.changed for step in path] == [3, 0, 1, 3]
    assert [step.n_terms for step in path] == [1, 1, 1, 1]


def test_the_fit_at_the_known_total_is_on_the_path_even_if_nobody_asks_for_it():
    path = tree().totals_path(X, Y, totals={"yes": 5}, of="yes", values=[4])
    assert [step.value for step in path] == [4, 5]
    assert path.known == 5
    assert str(path).count("the known total") == 1


@pytest.mark.parametrize(
    ("total", "first", "last", "interval"),
    [(5, 4, 6, (5, 5)), (Estimate(5, se=1), 3, 7, (3.04, 6.96)), ((2, 8), 2, 8, (2, 8))],
    ids=["exact", "estimate", "bounds"],
)
def test_values_reach_over_what_is_known(total, first, last, interval):
    """20 % of an exact total, two standard errors of an estimate, all of an interval."""
    path = tree().totals_path(X, Y, totals={"yes": total}, of="yes")
    assert (path[0].value, path[-1].value) == (first, last)
    assert path.interval == pytest.approx(interval)
    assert path.known == 5


def test_other_classes_share_what_is_left_in_proportion():
    totals = np.array([16.0, 12.0, 20.0])
    assert totals_at(16.0, 0, totals, 48.0, is_weighted=False) == [16, 12, 20]
    assert totals_at(0.0, 0, totals, 48.0, is_weighted=False) == [0, 18, 30]
    assert totals_at(23.0, 0, totals, 48.0, is_weighted=False) == [23, 9, 16]
    assert totals_at(3.0, 1, totals, 48.0, is_weighted=True) == [20, 3, 25]


def test_weights_are_added_up():
    weights = np.full(len(X), 2.5)
    path = tree().totals_path(X, Y, totals={"yes": 12.5}, of="yes", values=[10.0, 12.5], sample_weight=weights)
    assert [(step.value, step.changed) for step in path] == [(10.0, 2.5), (12.5, 0.0)]


def test_a_path_without_a_seed_uses_one_seed_for_all_its_fits():
    path = tree(random_state=None).totals_path(X, Y, totals={"yes": 5}, of="yes", values=[5])
    assert [step.changed for step in path] == [0]


def test_the_classifier_itself_stays_as_it_is():
    clf = tree()
    clf.totals_path(X, Y, totals={"yes": 5}, of="yes", values=[5])
    with pytest.raises(NotFittedError):
        check_is_fitted(clf)


def test_a_path_is_a_sequence_that_prints_as_a_table():
    path = tree().totals_path(X, Y, totals={"yes": 5}, of="yes", values=[4, 5])
    assert len(path) == len(list(path)) == 2
    assert path[:1][0] is path[0]
    assert repr(path) == "<TotalsPath of class 'yes' with 2 totals>"
    header, first, second = str(path).splitlines()
    assert header.split() == ["total", "achieved", "rows", "changed", "terms", "cost"]
    assert first.split()[:4] == ["4", "4", "1", "1"]
    assert second.endswith("the known total")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"of": "maybe"}, ("'no'", "'yes'", "'maybe'")),
        ({"of": "yes", "values": [11]}, (0, 10, 11)),
        ({"of": "yes", "values": [-1]}, (0, 10, -1)),
    ],
    ids=["class", "too large", "negative"],
)
def test_what_no_path_can_have_is_refused(arguments, named):
    with pytest.raises(InvalidProblem, match=naming(*named)):
        tree().totals_path(X, Y, totals={"yes": 5}, **arguments)


def test_totals_by_domain_are_refused_because_none_of_them_is_the_one_that_moves():
    totals, domains = {"east": {"yes": 2}, "west": {"yes": 3}}, ["east", "west"] * 7
    with pytest.raises(InvalidProblem, match=naming("total")):
        tree().totals_path(X, Y, totals=totals, domains=domains, of="yes")
