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
from tests.messages import naming

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
        ("stop", "None", "True"),
    ),
    "listener that is a number": (
        lambda: fit_with(listener=5),
        TypeError,
        ("listener", 5),
    ),
    "listener that is a function": (
        lambda: fit_with(listener=print),
        TypeError,
        ("listener",),
    ),
    "stop of OCT-H": (
        lambda: OCTHClassifier(depth=1).fit(X, [0, 0, 1, 1] * 2, stop=1),
        TypeError,
        ("stop",),
    ),
    "as_shares in words": (
        lambda: fit_with(totals={"yes": 0.5}, as_shares="no"),
        TypeError,
        ("as_shares", "True", "False", "'no'"),
    ),
    "weights whose sum is infinite": (
        lambda: fit_with(sample_weight=[1e308] * 8),
        ValueError,
        ("1e-100", "1e+100", "1e+308", 0),
    ),
    "one huge weight as every row's": (
        lambda: fit_with(sample_weight=1e308),
        ValueError,
        ("1e-100", "1e+100", "1e+308", 0),
    ),
    "tiny weights": (
        lambda: fit_with(sample_weight=[0.0] * 7 + [5e-324]),
        ValueError,
        ("1e-100", "1e+100", "5e-324", 7),
    ),
    # Writers
    **{
        f"too few classes for {writer.__name__}": (
            lambda writer=writer: writer(TREE, ["age"], ["no"]),
            ValueError,
            (2, 1),
        )
        for writer in (tree_to_text, tree_to_dot, tree_to_sql, tree_to_python, tree_to_r, tree_to_onnx)
    },
    # Features
    "features with one axis": (lambda: fit(X=[1.0] * 8), ValueError, ("2D", "1D")),
    "features with three axes": (lambda: fit(X=np.zeros((8, 1, 1))), ValueError, (3, 2)),
    "no rows": (lambda: fit(X=np.empty((0, 2)), y=[]), ValueError, (0, "sample(s)", 1)),
    "no features": (lambda: fit(X=np.empty((8, 0))), ValueError, (0, "feature(s)", 1)),
    "no table": (lambda: fit(X=None), ValueError, ("None", "feature")),
    "a file name for a table": (
        lambda: fit(X="survey.csv"),
        ValueError,
        ("'survey.csv'", "feature"),
    ),
    "rows of different lengths": (
        lambda: fit(X=[[1.0, 2.0], *X[1:]]),
        ValueError,
        (1, 2),
    ),
    "infinity in an array": (lambda: fit(X=replaced(np.inf)), ValueError, ("Input", "infinit")),
    "text in an array": (
        lambda: fit(X=replaced("old")),
        InvalidProblem,
        ("'x0'", "'old'", 1),
    ),
    "text in an object array": (
        lambda: fit(X=np.array(replaced("old"), dtype=object)),
        InvalidProblem,
        ("'x0'", "'old'", 1),
    ),
    "complex numbers": (lambda: fit(X=np.array(X) * 1j), ValueError, ("Complex",)),
    "infinity in a column": (
        lambda: fit(X=column("income", [np.inf, *[1.0] * 7])),
        InvalidProblem,
        ("inf", "'income'"),
    ),
    "a column of dates": (
        lambda: fit(X=column("born", pd.date_range("1990", periods=8))),
        InvalidProblem,
        ("'born'", "dates", "column"),
    ),
    "dates in an array": (
        lambda: fit(X=np.array([["2020-01-01"]] * 8, dtype="datetime64[D]")),
        InvalidProblem,
        ("'x0'", "dates", "column"),
    ),
    "durations in an array": (
        lambda: fit(X=np.ones((8, 1), "timedelta64[s]")),
        InvalidProblem,
        ("'x0'", "dates", "column"),
    ),
    "dates in a list": (
        lambda: fit(X=[[date(2020, 1, i)] for i in range(1, 9)]),
        InvalidProblem,
        ("'x0'", "dates", "column"),
    ),
    "durations in a column": (
        lambda: fit(X=column("waited", pd.to_timedelta(range(8), unit="h"))),
        InvalidProblem,
        ("'waited'", "dates", "column"),
    ),
    "dates in a polars frame": (
        lambda: fit(X=pl.DataFrame({"age": range(8), "born": [date(2020, 1, 1)] * 8, "at": [time(1)] * 8})),
        InvalidProblem,
        ("'born'", "'at'"),
    ),
    "timestamps in an Arrow table": (
        lambda: fit(X=pa.table({"age": range(8), "born": pa.array(range(8), pa.timestamp("us"))})),
        InvalidProblem,
        ("'born'", "column"),
    ),
    "Arrow dates in a pandas frame": (
        lambda: fit(X=column("born", pd.Series(range(8), dtype="timestamp[us][pyarrow]"))),
        InvalidProblem,
        ("'born'", "column"),
    ),
    "a feature beyond all floats": (lambda: fit(X=replaced(10**400)), InvalidProblem, ("too large", "float")),
    "a feature of thousands of digits": (lambda: fit(X=replaced(10**5000)), InvalidProblem, ("too large", "float")),
    "a column name twice": (
        lambda: fit(X=pd.DataFrame(np.ones((8, 2)), columns=["age", "age"])),
        InvalidProblem,
        ("['age']", "distinct", "column names"),
    ),
    "a sparse table": (lambda: fit(X=sp.csr_array(X)), TypeError, ("toarray()", "Sparse")),
    "features too large for an unscaled model": (
        lambda: fit(X=np.array(X) * 1e100, scaling=None),
        InvalidProblem,
        ("scaling", "'paper'"),
    ),
    # Labels
    "no labels": (lambda: fit(y=None), InvalidProblem, ("None",)),
    "fewer labels than rows": (lambda: fit(y=Y[:-1]), InvalidProblem, (7, 8)),
    "more labels than rows": (lambda: fit(y=[*Y, None]), InvalidProblem, (9, 8)),
    "labels with two columns": (
        lambda: fit(y=np.array([["no", "yes"]] * 8)),
        InvalidProblem,
        ("(8, 2)", "one-dimensional", "shape"),
    ),
    "nested labels": (lambda: fit(y=[["no"]] * 8), InvalidProblem, ("one-dimensional", "nested")),
    "a frame of labels": (
        lambda: fit(y=pd.DataFrame({"a": Y, "b": Y})),
        InvalidProblem,
        ("(8, 2)", "one-dimensional", "shape"),
    ),
    "a column name for labels": (lambda: fit(y="employed"), InvalidProblem, ("label",)),
    "a number for labels": (lambda: fit(y=1), InvalidProblem, ("label",)),
    "sparse labels": (
        lambda: fit(y=sp.csr_array(np.eye(8))),
        InvalidProblem,
        ("csr_array", "sparse"),
    ),
    "no labeled row": (lambda: fit(y=[None] * 8), InvalidProblem, ("label",)),
    "no labeled row but NaN": (lambda: fit(y=np.full(8, np.nan)), InvalidProblem, ("label",)),
    "one class only": (
        lambda: fit(y=["yes"] * 4 + [None] * 4),
        InvalidProblem,
        ("'yes'", "label", "class"),
    ),
    "one class and no totals": (
        lambda: fit(y=["yes"] * 4 + [None] * 4, totals=None),
        InvalidProblem,
        ("'yes'", "class"),
    ),
    "more classes than leaves": (
        lambda: fit(y=["no", "no", "yes", "maybe", *[None] * 4]),
        InvalidProblem,
        (1, 2, "depth", 3),
    ),
    "the text nan": (lambda: fit(y=[*Y[:4], *["nan"] * 4]), InvalidProblem, ("'nan'", "NaN")),
    "empty text": (lambda: fit(y=[*Y[:4], *[""] * 4]), InvalidProblem, ("marker",)),
    "labels -1 and +1": (
        lambda: fit(y=[-1, -1, 1, 1, 1, 1, -1, -1], totals={1: 2}),
        InvalidProblem,
        (-1, "NaN", "None", "NA"),
    ),
    "only -1": (lambda: fit(y=[-1] * 8, totals=None), InvalidProblem, (-1, "class")),
    "two kinds of markers": (
        lambda: fit(y=[0, 0, 1, 1, -1, -1, np.nan, np.nan], totals={1: 2}),
        InvalidProblem,
        ("NaN", -1),
    ),
    "text and numbers": (lambda: fit(y=["no", 0, "yes", 1, *[None] * 4]), InvalidProblem, ("int, str",)),
    "booleans and numbers": (
        lambda: fit(y=[True, 0, 1, 0, *[None] * 4]),
        InvalidProblem,
        ("boolean",),
    ),
    "text and bytes": (
        lambda: fit(y=[b"no", "yes", "yes", "yes", *[None] * 4]),
        InvalidProblem,
        ("bytes",),
    ),
    "continuous labels": (lambda: fit(y=[0.5, 0.7, 1.5, 2.5, *[np.nan] * 4]), InvalidProblem, ("continuous",)),
    "infinite labels": (
        lambda: fit(y=np.array([0, 0, 1, np.inf, *[np.nan] * 4])),
        InvalidProblem,
        ("inf", "finite", "label"),
    ),
    "infinite labels in a list": (
        lambda: fit(y=[0, 0, 1, np.inf, *[None] * 4]),
        InvalidProblem,
        ("inf", "finite", "label"),
    ),
    "dates for labels": (
        lambda: fit(y=np.array(["2020-01-01"] * 8, dtype="datetime64[D]")),
        InvalidProblem,
        ("boolean", "date"),
    ),
    "labels that differ in a NUL character": (
        lambda: fit(y=["a", "a", "a\0", "a\0", *[None] * 4]),
        InvalidProblem,
        ("label", "NUL"),
    ),
    "labels beyond 64 bits": (
        lambda: fit(y=[2**63, 2**63, 1, 1, *[None] * 4], totals={1: 2}),
        InvalidProblem,
        ("-2^63", "2^63", 9223372036854775808, "text"),
    ),
    "labels of thousands of digits": (
        lambda: fit(y=[10**5000, 1, 1, 1, *[None] * 4], totals={1: 2}),
        InvalidProblem,
        ("digits",),
    ),
    # Totals
    "a total beyond all floats": (
        lambda: fit(totals={"yes": 10**400}),
        InvalidProblem,
        (0, 4, "0" * 50 + "..."),
    ),
    "a third class in the totals": (
        lambda: fit(y=["class_1", "class_1", "class_2", "class_2", *[None] * 4], totals={"class_3": 2}),
        InvalidProblem,
        ("['class_1', 'class_2']", "'class_3'"),
    ),
    "a negative total": (
        lambda: fit(totals={"yes": -1}),
        InvalidProblem,
        ("'yes'", 0, 4, -1),
    ),
    "a total above the rows": (lambda: fit(totals={"yes": 5}), InvalidProblem, (0, 4, 5)),
    "a fractional total": (
        lambda: fit(totals={"yes": 1.5}),
        InvalidProblem,
        ("1.5",),
    ),
    "a share for a total": (lambda: fit(totals={"yes": 0.5}), InvalidProblem, ("share",)),
    "a boolean total": (lambda: fit(totals={"yes": True}), InvalidProblem, (0, 4, "True")),
    "a total of NaN": (lambda: fit(totals={"yes": np.nan}), InvalidProblem, ("nan",)),
    "an infinite total": (lambda: fit(totals={"yes": np.inf}), InvalidProblem, ("inf",)),
    "text for a total": (lambda: fit(totals={"yes": "2"}), InvalidProblem, (0, 4, "'2'")),
    "no number for a total": (lambda: fit(totals={"yes": None}), InvalidProblem, (0, 4, "None")),
    "a total of a class misspelt": (
        lambda: fit(totals={"Yes": 2}),
        InvalidProblem,
        ("['no', 'yes']", "'Yes'", "'yes'"),
    ),
    "a total of an unknown class": (
        lambda: fit(totals={"retired": 2}),
        InvalidProblem,
        ("['no', 'yes']", "'retired'"),
    ),
    "a population total of a class misspelt": (
        lambda: fit(population_totals={"yess": 4}),
        InvalidProblem,
        ("population_totals", "['no', 'yes']", "'yess'", "'yes'"),
    ),
    "a total of the only class misspelt": (
        lambda: fit(y=["yes"] * 4 + [None] * 4, totals={"Yes": 2}),
        InvalidProblem,
        ("'Yes'", "'yes'"),
    ),
    "a total of a class of another type": (
        lambda: fit(y=[0, 0, 1, 1, *[None] * 4], totals={"1": 2}),
        InvalidProblem,
        ("[0, 1]", "'1'"),
    ),
    "empty totals": (lambda: fit(totals={}), InvalidProblem, ("{}", "total", "class")),
    "a list of totals": (lambda: fit(totals=[2, 2]), InvalidProblem, ("[2, 2]", "class")),
    "a number for totals": (lambda: fit(totals=2), InvalidProblem, (2, "class")),
    "both kinds of totals": (
        lambda: fit(totals={"yes": 2}, population_totals={"yes": 4}),
        InvalidProblem,
        ("population_totals", "both"),
    ),
    "totals that do not add up": (
        lambda: fit(totals={"yes": 2, "no": 1}),
        InvalidProblem,
        (4, "{'yes': 2, 'no': 1}", 3),
    ),
    "a population total below the labeled rows": (
        lambda: fit(population_totals={"yes": 1}),
        InvalidProblem,
        ("'yes'", 2, 1),
    ),
    "a population total that leaves the other class too few": (
        lambda: fit(population_totals={"yes": 7}),
        InvalidProblem,
        ("'no'", 2, 1),
    ),
    "a population total above the rows": (
        lambda: fit(population_totals={"yes": 9}),
        InvalidProblem,
        (0, 8, 9),
    ),
    # Parameters
    "depth 0": (lambda: fit(depth=0), InvalidProblem, ("depth", "'auto'", 1, 12, 0)),
    "depth -1": (lambda: fit(depth=-1), InvalidProblem, (1, 12, -1)),
    "depth 1.5": (lambda: fit(depth=1.5), InvalidProblem, (1, 12, "1.5")),
    "depth in words": (lambda: fit(depth="deep"), InvalidProblem, ("'auto'", 1, 12, "'deep'")),
    "a boolean depth": (lambda: fit(depth=True), InvalidProblem, (1, 12, "True")),
    "no depth": (lambda: fit(depth=None), InvalidProblem, (1, 12, "None")),
    "a depth beyond reason": (lambda: fit(depth=99), InvalidProblem, (1, 12, 99)),
    "C of 0": (lambda: fit(C=0), InvalidProblem, ("C", 0)),
    "a negative C": (lambda: fit(C=-1.0), InvalidProblem, ("C", "-1.0")),
    "C of NaN": (lambda: fit(C=np.nan), InvalidProblem, ("C", "nan")),
    "an infinite C": (lambda: fit(C=np.inf), InvalidProblem, ("C", "inf")),
    "C in words": (lambda: fit(C="x"), InvalidProblem, ("C", "'x'")),
    "a time limit of 0": (lambda: fit(time_limit=0), InvalidProblem, ("time_limit", 0)),
    "C beyond all floats": (lambda: fit(C=10**400), InvalidProblem, ("C", "0" * 50 + "...")),
    "too many jobs": (lambda: fit(n_jobs=100_000), InvalidProblem, ("n_jobs", 0)),
    "a negative time limit": (lambda: fit(time_limit=-5), InvalidProblem, ("time_limit", -5)),
    "a time limit in words": (lambda: fit(time_limit="1 h"), InvalidProblem, ("'1 h'", "positive")),
    "an unknown solver": (
        lambda: fit(solver="cplex"),
        InvalidProblem,
        ("solver", "'highs'", "'scip'", "'gurobi'", "None", "'cplex'"),
    ),
    "a solver that is no name": (lambda: fit(solver=3), InvalidProblem, ("solver", "None", 3)),
    "an unknown guide": (lambda: fit(guide="svm"), InvalidProblem, ("guide", "'svm'")),
    "a negative guide weight": (
        lambda: fit(guide_weight=-1),
        InvalidProblem,
        ("guide_weight", 0, -1),
    ),
    "a boolean guide weight": (lambda: fit(guide_weight=True), InvalidProblem, ("guide_weight", "True")),
    "no feature per split": (
        lambda: fit(max_features_per_split=0),
        InvalidProblem,
        ("max_features_per_split", "'auto'", "None", 1, 0),
    ),
    "half a feature per split": (
        lambda: fit(max_features_per_split=1.5),
        InvalidProblem,
        ("max_features_per_split", "1.5"),
    ),
    "features per split in words": (
        lambda: fit(max_features_per_split="few"),
        InvalidProblem,
        ("max_features_per_split", "'few'"),
    ),
    "a negative term price": (
        lambda: fit(term_price=-0.5),
        InvalidProblem,
        ("term_price", 0, "-0.5"),
    ),
    "a term price in words": (
        lambda: fit(term_price="low"),
        InvalidProblem,
        ("term_price", "'auto'", 0, "'low'"),
    ),
    "totals that cost nothing": (
        lambda: fit(total_price=0),
        InvalidProblem,
        ("total_price", "'auto'", 0),
    ),
    "a minimum of rows in a leaf where there is no guide": (
        lambda: fit(min_rows_per_leaf=5, guide=None),
        InvalidProblem,
        ("min_rows_per_leaf", 1, "guide", 5),
    ),
    "a name for a list of features": (
        lambda: fit(X=FRAME, features="age"),
        InvalidProblem,
        ("None", "'age'"),
    ),
    "a number for a list of features": (lambda: fit(features=0), InvalidProblem, (0, "feature")),
    "no features for rules": (lambda: fit(features=[]), InvalidProblem, ("column",)),
    "a feature with a typing error": (
        lambda: fit(X=FRAME, features=["hieght"]),
        InvalidProblem,
        ("'hieght'", "['height']"),
    ),
    "a feature that resembles none": (
        lambda: fit(X=FRAME, features=["age", "colour"]),
        InvalidProblem,
        ("'colour'", "['age', 'height']"),
    ),
    "a name where columns have none": (
        lambda: fit(features=["age"]),
        InvalidProblem,
        ("'age'", "column", "feature"),
    ),
    "a column number beyond the last": (lambda: fit(features=[1]), InvalidProblem, (0, 1)),
    "a negative column number": (lambda: fit(features=[-1]), InvalidProblem, (0, -1)),
    "a boolean for a column": (lambda: fit(features=[True]), InvalidProblem, ("True",)),
    "a weight bound of 0": (
        lambda: fit(coefficient_bound=0),
        InvalidProblem,
        ("coefficient_bound", 0),
    ),
    "a weight bound in words": (
        lambda: fit(coefficient_bound="x"),
        InvalidProblem,
        ("coefficient_bound", "'auto'", "'x'"),
    ),
    "an infinite weight bound": (
        lambda: fit(coefficient_bound=np.inf),
        InvalidProblem,
        ("coefficient_bound", "inf"),
    ),
    "an unknown scaling": (
        lambda: fit(scaling="minmax"),
        InvalidProblem,
        ("scaling", "'paper'", "None", "'minmax'"),
    ),
    "no jobs": (
        lambda: fit(n_jobs=0),
        InvalidProblem,
        ("n_jobs", "None", 0),
    ),
    "half a job": (lambda: fit(n_jobs=1.5), InvalidProblem, ("n_jobs", "1.5")),
    "a random state in words": (lambda: fit(random_state="x"), InvalidProblem, ("RandomState", "None", "'x'")),
    "verbosity in words": (lambda: fit(verbose="x"), InvalidProblem, ("verbose", "'x'")),
    # OCT-H
    "OCT-H: no labeled row": (lambda: octh(y=[None] * 8), InvalidProblem, ("label",)),
    "OCT-H: one class": (lambda: octh(y=["a"] * 8), InvalidProblem, ("'a'", "class")),
    "OCT-H: fewer labels than rows": (lambda: octh(y=Y[:-1]), InvalidProblem, (7, 8)),
    "OCT-H: labels -1 and +1": (lambda: octh(y=[-1, 1] * 4), InvalidProblem, (-1, "class")),
    "OCT-H: continuous labels": (lambda: octh(y=[0.5] * 8), InvalidProblem, ("continuous",)),
    "OCT-H: a sparse table": (lambda: octh(X=sp.csr_array(X)), TypeError, ("Sparse",)),
    "OCT-H: min_leaf above the rows": (
        lambda: octh(min_leaf=5),
        InvalidProblem,
        ("min_leaf", 4, 5),
    ),
    "OCT-H: min_leaf of 0": (lambda: octh(min_leaf=0), InvalidProblem, ("min_leaf", "'auto'", 1, 0)),
    "OCT-H: min_leaf as a share": (lambda: octh(min_leaf=0.05), InvalidProblem, ("0.05",)),
    "OCT-H: mu of 0": (lambda: octh(mu=0), InvalidProblem, ("mu", 0, 1)),
    "OCT-H: mu of 1": (lambda: octh(mu=1), InvalidProblem, ("mu", 0, 1)),
    "OCT-H: mu in words": (lambda: octh(mu="x"), InvalidProblem, ("mu", 0, 1, "'x'")),
    "OCT-H: a negative complexity": (
        lambda: octh(complexity=-1),
        InvalidProblem,
        ("complexity", 0, -1),
    ),
    "OCT-H: an infinite complexity": (lambda: octh(complexity=np.inf), InvalidProblem, ("complexity", "inf")),
    "OCT-H: depth 0": (lambda: octh(depth=0), InvalidProblem, (1, 12, 0)),
    "OCT-H: a depth beyond reason": (
        lambda: octh(depth=2**63),
        InvalidProblem,
        (1, 12, 2**63),
    ),
    "OCT-H: an unknown solver": (lambda: octh(solver="cplex"), InvalidProblem, ("solver", "'cplex'")),
    "OCT-H: a time limit of 0": (
        lambda: octh(time_limit=0),
        InvalidProblem,
        ("time_limit", 0),
    ),
    # After the fit
    "predicting before fitting": (lambda: S2OCTClassifier().predict(X), NotFittedError, ("not fitted yet",)),
    "scoring before fitting": (lambda: S2OCTClassifier().score(X, Y), NotFittedError, ("not fitted yet",)),
    "OCT-H: predicting before fitting": (
        lambda: OCTHClassifier().predict_proba(X),
        NotFittedError,
        ("not fitted yet",),
    ),
    "predicting with other features": (
        lambda: fit().predict([[1.0, 2.0]]),
        ValueError,
        (2, 1),
    ),
    "predicting with features in another order": (
        lambda: fit(X=FRAME).predict(FRAME[["height", "age"]]),
        ValueError,
        ("Feature names", "order"),
    ),
    "predicting with an unknown feature": (
        lambda: fit(X=FRAME).predict(FRAME.rename(columns={"height": "weight"})),
        ValueError,
        ("Feature names", "weight"),
    ),
    "predicting one row as a list": (lambda: fit().predict([1.0]), ValueError, ("2D", "1D")),
    "scoring with fewer labels than rows": (
        lambda: fit().score(X, Y[:-1]),
        InvalidProblem,
        (7, 8),
    ),
    "scoring with fewer weights than rows": (
        lambda: fit().score(X, Y, sample_weight=[1.0] * 7),
        InvalidProblem,
        ("sample_weight", 7, 8),
    ),
    "scoring without a labeled row": (
        lambda: fit().score(X, [None] * 8),
        InvalidProblem,
        ("label",),
    ),
    # Building blocks
    "folds without labels": (lambda: list(LabeledKFold(2).split(X, None)), InvalidProblem, ("None",)),
    "more folds than labels": (lambda: list(LabeledKFold(5).split(X, Y)), ValueError, ("n_splits=5",)),
    "a topology of fractional depth": (lambda: Topology(1.5), InvalidProblem, ("depth", "1.5")),
    "a tree with too few hyperplanes": (
        lambda: ObliqueTree.of(Topology(2), np.zeros((2, 1)), np.zeros(3)),
        InvalidProblem,
        ("(3, p)", "(3,)", "depth", 2, "(2, 1)"),
    ),
}


