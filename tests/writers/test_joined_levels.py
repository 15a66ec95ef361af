"""Rare categories that were joined, and categories that only new tables have, are read alike by every export."""

from __future__ import annotations

import numpy as np
import pytest

from s2oct import ObliqueTree, Topology
from s2oct.tables.encoding import Encoding
from s2oct.tables.treatment import learn_column
from tests.writers.readers import by_duckdb, by_onnx, by_python, by_sqlite

TOWNS = [f"town {i:02d}" for i in range(40)]
READERS = (by_sqlite, by_duckdb, by_python, by_onnx)


@pytest.mark.parametrize("impute", [None, "most-frequent"], ids=["refused", "filled"])
@pytest.mark.parametrize("reader", READERS)
def test_rare_and_new_categories_end_where_predict_puts_them(reader, impute):
    seen = np.array([town for i, town in enumerate(TOWNS) for _ in range(40 - i)], dtype=object)
    column = learn_column("town", seen, "onehot", impute=impute)
    assert column.joins
    encoding = Encoding((column,))
    omega = np.linspace(-1.0, 1.0, len(encoding.features))[None, :]
    rows = [*TOWNS, "a new town", "other", *([None] if impute else [])]
    values = encoding.encode({"town": np.array(rows, dtype=object)})
    for gamma in (-0.5, 0.0, 0.5):
        tree = ObliqueTree.of(Topology(1), omega, np.array([gamma]))
        expected = np.array(["no", "yes"])[tree.predict(values)].tolist()
        assert set(expected) == {"no", "yes"}
        assert reader(tree, encoding.features, ["no", "yes"], {"town": rows}, encoding) == expected


@pytest.mark.parametrize("reader", [by_sqlite, by_duckdb])
def test_sql_gives_null_for_a_gap_in_a_column_with_joined_levels(reader):
    column = learn_column("town", np.array([*TOWNS, *TOWNS[:29]], dtype=object), "onehot")
    encoding = Encoding((column,))
    tree = ObliqueTree.of(Topology(1), np.ones((1, len(encoding.features))), np.array([0.5]))
    found = reader(tree, encoding.features, ["no", "yes"], {"town": ["town 01", None, "new"]}, encoding)
    assert found == ["yes", None, "no"]
