"""Exports read the same raw table as `predict`: text, levels in order, booleans, gaps, and what the fit did not see."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from s2oct import ObliqueTree, Topology
from s2oct.tables.columns import Treatment, encode_rows
from s2oct.tables.dialect import IN_MEMORY
from s2oct.tables.encoding import Unseen
from s2oct.tables.features import arrow_table
from tests.output.exports.readers import READERS, TRANSLATED

N_ROWS = 200
SCHOOLS = ["none", "it's some", "much"]
WORDS = ["NA", "missing", "other", 'a "b"', "日本", "x" * 300, "None"]
CLASSES = ["no", "yes"]


def fitted_table():
    """A table whose columns have names and levels that exports could get wrong."""
    rng = np.random.default_rng(5)
    towns = [f"town {i}" for i in range(45)]
    return pd.DataFrame(
        {
            "age": np.where(rng.random(N_ROWS) < 0.2, np.nan, rng.integers(18, 80, N_ROWS)),
            "in come": rng.normal(size=N_ROWS),
            "select": rng.choice(WORDS, N_ROWS),
            "region": rng.choice(np.array(["north", "south", "missing", None], dtype=object), N_ROWS),
            "town": rng.choice(towns, N_ROWS, p=np.arange(1, 46) / 1035),
            "school": pd.Categorical(rng.choice([*SCHOOLS, None], N_ROWS), SCHOOLS, ordered=True),
            "owner": rng.random(N_ROWS) < 0.5,
            "member": pd.array(rng.choice([True, False, None], N_ROWS), dtype="boolean"),
            "code": pd.Categorical(rng.choice([1, 2, 30], N_ROWS)),
        }
    )


def new_table(frame):
    """Other rows, with gaps and levels that the fit did not see in every column."""
    rng = np.random.default_rng(6)
    new = frame.sample(N_ROWS, replace=True, random_state=6, ignore_index=True).astype(object)
    for name, cell in (
        ("in come", None),
        ("select", "new"),
        ("region", "west"),
        ("town", "city"),
        ("school", "all"),
        ("code", 4),
    ):
        new.loc[rng.random(N_ROWS) < 0.15, name] = cell
    for name in ("select", "town", "school", "owner", "member", "code"):
        new.loc[rng.random(N_ROWS) < 0.1, name] = None
    return new


@pytest.fixture(scope="module")
def learned():
    table = arrow_table(fitted_table())
    return Treatment().learn(table, table.column_names, IN_MEMORY)[0]


@pytest.mark.slow
@pytest.mark.parametrize("reader", [*READERS, *TRANSLATED])
def test_every_export_reads_raw_rows_as_predict_does(learned, reader):
    new = new_table(fitted_table())
    unseen = Unseen()
    X = encode_rows(arrow_table(new), learned, IN_MEMORY, unseen=unseen)
    assert {name for name, _ in unseen.rows} == {*new} - {"age", "member"}
    cells = {name: [None if pd.isna(cell) else cell for cell in new[name]] for name in new}
    rng = np.random.default_rng(7)
    for _ in range(3):
        omega = rng.normal(size=(7, X.shape[1])) / (X.std(axis=0) + 0.1)
        values = X @ omega.T
        tree = ObliqueTree.of(Topology(3), omega, np.median(values, axis=0))
        expected = [CLASSES[code] for code in tree.predict(X)]
        assert set(expected) == set(CLASSES)
        assert (READERS | TRANSLATED)[reader](tree, learned.features, CLASSES, cells, learned) == expected