@pytest.mark.parametrize(("call", "error", "named"), CASES.values(), ids=CASES)
def test_bad_input_gets_its_sentence(call, error, named):
    with pytest.raises(error, match=naming(*named)) as caught:
        call()
    # scikit-learn's own sentences about names have several lines, and several columns have a line each.
    may_have_lines = isinstance(caught.value, InvalidColumns) or isinstance(caught.value.__cause__, ValueError)
    assert may_have_lines or "\n" not in str(caught.value)


WARNED: dict[str, tuple[Call, str]] = {
    "no unlabeled rows": (
        lambda: fit(y=["no", "yes"] * 4, totals=None),
        ("label", "total"),
    ),
    "a constant feature": (
        lambda: fit(X=np.ones((8, 1))),
        (2, "total", "tree"),
    ),
    "equal unlabeled rows": (
        lambda: fit(X=[*X[:4], *[[5.0]] * 4]),
        (2, "total", "tree"),
    ),
    "no totals": (lambda: fit(totals=None), (2, "'no'", "'yes'", 4)),
}


@pytest.mark.parametrize(("call", "named"), WARNED.values(), ids=WARNED)
def test_doubtful_input_gets_a_warning_and_a_tree(call, named):
    with pytest.warns(S2OCTWarning, match=naming(*named)):
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
