"""JSON for readers is the same JSON."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from s2oct.output.model_files.file import pretty_json

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


@given(JSON)
def test_pretty_json_is_json(value):
    assert json.loads(pretty_json(value)) == value


@given(JSON)
def test_pretty_json_has_no_characters_that_steer_a_terminal(value):
    assert all(line.isprintable() for line in pretty_json(value).split("\n"))


def test_pretty_json_keeps_short_parts_on_one_line():
    value = {"name": "x", "short": [1, 2, {"a": None}], "long": ["word " * 15] * 3}
    lines = pretty_json(value).splitlines()
    assert lines[:3] == ["{", '  "name": "x",', '  "short": [1, 2, {"a": null}],']
    assert len(lines) == 9
