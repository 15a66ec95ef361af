"""One table, however it is stored and whoever fits it, gives one model, and every reader of that model agrees.

The table has text, ordered and unordered categories, booleans and gaps, with weights and totals by region. It is fitted
from every format, in Python, by the command line and by the page. Only the provenance of the model files may differ.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyreadstat
import pytest

import s2oct
from s2oct import S2OCTClassifier
from s2oct.app.job_process import do_job
from s2oct.app.jobs import Workforce
from s2oct.cli.app import run
from s2oct.errors import S2OCTWarning
from s2oct.export import tree_to_r, tree_to_sql
from s2oct.problem import totals as totals_reading
from tests.app.asking import Asked
from tests.conftest import require_package
from tests.output.exports.readers import READERS
from tests.people import FEATURES, N_LABELED, make_people

EDUCATION = ["none", "some", "much"]
"""Levels whose order is not the alphabet's."""

LABEL, REGION, WEIGHT = "works", "region", "w"
ORDER = ["--order", f"education={','.join(EDUCATION)}"]
ORDERED = {".csv": ORDER, ".xlsx": ORDER, ".dta": ["--categorical", "education=ordinal"]}
"""What a user says about levels where the format cannot; the codes of Stata have the order, but do not say so."""


def survey() -> pd.DataFrame:
    """People with their answers; those after the first have none, and some own a house, or did not say."""
    people = make_people()
    owner = people.frame["owner"].astype("boolean").mask(np.arange(len(people.frame)) % 17 == 0)
    levels = people.frame["education"].cat.rename_categories(EDUCATION)
    return people.frame.assign(owner=owner, education=levels, works=pd.Series(people.y, dtype="object"))


def totals() -> pd.DataFrame:
    """Weighted totals in each region, among the rows without a label, as intervals that a tree of depth 2 can meet."""
    people = make_people()
    rows = people.frame.assign(truth=people.truth)[N_LABELED:]
    weight = rows[rows["truth"] == "yes"].groupby(REGION)[WEIGHT].sum()
    return pd.DataFrame({REGION: weight.index, "class": "yes", "low": weight.values - 3, "high": weight.values + 3})


def new_rows() -> pd.DataFrame:
    """The same people without answers; some have levels that the fit did not see, and gaps where it saw none."""
    frame = survey().drop(columns=LABEL)
    levels = pd.CategoricalDtype([*EDUCATION, "doctorate"], ordered=True)
    frame = frame.astype({"education": levels})
    frame.loc[5:25:5, "sector"] = "space"
    frame.loc[7:30:6, "education"] = "doctorate"
    frame.loc[3:40:4, "income"] = np.nan
    return frame


# --- the table in every library and every format


def in_polars(frame: pd.DataFrame) -> pl.DataFrame:
    levels = frame["education"].cat.categories.tolist()
    table = pl.from_pandas(frame.astype({"education": object}))
    return table.with_columns(pl.col("education").cast(pl.Enum(levels)))


def in_arrow(frame: pd.DataFrame) -> pa.Table:
    return pa.Table.from_pandas(frame, preserve_index=False)


def from_csv(frame: pd.DataFrame) -> pd.DataFrame:
    """What a user of pandas gets back from a CSV file; the levels need their order again."""
    read = pd.read_csv(StringIO(frame.to_csv(index=False)))
    return read.astype({"education": frame["education"].dtype})


LIBRARIES = {"pandas": lambda frame: frame, "CSV by pandas": from_csv, "polars": in_polars, "Arrow": in_arrow}


def coded(frame: pd.DataFrame) -> dict[str, Any]:
    """Codes with value labels, as SPSS and Stata have categories and booleans."""
    labels: dict[str, dict[int, str]] = {}
    cells = frame.copy()
    for name in ("sector", "education", "owner", REGION, LABEL):
        if name not in frame:
            continue
        column = frame[name].astype(object)
        is_ordered = isinstance(frame[name].dtype, pd.CategoricalDtype)
        levels = frame[name].cat.categories if is_ordered else sorted(column.dropna().unique())
        labels[name] = {code: str(level) for code, level in enumerate(levels)}
        cells[name] = column.map({level: float(code) for code, level in enumerate(levels)}).astype(float)
    return {"df": cells, "variable_value_labels": labels}


