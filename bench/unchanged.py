"""Whether a change of the code changes any tree: seeded fits by two copies of the package, compared bit by bit.

    git worktree add OTHER COMMIT
    make -C OTHER demo
    python bench/unchanged.py --before OTHER/.venv/bin/python --data FOLDER

Every fit has no solver and an hour of time, so that rounds end it and not the clock: without a guide the proof of P2
ends it, with a guide the convergence of the search. Sets whose P2 is not proved within --probe seconds are left out.
Prints a row per fit and exits with 1 if a tree, its cost or its bound differs.
"""

from __future__ import annotations

import argparse
import sys
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
from copies import two_copies

MODES = {"paper": {"guide": None}, "tie-break": {"guide_weight": 0.0}, "default": {}}
COMPARED = ("tree", "objective", "lower_bound", "xi", "proved")
PLAIN = {"solver": None, "time_limit": 3600.0, "random_state": 0}


def main() -> None:
    args = parse()
    before, after = two_copies(args.before)
    n_fits, different, ratios, counted = 0, 0, [], 0
    for path in sorted(args.data.glob("*.tsv.gz")):
        table = pd.read_csv(path, sep="\t")
        if counted == args.count or len(table) > args.rows:
            continue
        X, is_a = table.drop(columns="target").to_numpy(float), (table["target"] == table["target"].max()).to_numpy()
        y, totals = labels(path.name, is_a)
        probe = {**PLAIN, "guide": None, "time_limit": args.probe}
        if not after.fit(X, y, totals, **probe)["proved"]:
            continue
        counted += 1
        fits = {
            mode: (
                lambda copy, given=parameters, rows=X, y=y, totals=totals: copy.fit(rows, y, totals, **(PLAIN | given))
            )
            for mode, parameters in MODES.items()
        }
        # OCT-H has labeled rows alone, and ends by itself only where it is proved.
        is_labeled = np.array([label is not None for label in y])
        rows, classes = X[is_labeled], y[is_labeled]
        if len(set(classes)) > 1 and after.fit_octh(rows, classes, **(PLAIN | {"time_limit": args.probe}))["proved"]:
            fits["OCT-H"] = lambda copy, rows=rows, classes=classes: copy.fit_octh(rows, classes, **PLAIN)
        for mode, fit in fits.items():
            old, new = fit(before), fit(after)
            same = all(old[name] == new[name] for name in COMPARED)
            n_fits, different = n_fits + 1, different + (not same)
            ratios.append(new["cpu"] / old["cpu"])
            verdict = "same" if same else f"DIFFERS {[(old[name], new[name]) for name in COMPARED]}"
            name = path.name.partition(".")[0]
            print(f"{name:35s} {mode:10s} cost {new['objective']:<12.6g} {new['cpu']:6.2f} s  {verdict}", flush=True)
    print(f"{counted} sets, {n_fits} fits, {different} differ; CPU time after : before, median {np.median(ratios):.3f}")
    sys.exit(bool(different or not n_fits))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, required=True, help="the Python that has the other copy installed")
    parser.add_argument("--data", type=Path, required=True, help="folder with NAME.tsv.gz files")
    parser.add_argument("--count", type=int, default=22, help="sets to compare")
    parser.add_argument("--rows", type=int, default=1200, help="most rows of a set")
    parser.add_argument("--probe", type=float, default=4.0, help="seconds in which P2 must be proved")
    return parser.parse_args()


def labels(name: str, is_a: np.ndarray) -> tuple[np.ndarray, dict[str, int]]:
    """A tenth of the rows labeled, class A more often than its share, and the totals of the others."""
    rng = np.random.default_rng([0, zlib.crc32(name.encode())])
    odds = np.where(is_a, 0.85, 0.15)
    chosen = rng.choice(len(is_a), max(2, len(is_a) // 10), replace=False, p=odds / odds.sum())
    y = np.full(len(is_a), None, dtype=object)
    y[chosen] = np.where(is_a[chosen], "A", "B")
    unlabeled = np.array([label is None for label in y])
    n_a = int(is_a[unlabeled].sum())
    return y, {"A": n_a, "B": int(unlabeled.sum()) - n_a}


if __name__ == "__main__":
    main()
