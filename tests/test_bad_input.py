"""The bad-input table: what a user can get wrong, and the sentence that says what was expected and what arrived."""

from collections.abc import Callable
from datetime import date, time
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from s2oct import LabeledKFold, ObliqueTree, OCTHClassifier, S2OCTClassifier, Topology
from s2oct.errors import InvalidColumns, InvalidProblem, S2OCTWarning
from s2oct.export import tree_to_dot, tree_to_onnx, tree_to_python, tree_to_r, tree_to_sql, tree_to_text

X = [[1.0], [2.0], [8.0], [9.0], [1.5], [3.0], [7.0], [7.5]]
Y = ["no", "no", "yes", "yes", None, None, None, None]
FRAME = pd.DataFrame({"age": [1.0, 2, 8, 9, 1, 3, 7, 7], "height": [5.0, 1, 2, 8, 4, 2, 2, 1]})


def fit(X: Any = X, y: Any = Y, **keywords: Any) -> S2OCTClassifier:
    """Fit with everything right but for what a case changes."""
    given = {name: keywords.pop(name) for name in ("totals", "population_totals") if name in keywords}
    parameters = {"depth": 1, "random_state": 0, **keywords}
    return S2OCTClassifier(**parameters).fit(X, y, **(given or {"totals": {"yes": 2}}))


def fit_with(**arguments: Any) -> S2OCTClassifier:
    """Fit with other arguments of the method ``fit``."""
    return S2OCTClassifier(depth=1, random_state=0).fit(X, Y, **{"totals": {"yes": 2}, **arguments})


def octh(X: Any = X, y: Any = Y, **parameters: Any) -> OCTHClassifier:
    """The same for OCT-H."""
    return OCTHClassifier(**{"depth": 1, "time_limit": 5.0, "random_state": 0, **parameters}).fit(X, y)


def replaced(value: Any) -> list[list[Any]]:
    """The rows with another value in the first."""
    return [[value], *X[1:]]


def column(name: str, values: Any) -> pd.DataFrame:
    """The frame with one more column."""
    return FRAME.assign(**{name: values})


TREE = ObliqueTree.of(Topology(1), np.array([[1.0]]), np.array([5.0]))

