"""What a fit did not reach reaches its user: as warnings, as notices, and row by row."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from s2oct.errors import S2OCTWarning
from s2oct.fit.context import SEARCHING
from tests.fitted import quick
from tests.messages import names, naming


def test_a_total_that_is_missed_is_a_warning_with_class_and_numbers():
    """Eight of ten rows are equal, so a total of 5 is missed by 3."""
    X = np.array([30, 35, 60, 65, *[40] * 8, 33, 62], dtype=float).reshape(-1, 1)
    y = ["yes", "yes", "no", "no", *[None] * 10]
    with pytest.warns(S2OCTWarning, match=naming("total", 3, "30 %", 8, 10)) as caught:
        clf = quick(depth=2).fit(X, y, totals={"yes": 5})
    assert caught[0].filename == __file__
    assert [str(one.message) for one in caught] == list(clf.notices_)
    assert names(clf.notices_[0], "equal features")
    assert clf.certificate_.proved


OUTWEIGHED = np.array([[0.0], [1.0], [8.0], [9.0], [2.0], [7.0], [10.0], [11.0]])
"""To have the rows at 10 and 11 in the class of those at 0 and 1, one split must get the labels at 8 and 9 wrong."""


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"C": 0.01, "solver": "highs"}, ("total", "deeper tree")),
        (
            {"guide": LogisticRegression(), "total_price": 0.1},
            ("total_price=float('inf')",),
        ),
    ],
    ids=["paper", "evidence"],
)
def test_a_total_that_labels_outweigh_names_what_may_help(parameters, named):
    y = ["a", "a", "b", "b", None, None, None, None]
    with pytest.warns(S2OCTWarning, match=naming(*named)):
        clf = quick(**parameters).fit(OUTWEIGHED, y, totals={"a": 4})
    assert (clf.certificate_.xi, clf.certificate_.least_xi) == (2.0, 0.0)


def test_a_total_that_is_missed_by_a_single_row_is_no_warning():
    y = ["a", "a", "b", "b", None, None, None]
    clf = quick(C=0.01, solver="highs").fit(OUTWEIGHED[:-1], y, totals={"a": 3})
    assert clf.certificate_.xi == 1
    assert not [notice for notice in clf.notices_ if "total" in notice]
    assert names(str(clf.certificate_), "total", "1 row", "33 %")


def test_a_class_without_labels_is_a_warning_even_if_the_tree_is_optimal():
    X = np.array([[0.0], [1.0], [2.0], [8.0], [9.0]])
    with pytest.warns(S2OCTWarning, match=naming("'b'", 2, 3)):
        clf = quick().fit(X, ["a", "a", None, None, None], totals={"a": 1, "b": 2})
    assert clf.certificate_.proved
    assert names(str(clf.certificate_), 1, "class", "label")


@pytest.mark.filterwarnings("ignore:.*total.* row")
def test_a_guided_fit_that_the_clock_cut_off_is_a_warning(stepping_clock):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(600, 8))
    y = [*rng.choice(["a", "b"], 100), *[None] * 500]

    class TimeFliesInTheSearch:
        def stage(self, name):
            stepping_clock.step = 0.2 if name == SEARCHING else 0.0

        def progress(self, moment): ...

    clf = quick(depth=2, guide=LogisticRegression(), time_limit=1.0)
    with pytest.warns(S2OCTWarning, match=naming("time limit")) as caught:
        clf.fit(X, y, totals={"a": 200}, listener=TimeFliesInTheSearch())
    assert clf.certificate_.ended == "time limit"
    assert [str(one.message) for one in caught] == list(clf.notices_)


@pytest.mark.filterwarnings("ignore:.*time limit")
def test_contradicted_rows_are_known_by_their_positions(survey):
    """Three people are equal; one of them answers no, two answer yes."""
    X, y, totals = survey
    X, y = np.vstack([X[[4]], X[[4]], X]), ["no", "yes", *y]
    clf = quick().fit(X, y, totals=totals)
    assert clf.contradicted_.tolist() == [0]
    assert clf.certificate_.n_contradicted == 1
    assert clf.transduction_[0] == "no"
    assert clf.predict(X)[0] == "yes"


def test_a_fit_without_contradictions_has_none(survey):
    X, y, totals = survey
    clf = quick().fit(X, y, totals=totals)
    assert clf.contradicted_.tolist() == []
    assert [notice for notice in clf.notices_ if "Too few labels" not in notice] == []
