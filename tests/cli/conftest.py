"""A folder with the newcomer's table, a model fitted to it, and the command in this process."""

from __future__ import annotations

import pandas as pd
import pytest

from s2oct.cli.app import run
from s2oct.datasets import REGIONS, make_labour_force

QUICK = ["--time-limit", "2", "--solver", "none", "--guide", "none"]


@pytest.fixture(scope="session")
def people() -> pd.DataFrame:
    """400 people, 40 of whom answered; ids with leading zeros, a region in words."""
    survey = make_labour_force(n_people=400, n_labeled=40, seed=0)
    frame = pd.DataFrame(survey.columns())
    frame.insert(0, "person", [f"{i:04d}" for i in range(len(frame))])
    frame["region"] = frame["region"].map(REGIONS)
    return frame


@pytest.fixture(scope="session")
def fitted_folder(tmp_path_factory, people):
    """people.csv and what one command makes of it."""
    folder = tmp_path_factory.mktemp("newcomer")
    people.to_csv(folder / "people.csv", index=False)
    code = run(
        [
            *["fit", str(folder / "people.csv"), "--label", "employed", "--total", "yes=185", "--id", "person"],
            *["--categorical", "onehot", "--out", str(folder / "model.json"), "--sql", str(folder / "predict.sql")],
            *["--report", str(folder / "report.html")],
            *["--predictions", str(folder / "labeled.csv"), *QUICK],
        ]
    )
    assert code == 0
    return folder


@pytest.fixture
def folder(tmp_path, monkeypatch, fitted_folder):
    """A folder of one's own to work in, with people.csv and model.json."""
    for name in ("people.csv", "model.json"):
        (tmp_path / name).write_bytes((fitted_folder / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path
