"""A model of a stranger cannot steer the terminal of the one who looks at it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys

import pytest

from s2oct.cli.app import run
from s2oct.cli.models import FORMS
from tests.output.model_files.test_model import signed
from tests.processes import started

EVIL = "\x1b[2J\x9b31m\N{RIGHT-TO-LEFT OVERRIDE}"
CHECK = ["--label", "employed", "--total", f"yes{EVIL}=185"]


@pytest.fixture
def stranger(folder):
    """people.csv and model.json, where a feature, an id and a class have control characters in their names."""
    table = (folder / "people.csv").read_text()
    table = table.replace("age", f"age{EVIL}", 1).replace("person", f"person{EVIL}", 1).replace(",yes", f",yes{EVIL}")
    (folder / "people.csv").write_text(table)
    content = json.loads(
        (folder / "model.json")
        .read_text()
        .replace('"age"', json.dumps(f"age{EVIL}"))
        .replace('"person"', json.dumps(f"person{EVIL}"))
        .replace('"yes"', json.dumps(f"yes{EVIL}"))
    )
    content["provenance"]["class_dtype"] = f"<U{len('yes' + EVIL)}"
    content["rules"] = [f"if {EVIL} <= 1:", "    no"]
    (folder / "model.json").write_text(signed(content))
    return folder


def is_harmless(text):
    return all(line.isprintable() for line in text.split("\n"))


@pytest.mark.parametrize(
    "command",
    [
        ["show", "model.json"],
        ["show", "model.json", "--as", "certificate"],
        ["explain", "model.json", "people.csv", "--row", "17"],
        ["check", "model.json", "people.csv", *CHECK],
        ["check", "model.json", "people.csv", "--label", "employed", "--total", f"no{EVIL}=185"],
        ["predict", "model.json", "people.csv", "--out", f"out{EVIL}.csv"],
        ["fit", "people.csv", *CHECK, "--exclude", "region", "--solver", "none", "--guide", "none"],
    ],
    ids=lambda command: " ".join(command[:3]).encode("ascii", "replace").decode(),
)
def test_no_command_prints_control_characters(stranger, capsys, command):
    assert run(command) in (0, 1, 2)
    printed = capsys.readouterr()
    assert printed.out or printed.err
    assert is_harmless(printed.out)
    assert is_harmless(printed.err)


SHOW_ALL = """
import sys
from s2oct.cli.app import run
for form in sys.argv[1:]:
    assert run(["show", "model.json", "--as", form]) == 0, form
    print("end of", form)
"""


def test_no_form_steers_a_terminal(stranger):
    """Programs that read a pipe get every character; a terminal gets escapes."""
    forms = [form for form in FORMS if form != "onnx"]
    master, slave = pty.openpty()
    with started([sys.executable, "-c", SHOW_ALL, *forms], stdout=slave, stderr=subprocess.PIPE) as process:
        os.close(slave)
        shown = everything_at(master)
        _, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    for form in forms:
        this, _, shown = shown.partition(f"end of {form}\n")
        assert this.strip()
        assert is_harmless(this), form


def everything_at(terminal):
    """What was written until the other end was closed."""
    written = b""
    try:
        while part := os.read(terminal, 65536):
            written += part
    except OSError:  # the other end is closed
        pass
    finally:
        os.close(terminal)
    return written.decode().replace("\r\n", "\n")


def test_forged_rules_are_shown_in_no_form(stranger, capsys):
    assert run(["show", "model.json"]) == 0
    rules = capsys.readouterr().out.splitlines()
    assert run(["show", "model.json", "--as", "json"]) == 0
    shown = capsys.readouterr().out
    content = json.loads(shown)
    assert content["rules"] == rules
    assert shown == signed_again(content)


def signed_again(content):
    """The text that the package itself would write."""
    from s2oct.output.model_files.file import pretty_json

    return pretty_json({**content, "sha256": json.loads(signed(content))["sha256"]}) + "\n"
