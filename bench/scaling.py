"""How fits scale with rows, features and depth: the default fit, and the search of P2.

    python bench/scaling.py rows             # 1,000 to 10,000,000 rows, 10 features
    python bench/scaling.py features         # 10 to 1,000 features, 200,000 rows
    python bench/scaling.py depth            # depth 1 to 6, 1,000,000 rows
    python bench/scaling.py moves            # a fixed number of moves of P2's search, up to a million rows

Each fit runs in a process of its own, so that its memory is its own: the largest of the process, with the data and the
packages in it. Data are floats of 32 bits with 500 labeled rows; the class depends on five of the features, one of them
in a product, and on noise. Prints a table, and the exponent of time over the last three sizes.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np

from s2oct import S2OCTClassifier
from s2oct.errors import S2OCTWarning
from s2oct.p2.instance import Instance
from s2oct.p2.prepared import ModelSpec, prepare
from s2oct.p2.rounds import Schedule, anneal, axis_start
from s2oct.problem.problem import Problem
from s2oct.stopping import NO_DEADLINE

ROWS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
FEATURES = (10, 30, 100, 300, 1_000)
DEPTHS = (1, 2, 3, 4, 5, 6)
SWEEPS = {
    "rows": [(rows, 10, 3) for rows in ROWS],
    "features": [(200_000, features, 3) for features in FEATURES],
    "depth": [(1_000_000, 10, depth) for depth in DEPTHS],
}
N_LABELED, CHUNK = 500, 250_000

SIZES = ROWS[:-1]
SCHEDULE = Schedule(n_visits=100, moves_per_visit=60)


def table(n_rows: int, n_features: int, seed: int = 0) -> tuple[Any, Any]:
    """Rows as floats of 32 bits, and whether each is of class 1."""
    rng = np.random.default_rng(seed)
    X, truth = np.empty((n_rows, n_features), dtype=np.float32), np.empty(n_rows, dtype=np.int8)
    for first in range(0, n_rows, CHUNK):
        part = rng.standard_normal((min(CHUNK, n_rows - first), n_features), dtype=np.float32)
        score = part[:, 0] + 0.7 * part[:, 1] - 0.5 * part[:, 2] + 0.8 * np.maximum(part[:, 3], 0) * part[:, 4]
        X[first : first + CHUNK] = part
        truth[first : first + CHUNK] = score + 0.5 * rng.standard_normal(len(part)) > 0.4
    return X, truth


def mcc(truth: Any, predicted: Any) -> float:
    """Matthews' correlation, without an array for each row."""
    true, said = (np.asarray(part).astype(bool) for part in (truth, predicted))
    both, n = float((true & said).sum()), float(len(true))
    a, b = float(true.sum()), float(said.sum())
    spread = a * (n - a) * b * (n - b)
    return (n * both - a * b) / spread**0.5 if spread else 0.0


def one_fit(n_rows: int, n_features: int, depth: int) -> dict[str, Any]:
    """The default fit to a table of this size."""
    X, truth = table(n_rows, n_features)
    y = np.full(n_rows, -1, dtype=np.int8)
    y[:N_LABELED] = truth[:N_LABELED]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", S2OCTWarning)
        few = slice(0, 600)
        # What a first fit imports counts neither as time nor as memory.
        S2OCTClassifier(depth=1, random_state=0).fit(X[few, :2], y[few], totals={1: 30})
        before = peak_memory()
        began = time.perf_counter()
        clf = S2OCTClassifier(depth=depth, random_state=0).fit(
            X, y, totals={1: int(truth[N_LABELED:].sum()), 0: int((truth[N_LABELED:] == 0).sum())}
        )
        seconds = time.perf_counter() - began
    found = clf.certificate_
    return {
        "seconds": seconds,
        "memory": peak_memory(),
        "before": before,
        "off": found.xi,
        "ended": found.ended,
        "mcc": mcc(truth[N_LABELED:], clf.transduction_[N_LABELED:]),
        "splits": found.n_splits,
        "terms": found.n_terms,
    }


def peak_memory() -> float:
    """The largest memory of this process so far, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def apart(*arguments: Any) -> dict[str, Any]:
    """A fit in a process of its own."""
    command = [sys.executable, __file__, "one", *map(str, arguments)]
    return dict(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def sweep(name: str) -> None:
    """Fits along one of the three sizes."""
    print(
        "| rows | features | depth | seconds | GiB in all | before the fit | rows off | MCC | splits | terms | ended |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    seconds = []
    for rows, features, depth in SWEEPS[name]:
        found = apart(rows, features, depth)
        seconds.append(found["seconds"])
        print(
            f"| {rows:,d} | {features:,d} | {depth} | {found['seconds']:.1f} | {found['memory']:.2f} | "
            f"{found['before']:.2f} | {found['off']:g} | {found['mcc']:.3f} | {found['splits']} | {found['terms']} | "
            f"{found['ended']} |",
            flush=True,
        )
    sizes = [dict(zip(("rows", "features", "depth"), point, strict=True))[name] for point in SWEEPS[name]]
    slope = np.polyfit(np.log(sizes[-3:]), np.log(seconds[-3:]), 1)[0]
    print(f"\ntime grows as {name} to the power {slope:.2f} over the last three sizes")


def moves() -> None:
    """P2's search, a fixed number of moves."""
    print(f"{N_LABELED} labeled rows, 10 features, depth 3, {100 * 60} moves")
    seconds = []
    for size in SIZES:
        began = time.perf_counter()
        prepared = instance(size)
        ready = time.perf_counter()
        anneal(prepared, axis_start(prepared, np.random.default_rng(0)), SCHEDULE, 0, NO_DEADLINE)
        seconds.append(time.perf_counter() - ready)
        print(
            f"{size:9,d} unlabeled rows: preparation {ready - began:7.2f} s, moves {seconds[-1]:7.2f} s, "
            f"{seconds[-1] / size * 1e6:7.2f} s per million rows, {peak_memory():.2f} GiB",
            flush=True,
        )
    slope = np.polyfit(np.log(SIZES[1:]), np.log(seconds[1:]), 1)[0]
    print(f"time grows as rows to the power {slope:.2f} from {SIZES[1]:,d} rows on")


def instance(n_unlabeled: int) -> Instance:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_LABELED + n_unlabeled, 10)) * 10
    y = np.where(X @ rng.normal(size=10) > 0, "A", "B").astype(object)
    known = int((y[N_LABELED:] == "A").sum())
    y[N_LABELED:] = None
    problem = Problem.from_arrays(X, y, totals={"A": known})
    return Instance.of(prepare(problem, ModelSpec(3, scaled=False)), -1.0)


def main() -> None:
    what, *numbers = sys.argv[1:] or ["rows"]
    if what == "one":
        print(json.dumps(one_fit(*map(int, numbers))))
    elif what == "moves":
        moves()
    else:
        sweep(what)


if __name__ == "__main__":
    main()
