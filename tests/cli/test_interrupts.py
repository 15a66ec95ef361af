"""Ctrl-C at every stage of a fit, in a process of its own: what exists stays, or a tree is kept and says so."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import s2oct
from tests.messages import names
from tests.processes import started

LONGEST = 120
"""Seconds that one command may take."""

PROGRAM = """
import importlib, json, os, pathlib, signal, sys, time
import s2oct.cli.fit, s2oct.output.model_files.content, s2oct.output.report
from s2oct.cli import main

def wrap(module, way, call, announced):
    *owners, name = way.split(".")
    place = importlib.import_module(module)
    for owner in owners:
        place = getattr(place, owner)
    function, calls = getattr(place, name), iter(range(1, 10**9))

    def wrapped(*arguments, **keywords):
        if next(calls) == call:
            announced()
        return function(*arguments, **keywords)

    setattr(place, name, wrapped)

def command(request, tell):
    def announced():
        for press in range(request["presses"]):
            tell(f"here {os.getpid()}")
            # Where Ctrl-C raises, it ends this loop and the call.
            while request["waits"] and not pathlib.Path(request["signs"], str(press)).exists():
                time.sleep(0.01)

    signal.alarm(request["longest"])  # ends the process
    os.chdir(request["folder"])
    for descriptor, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(pathlib.Path(request["signs"], name), os.O_CREAT | os.O_WRONLY), descriptor)
    wrap(*request["function"].split(":"), request["call"], announced)
    sys.argv[1:] = request["arguments"]
    try:
        main()
    except SystemExit as end:
        # A forked child has none of Arrow's threads, and the shutdown of the interpreter may abort over them.
        sys.stdout.flush(), sys.stderr.flush()
        os._exit(end.code or 0)

answers = os.fdopen(os.dup(1), "w", buffering=1)
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        command(json.loads(line), lambda text: print(text, file=answers))
    print("ended", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=answers)
"""
"""Runs commands, each in a process of its own that need not import and load everything again.