Call = Callable[[], Any]
CASES: dict[str, tuple[Call, type[Exception], str]] = {
    # Arguments of fit
    "stop that is not a callable": (
        lambda: fit_with(stop=True),
        TypeError,
        "stop must be a function without arguments, or None, got True",
    ),
    "listener that is a number": (
        lambda: fit_with(listener=5),
        TypeError,
        "listener must have the methods stage and progress, got 5",
    ),
    "listener that is a function": (
        lambda: fit_with(listener=print),
        TypeError,
        "listener must have the methods stage and progress, got <built-in function print>",
    ),
    "stop of OCT-H": (
        lambda: OCTHClassifier(depth=1).fit(X, [0, 0, 1, 1] * 2, stop=1),
        TypeError,
        "stop must be a function without arguments",
    ),
    "as_shares in words": (
        lambda: fit_with(totals={"yes": 0.5}, as_shares="no"),
        TypeError,
        "as_shares must be True or False, got 'no'",
    ),
    "weights whose sum is infinite": (
        lambda: fit_with(sample_weight=[1e308] * 8),
        ValueError,
        r"The largest weight must be between 1e-100 and 1e\+100, got 1e\+308 in row 0: divide all weights",
    ),
    "one huge weight as every row's": (
        lambda: fit_with(sample_weight=1e308),
        ValueError,
        r"The largest weight must be between 1e-100 and 1e\+100, got 1e\+308 in row 0",
    ),
    "tiny weights": (
        lambda: fit_with(sample_weight=[0.0] * 7 + [5e-324]),
        ValueError,
        r"The largest weight must be between 1e-100 and 1e\+100, got 5e-324 in row 7",
    ),
    # Writers
    **{
        f"too few classes for {writer.__name__}": (
            lambda writer=writer: writer(TREE, ["age"], ["no"]),
            ValueError,
            "The tree has 2 classes, but only 1 class was given",
        )
        for writer in (tree_to_text, tree_to_dot, tree_to_sql, tree_to_python, tree_to_r, tree_to_onnx)
    },
    # Features
    "features with one axis": (lambda: fit(X=[1.0] * 8), ValueError, "Expected 2D array, got 1D array"),
    "features with three axes": (lambda: fit(X=np.zeros((8, 1, 1))), ValueError, "dim 3, while dim <= 2 is required"),
    "no rows": (lambda: fit(X=np.empty((0, 2)), y=[]), ValueError, r"0 sample\(s\) .* minimum of 1 is required"),
    "no features": (lambda: fit(X=np.empty((8, 0))), ValueError, r"0 feature\(s\) .* minimum of 1 is required"),
    "no table": (lambda: fit(X=None), ValueError, r"Expected a table of rows and features, got None"),
    "a file name for a table": (
        lambda: fit(X="survey.csv"),
        ValueError,
        r"Expected a table of rows and features, got 'survey\.csv'",
    ),
    "rows of different lengths": (
        lambda: fit(X=[[1.0, 2.0], *X[1:]]),
        ValueError,
        r"Expected rows of equal length, got rows of 1 and 2 features",
    ),
    "infinity in an array": (lambda: fit(X=replaced(np.inf)), ValueError, "Input X contains infinity"),
    "text in an array": (
        lambda: fit(X=replaced("old")),
        InvalidProblem,
        "'x0' has 'old' in row 1",
    ),
    "text in an object array": (
        lambda: fit(X=np.array(replaced("old"), dtype=object)),
        InvalidProblem,
        "'x0' has 'old' in row 1",
    ),
    "complex numbers": (lambda: fit(X=np.array(X) * 1j), ValueError, "Complex data not supported"),
    "infinity in a column": (
        lambda: fit(X=column("income", [np.inf, *[1.0] * 7])),
        InvalidProblem,
        r"Expected finite features, got infinity \(inf\) in column 'income'",
    ),
    "a column of dates": (
        lambda: fit(X=column("born", pd.date_range("1990", periods=8))),
        InvalidProblem,
        "Expected no dates in column 'born'.* use a number instead",
    ),
    "dates in an array": (
        lambda: fit(X=np.array([["2020-01-01"]] * 8, dtype="datetime64[D]")),
        InvalidProblem,
        "Expected no dates in column 'x0'.* use a number instead, for instance a year",
    ),
    "durations in an array": (
        lambda: fit(X=np.ones((8, 1), "timedelta64[s]")),
        InvalidProblem,
        "Expected no dates in column 'x0'",
    ),
    "dates in a list": (
        lambda: fit(X=[[date(2020, 1, i)] for i in range(1, 9)]),
        InvalidProblem,
        "Expected no dates in column 'x0'",
    ),
    "durations in a column": (
        lambda: fit(X=column("waited", pd.to_timedelta(range(8), unit="h"))),
        InvalidProblem,
        "Expected no dates in column 'waited', got duration",
    ),
    "dates in a polars frame": (
        lambda: fit(X=pl.DataFrame({"age": range(8), "born": [date(2020, 1, 1)] * 8, "at": [time(1)] * 8})),
        InvalidProblem,
        "(?s)Expected no dates in column 'born'.*Expected no dates in column 'at'",
    ),
    "timestamps in an Arrow table": (
        lambda: fit(X=pa.table({"age": range(8), "born": pa.array(range(8), pa.timestamp("us"))})),
        InvalidProblem,
        r"column 'born', got timestamp\[us\] values",
    ),
    "Arrow dates in a pandas frame": (
        lambda: fit(X=column("born", pd.Series(range(8), dtype="timestamp[us][pyarrow]"))),
        InvalidProblem,
        r"column 'born', got timestamp\[us\].* values",
    ),
    "a feature beyond all floats": (lambda: fit(X=replaced(10**400)), InvalidProblem, "too large for a float"),
    "a feature of thousands of digits": (lambda: fit(X=replaced(10**5000)), InvalidProblem, "too large for a float"),
    "a column name twice": (
        lambda: fit(X=pd.DataFrame(np.ones((8, 2)), columns=["age", "age"])),
        InvalidProblem,
        r"Expected distinct column names, got \['age'\] more than once",
    ),
    "a sparse table": (lambda: fit(X=sp.csr_array(X)), TypeError, r"Sparse data was passed for X.*\.toarray\(\)"),
    "features too large for an unscaled model": (
        lambda: fit(X=np.array(X) * 1e100, scaling=None),
        InvalidProblem,
        r"Expected .*, got .*scaling='paper'",
    ),
    # Labels
    "no labels": (lambda: fit(y=None), InvalidProblem, "requires y to be passed, but the target y is None"),
    "fewer labels than rows": (lambda: fit(y=Y[:-1]), InvalidProblem, "one label per row, got 7 labels for 8 rows"),
    "more labels than rows": (lambda: fit(y=[*Y, None]), InvalidProblem, "one label per row, got 9 labels for 8 rows"),
    "labels with two columns": (
        lambda: fit(y=np.array([["no", "yes"]] * 8)),
        InvalidProblem,
        r"Expected y to be one-dimensional, got shape \(8, 2\)",
    ),
    "nested labels": (lambda: fit(y=[["no"]] * 8), InvalidProblem, "one-dimensional, got nested sequences"),
    "a frame of labels": (
        lambda: fit(y=pd.DataFrame({"a": Y, "b": Y})),
        InvalidProblem,
        r"Expected y to be one-dimensional, got shape \(8, 2\)",
    ),
    "a column name for labels": (lambda: fit(y="employed"), InvalidProblem, "a sequence of labels, got str"),
    "a number for labels": (lambda: fit(y=1), InvalidProblem, "a sequence of labels, got int"),
    "sparse labels": (
        lambda: fit(y=sp.csr_array(np.eye(8))),
        InvalidProblem,
        "Expected y to be .*, got .*(csr_array|sparse)",
    ),
    "no labeled row": (lambda: fit(y=[None] * 8), InvalidProblem, "at least one labeled row, got none"),
    "no labeled row but NaN": (lambda: fit(y=np.full(8, np.nan)), InvalidProblem, "at least one labeled row, got none"),
    "one class only": (
        lambda: fit(y=["yes"] * 4 + [None] * 4),
        InvalidProblem,
        "labeled rows of two classes, got one class only: 'yes': one class is enough if the totals name the other",
    ),
    "one class and no totals": (
        lambda: fit(y=["yes"] * 4 + [None] * 4, totals=None),
        InvalidProblem,
        "got one class only: 'yes'",
    ),
    "more classes than leaves": (
        lambda: fit(y=["no", "no", "yes", "maybe", *[None] * 4]),
        InvalidProblem,
        r"between 1 and 2 classes \(the leaves of a tree of depth 1\), got 3\. A tree of depth 2 has enough",
    ),
    "the text nan": (lambda: fit(y=[*Y[:4], *["nan"] * 4]), InvalidProblem, "'nan' looks like a marker: mark .* NaN"),
    "empty text": (lambda: fit(y=[*Y[:4], *[""] * 4]), InvalidProblem, "'' looks like a marker"),
    "labels -1 and +1": (
        lambda: fit(y=[-1, -1, 1, 1, 1, 1, -1, -1], totals={1: 2}),
        InvalidProblem,
        r"whether -1 in y is a class or marks unlabeled rows.* Mark unlabeled rows with NaN, None or NA",
    ),
    "only -1": (lambda: fit(y=[-1] * 8, totals=None), InvalidProblem, "whether -1 in y is a class"),
    "two kinds of markers": (
        lambda: fit(y=[0, 0, 1, 1, -1, -1, np.nan, np.nan], totals={1: 2}),
        InvalidProblem,
        r"one kind of marker for unlabeled rows, got both NaN and -1",
    ),
    "text and numbers": (lambda: fit(y=["no", 0, "yes", 1, *[None] * 4]), InvalidProblem, "all strings.*got int, str"),
    "booleans and numbers": (
        lambda: fit(y=[True, 0, 1, 0, *[None] * 4]),
        InvalidProblem,
        "all booleans, got bool, int",
    ),
    "text and bytes": (
        lambda: fit(y=[b"no", "yes", "yes", "yes", *[None] * 4]),
        InvalidProblem,
        "all strings.*got bytes, str",
    ),
    "continuous labels": (lambda: fit(y=[0.5, 0.7, 1.5, 2.5, *[np.nan] * 4]), InvalidProblem, "got continuous values"),
    "infinite labels": (
        lambda: fit(y=np.array([0, 0, 1, np.inf, *[np.nan] * 4])),
        InvalidProblem,
        r"Expected finite labels, got infinity \(inf\) in y",
    ),
    "infinite labels in a list": (
        lambda: fit(y=[0, 0, 1, np.inf, *[None] * 4]),
        InvalidProblem,
        r"Expected finite labels, got infinity \(inf\) in y",
    ),
    "dates for labels": (
        lambda: fit(y=np.array(["2020-01-01"] * 8, dtype="datetime64[D]")),
        InvalidProblem,
        r"strings, integers or booleans, got dtype datetime64\[D\]",
    ),
    "labels that differ in a NUL character": (
        lambda: fit(y=["a", "a", "a\0", "a\0", *[None] * 4]),
        InvalidProblem,
        "Expected labels without NUL characters",
    ),
    "labels beyond 64 bits": (
        lambda: fit(y=[2**63, 2**63, 1, 1, *[None] * 4], totals={1: 2}),
        InvalidProblem,
        r"Expected whole-number labels between -2\^63 and 2\^63, got 9223372036854775808: pass them as text",
    ),
    "labels of thousands of digits": (
        lambda: fit(y=[10**5000, 1, 1, 1, *[None] * 4], totals={1: 2}),
        InvalidProblem,
        "got a number of thousands of digits",
    ),
    # Totals
    "a total beyond all floats": (
        lambda: fit(totals={"yes": 10**400}),
        InvalidProblem,
        r"between 0 and 4 .*, got 1000",
    ),
    "a third class in the totals": (
        lambda: fit(y=["class_1", "class_1", "class_2", "class_2", *[None] * 4], totals={"class_3": 2}),
        InvalidProblem,
        r"of the classes \['class_1', 'class_2'\], got 'class_3'\. If 'class_3' is another class, name",
    ),
    "a negative total": (
        lambda: fit(totals={"yes": -1}),
        InvalidProblem,
        r"a total of class 'yes' between 0 and 4 \(the unlabeled rows\), got -1\.",
    ),
    "a total above the rows": (lambda: fit(totals={"yes": 5}), InvalidProblem, r"between 0 and 4 .*, got 5: note"),
    "a fractional total": (
        lambda: fit(totals={"yes": 1.5}),
        InvalidProblem,
        r"a whole number, got 1\.5: multiply",
    ),
    "a share for a total": (lambda: fit(totals={"yes": 0.5}), InvalidProblem, "multiply a share by the number of rows"),
    "a boolean total": (lambda: fit(totals={"yes": True}), InvalidProblem, r"between 0 and 4 .*, got True\."),
    "a total of NaN": (lambda: fit(totals={"yes": np.nan}), InvalidProblem, "a whole number, got nan:"),
    "an infinite total": (lambda: fit(totals={"yes": np.inf}), InvalidProblem, "a whole number, got inf:"),
    "text for a total": (lambda: fit(totals={"yes": "2"}), InvalidProblem, r"between 0 and 4 .*, got '2'\."),
    "no number for a total": (lambda: fit(totals={"yes": None}), InvalidProblem, r"between 0 and 4 .*, got None\."),
    "a total of a class misspelt": (
        lambda: fit(totals={"Yes": 2}),
        InvalidProblem,
        r"Expected totals of the classes \['no', 'yes'\], got 'Yes'\. Did you mean 'yes'\?",
    ),
    "a total of an unknown class": (
        lambda: fit(totals={"retired": 2}),
        InvalidProblem,
        r"Expected totals of the classes \['no', 'yes'\], got 'retired'\.",
    ),
    "a population total of a class misspelt": (
        lambda: fit(population_totals={"yess": 4}),
        InvalidProblem,
        r"Expected population_totals of the classes \['no', 'yes'\], got 'yess'\. Did you mean 'yes'\?",
    ),
    "a total of the only class misspelt": (
        lambda: fit(y=["yes"] * 4 + [None] * 4, totals={"Yes": 2}),
        InvalidProblem,
        r"got 'Yes'\. Did you mean 'yes'\?",
    ),
    "a total of a class of another type": (
        lambda: fit(y=[0, 0, 1, 1, *[None] * 4], totals={"1": 2}),
        InvalidProblem,
        r"Expected totals of the classes \[0, 1\], got '1'",
    ),
    "empty totals": (lambda: fit(totals={}), InvalidProblem, r"Expected totals to map classes to counts.*got \{\}"),
    "a list of totals": (lambda: fit(totals=[2, 2]), InvalidProblem, r"map classes to counts.*got \[2, 2\]"),
    "a number for totals": (lambda: fit(totals=2), InvalidProblem, r"map classes to counts.*got 2\."),
    "both kinds of totals": (
        lambda: fit(totals={"yes": 2}, population_totals={"yes": 4}),
        InvalidProblem,
        r"either totals .* or population_totals .*, got both",
    ),
    "totals that do not add up": (
        lambda: fit(totals={"yes": 2, "no": 1}),
        InvalidProblem,
        r"totals that add up to 4 \(the unlabeled rows\), got \{'yes': 2, 'no': 1\}, 3 in all",
    ),
    "a population total below the labeled rows": (
        lambda: fit(population_totals={"yes": 1}),
        InvalidProblem,
        r"a population total of class 'yes' of at least 2 \(its labeled rows\), got 1",
    ),
    "a population total that leaves the other class too few": (
        lambda: fit(population_totals={"yes": 7}),
        InvalidProblem,
        r"a population total of class 'no' of at least 2 \(its labeled rows\), got 1",
    ),
    "a population total above the rows": (
        lambda: fit(population_totals={"yes": 9}),
        InvalidProblem,
        r"between 0 and 8 \(all rows\), got 9: note",
    ),
    # Parameters
    "depth 0": (lambda: fit(depth=0), InvalidProblem, "depth to be 'auto' or a whole number from 1 to 12, got 0"),
    "depth -1": (lambda: fit(depth=-1), InvalidProblem, "a whole number from 1 to 12, got -1"),
    "depth 1.5": (lambda: fit(depth=1.5), InvalidProblem, r"a whole number from 1 to 12, got 1\.5"),
    "depth in words": (lambda: fit(depth="deep"), InvalidProblem, "'auto' or a whole number from 1 to 12, got 'deep'"),
    "a boolean depth": (lambda: fit(depth=True), InvalidProblem, "a whole number from 1 to 12, got True"),
    "no depth": (lambda: fit(depth=None), InvalidProblem, "a whole number from 1 to 12, got None"),
    "a depth beyond reason": (lambda: fit(depth=99), InvalidProblem, "a whole number from 1 to 12, got 99"),
    "C of 0": (lambda: fit(C=0), InvalidProblem, "Expected C to be a positive number, got 0"),
    "a negative C": (lambda: fit(C=-1.0), InvalidProblem, r"Expected C to be a positive number, got -1\.0"),
    "C of NaN": (lambda: fit(C=np.nan), InvalidProblem, "Expected C to be a positive number, got nan"),
    "an infinite C": (lambda: fit(C=np.inf), InvalidProblem, "Expected C to be a positive number, got inf"),
    "C in words": (lambda: fit(C="x"), InvalidProblem, "Expected C to be a positive number, got 'x'"),
    "a time limit of 0": (lambda: fit(time_limit=0), InvalidProblem, "time_limit to be a positive number, got 0"),
    "C beyond all floats": (lambda: fit(C=10**400), InvalidProblem, "Expected C to be a positive number, got 1000"),
    "too many jobs": (lambda: fit(n_jobs=100_000), InvalidProblem, "n_jobs to be a whole number other than 0 up to"),
    "a negative time limit": (lambda: fit(time_limit=-5), InvalidProblem, "time_limit to be a positive number, got -5"),
    "a time limit in words": (lambda: fit(time_limit="1 h"), InvalidProblem, "a positive number, got '1 h'"),
    "an unknown solver": (
        lambda: fit(solver="cplex"),
        InvalidProblem,
        "solver to be 'highs', 'scip', 'gurobi' or None, got 'cplex'",
    ),
    "a solver that is no name": (lambda: fit(solver=3), InvalidProblem, "solver to be .* or None, got 3"),
    "an unknown guide": (lambda: fit(guide="svm"), InvalidProblem, "Expected guide to be .*, got 'svm'"),
    "a negative guide weight": (
        lambda: fit(guide_weight=-1),
        InvalidProblem,
        "guide_weight to be .* at least 0, got -1",
    ),
    "a boolean guide weight": (lambda: fit(guide_weight=True), InvalidProblem, "guide_weight to be .*, got True"),
    "no feature per split": (
        lambda: fit(max_features_per_split=0),
        InvalidProblem,
        "max_features_per_split to be 'auto', None or a whole number of at least 1, got 0",
    ),
    "half a feature per split": (
        lambda: fit(max_features_per_split=1.5),
        InvalidProblem,
        r"max_features_per_split to be .*, got 1\.5",
    ),
    "features per split in words": (
        lambda: fit(max_features_per_split="few"),
        InvalidProblem,
        "max_features_per_split to be .*, got 'few'",
    ),
    "a negative term price": (
        lambda: fit(term_price=-0.5),
        InvalidProblem,
        r"term_price to be .* finite number of at least 0, got -0\.5",
    ),
    "a term price in words": (
        lambda: fit(term_price="low"),
        InvalidProblem,
        "term_price to be 'auto' or a finite number of at least 0, got 'low'",
    ),
    "totals that cost nothing": (
        lambda: fit(total_price=0),
        InvalidProblem,
        "total_price to be 'auto' or a positive number, got 0",
    ),
    "a minimum of rows in a leaf where there is no guide": (
        lambda: fit(min_rows_per_leaf=5, guide=None),
        InvalidProblem,
        "min_rows_per_leaf to be 1 without a guide .*, got 5",
    ),
    "a name for a list of features": (
        lambda: fit(X=FRAME, features="age"),
        InvalidProblem,
        "features to be a list of column names or numbers, or None, got 'age'",
    ),
    "a number for a list of features": (lambda: fit(features=0), InvalidProblem, "features to be a list .*, got 0"),
    "no features for rules": (lambda: fit(features=[]), InvalidProblem, "at least one column that rules may use"),
    "a feature with a typing error": (
        lambda: fit(X=FRAME, features=["hieght"]),
        InvalidProblem,
        r"features to be columns of X, got 'hieght'; close names are \['height'\]",
    ),
    "a feature that resembles none": (
        lambda: fit(X=FRAME, features=["age", "colour"]),
        InvalidProblem,
        r"got 'colour'; its columns are \['age', 'height'\]",
    ),
    "a name where columns have none": (
        lambda: fit(features=["age"]),
        InvalidProblem,
        "Expected column numbers in features, because X has no column names, got 'age'",
    ),
    "a column number beyond the last": (lambda: fit(features=[1]), InvalidProblem, "numbers from 0 to 0, got 1"),
    "a negative column number": (lambda: fit(features=[-1]), InvalidProblem, "numbers from 0 to 0, got -1"),
    "a boolean for a column": (lambda: fit(features=[True]), InvalidProblem, "names or numbers, got True among them"),
    "a weight bound of 0": (
        lambda: fit(coefficient_bound=0),
        InvalidProblem,
        "coefficient_bound to be .*positive number, got 0",
    ),
    "a weight bound in words": (
        lambda: fit(coefficient_bound="x"),
        InvalidProblem,
        "coefficient_bound to be 'auto' or .*got 'x'",
    ),
    "an infinite weight bound": (
        lambda: fit(coefficient_bound=np.inf),
        InvalidProblem,
        "coefficient_bound to be .*positive number, got inf",
    ),
    "an unknown scaling": (
        lambda: fit(scaling="minmax"),
        InvalidProblem,
        "scaling to be 'paper' or None, got 'minmax'",
    ),
    "no jobs": (
        lambda: fit(n_jobs=0),
        InvalidProblem,
        "n_jobs to be a whole number .* or None, got 0",
    ),
    "half a job": (lambda: fit(n_jobs=1.5), InvalidProblem, r"n_jobs to be a whole number .*, got 1\.5"),
    "a random state in words": (lambda: fit(random_state="x"), InvalidProblem, "a RandomState or None, got 'x'"),
    "verbosity in words": (lambda: fit(verbose="x"), InvalidProblem, "Expected verbose to be .*, got 'x'"),
    # OCT-H
    "OCT-H: no labeled row": (lambda: octh(y=[None] * 8), InvalidProblem, "at least one labeled row, got none"),
    "OCT-H: one class": (lambda: octh(y=["a"] * 8), InvalidProblem, "at least two classes, got one class only: 'a'"),
    "OCT-H: fewer labels than rows": (lambda: octh(y=Y[:-1]), InvalidProblem, "got 7 labels for 8 rows"),
    "OCT-H: labels -1 and +1": (lambda: octh(y=[-1, 1] * 4), InvalidProblem, "whether -1 in y is a class"),
    "OCT-H: continuous labels": (lambda: octh(y=[0.5] * 8), InvalidProblem, "got continuous values"),
    "OCT-H: a sparse table": (lambda: octh(X=sp.csr_array(X)), TypeError, "Sparse data was passed"),
    "OCT-H: min_leaf above the rows": (
        lambda: octh(min_leaf=5),
        InvalidProblem,
        "Expected min_leaf of at most 4, the labeled rows, got 5",
    ),
    "OCT-H: min_leaf of 0": (lambda: octh(min_leaf=0), InvalidProblem, "min_leaf to be 'auto' or .* at least 1, got 0"),
    "OCT-H: min_leaf as a share": (lambda: octh(min_leaf=0.05), InvalidProblem, r"a whole number .*, got 0\.05"),
    "OCT-H: mu of 0": (lambda: octh(mu=0), InvalidProblem, "Expected mu to be a number between 0 and 1, got 0"),
    "OCT-H: mu of 1": (lambda: octh(mu=1), InvalidProblem, "Expected mu to be a number between 0 and 1, got 1"),
    "OCT-H: mu in words": (lambda: octh(mu="x"), InvalidProblem, "Expected mu to be a number between 0 and 1, got 'x'"),
    "OCT-H: a negative complexity": (
        lambda: octh(complexity=-1),
        InvalidProblem,
        "complexity to be .* at least 0, got -1",
    ),
    "OCT-H: an infinite complexity": (lambda: octh(complexity=np.inf), InvalidProblem, "complexity to be .*, got inf"),
    "OCT-H: depth 0": (lambda: octh(depth=0), InvalidProblem, "a whole number from 1 to 12, got 0"),
    "OCT-H: a depth beyond reason": (
        lambda: octh(depth=2**63),
        InvalidProblem,
        "a whole number from 1 to 12, got 9223",
    ),
    "OCT-H: an unknown solver": (lambda: octh(solver="cplex"), InvalidProblem, "solver to be .*, got 'cplex'"),
    "OCT-H: a time limit of 0": (
        lambda: octh(time_limit=0),
        InvalidProblem,
        "time_limit to be a positive number, got 0",
    ),
    # After the fit
    "predicting before fitting": (lambda: S2OCTClassifier().predict(X), NotFittedError, "not fitted yet"),
    "scoring before fitting": (lambda: S2OCTClassifier().score(X, Y), NotFittedError, "not fitted yet"),
    "OCT-H: predicting before fitting": (lambda: OCTHClassifier().predict_proba(X), NotFittedError, "not fitted yet"),
    "predicting with other features": (
        lambda: fit().predict([[1.0, 2.0]]),
        ValueError,
        "X has 2 features, but S2OCTClassifier is expecting 1 features",
    ),
    "predicting with features in another order": (
        lambda: fit(X=FRAME).predict(FRAME[["height", "age"]]),
        ValueError,
        "Feature names must be in the same order as they were in fit",
    ),
    "predicting with an unknown feature": (
        lambda: fit(X=FRAME).predict(FRAME.rename(columns={"height": "weight"})),
        ValueError,
        r"(?s)Feature names unseen at fit time:.*weight",
    ),
    "predicting one row as a list": (lambda: fit().predict([1.0]), ValueError, "Expected 2D array, got 1D array"),
    "scoring with fewer labels than rows": (
        lambda: fit().score(X, Y[:-1]),
        InvalidProblem,
        "Expected one label per row, got 7 labels for 8 rows",
    ),
    "scoring with fewer weights than rows": (
        lambda: fit().score(X, Y, sample_weight=[1.0] * 7),
        InvalidProblem,
        "Expected sample_weight with one weight per row, got 7 weights for 8 rows",
    ),
    "scoring without a labeled row": (
        lambda: fit().score(X, [None] * 8),
        InvalidProblem,
        "at least one labeled row, got none",
    ),
    # Building blocks
    "folds without labels": (lambda: list(LabeledKFold(2).split(X, None)), InvalidProblem, "the target y is None"),
    "more folds than labels": (lambda: list(LabeledKFold(5).split(X, Y)), ValueError, "n_splits=5 greater than"),
    "a topology of fractional depth": (lambda: Topology(1.5), InvalidProblem, r"Expected a depth .*, got 1\.5"),
    "a tree with too few hyperplanes": (
        lambda: ObliqueTree.of(Topology(2), np.zeros((2, 1)), np.zeros(3)),
        InvalidProblem,
        r"Expected omega of shape \(3, p\) and gamma of shape \(3,\) at depth 2, got \(2, 1\) and \(3,\)",
    ),
}


