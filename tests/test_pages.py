"""The built documentation: no warnings, every example run, every link leads somewhere, every page fits its window."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

import s2oct

ROOT = Path(__file__).parents[1]
PROGRAMS = {"labour_force.py", "hidden_labels.py"}
"""Examples that are not part of the gallery."""

# fmt: off
PAPER_LABELS = [
    "eq:classifyA", "eq:classifyXasA", "def:leaf-error", "eq:LEab", "eq:minimumerror", "eq:minimumerrorob",
    "constraint1", "constraint2", "boundomega", "posity", "constraintxi", "constraintend", "psi", "lemma2",
    "problemmain", "eq:problemmain1", "eq:problemmain2", "problembeta", "eq:beta1", "eq:beta8", "boundhiperprop",
    "boundhiper*", "boundLE", "eq:MIO", "eqMIOobj", "constraint2alpha", "constraintalpha", "boundbeta1",
    "boundbeta2", "boundbeta3", "BIGM1", "BIGM2", "zbinary", "binarydelta1", "binarydelta2", "binarysum2",
    "endMIO", "sumbin", "prop:BIGM", "table1", "AC", "MCC", "comparOCTH", "prec", "recall", "comparOCTH2",
    "tablevariables", "tab:AC_results", "tab:MC_results",
]
# fmt: on
"""Every label of the paper's source but those of sections and figures; (eq:beta2) to (eq:beta7) go with their ends."""


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The pages, built from a copy; workers that test side by side share one build."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    folder = shared / "documentation"
    with (shared / "documentation.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "log.txt").exists():
            build(folder)
    log = (folder / "log.txt").read_text()
    assert "exit code 0" in log, log
    return folder / "html"


def build(folder):
    for name in ("docs", "examples"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("_build", "guide", "gallery"))
    for page in ROOT.glob("*.md"):
        shutil.copy(page, folder)
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs", "html"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(Path(s2oct.__file__).parents[1]), "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    (folder / "log.txt").write_text(f"{done.stdout}\n{done.stderr}\nexit code {done.returncode}\n")


def pages_of(site):
    return sorted(page for page in site.rglob("*.html") if "_static" not in page.parts)


@pytest.mark.slow
def test_pages_are_built_without_a_warning(site):
    names = {str(page.relative_to(site)) for page in pages_of(site)}
    assert {"index.html", "quick-start.html", "optimisers.html", "guide/survey_statisticians.html"} <= names
    assert {"fidelity.html", "study.html", "performance.html", "changelog.html", "api/trees.html"} <= names


@pytest.mark.slow
@pytest.mark.parametrize(
    "example",
    [
        path
        for folder in ("examples", "docs/guides")
        for path in sorted((ROOT / folder).glob("*.py"))
        if path.name not in PROGRAMS
    ],
    ids=lambda path: path.stem,
)
def test_every_example_was_run_and_shows_what_it_printed(site, example):
    section = "gallery" if example.parent.name == "examples" else "guide"
    page = (site / section / f"{example.stem}.html").read_text()
    assert "sphx-glr-script-out" in page
    assert re.search(r"Total running time of the script:.*\d", page)


class Anchors(HTMLParser):
    """Ids of a page, and the addresses it points to."""

    def __init__(self, page):
        super().__init__()
        self.ids, self.addresses = set(), set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.ids |= {found[key] for key in ("id", "name") if found.get(key)}
        self.addresses |= {found[key] for key in ("href", "src") if found.get(key)}


@pytest.mark.slow
def test_every_link_and_anchor_within_the_pages_resolves(site):
    anchors = {page.resolve(): Anchors(page) for page in pages_of(site)}
    broken = []
    for page, found in anchors.items():
        for address in found.addresses:
            if re.match(r"(https?|mailto|data):", address) or address == "#":
                continue
            path, _, anchor = unquote(address).partition("#")
            target = (page.parent / path.partition("?")[0]).resolve() if path else page
            if not target.is_file():
                broken.append(f"{page.name}: {address}")
            elif anchor and target in anchors and anchor not in anchors[target].ids:
                broken.append(f"{page.name}: {address} has no such anchor")
    assert broken == []


@pytest.mark.slow
@pytest.mark.parametrize(("width", "dark"), [(390, True), (1280, False)], ids=["narrow and dark", "wide and light"])
def test_every_page_fits_its_window_asks_no_network_and_complains_of_nothing(site, browser, width, dark):
    faults = []
    with browser.page(site / "index.html", width=width, dark=dark) as window:
        for page in pages_of(site):
            window.goto(page)
            if window.overflow():
                faults.append(f"{page.name} is {window.overflow()} pixels too wide")
        faults += window.console_errors
        faults += [address for address in window.requests if not address.startswith("file:")]
        scheme = window.evaluate("document.documentElement.dataset.theme")
    assert faults == []
    assert scheme == ("dark" if dark else "light")


@pytest.mark.parametrize("label", PAPER_LABELS)
def test_every_equation_of_the_paper_is_on_the_map(label):
    page = (ROOT / "docs/fidelity.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("|") and f"({label})" in line]
    assert rows
    assert all("`src/" in row and "`tests/" in row for row in rows)