One function of a command waits at the given call until Ctrl-C was pressed.
"""


@pytest.fixture(scope="module")
def commands():
    with started([sys.executable, "-c", PROGRAM], 900, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield process
        process.stdin.close()
        assert process.wait(LONGEST) == 0


@pytest.fixture
def pressed_at(commands, tmp_path_factory):
    """Run the fit and press Ctrl-C in a call of a function, or soon after it has begun.

    Returns the exit code and what standard error has.
    """

    def press(function, call=1, options=(), presses=1, waits=True):
        signs = tmp_path_factory.mktemp("signs")
        request = {"folder": os.getcwd(), "signs": str(signs), "function": function, "call": call, "waits": waits}
        request |= {"presses": presses, "arguments": [*FIT, *options], "longest": LONGEST}
        print(json.dumps(request), file=commands.stdin, flush=True)
        for number in range(presses):
            answer = commands.stdout.readline()
            assert answer.startswith("here "), (answer, (signs / "stderr").read_text())
            # Whether the call has come far by then makes no difference to what must happen.
            assert waits or not select.select([commands.stdout], [], [], 0.5)[0]
            os.kill(int(answer.split()[1]), signal.SIGINT)
            (signs / str(number)).touch()
        answer = commands.stdout.readline()
        assert answer.startswith("ended ")
        lines = (signs / "stderr").read_text().splitlines(keepends=True)
        notes = ("writing the report", "folds of the fit")
        return int(answer.split()[1]), "".join(line for line in lines if not any(note in line for note in notes))

    return press


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


PAPER = ["--guide", "none", "--solver", "none"]
SHORT = [*PAPER, "--depth", "1", "--time-limit", "0.5"]
NOTHING_YET = {
    "importing": ("s2oct.cli.app:import_module", 1, ()),
    "reading": ("s2oct.workflow.encoded_table:read_partly_labeled", 1, ()),
    "encoding": ("s2oct.workflow.encoded_table:encode_rows", 1, ()),
    "preparing": ("s2oct.fit.training:prepare", 1, ()),
    "preparing for P2": ("s2oct.fit.training:prepare", 1, PAPER),
    "asking the guide": ("s2oct.fit.training:ask_guide", 1, ()),
    "before the search": ("s2oct.fit.training:Instance.of", 1, PAPER),
    "writing the report": ("s2oct.cli.fit:_write_report", 1, SHORT),
    "before files are moved": ("s2oct.cli.outputs:Outputs._publish", 1, SHORT),
}


@pytest.mark.slow
@pytest.mark.parametrize("stage", NOTHING_YET)
def test_without_a_tree_everything_stays_and_the_exit_code_is_130(noise, pressed_at, stage):
    before = sorted(os.listdir(noise))
    code, err = pressed_at(*NOTHING_YET[stage])
    assert code == 130
    assert err.startswith("s2oct: ")
    assert "interrupted" in err
    assert err.count("\n") == 1
    assert {(noise / name).read_text() for name in ("model.json", "report.html", "rows.csv")} == {"precious"}
    assert sorted(os.listdir(noise)) == before


# Sums of columns are proposed where the best tree with one column per split is known.
PROPOSING = ("s2oct.evidence.exact:ExactSearch._propose",)

SOMETHING = {
    "evidence": PROPOSING,
    "P2": ("s2oct.fit.portfolio:Exploration._rounds", 2, PAPER),
    "solver": ("s2oct.fit.portfolio:solve_in_worker", 1, ["--guide", "none", "--time-limit", "20"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("stage", SOMETHING)
def test_with_a_tree_every_file_is_written_and_says_interrupted(noise, pressed_at, stage):
    code, err = pressed_at(*SOMETHING[stage])
    assert code == 0, err
    assert names(err, "warning", "fit", "interrupt")
    assert names(err, "interrupt", "best", "tree")
    content = json.loads((noise / "model.json").read_text())
    assert content["certificate"]["ended"] == "interrupted"
    assert s2oct.load("model.json").certificate_.has_splits
    assert names((noise / "report.html").read_text(), "fit", "interrupted after")
    assert len(pd.read_csv("rows.csv")) == 300


@pytest.mark.slow
def test_ctrl_c_while_the_tree_is_assessed_leaves_only_the_accuracy_out(noise, pressed_at):
    code, err = pressed_at("s2oct.fit.training:FitTask.run", 3, SHORT)
    assert code == 0, err
    assert names(err, "interrupt", "assessment")
    assert names((noise / "report.html").read_text(), "not assessed")
    assert len(pd.read_csv("rows.csv")) == 300


@pytest.mark.slow
def test_a_second_ctrl_c_leaves_everything_as_it_was(noise, pressed_at):
    code, err = pressed_at(*PROPOSING, presses=2)
    assert (code, err) == (130, "s2oct: interrupted.\n")
    assert {(noise / name).read_text() for name in ("model.json", "report.html", "rows.csv")} == {"precious"}
    assert len(os.listdir(noise)) == 4


@pytest.mark.slow
def test_ctrl_c_while_files_are_moved_does_not_part_them(noise, pressed_at):
    """At the third call one file is moved; the first made the draft of the report. Files must not disagree."""
    code, err = pressed_at("s2oct.files:Draft.publish", call=3, options=SHORT)
    assert code == 0
    assert "interrupted" not in err
    assert (noise / "model.json").read_text() != "precious"
    assert (noise / "report.html").read_text() != "precious"
    assert (noise / "rows.csv").read_text() != "precious"


@pytest.mark.slow
@pytest.mark.parametrize("waits", [True, False], ids=["before it is opened", "while it is opened"])
def test_ctrl_c_while_nobody_reads_a_fifo_ends_the_command(noise, pressed_at, waits):
    os.mkfifo(noise / "fifo")
    done = pressed_at("s2oct.files:Draft._write_into", options=[*SHORT, "--sql", "fifo"], waits=waits)
    assert done == (130, "s2oct: interrupted.\n")
    assert (noise / "model.json").read_text() == "precious"
