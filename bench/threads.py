"""What a second core is worth: n_jobs=2 against n_jobs=1, and two fits in two threads against one fit.

    python bench/threads.py
    python bench/threads.py --before OTHER/bin/python

Measures four rounds of P2's search, run by joblib's threads as a fit runs them, and the default fit, in which the guide
alone uses n_jobs. Two fits in two threads take as long as one if they never wait for each other, and twice as long if
they always do. Prints seconds, the smallest of --repeats, and ratios. The machine should have two idle cores.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROWS, FEATURES, LABELED, ROUNDS = 1_000, 10, 100, 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="a Python that has another copy installed")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.here:
        print(json.dumps(measure(args.repeats)))
        return
    for name, python in {"after": sys.executable, **({"before": args.before} if args.before else {})}.items():
        own = [python, __file__, "--here", "--repeats", str(args.repeats)]
        found = json.loads(subprocess.run(own, stdout=subprocess.PIPE, text=True, check=True).stdout)
        print(f"{name}: {ROWS} rows, {FEATURES} features")
        for what, (one, two) in found.items():
            print(f"  {what:36s}{one:7.3f} s and {two:7.3f} s, ratio {two / one:.2f}")


def measure(repeats: int) -> dict[str, tuple[float, float]]:
    import numpy as np
    from joblib import Parallel, delayed

    from s2oct import S2OCTClassifier
    from s2oct.p2.instance import Instance
    from s2oct.p2.prepared import ModelSpec, prepare
    from s2oct.p2.rounds import run_round
    from s2oct.problem.problem import Problem
    from s2oct.stopping import NO_DEADLINE

    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, FEATURES))
    is_a = X[:, 0] + 0.7 * X[:, 1] - 0.5 * X[:, 2] + np.maximum(X[:, 3], 0) * X[:, 4] + rng.normal(size=ROWS) > 0.4
    y = np.where(is_a, "A", "B").astype(object)
    y[LABELED:] = None
    totals = {"A": int(is_a[LABELED:].sum())}
    instance = Instance.of(prepare(Problem.from_arrays(X, y, totals=totals), ModelSpec()), 0.0)

    def rounds(n_jobs: int) -> None:
        Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(run_round)(instance, 0, number, NO_DEADLINE, by_descents=number % 2 == 1)
            for number in range(ROUNDS)
        )

    def fit(n_jobs: int = 1) -> None:
        S2OCTClassifier(depth=3, n_jobs=n_jobs, random_state=0).fit(X, y, totals=totals)

    def fits(count: int) -> None:
        with ThreadPoolExecutor(count) as threads:
            list(threads.map(fit, [1] * count))

    ways: dict[str, Callable[[int], None]] = {
        "rounds of P2, n_jobs 1 and 2": rounds,
        "default fit, n_jobs 1 and 2": fit,
        "one default fit and two in threads": fits,
    }
    return {what: (quickest(way, 1, repeats), quickest(way, 2, repeats)) for what, way in ways.items()}


def quickest(way: Callable[[int], None], count: int, repeats: int) -> float:
    way(count)
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        way(count)
        seconds.append(time.perf_counter() - began)
    return min(seconds)


if __name__ == "__main__":
    main()
