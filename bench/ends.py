"""Whether fits say that their time limit cut them off, for limits from 5 % to 95 % of the time that a fit needs.

    python bench/ends.py --data FOLDER
    python bench/ends.py --data FOLDER --sets iris cars --shares 0.1 0.5 0.9

Each method is fitted to each table without a limit that matters, then with shortened limits. A fit whose tree differs
from the unlimited one must end with "time limit" and its warning; any other ending of such a fit is a violation. The
table has a line for each share. A method whose unlimited fit does not end by itself within ``--patience`` seconds is
left out. Exits with 1 if there is a violation.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.naive_bayes import GaussianNB

from s2oct import OCTHClassifier, S2OCTClassifier
from s2oct.errors import Remedy
from s2oct.study import biased_draw, load_instance

Table = tuple[np.ndarray, np.ndarray, dict[Any, int]]

METHODS: dict[str, Any] = {
    "default": lambda **given: S2OCTClassifier(**given),
    "depth 3": lambda **given: S2OCTClassifier(depth=3, **given),
    "naive Bayes as guide": lambda **given: S2OCTClassifier(guide=GaussianNB(), depth=3, **given),
    "breaking ties": lambda **given: S2OCTClassifier(guide_weight=0, depth=2, **given),
    "no guide": lambda **given: S2OCTClassifier(guide=None, depth=2, **given),
    "OCT-H": lambda **given: OCTHClassifier(depth=2, complexity=0.01, solver=None, **given),
}


def main() -> None:
    args = parse()
    counts: dict[float, np.ndarray] = defaultdict(lambda: np.zeros(5, dtype=int))
    for name, data in tables(args):
        for method, make in METHODS.items():
            unlimited, seconds, _ = fitted(make, data, args.patience)
            ended = unlimited.certificate_.ended
            print(f"{name}, {method}: {ended} after {seconds:.2f} s", file=sys.stderr, flush=True)
            if ended not in ("converged", "proved"):
                continue
            for share in args.shares:
                limited, _, warned = fitted(make, data, max(share * seconds, 1e-3))
                differs = not same_tree(unlimited.tree_, limited.tree_)
                says_cut = limited.certificate_.ended == "time limit" and warned
                counts[share] += (1, differs, differs and says_cut, not differs and says_cut, differs and not says_cut)
                if differs and not says_cut:
                    print(f"  violation at {share:.0%}: {limited.certificate_.ended}", file=sys.stderr, flush=True)
    print('| limit | fits | other tree | of these "time limit" | same tree, "time limit" | violations |')
    print("|---" * 6 + "|")
    for share, numbers in counts.items():
        print(f"| {share:.0%} | {' | '.join(map(str, numbers))} |")
    together = sum(counts.values(), np.zeros(5, dtype=int))
    print(f"| together | {' | '.join(map(str, together))} |")
    sys.exit(bool(together[-1]))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with tables of PMLB; without it only generated tables")
    parser.add_argument("--sets", nargs="*", default=["prnn_synth", "heart_c", "profb", "phoneme"])
    parser.add_argument("--shares", type=float, nargs="+", default=[round(0.05 + 0.1 * k, 2) for k in range(10)])
    parser.add_argument("--patience", type=float, default=20.0)
    return parser.parse_args()


def tables(args: argparse.Namespace) -> Iterator[tuple[str, Table]]:
    """Generated tables of two and three classes, then those of PMLB."""
    for n_rows, n_classes in ((150, 2), (400, 3), (4000, 2)):
        yield f"{n_rows} rows, {n_classes} classes", generated(n_rows, n_classes)
    for name in args.sets if args.data is not None else ():
        draw = biased_draw(load_instance(name, args.data), 0)
        yield name, (draw.data.X, draw.y, draw.totals)


def generated(n_rows: int, n_classes: int) -> Table:
    """Rows of noisy linear classes, a tenth of them labeled."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 6))
    scores = X @ rng.normal(size=(6, n_classes)) + rng.normal(size=(n_rows, n_classes))
    truth = np.array(list("abc"))[scores.argmax(axis=1)]
    labeled = rng.random(n_rows) < 0.1
    totals = {name: int((truth[~labeled] == name).sum()) for name in "abc"[:n_classes]}
    return X, np.where(labeled, truth, None), totals


def fitted(make: Any, data: Table, time_limit: float) -> tuple[Any, float, bool]:
    """A fitted classifier, its seconds, and whether it asks for more time."""
    X, y, totals = data
    clf = make(time_limit=time_limit, random_state=0)
    known = {"totals": totals} if isinstance(clf, S2OCTClassifier) else {}
    began = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf.fit(X, y, **known)
    seconds = time.monotonic() - began
    return clf, seconds, any(Remedy.MORE_TIME in getattr(notice, "remedies", ()) for notice in clf.notices_)


def same_tree(one: Any, other: Any) -> bool:
    return all(np.array_equal(getattr(one, part), getattr(other, part)) for part in ("omega", "gamma", "leaf_classes"))


if __name__ == "__main__":
    main()
