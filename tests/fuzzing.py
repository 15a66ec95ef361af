"""Mutated inputs for the command line and for Python: tables, options, totals, model files and arrays.

`command_line(rng)` and `call(rng)` make one input each from a random generator. Whatever they make, a run ends with 0,
with 1 (only `check`) or with 2 and a sentence; a call of Python ends with a tree or with an error of this package.
"""

from __future__ import annotations

import contextlib
import io
import json
import numbers
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from s2oct import OCTHClassifier, S2OCTClassifier, load
from s2oct.cli.app import run
from s2oct.errors import S2OCTError, S2OCTWarning
from s2oct.wording import brief

QUICK = ["--time-limit", "0.2", "--solver", "none", "--guide", "none", "--depth", "1"]
CELLS = (
    *("1", "2", "3.5", "-4", "1,5", "1.234,5", "a", "b", "low", "", "NA", "ü", "2020-01-31", "12:30", "TRUE", "inf"),
    *("nan", "1e999", "9" * 400, "=1+1", "@x", '"', "'", ";", "\t", "\r", "\0", "other", "\u202e", "0x10", "+", " "),
)
NAMES = ("x", "y", "label", "id", "weight", "größe", "", " ", "label_predicted", "a=b", "x" * 300, '"', "select", "x")
CHARSETS = ("utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16", "utf-16-le", "utf-32", "cp437", "shift_jis")
OPTION_VALUES = (
    *("0", "1", "2", "-1", "3", "auto", "none", "nan", "inf", "1e999", "9" * 5000, "x", "", "=", "a=1", "b=50%"),
    *("a=-1", "a=1e9", "label", "x", "y", "x=onehot", "y=ordinal", "x=a,b", "onehot", "ordinal", "median", ",", ";"),
    *("utf-8", "latin-1", "utf-16", "klingon", "\0", "ü", "\ud800"),
)
OPTIONS = (
    *("--totals", "--population-totals", "--by", "--shares", "--weight", "--keep-by"),
    *("--label", "--total", "--population-total", "--id", "--features", "--exclude", "--categorical", "--order"),
    *("--impute", "--delimiter", "--encoding", "--decimal", "--missing", "--depth", "--C", "--time-limit", "--seed"),
    *("--jobs", "--guide-weight", "--max-features", "--term-price", "--rule-features", "--strict", "--keep-formulas"),
)
FLAGS = ("--strict", "--keep-formulas", "--shares", "--keep-by")


def command_line(rng: np.random.Generator, folder: Path) -> list[str]:
    """Write a mutated table and, for some commands, a mutated model; returns the command line that reads them."""
    table = write_table(rng, folder)
    command = rng.choice(["fit", "fit", "fit", "predict", "check", "explain", "show", "doctor"])
    if command in ("fit", "doctor"):
        asked = ["--label", "label", *(["--total", "a=2"] if rng.random() < 0.8 else [])]
        out = ["--out", "m.json", "--predictions", "p.csv", "--sql", "q.sql"] if command == "fit" else []
        quick = QUICK if command == "fit" else []
        return [str(command), table, *asked, *some_options(rng), *out, *quick]
    model = write_model(rng, folder)
    if command == "show":
        return ["show", model, "--as", str(rng.choice(["text", "sql", "python", "dot", "json", "certificate", "pdf"]))]
    if command == "explain":
        return ["explain", model, table, "--row", str(rng.integers(0, 9))]
    if command == "check":
        return ["check", model, table, "--label", "label", "--total", "a=2"]
    return ["predict", model, table, "--out", "p.csv"]


def some_options(rng: np.random.Generator) -> list[str]:
    """A few options with values that belong to them or to others."""
    given: list[str] = []
    for _ in range(rng.choice([0, 0, 1, 1, 2, 3])):
        option = str(rng.choice(OPTIONS))
        # numpy would drop the NUL at the end of a text.
        given += [option] if option in FLAGS else [option, OPTION_VALUES[rng.integers(len(OPTION_VALUES))]]
    return given


def write_table(rng: np.random.Generator, folder: Path) -> str:
    """A table of a few rows with mutated cells, names, bytes and format."""
    n_rows, names = int(rng.integers(1, 14)), ["x", "y", "label"]
    columns = {
        "x": [f"{value:.3g}" for value in rng.normal(size=n_rows)],
        "y": [str(value) for value in rng.integers(0, 4, n_rows)],
        "label": [str(value) for value in rng.choice(["a", "b", "", ""], n_rows)],
    }
    for _ in range(rng.choice([0, 0, 1, 2, 5])):
        cells = columns[str(rng.choice(names))]
        cells[rng.integers(n_rows)] = CELLS[rng.integers(len(CELLS))]
    if rng.random() < 0.2:
        odd = CELLS[rng.integers(len(CELLS))]
        columns["y"] = [odd] * n_rows
    if rng.random() < 0.2:
        names[rng.integers(3)] = NAMES[rng.integers(len(NAMES))]
    if rng.random() < 0.15:
        return _write_parquet(rng, folder, dict(zip(names, columns.values(), strict=True)))
    delimiter = str(rng.choice([",", ",", ";", "\t", "|"]))
    end = str(rng.choice(["\n", "\n", "\r\n", "\r"]))
    rows = [delimiter.join(names), *(delimiter.join(row) for row in zip(*columns.values(), strict=True))]
    content = (end.join(rows) + end).encode(str(rng.choice(CHARSETS)), "replace")
    (folder / "d.csv").write_bytes(_mutated(rng, content))
    return "d.csv"


