"""The command line takes tables in every format, for data and for totals, and says what it cannot read."""

from __future__ import annotations

import sys

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

from s2oct.cli.app import run
from s2oct.export import read_model
from tests.cli.conftest import QUICK
from tests.messages import names

N_ROWS = 60
EDUCATION = {1: "primary", 2: "secondary", 3: "tertiary"}
VOTE = {1: "yes", 2: "no", 9: "refused"}


def survey():
    """Who voted yes depends on age and education; 20 of 60 people have said so, 4 have refused."""
    rng = np.random.default_rng(0)
    age = rng.integers(18, 80, N_ROWS).astype(float)
    vote = np.where(age > 50, 1.0, 2.0)
    vote[20:] = np.nan
    vote[20:24] = 9.0
    return pd.DataFrame(
        {
            "nr": np.arange(1.0, N_ROWS + 1),
            "alter": age,
            "schule": rng.integers(1, 4, N_ROWS).astype(float),
            "land": np.where(np.arange(N_ROWS) % 2, "süd", "nord"),
            "vote": vote,
        }
    )


def plain():
    """The same as people read it."""
    frame = survey()
    return pd.DataFrame(
        {
            "nr": frame["nr"].astype(int),
            "alter": frame["alter"].astype(int),
            "schule": frame["schule"].map(EDUCATION),
            "land": frame["land"],
            "vote": frame["vote"].map({1: "yes", 2: "no"}),
        }
    )


def with_none(frame):
    return [[None if pd.isna(cell) else cell for cell in row] for row in frame.itertuples(index=False)]


def write_excel(path, frame):
    book = openpyxl.Workbook()
    book.active.append(["read the other sheet"])
    sheet = book.create_sheet("Daten")
    sheet.append(list(frame.columns))
    for row in with_none(frame):
        sheet.append(row)
    book.save(path)


def write_labeled(write, path, **others):
    labels = {"vote": VOTE, "schule": EDUCATION}
    write(survey(), path, variable_value_labels=labels, column_labels={"vote": "Vote in 2025"}, **others)


def arrow():
    frame = plain()
    return pa.table({name: [None if pd.isna(cell) else cell for cell in frame[name]] for name in frame})


def write_arrow(path):
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, arrow().schema) as writer:
        writer.write_table(arrow())


WRITERS = {
    "people.csv": lambda path: plain().to_csv(path, index=False),
    "people.parquet": lambda path: pq.write_table(arrow(), path),
    "people.arrow": write_arrow,
    "people.xlsx": lambda path: write_excel(path, plain()),
    "people.sav": lambda path: write_labeled(
        pyreadstat.write_sav, path, missing_ranges={"vote": [9]}, variable_measure={"schule": "nominal"}
    ),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def asked(name):
    sheet = ["--sheet", "Daten"] if name.endswith(".xlsx") else []
    return [name, *sheet, "--label", "vote", "--total", "yes=20", "--id", "nr"]


def predictions_of(folder, name):
    WRITERS[name](folder / name)
    assert run(["fit", *asked(name), *QUICK, "--out", "model.json", "--report", "report.html"]) == 0
    assert run(["check", "model.json", *asked(name)[:-2]]) == 0
    sheet = asked(name)[1:3] if name.endswith(".xlsx") else []
    assert run(["explain", "model.json", name, *sheet, "--row", "30"]) == 0
    assert run(["predict", "model.json", name, *sheet, "--out", "out.csv"]) == 0
    read = pd.read_csv(folder / "out.csv", dtype=str, keep_default_na=False)
    assert read["nr"].tolist() == [str(i + 1) for i in range(N_ROWS)]
    return read["vote_predicted"].tolist(), read_model("model.json").encoding


@pytest.mark.parametrize("name", [name for name in WRITERS if name != "people.csv"])
def test_every_format_gives_the_tree_of_the_csv_file(folder, name):
    expected, of_csv = predictions_of(folder, "people.csv")
    found, encoding = predictions_of(folder, name)
    assert found == expected
    assert encoding == of_csv


def test_a_report_says_what_the_columns_mean(folder):
    predictions_of(folder, "people.sav")
    assert "<li><code>vote</code>: Vote in 2025</li>" in (folder / "report.html").read_text()


def test_numbers_with_decimal_commas_that_a_sheet_has_as_text_are_numbers(folder):
    frame = plain().assign(x=[f"{i},25" for i in range(N_ROWS)])
    frame.to_excel(folder / "people.xlsx", index=False)
    asked = ["fit", "people.xlsx", "--label", "vote", "--total", "yes=20", "--id", "nr", *QUICK]
    assert run([*asked, "--out", "model.json", "--predictions", "labeled.csv"]) == 0
    kinds = {column.name: column.kind for column in read_model("model.json").encoding.columns}
    assert kinds["x"] == "number"
    written = pd.read_csv(folder / "labeled.csv", sep=";", decimal=",")
    assert written["x"].tolist() == [i + 0.25 for i in range(N_ROWS)]


def test_a_file_of_stata_is_fitted(folder):
    write_labeled(pyreadstat.write_dta, folder / "people.dta")
    asked = ["fit", "people.dta", "--label", "vote", "--total", "yes=20", "--id", "nr", *QUICK, "--out", "model.json"]
    assert run(asked) == 0
    assert read_model("model.json").classes == ["no", "refused", "yes"]


@pytest.mark.parametrize("name", ["totals.xlsx", "totals.sav", "totals.parquet"])
def test_totals_may_be_in_any_format(folder, name, capsys):
    WRITERS["people.csv"](folder / "people.csv")
    totals = pd.DataFrame({"land": ["nord", "süd"], "yes": [10.0, 9.0], "no": [10.0, 11.0]})
    if name.endswith(".sav"):
        pyreadstat.write_sav(totals, folder / name)
    else:
        getattr(totals, "to_excel" if name.endswith(".xlsx") else "to_parquet")(folder / name, index=False)
    asked = ["fit", "people.csv", "--label", "vote", "--id", "nr", "--totals", name, "--by", "land", *QUICK]
    assert run([*asked, "--out", "model.json"]) == 0
    assert "4 totals" in capsys.readouterr().out


def test_a_missing_reader_is_named_with_the_command_that_installs_it(folder, monkeypatch, capsys):
    WRITERS["people.sav"](folder / "people.sav")
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    assert run(["fit", *asked("people.sav")]) == 2
    assert names(capsys.readouterr().err, "pip install pyreadstat", "SPSS")


def test_a_date_in_a_sheet_is_refused_with_a_remedy(folder, capsys):
    frame = plain().assign(born=pd.Timestamp("1980-05-17"))
    frame.to_excel(folder / "people.xlsx", index=False)
    assert run(["fit", "people.xlsx", "--label", "vote", "--total", "yes=20", "--id", "nr"]) == 2
    assert "--exclude born" in capsys.readouterr().err


def test_a_damaged_file_is_refused_in_one_sentence(folder, capsys):
    WRITERS["people.xlsx"](folder / "people.xlsx")
    (folder / "people.xlsx").write_bytes((folder / "people.xlsx").read_bytes()[:3000])
    assert run(["fit", "people.xlsx", "--label", "vote"]) == 2
    assert "'people.xlsx' is" in capsys.readouterr().err
