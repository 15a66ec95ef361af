"""A model file that is not what was written is refused in one sentence."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import s2oct
from s2oct.errors import InvalidModelFile
from s2oct.output.model_files.file import model_from_json
from tests.messages import naming
from tests.output.model_files.test_model import signed


def changed(content, path, value):
    *way, last = path
    place = content
    for step in way:
        place = place[step]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return content


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("tree", "splits", 0, "offset"), 1.5),
        (("tree", "leaves", 0, "class"), "yes"),
        (("classes", 0), "nope"),
        (("certificate", "objective"), 0.125),
        (("certificate", "lower_bound"), 0.25),
        (("provenance", "data", "n_labeled"), 21),
        (("provenance", "s2oct"), "0.0.1"),
    ],
    ids=lambda part: ".".join(map(str, part)) if isinstance(part, tuple) else str(part),
)
def test_file_that_was_changed_is_refused(text, path, value):
    with pytest.raises(InvalidModelFile, match=naming("checksum")):
        model_from_json(json.dumps(changed(json.loads(text), path, value)))


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_truncated_file_is_refused(text, share):
    with pytest.raises(InvalidModelFile, match=naming("JSON")):
        model_from_json(text[: int(share * len(text))])


@pytest.mark.parametrize("other", ["[]", "{}", '"model"', '{"format": "other"}', "1", "null"])
def test_other_json_is_refused(other):
    with pytest.raises(InvalidModelFile, match=naming("'the text'", "JSON")):
        model_from_json(other)


def test_file_of_a_later_version_is_refused(text):
    content = changed(json.loads(text), ("format_version",), 2)
    with pytest.raises(InvalidModelFile, match=naming(2, "later version")):
        model_from_json(signed(content))


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        (("tree",), None, ("'tree'",)),
        (("tree", "depth"), "two", ("tree.depth", "'two'")),
        (("tree", "depth"), 0, ("tree.depth", 1, 0)),
        (("tree", "splits", 1, "offset"), "far", ("tree.splits[1].offset", "'far'")),
        (("estimator",), "Forest", ("estimator",)),
        (("provenance", "class_dtype"), "V8", ("class_dtype",)),
        (("surprise",), 1, ("'surprise'",)),
        (("certificate", "feasible"), 1, ("certificate.feasible", 1)),
        (("certificate", "min_margin"), "wide", ("certificate.min_margin",)),
        (("classes",), ["one"], (2, 1)),
        (("format_version",), 0, ("format_version", 1, 0)),
    ],
    ids=str,
)
def test_file_against_its_schema_is_refused_with_the_place(text, path, value, named):
    with pytest.raises(InvalidModelFile, match=naming(*named, "schema")):
        model_from_json(signed(changed(json.loads(text), path, value)))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("tree", "depth"), 3),
        (("tree", "splits", 0, "weights"), {"unknown": 1.0}),
        (("tree", "leaves", 0, "class"), "maybe"),
        (("tree", "leaves", 0, "node"), 5),
        (("probability",), {}),
        (("columns",), [{"name": "a", "kind": "number", "fill": None}]),
        (("features",), ["x0", "x0", "x2"]),
        (("provenance", "class_dtype"), "int64"),
        (("provenance", "n_columns"), 2),
    ],
    ids=str,
)
def test_file_that_contradicts_itself_is_refused(text, path, value):
    with pytest.raises(InvalidModelFile, match="contradicts itself"):
        model_from_json(signed(changed(json.loads(text), path, value)))


@given(data=st.data())
def test_any_change_of_a_character_is_refused_or_changes_nothing(text, data):
    position = data.draw(st.integers(0, len(text) - 1))
    character = data.draw(st.sampled_from('0123456789".,:{}[] \nae-'))
    damaged = text[:position] + character + text[position + 1 :]
    try:
        content = json.loads(damaged)
    except ValueError:
        content = None
    if content == json.loads(text):
        model_from_json(damaged)
    else:
        with pytest.raises(InvalidModelFile) as refusal:
            model_from_json(damaged)
        assert "\n" not in str(refusal.value)


def test_bytes_that_are_not_text_are_refused(tmp_path):
    (tmp_path / "model.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidModelFile, match=naming("bytes")):
        s2oct.load(tmp_path / "model.json")


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('"depth": 2,', '"depth": 1e999,', ("1e999",)),
        ('"depth": 2,', '"depth": NaN,', ("NaN", "JSON")),
        ('"depth": 2,', '"depth": 2, "depth": 2,', ("'depth'",)),
        ('"depth": 2,', '"depth": 2' + "0" * 5000 + ",", (20000000000000000000,)),
    ],
    ids=["too large", "no number", "twice", "too many digits"],
)
def test_json_that_readers_could_read_differently_is_refused(text, old, new, named):
    assert old in text
    with pytest.raises(InvalidModelFile, match=naming(*named, "JSON")):
        model_from_json(text.replace(old, new, 1))


def test_halves_of_characters_are_refused(text):
    """No file and no terminal can take them, so they would end later commands with an error of Python."""
    content = json.loads(text)
    content["provenance"]["table"]["label"] = "\ud800"
    with pytest.raises(InvalidModelFile, match="got halves of characters"):
        model_from_json(signed(content))


def test_a_file_that_is_too_large_is_refused_before_it_is_parsed(tmp_path, monkeypatch):
    monkeypatch.setattr("s2oct.output.model_files.file.LARGEST_FILE", 1000)
    (tmp_path / "model.json").write_text(" " * 1001)
    with pytest.raises(InvalidModelFile, match=naming("1,000", "bytes")):
        s2oct.load(tmp_path / "model.json")


def test_a_device_without_an_end_is_not_read_to_its_end(monkeypatch):
    monkeypatch.setattr("s2oct.output.model_files.file.LARGEST_FILE", 1000)
    with pytest.raises(InvalidModelFile, match=naming("1,000", "bytes")):
        s2oct.load("/dev/zero")


def test_json_with_very_many_levels_is_refused():
    with pytest.raises(InvalidModelFile, match=naming("nested")):
        model_from_json("[" * 100_000 + "]" * 100_000)


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        (("tree", "splits", 0, "offset"), 10**350, ("too large",)),
        (("tree", "depth"), 10**9, (3, "depth", 1000000000)),
        (("certificate", "leaf_error"), "much", ("certificate.leaf_error", "'much'")),
        (("certificate", "n_margin_violations"), 0.5, ("certificate.n_margin_violations", "0.5")),
        (("certificate", "leaf_error"), None, ("'leaf_error'",)),
    ],
    ids=str,
)
def test_values_that_no_model_has_are_refused_with_their_place(text, path, value, named):
    with pytest.raises(InvalidModelFile, match=naming(*named)):
        model_from_json(signed(changed(json.loads(text), path, value)))
