"""``s2oct compare``: one table of scores, and sentences about them."""

from __future__ import annotations

import pytest

from s2oct.cli.app import run
from s2oct.workflow import comparison
from tests.cli.conftest import QUICK
from tests.messages import names

COMPARE = ["--label", "employed", "--total", "yes=185", "--features", "age,education_years,health", *QUICK]


@pytest.fixture(autouse=True)
def small_forests(monkeypatch):
    monkeypatch.setattr(comparison, "N_TREES", 10)


def test_every_method_has_a_line_and_no_word_is_broken(folder, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "40")
    assert run(["compare", "people.csv", *COMPARE, "--folds", "2"]) == 0
    printed = capsys.readouterr()
    first, second, *lines = printed.out.splitlines()
    assert first.split() == ["accuracy", "MCC", "accuracy", "MCC", "features", "seconds"]
    assert second.split("  ")[0] == "method"
    assert [line.split("  ")[0] for line in lines[:5]] == [
        "s2oct tree of depth 2",
        "logistic regression",
        "random forest",
        "extremely randomised trees",
        "decision tree of depth 2",
    ]
    assert names(lines[6], 40, 2, "fold")
    assert "standard error" in lines[-1]
    assert names(printed.err, "'no'", 5)


def test_a_class_with_few_labels_is_a_warning(folder, people, capsys):
    frame = people.copy()
    answered = frame.index[frame["employed"] == "no"]
    frame.loc[answered[2:], "employed"] = None
    frame.to_csv("few.csv", index=False)
    assert run(["compare", "few.csv", *COMPARE, "--folds", "3"]) == 0
    assert names(capsys.readouterr().err, "warning", "'no'", 2)


def test_without_a_total_the_shares_of_the_labels_are_used_with_a_warning(folder, capsys):
    given = [*COMPARE[:2], *COMPARE[4:], "--folds", "2"]
    assert run(["compare", "people.csv", *given]) == 0
    assert names(capsys.readouterr().err, "warning", "total", "estimate")


def test_the_rules_of_the_tree_use_the_columns_that_are_named(folder, capsys):
    assert run(["compare", "people.csv", *COMPARE, "--folds", "2", "--rule-features", "health"]) == 0
    tree = capsys.readouterr().out.splitlines()[2]
    assert tree.startswith("s2oct tree of depth 2")
    assert tree.split()[-3] == "1.0"
    assert run(["compare", "people.csv", *COMPARE, "--folds", "2", "--rule-features", "wealth"]) == 2
    assert "wealth" in capsys.readouterr().err


def test_nothing_is_written(folder):
    before = sorted(path.name for path in folder.iterdir())
    assert run(["compare", "people.csv", *COMPARE, "--folds", "2"]) == 0
    assert sorted(path.name for path in folder.iterdir()) == before
