"""SQL in the dialects of five databases: what their differences could break."""

from __future__ import annotations

import datetime
import sqlite3

import numpy as np
import pytest
import sqlglot
from sqlglot import expressions

from s2oct import ObliqueTree, Topology
from s2oct.errors import InvalidProblem
from s2oct.export import tree_to_sql
from s2oct.output.exports.sql import DIALECTS
from s2oct.tables.encoding import Column, Encoding
from tests.messages import naming
from tests.output.exports.readers import SQLGLOT_NAMES, by_duckdb, by_sqlite

SPLIT_AT_2 = ObliqueTree.of(Topology(1), np.array([[1.0]]), np.array([2.0]))
GLOT = {"sqlite": "sqlite", "duckdb": "duckdb", **SQLGLOT_NAMES}
STRANGE = [
    "new\nline",
    "\r\n",
    'a "b"',
    "it's",
    "back`tick",
    "back\\slash",
    "\\n",
    "select",
    "x" * 300,
    "{0}",
    "ü",
    "--",
]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("text", STRANGE, ids=ascii)
def test_names_and_classes_are_read_back_as_they_were(dialect, text):
    query = tree_to_sql(SPLIT_AT_2, [text], [text, "other"], table=text, column=text, dialect=dialect)
    [parsed] = sqlglot.parse(query, read=GLOT[dialect])
    names = {column.name for column in parsed.find_all(expressions.Column)}
    classes = {literal.this for literal in parsed.find_all(expressions.Literal) if literal.is_string}
    assert names == {text}
    assert {text, "other"} <= classes
    assert parsed.find(expressions.Table).name == text
    assert parsed.selects[-1].alias == text


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("gaps", [False, True])
def test_queries_with_categories_parse_in_every_dialect(dialect, gaps):
    encoding = Encoding(
        (
            Column("kind", "onehot", ("a\\b", "it's", "c\nd"), "a\\b" if gaps else "other", "other", gaps),
            Column("school", "ordinal", ("none", "some"), "some", "some", gaps),
            Column("age", "number", fill=41.5 if gaps else None, gaps=gaps),
        )
    )
    omega = np.random.default_rng(0).normal(size=(3, len(encoding.features)))
    tree = ObliqueTree.of(Topology(2), omega, np.zeros(3))
    query = tree_to_sql(tree, encoding.features, [False, True], encoding=encoding, table="t", dialect=dialect)
    [parsed] = sqlglot.parse(query, read=GLOT[dialect], error_level=sqlglot.ErrorLevel.RAISE)
    assert {literal.this for literal in parsed.find_all(expressions.Literal)} >= {"a\\b", "it's", "c\nd"}


@pytest.mark.parametrize("name", ["a", "12"])
@pytest.mark.parametrize("table", [None, "rows"])
def test_a_missing_column_is_an_error_in_sqlite_and_not_a_string(name, table):
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE rows (b)")
    connection.execute("INSERT INTO rows VALUES (1)")
    query = tree_to_sql(SPLIT_AT_2, [name], ["no", "yes"], table=table)
    with pytest.raises(sqlite3.OperationalError, match=f"no such column: {name}"):
        connection.execute(query if table else f"SELECT {query} FROM rows").fetchall()


@pytest.mark.parametrize("reader", [by_sqlite, by_duckdb])
def test_text_that_is_no_number_is_null_and_text_that_is_one_is_read(reader):
    cells = {"": None, "abc": None, "12abc": None, "1_000": None, "inf": None, "1": "no", " 2.0 ": "no", "3e0": "yes"}
    assert reader(SPLIT_AT_2, ["x"], ["no", "yes"], {"x": list(cells)}) == list(cells.values())


def test_dates_are_null():
    """`predict` refuses them, and SQLite stores them as text."""
    dates = [datetime.date(2026, 1, 1), datetime.date(2027, 1, 1)]
    assert by_duckdb(SPLIT_AT_2, ["x"], ["no", "yes"], {"x": dates}) == [None, None]
    assert by_sqlite(SPLIT_AT_2, ["x"], ["no", "yes"], {"x": [str(date) for date in dates]}) == [None, None]


