"""Whether a change of the code changes any tree: the same seeded fits by two copies of the source, compared bit by bit.

    git worktree add /tmp/before COMMIT
    python bench/unchanged.py --before /tmp/before/src --data FOLDER

Every fit has no solver and an hour of time, so that rounds end it and not the clock: without a guide the proof of P2
ends it, with a guide the convergence of the search. Sets whose P2 is not proved within
--probe seconds are left out.
Prints a row per fit and exits with 1 if a tree, its cost or its bound differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
import warnings
import zlib
from pathlib import Path

import numpy as np
import pandas as pd

MODES = {"paper": {"guide": None}, "tie-break": {"guide_weight": 0.0}, "default": {}}
HOUR = 3600.0
HERE = Path(__file__).resolve()


def main() -> None:
    args = parse()
    if args.work is not None:
        work(args)
        return
    sources = {"before": args.before, "after": HERE.parent.parent / "src"}
    found = {name: fits(args, source, name) for name, source in sources.items()}
    compared = [key for key in found["before"] if key in found["after"]]
    different = [key for key in compared if found["before"][key]["same"] != found["after"][key]["same"]]
    for key in different:
        print(f"differs: {key}\n  before {found['before'][key]['same']}\n  after  {found['after'][key]['same']}")
    ratios = [found["after"][key]["seconds"] / found["before"][key]["seconds"] for key in compared]
    print(f"{len(compared)} fits compared, {len(different)} differ; seconds after : before {np.median(ratios):.3f}")
    missing = set(found["before"]) ^ set(found["after"])
    if missing:
        print(f"only in one of them: {sorted(missing)}")
    sys.exit(bool(different or missing or not compared))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="the folder src of the other copy")
    parser.add_argument(
        "--data", type=Path, required=True, help="folder with NAME.tsv.gz; the class is the column target"
    )
    parser.add_argument("--sets", nargs="*", help="names; by default all files of at most --rows rows, in their order")
    parser.add_argument("--count", type=int, default=20, help="sets to compare")
    parser.add_argument("--rows", type=int, default=1200)
    parser.add_argument("--draws", type=int, nargs="*", default=[0])
    parser.add_argument("--probe", type=float, default=4.0, help="seconds in which P2 must be proved")
    parser.add_argument("--keep", type=Path, help="folder in which results of a copy are kept and found again")
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def fits(args: argparse.Namespace, source: Path, name: str) -> dict[str, dict[str, object]]:
    """The fits of one copy, by a process that imports it."""
    out = (args.keep or Path(os.environ.get("TMPDIR", "/tmp"))) / f"unchanged-{name}.json"
    if args.keep is None or not out.exists():
        command = [sys.executable, str(HERE), *sys.argv[1:], "--work", str(out)]
        subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": str(source)})
    return json.loads(out.read_text())


def work(args: argparse.Namespace) -> None:
    from s2oct import S2OCTClassifier

    warnings.simplefilter("ignore")
    found: dict[str, dict[str, object]] = {}
    counted = 0
    for path in [args.data / f"{name}.tsv.gz" for name in args.sets] if args.sets else sorted(args.data.glob("*.gz")):
        table = pd.read_csv(path, sep="\t")
        if counted == args.count or len(table) > args.rows:
            continue
        X, is_a = table.drop(columns="target").to_numpy(float), (table["target"] == table["target"].max()).to_numpy()
        of_set = {}
        for draw in args.draws:
            y, total = labels(path.name, is_a, draw)
            probe = S2OCTClassifier(guide=None, solver=None, time_limit=args.probe, random_state=draw)
            if not probe.fit(X, y, totals=total).certificate_.proved:
                break
            for mode, parameters in MODES.items():
                clf = S2OCTClassifier(solver=None, time_limit=HOUR, random_state=draw, **parameters)
                began = time.monotonic()
                clf.fit(X, y, totals=total)
                seconds = time.monotonic() - began
                of_set[f"{path.name.partition('.')[0]} {draw} {mode}"] = {"same": facts(clf), "seconds": seconds}
        else:
            counted += 1
            found |= of_set
            for key, fit in of_set.items():
                print(f"{key:45s} {fit['same']}  {fit['seconds']:.2f} s", flush=True)
    args.work.write_text(json.dumps(found))


def labels(name: str, is_a: np.ndarray, draw: int) -> tuple[np.ndarray, dict[str, int]]:
    """A tenth of the rows labeled, class A more often than its share, and the total of the others."""
    rng = np.random.default_rng([draw, zlib.crc32(name.encode())])
    odds = np.where(is_a, 0.85, 0.15)
    chosen = rng.choice(len(is_a), max(2, len(is_a) // 10), replace=False, p=odds / odds.sum())
    y = np.full(len(is_a), None, dtype=object)
    y[chosen] = np.where(is_a[chosen], "A", "B")
    unlabeled = np.array([label is None for label in y])
    n_a = int(is_a[unlabeled].sum())
    return y, {"A": n_a, "B": int(unlabeled.sum()) - n_a}


def facts(clf: object) -> list[object]:
    """What must not change: every bit of the tree, its cost and its bound."""
    tree, certificate = clf.tree_, clf.certificate_
    bits = hashlib.sha256(tree.omega.tobytes() + tree.gamma.tobytes() + tree.leaf_classes.tobytes()).hexdigest()[:16]
    return [bits, certificate.objective, certificate.lower_bound, certificate.xi, bool(certificate.proved)]


if __name__ == "__main__":
    main()
