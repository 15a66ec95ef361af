"""Ctrl-C at every stage of a fit, in a process of its own: what exists stays, or a tree is kept and says so."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest

import s2oct

PROGRAM = """
import importlib, sys, time
module, _, way = sys.argv[1].partition(":")
*owners, name = way.split(".")
place = importlib.import_module(module)
for owner in owners:
    place = getattr(place, owner)
function, calls, call = getattr(place, name), 0, int(sys.argv[2])

def announced(*arguments, **keywords):
    global calls
    calls += 1
    if calls == call:
        print("here", flush=True)
        # Long enough for a signal to arrive; a handler that does not raise lets the sleep go on.
        time.sleep(2.0)
    return function(*arguments, **keywords)

setattr(place, name, announced)
sys.argv[1:] = sys.argv[3:]
from s2oct.cli import main
main()
"""
"""The command, with one of its functions waiting at the given call until Ctrl-C is pressed."""


@pytest.fixture
def noise(tmp_path, monkeypatch):
    """A folder with a table without any pattern, so that no fit is proved quickly, and with files of an earlier fit."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(300, 3)), columns=["a", "b", "c"])
    table["label"] = [*rng.choice(["x", "y"], 100).tolist(), *[None] * 200]
    table.to_csv("noise.csv", index=False)
    for name in ("model.json", "report.html", "rows.csv"):
        (tmp_path / name).write_text("precious")
    return tmp_path


FIT = [
    *["fit", "noise.csv", "--label", "label", "--total", "x=80", "--depth", "2", "--time-limit", "60"],
    *["--out", "model.json", "--report", "report.html", "--predictions", "rows.csv"],
]


def pressed_at(function, call=1, options=(), presses=1):
    """Run the fit, press Ctrl-C in a call of a function; returns exit code and what standard error has."""
    arguments = [sys.executable, "-c", PROGRAM, function, str(call), *FIT, *options]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as fit:
        assert fit.stdout.readline() == "here\n", fit.stderr.read()
        for _ in range(presses):
            fit.send_signal(signal.SIGINT)
            # Two signals at once would be one.
            if presses > 1:
                wait_until_delivered(fit)
        _, err = fit.communicate(timeout=120)
    return fit.returncode, err


def wait_until_delivered(process):
    with suppress(subprocess.TimeoutExpired):
        process.wait(0.5)


PAPER = ["--guide", "none", "--solver", "none"]
NOTHING_YET = {
    "importing": ("s2oct.cli.app:import_module", 1, ()),
    "reading": ("s2oct.tabular.encoded_table:read_partly_labeled", 1, ()),
    "encoding": ("s2oct.tabular.encoded_table:encode_rows", 1, ()),
    "compiling": ("s2oct.estimators.edge:compile_kernels", 1, ()),
    "preparing": ("s2oct.fit.training:prepare", 1, ()),
    "preparing for P2": ("s2oct.fit.training:prepare", 1, PAPER),
    "asking the guide": ("s2oct.estimators.s2oct:guide_probabilities", 1, ()),
    "before the search": ("s2oct.fit.strategies:Instance.of", 1, PAPER),
    "writing the report": ("s2oct.export:write_report", 1, PAPER),
    "before files are moved": ("s2oct.cli.outputs:Outputs._publish", 1, PAPER),
}


@pytest.mark.slow
@pytest.mark.parametrize("stage", NOTHING_YET)
def test_without_a_tree_everything_stays_and_the_exit_code_is_130(noise, stage):
    before = sorted(os.listdir(noise))
    function, call, options = NOTHING_YET[stage]
    code, err = pressed_at(function, call, [*options, "--time-limit", "3"])
    assert code == 130
    assert err.startswith("s2oct: ")
    assert "interrupted" in err
    assert err.count("\n") == 1
    assert {(noise / name).read_text() for name in ("model.json", "report.html", "rows.csv")} == {"precious"}
    assert sorted(os.listdir(noise)) == before


# The trees of the evidence model are finished one by one. Compiling the kernels finishes three tiny ones first.
FINISHING = ("s2oct.search.evidence:EvidenceSearch.finished", 4)

SOMETHING = {
    "evidence": FINISHING,
    "P2": ("s2oct.fit.exploration:Exploration._search_neighbourhoods", 1, PAPER),
    "solver": ("s2oct.fit.portfolio:solve_in_worker", 1, ["--guide", "none", "--time-limit", "20"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("stage", SOMETHING)
def test_with_a_tree_every_file_is_written_and_says_interrupted(noise, stage):
    code, err = pressed_at(*SOMETHING[stage])
    assert code == 0, err
    assert "s2oct: warning: The fit was interrupted after" in err
    assert "Its tree is the best that was found until then." in err
    content = json.loads((noise / "model.json").read_text())
    assert content["certificate"]["ended"] == "interrupted"
    assert s2oct.load("model.json").certificate_.has_splits
    assert "The fit was interrupted after" in (noise / "report.html").read_text()
    assert len(pd.read_csv("rows.csv")) == 300


@pytest.mark.slow
def test_a_second_ctrl_c_leaves_everything_as_it_was(noise):
    code, err = pressed_at(*FINISHING, presses=2)
    assert (code, err) == (130, "s2oct: interrupted.\n")
    assert {(noise / name).read_text() for name in ("model.json", "report.html", "rows.csv")} == {"precious"}
    assert len(os.listdir(noise)) == 4


@pytest.mark.slow
def test_ctrl_c_while_files_are_moved_does_not_part_them(noise):
    """At the third call one file is moved; the first made the draft of the report. Files must not disagree."""
    code, err = pressed_at("s2oct.files:Draft.publish", call=3, options=[*PAPER, "--time-limit", "3"])
    assert code == 0
    assert "interrupted" not in err
    assert (noise / "model.json").read_text() != "precious"
    assert (noise / "report.html").read_text() != "precious"
    assert (noise / "rows.csv").read_text() != "precious"


@pytest.mark.slow
def test_ctrl_c_while_nobody_reads_a_fifo_ends_the_command(noise):
    os.mkfifo(noise / "fifo")
    options = [*PAPER, "--time-limit", "3", "--sql", "fifo"]
    arguments = [sys.executable, "-c", PROGRAM, "s2oct.files:Draft.publish", "2", *FIT, *options]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as fit:
        assert fit.stdout.readline() == "here\n"
        with pytest.raises(subprocess.TimeoutExpired):
            fit.wait(3.0)
        fit.send_signal(signal.SIGINT)
        _, err = fit.communicate(timeout=60)
    assert (fit.returncode, err) == (130, "s2oct: interrupted.\n")
    assert (noise / "model.json").read_text() == "precious"
