"""All languages say the same things."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path

import pytest

from s2oct.app.store import SUFFIXES
from s2oct.parameters import FIELDS

TEXTS = {
    entry.name.removesuffix(".json"): json.loads(entry.read_text(encoding="utf-8"))
    for entry in files("s2oct.app").joinpath("texts").iterdir()
}
SCRIPTS = "".join(entry.read_text(encoding="utf-8") for entry in files("s2oct.app").joinpath("static").iterdir())


@pytest.mark.parametrize("language", sorted(set(TEXTS) - {"en"}))
def test_a_translation_has_every_text_with_its_places(language):
    own = {key: text for key, text in TEXTS[language].items() if not key.startswith(("said: ", "option_"))}
    assert set(own) == set(TEXTS["en"])
    for key, text in own.items():
        assert sorted(re.findall(r"\{\w+\}", text)) == sorted(re.findall(r"\{\w+\}", TEXTS["en"][key])), key


@pytest.mark.parametrize("language", sorted(set(TEXTS) - {"en"}))
def test_a_translation_has_every_parameter_of_the_form(language):
    own = {key for key in TEXTS[language] if key.startswith("option_")}
    assert own == {f"option_{name}{end}" for name in FIELDS for end in ("", "_help")}


def test_every_choice_of_a_parameter_has_a_name():
    for name, parameter in FIELDS.items():
        for choice in () if parameter.number else parameter.choices:
            assert f"{name}_{choice}" in TEXTS["en"]


def test_the_page_uses_no_text_that_is_not_there_and_none_is_left_over():
    called = set(re.findall(r'\bt\(\s*"(\w+)"[,)]', SCRIPTS)) | set(re.findall(r'data-text="(\w+)"', SCRIPTS))
    assert called <= set(TEXTS["en"])
    beginnings = (*re.findall(r"`(\w+_)\$\{", SCRIPTS), "guide_", "solver_")
    plain = {key.removesuffix("_one") if key.removesuffix("_one") in TEXTS["en"] else key for key in TEXTS["en"]}
    assert {key for key in plain if f'"{key}"' not in SCRIPTS and not key.startswith(beginnings)} == set()


def test_the_page_offers_files_of_every_format():
    (offered,) = re.findall(r'TABLE_FILES = "([^"]+)"', SCRIPTS)
    assert {Path(f"table{suffix}").suffix for suffix in SUFFIXES} == set(offered.split(","))
