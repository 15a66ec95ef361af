"""``explain`` takes a row in any of the forms users have one in, and refuses anything else in a sentence."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

from s2oct import ObliqueTree, OCTHClassifier, S2OCTClassifier, Topology
from s2oct.errors import InvalidProblem
from s2oct.tables.encoding import Column, Encoding
from s2oct.trees.features import NUMBER
from tests.messages import names

ROW = {"age": 31.0, "income": 57.2}


@pytest.fixture
def clf():
    """Is a person 27 or older, and poor for that age?"""
    made = OCTHClassifier()
    made.tree_ = ObliqueTree.of(Topology(2), [[-1, 0], [1, -0.5], [0, 1]], [-27, 3, 10])
    made.classes_ = np.array(["no", "yes"], dtype=object)
    made.n_features_in_ = 2
    made.feature_names_in_ = np.array(list(ROW), dtype=object)
    made.encoding_ = Encoding((Column("age", NUMBER, fill=30.0), Column("income", NUMBER, fill=50.0)))
    return made


@pytest.mark.parametrize(
    "row",
    [
        list(ROW.values()),
        np.array(list(ROW.values())),
        np.array([list(ROW.values())]),
        [list(ROW.values())],
        ROW,
        dict(reversed(ROW.items())),
        ROW | {"rent": 3},
        pd.Series(ROW),
        pd.Series(list(ROW.values())),
        pd.Series(ROW, dtype=object)[::-1],
        pd.DataFrame([ROW]),
        pd.DataFrame([ROW], index=[7])[["income", "age"]],
        pd.DataFrame([list(ROW.values())]),
        pl.DataFrame([ROW]),
    ],
)
def test_every_form_of_a_row_is_explained_alike(clf, row):
    found = clf.explain(row)
    assert [step.rule for step in found.steps] == ["age >= 27", "age - 0.5 * income <= 3"]
    assert [step.value for step in found.steps] == pytest.approx([31, 2.4])
    assert found.predicted == clf.predict(pd.DataFrame([ROW]))[0]


@pytest.mark.parametrize("row", [[np.nan, 57.2], [pd.NA, 57.2], {"age": None, "income": 57.2}], ids=str)
def test_a_missing_value_counts_as_in_the_fit(clf, row):
    assert [step.value for step in clf.explain(row).steps] == pytest.approx([30, 1.4])


@pytest.mark.parametrize(
    ("row", "named"),
    [
        ([1.0], (2, 1)),
        ([1.0, 2.0, 3.0], (2, 3)),
        (None, (2, "None")),
        ("ab", (2, "'ab'")),
        (3, (2, 3)),
        ([[1.0, 2.0], [3.0, 4.0]], ("one row", 2)),
        (pd.DataFrame([ROW, ROW]), ("one row", 2)),
        (pd.DataFrame([ROW])[:0], ("one row", 0)),
        (np.zeros((1, 1, 2)), (2, "(1, 1, 2)")),
        ({"age": 1.0}, ("'age'", "'income'")),
        (pd.DataFrame([[1, 2]], columns=["age", "age"]), ("distinct", "column names")),
        (pd.Series([1, 2], index=["age", "age"]), ("distinct",)),
        ([np.inf, 1.0], ("'age'", "inf")),
        (["old", 1.0], ("'age'", "'old'", 1)),
        ({"age": np.datetime64("2020-01-01"), "income": 1}, ("'age'", "finite")),
        ([pd.Timestamp("2020-01-01"), 1.0], ("'age'", "finite")),
    ],
)
def test_what_is_no_row_is_refused_in_a_sentence(clf, row, named):
    with pytest.raises(InvalidProblem) as refused:
        clf.explain(row)
    assert names(refused.value, *named)


def test_features_without_names_are_numbered(plane):
    found = plane.clf.explain(plane.X[0])
    assert found.predicted == plane.clf.predict(plane.X[:1])[0]
    assert any("x0" in step.rule for step in found.steps)
    assert str(plane.clf.explain({"x0": plane.X[0, 0], "x1": plane.X[0, 1]})) == str(found)


def test_classifier_must_be_fitted():
    with pytest.raises(NotFittedError):
        S2OCTClassifier().explain([1.0])
