import numpy as np
import pandas as pd
import polars as pl
import pytest

from s2oct.errors import InvalidProblem
from s2oct.problem.labels import UNLABELED, read_labels
from tests.messages import naming

U = UNLABELED

MARKED = {
    "list with None": (["b", None, "a"], ["a", "b"], [1, U, 0]),
    "tuple": (("b", None, "a"), ["a", "b"], [1, U, 0]),
    "generator": ((label for label in ["b", None, "a"]), ["a", "b"], [1, U, 0]),
    "strings with NaN": (["b", np.nan, "a"], ["a", "b"], [1, U, 0]),
    "strings with NA": (["b", pd.NA, "a"], ["a", "b"], [1, U, 0]),
    "integers with NaT": ([1, pd.NaT, 0], [0, 1], [1, U, 0]),
    "integers with None": ([7, None, 3], [3, 7], [1, U, 0]),
    "integers with a 32-bit NaN": ([7, np.float32("nan"), 3], [3, 7], [1, U, 0]),
    "floats with NaN": ([1.0, np.nan, 0.0], [0.0, 1.0], [1, U, 0]),
    "booleans with None": ([True, None, False], [False, True], [1, U, 0]),
    "all markers at once": (["b", None, np.nan, pd.NA, pd.NaT, "a"], ["a", "b"], [1, U, U, U, U, 0]),
    "array of floats": (np.array([1.0, np.nan, 0.0]), [0.0, 1.0], [1, U, 0]),
    "array of objects": (np.array(["b", None, "a"], dtype=object), ["a", "b"], [1, U, 0]),
    "array of integer objects": (np.array([np.int64(3), None, np.int64(2)], dtype=object), [2, 3], [1, U, 0]),
    "array of strings": (np.array(["b", "a"]), ["a", "b"], [1, 0]),
    "array of booleans": (np.array([True, False]), [False, True], [1, 0]),
    "array of small integers": (np.array([9, 4], dtype=np.uint8), [4, 9], [1, 0]),
    "array with -1": (np.array([1, -1, 0]), [0, 1], [1, U, 0]),
    "list with -1": ([2, -1, 1], [1, 2], [1, U, 0]),
    "floats with -1": (np.array([1.0, -1.0, 0.0]), [0.0, 1.0], [1, U, 0]),
    "-1 beside three classes": ([3, 2, 1, -1], [1, 2, 3], [2, 1, 0, U]),
    "-1 is a class beside NaN": ([-1.0, 1.0, np.nan], [-1.0, 1.0], [0, 1, U]),
    "-1 is the only class beside None": ([-1, -1, None], [-1], [0, 0, U]),
    "the string -1 is a class": (["-1", "1", None], ["-1", "1"], [0, 1, U]),
    "pandas object": (pd.Series(["b", None, "a"], dtype=object), ["a", "b"], [1, U, 0]),
    "pandas string": (pd.Series(["b", None, "a"], dtype="string"), ["a", "b"], [1, U, 0]),
    "pandas nullable integer": (pd.Series([1, None, 0], dtype="Int64"), [0, 1], [1, U, 0]),
    "pandas nullable boolean": (pd.Series([True, None, False], dtype="boolean"), [False, True], [1, U, 0]),
    "pandas category": (pd.Series(["b", None, "a"], dtype="category"), ["a", "b"], [1, U, 0]),
    "pandas category without a series": (pd.Categorical(["b", None, "a"]), ["a", "b"], [1, U, 0]),
    "pandas category of integers": (pd.Series([2, None, 1], dtype="category"), [1, 2], [1, U, 0]),
    "pandas with another index": (pd.Series(["b", None, "a"], index=[9, 3, 5]), ["a", "b"], [1, U, 0]),
    "pandas index": (pd.Index(["b", None, "a"]), ["a", "b"], [1, U, 0]),
    "polars string": (pl.Series(["b", None, "a"]), ["a", "b"], [1, U, 0]),
    "polars integer": (pl.Series([1, None, 0]), [0, 1], [1, U, 0]),
    "polars boolean": (pl.Series([True, None, False]), [False, True], [1, U, 0]),
    "polars category": (pl.Series(["b", None, "a"], dtype=pl.Categorical), ["a", "b"], [1, U, 0]),
}


@pytest.mark.parametrize(("y", "classes", "codes"), MARKED.values(), ids=MARKED)
def test_labels_and_markers_are_read(y, classes, codes):
    """Classes come sorted and in the user's own type; every kind of marker means unlabeled."""
    labels = read_labels(y)
    assert labels.classes.tolist() == classes
    assert [type(label) for label in labels.classes.tolist()] == [type(label) for label in classes]
    assert labels.codes.tolist() == codes


@pytest.mark.parametrize(
    ("y", "named", "classes", "codes"),
    [
        ([-1, 1], [-1, 1], [-1, 1], [0, 1]),
        ([-1, 1], [0, 1], [0, 1], [U, 1]),
        ([-1, 1, 1], [1, -1], [-1, 1], [0, 1, 1]),
        (["a", None], ["a", "b"], ["a", "b"], [0, U]),
        ([True, None], [False], [False, True], [1, U]),
        (np.array([1, -1, -1]), [1, 2], [1, 2], [0, U, U]),
    ],
    ids=str,
)
def test_totals_settle_what_labels_leave_open(y, named, classes, codes):
    """A class that only the totals name is a class, and -1 is one where the totals name it."""
    labels = read_labels(y, named=named)
    assert labels.classes.tolist() == classes
    assert labels.codes.tolist() == codes


@pytest.mark.parametrize("y", [[-1, 1], [-1, 0, -1], np.array([-1.0, 1.0]), [-1, -1]], ids=str)
def test_minus_one_beside_at_most_one_other_value_is_ambiguous(y):
    with pytest.raises(InvalidProblem, match=naming(-1, "NaN", "None", "NA")):
        read_labels(y)


def test_minus_one_and_another_marker_together_are_refused():
    with pytest.raises(InvalidProblem, match=naming("NaN", -1)):
        read_labels([0, 1, -1, np.nan])


def test_counts_are_those_of_the_labeled_rows():
    assert read_labels(["b", "a", None, "b"]).counts().tolist() == [1, 2]


def test_a_class_without_labeled_rows_counts_0():
    assert read_labels(["a", None], named=["a", "b"]).counts().tolist() == [1, 0]


def test_a_column_of_labels_is_read_as_a_vector():
    """Without a warning: the estimators warn, see `s2oct.problem.known.warn_of_column`."""
    assert read_labels(np.array([["a"], ["b"]])).codes.tolist() == [0, 1]


@pytest.mark.parametrize("y", [[b"a", "b", None], ["a", 1, None], [True, 0, None], ["a", "b", -1]], ids=str)
def test_labels_of_different_kinds_are_refused(y):
    with pytest.raises(InvalidProblem, match=naming("boolean")):
        read_labels(y)


def test_a_class_named_by_the_totals_may_exceed_the_type_of_the_labels():
    """Small integer types are a way of storing labels, not a range of classes."""
    labels = read_labels(np.array([1, -1, -1], dtype=np.int8), named=[1, 300])
    assert labels.classes.tolist() == [1, 300]