def write_sav(frame: pd.DataFrame, path: Path) -> None:
    measures = {"education": "ordinal", "sector": "nominal", "owner": "nominal"}
    pyreadstat.write_sav(**coded(frame), dst_path=path, variable_measure=measures)


WRITERS = {
    ".csv": lambda frame, path: frame.to_csv(path, index=False),
    ".parquet": lambda frame, path: frame.to_parquet(path, index=False),
    ".arrow": lambda frame, path: feather.write_feather(in_arrow(frame), str(path), compression="uncompressed"),
    ".xlsx": lambda frame, path: frame.to_excel(path, index=False),
    ".sav": write_sav,
    ".dta": lambda frame, path: pyreadstat.write_dta(**coded(frame), dst_path=path),
}


# --- the fit in Python, by the command line and by the page


def fit_in_python(table: Any) -> S2OCTClassifier:
    """The table without weight and label; pandas has the answers, whatever library has the table."""
    frame = survey()
    known = {row[REGION]: {row["class"]: (row["low"], row["high"])} for row in totals().to_dict("records")}
    clf = S2OCTClassifier(depth=2, total_price=np.inf, min_rows_per_leaf=5, random_state=0)
    return clf.fit(table, frame[LABEL], totals=known, domains=REGION, sample_weight=frame[WEIGHT])


def fit_by_command(folder: Path, suffix: str) -> None:
    WRITERS[suffix](survey(), folder / f"people{suffix}")
    totals().to_csv(folder / "totals.csv", index=False)
    command = ["fit", str(folder / f"people{suffix}"), "--label", LABEL, "--weight", WEIGHT, "--by", REGION]
    prices = ["--total-price", "inf", "--min-rows-per-leaf", "5"]
    settings = ["--totals", str(folder / "totals.csv"), "--depth", "2", "--seed", "0", *prices]
    outputs = ["--out", str(folder / "model.json"), "--sql", str(folder / "predict.sql")]
    assert run([*command, *settings, *ORDERED.get(suffix, []), *outputs]) == 0


def fit_on_the_page(folder: Path, suffix: str) -> Path:
    """Upload, choose and fit as the page does; the job works in this process. Its folder has the results."""
    WRITERS[suffix](survey(), folder / f"people{suffix}")
    asked = Asked(folder / "sessions")
    session = asked.upload((folder / f"people{suffix}").read_bytes(), f"people{suffix}").json["id"]
    asked("PUT", f"api/sessions/{session}/totals?name=totals.csv", totals().to_csv(index=False).encode())
    choices = {
        "label": LABEL,
        "roles": {WEIGHT: "weight"},
        "totals": {"form": "file", "by": [REGION]},
        "orders": {"education": EDUCATION} if suffix in (".csv", ".xlsx") else {},
        "options": {"depth": "2", "random_state": "0", "total_price": "inf", "min_rows_per_leaf": "5"},
    }
    view = asked.look(session, **choices)
    assert view["complaints"] == []
    job = asked("POST", f"api/sessions/{session}/fits", choices).json["number"]
    return asked.workspace.session(session).job(job).folder


@pytest.fixture
def working_here(monkeypatch):
    """Jobs of the page in this process, which has everything imported."""
    require_package("starlette")

    def start(_: Workforce, job: Any) -> None:
        with warnings.catch_warnings():
            do_job(job)
        assert [event["how"] for event in job.events if event["kind"] == "end"] == ["done"]

    monkeypatch.setattr(Workforce, "start", start)


@dataclass(frozen=True)
class Reference:
    """The classifier fitted to a pandas table, and its model file."""

    clf: S2OCTClassifier
    path: Path

    @property
    def exported(self) -> tuple[Any, ...]:
        """What every writer takes first: tree, names of the features, classes."""
        return self.clf.tree_, self.clf.encoding_.features, self.clf.classes_.tolist()


@pytest.fixture(scope="module")
def reference(tmp_path_factory) -> Reference:
    path = tmp_path_factory.mktemp("reference") / "model.json"
    clf = fit_in_python(survey()[[*FEATURES, REGION]])
    s2oct.save(clf, path)
    return Reference(clf, path)


