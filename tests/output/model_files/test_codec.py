"""Dataclasses come back from JSON as they were, and what does not fit is named with its place."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2oct.output.model_files.codec import Mismatch, decoded, encoded
from tests.messages import naming


@dataclasses.dataclass(frozen=True)
class Part:
    size: float
    count: int = 3


@dataclasses.dataclass(frozen=True)
class Whole:
    name: str
    is_new: bool
    parts: tuple[Part, ...]
    sizes: dict[str, float]
    fill: float | str | None
    best: Part | None
    anything: Any = None


NUMBERS = st.floats(allow_nan=False)
PARTS = st.builds(Part, NUMBERS, st.integers())
WHOLES = st.builds(
    Whole,
    st.text(),
    st.booleans(),
    st.lists(PARTS, max_size=3).map(tuple),
    st.dictionaries(st.text(), NUMBERS, max_size=3),
    st.none() | NUMBERS | st.sampled_from(["", "far", "infinite"]),
    st.none() | PARTS,
)
STORED = {"name": "a", "is_new": True, "parts": [{"size": 1}], "sizes": {}, "fill": None, "best": None}


@given(WHOLES)
def test_a_dataclass_comes_back_from_json_as_it_was(whole):
    assert decoded(Whole, json.loads(json.dumps(encoded(whole), allow_nan=False))) == whole


def test_nan_comes_back():
    assert encoded(Part(math.nan)) == {"size": "nan", "count": 3}
    assert math.isnan(decoded(Part, {"size": "nan"}).size)


def test_numbers_and_arrays_of_numpy_are_written_as_json_has_them():
    values = {"a": np.float64(0.5), 2: np.arange(2), "c": (np.bool_(True), np.int64(4)), "d": np.float64(-np.inf)}
    assert json.dumps(encoded(values)) == '{"a": 0.5, "2": [0, 1], "c": [true, 4], "d": "-inf"}'


def test_a_field_that_is_absent_has_its_default():
    assert decoded(Whole, STORED).parts == (Part(1.0, 3),)


def test_a_whole_number_becomes_a_float_where_one_is_declared():
    assert isinstance(decoded(Part, {"size": 1}).size, float)


def test_unknown_fields_are_left_out_where_that_is_asked_for_at_every_depth():
    stored = {**STORED, "of_tomorrow": 1, "parts": [{"size": 1, "colour": "red"}]}
    assert decoded(Whole, stored, skip_unknown=True) == decoded(Whole, STORED)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"name": 1}, "name should be text, not 1"),
        ({"is_new": 1}, "is_new should be a boolean, not 1"),
        ({"parts": {}}, "parts should be a list, not {}"),
        ({"parts": [{"size": 1}, {"size": True}]}, "parts[1].size should be a number, not True"),
        ({"parts": [{"size": 1, "count": 2.0}]}, "parts[0].count should be an integer, not 2.0"),
        ({"parts": [{"size": 1, "colour": "red"}]}, "parts[0] has 'colour', which is not known there"),
        ({"parts": [{}]}, "parts[0] has no 'size'"),
        ({"sizes": {"x": "wide"}}, "sizes.x should be a number, not 'wide'"),
        ({"sizes": []}, "sizes should be an object, not []"),
        ({"fill": []}, "fill should be a number or text or null, not []"),
        ({"best": {"size": "big"}}, "best.size should be a number, not 'big'"),
        ({"more": 1}, "the top level has 'more', which is not known there"),
        ({"name": ["x" * 99]}, "name should be text, not ['" + "x" * 55 + "..."),
    ],
    ids=str,
)
def test_what_does_not_fit_is_named_with_its_place(change, sentence):
    with pytest.raises(Mismatch) as refusal:
        decoded(Whole, {**STORED, **change})
    assert str(refusal.value) == sentence


def test_what_json_cannot_hold_is_refused_both_ways():
    with pytest.raises(TypeError, match=naming("JSON", "complex")):
        encoded([1j])
    with pytest.raises(TypeError, match=naming("complex", "JSON")):
        decoded(complex, 1)