@pytest.mark.parametrize("affinity", ["", "TEXT", "REAL", "INTEGER", "NUMERIC", "BLOB"])
def test_sqlite_reads_cells_alike_whatever_the_column_was_declared_as(affinity):
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE rows (x {affinity})")
    connection.executemany("INSERT INTO rows VALUES (?)", [(1,), (3.0,), ("1",), ("abc",), ("",), (None,)])
    query = tree_to_sql(SPLIT_AT_2, ["x"], ["no", "yes"], table="rows")
    assert [row[-1] for row in connection.execute(query)] == ["no", "yes", "no", None, None, None]


@pytest.mark.parametrize("reader", [by_sqlite, by_duckdb])
def test_the_smallest_integer_is_a_number(reader):
    """It has no absolute value among the integers."""
    assert reader(SPLIT_AT_2, ["x"], ["no", "yes"], {"x": [-(2**63), 2**63 - 1]}) == ["no", "yes"]


@pytest.mark.parametrize("reader", [by_sqlite, by_duckdb])
def test_infinity_and_text_are_no_gaps_to_fill(reader):
    encoding = Encoding((Column("x", "number", fill=1.0),))
    tables = {"numbers": [None, float("inf"), 3.0], "text": ["", "abc", "NA"]}
    found = [reader(SPLIT_AT_2, ["x"], ["no", "yes"], {"x": cells}, encoding) for cells in tables.values()]
    assert found == [["no", None, "yes"], ["no", None, "no"]]


@pytest.mark.parametrize("name", ["TRUE", "FALSE", "true"])
def test_a_column_named_as_a_boolean_is_not_taken_for_a_class(name):
    assert by_sqlite(SPLIT_AT_2, [name], [False, True], {name: [-7.0, 9.0]}) == [0, 1]


def test_numbers_are_added_up_as_doubles_in_postgresql():
    """PostgreSQL takes 0.1e0 for an exact decimal; a factor that is a double makes the product one."""
    encoding = Encoding((Column("a", "onehot", ("n", "y"), "n", "n"), Column("b", "ordinal", ("l", "h"), "l", "l")))
    tree = ObliqueTree.of(Topology(1), np.array([[0.1, 0.2]]), np.array([0.3]))
    query = tree_to_sql(tree, encoding.features, ["no", "yes"], encoding=encoding, dialect="postgresql")
    parsed = sqlglot.parse_one(query, read="postgres")
    factors = [product.expression for product in parsed.find_all(expressions.Mul)]
    assert len(factors) == 2
    for factor in factors:
        assert factor.is_type("double")


def test_levels_are_a_list_and_missing_values_null():
    encoding = Encoding(
        (
            Column("region", "onehot", ("coast", "north", "south"), "south", "south"),
            Column("age", "number", fill=37.0, gaps=True),
        )
    )
    levels = ObliqueTree.of(Topology(1), np.array([[-1.0, -1.0, 0.0, 0.0]]), np.array([-0.5]))
    query = tree_to_sql(levels, encoding.features, ["no", "yes"], encoding=encoding)
    assert "CASE WHEN CAST(`region` AS VARCHAR) IN ('coast', 'north') THEN" in query
    ages = ObliqueTree.of(Topology(1), np.array([[0.0, 0.0, -1.0, -1000.0]]), np.array([-27.0]))
    query = tree_to_sql(ages, encoding.features, ["no", "yes"], encoding=encoding)
    condition = query.split("CASE WHEN ")[-2] + query.split("CASE WHEN ")[-1]
    assert condition.startswith("(`age` IS NULL OR TRIM(")
    assert "END >= 27.0e0 THEN" in condition


def test_a_name_with_a_nul_character_is_refused():
    with pytest.raises(InvalidProblem, match=naming("label", "SQL")):
        tree_to_sql(SPLIT_AT_2, ["a\0"], ["no", "yes"])
    with pytest.raises(InvalidProblem, match=naming("label", "SQL")):
        tree_to_sql(SPLIT_AT_2, ["a"], ["a", "a\0"])


def test_an_unknown_dialect_is_refused():
    with pytest.raises(InvalidProblem, match=naming("'oracle'", "sqlite", "duckdb")):
        tree_to_sql(SPLIT_AT_2, ["a"], ["no", "yes"], dialect="oracle")
