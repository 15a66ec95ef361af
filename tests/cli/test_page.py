"""The page on the command line is run as it is read: every command, against what it says is printed."""

from __future__ import annotations

import doctest
import re
import runpy
import shlex
import sys
from pathlib import Path

from s2oct.cli.app import run
from s2oct.estimates.table import COLUMNS

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"


def commands(text):
    """Every command of the page with what it prints."""
    for block in re.findall(r"^```console\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
        for part in block.split("$ ")[1:]:
            line, _, printed = part.partition("\n")
            yield shlex.split(line), printed


def test_page_runs_from_top_to_bottom_and_prints_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    checker = doctest.OutputChecker()
    ran = list(commands(PAGE.read_text()))
    assert len(ran) >= 7
    for (program, *arguments), expected in ran:
        if program == "python":
            monkeypatch.setattr(sys, "argv", arguments[1:])
            monkeypatch.delitem(sys.modules, arguments[1], raising=False)
            runpy.run_module(arguments[1], run_name="__main__")
            code = 0
        elif program == "cat":
            # The page shows a file that its reader has.
            Path(*arguments).write_text(expected)
            continue
        else:
            code = run(arguments)
        printed = "".join(capsys.readouterr())
        # How many other trees are found in the seconds of a fit depends on the machine.
        printed = re.sub(r"s2oct: warning: The column 'employed_stability' is .*\n", "", printed)
        # How often a line says how far the replicates are depends on the machine, too.
        printed = re.sub(r"s2oct: +[\d.]+ s .* replicates .*\n", "", printed)
        # A tree that differs from the page's is no error of the tree: paste what is printed into the page.
        assert checker.check_output(expected, printed, doctest.ELLIPSIS), printed
        assert code == (2 if expected.startswith("s2oct: ") else 0)


def test_page_shows_a_whole_tree_and_no_marks_of_the_test():
    text = PAGE.read_text()
    assert "<BLANKLINE>" not in text
    (rules,) = {printed for line, printed in commands(text) if line[1:] == ["show", "model.json"]}
    assert len(re.findall(r"^ *(?:no|yes)$", rules, re.MULTILINE)) == 4
    assert "..." not in rules


def test_options_that_the_page_names_exist(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    for command in ("fit", "compare", "predict", "explain", "estimate", "show", "check", "doctor"):
        run([command, "--help"])
    known = set(re.findall(r"--[A-Za-z][\w-]*", capsys.readouterr().out))
    ours = "\n".join(line for line in PAGE.read_text().splitlines() if "dask worker" not in line)
    assert set(re.findall(r"(?<!\w)--[A-Za-z][\w-]*", ours)) <= known


def test_page_has_every_column_of_the_estimates_with_what_it_means():
    assert all(f"| `{name}` | {meaning} |" in PAGE.read_text() for name, meaning in COLUMNS.items())
