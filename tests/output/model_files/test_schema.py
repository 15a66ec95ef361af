"""The check of a value against a schema names what is wrong, and where."""

from __future__ import annotations

import json

import pytest

from s2oct.output.model_files.file import model_schema, violation
from tests.messages import naming


@pytest.mark.parametrize(
    ("value", "schema", "expected"),
    [
        (1, {"type": "integer"}, None),
        (True, {"type": "integer"}, "the top level should be integer, not True"),
        (True, {"const": 1}, "the top level should be 1, not True"),
        (1.5, {"type": ["integer", "null"]}, "the top level should be integer or null, not 1.5"),
        (None, {"type": ["integer", "null"]}, None),
        ({"a": [1, "x"]}, {"properties": {"a": {"items": {"type": "number"}}}}, "a[1] should be number, not 'x'"),
        ({"a": 1}, {"required": ["b"]}, "the top level has no 'b'"),
        (
            {"a": {"b": 1}},
            {"additionalProperties": {"additionalProperties": False}},
            "a has 'b', which is not known there",
        ),
        ("x", {"anyOf": [{"type": "null"}, {"enum": ["y"]}]}, "the top level should be one of ['y'], not 'x'"),
        ("y", {"anyOf": [{"type": "null"}, {"enum": ["y"]}]}, None),
        (3, {"$ref": "#/$defs/small", "$defs": {"small": {"minimum": 5}}}, "the top level should be at least 5, not 3"),
        ("abc", {"pattern": "^b"}, "the top level should match ^b, not 'abc'"),
        ([], {"minItems": 1}, "the top level should have at least 1 entries, not 0"),
        ("x" * 99, {"const": 1}, f"the top level should be 1, not '{'x' * 56}..."),
    ],
    ids=str,
)
def test_a_violation_is_named_with_its_place(value, schema, expected):
    assert violation(value, schema) == expected


def test_a_keyword_that_is_not_checked_is_refused_instead_of_ignored():
    with pytest.raises(ValueError, match=naming("['maximum']", "JSON", "Schema")):
        violation(1, {"maximum": 0})


def test_the_shipped_schema_uses_checked_keywords_only(text):
    """The model file leads to every part of the schema except the columns of a table."""
    content = json.loads(text) | {"columns": [{"name": "a", "kind": "onehot", "categories": ["x"], "fill": None}]}
    assert violation(content, model_schema()) is None
