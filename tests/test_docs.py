"""Documentation that runs: every Python block of the README and the docs, and every example."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
DEMO_SECONDS = 60
DEMO_WIDTH = 100


def name_of(path):
    return str(path.relative_to(ROOT))


def python_blocks(text):
    """First line number and source of every ```python block."""
    for block in re.finditer(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
        yield text.count("\n", 0, block.start(1)), block.group(1)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_python_blocks_of_a_page_run_in_order_and_print_what_they_say(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # for the files that some of them write
    namespace = {"__name__": "docs"}
    for line, source in python_blocks(page.read_text()):
        if ">>>" in source:
            check_session(source, namespace, page, line)
        else:
            # Leading newlines let a traceback name the line of the page.
            exec(compile("\n" * line + source, str(page), "exec"), namespace)


def check_session(source, namespace, page, line):
    session = doctest.DocTestParser().get_doctest(source, namespace, name_of(page), str(page), line)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    report = []
    runner.run(session, out=report.append, clear_globs=False)
    namespace.update(session.globs)
    assert not runner.failures, "".join(report)


def test_quick_start_of_the_readme_is_among_the_blocks_that_run():
    sources = [source for _, source in python_blocks((ROOT / "README.md").read_text())]
    assert any("S2OCTClassifier" in source and "import pandas" in source for source in sources)


def test_block_that_prints_something_else_is_caught():
    with pytest.raises(AssertionError, match="Got:"):
        check_session(">>> 1 + 1\n3\n", {}, ROOT / "README.md", 0)


DEMO = "import runpy, sys, time; runpy.run_path(sys.argv.pop(), run_name='__main__'); print(time.process_time())"


@pytest.fixture(scope="module")
def demo():
    """What the demo printed, and the seconds of the processor that it took."""
    done = subprocess.run(
        [sys.executable, "-c", DEMO, str(ROOT / "examples" / "labour_force.py")],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr, done.stderr
    story, _, seconds = done.stdout.rstrip().rpartition("\n")
    return story, float(seconds)


def test_demo_tells_its_story_in_time(demo):
    story, seconds = demo
    for part in (
        "400 people, 40 of whom said whether they work",
        "The tree: is this person employed?",
        "What the tree does, in rows",
        "Totals among those who did not answer",
        "Simpler trees, and how good they are",
        "Against the truth",
    ):
        assert part in story
    assert seconds < DEMO_SECONDS


def test_rules_of_the_demo_fit_on_a_line_each(demo):
    story, _ = demo
    rules = story.partition("The tree:")[2].partition("\n\n")[0].splitlines()[2:]
    assert len(rules) >= 4
    assert all(re.match(r" +(if .+:|otherwise:|(no|yes)  \(.+\))$", rule) for rule in rules)
    assert max(len(line) for line in story.splitlines()) <= DEMO_WIDTH


def test_demo_averages_over_populations_and_compares_with_strong_rivals(demo):
    story, _ = demo
    populations, average = re.search(r"The same on (\d+) other populations(.+)", story, flags=re.DOTALL).groups()
    assert int(populations) >= 10
    for rival in ("ordinary tree", "logistic regression", "random forest"):
        # Once in the table of scores, once with the verdict, which may be for or against the tree.
        assert average.count(f"{rival}, weighted, with the total") == 2
    verdicts = re.findall(
        r"[+-]\d+\.\d ± \d+\.\d +(the tree wins|the tree loses|no clear winner)$", average, re.MULTILINE
    )
    assert len(verdicts) == 4
