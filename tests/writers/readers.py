"""Other programs that read an exported tree and predict a table: SQLite, DuckDB, plain Python, ONNX Runtime."""

from __future__ import annotations

import sqlite3

import duckdb
import numpy as np
import onnxruntime
import pyarrow as pa

from s2oct.export import tree_to_onnx, tree_to_python, tree_to_sql


def by_sqlite(tree, names, classes, table, encoding=None):
    """``table`` maps column names to lists with None for gaps."""
    connection = sqlite3.connect(":memory:")
    columns = ", ".join('"' + name.replace('"', '""') + '"' for name in table)
    connection.execute(f"CREATE TABLE rows ({columns})")
    marks = ", ".join("?" * len(table))
    connection.executemany(f"INSERT INTO rows VALUES ({marks})", zip(*table.values(), strict=True))
    query = tree_to_sql(tree, names, classes, encoding=encoding, table="rows", column="the class")
    return [row[-1] for row in connection.execute(query)]


def by_duckdb(tree, names, classes, table, encoding=None):
    connection = duckdb.connect(config={"threads": 1})
    connection.register("rows", pa.table(table))
    query = tree_to_sql(tree, names, classes, encoding=encoding, table="rows", column="the class")
    return [row[0] for row in connection.execute(query.replace("*,", "", 1)).fetchall()]


def by_python(tree, names, classes, table, encoding=None):
    module = {"__name__": "tree"}
    exec(tree_to_python(tree, names, classes, encoding=encoding), module)
    return [module["predict"](row) for row in zip(*table.values(), strict=True)]


def by_onnx(tree, names, classes, table, encoding=None):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    graph = tree_to_onnx(tree, names, classes, encoding=encoding)
    session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    if encoding is None or encoding.is_plain:
        feed = {"X": np.column_stack([np.asarray(table[name], dtype=float) for name in table])}
    else:
        feed = {name: _column(values) for name, values in table.items()}
    return session.run(["label"], feed)[0].tolist()


def _column(values):
    if any(isinstance(value, str) for value in values):
        return np.array([["" if value is None else value] for value in values], dtype=object)
    return np.array([[np.nan if value is None else float(value)] for value in values])


READERS = {"SQLite": by_sqlite, "DuckDB": by_duckdb, "Python": by_python, "ONNX": by_onnx}
