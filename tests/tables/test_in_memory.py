"""Tables of pandas, polars and Arrow, arrays and lists as Arrow tables."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from s2oct.errors import InvalidProblem
from s2oct.tables.columns import Treatment, encode_rows
from s2oct.tables.dialect import IN_MEMORY
from s2oct.tables.features import arrow_table
from tests.messages import naming

LEVELS = ["none", "some", "much"]
CELLS = {
    "age": [41.5, None, 20.0, 33.0],
    "rooms": [1, 2, None, 3],
    "owner": [True, False, None, True],
    "region": ["north", None, "south", "north"],
    "school": ["some", "much", None, "some"],
}


def learned(X, **treatment):
    table = arrow_table(X)
    encoding = Treatment(**treatment).learn(table, table.column_names, IN_MEMORY)[0]
    return encoding, encode_rows(table, encoding, IN_MEMORY)


def in_pandas(school=None):
    return pd.DataFrame(
        {
            "age": CELLS["age"],
            "rooms": pd.array(CELLS["rooms"], dtype="Int64"),
            "owner": pd.array(CELLS["owner"], dtype="boolean"),
            "region": CELLS["region"],
            "school": school or pd.Categorical(CELLS["school"], LEVELS, ordered=True),
        },
        index=[9, 9, 8, 7],
    )


def in_objects():
    return in_pandas().astype(dict.fromkeys(["age", "rooms", "owner", "region"], object))


def in_pandas_arrow():
    return pd.DataFrame(
        {
            "age": pd.array(CELLS["age"], dtype="double[pyarrow]"),
            "rooms": pd.array(CELLS["rooms"], dtype="int32[pyarrow]"),
            "owner": pd.array(CELLS["owner"], dtype="bool[pyarrow]"),
            "region": pd.Categorical(CELLS["region"]),
            "school": pd.Categorical(CELLS["school"], LEVELS, ordered=True),
        }
    )


def in_polars():
    return pl.DataFrame(CELLS, schema_overrides={"school": pl.Enum(LEVELS)})


def in_polars_categories():
    return in_polars().with_columns(
        pl.col("region").cast(pl.Categorical), pl.col("age").cast(pl.Decimal(10, 1)), pl.col("rooms").cast(pl.Float32)
    )


def in_arrow():
    codes = pa.array([1, 2, None, 1], pa.int8())
    school = pa.DictionaryArray.from_arrays(codes, pa.array(LEVELS), ordered=True)
    return pa.table({name: CELLS[name] for name in list(CELLS)[:-1]}).append_column("school", school)


def in_chunks():
    return pa.concat_tables([in_arrow().slice(0, 1), in_arrow().slice(1)])


MAKERS = (in_pandas, in_objects, in_pandas_arrow, in_polars, in_polars_categories, in_arrow, in_chunks)


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_the_same_table_is_encoded_alike_wherever_it_comes_from(make):
    encoding, rows = learned(make())
    expected, expected_rows = learned(in_arrow())
    assert encoding == expected
    np.testing.assert_array_equal(rows, expected_rows)
    indicators = ("owner", "owner=missing", "region=south", "region=missing")
    assert encoding.features == (
        "age",
        "age=missing",
        "rooms",
        "rooms=missing",
        *indicators,
        "school",
        "school=missing",
    )
    assert rows[2].tolist() == [20, 0, 2, 1, 0, 1, 1, 0, 1, 1]


@pytest.mark.parametrize(
    ("X", "kinds"),
    [
        ([[1, "u"], [2, "v"], [3, "v"]], ["number", "onehot"]),
        (np.array([[1, "u"], [2, "u"], [3, None]], dtype=object), ["number", "onehot"]),
        ([[1, True], [None, False]], ["number", "boolean"]),
        (np.array([[1.5, 2], [3, 4]]), ["number", "number"]),
        (pd.DataFrame({1: [1, 2], "b": [2, 3]}), ["number", "number"]),
        (pd.DataFrame({"s": pd.arrays.SparseArray([0.0, 1.0])}), ["number"]),
        (pd.DataFrame({"s": [decimal.Decimal("1.5"), None]}), ["number"]),
        (pd.DataFrame({"s": [2**70, 0.5]}, dtype=object), ["number"]),
        (pd.DataFrame({"s": pd.cut([1, 2, 3], 2)}), ["ordinal"]),
        (pd.DataFrame({"s": pd.Categorical([3, 1, 3])}), ["onehot"]),
        (pd.DataFrame({"s": pd.Categorical([True, False])}), ["boolean"]),
        (pa.record_batch({"s": pa.array(["u", "u", "v"], pa.string_view())}), ["onehot"]),
    ],
    ids=lambda value: str(value)[:30].replace("\n", " "),
)
def test_cells_stay_what_they_are(X, kinds):
    encoding, rows = learned(X)
    assert [column.kind for column in encoding.columns] == kinds
    assert np.isfinite(rows).all()


@pytest.mark.parametrize(
    ("X", "named"),
    [
        (pd.DataFrame({"m": [1, "a"]}), ("'m'", 1, "'a'", 2)),
        (pd.DataFrame({"m": [None, True, "a"]}), ("'m'", "True", 2, "'a'", 3)),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), ("['a']", "distinct", "column names")),
        (pd.DataFrame({1: [1], "1": [2]}), ("['1']", "distinct", "column names")),
        (pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])), (2, "levels")),
        (pd.DataFrame({"z": [1j]}), ("'z'", "complex128")),
        (pd.DataFrame({"d": pd.to_datetime(["2020-01-01"])}), ("'d'", "dates", "column")),
        (pd.DataFrame({"d": [datetime.date(2020, 1, 1)]}), ("'d'", "dates", "column")),
        (pd.DataFrame({"d": pd.period_range("2020", periods=2, freq="M")}), ("'d'", "dates", "column")),
        (pd.DataFrame({"d": pd.to_timedelta([1, 2])}), ("'d'", "dates", "column")),
        (pd.DataFrame({"i": pd.interval_range(0, 2)}), ("'i'", "column", "interval")),
        (pl.DataFrame({"l": [[1], [2]]}), ("'l'", "list<")),
        (pl.DataFrame({"l": [1]}).lazy(), ("LazyFrame", "collect()")),
        (pd.DataFrame({"b": [b"u"]}), ("'b'", 1)),
        ([["a", {}]], ("'x1'", "{}", 1)),
        ([1, 2], (1, "column")),
        ([[1, 2], [3]], ("row", "length")),
        (pd.DataFrame({"x": [None, None]}), ("'x'", "column")),
    ],
    ids=lambda value: str(value) if isinstance(value, tuple) else "",
)
def test_what_is_no_table_of_text_numbers_and_booleans_is_refused(X, named):
    with pytest.raises(InvalidProblem, match=naming(*named)):
        learned(X)


def test_repeated_names_in_a_table_that_shows_none_are_refused():
    names = pa.schema([("a", pa.float64()), ("a", pa.float64())])
    batch = pa.record_batch([pa.array([1.0]), pa.array([2.0])], schema=names)
    with pytest.raises(InvalidProblem, match=naming("'a'", "distinct")):
        arrow_table(pa.RecordBatchReader.from_batches(names, [batch]))
