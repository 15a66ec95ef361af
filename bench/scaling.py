"""How the search scales with the number of unlabeled rows: a fixed number of moves, up to a million rows.

    python bench/scaling.py

Prints seconds and the largest memory of the process for each size, and the slope of log time over log rows.
"""

from __future__ import annotations

import resource
import time

import numpy as np

from s2oct.model.prepared import prepare
from s2oct.model.problem import Problem
from s2oct.model.spec import ModelSpec
from s2oct.search.annealing import Schedule, State, anneal
from s2oct.search.instance import Instance
from s2oct.search.starts import axis_start
from s2oct.stopping import NO_DEADLINE

SIZES = (1_000, 10_000, 100_000, 1_000_000)
N_LABELED, N_FEATURES, DEPTH = 500, 10, 3
SCHEDULE = Schedule(n_visits=100, moves_per_visit=60)


def main() -> None:
    print(f"{N_LABELED} labeled rows, {N_FEATURES} features, depth {DEPTH}, {100 * 60} moves")
    seconds = []
    warm_up = instance(100)
    anneal(warm_up, start(warm_up), Schedule(1), 0, NO_DEADLINE)
    for size in SIZES:
        began = time.perf_counter()
        prepared = instance(size)
        ready = time.perf_counter()
        anneal(prepared, start(prepared), SCHEDULE, 0, NO_DEADLINE)
        seconds.append(time.perf_counter() - ready)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"{size:9,d} unlabeled rows: preparation {ready - began:7.2f} s, moves {seconds[-1]:7.2f} s, "
            f"{seconds[-1] / size * 1e6:7.2f} s per million rows, {memory:.2f} GiB",
            flush=True,
        )
    slope = np.polyfit(np.log(SIZES[1:]), np.log(seconds[1:]), 1)[0]
    print(f"time grows as rows to the power {slope:.2f} from {SIZES[1]:,d} rows on")


def instance(n_unlabeled: int) -> Instance:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_LABELED + n_unlabeled, N_FEATURES)) * 10
    y = np.where(X @ rng.normal(size=N_FEATURES) > 0, "A", "B").astype(object)
    known = int((y[N_LABELED:] == "A").sum())
    y[N_LABELED:] = None
    problem = Problem.from_arrays(X, y, totals={"A": known})
    return Instance.of(prepare(problem, ModelSpec(DEPTH, scaled=False)), -1.0)


def start(prepared: Instance) -> State:
    return State.at(*axis_start(prepared, np.random.default_rng(0)))


if __name__ == "__main__":
    main()