def _write_parquet(rng: np.random.Generator, folder: Path, columns: dict[str, list[str]]) -> str:
    n_rows = len(next(iter(columns.values())))
    kinds: list[Any] = [
        pa.array(columns[next(iter(columns))]),
        pa.array(range(n_rows), pa.timestamp("us")),
        pa.array([b"x"] * n_rows),
        pa.array([[1]] * n_rows),
        pa.array([True] * n_rows),
        pa.array([2**63 + i for i in range(n_rows)], pa.uint64()),
        pa.array([None] * n_rows),
        pa.array([1.5] * n_rows).cast(pa.decimal128(5, 2)),
        pa.array(["u"] * n_rows).dictionary_encode(),
        pa.array(rng.normal(size=n_rows)),
        pa.array([float("inf")] * n_rows),
    ]
    arrays = {name: pa.array(cells) for name, cells in columns.items()}
    arrays[str(rng.choice(list(arrays)))] = kinds[rng.integers(len(kinds))]
    pq.write_table(pa.table(arrays), folder / "d.parquet")
    content = (folder / "d.parquet").read_bytes()
    (folder / "d.parquet").write_bytes(_mutated(rng, content) if rng.random() < 0.3 else content)
    return "d.parquet"


def _mutated(rng: np.random.Generator, content: bytes) -> bytes:
    """Bytes of which, now and then, some are replaced, left out or repeated."""
    if rng.random() < 0.7 or not content:
        return content
    first, last = sorted(rng.integers(0, len(content), 2).tolist())
    other = [rng.bytes(last - first), b"", content[first:last] * 2][rng.integers(3)]
    return content[:first] + other + content[last:]


def write_model(rng: np.random.Generator, folder: Path) -> str:
    """A mutation of the model file that is in the folder, with a right checksum half of the time."""
    from tests.output.model_files.test_model import signed

    text = (folder / "good.json").read_text()
    if rng.random() < 0.3:
        (folder / "bad.json").write_bytes(_mutated(rng, text.encode()))
        return "bad.json"
    content = json.loads(text)
    for _ in range(rng.choice([0, 1, 1, 2])):
        _change(rng, content)
    (folder / "bad.json").write_text(signed(content) if rng.random() < 0.7 else json.dumps(content))
    return "bad.json"


def _change(rng: np.random.Generator, place: Any) -> None:
    """Replace or delete something, anywhere in nested dicts and lists."""
    while True:
        keys: list[Any] = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = keys[rng.integers(len(keys))]
        if isinstance(place[key], (dict, list)) and place[key] and rng.random() < 0.8:
            place = place[key]
            continue
        values = [None, True, 0, -1, 1e308, 10**400, "", "x", "\0", [], {}, [1], ["x"], {"x": 1}, "inf", 2**63]
        if rng.random() < 0.2:
            del place[key]
        else:
            place[key] = values[rng.integers(len(values))]
        return


def failure_of_command(rng: np.random.Generator, folder: Path) -> str | None:
    """Run one mutated command line in a folder; returns what is wrong with how it ended, or None."""
    arguments = command_line(rng, folder)
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", S2OCTWarning)
            code = run(arguments)
    except (Exception, SystemExit) as error:
        return f"{arguments}: {type(error).__name__}: {error}"
    said = err.getvalue()
    if code not in (0, 2) and not (code == 1 and arguments[0] == "check"):
        return f"{arguments}: exit code {code}"
    if code == 2 and not (said.startswith("s2oct: ") and "Traceback" not in said):
        return f"{arguments}: no sentence, but {said!r}"
    return None


VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 0.5, -0.5, float("nan"), float("inf"), 10**400, -(10**400), 10**5000, 2**63),
    *("x", "auto", "", b"x", [], [0], ["age"], {}, {"a": 1}, (1,), np.int64(1), np.float64(0.5), object, 1j, "\0"),
)
PARAMETERS = (
    *("depth", "C", "guide", "guide_weight", "max_features_per_split", "term_price", "features", "coefficient_bound"),
    *("scaling", "solver", "time_limit", "n_jobs", "random_state", "verbose"),
)


