"""Drawings for a page: in its inks and letters, with ids of their own, whatever style the user has set."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import matplotlib
import pytest
from matplotlib.figure import Figure

from s2oct.output.pages import PAPER, STRONG, embed, page_style


def drawn(name="first", words="a plain name", **texts):
    """A picture with a line, a hollow mark, a legend and a text."""
    with page_style():
        figure = Figure(figsize=(4.0, 3.0))
        axes = figure.add_subplot()
        axes.plot([0, 1], [0, 1], color=STRONG, label="a line")
        axes.plot([0.5], [0.5], "o", markerfacecolor=PAPER)
        axes.text(0.2, 0.8, words)
        axes.legend()
        return embed(figure, name, "A title", **texts)


def test_picture_is_one_element_as_wide_as_it_was_drawn():
    picture = drawn()
    root = ET.fromstring(picture.svg)
    assert root.tag.endswith("}svg")
    assert "width" not in root.attrib
    assert root.get("viewBox") == "0 0 288 216"
    assert picture.width == 4 * 96


def test_every_ink_and_letter_is_the_pages():
    svg = drawn().svg
    assert STRONG not in svg
    assert PAPER not in svg
    assert "var(--ink)" in svg
    assert "var(--paper)" in svg
    texts = re.findall(r'<text style="([^"]*)"', svg)
    assert texts
    assert all("fill: var(--ink)" in style and "var(--picture-letters)" in style for style in texts)


def test_text_that_reads_like_an_ink_stays():
    assert f">{STRONG}</text>" in drawn(words=STRONG).svg


def test_ids_of_two_pictures_differ_and_references_lead_to_them():
    pictures = [drawn("first").svg, drawn("second").svg]
    ids = [set(re.findall(r'\bid="([^"]+)"', svg)) for svg in pictures]
    assert ids[0]
    assert ids[0].isdisjoint(ids[1])
    for svg, own in zip(pictures, ids, strict=True):
        assert set(re.findall(r'(?:href="|url\()#([^")]+)', svg)) <= own


@pytest.mark.parametrize(("texts", "label"), [({}, "A title"), ({"label": 'values & "more"'}, 'values & "more"')])
def test_screen_readers_get_the_label_or_the_title(texts, label):
    assert ET.fromstring(drawn(**texts).svg).get("aria-label") == label


def test_style_of_the_user_is_neither_used_nor_changed():
    plain = drawn()
    with matplotlib.rc_context({"text.color": "green", "font.size": 30.0}):
        assert drawn() == plain
        assert matplotlib.rcParams["font.size"] == 30.0
