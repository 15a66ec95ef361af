"""The result on the page: all of the tree is in view at every width, leaves name rules, totals are shown as given."""

from __future__ import annotations

import json
import re
import time

import numpy as np
import pandas as pd
import pytest

from s2oct.looks import IF_SO, OTHERWISE, class_colour
from tests.app.looks import faults
from tests.app.running import LONG, opened, serving
from tests.conftest import require_package
from tests.legibility import illegible
from tests.messages import names

RULES = (
    "years_of_education - 0.125 * household_size + 3 * age <= 12.5",
    "statusquo >= -0.786 or missing",
    "region in (coast, delta, hills, north and 9 more)",
    "17 * age + 3 * income <= 2048",
)
"""Rules of usual and of great length."""


TOTALS = {
    "1": {"form": "none"},
    "2": {"form": "classes", "of_all": True, "amounts": {"not working": "110..120"}},
}
"""The totals of each fit."""


def grown(leaves, depth, place=0):
    """A complete tree as the page gets it, whose leaves are like two others in turn."""
    if depth == 0:
        return leaves[1 - place % 2]
    below = [grown(leaves, depth - 1, 2 * place + side) for side in (1, 2)]
    return {"node": place + 1, "rule": RULES[place % len(RULES)], "holds": below[0], "fails": below[1]}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Fits 1 and 2 of a session, whose trees are replaced by complete ones of depth 2 and 3."""
    require_package("starlette")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((200, 2)).round(3), columns=["years_of_education", "household_size"])
    truth = np.where(frame["years_of_education"] < 0.5, "working full time", "not working")
    frame["status"] = np.where(rng.random(200) < 0.5, truth, "")
    file = tmp_path_factory.mktemp("tables") / "people.csv"
    frame.to_csv(file, index=False)
    folder = tmp_path_factory.mktemp("sessions")
    with serving(folder, str(file)) as running:
        session = f"api/sessions/{running.session}"
        for number in ("1", "2"):
            choices = {"label": "status", "options": {"depth": "1", "time_limit": "20"}, "totals": TOTALS[number]}
            running.ask(f"{session}/fits", choices)
            wait_until(lambda: running.ask(f"{session}/jobs/{number}")["has_result"])  # noqa: B023
            running.ask(f"{session}/jobs/{number}/stop", {})
            wait_until(lambda: running.ask(f"{session}/jobs/{number}")["ending"])  # noqa: B023
            job = folder / running.session / "jobs" / number
            (job / "trees.json").unlink(missing_ok=True)
            result = json.loads((job / "result.json").read_text())
            result["tree"]["root"] = grown(
                [result["tree"]["root"][side] for side in ("holds", "fails")], int(number) + 1
            )
            (job / "result.json").write_text(json.dumps(result))
        yield running


def wait_until(is_so):
    deadline = time.monotonic() + LONG
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.1)


PARTS = """[...document.querySelectorAll('#tree .split, #tree .leaf')].map((part) => {
    const box = part.getBoundingClientRect();
    return { isRoot: part.parentElement.parentElement.id === 'tree', left: box.left, right: box.right,
        top: box.top, bottom: box.bottom, isCut: part.scrollWidth > part.clientWidth + 1 };
})"""


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [320, 390, 768, 1280, 1366])
@pytest.mark.parametrize("depth", [2, 3])
def test_root_and_leaves_are_in_view_at_every_width(server, browser, depth, width, dark):
    with opened(browser, server.address, width=width, dark=dark) as hands:
        hands.see("#which-fit")
        hands.choose("#which-fit", str(depth - 1))
        hands.wait(f"document.querySelectorAll('#tree .leaf').length === {2**depth}")
        # The page arranges the tree when its size is known, on a busy machine many frames later.
        for _ in range(500):
            hands.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            if illegible(hands.page, "#tree") == []:
                break
        parts = hands.page.evaluate(PARTS)
        assert sum(part["isRoot"] for part in parts) == 1
        for part in parts:
            assert 0 <= part["left"] < part["right"] <= width
            assert not part["isCut"]
        for one in range(len(parts)):
            for other in parts[one + 1 :]:
                assert not overlap(parts[one], other)
        assert illegible(hands.page, "#tree") == []
        assert faults(hands) == []


def overlap(one, other):
    return (
        min(one["right"], other["right"]) - max(one["left"], other["left"]) > 1
        and min(one["bottom"], other["bottom"]) - max(one["top"], other["top"]) > 1
    )


def test_a_window_that_grows_and_shrinks_changes_the_arrangement(server, browser):
    is_outline = "document.querySelector('#tree').classList.contains('outline')"
    with opened(browser, server.address, width=1280) as hands:
        hands.see("#tree .leaf")
        hands.wait(f"!{is_outline}")
        hands.page.evaluate("document.querySelector('main').style.width = '340px'")
        hands.wait(is_outline)
        hands.page.evaluate("document.querySelector('main').style.width = ''")
        hands.wait(f"!{is_outline}")


def test_the_sentences_of_a_leaf_name_rules_and_no_numbers_of_splits(server, browser):
    with opened(browser, server.address) as hands:
        hands.see("#tree .leaf")
        hands.page.click("#tree .leaf")
        hands.see("#leaf-rows")
        words = hands.text("#leaf")
        assert hands.text("#leaf-conditions code").startswith(("years_of_education", "household_size"))
        assert re.search(r": (not working|working full time), \d+ rows$", hands.text("#leaf-conditions"))
        assert "split" not in words


def test_branches_are_called_as_in_every_picture_and_leaves_have_the_colours_of_classes(server, browser):
    with opened(browser, server.address) as hands:
        hands.see("#tree .leaf")
        ways = hands.page.evaluate("[...document.querySelectorAll('#tree .way')].map((way) => way.textContent)")
        heads = "[...document.querySelectorAll('#tree .leaf strong')]"
        names = hands.page.evaluate(f"{heads}.map((name) => name.textContent)")
        colours = hands.page.evaluate(f"{heads}.map((name) => getComputedStyle(name).backgroundColor)")
    assert set(ways) == {IF_SO, OTHERWISE}
    classes = sorted(["working full time", "not working"])
    for name, colour in zip(names, colours, strict=True):
        wanted = class_colour(classes.index(name))
        assert [f"{int(part):02X}" for part in re.findall(r"\d+", colour)] == [wanted[i : i + 2] for i in (1, 3, 5)]


def test_totals_are_shown_as_they_were_given(server, browser):
    headings = "[...document.querySelectorAll('#totals-table thead th')].map((cell) => cell.textContent)"
    with opened(browser, server.address) as hands:
        hands.see("#totals-table")
        assert names(hands.text("#totals-given"), "all rows")
        assert hands.page.evaluate(headings)[2:4] == ["As given", "Of the unlabeled rows"]
        assert [row[2] for row in hands.table("#totals-table")] == ["110 to 120", "\u2013"]
        assert "totals" in hands.text("#verdict")
        hands.choose("#which-fit", "1")
        hands.wait("!document.querySelector('#totals-given')")
        assert "From the shares of the labels" in hands.page.evaluate(headings)
        assert "totals" not in hands.text("#verdict")
        assert "population_totals" not in hands.text("#result")


def test_the_german_page_says_in_german_what_the_program_says_of_columns_leaves_and_the_certificate(server, browser):
    with opened(browser, server.address) as hands:
        hands.choose("#language", "de")
        hands.wait("document.querySelector('#result-heading')?.textContent === '6. Das Ergebnis'")
        hands.page.click("#tree .leaf")
        hands.see("#leaf-rows")
        words = " ".join(hands.text(place) for place in ("#columns", "#certificate", "#totals-given"))
        counts = hands.page.evaluate("document.querySelectorAll('#leaf > p')[1].textContent")
        assert "bekommen die Klasse" in counts
        assert "mit Label hier" in counts
        english = {"the", "rows", "row", "labeled", "unlabeled", "splits", "split", "guide", "levels", "met"}
        assert english & set(re.findall(r"\w+", words.lower())) == set()
