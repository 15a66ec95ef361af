"""The command ``s2oct study``: what it prints, how it fails, and that its documentation names options it has."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from s2oct.cli.app import load_command, run
from s2oct.cli.study import time_left
from s2oct.study.instances import LABELED_SHARE
from s2oct.study.methods import DEFAULT_METHODS, METHODS
from s2oct.study.records import read_store
from tests.messages import names

ROOT = Path(__file__).parents[2]
SMALL = ["--no-download", "--instance", "parity5", "--instance", "lupus", "--method", "cart*", "--samples", "1"]


@pytest.fixture(autouse=True)
def no_files(monkeypatch):
    """Generated rows, also where a developer has the files."""
    monkeypatch.delenv("S2OCT_DATA", raising=False)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A small study: four methods on one generated instance, and one instance without data."""
    folder = tmp_path_factory.mktemp("finished") / "study"
    assert run(["study", "run", "--out", str(folder), "--jobs", "1", *SMALL]) == 0
    return folder


def test_a_run_says_what_it_left_out_and_what_is_next_and_is_quiet_otherwise(tmp_path, capsys):
    assert run(["study", "run", "--out", str(tmp_path), "--jobs", "1", *SMALL]) == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    begun, left_out, lupus, finished = printed.err.splitlines()
    assert names(begun, 4, tmp_path)
    assert names(left_out, 1)
    assert names(lupus, "lupus: ", "lupus.tsv.gz")
    assert names(finished, 4, 0, f"s2oct study report --out {tmp_path}")


def test_classes_are_kept_apart_if_asked_and_the_folder_remembers_it(tmp_path, capsys):
    command = ["study", "run", "--out", str(tmp_path), "--jobs", "1", "--no-download", "--instance", "balance_scale"]
    command += ["--method", "cart", "--samples", "1"]
    assert run([*command, "--classes", "3"]) == 0
    (record,) = read_store(tmp_path).records.values()
    assert [sum(row) for row in record.fit.all_rows.table] == [288, 49, 288]
    capsys.readouterr()
    assert run(command) == 2
    assert names(capsys.readouterr().err, "classes", 3, 2)
    assert run(["study", "status", "--out", str(tmp_path)]) == 0
    assert names(capsys.readouterr().out, "3 classes")


def test_a_second_run_has_nothing_to_do(finished, capsys):
    assert run(["study", "run", "--out", str(finished), "--jobs", "1", *SMALL]) == 0
    assert names(capsys.readouterr().err, "0 tasks", 4)


def test_methods_whose_package_is_missing_are_left_out_with_a_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    asked = [*SMALL, "--method", "catboost*"]
    assert run(["study", "run", "--out", str(tmp_path / "some"), "--jobs", "1", *asked]) == 0
    left_out, begun, *_ = capsys.readouterr().err.splitlines()
    assert names(left_out, "catboost-strong", "pip install catboost")
    assert names(begun, 4, tmp_path / "some")
    alone = [*SMALL[:5], "--method", "catboost-strong"]
    assert run(["study", "run", "--out", str(tmp_path / "none"), "--jobs", "1", *alone]) == 2
    (refusal,) = capsys.readouterr().err.splitlines()
    assert names(refusal, "s2oct: ", "catboost-strong", "pip install catboost")
    assert not (tmp_path / "none").exists()


def test_status_counts_by_method(finished, capsys):
    assert run(["study", "status", "--out", str(finished)]) == 0
    printed = capsys.readouterr().out
    counts = {cells[0]: cells[1:] for line in printed.splitlines() if (cells := re.findall(r"[\w-]+", line))}
    assert counts["cart-top"] == ["2", "1", "0", "0", "1", "0"]
    assert counts["all"] == ["8", "4", "0", "0", "4", "0"]
    assert names(printed, "lupus", "missing")


def test_report_names_its_page(finished, tmp_path, capsys):
    assert run(["study", "report", "--out", str(finished), "--to", str(tmp_path)]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "report.html")


def test_the_folder_may_come_from_the_environment(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("S2OCT_DATA", str(tmp_path / "nowhere"))
    assert run(["study", "run", "--out", str(tmp_path)]) == 2
    assert names(capsys.readouterr().err, "--data", "folder")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--instance", "irises"], ("instance", "prnn_synth")),
        (["--method", "magic"], ("method", "octh")),
        (["--design", "stratified"], ("design", "biased", "simple")),
        (["--labeled-share", "1.5"], (0, 1, "1.5")),
        (["--time-limit", "0"], ("--time-limit", "0.0")),
        (["--memory", "-1"], ("--memory", 0, "-1.0")),
        (["--solver", "cplex"], ("solver",)),
    ],
)
def test_bad_options_end_in_one_sentence_and_leave_nothing_behind(tmp_path, capsys, options, named):
    out = tmp_path / "study"
    assert run(["study", "run", "--no-download", "--out", str(out), *options]) == 2
    printed = capsys.readouterr().err.strip()
    assert names(printed, "s2oct: ", *named)
    assert len(printed.splitlines()) == 1
    assert not out.exists()


@pytest.mark.parametrize("command", ["status", "report"])
def test_a_folder_without_a_study_ends_in_one_sentence(tmp_path, capsys, command):
    assert run(["study", command, "--out", str(tmp_path)]) == 2
    assert names(capsys.readouterr().err, "s2oct: ", "study", "folder")


def test_time_left_is_shown_once_every_method_has_finished_a_fit():
    assert time_left({"cart": 1, "rf": 1}, {"cart": [0.1]}, 1.0) == "time left not known yet"
    # One of four took an hour in total.
    assert time_left({"cart": 3}, {"cart": [0.1]}, 3600) == "about 3 h 00 min left"


def test_the_share_of_the_paper_is_the_default():
    command = load_command("study").commands["run"]
    (option,) = [option for option in command.params if option.name == "labeled_share"]
    assert option.default == LABELED_SHARE


def test_every_tree_of_the_study_is_documented_and_so_are_the_default_methods():
    page = (ROOT / "docs/study.md").read_text()
    trees = [name for name, method in METHODS.items() if method.is_tree]
    assert [name for name in trees if f"`{name}`" not in page] == []
    (sentence,) = re.findall(r"By default, (.*?) and all rivals run\.", page, re.DOTALL)
    assert re.findall(r"`([\w-]+)`", sentence) == [name for name in DEFAULT_METHODS if name in trees]


@pytest.mark.parametrize("page", ["docs/study.md", "README.md"])
def test_commands_in_the_documentation_have_the_options_they_are_shown_with(page):
    commands = load_command("study").commands
    shown = re.findall(r"^s2oct study .*$", (ROOT / page).read_text(), re.MULTILINE)
    assert shown or page == "README.md"
    for line in shown:
        _, _, name, *arguments = shlex.split(line.partition("#")[0])
        known = {text for option in commands[name].params for text in (*option.opts, *option.secondary_opts)}
        assert {argument for argument in arguments if argument.startswith("--")} <= known, line
