"""One set-up for all pages: the base and its style are there, values are escaped, and a missing value is an error."""

from __future__ import annotations

import sys

import jinja2
import pytest

from s2oct.errors import MissingExtra
from s2oct.output.pages import page_template
from tests.messages import naming


@pytest.fixture
def room(tmp_path, monkeypatch):
    """A package with a page of its own, which shows one name."""
    templates = tmp_path / "some_room" / "templates"
    templates.mkdir(parents=True)
    (tmp_path / "some_room" / "__init__.py").touch()
    (templates / "letter.html.jinja").write_text(
        '{% extends "base.html.jinja" %}\n{% block title %}A letter{% endblock %}\n'
        "{% block body %}\n<p>{{ name | loud }}</p>\n{% endblock %}\n"
    )
    (templates / "letter.css").write_text("p { color: red; } /* {# {{ nothing }} */\n")
    monkeypatch.syspath_prepend(tmp_path)
    return "some_room"


def page_of(room):
    return page_template(room, "letter", {"loud": lambda text: str(text).upper()})


def test_page_has_the_base_the_shared_style_and_its_own_style_after_it(room):
    text = page_of(room).render(name="Ann")
    assert text.startswith("<!doctype html>")
    assert "<title>A letter</title>" in text
    assert "<p>ANN</p>" in text
    assert text.index("prefers-color-scheme") < text.index("p { color: red; }") < text.index("</style>")


def test_style_is_no_template(room):
    assert "/* {# {{ nothing }} */" in page_of(room).render(name="Ann")


def test_values_are_escaped(room):
    assert "<p>&lt;B&gt; &amp;</p>" in page_of(room).render(name="<b> &")


def test_value_that_is_missing_is_an_error(room):
    with pytest.raises(jinja2.UndefinedError, match="'name' is undefined"):
        page_of(room).render()


def test_without_jinja2_one_sentence_names_the_package_to_install(room, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtra, match=naming("pip install jinja2")):
        page_of(room)