def content(path: Path) -> dict[str, Any]:
    """A model file without what tells one fit from another of the same table."""
    read = json.loads(path.read_text())
    return {name: part for name, part in read.items() if name not in ("provenance", "sha256")}


def test_the_table_has_every_kind_of_column_and_of_gap(reference):
    kinds = {column.name: (column.kind, column.gaps) for column in reference.clf.encoding_.columns}
    assert kinds == {
        "age": ("number", True),
        "income": ("number", False),
        "sector": ("onehot", True),
        "education": ("ordinal", True),
        "owner": ("boolean", True),
    }
    assert reference.clf.certificate_.meets_totals


@pytest.mark.parametrize("library", [name for name in LIBRARIES if name != "pandas"])
def test_python_gives_one_model_from_every_library(tmp_path, reference, library):
    s2oct.save(fit_in_python(LIBRARIES[library](survey()[[*FEATURES, REGION]])), tmp_path / "model.json")
    assert content(tmp_path / "model.json") == content(reference.path)


@pytest.mark.parametrize("suffix", WRITERS)
def test_the_command_line_gives_the_model_of_python_from_every_format(tmp_path, reference, suffix):
    fit_by_command(tmp_path, suffix)
    assert content(tmp_path / "model.json") == content(reference.path)
    query = tree_to_sql(*reference.exported, encoding=reference.clf.encoding_, table="data", column="works_predicted")
    assert (tmp_path / "predict.sql").read_text() == query + "\n"


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".sav"])
def test_the_page_gives_the_model_of_python_from_every_format(tmp_path, reference, working_here, suffix):
    folder = fit_on_the_page(tmp_path, suffix)
    assert content(folder / "model.json") == content(reference.path)
    assert (folder / "predict.R").read_text() == tree_to_r(*reference.exported, encoding=reference.clf.encoding_)


# --- predictions of new rows


@pytest.mark.parametrize("way", ["Python", "command"])
def test_a_fit_reads_totals_once(tmp_path, monkeypatch, way):
    read, reading = [], totals_reading._one_for_each
    monkeypatch.setattr(totals_reading, "_one_for_each", lambda *given: read.append(1) or reading(*given))
    if way == "Python":
        fit_in_python(survey()[[*FEATURES, REGION]])
    else:
        fit_by_command(tmp_path, ".csv")
    assert read == [1]


@pytest.fixture(scope="module")
def expected(reference) -> list[str]:
    with pytest.warns(S2OCTWarning, match="were not seen"):
        return reference.clf.predict(new_rows()[FEATURES]).tolist()


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_model_file_reads_raw_tables_of_every_library(reference, expected, library):
    clf = s2oct.load(reference.path)
    with pytest.warns(S2OCTWarning, match="were not seen"):
        assert clf.predict(LIBRARIES[library](new_rows()[FEATURES])).tolist() == expected


@pytest.mark.parametrize("suffix", WRITERS)
def test_the_command_line_predicts_files_of_every_format(tmp_path, reference, expected, suffix):
    WRITERS[suffix](new_rows(), tmp_path / f"new{suffix}")
    command = ["predict", str(reference.path), str(tmp_path / f"new{suffix}"), "--out", str(tmp_path / "out.csv")]
    assert run(command) == 0
    assert pd.read_csv(tmp_path / "out.csv", dtype=str)["predicted"].tolist() == expected
    assert run([*command, "--strict"]) != 0


CELLS = {"typed": lambda cell: cell, "text": str}
"""Cells as a database with types has them, and as one that was filled from a CSV file."""


@pytest.mark.parametrize("form", CELLS)
@pytest.mark.parametrize("reader", READERS)
def test_every_export_predicts_raw_rows_as_python_does(reference, expected, reader, form):
    clf = s2oct.load(reference.path)
    new = new_rows()[FEATURES].astype(object)
    cells = {name: [None if pd.isna(cell) else CELLS[form](cell) for cell in new[name]] for name in new}
    assert READERS[reader](*reference.exported, cells, clf.encoding_) == expected
