"""Flags are named by the command line alone, and it has one for every remedy."""

from __future__ import annotations

import ast
import pickle
import re
from pathlib import Path

import pyarrow as pa
import pytest

import s2oct
from s2oct.cli.app import COMMANDS, load_command, run
from s2oct.cli.messages import REMEDIES, with_options
from s2oct.errors import FewLabelsWarning, InvalidTable, Notice, Remedy

ROOM = Path(s2oct.__file__).parent
FLAG = re.compile(r"(?<![\w(-])--[A-Za-z][\w-]*")


def flags_of(command):
    parts = getattr(command, "commands", {}).values()
    own = {text for option in command.params for text in (*option.opts, *option.secondary_opts)}
    return own.union(*(flags_of(part) for part in parts))


def named_flags(path):
    """Flags in the strings of a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from FLAG.findall(node.value)


def test_no_room_below_the_command_line_names_a_flag():
    known = {flag for name in COMMANDS for flag in flags_of(load_command(name)) if flag.startswith("--")}
    assert {"--exclude", "--label", "--out", "--jobs"} <= known
    below = [path for path in ROOM.rglob("*.py") if "cli" not in path.relative_to(ROOM).parts]
    assert len(below) > 50
    found = {str(path.relative_to(ROOM)): flags for path in below if (flags := known.intersection(named_flags(path)))}
    # The page shows the command that gives the same model.
    assert found.pop(str(Path("app", "choices.py"))) <= flags_of(load_command("fit"))
    assert found == {}


def test_flag_in_a_string_is_found(tmp_path):
    (tmp_path / "module.py").write_text('x = f"leave {1} out with --exclude."  # --comment\ny = "var(--sans)"\n')
    assert list(named_flags(tmp_path / "module.py")) == ["--exclude"]


@pytest.mark.parametrize("remedy", Remedy)
def test_every_remedy_has_options_that_fit_has(remedy):
    named = FLAG.findall(REMEDIES[remedy])
    assert named
    assert set(named) <= flags_of(load_command("fit"))


def test_remedy_names_the_column_so_that_it_can_be_pasted_into_a_shell():
    error = InvalidTable("Expected a, got b", Remedy.KEEP_AS_ID, Remedy.LEAVE_OUT, column="net income")
    sentence = "keep it as an id with --id 'net income', or leave the column out with --exclude 'net income'."
    assert with_options(error.message) == f"Expected a, got b: {sentence}"


def test_remedies_survive_a_way_between_processes():
    error = InvalidTable("Expected a, got b", Remedy.LEAVE_OUT, column="x")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.remedies, again.column) == (str(error), error.remedies, "x")
    assert str(error) == "Expected a, got b: drop the column."


def test_a_notice_survives_a_way_between_processes_with_its_remedies():
    notice = Notice("It is late", Remedy.MORE_TIME, category=FewLabelsWarning)
    again = pickle.loads(pickle.dumps((notice,)))[0]
    assert again == notice == "It is late. What may help: give the fit more time."
    assert (again.problem, again.remedies, again.category) == ("It is late", (Remedy.MORE_TIME,), FewLabelsWarning)
    assert with_options(again) == "It is late. What may help: raise --time-limit."


def test_braces_in_names_are_no_places():
    error = InvalidTable("Expected numbers in column '{x}'", Remedy.LEAVE_OUT, column="{x}")
    assert with_options(error.message).endswith("'{x}': leave the column out with --exclude '{x}'.")


def test_a_plain_sentence_stays_as_it_is():
    assert with_options("Some {class} has 3 rows.") == "Some {class} has 3 rows."


def test_too_little_memory_is_said_without_the_text_of_a_library(monkeypatch, capsys):
    def fail(_arguments):
        raise pa.ArrowMemoryError("malloc of size 9223372036854775807 failed")

    monkeypatch.setattr("s2oct.cli.app._call", fail)
    assert run(["fit"]) == 2
    message = capsys.readouterr().err
    assert "not enough memory" in message
    assert "malloc" not in message
