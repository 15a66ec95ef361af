"""Files that are written completely or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2oct.files import Draft, replaced, write_whole
from s2oct.persistence.schema import violation
from s2oct.writers.pretty import pretty_json


def test_file_is_replaced_when_the_block_ends_well(tmp_path):
    target = tmp_path / "file"
    target.write_text("old")
    with replaced(target) as file:
        file.write(b"new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_file_stays_when_the_block_fails(tmp_path, error):
    target = tmp_path / "file"
    target.write_text("old")

    def write_half():
        with replaced(target) as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        write_half()
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize(("content", "expected"), [("größer", "größer".encode()), (b"\x00\xff", b"\x00\xff")])
def test_content_at_hand_is_written_in_one_call(tmp_path, content, expected):
    assert write_whole(tmp_path / "file", content) == tmp_path / "file"
    assert (tmp_path / "file").read_bytes() == expected
    assert os.listdir(tmp_path) == ["file"]


def test_draft_has_the_suffix_of_its_target_and_becomes_it_when_published(tmp_path):
    """Libraries choose a format by the suffix of the file that they write."""
    draft = Draft.beside(tmp_path / "table.parquet")
    assert draft.path.suffix == ".parquet"
    assert not draft.target.exists()
    draft.path.write_text("rows")
    draft.publish()
    draft.discard()
    assert os.listdir(tmp_path) == ["table.parquet"]
    assert draft.target.read_text() == "rows"


def test_discarded_draft_leaves_the_target_as_it_was(tmp_path):
    target = tmp_path / "file"
    target.write_text("old")
    Draft.beside(target).discard()
    assert os.listdir(tmp_path) == ["file"]
    assert target.read_text() == "old"


def test_written_file_has_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "usual").touch()
    write_whole(tmp_path / "ours", b"")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_folder_is_no_file(tmp_path):
    def write():
        with replaced(Path(tmp_path)):
            pass

    with pytest.raises(IsADirectoryError, match="Expected a file to write to, got the folder"):
        write()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


@given(JSON)
def test_pretty_json_is_json(value):
    assert json.loads(pretty_json(value)) == value


def test_pretty_json_keeps_short_parts_on_one_line():
    value = {"name": "x", "short": [1, 2, {"a": None}], "long": ["word " * 15] * 3}
    lines = pretty_json(value).splitlines()
    assert lines[:3] == ["{", '  "name": "x",', '  "short": [1, 2, {"a": null}],']
    assert len(lines) == 9


@pytest.mark.parametrize(
    ("value", "schema", "expected"),
    [
        (1, {"type": "integer"}, None),
        (True, {"type": "integer"}, "the top level should be integer, not True"),
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
        ("abc", {"pattern": "^b"}, "the top level should match ^b, not be 'abc'"),
        ([], {"minItems": 1}, "the top level should have at least 1 entries, not 0"),
        ("x" * 99, {"const": 1}, f"the top level should be 1, not '{'x' * 56}..."),
    ],
    ids=str,
)
def test_schema_violations_are_told_with_their_place(value, schema, expected):
    assert violation(value, schema) == expected
