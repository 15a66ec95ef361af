"""``s2oct fit`` with a table of more rows than a fit looks at together."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from s2oct.cli.app import run
from tests.messages import names

N_ROWS = 100_200


@pytest.fixture
def register(tmp_path, monkeypatch):
    """A Parquet file of so many rows, and the number of its unlabeled rows of class yes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 2))
    truth = np.where(X[:, 0] > 0.4, "yes", "no").astype(object)
    labels = np.where(np.arange(N_ROWS) < 100, truth, None)
    cells = pa.table({"age": X[:, 0], "size": X[:, 1], "works": pa.array(labels.tolist(), pa.string())})
    pq.write_table(cells, tmp_path / "register.parquet")
    monkeypatch.chdir(tmp_path)
    return int((truth[100:] == "yes").sum())


def test_a_large_file_is_read_in_batches_and_its_total_is_met(register, capsys):
    command = ["fit", "register.parquet", "--label", "works", "--total", f"yes={register}", "--depth", "1"]
    assert run([*command, "--report", "report.html"]) == 2
    assert names(capsys.readouterr().err, "--report", "100,000")
    assert run([*command, "--out", "model.json", "--predictions", "labeled.parquet"]) == 0
    said = capsys.readouterr().out
    assert names(said, "guide", "50,100", "100,200")
    assert names(said, "0 rows off", "total")
    labeled = pq.read_table("labeled.parquet", columns=["works_predicted"])["works_predicted"].to_pylist()
    assert labeled[100:].count("yes") == register
    assert run(["check", "model.json", "register.parquet", "--label", "works", "--total", f"yes={register}"]) == 0
    assert "The data are those of the fit." in capsys.readouterr().out
