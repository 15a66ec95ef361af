"""The same survey as arrays, lists and frames, with labels of every kind."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from s2oct import OCTHClassifier, S2OCTClassifier
from s2oct.errors import InvalidProblem
from s2oct.evidence.evidence import AUTO_GUIDE_WEIGHT
from tests.messages import naming

NAMES = ["age", "income"]

TABLES = {
    "array": lambda X: X,
    "32-bit array": lambda X: X.astype(np.float32),
    "integer array": lambda X: X.astype(int),
    "object array": lambda X: X.astype(object),
    "column-major array": np.asfortranarray,
    "list": lambda X: X.tolist(),
    "list of tuples": lambda X: [tuple(row) for row in X],
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "pandas with another index": lambda X: pd.DataFrame(X, columns=NAMES, index=range(50, 50 + len(X))),
    "pandas nullable": lambda X: pd.DataFrame(X, columns=NAMES).convert_dtypes(),
    "pandas with numbered columns": lambda X: pd.DataFrame(X),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "polars integer": lambda X: pl.DataFrame(X.astype(int), schema=NAMES),
}
NAMED = {"pandas", "pandas with another index", "pandas nullable", "polars", "polars integer"}

LABELS = {
    "strings and None": (["no", "yes"], None, list),
    "strings and NaN": (["no", "yes"], np.nan, lambda y: np.array(y, dtype=object)),
    "strings and NA": (["no", "yes"], pd.NA, lambda y: pd.Series(y, dtype="string")),
    "categories": (["no", "yes"], None, lambda y: pd.Series(y, dtype="category")),
    "polars strings": (["no", "yes"], None, pl.Series),
    "integers and None": ([1, 2], None, list),
    "integers and -1": ([0, 1], -1, np.array),
    "integers and NaN": ([0.0, 1.0], np.nan, np.array),
    "nullable integers": ([0, 1], None, lambda y: pd.Series(y, dtype="Int64")),
    "polars integers": ([0, 1], None, pl.Series),
    "-1 and +1 beside NaN": ([-1.0, 1.0], np.nan, np.array),
    "booleans and None": ([False, True], None, list),
    "nullable booleans": ([False, True], None, lambda y: pd.Series(y, dtype="boolean")),
    "polars booleans": ([False, True], None, pl.Series),
}


def classifier() -> S2OCTClassifier:
    return S2OCTClassifier(depth=1, guide=None, time_limit=20.0, random_state=0)


@pytest.fixture
def expected(survey):
    X, y, totals = survey
    return classifier().fit(X, y, totals=totals)


@pytest.mark.parametrize("kind", TABLES)
def test_every_kind_of_table_gives_the_same_tree(survey, expected, kind):
    X, y, totals = survey
    table = TABLES[kind](X)
    clf = classifier().fit(table, y, totals=totals)
    assert clf.tree_.omega == pytest.approx(expected.tree_.omega)
    assert clf.predict(table).tolist() == expected.predict(X).tolist()
    assert clf.decision_function(table) == pytest.approx(expected.decision_function(X))


@pytest.mark.parametrize("kind", ["object array", "list", "pandas nullable", "polars"])
def test_the_default_guide_reads_tables_too(survey, kind):
    X, y, totals = survey
    clf = S2OCTClassifier(depth=1, random_state=0).fit(TABLES[kind](X), y, totals=totals)
    assert clf.transduction_.tolist() == np.where(X[:, 0] > 50, "yes", "no").tolist()
    assert clf.certificate_.guide_weight == AUTO_GUIDE_WEIGHT


@pytest.mark.parametrize("kind", TABLES)
def test_names_are_kept_where_a_table_has_any(survey, kind):
    X, y, totals = survey
    clf = classifier().fit(TABLES[kind](X), y, totals=totals)
    assert getattr(clf, "feature_names_in_", np.array([])).tolist() == (NAMES if kind in NAMED else [])


@pytest.mark.parametrize("kind", LABELS)
def test_every_kind_of_label_and_marker_gives_the_same_tree(survey, expected, kind):
    X, y, _ = survey
    classes, marker, container = LABELS[kind]
    value = {"no": classes[0], "yes": classes[1], None: marker}
    clf = classifier().fit(X, container([value[label] for label in y]), totals={classes[1]: 5})
    assert clf.tree_.omega.tolist() == expected.tree_.omega.tolist()
    assert clf.classes_.tolist() == classes
    assert type(clf.predict(X)[0].item()) is type(classes[0])
    assert clf.predict(X).tolist() == [value[label] for label in expected.predict(X)]
    assert clf.transduction_.dtype == clf.classes_.dtype


@pytest.mark.parametrize("kind", LABELS)
def test_octh_reads_every_kind_of_label_and_marker(survey, kind):
    X, y, _ = survey
    classes, marker, container = LABELS[kind]
    value = {"no": classes[0], "yes": classes[1], None: marker}
    clf = OCTHClassifier(depth=1, time_limit=4.0).fit(X, container([value[label] for label in y]))
    assert clf.predict(X[:6]).tolist() == [value[label] for label in y[:6]]


@pytest.mark.parametrize("estimator", [S2OCTClassifier, OCTHClassifier])
@pytest.mark.parametrize("sparse", [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix])
def test_sparse_tables_are_refused(survey, estimator, sparse):
    X, y, _ = survey
    with pytest.raises(TypeError, match=naming("'.toarray()'", "Sparse")):
        estimator().fit(sparse(X), y)


def test_a_frame_of_dates_is_refused_by_name(survey):
    """A date would silently be a number of nanoseconds."""
    X, y, totals = survey
    frame = pd.DataFrame({"age": X[:, 0], "born": pd.date_range("1950-01-01", periods=len(X))})
    with pytest.raises(InvalidProblem, match=naming("'born'", "dates", "column")):
        classifier().fit(frame, y, totals=totals)


def test_booleans_are_numbers(survey):
    X, y, totals = survey
    frame = pd.DataFrame({"age": X[:, 0], "retired": X[:, 0] > 64})
    assert classifier().fit(frame, y, totals=totals).certificate_.proved
