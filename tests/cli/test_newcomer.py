"""A newcomer's run: one command makes model, predictions and SQL of a table, and all of them agree."""

from __future__ import annotations

import csv
import json
import os
import signal
import sqlite3
import subprocess
import sys
from subprocess import PIPE

import duckdb
import numpy as np
import onnxruntime
import pandas as pd
import pytest

import s2oct
from s2oct.cli.app import COMMANDS, load_command, run
from s2oct.export import read_model
from tests.cli.conftest import QUICK
from tests.messages import names
from tests.output.exports.r_reader import run_r
from tests.processes import started

N_ROWS = 100_000


@pytest.fixture(scope="module")
def strangers(people):
    """100,000 people of whom only the features are known."""
    rng = np.random.default_rng(4)
    features = people.columns.drop(["person", "employed"])
    columns = {name: rng.choice(people[name].to_numpy(), N_ROWS) for name in features}
    return pd.DataFrame({"person": [f"n{i}" for i in range(N_ROWS)], **columns})


def test_every_file_of_the_run_opens(fitted_folder, people):
    assert sorted(os.listdir(fitted_folder)) == [
        "labeled.csv",
        "model.json",
        "people.csv",
        "predict.sql",
        "report.html",
    ]
    page = (fitted_folder / "report.html").read_text()
    assert page.startswith("<!doctype html>")
    assert page.rstrip().endswith("</html>")
    assert "s2oct fit" in page
    labeled = pd.read_csv(fitted_folder / "labeled.csv", dtype={"person": str})
    assert labeled["person"].tolist() == people["person"].tolist()
    assert (labeled["employed_completed"][people["employed"].notna()] == people["employed"].dropna()).all()
    silent = labeled[people["employed"].isna().to_numpy()]
    assert (silent["employed_completed"] == silent["employed_predicted"]).all()
    assert (silent["employed_completed"] == "yes").sum() == 185
    sure = silent["employed_stability"].dropna()
    assert sure.between(0, 1).all()
    assert s2oct.load(fitted_folder / "model.json").certificate_.xi == 0


def test_cells_of_the_table_come_back_as_they_were(fitted_folder):
    with (fitted_folder / "people.csv").open() as before, (fitted_folder / "labeled.csv").open() as after:
        for old, new in zip(csv.DictReader(before), csv.DictReader(after), strict=True):
            assert {name: new[name] for name in old} == old


def test_100_000_rows_get_one_class_from_python_json_sql_onnx_and_the_command(fitted_folder, strangers, tmp_path):
    expected = s2oct.load(fitted_folder / "model.json").predict(strangers).tolist()
    assert set(expected) == {"no", "yes"}
    assert by_command(fitted_folder, strangers, tmp_path, "csv") == expected
    assert by_command(fitted_folder, strangers, tmp_path, "parquet") == expected
    query = (fitted_folder / "predict.sql").read_text()
    assert by_sqlite(strangers, query) == expected
    assert by_duckdb(strangers, shown(fitted_folder, tmp_path, "sql", "--dialect", "duckdb")) == expected
    assert by_rscript(fitted_folder, strangers, tmp_path) == expected
    assert by_module(fitted_folder, strangers, tmp_path) == expected
    assert by_onnx(fitted_folder, strangers, tmp_path) == expected


def by_command(folder, strangers, tmp_path, kind):
    data, out = tmp_path / f"new.{kind}", tmp_path / f"predicted.{kind}"
    write, read = ("to_csv", pd.read_csv) if kind == "csv" else ("to_parquet", pd.read_parquet)
    getattr(strangers, write)(data, index=False)
    assert run(["predict", str(folder / "model.json"), str(data), "--out", str(out)]) == 0
    found = read(out)
    assert found["person"].tolist() == strangers["person"].tolist()
    return found["employed_predicted"].tolist()


def by_sqlite(strangers, query):
    connection = sqlite3.connect(":memory:")
    strangers.to_sql("data", connection, index=False)
    return [row[-1] for row in connection.execute(query)]


def by_duckdb(strangers, query):
    connection = duckdb.connect(config={"threads": 1})
    connection.register("data", strangers)
    return connection.execute(query).df()["employed_predicted"].tolist()


def shown(folder, tmp_path, form, *options):
    """What ``s2oct show`` writes."""
    assert run(["show", str(folder / "model.json"), "--as", form, "--out", str(tmp_path / "shown"), *options]) == 0
    return (tmp_path / "shown").read_text()


def by_rscript(folder, strangers, tmp_path):
    strangers.to_csv(tmp_path / "strangers.csv", index=False)
    program = shown(folder, tmp_path, "r") + 'cat(predict_class(read.csv("strangers.csv")), sep = "\\n")\n'
    return run_r(program, tmp_path).split()


def by_module(folder, strangers, tmp_path):
    assert run(["show", str(folder / "model.json"), "--as", "python", "--out", str(tmp_path / "tree.py")]) == 0
    strangers.head(500).to_csv(tmp_path / "few.csv", index=False)
    command = [sys.executable, "-I", "-S", str(tmp_path / "tree.py"), str(tmp_path / "few.csv")]
    alone = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    module = {"__name__": "tree"}
    exec((tmp_path / "tree.py").read_text(), module)
    found = [module["predict"](row) for row in strangers.to_dict("records")]
    assert alone == found[:500]
    return found


