"""Registers: fits to a million rows in memory, and to ten million rows in a Parquet file, here or by a Dask cluster.

    python bench/registers.py million         # 1,000,000 rows in memory
    python bench/registers.py large           # 10,000,000 rows in a Parquet file, read here and by a Dask cluster
    python bench/registers.py large 2000000   # the same with fewer rows

The first compares, for several tables, the fit to all rows with two fits to few: the sample that the register draws,
and the first 50,500 rows, which shows how far fits to different rows differ. It prints seconds, memory of a process of
its own, rows off the total of all rows, whether the tree is proved best, and MCC on all unlabeled rows.

The second writes a file of 10 features into a temporary folder, which it removes, and calls the command ``s2oct fit``:
by one process, by the two worker processes of a Dask cluster on this machine, and with the usual limit of 60 s. It
prints seconds, memory, MCC on all unlabeled rows and the certificate.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scaling import CHUNK, N_LABELED, mcc, peak_memory, table

import s2oct
from s2oct import S2OCTClassifier
from s2oct.errors import S2OCTWarning
from s2oct.fit.register import PARAMS, sampled_rows

MILLION, N_TABLES = 1_000_000, 4
LONG = ("--time-limit", "3600")
ALL, SAMPLED, FIRST = FITTED = ("all rows", "its sample", "other 50,500 rows")


def million() -> None:
    """Fits to all rows, or to some of them."""
    print("| table | fitted to | seconds | CPU seconds | GiB | rows off | proved | MCC on all rows |")
    print("|---|---|---|---|---|---|---|---|")
    for seed in range(N_TABLES):
        for which in FITTED:
            command = [sys.executable, __file__, "one", str(seed), which]
            found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            print(
                f"| {seed} | {which} | {found['seconds']:.1f} | {found['cpu']:.1f} | {found['memory']:.2f} | "
                f"{found['off']:g} | "
                f"{'yes' if found['proved'] else 'no'} | {found['mcc']:.4f} |",
                flush=True,
            )


def one_of_million(seed: int, which: str) -> dict[str, float]:
    """A fit to all or some of a million rows, and what its tree is worth on all of them."""
    X, truth = table(MILLION, 10, seed)
    y = np.full(MILLION, -1, dtype=np.int8)
    y[:N_LABELED] = truth[:N_LABELED]
    fitted: Any = slice(None) if which == ALL else slice(N_LABELED + PARAMS.rows)
    if which == SAMPLED:
        fitted = sampled_rows(y >= 0, 0, PARAMS.rows)
    known = np.bincount(truth[fitted][y[fitted] < 0], minlength=2).tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", S2OCTWarning)
        S2OCTClassifier(depth=1, random_state=0).fit(X[:600, :2], y[:600], totals={1: 30, 0: 70})
        began = time.perf_counter()
        cpu = time.process_time()
        clf = S2OCTClassifier(time_limit=600, random_state=0)
        clf.fit(X[fitted], y[fitted], totals=dict(enumerate(known)))
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    memory = peak_memory()
    predicted = clf.predict(X)[N_LABELED:]
    off = abs(int(predicted.sum()) - int(truth[N_LABELED:].sum()))
    quality, is_proved = mcc(truth[N_LABELED:], predicted), clf.certificate_.proved_best
    return {"seconds": seconds, "cpu": cpu, "memory": memory, "off": off, "proved": is_proved, "mcc": quality}


def large(n_rows: int) -> None:
    """Fits to a Parquet file, in all three ways."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "register.parquet"
        write(path, n_rows)
        print(f"{n_rows:,} rows, {path.stat().st_size / 2**20:.0f} MiB", flush=True)
        print("\none process, the limit of 60 s")
        fit_file(path, n_rows)
        print("\none process, no limit to speak of")
        fit_file(path, n_rows, *LONG)
        print("\ntwo workers of a Dask cluster")
        on_cluster(path, n_rows)


def write(path: Path, n_rows: int) -> None:
    """A table whose metadata have the total, with the labeled rows at its beginning."""
    writer, total = None, 0
    for first, X, truth in chunks(n_rows):
        labels = np.where(truth, "yes", "no").astype(object)
        labels[N_LABELED if first == 0 else 0 :] = None
        total += int(truth[N_LABELED if first == 0 else 0 :].sum())
        columns = {f"x{j}": X[:, j].astype(float) for j in range(10)}
        cells = pa.table(columns | {"status": pa.array(labels.tolist(), pa.string())})
        writer = writer or pq.ParquetWriter(path, cells.schema)
        writer.write_table(cells)
    assert writer is not None
    writer.add_key_value_metadata({"yes": str(total)})
    writer.close()


def chunks(n_rows: int) -> Iterator[tuple[int, Any, Any]]:
    """The table in parts: the number of the first row, the rows, and their classes."""
    for number, first in enumerate(range(0, n_rows, CHUNK)):
        yield first, *table(min(CHUNK, n_rows - first), 10, seed=number)


def fit_file(path: Path, n_rows: int, *options: str) -> None:
    """The command ``s2oct fit`` in a process of its own."""
    total = pq.ParquetFile(path).metadata.metadata[b"yes"].decode()
    call = (
        "import resource; from s2oct.cli import main\ntry: main()\n"
        "finally: print('KiB', resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    model = path.with_suffix(".json")
    told = ["fit", str(path), "--label", "status", "--total", f"yes={total}", "--out", str(model), *options]
    began = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", call, *told], check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - began
    memory = int(done.stdout.rsplit("KiB", 1)[1]) / 2**20
    clf = s2oct.load(model)
    print(f"{seconds:.0f} s, {memory:.2f} GiB in the process of the fit, MCC {quality_of(clf, n_rows):.4f}")
    print("\n".join(clf.certificate_.sentences(clf.classes_)))
    print(np.column_stack([clf.tree_.omega, clf.tree_.gamma]), flush=True)
    model.unlink()


def quality_of(clf: Any, n_rows: int) -> float:
    """MCC on all unlabeled rows."""
    counts = np.zeros((2, 2))
    for first, X, truth in chunks(n_rows):
        known = N_LABELED if first == 0 else 0
        said = clf.predict(X[known:].astype(float)) == "yes"
        np.add.at(counts, (truth[known:].astype(int), said.astype(int)), 1.0)
    true, said = counts.sum(axis=1), counts.sum(axis=0)
    return float((counts[1, 1] * counts[0, 0] - counts[0, 1] * counts[1, 0]) / np.sqrt(np.prod(true) * np.prod(said)))


def on_cluster(path: Path, n_rows: int) -> None:
    """The same, read by two worker processes."""
    import psutil
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=None) as cluster:
        processes = [psutil.Process(worker.process.pid) for worker in cluster.workers.values()]
        fit_file(path, n_rows, "--scheduler", cluster.scheduler_address, *LONG)
        largest = [most_memory(process.pid) for process in processes]
    print("workers: " + ", ".join(f"{memory:.2f} GiB" for memory in largest))


def most_memory(pid: int) -> float:
    """The largest memory that a process on Linux has had, in GiB."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return float(found[1]) / 2**20 if found else float("nan")


def main() -> None:
    what, *rest = sys.argv[1:] or ["million"]
    told: dict[str, Any] = {
        "million": million,
        "one": lambda: print(json.dumps(one_of_million(int(rest[0]), rest[1]))),
        "large": lambda: large(int(rest[0]) if rest else 10_000_000),
    }
    told[what]()


if __name__ == "__main__":
    main()
