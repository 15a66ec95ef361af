"""Other programs that read an exported tree and predict a table: SQLite, DuckDB, plain Python, ONNX Runtime, R.

A reader takes a tree, names of its features, classes, a table as a mapping from column names to lists with None for
gaps, and an encoding. It returns the class of each row, or None where the export refuses the row.
"""

from __future__ import annotations

import atexit
import sqlite3
from functools import cache

import duckdb
import numpy as np
import onnxruntime
import pyarrow as pa
import sqlglot

from s2oct.export import tree_to_onnx, tree_to_python, tree_to_sql
from s2oct.tables.columns import read_numbers
from s2oct.tables.dialect import Dialect
from s2oct.trees.features import NUMBER
from tests.output.exports.r_reader import by_r, by_r_all
from tests.output.exports.rule_readers import by_dot, by_text


def by_sqlite(tree, names, classes, table, encoding=None):
    connection = sqlite3.connect(":memory:")
    columns = ", ".join('"' + name.replace('"', '""') + '"' for name in table)
    connection.execute(f"CREATE TABLE rows ({columns})")
    marks = ", ".join("?" * len(table))
    connection.executemany(f"INSERT INTO rows VALUES ({marks})", zip(*table.values(), strict=True))
    query = tree_to_sql(tree, names, classes, encoding=encoding, table="rows", column="the class")
    return [row[-1] for row in connection.execute(query)]


def by_duckdb(tree, names, classes, table, encoding=None):
    query = tree_to_sql(tree, names, classes, encoding=encoding, table="rows", column="the class", dialect="duckdb")
    return run_in_duckdb(query, table)


def translated(dialect):
    """A reader of the SQL of a database that is not here: sqlglot parses it and writes it anew for DuckDB."""

    def reader(tree, names, classes, table, encoding=None):
        if dialect != "spark":
            table = _with_digits(table, encoding)
        query = tree_to_sql(tree, names, classes, encoding=encoding, table="rows", column="the class", dialect=dialect)
        return run_in_duckdb(in_duckdb(query, dialect), table)

    return reader


def in_duckdb(query, dialect):
    [translation] = sqlglot.transpile(query, read=SQLGLOT_NAMES[dialect], write="duckdb")
    # What Spark calls string, DuckDB calls VARCHAR.
    return translation.replace("<> 'string'", "<> 'VARCHAR'")


SQLGLOT_NAMES = {"postgresql": "postgres", "spark": "spark", "bigquery": "bigquery"}


def _with_digits(table, encoding):
    """A table without booleans where numbers should be: PostgreSQL and BigQuery refuse to cast them to doubles."""
    numbers = {column.name for column in encoding.columns if column.kind == NUMBER} if encoding else set(table)
    return {
        name: [int(cell) if isinstance(cell, bool) and name in numbers else cell for cell in cells]
        for name, cells in table.items()
    }


def run_in_duckdb(query, table):
    connection = _duckdb()
    connection.register("rows", pa.table(table))
    return [row[-1] for row in connection.execute(query).fetchall()]


@cache
def _duckdb():
    """One connection for all tables, because opening one takes longer than a query."""
    atexit.register(_duckdb.cache_clear)
    return duckdb.connect(config={"threads": 1})


def by_python(tree, names, classes, table, encoding=None):
    module = {"__name__": "tree"}
    exec(tree_to_python(tree, names, classes, encoding=encoding), module)

    def predict(row):
        try:
            return module["predict"](row)
        except ValueError as refusal:
            return None if str(refusal).startswith("Column ") else refusal

    return [predict(row) for row in zip(*table.values(), strict=True)]


def by_onnx(tree, names, classes, table, encoding=None):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    graph = tree_to_onnx(tree, names, classes, encoding=encoding)
    session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    if encoding is None or encoding.is_numeric:
        feed = {"X": np.column_stack([_numbers(cells) for cells in table.values()])}
    else:
        columns = {column.name: column for column in encoding.columns}
        feed = {
            name: _numbers(cells)[:, None] if columns[name].kind == NUMBER else _texts(cells, columns[name])
            for name, cells in table.items()
        }
    labels, leaves = session.run(None, feed)
    return [label if leaf else None for label, leaf in zip(labels.tolist(), leaves.tolist(), strict=True)]


def _numbers(cells):
    """Cells as doubles. Who calls ONNX must read text; what is no number becomes infinity, which is refused."""

    def number(cell):
        if not isinstance(cell, str):
            return np.nan if cell is None else float(cell)
        read = read_numbers(pa.chunked_array([[cell]]), Dialect())
        return np.inf if read is None else read[0]

    return np.array([number(cell) for cell in cells])


def _texts(cells, column):
    """Cells as text, empty for gaps; who calls ONNX must drop blanks around marks of gaps."""

    def text(cell):
        found = "" if cell is None or cell != cell else str(cell)
        return "" if column.is_gap(found) else found

    return np.array([[text(cell)] for cell in cells], dtype=object)


READERS = {"SQLite": by_sqlite, "DuckDB": by_duckdb, "Python": by_python, "ONNX": by_onnx, "R": by_r}
RULE_READERS = {"text": by_text, "DOT": by_dot}
TRANSLATED = {dialect: translated(dialect) for dialect in SQLGLOT_NAMES}


def predictions(export, cases):
    """What an export predicts for adversarial cases; R gets all of them at once."""
    if export == "R":
        return by_r_all([case.arguments for case in cases])
    if export in RULE_READERS:
        return [_by_rules(RULE_READERS[export], case) for case in cases]
    reader = (READERS | TRANSLATED)[export]
    return [reader(*case.arguments) for case in cases]


def _by_rules(reader, case):
    """Rules are about features and have no cells to refuse, so rows that `predict` refuses are left out."""
    names = [f"f{j}" for j in range(case.tree.n_features)]
    shown = [f"c{k}" for k in range(len(case.classes))]
    classes = dict(zip(shown, case.classes, strict=True))
    found = iter(reader(case.tree, names, shown, [row.tolist() for row in case.rows if row is not None]))
    return [None if row is None else classes[next(found)] for row in case.rows]


def expected_by(export, case):
    """What `predict` says; the graph of ONNX and the rules take whole rows, the others the columns that rules use."""
    return case.strict if export in {"ONNX", *RULE_READERS} else case.expected


def suits(export, case):
    """Whether a database can hold the table: names of columns have no dots in BigQuery."""
    return export != "bigquery" or not any("." in name for name in case.table)


EXPORTS = (*READERS, *TRANSLATED, *RULE_READERS)
