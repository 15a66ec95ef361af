"""Cells as numbers, text and labels."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from s2oct.tables.columns import read_label_cells, read_numbers, read_texts
from s2oct.tables.dialect import Dialect


def column(values, kind=None):
    return pa.chunked_array([pa.array(values, type=kind)])


def test_numbers_may_have_signs_blanks_exponents_and_gaps():
    found = read_numbers(column(["+1", " -2.5 ", "3e2", "NA", "", "?"]), Dialect(missing=("?",)))
    np.testing.assert_array_equal(found, [1.0, -2.5, 300.0, np.nan, np.nan, np.nan])


@pytest.mark.parametrize("cell", ["+-1", "++1", "--1", "1_000", "0x10", "1d"])
def test_text_that_other_programs_might_take_for_a_number_is_none(cell):
    assert read_numbers(column([cell]), Dialect()) is None


def test_decimal_comma_is_read_where_the_dialect_has_one():
    assert read_numbers(column(["1,5"]), Dialect()) is None
    np.testing.assert_array_equal(read_numbers(column(["1,5"]), Dialect(decimal=",")), [1.5])


@pytest.mark.parametrize("values", [["1", "x"], [b"1"]], ids=str)
def test_columns_of_anything_else_are_no_numbers(values):
    assert read_numbers(column(values), Dialect()) is None


def test_texts_are_numbers_too_whole_ones_without_decimals():
    assert read_texts(column([1, None, 3]), Dialect()).tolist() == ["1", None, "3"]
    assert read_texts(column([1.5, 2.0, None, float("nan")]), Dialect()).tolist() == ["1.5", "2", None, None]
    assert read_texts(column([b"1"]), Dialect()) is None
    dictionary = pa.chunked_array([pa.array(["u", "v", None]).dictionary_encode()])
    assert read_texts(dictionary, Dialect()).tolist() == ["u", "v", None]


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        (["1", "0", ""], [1, 0, None]),
        (["1.0", "0.0", "NA"], [1, 0, None]),
        (["1", "0.0"], ["1", "0.0"]),
        (["007", "1"], ["007", "1"]),
        (["-1", "1"], [-1, 1]),
        (["9" * 5000, "1"], ["9" * 5000, "1"]),
        (["yes", "NULL"], ["yes", None]),
    ],
    ids=lambda value: str(value)[:20],
)
def test_labels_are_whole_numbers_only_if_all_are_written_as_such(cells, labels):
    assert read_label_cells(column(cells), Dialect()) == labels


def test_float_labels_of_parquet_are_whole_numbers_where_they_can_be():
    assert read_label_cells(column([1.0, None, float("nan"), 0.5]), Dialect()) == [1, None, None, 0.5]
