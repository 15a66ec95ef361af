"""How fast `s2oct predict` reads, predicts and writes a Parquet file, beside scikit-learn's tree on arrays in memory.

    python bench/predict.py

Makes a file of 10,000,000 rows and 10 features in a temporary folder (or of --rows) and predicts it by the command in a
process of its own, which starts Python and imports packages within the time. Then both trees predict the same rows as
arrays in memory. Prints rows per second, the ratio to DecisionTreeClassifier.predict of the same depth, and the largest
memory of the process that streamed the file.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
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
import resource, sys
from s2oct.cli.app import run
code = run(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, file=sys.stderr)
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
        streamed, memory = min(stream(model, data, out) for _ in range(arguments.repeat))
        X = np.ascontiguousarray(pq.read_table(data).to_pandas().to_numpy())
    rival = DecisionTreeClassifier(max_depth=DEPTH, random_state=0).fit(X[:100_000], clf.predict(X[:100_000]))
    print(f"{arguments.rows:,d} rows, {N_FEATURES} features, depth {DEPTH}, best of {arguments.repeat}")
    theirs = best(lambda: rival.predict(X), arguments.repeat)
    for what, seconds in (
        ("DecisionTreeClassifier.predict, arrays in memory", theirs),
        ("S2OCTClassifier.predict, arrays in memory", best(lambda: clf.predict(X), arguments.repeat)),
        ("ObliqueTree.predict, arrays in memory", best(lambda: clf.tree_.predict(X), arguments.repeat)),
        ("s2oct predict, from Parquet to Parquet, whole process", streamed),
    ):
        print(f"{what:54s} {seconds:7.2f} s {arguments.rows / seconds / 1e6:8.2f} million/s {theirs / seconds:6.2f} x")
    print(f"largest memory of s2oct predict: {memory / 2**30:.2f} GiB")


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


def stream(model: Path, data: Path, out: Path) -> tuple[float, int]:
    began = time.perf_counter()
    command = [sys.executable, "-c", COMMAND, "predict", str(model), str(data), "--out", str(out), "--only-ids"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return time.perf_counter() - began, int(done.stderr.split()[-1])


def best(predict: object, repeat: int) -> float:
    seconds = []
    for _ in range(repeat):
        began = time.perf_counter()
        predict()  # type: ignore[operator]
        seconds.append(time.perf_counter() - began)
    return min(seconds)


if __name__ == "__main__":
    main()