def failure_of_call(rng: np.random.Generator) -> str | None:
    """Fit and predict with mutated arguments in Python; returns what is wrong with how it ended, or None."""
    parameters: dict[str, Any] = {"depth": 1, "guide": None, "solver": None, "time_limit": 0.2, "random_state": 0}
    for _ in range(rng.choice([0, 1, 1, 2])):
        parameters[str(rng.choice(PARAMETERS))] = VALUES[rng.integers(len(VALUES))]
    limit = parameters["time_limit"]
    if isinstance(limit, numbers.Real) and limit > 0:
        parameters["time_limit"] = 0.2  # an infinite limit is allowed, and a fit without an end is no failure
    X, y, totals = _features(rng), _labels(rng), _totals(rng)
    is_octh = rng.random() < 0.2
    known = OCTHClassifier().get_params() if is_octh else parameters
    given = {name: value for name, value in parameters.items() if name in known}
    try:
        with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("error", RuntimeWarning)
            warnings.simplefilter("ignore", S2OCTWarning)
            if is_octh:
                OCTHClassifier(**given).fit(X, y).predict(X)
            else:
                S2OCTClassifier(**given).fit(X, y, **totals).predict(X)
    except S2OCTError:
        return None
    except (Exception, SystemExit) as error:
        given_too = ", ".join(brief(value, 200) for value in (given, X, y, totals))
        return f"{given_too}: {type(error).__name__}: {str(error)[:300]}"
    return None


def _features(rng: np.random.Generator) -> Any:
    n_rows = int(rng.choice([0, 1, 6, 6, 6, 6, 7]))
    rows = rng.normal(size=(n_rows, int(rng.choice([0, 1, 2, 2, 2])))) * float(rng.choice([1, 1, 1, 1e-300, 1e300]))
    listed: list[list[Any]] = rows.tolist()
    if rng.random() < 0.4 and rows.size:
        listed[rng.integers(n_rows)][0] = VALUES[rng.integers(len(VALUES))]
        if rng.random() < 0.5:
            return listed
        with contextlib.suppress(Exception):
            return np.array(listed, dtype=object)
        return listed
    names = ["age", "age" if rng.random() < 0.1 else "size"][: rows.shape[1]]
    kinds: list[Any] = [
        rows,
        rows,
        rows.tolist(),
        pd.DataFrame(rows, columns=names),
        np.ma.masked_greater(rows, 1.0),
        rows.astype("datetime64[s]") if abs(rows).max(initial=0) < 10 else rows,
        rows.astype(np.float32) if abs(rows).max(initial=0) < 10 else rows,
        rows[:, 0] if rows.shape[1] else rows,
        rows[None],
        VALUES[rng.integers(len(VALUES))],
        pl.DataFrame({name: rows[:, j] for j, name in enumerate(dict.fromkeys(names))}),
        pd.DataFrame(rows, columns=names).assign(at=pd.Timestamp("2020-01-01")),
        pd.DataFrame(rows, columns=names).assign(kind="u"),
    ]
    return kinds[rng.integers(len(kinds))]


def _labels(rng: np.random.Generator) -> Any:
    usual: list[Any] = ["a", "b", "a", None, None, None]
    if rng.random() < 0.5:
        usual[rng.integers(6)] = VALUES[rng.integers(len(VALUES))]
    numbers = [0, 1, 0, *rng.choice([np.nan, -1, 1], 3).tolist()]
    kinds = [usual, usual, usual, numbers, pd.Series(usual, dtype=object), np.array(numbers), usual[:-1], *VALUES[:3]]
    return kinds[rng.integers(len(kinds))]


def _totals(rng: np.random.Generator) -> dict[str, Any]:
    if rng.random() < 0.2:
        return {}
    totals: Any = {"a": int(rng.integers(0, 4))}
    if rng.random() < 0.3:
        totals = {1: 1}
    if rng.random() < 0.3:
        totals["a"] = VALUES[rng.integers(len(VALUES))]
    if rng.random() < 0.1:
        totals["ghost"] = 1
    if rng.random() < 0.1:
        totals = VALUES[rng.integers(len(VALUES))]
    return {str(rng.choice(["totals", "totals", "population_totals"])): totals}


def failure_of_loading(rng: np.random.Generator, folder: Path) -> str | None:
    """Load a mutated model file in Python; returns what is wrong with how it ended, or None."""
    name = write_model(rng, folder)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            load(folder / name)
    except S2OCTError:
        return None
    except (Exception, SystemExit) as error:
        return f"{(folder / name).read_text()[:300]}: {type(error).__name__}: {error}"
    return None


def write_good_model(folder: Path) -> None:
    """Write the model file that `write_model` mutates."""
    rows = [f"{i},{i % 3},{'a' if i < 3 else 'b' if i < 6 else ''}" for i in range(12)]
    (folder / "good.csv").write_text("\n".join(["x,y,label", *rows, ""]))
    data, out = str(folder / "good.csv"), str(folder / "good.json")
    assert run(["fit", data, "--label", "label", "--total", "a=2", "--out", out, *QUICK]) == 0
