"""``s2oct assess``: the numbers of the Python call, from a model file and its table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from s2oct import S2OCTClassifier
from s2oct.cli.app import run
from tests.messages import names


@pytest.fixture(scope="module")
def survey():
    """200 people, of whom 60 answered; whether they are over 40 decides, mostly."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"age": rng.integers(16, 75, 200), "education": rng.integers(8, 20, 200)})
    truth = np.where(frame["age"] + rng.normal(0, 8, 200) > 40, "yes", "no")
    return frame.assign(employed=np.where(np.arange(200) < 60, truth, None)), truth


@pytest.fixture
def model(survey, tmp_path, monkeypatch, capsys):
    frame, truth = survey
    monkeypatch.chdir(tmp_path)
    frame.to_csv("people.csv", index=False)
    total = int((truth[60:] == "yes").sum())
    command = ["fit", "people.csv", "--label", "employed", "--depth", "1", "--seed", "0", "--out", "model.json"]
    assert run([*command, "--total", f"yes={total}"]) == 0
    capsys.readouterr()
    return total


def test_it_prints_what_python_says(model, survey, capsys):
    assert run(["assess", "model.json", "people.csv", "--label", "employed", "--folds", "4"]) == 0
    printed = capsys.readouterr()
    frame, _ = survey
    clf = S2OCTClassifier(depth=1, random_state=0)
    clf.fit(frame[["age", "education"]], frame["employed"], totals={"yes": model})
    found = clf.assess(n_folds=4)
    assert printed.out.strip() == found.text.strip()
    assert names(printed.err, 4, "fold")
    assert (found.cautions == ()) == ("warning" not in printed.err)


def test_the_label_is_that_of_the_model_unless_another_is_named(model, survey, capsys):
    frame, _ = survey
    assert run(["assess", "model.json", "people.csv", "--folds", "2"]) == 0
    first = capsys.readouterr().out
    frame.rename(columns={"employed": "job"}).to_csv("renamed.csv", index=False)
    assert run(["assess", "model.json", "renamed.csv", "--label", "job", "--folds", "2"]) == 0
    assert capsys.readouterr().out == first


def test_few_labels_of_a_class_are_a_warning(model, survey, capsys):
    frame, truth = survey
    few = frame.copy()
    few.loc[few.index[few["employed"] == "no"][5:], "employed"] = None
    few.to_csv("few.csv", index=False)
    total = int((truth[few["employed"].isna()] == "yes").sum())
    assert run(["assess", "model.json", "few.csv", "--total", f"yes={total}", "--folds", "2"]) == 0
    said = capsys.readouterr().err
    assert names(said, "'no'", 5)
    assert "column of --label" in said
    assert names(said, "warning", "data", "totals", "fit")


def test_a_missing_file_is_refused_with_a_sentence(model, capsys):
    assert run(["assess", "model.json", "nobody.csv"]) == 2
    assert "nobody.csv" in capsys.readouterr().err
