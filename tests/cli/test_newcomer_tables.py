"""A newcomer's five tables, each with the first command that such a person would type."""

from __future__ import annotations

import csv
import re

import pytest

from s2oct.cli.app import run
from s2oct.export import read_model
from tests.messages import names
from tests.newcomer_tables import N_ROWS, write_tables

OUT = ["--out", "model.json", "--predictions", "labeled.csv"]


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """A folder with the five tables."""
    write_tables(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(path, charset, delimiter):
    with path.open(encoding=charset, newline="") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


def test_umlauts_are_read_and_names_become_ids(tables, capsys):
    assert (
        run(["fit", "umlauts.csv", "--label", "Tätigkeit", "--total", "berufstätig=20", "--total-price", "inf", *OUT])
        == 0
    )
    printed = capsys.readouterr().out
    assert re.search(r"^Schlüssel +id +another text in every row: kept, not used$", printed, re.MULTILINE)
    assert re.search(r"^Wohnort +feature +3 levels, compared with \w+$", printed, re.MULTILINE)
    assert re.search(r"^Größe +feature +number$", printed, re.MULTILINE)
    assert read_model("model.json").origin.ids == ("Schlüssel",)
    rows = read(tables / "labeled.csv", "utf-8", ",")
    assert sum(row["Tätigkeit_completed"] == "berufstätig" for row in rows if not row["Tätigkeit"]) == 20


def test_semicolons_commas_and_latin_1_are_found_out_kept_and_written(tables, capsys):
    asked = ["--label", "erwerbstätig", "--total", "ja=20"]
    assert run(["fit", "semicolons.csv", *asked, *OUT]) == 0
    model = read_model("model.json")
    assert [column.kind for column in model.encoding.columns] == ["number", "number", "onehot"]
    dialect = model.origin.dialect
    assert (dialect.delimiter, dialect.charset, dialect.decimal) == (";", "latin-1", ",")
    before = read(tables / "semicolons.csv", "latin-1", ";")
    after = read(tables / "labeled.csv", "latin-1", ";")
    assert [{name: row[name] for name in before[0]} for row in after] == before
    stable = [row["erwerbstätig_stability"] for row in after if row["erwerbstätig_stability"]]
    assert all(re.fullmatch(r"[01]|0,\d+", cell) for cell in stable)
    assert run(["check", "model.json", "semicolons.csv", *asked]) == 0
    assert "The data are those of the fit." in capsys.readouterr().out
    assert run(["predict", "model.json", "semicolons.csv", "--out", "new.csv"]) == 0
    predicted = read(tables / "new.csv", "latin-1", ";")
    assert [row["erwerbstätig_predicted"] for row in predicted] == [row["erwerbstätig_predicted"] for row in after]


def test_a_model_of_a_latin_1_table_reads_a_table_in_utf_8(tables):
    assert run(["fit", "semicolons.csv", "--label", "erwerbstätig", "--total", "ja=20", *OUT]) == 0
    text = (tables / "semicolons.csv").read_text("latin-1")
    (tables / "later.csv").write_text(text.replace("Köln", "Düren"), "utf-8")
    assert run(["predict", "model.json", "later.csv", "--out", "new.csv"]) == 0
    assert len(read(tables / "new.csv", "utf-8", ";")) == N_ROWS


def test_booleans_are_one_feature(tables, capsys):
    assert run(["fit", "booleans.csv", "--label", "employed", "--total", "TRUE=20", *OUT]) == 0
    assert "owner     feature  true or false" in capsys.readouterr().out
    assert read_model("model.json").encoding.features == ("age", "owner")


def test_dates_are_refused_together_and_the_remedy_can_be_pasted(tables, capsys):
    asked = ["fit", "dates.csv", "--label", "employed", "--total", "ja=20"]
    assert run(asked) == 2
    lines = capsys.readouterr().err.splitlines()
    assert names(lines[0], 2, "column")
    assert lines[1].startswith("  Expected no dates in column 'born', got '19")
    assert lines[2].startswith("  Expected no dates in column 'called', got '00:30' in row 1: use a number instead")
    cures = [re.search(r"--exclude (\w+)", line).groups() for line in lines[1:]]
    assert cures == [("born",), ("called",)]
    assert run([*asked, "--exclude", "born", "--exclude", "called", *OUT]) == 0


def test_one_labeled_class_is_enough_and_the_other_gets_a_name(tables, capsys):
    assert run(["fit", "one_class.csv", "--label", "employed", "--total", "ja=20", *OUT]) == 0
    assert names(capsys.readouterr().err, "warning", "'not ja'", "label", "class")
    assert read_model("model.json").classes == ["ja", "not ja"]


def test_strict_refuses_what_would_be_guessed(tables, capsys):
    assert run(["fit", "umlauts.csv", "--label", "Tätigkeit", "--total", "berufstätig=20", "--strict"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert names(lines[1], "--id", "'Schlüssel'")
    assert "--categorical 'Wohnort'=onehot" in lines[2] or "--categorical Wohnort=onehot" in lines[2]


def test_weights_and_running_numbers_are_pointed_out(tables, capsys):
    rows = [f"{i + 1},{0.5 + i % 7},{i % 13},{'a' if i < 4 else 'b' if i < 8 else ''}" for i in range(30)]
    (tables / "survey.csv").write_text("\n".join(["nr,design_weight,x,y", *rows]))
    assert run(["fit", "survey.csv", "--label", "y", "--total", "a=11", *OUT]) == 2
    assert names(capsys.readouterr().err, "'design_weight'", "column")
    (tables / "survey.csv").write_text("\n".join(["nr,design_weight,x,y,w", *(f"{row},1" for row in rows)]))
    assert run(["fit", "survey.csv", "--label", "y", "--total", "a=11", "--weight", "w", *OUT]) == 0
    printed = capsys.readouterr().err
    assert names(printed, "warning", "nr", "feature", "--id")
    assert names(printed, "warning", "design_weight", "feature", "weight")
    assert "x is a feature, but" not in printed


@pytest.mark.parametrize("header", [",x,y", '"",x,y', "Unnamed: 0,x,y", "index,x,y"])
def test_row_numbers_of_pandas_and_r_are_ids(tables, capsys, header):
    rows = [f"{2 * i},{i % 13},{'a' if i < 12 else 'b' if i < 24 else ''}" for i in range(40)]
    (tables / "numbered.csv").write_text("\n".join([header, *rows]))
    assert run(["fit", "numbered.csv", "--label", "y", "--total", "a=11", *OUT]) == 0
    first = header.split(",")[0].strip('"') or "rownames"
    assert re.search(rf"^{first} +id +row numbers: kept, not used$", capsys.readouterr().out, re.MULTILINE)
    assert read_model("model.json").encoding.features == ("x",)
    assert [row[first] for row in read(tables / "labeled.csv", "utf-8", ",")] == [str(2 * i) for i in range(40)]
    asked = ["fit", "numbered.csv", "--label", "y", "--total", "a=11", "--features", f"{first},x", *OUT]
    assert run(asked) == 0
    assert read_model("model.json").encoding.features == (first, "x")


def test_cells_that_a_spreadsheet_would_execute_are_escaped_unless_asked_otherwise(tables):
    notes = ["=1+1", "+49 30 1", "-2.5", "@x", "-", "plain", "-cmd|x", "NA"]
    rows = [f"{note},{i},{'a' if i < 2 else 'b' if i < 4 else ''}" for i, note in enumerate(notes * 2)]
    (tables / "notes.csv").write_text("\n".join(["note,x,y", *rows]))
    asked = ["fit", "notes.csv", "--label", "y", "--total", "a=6", "--exclude", "note", *OUT]
    assert run(asked) == 0
    written = [row["note"] for row in read(tables / "labeled.csv", "utf-8", ",")][:8]
    assert written == ["'=1+1", "'+49 30 1", "-2.5", "'@x", "-", "plain", "'-cmd|x", "NA"]
    assert run([*asked, "--keep-formulas"]) == 0
    assert [row["note"] for row in read(tables / "labeled.csv", "utf-8", ",")][:8] == notes
    assert run(["predict", "model.json", "notes.csv", "--out", "new.csv"]) == 0
    assert read(tables / "new.csv", "utf-8", ",")[0]["note"] == "'=1+1"
