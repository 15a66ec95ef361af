"""Every export predicts what `predict` predicts, to the last row."""

from __future__ import annotations

import json
import math
import random
import sqlite3
import sys

import duckdb
import numpy as np
import onnxruntime
import pyarrow as pa
import pytest

from s2oct import ObliqueTree, Topology
from s2oct.errors import InvalidProblem, MissingExtra
from s2oct.export import tree_to_dot, tree_to_onnx, tree_to_python, tree_to_r, tree_to_sql
from s2oct.output.exports.sql import sql_number
from s2oct.tables.columns import encode_rows
from s2oct.tables.dialect import IN_MEMORY
from s2oct.tables.encoding import Column, Encoding, Unseen
from s2oct.trees.rules import SplitRule
from tests.messages import naming
from tests.output.exports.readers import READERS, TRANSLATED, by_duckdb, by_sqlite
from tests.stopwatch import processor_seconds

N_ROWS = 100_000
NAMES = ["age", 'the "income"', "x y", "select", "ü"]
CLASSES = ["no", "it's"]


@pytest.fixture(scope="module")
def table():
    """Rows of very different sizes; whole numbers too, as tables have them."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(N_ROWS, len(NAMES))) * np.array([10.0, 1e5, 1.0, 1e-4, 3.0])
    X[:, 0] = np.round(X[:, 0])
    X[: N_ROWS // 2, 4] = np.round(X[: N_ROWS // 2, 4])
    return X


def as_columns(X):
    return {name: column.tolist() for name, column in zip(NAMES, X.T, strict=True)}


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS)
def test_100_000_rows_get_the_class_that_predict_gives_them(table, reader):
    rng = np.random.default_rng(8)
    tree = ObliqueTree.of(Topology(3), rng.normal(size=(7, 5)) / table.std(axis=0), rng.normal(size=7) / 3)
    expected = [CLASSES[c] for c in tree.predict(table)]
    assert 0.1 < np.mean([label == "no" for label in expected]) < 0.9
    assert READERS[reader](tree, NAMES, CLASSES, as_columns(table)) == expected


@pytest.mark.parametrize("reader", READERS)
def test_rows_in_the_rounding_of_a_hyperplane_get_the_same_class_everywhere(reader):
    """In tenths, every row of this grid lies on a hyperplane; which side rounding says depends on the order of sums."""
    grid = np.array(np.meshgrid(*[np.arange(-4.0, 5.0)] * 4)).reshape(4, -1).T
    omega = np.array([[0.1, 0.2, 0.3, -0.7], [0.7, -0.1, 0.1, 1.1], [1 / 3, 1 / 3, 1 / 3, -1.0]])
    for gamma in (0.0, 0.3, 0.6):
        tree = ObliqueTree.of(Topology(2), omega, np.full(3, gamma))
        X = grid[np.abs(tree.values(grid)[:, 0]) < 1e-12]
        assert len(X) > 50
        columns = {name: column.tolist() for name, column in zip("abcd", X.T, strict=True)}
        assert READERS[reader](tree, list("abcd"), [0, 1], columns) == tree.predict(X).tolist()


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("classes", [[3, 7], [False, True], [0.0, 2.0], ["ja", "nein"]], ids=str)
def test_classes_keep_their_kind(reader, classes):
    tree = ObliqueTree.of(Topology(1), np.array([[1.0]]), np.array([2.0]))
    found = READERS[reader](tree, ["x"], classes, {"x": [1.0, 3.0]})
    assert found == classes
    # SQLite has no booleans.
    assert reader == "SQLite" or [type(label) for label in found] == [type(label) for label in classes]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("right", [False, True])
def test_a_tree_that_splits_nothing_predicts_its_one_class(reader, right):
    tree = ObliqueTree.constant(Topology(2), 2, right=right)
    assert READERS[reader](tree, ["a", "b"], CLASSES, {"a": [1.0, 2.0], "b": [3.0, 4.0]}) == [CLASSES[right]] * 2


ENCODING = Encoding(
    (
        Column("region", "onehot", ("north", "o'south", "west", "missing"), "missing", "north", gaps=True),
        Column("age", "number", fill=41.5, gaps=True),
        Column("owner", "boolean", ("False", "True", "missing"), "missing", "False", gaps=True),
        Column("school", "ordinal", ("none", "some", "much"), "some", "some", gaps=True),
    )
)
COLUMNS = {
    "region": ["north", "o'south", None, "west", "elsewhere", "NA"],
    "age": [20.0, None, 40.0, 41.25, 42.0, 80.0],
    "owner": [True, False, True, None, False, True],
    "school": ["none", "much", None, "other", "none", "some"],
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("seed", range(5))
def test_categories_and_gaps_are_encoded_in_every_export_as_in_the_table(reader, seed):
    rng = np.random.default_rng(seed)
    scale = np.array([1, 1, 1, 40.0, 1, 1, 1, 1, 1])
    tree = ObliqueTree.of(Topology(2), rng.normal(size=(3, 9)) / scale, rng.normal(size=3))
    X = encode_rows(pa.table(COLUMNS), ENCODING, IN_MEMORY, unseen=Unseen())
    indicators = ("region=o'south", "region=west", "region=missing")
    measured = ("age", "age=missing", "owner", "owner=missing", "school", "school=missing")
    assert ENCODING.features == (*indicators, *measured)
    assert X[1].tolist() == [1, 0, 0, 41.5, 1, 0, 0, 2, 0]
    assert X[2].tolist() == [0, 0, 1, 40, 0, 1, 0, 1, 1]
    assert X[3].tolist() == [0, 1, 0, 41.25, 0, 0, 1, 1, 0]
    assert X[4].tolist() == [0, 0, 0, 42, 0, 0, 0, 0, 0]
    expected = [CLASSES[c] for c in tree.predict(X)]
    assert READERS[reader](tree, ENCODING.features, CLASSES, COLUMNS, ENCODING) == expected


ONE_COLUMN = {
    "region in (o'south, west)": ([-1, -1, 0], -0.5),
    "region not in (o'south, missing)": ([1, 0, 1], 0.5),
    "region in (west, missing)": ([0, -1, -1], -0.5),
    "region is not west": ([0, 1, 0], 0.5),
    "age >= 41 or missing": ([0, 0, 0, -1, -1000], -41.0),
    "age >= 41": ([0, 0, 0, -1, 1000], -41.0),
    "age <= 41.25": ([0, 0, 0, 1, 0], 41.25),
    "age is missing": ([0, 0, 0, 0, -1], -0.5),
    "age is not missing": ([0, 0, 0, 0, 1], 0.5),
    "owner or missing": ([0, 0, 0, 0, 0, -1, -1], -0.5),
    "not owner or missing": ([0, 0, 0, 0, 0, 1], 0.5),
    "not owner": ([0, 0, 0, 0, 0, 1, 1], 0.5),
    "school >= some": ([0, 0, 0, 0, 0, 0, 0, -1, 9], -0.5),
    "school >= much or missing": ([0, 0, 0, 0, 0, 0, 0, -1, -9], -1.5),
    "school <= none or missing": ([0, 0, 0, 0, 0, 0, 0, 1, -9], 0.5),
    "school is missing": ([0, 0, 0, 0, 0, 0, 0, 0, -1], -0.5),
    "age + 300 * (region in (o'south, west)) >= 320": ([-300, -300, 0, -1], -320.0),
    "age + 5 * (age is missing) - school <= 40": ([0, 0, 0, 1, 5, 0, 0, -1], 40.0),
}


@pytest.mark.parametrize("reader", [*READERS, *TRANSLATED])
@pytest.mark.parametrize("rule", ONE_COLUMN)
def test_levels_thresholds_and_missing_values_are_decided_alike_in_every_export(reader, rule):
    """On cells that the fit did not see, too: marks of missing values, other spellings and new levels."""
    omega, offset = ONE_COLUMN[rule]
    tree = ObliqueTree.of(Topology(1), [omega + [0] * (9 - len(omega))], [offset])
    assert SplitRule.of(tree, 1, ENCODING.described).text() == rule
    columns = {
        "region": [*COLUMNS["region"], "", " NA ", "missing"],
        "age": [*COLUMNS["age"], 41.0, None, 20.0],
        "owner": [*COLUMNS["owner"], False, None, True],
        "school": [*COLUMNS["school"], "", "NA", "missing"],
    }
    X = encode_rows(pa.table(columns), ENCODING, IN_MEMORY, unseen=Unseen())
    expected = [CLASSES[c] for c in tree.predict(X)]
    assert set(expected) == set(CLASSES)
    assert (READERS | TRANSLATED)[reader](tree, ENCODING.features, CLASSES, columns, ENCODING) == expected


@pytest.mark.parametrize("reader", READERS)
def test_rows_that_predict_refuses_get_no_class(reader):
    tree = ObliqueTree.of(Topology(1), np.ones((1, 8)), np.array([1e9]))
    encoding = Encoding((*ENCODING.columns[:1], Column("age", "number"), *ENCODING.columns[2:]))
    columns = {
        "region": ["north", "elsewhere", "north"],
        "age": [None, 1.0, math.inf],
        "owner": [True, True, False],
        "school": ["none", None, "none"],
    }
    assert READERS[reader](tree, encoding.features, CLASSES, columns, encoding) == [None, "no", None]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("x", [[1e308, 1e308], [1e308, -1e308], [-1e308, 1e308], [-1e308, -1e308]], ids=str)
def test_rows_whose_sums_overflow_get_one_class_everywhere(reader, x):
    """Infinity minus infinity is not a number; it is not at most 0, so such a row goes right."""
    tree = ObliqueTree.of(Topology(1), np.array([[1e10, 1e10]]), np.array([0.0]))
    goes_left = all(value < 0 for value in x)
    assert tree.predict(np.array([x])).tolist() == [int(not goes_left)]
    assert tree.goes_right(np.array([x])).tolist() == [[not goes_left]]
    columns = {"a": x[:1], "b": x[1:]}
    assert READERS[reader](tree, ["a", "b"], CLASSES, columns) == [CLASSES[int(not goes_left)]]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("coefficient", [1 + 1e-12, 1e-300, 1 - 1e-16])
def test_coefficients_that_are_1_or_0_as_floats_are_used_as_doubles(reader, coefficient):
    """ONNX Runtime compares constants with 1 and 0 as floats when it looks for products and sums to leave out."""
    tree = ObliqueTree.of(Topology(1), np.array([[coefficient]]), np.array([3 * coefficient]))
    X = np.array([[3.0], [np.nextafter(3.0, 4)], [3 / coefficient], [2.0], [4.0]])
    expected = [CLASSES[c] for c in tree.predict(X)]
    assert READERS[reader](tree, ["x"], CLASSES, {"x": X[:, 0].tolist()}) == expected


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("cells", [[True, False, None], [1, 0, None], ["true", "FALSE", ""]], ids=str)
def test_booleans_are_read_however_they_are_stored(reader, cells):
    """A table says True, a database true or 1, and R TRUE."""
    encoding = Encoding((Column("member", "boolean", ("False", "True", "missing"), "missing", "False", gaps=True),))
    tree = ObliqueTree.of(Topology(1), np.array([[1.0, 1.0]]), np.array([0.5]))
    found = READERS[reader](tree, encoding.features, CLASSES, {"member": cells}, encoding)
    assert found == [CLASSES[1], CLASSES[0], CLASSES[1]]


def test_nan_is_null_in_a_database_that_has_it():
    tree = ObliqueTree.of(Topology(1), np.array([[1.0]]), np.array([2.0]))
    assert by_duckdb(tree, ["x"], CLASSES, {"x": [1.0, math.nan]}) == ["no", None]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"age": [math.inf]}, "Column 'age' has the value inf, and only finite numbers count."),
        ({"age": ["1_000"]}, "Column 'age' has the value '1_000', which is no number."),
    ],
    ids=str,
)
def test_rows_that_predict_refuses_are_refused_by_the_python_module(change, sentence):
    tree = ObliqueTree.of(Topology(1), np.ones((1, 9)), np.array([1e9]))
    columns = {name: values[:1] for name, values in COLUMNS.items()} | change
    module = {"__name__": "tree"}
    exec(tree_to_python(tree, ENCODING.features, CLASSES, encoding=ENCODING), module)
    with pytest.raises(ValueError, match=r"^Column") as refusal:
        module["predict"]({name: values[0] for name, values in columns.items()})
    assert str(refusal.value) == sentence


def test_numbers_are_read_back_as_they_were_in_sql():
    rng = random.Random(3)
    numbers = [rng.gauss(0, 1) * 10.0 ** rng.randint(-25, 25) for _ in range(20_000)]
    numbers += [0.1, 1 / 3, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 0.0, -1.0, 2.0**63]
    for connect in (sqlite3.connect, duckdb.connect):
        connection = connect(":memory:")
        for start in range(0, len(numbers), 500):
            some = numbers[start : start + 500]
            query = "SELECT " + ", ".join(sql_number(number) for number in some)
            assert list(connection.execute(query).fetchone()) == some


def test_sql_without_a_table_is_an_expression_to_put_anywhere():
    tree = ObliqueTree.of(Topology(1), np.array([[0.5]]), np.array([1.0]))
    expression = tree_to_sql(tree, ["x"], ["a", "b"])
    found = sqlite3.connect(":memory:").execute(f"SELECT {expression} FROM (SELECT 2 AS x UNION SELECT 3)").fetchall()
    assert found == [("a",), ("b",)]


@pytest.mark.parametrize("reader", [by_sqlite, by_duckdb])
def test_line_breaks_in_names_and_classes_stay_as_they_are_in_a_query(reader):
    tree = ObliqueTree.of(Topology(1), np.array([[1.0]]), np.array([2.0]))
    classes = ["a\nb", "c\n\nd"]
    assert reader(tree, ["new\nline"], classes, {"new\nline": [1.0, 3.0]}) == classes


def test_python_module_needs_no_import_but_the_standard_library():
    tree = ObliqueTree.of(Topology(1), np.array([[0.5]]), np.array([1.0]))
    source = tree_to_python(tree, ["x"], np.array(["a", "b"]))
    imports = {line.strip() for line in source.splitlines() if line.strip().startswith(("import", "from"))}
    assert imports == {"import math", "import re", "import csv", "import sys"}


def test_a_column_may_be_called_like_an_output_of_the_onnx_graph():
    encoding = Encoding((Column("label", "onehot", ("a", "b"), "a", "a"), Column("leaf", "number")))
    tree = ObliqueTree.of(Topology(1), np.array([[1.0, 1.0]]), np.array([2.5]))
    columns = {"label": ["a", "b", "c"], "leaf": [2.0, 2.0, math.inf]}
    assert READERS["ONNX"](tree, encoding.features, CLASSES, columns, encoding) == [*CLASSES, None]
    session = onnxruntime.InferenceSession(tree_to_onnx(tree, encoding.features, CLASSES, encoding=encoding))
    assert [output.name for output in session.get_outputs()] == ["label_", "leaf_"]
    assert json.loads(session.get_modelmeta().custom_metadata_map["columns"]) == ["label", "leaf"]


@pytest.mark.parametrize("reader", ["Python", "ONNX"])
def test_classes_that_differ_in_a_nul_character_stay_apart(reader):
    """SQL and R cannot write them and refuse them."""
    tree = ObliqueTree.of(Topology(1), np.array([[1.0]]), np.array([2.0]))
    assert READERS[reader](tree, ["x"], ["a", "a\0"], {"x": [1.0, 3.0]}) == ["a", "a\0"]


def test_dot_names_every_split_and_leaf_once_and_escapes_names():
    rng = np.random.default_rng(0)
    tree = ObliqueTree.of(Topology(2), rng.normal(size=(3, 2)), rng.normal(size=3))
    graph = tree_to_dot(tree, ['a "b"', "c\\d"], ["no", "yes"])
    assert graph.count("[label=") == 3 + 4 + 6
    assert '* a \\"b\\"\\n' in graph
    assert "* c\\\\d\\n" in graph
    for coefficient in tree.omega.ravel():
        assert repr(abs(float(coefficient))) in graph


@pytest.mark.parametrize("export", [tree_to_sql, tree_to_python, tree_to_r, tree_to_onnx, tree_to_dot])
def test_number_of_names_must_be_that_of_the_features(export):
    with pytest.raises(InvalidProblem, match=naming(2, 1)):
        export(ObliqueTree.constant(Topology(1), 2, right=False), ["a"], CLASSES)


@pytest.mark.parametrize("export", [tree_to_sql, tree_to_python, tree_to_r, tree_to_onnx])
def test_encoding_must_be_that_of_the_features(export):
    with pytest.raises(InvalidProblem, match=naming("encoding", "feature")):
        export(ObliqueTree.constant(Topology(1), 9, right=False), list("abcdefghi"), CLASSES, encoding=ENCODING)


def test_without_onnx_one_sentence_names_the_package_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtra, match=naming("pip install onnx")):
        tree_to_onnx(ObliqueTree.constant(Topology(1), 1, right=False), ["age"], CLASSES)


@pytest.mark.parametrize("export", [tree_to_python, tree_to_r, tree_to_sql])
def test_a_rule_over_thousands_of_columns_is_written_in_linear_time(export):
    """Looking up each column among all columns took 5 s."""
    p = 3000
    tree = ObliqueTree.of(Topology(2), np.random.default_rng(0).normal(size=(3, p)), np.zeros(3))
    names = [f"x{j}" for j in range(p)]
    assert processor_seconds(lambda: export(tree, names, CLASSES), 2.0) <= 2.0