def by_onnx(folder, strangers, tmp_path):
    assert run(["show", str(folder / "model.json"), "--as", "onnx", "--out", str(tmp_path / "tree.onnx")]) == 0
    session = onnxruntime.InferenceSession(str(tmp_path / "tree.onnx"), providers=["CPUExecutionProvider"])
    feed = {
        node.name: strangers[[node.name]].to_numpy(object if "string" in node.type else float)
        for node in session.get_inputs()
    }
    return session.run(["label"], feed)[0].tolist()


@pytest.mark.parametrize("form", ["text", "certificate", "sql", "dot", "json", "python", "r"])
def test_show_prints_what_it_writes(folder, capsys, form):
    assert run(["show", "model.json", "--as", form]) == 0
    printed = capsys.readouterr().out
    assert run(["show", "model.json", "--as", form, "--out", "shown"]) == 0
    assert (folder / "shown").read_text() == printed


def test_show_is_text_by_default(folder, capsys):
    assert run(["show", "model.json"]) == 0
    assert capsys.readouterr().out == read_model("model.json").estimator.rules_ + "\n"


def test_json_that_is_shown_is_the_model_file(folder, capsys):
    assert run(["show", "model.json", "--as", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads((folder / "model.json").read_text())


def test_model_that_python_saved_is_predicted_shown_and_checked(folder, people, capsys):
    X, y = people[["age", "education_years", "children"]], people["employed"]
    clf = s2oct.S2OCTClassifier(depth=2, total_price=float("inf"), random_state=0).fit(X, y, totals={"yes": 185})
    s2oct.save(clf, "saved.json")
    assert run(["predict", "saved.json", "people.csv", "--out", "out.parquet"]) == 0
    assert pd.read_parquet("out.parquet")["predicted"].tolist() == clf.predict(X).tolist()
    assert run(["check", "saved.json", "people.csv", "--label", "employed", "--total", "yes=185"]) == 0
    assert names(capsys.readouterr().out, "certificate", "hold")
    assert run(["show", "saved.json"]) == 0
    assert capsys.readouterr().out.startswith("if ")


def command(*arguments, **options):
    code = "import sys; from s2oct.cli import main; sys.argv[0] = 's2oct'; main()"
    return started([sys.executable, "-c", code, *arguments], stdout=PIPE, stderr=PIPE, **options)


def test_command_as_a_process_says_what_it_did(folder):
    chosen = ["--label", "employed", "--total", "yes=185", "--id", "person", "--exclude", "region", *QUICK]
    with command("fit", "people.csv", *chosen) as fit:
        out, err = fit.communicate()
    assert fit.returncode == 0
    assert names(err, "s2oct: warning: ", "'no'", 5, 10, "--label")
    assert err.count("\n") == 1
    first, _ = out.split("\n\ncolumn ", 1)
    assert names(first, "40 label", "360 unlabel", "no: 175", "yes: 185")
    assert "\nregion           left out  not used\n" in out
    assert "\n\nif " in out
    assert names(out, 0, 40, "label")
    assert names(out, "total", "0 rows off")
    assert "\nP2 cost 0 = " in out


def test_ctrl_c_keeps_the_best_tree_and_writes_every_file(folder, people):
    rng = np.random.default_rng(0)
    hard = pd.DataFrame(rng.normal(size=(300, 3)), columns=["a", "b", "c"])
    hard["label"] = [*rng.choice(["x", "y"], 150).tolist(), *[None] * 150]
    hard.to_csv("hard.csv", index=False)
    chosen = ["--label", "label", "--total", "x=75", "--time-limit", "300", "--solver", "none", "--guide", "none"]
    files = ["--out", "hard.json", "--predictions", "hard.parquet"]
    with command("fit", "hard.csv", *chosen, *files, env={**os.environ, "FORCE_COLOR": "1"}) as fit:
        shown = ""
        # The first cost that is shown may be that of a tree without splits, which is not worth keeping.
        while shown.count("best cost") < 4 and fit.poll() is None:
            shown += fit.stderr.read(1)
        fit.send_signal(signal.SIGINT)
        out, err = fit.communicate()
    assert fit.returncode == 0, err
    assert names(err, "s2oct: warning: ", "interrupt")
    assert s2oct.load("hard.json").certificate_.feasible
    assert len(pd.read_parquet("hard.parquet")) == 300
    assert "wrote hard.json" in out


def test_files_that_were_there_are_replaced_only_by_complete_ones(folder):
    (folder / "old.json").write_text("old")
    assert run(["fit", "people.csv", "--label", "employed", "--total", "yes=999", "--out", "old.json", *QUICK]) == 2
    assert (folder / "old.json").read_text() == "old"
    assert sorted(os.listdir(folder)) == ["model.json", "old.json", "people.csv"]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_all_commands_says_what_each_says_itself(name):
    assert " ".join(load_command(name).help.split("\n\n")[0].split()) == COMMANDS[name]


def test_help_imports_nothing_that_takes_long():
    code = (
        "import sys\nfrom s2oct.cli.app import COMMANDS, load_command, run\nassert run(['--help']) == 0\n"
        "print(*{'numpy', 'sklearn', 'pandas', 'pyarrow'}.intersection(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert all(name in done.stdout for name in COMMANDS)
    assert done.stdout.splitlines()[-1] == ""


def test_a_package_that_a_command_lacks_is_named_with_the_command_that_installs_it():
    code = (
        "import sys; sys.modules['pyarrow'] = None\nfrom s2oct.cli import main\n"
        "sys.argv = ['s2oct', 'predict', 'model.json', 'rows.csv']; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert names(done.stderr, "s2oct: ", "s2oct predict", "pip install pyarrow")
    assert done.stderr.count("\n") == 1
