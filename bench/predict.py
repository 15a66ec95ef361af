"""How fast `s2oct predict` reads, predicts and writes a Parquet file, beside scikit-learn's tree on arrays in memory.

    python bench/predict.py

Makes a file of 10,000,000 rows and 10 features in a temporary folder (or of --rows) and predicts it by the command in a
process of its own; the time from the command's start to its end counts, that of starting Python and importing packages
is told apart. In turn with it, both trees predict the same rows as arrays in memory. Prints rows per second, the ratio
to DecisionTreeClassifier.predict of the same depth, and the largest memory of the process that streamed the file.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.tree import DecisionTreeClassifier

import s2oct
from s2oct import S2OCTClassifier

N_FEATURES, DEPTH, GROUP = 10, 3, 1_000_000
NAMES = [f"x{j}" for j in range(N_FEATURES)]
COMMAND = """
import re, sys, time
from pathlib import Path
from s2oct.cli.app import run
began = time.perf_counter()
code = run(sys.argv[1:])
seconds = time.perf_counter() - began
# Not ru_maxrss, which a process inherits from the one that started it.
peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text()).group(1))
print(seconds, peak * 1024, file=sys.stderr)
sys.exit(code)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeat", type=int, default=3, help="measurements of which the best counts")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data, model, out = (Path(folder) / name for name in ("data.parquet", "model.json", "predicted.parquet"))
        write_rows(data, arguments.rows)
        clf = fitted()
        s2oct.save(clf, model)
        X = np.ascontiguousarray(pq.read_table(data).to_pandas().to_numpy())
        rival = DecisionTreeClassifier(max_depth=DEPTH, random_state=0).fit(X[:100_000], clf.predict(X[:100_000]))
        ways = {
            "DecisionTreeClassifier.predict, arrays in memory": lambda: timed(lambda: rival.predict(X)),
            "S2OCTClassifier.predict, arrays in memory": lambda: timed(lambda: clf.predict(X)),
            "ObliqueTree.predict, arrays in memory": lambda: timed(lambda: clf.tree_.predict(X)),
            "s2oct predict, from Parquet to Parquet": lambda: stream(model, data, out),
        }
        runs = [{name: way() for name, way in ways.items()} for _ in range(arguments.repeat)]
    print(f"{arguments.rows:,d} rows, {N_FEATURES} features, depth {DEPTH}, best of {arguments.repeat}")
    best = {name: min(run[name] for run in runs) for name in ways}
    theirs = next(iter(best.values())).seconds
    for name, run in best.items():
        rate = arguments.rows / run.seconds / 1e6
        print(f"{name:50s} {run.seconds:7.2f} s {rate:8.2f} million rows/s {theirs / run.seconds:6.2f} x")
    print(f"starting the command: {run.start:.2f} s; largest memory of its process: {run.memory / 2**30:.2f} GiB")


def write_rows(path: Path, n_rows: int) -> None:
    rng = np.random.default_rng(0)
    schema = pa.schema([(name, pa.float64()) for name in NAMES])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, n_rows, GROUP):
            X = rng.normal(size=(N_FEATURES, min(GROUP, n_rows - start)))
            writer.write_table(pa.table(dict(zip(NAMES, X, strict=True)), schema=schema))


def fitted() -> S2OCTClassifier:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, N_FEATURES))
    y = np.where(X[:, 0] * X[:, 1] + X[:, 2] > 0.2, "yes", "no").astype(object)
    known = int((y[100:] == "yes").sum())
    y[100:] = None
    clf = S2OCTClassifier(depth=DEPTH, solver=None, time_limit=5.0, random_state=0)
    return clf.fit(X, y, totals={"yes": known})


@dataclass(order=True)
class Run:
    """Seconds of the work itself and, of a process, of getting there, and its memory in bytes."""

    seconds: float
    start: float = 0.0
    memory: int = 0


def stream(model: Path, data: Path, out: Path) -> Run:
    began = time.perf_counter()
    command = [sys.executable, "-c", COMMAND, "predict", str(model), str(data), "--out", str(out), "--only-ids"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    whole = time.perf_counter() - began
    seconds, memory = done.stderr.split()
    return Run(float(seconds), whole - float(seconds), int(memory))


def timed(predict: Callable[[], object]) -> Run:
    began = time.perf_counter()
    predict()
    return Run(time.perf_counter() - began)


if __name__ == "__main__":
    main()
