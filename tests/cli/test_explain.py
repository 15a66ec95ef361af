"""``s2oct explain``: one row of a table, in the words of its columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from s2oct import ObliqueTree, OCTHClassifier, Topology
from s2oct.cli.app import run
from s2oct.output.model_files.content import Model, Origin
from s2oct.output.model_files.file import model_to_json
from s2oct.tables.encoding import Column, Encoding
from s2oct.trees.features import NUMBER, ONEHOT, ORDINAL
from tests.messages import names

ENCODING = Encoding(
    (
        Column("age", NUMBER, fill=40.0, gaps=True),
        Column("region", ONEHOT, ("east", "north", "south"), "other", "other"),
        Column("school", ORDINAL, ("none", "some", "much"), "some", "some"),
    )
)
PEOPLE = pd.DataFrame(
    {
        "person": ["007", "008", "009", "009"],
        "age": [31.0, 25.0, None, 60.0],
        "region": ["north", "south", "north", "east"],
        "school": ["much", "none", "some", "some"],
    }
)


@pytest.fixture
def folder_of_four(tmp_path, monkeypatch):
    """A model with a rule about each column, and four people."""
    rng = np.random.default_rng(0)
    clf = OCTHClassifier(depth=2, solver=None, time_limit=0.5, random_state=0)
    clf.fit(pd.DataFrame(rng.random((20, 6)), columns=ENCODING.features), ["no", "yes"] * 10)
    clf.encoding_, clf.n_features_in_ = ENCODING, 3
    clf.feature_names_in_ = np.array(ENCODING.names, dtype=object)
    # age >= 27, then region is north or school <= none
    omega = np.array([[-1, 0, 0, 0, 0, 0], [0, 0, 0, -1, 0, 0], [0, 0, 0, 0, 0, 1.0]])
    clf.tree_ = ObliqueTree(Topology(2), omega, np.array([-27.0, -1.0, 0.0]), np.array([0, 1, 0, 1]))
    clf._leaf_shares = np.eye(2)[[0, 1, 0, 1]]
    (tmp_path / "model.json").write_text(model_to_json(Model(clf, Origin("works", ("person",)))))
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    PEOPLE.to_parquet(tmp_path / "people.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("table", ["people.csv", "people.parquet"])
@pytest.mark.parametrize(
    ("chosen", "printed"),
    [
        (
            ["--row", "1"],
            "Row 1, person 007:\n"
            "1. age is 31, and 31 >= 27 holds. It would change below 27.\n"
            '2. region is north, so "region is north" holds. It would change with another region.\n'
            "The class is 'no'.\n",
        ),
        (
            ["--id", "008"],
            "Row 2, person 008:\n"
            "1. age is 25, and 25 >= 27 does not hold. It would change at 27 or above, or if it were missing.\n"
            '2. school is none, so "school <= none" holds. It would change at some or above.\n'
            "The class is 'no'.\n",
        ),
        (
            ["--row", "3"],
            "Row 3, person 009:\n"
            '1. age is missing, so "age >= 27 or missing" holds. It would change below 27.\n'
            '2. region is north, so "region is north" holds. It would change with another region.\n'
            "The class is 'no'.\n",
        ),
    ],
)
def test_a_row_is_explained_in_the_words_of_its_columns(folder_of_four, capsys, table, chosen, printed):
    assert run(["explain", "model.json", table, *chosen]) == 0
    assert capsys.readouterr().out == printed


def test_explained_classes_are_the_predicted_ones(folder, capsys):
    run(["predict", "model.json", "people.csv", "--out", "predicted.csv"])
    predicted = pd.read_csv("predicted.csv", dtype=str)["employed_predicted"]
    for number in (1, 17, 400):
        capsys.readouterr()
        assert run(["explain", "model.json", "people.csv", "--row", str(number)]) == 0
        *_, last = capsys.readouterr().out.splitlines()
        assert last == f"The class is {predicted[number - 1]!r}."


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([], ("--row", "--id")),
        (["--row", "1", "--id", "007"], ("--row", "--id")),
        (["--row", "5"], (1, 4, 5)),
        (["--row", "0"], ("'--row'",)),
        (["--id", "7"], ("'7'", "'person'")),
        (["--id", "009"], ("'009'", "'person'", 3, 4)),
    ],
)
def test_row_that_is_not_there_is_refused_in_a_sentence(folder_of_four, capsys, arguments, named):
    assert run(["explain", "model.json", "people.csv", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert names(printed.err, "s2oct: ", *named)
    assert printed.err.count("\n") == 1


def test_an_unknown_level_is_named_beside_the_one_that_stands_for_it(folder_of_four, capsys):
    PEOPLE.replace({"region": {"east": "west"}}).to_csv("people.csv", index=False)
    assert run(["explain", "model.json", "people.csv", "--row", "4"]) == 0
    said = '2. region is west and counts as other, so "region is north" does not hold.'
    assert said in capsys.readouterr().out


def test_missing_columns_and_missing_ids_are_named(folder_of_four, capsys):
    PEOPLE.drop(columns="age").to_csv("people.csv", index=False)
    assert run(["explain", "model.json", "people.csv", "--row", "1"]) == 2
    assert names(capsys.readouterr().err, "feature", "'age'")
    PEOPLE.drop(columns="person").to_csv("people.csv", index=False)
    assert run(["explain", "model.json", "people.csv", "--id", "007"]) == 2
    assert names(capsys.readouterr().err, "id", "'person'")
    assert run(["explain", "model.json", "people.csv", "--row", "1"]) == 0
    assert capsys.readouterr().out.startswith("Row 1:\n")
    clf = OCTHClassifier(depth=1, solver=None, time_limit=1).fit(pd.DataFrame({"age": [1.0, 2.0]}), ["no", "yes"])
    (folder_of_four / "model.json").write_text(model_to_json(Model(clf)))
    assert run(["explain", "model.json", "people.csv", "--id", "007"]) == 2
    assert names(capsys.readouterr().err, "--row", "--id")