@pytest.mark.parametrize(("call", "error", "sentence"), CASES.values(), ids=CASES)
def test_bad_input_gets_its_sentence(call, error, sentence):
    with pytest.raises(error, match=sentence) as caught:
        call()
    # scikit-learn's own sentences about names have several lines, and several columns have a line each.
    may_have_lines = isinstance(caught.value, InvalidColumns) or isinstance(caught.value.__cause__, ValueError)
    assert may_have_lines or "\n" not in str(caught.value)


WARNED: dict[str, tuple[Call, str]] = {
    "no unlabeled rows": (
        lambda: fit(y=["no", "yes"] * 4, totals=None),
        "Every row is labeled, so totals have no effect",
    ),
    "a constant feature": (
        lambda: fit(X=np.ones((8, 1))),
        "misses the total by 2 rows .50 %.: .* No tree can come nearer",
    ),
    "equal unlabeled rows": (
        lambda: fit(X=[*X[:4], *[[5.0]] * 4]),
        "misses the total by 2 rows .50 %.: .* No tree can come",
    ),
    "no totals": (lambda: fit(totals=None), r"No totals were given: .* estimated as 2 ± .* 'no' and 2 ± .* 'yes' of 4"),
}


@pytest.mark.parametrize(("call", "sentence"), WARNED.values(), ids=WARNED)
def test_doubtful_input_gets_a_warning_and_a_tree(call, sentence):
    with pytest.warns(S2OCTWarning, match=sentence):
        assert call().predict(X).shape == (8,)


