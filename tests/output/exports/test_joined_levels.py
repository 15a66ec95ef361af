"""Rare categories that were joined, and categories that only new tables have, are read alike by every export."""

from __future__ import annotations

import numpy as np
import pytest

from s2oct import ObliqueTree, Topology
from s2oct.tables.encoding import Encoding, Unseen, learn_column
from tests.output.exports.readers import by_duckdb, by_onnx, by_python, by_sqlite

TOWNS = [f"town {i:02d}" for i in range(40)]
READERS = (by_sqlite, by_duckdb, by_python, by_onnx)


@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "with gaps"])
@pytest.mark.parametrize("reader", READERS)
def test_rare_new_and_missing_categories_end_where_predict_puts_them(reader, gaps):
    seen = [town for i, town in enumerate(TOWNS) for _ in range(40 - i)]
    column = learn_column("town", np.array([*seen, *([None] if gaps else [])], dtype=object), "onehot")
    assert column.joins
    encoding = Encoding((column,))
    omega = np.linspace(-1.0, 1.0, len(encoding.features))[None, :]
    rows = [*TOWNS, "a new town", "other", None, "missing"]
    values = encoding.encode({"town": np.array(rows, dtype=object)}, unseen=Unseen())
    for gamma in (-0.5, 0.0, 0.5):
        tree = ObliqueTree.of(Topology(1), omega, np.array([gamma]))
        expected = np.array(["no", "yes"])[tree.predict(values)].tolist()
        assert set(expected) == {"no", "yes"}
        assert reader(tree, encoding.features, ["no", "yes"], {"town": rows}, encoding) == expected
