"""Whatever is wrong with the input: exit code 2, one sentence on stderr, no traceback, and no file left behind."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from s2oct.cli.app import run
from s2oct.tables.source import Source
from tests.messages import names
from tests.output.model_files.test_model import signed

SMALL = "id,x,y,label\n1,1.0,5,a\n2,2.0,6,b\n3,3.0,7,\n4,4.0,8,\n"
FIT = ["fit", "d.csv", "--label", "label", "--total", "a=1", "--out", "o.json", "--predictions", "o.csv"]


def changed_model(model, *way, value):
    content = json.loads(model)
    place = content
    for step in way[:-1]:
        place = place[step]
    place[way[-1]] = value
    return content


# Name -> (files beside model.json and people.csv, command line, what the sentence names).
CASES = {
    "no such data file": ({}, FIT, ("'d.csv'",)),
    "a folder for a data file": ({}, ["fit", ".", "--label", "label"], ("'.'", "folder")),
    "empty file": ({"d.csv": ""}, FIT, ("empty",)),
    "blank lines only": ({"d.csv": "\n\n\n"}, FIT, ("'d.csv'", "column names")),
    "header only": ({"d.csv": "id,x,y,label\n"}, FIT, ("'d.csv'", "column names")),
    "one column": ({"d.csv": "label\na\nb\n"}, FIT, ("'label'", "feature", "column")),
    "wrong label column": (
        {"d.csv": SMALL},
        [*FIT[:3], "labels", *FIT[4:]],
        ("'labels'", "column"),
    ),
    "no label option": ({"d.csv": SMALL}, ["fit", "d.csv"], ("'--label'", "--help")),
    "label all missing": ({"d.csv": "x,label\n1,\n2,\n3,NA\n"}, FIT, ("label",)),
    "one class only": (
        {"d.csv": "x,label\n1,a\n2,a\n3,\n"},
        FIT[:4],
        ("'a'", "--total"),
    ),
    "three classes": ({"d.csv": "x,label\n1,a\n2,b\n3,c\n4,\n"}, FIT, (3, "label")),
    "labels that are no classes": ({"d.csv": "x,label\n1,0.5\n2,0.7\n3,\n"}, FIT, ("classes",)),
    "wrong encoding": (
        {"d.csv": "größe,label\n1,a\n".encode("latin-1")},
        [*FIT, "--encoding", "utf-8"],
        ("UTF-8", "encoding"),
    ),
    "wrong encoding later on": (
        {"d.csv": ("x,label\n" + "1,a\n2,b\n" * 40_000).encode() + "3,ü\n".encode("latin-1")},
        [*FIT, "--encoding", "UTF-8"],
        ("UTF-8", "'d.csv'", "--encoding latin-1"),
    ),
    "unknown encoding": ({"d.csv": SMALL}, [*FIT, "--encoding", "klingon"], ("encoding",)),
    "encoding with a zero byte": (
        {"d.csv": SMALL},
        [*FIT, "--encoding", "utf-8\0"],
        ("encoding",),
    ),
    "bytes for text": ({"d.csv": bytes(range(256)) * 4}, FIT, ("text",)),
    "zeros for text": ({"d.csv": bytes(100)}, FIT, ("'d.csv'", "zero", "bytes")),
    "text for Parquet": (
        {"d.parquet": SMALL},
        ["fit", "d.parquet", *FIT[2:]],
        ("'d.parquet'", "Parquet", "damaged"),
    ),
    "truncated gzip": (
        {"d.csv.gz": gzip.compress(SMALL.encode())[:-12]},
        ["fit", "d.csv.gz", *FIT[2:]],
        ("'d.csv.gz'", "gzip", "damaged"),
    ),
    "ragged rows": ({"d.csv": SMALL + "5,5.0,9,b,surplus\n"}, FIT, (4, "'d.csv'")),
    "duplicate columns": ({"d.csv": "x,x,label\n1,2,a\n"}, FIT, ("'d.csv'", "['x']")),
    "unnamed column": (
        {"d.csv": "x,,label\n0,1,a\n"},
        FIT,
        ("'d.csv'", "column"),
    ),
    "non-numeric feature": (
        {"d.csv": "x,y,label\n1,7,a\n2,low,b\n"},
        FIT,
        ("'y'", "'low'", 2, "--missing low", "--categorical", "--exclude y"),
    ),
    "infinite feature": (
        {"d.csv": "x,label\n1,a\ninf,b\n3,\n"},
        FIT,
        ("'x'", "finite", "column"),
    ),
    "column without any value": ({"d.csv": "x,y,label\n1,,a\n2,,b\n"}, FIT, ("'y'", "column")),
    "too many categories": (
        {"d.csv": "x,label\n" + "".join(f"name {i},a\n" for i in range(60)) + "name,b\n"},
        [*FIT, "--categorical", "x=ordinal"],
        (50, "'x'", 61),
    ),
    "unknown imputation": (
        {"d.csv": SMALL},
        [*FIT, "--impute", "mean"],
        ("median", "most-frequent", "'mean'"),
    ),
    "unknown kind of categories": ({"d.csv": SMALL}, [*FIT, "--categorical", "hash"], ("--categorical onehot",)),
    "category of no column": ({"d.csv": SMALL}, [*FIT, "--categorical", "z=onehot"], ("'z'",)),
    "order without a column": ({"d.csv": SMALL}, [*FIT, "--order", "low,high"], ("--order COLUMN=lowest",)),
    "order of no column": ({"d.csv": SMALL}, [*FIT, "--order", "z=low,high"], ("column",)),
    "order that lacks a value": (
        {"d.csv": "x,label\nlow,a\nhigh,b\n"},
        [*FIT, "--order", "x=low"],
        ("'x'", "['high']"),
    ),
    "id column not there": ({"d.csv": SMALL}, [*FIT, "--id", "key"], ("'key'", "id", "column")),
    "feature column not there": ({"d.csv": SMALL}, [*FIT, "--features", "z"], ("'z'", "feature", "column")),
    "excluded column not there": ({"d.csv": SMALL}, [*FIT, "--exclude", "z"], ("'z'", "column")),
    "label as a feature": (
        {"d.csv": SMALL},
        [*FIT, "--features", "x,label"],
        ("'label'", "feature"),
    ),
    "id as a feature": ({"d.csv": SMALL}, [*FIT, "--features", "x", "--id", "x"], ("feature", "id")),
    "everything excluded": (
        {"d.csv": SMALL},
        [*FIT, "--exclude", "id,x,y"],
        ("feature", "column"),
    ),
    "column of an earlier fit": (
        {"d.csv": "x,label,label_predicted\n1,a,a\n2,b,b\n"},
        FIT,
        ("'label_predicted'", "--exclude label_predicted"),
    ),
    "total larger than the rows": (
        {"d.csv": SMALL},
        [*FIT[:4], "--total", "a=3", *FIT[6:]],
        ("'a'", 0, 2, 3, "--total"),
    ),
    "population total below the labels": (
        {"d.csv": SMALL},
        [*FIT[:4], "--population-total", "a=0", *FIT[6:]],
        ("'a'", 1),
    ),
    "unknown class in the total": ({"d.csv": SMALL}, [*FIT[:4], "--total", "c=1", *FIT[6:]], ("'c'",)),
    "class of another case": ({"d.csv": SMALL}, [*FIT[:4], "--total", "A=1", *FIT[6:]], ("'a'",)),
    "totals that do not add up": ({"d.csv": SMALL}, [*FIT, "--total", "b=2"], (2, "total")),
    "two totals of one class": ({"d.csv": SMALL}, [*FIT, "--total", "a=2"], ("total", "class")),
    "both kinds of totals": ({"d.csv": SMALL}, [*FIT, "--population-total", "a=2"], ("--total", "--population-total")),
    "total without a number": ({"d.csv": SMALL}, [*FIT[:4], "--total", "a", *FIT[6:]], ("--total CLASS=COUNT",)),
    "negative total": (
        {"d.csv": SMALL},
        [*FIT[:4], "--total", "a=-1", *FIT[6:]],
        ("share", "interval"),
    ),
    "broken total": (
        {"d.csv": SMALL},
        [*FIT[:4], "--total", "a=0.5", *FIT[6:]],
        ("0.5", "share"),
    ),
    "share beyond 100%": (
        {"d.csv": SMALL},
        [*FIT[:4], "--total", "a=120%", *FIT[6:]],
        ("100%", "share"),
    ),
    "depth that is no number": (
        {"d.csv": SMALL},
        [*FIT, "--depth", "deep"],
        ("--depth", "auto"),
    ),
    "depth of 0": (
        {"d.csv": SMALL},
        [*FIT, "--depth", "0"],
        ("--depth", 1, 12, "'0'"),
    ),
    "features per rule in words": (
        {"d.csv": SMALL},
        [*FIT, "--max-features", "few"],
        ("--max-features", 1, "'few'"),
    ),
    "no feature per rule": (
        {"d.csv": SMALL},
        [*FIT, "--max-features", "0"],
        ("--max-features", 1, "'0'"),
    ),
    "term price in words": (
        {"d.csv": SMALL},
        [*FIT, "--term-price", "low"],
        ("--term-price", "finite"),
    ),
    "rule feature not there": (
        {"d.csv": SMALL},
        [*FIT, "--id", "id", "--rule-features", "x,z"],
        ("['x', 'y']", "'z'"),
    ),
    "rule feature that is an id": ({"d.csv": SMALL}, [*FIT, "--id", "id", "--rule-features", "id"], ("'id'",)),
    "time limit of 0": ({"d.csv": SMALL}, [*FIT, "--time-limit", "0"], ("--time-limit", "positive")),
    "time limit in words": (
        {"d.csv": SMALL},
        [*FIT, "--time-limit", "soon"],
        ("--time-limit", "'soon'"),
    ),
    "negative seed": (
        {"d.csv": SMALL},
        [*FIT, "--seed", "-1"],
        ("--seed", 0, 4294967295, "'-1'"),
    ),
    "seed that is too large": (
        {"d.csv": SMALL},
        [*FIT, "--seed", "99999999999"],
        ("--seed", 0),
    ),
    "unknown solver": (
        {"d.csv": SMALL},
        [*FIT, "--solver", "cplex"],
        ("--solver", "highs", "scip", "gurobi", "none", "'cplex'"),
    ),
    "no jobs": ({"d.csv": SMALL}, [*FIT, "--jobs", "0"], ("--jobs", 0)),
    "price of 0": ({"d.csv": SMALL}, [*FIT, "--C", "0"], ("--C", "positive")),
    "unknown guide": ({"d.csv": SMALL}, [*FIT, "--guide", "svm"], ("--guide", "'svm'")),
    "negative weight of the guide": (
        {"d.csv": SMALL},
        [*FIT, "--guide-weight", "-1"],
        ("--guide-weight", 0, "'-1'"),
    ),
    "total of a third class": (
        {"d.csv": "x,label\n1,class_1\n2,class_2\n3,\n"},
        ["fit", "d.csv", "--label", "label", "--total", "class_3=1"],
        ("'class_3'", "total", "label"),
    ),
    "unknown option": ({"d.csv": SMALL}, [*FIT, "--deep"], ("--deep",)),
    "unknown command": ({}, ["train"], ("'train'",)),
    "delimiter of two characters": (
        {"d.csv": SMALL},
        [*FIT, "--delimiter", "::"],
        ("delimiter",),
    ),
    "invalid decimal sign": ({"d.csv": SMALL}, [*FIT, "--decimal", "x"], ("decimal",)),
    "output in no folder": (
        {"d.csv": SMALL},
        [*FIT[:6], "--out", "no/o.json"],
        ("'o.json'", "folder"),
    ),
    "output that is a folder": ({"d.csv": SMALL}, [*FIT[:6], "--out", "."], ("'.'",)),
    "output over the input": (
        {"d.csv": SMALL},
        [*FIT[:6], "--predictions", "d.csv"],
        ("output", "input"),
    ),
    "one file for two outputs": (
        {"d.csv": SMALL},
        [*FIT[:6], "--out", "o", "--sql", "./o"],
        ("output",),
    ),
    "predictions of no known format": (
        {"d.csv": SMALL},
        [*FIT[:6], "--predictions", "o.xlsx"],
        ("'o.xlsx'", "parquet"),
    ),
    "no such model": (
        {},
        ["predict", "m.json", "people.csv", "--out", "o.csv"],
        ("'m.json'",),
    ),
    "truncated model": (
        {"m.json": lambda model: model[: len(model) // 2]},
        ["predict", "m.json", "people.csv", "--out", "o.csv"],
        ("JSON",),
    ),
    "tampered model": (
        {"m.json": lambda model: json.dumps(changed_model(model, "tree", "splits", 0, "offset", value=0.0))},
        ["predict", "m.json", "people.csv", "--out", "o.csv"],
        ("'m.json'", "checksum"),
    ),
    "model of a later version": (
        {"m.json": lambda model: signed(changed_model(model, "format_version", value=99))},
        ["show", "m.json"],
        ("later version",),
    ),
    "model that is a table": ({}, ["show", "people.csv"], ("'people.csv'",)),
    "model that is other JSON": ({"m.json": "{}"}, ["show", "m.json"], ("'m.json'",)),
    "unknown form": (
        {},
        ["show", "model.json", "--as", "pdf"],
        ("--as", "text", "certificate", "sql", "dot", "json", "python", "r", "onnx"),
    ),
    "unknown SQL dialect": (
        {},
        ["show", "model.json", "--as", "sql", "--dialect", "oracle"],
        ("'oracle'", "sqlite", "duckdb", "postgresql", "spark", "bigquery"),
    ),
    "unknown SQL dialect of a fit": ({"d.csv": SMALL}, [*FIT, "--dialect", "oracle"], ("'oracle'",)),
    "ONNX for a terminal": ({}, ["show", "model.json", "--as", "onnx"], ("--out", "--as onnx")),
    "new table without a feature": (
        {"new.csv": "person,region\n1,hills\n"},
        ["predict", "model.json", "new.csv", "--out", "o.csv"],
        ("'urbanity'", "['person', 'region']", "'new.csv'"),
    ),
    "new table without rows": (
        {"new.csv": lambda people: people.splitlines()[0] + "\n"},
        ["predict", "model.json", "new.csv", "--out", "o.csv"],
        ("'new.csv'", "column names"),
    ),
    "new table with an unknown category": (
        {"new.csv": lambda people: people.replace("hills", "lake")},
        ["predict", "model.json", "new.csv", "--out", "o.csv", "--strict"],
        ("'region'", "'lake'", 100, 1, "['capital', 'coast', 'hills', 'plain']", "--missing lake"),
    ),
    "new table with a word for a number": (
        {"new.csv": lambda people: "\n".join([*people.splitlines(), "9999,hills,2,far,57,14,1,0,4,"])},
        ["predict", "model.json", "new.csv", "--out", "o.csv"],
        ("'distance_km'", "'far'", 401),
    ),
    "checked with other classes": (
        {"d.csv": lambda people: people.replace(",yes", ",maybe")},
        ["check", "model.json", "d.csv", "--label", "employed", "--total", "no=100"],
        ("['no', 'yes']", "label", "class"),
    ),
    "comparison with one fold": (
        {"d.csv": SMALL},
        ["compare", "d.csv", "--label", "label", "--total", "a=1", "--folds", "1"],
        ("'--folds'",),
    ),
    "doctor for no splits": (
        {"d.csv": SMALL},
        ["doctor", "d.csv", "--label", "label", "--depth", "0"],
        ("'--depth'",),
    ),
    "doctor for a depth beyond reason": (
        {"d.csv": SMALL},
        ["doctor", "d.csv", "--label", "label", "--depth", "99999999999"],
        ("'--depth'",),
    ),
    "doctor without a label": ({"d.csv": SMALL}, ["doctor", "d.csv"], ("--label",)),
}


def write_files(folder, files):
    for name, content in files.items():
        if callable(content):
            basis = folder / ("model.json" if name.endswith(".json") else "people.csv")
            content = content(basis.read_text())
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.mark.parametrize("name", CASES)
def test_bad_input_ends_with_one_sentence_and_leaves_no_file(folder, capsys, name):
    files, arguments, named = CASES[name]
    write_files(folder, files)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert run(arguments) == 2
    printed = capsys.readouterr()
    assert names(printed.err, *named)
    assert printed.err.startswith("s2oct: ")
    assert printed.err.count("\n") == 1
    assert printed.err.rstrip()[-1] in ".?"
    assert printed.out == ""
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_there_are_at_least_30_cases():
    assert len(CASES) >= 30


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
def test_write_protected_output_is_found_before_the_fit(folder, capsys):
    (folder / "d.csv").write_text(SMALL)
    (folder / "o.json").write_text("precious")
    (folder / "o.json").chmod(0o444)
    assert run([*FIT[:6], "--out", "o.json"]) == 2
    assert names(capsys.readouterr().err, "'o.json'")


def test_output_is_found_unwritable_before_anything_is_read(folder, capsys):
    assert run(["fit", "not there.csv", "--label", "label", "--out", "no/o.json"]) == 2
    assert names(capsys.readouterr().err, "'o.json'", "folder")


def test_a_table_for_which_there_is_no_room_leaves_nothing_behind_but_the_model(folder, capsys, monkeypatch):
    from s2oct.cli import outputs

    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    (folder / "d.csv").write_text(SMALL)
    monkeypatch.setattr(outputs, "write_batches", full)
    assert run([*FIT, "--time-limit", "1", "--solver", "none"]) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert sorted(os.listdir(folder)) == ["d.csv", "model.json", "o.json", "people.csv"]


@pytest.mark.parametrize("arguments", [["fit", "not there.csv", "--label", "x"], ["fit"]], ids=str)
def test_process_ends_likewise(arguments, tmp_path):
    code = "import sys; from s2oct.cli import main; sys.argv[0] = 's2oct'; main()"
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("s2oct: ")
    assert done.stderr.count("\n") == 1


def test_dates_in_parquet_are_refused_by_name(folder, capsys):
    frame = pd.DataFrame(
        {"x": np.arange(4.0), "born": pd.date_range("2000", periods=4), "label": ["a", "b", None, None]}
    )
    frame.to_parquet("d.parquet")
    assert run(["fit", "d.parquet", "--label", "label", "--total", "a=1", "--categorical", "onehot"]) == 2
    assert names(capsys.readouterr().err, "'born'", "timestamp")


def test_damaged_parquet_is_refused(folder, capsys, people):
    people.to_parquet("d.parquet")
    whole = (folder / "d.parquet").read_bytes()
    (folder / "d.parquet").write_bytes(whole[:200] + bytes(len(whole) // 2) + whole[200 + len(whole) // 2 :])
    assert run(["predict", "model.json", "d.parquet", "--out", "o.csv"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (folder / "o.csv").exists()


@given(content=st.one_of(st.binary(max_size=200), st.text(alphabet='a1,;\n"\t .-', max_size=200).map(str.encode)))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_no_table_whatever_is_in_it_ends_in_a_traceback(folder, capsys, content):
    (folder / "d.csv").write_bytes(content)
    for command in (["predict", "model.json", "d.csv", "--out", "o.csv"], ["doctor", "d.csv", "--label", "a"]):
        code = run(command)
        printed = capsys.readouterr()
        assert (code == 0) == (printed.err == "")
        assert code == 0 or printed.err.count("\n") == 1
    assert not (folder / "o.csv").exists()


def test_an_unknown_level_is_counted_over_the_whole_file(folder, capsys, monkeypatch):
    """Batches of 50 rows: the level is in several of them, and not in the first."""
    lines = (folder / "people.csv").read_text().splitlines()
    changed = [line.replace("hills", "lake") if i > 60 else line for i, line in enumerate(lines)]
    (folder / "new.csv").write_text("\n".join(changed) + "\n")
    where = [i for i, line in enumerate(changed) if "lake" in line]
    monkeypatch.setattr(Source.batches, "__defaults__", (50,))
    assert run(["predict", "model.json", "new.csv", "--out", "o.csv", "--strict"]) == 2
    said = capsys.readouterr().err
    assert names(said, "'region'", "'lake'", len(where), where[0])
    assert not (folder / "o.csv").exists()
    assert run(["predict", "model.json", "new.csv", "--out", "o.csv"]) == 0
    said = capsys.readouterr().err
    assert names(said, "'region'", "'lake'", len(where))
    assert said.count("\n") == 1