UNUSUAL: dict[str, Call] = {
    "object arrays of numbers": lambda: fit(X=np.array(X, dtype=object)),
    "a total of 0": lambda: fit(totals={"yes": 0}),
    "a total of every row": lambda: fit(totals={"yes": 4}),
    "one labeled row of each class": lambda: fit(y=["no", None, None, "yes", *[None] * 4]),
    "a float that is a whole total": lambda: fit(totals={"yes": 2.0}),
    "a column of labels": lambda: fit(y=np.array(Y, dtype=object)),
    "one weight for every row": lambda: fit_with(sample_weight=2.0, totals={"yes": 4}),
    "features from numpy": lambda: fit(features=np.array([0])),
    "a feature twice": lambda: fit(X=FRAME, features=["age", "age", 0]),
    "a depth from numpy": lambda: fit(depth=np.int64(1)),
    "a number of jobs from numpy": lambda: fit(n_jobs=np.int64(2)),
    "classes that differ in case": lambda: fit(y=["Yes", "Yes", "yes", "yes", *[None] * 4], totals={"Yes": 2}),
    "masked labels": lambda: fit(y=np.ma.masked_equal([1, 1, 0, 0, 9, 9, 9, 9], 9), totals={1: 2}),
}


@pytest.mark.parametrize("call", UNUSUAL.values(), ids=UNUSUAL)
def test_unusual_input_is_accepted_without_a_word(call):
    assert call().certificate_.feasible


def test_the_table_is_long_enough():
    assert len(CASES) >= 45


def test_one_weight_for_every_row_does_not_change_a_score():
    clf = fit()
    assert clf.score(X, Y, sample_weight=2.0) == clf.score(X, Y)
