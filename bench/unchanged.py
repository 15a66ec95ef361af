"""Whether a change of the code changes any tree or export: seeded fits by two copies of the package, bit by bit.

    git worktree add OTHER COMMIT
    make -C OTHER demo
    python bench/unchanged.py --before OTHER/.venv/bin/python --data FOLDER

Fits numeric sets from FOLDER and tables with text and gaps (`examples/hidden_labels.py`), each in several modes: the
paper's model, a guide that only breaks ties, the default, one feature per split, three classes, domains, weights and
OCT-H. No fit has a solver, and each has an hour: the proof or the convergence of the search ends it, not the clock. P2
and OCT-H are fitted only to sets on which they are proved within --probe seconds. Compares trees, costs, bounds and
predictions, and each tree as text, DOT, SQL, Python, R, ONNX and model file. Prints a row per fit and exits with 1 if
anything differs.
"""

from __future__ import annotations

import argparse
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from copies import Copy, two_copies

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

from hidden_labels import gallery_table

COMPARED = ("tree", "objective", "lower_bound", "xi", "proved", "feasible")
PLAIN = {"solver": None, "time_limit": 3600.0, "random_state": 0}
EVIDENCE = {"default": {}, "one feature": {"max_features_per_split": 1}}
"""Modes that end by themselves."""
P2 = {"paper": {"guide": None}, "tie-break": {"guide_weight": 0.0}}
"""Modes that end by themselves only if P2 is proved."""
MIXED = ("titanic", "penguins", "employment", "smoking", "turnout", "abortion")
"""Tables with text and gaps; penguins has three classes."""
MIXED_ROWS = 500
"""Most rows of these."""

Fit = Callable[[Copy], dict[str, Any]]


def main() -> None:
    args = parse()
    before, after = two_copies(args.before)
    began, differing, ratios = time.monotonic(), Counter(), []
    for name, mode, fit in fits(args, after):
        old, new = fit(before), fit(after)
        old_exports, new_exports = before.exports(), after.exports()
        changed = [field for field in COMPARED if old[field] != new[field]]
        if not np.array_equal(old["transduction"], new["transduction"]):
            changed.append("predictions")
        changed += [
            export
            for export in sorted({*old_exports, *new_exports})
            if old_exports.get(export) != new_exports.get(export)
        ]
        differing.update(changed)
        ratios.append(new["cpu"] / old["cpu"])
        verdict = f"DIFFERS in {', '.join(changed)}" if changed else "same"
        print(f"{name:28s} {mode:12s} cost {new['objective']:<12.6g} {new['cpu']:6.2f} s  {verdict}", flush=True)
        if args.show:
            for field in changed:
                print(f"  {field}\n    {old_exports.get(field)!r}\n    {new_exports.get(field)!r}")
    print(
        f"{len(ratios)} fits in {(time.monotonic() - began) / 60:.1f} min, each in {len(new_exports)} exported parts; "
        f"CPU time after : before, median {np.median(ratios):.3f}"
    )
    print("Nothing differs." if not differing else f"Fits that differ in: {dict(differing.most_common())}")
    sys.exit(bool(differing))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, required=True, help="the Python that has the other copy installed")
    parser.add_argument("--data", type=Path, required=True, help="folder with NAME.tsv.gz files")
    parser.add_argument("--count", type=int, default=12, help="numeric sets to compare")
    parser.add_argument("--rows", type=int, default=500, help="most rows of a numeric set")
    parser.add_argument("--probe", type=float, default=2.0, help="seconds in which P2 and OCT-H must be proved")
    parser.add_argument("--show", action="store_true", help="print what differs")
    return parser.parse_args()


def fits(args: argparse.Namespace, probe: Copy) -> Iterator[tuple[str, str, Fit]]:
    """Every fit: the name of its table, its mode, and the fit of a copy."""
    for number, path in enumerate(numeric_sets(args)):
        yield from numeric_fits(path, probe, args.probe, with_more=number % 2 == 0)
    for name in MIXED:
        yield from mixed_fits(name)


def numeric_sets(args: argparse.Namespace) -> list[Path]:
    """Sets of few rows, spread over the alphabet."""
    small = [
        path
        for path in sorted(args.data.glob("*.tsv.gz"))
        if len(pd.read_csv(path, sep="\t", usecols=["target"])) <= args.rows
    ]
    return [small[place] for place in np.unique(np.linspace(0, len(small) - 1, args.count).astype(int))]


def numeric_fits(path: Path, probe: Copy, seconds: float, *, with_more: bool) -> Iterator[tuple[str, str, Fit]]:
    table, name = pd.read_csv(path, sep="\t"), path.name.partition(".")[0]
    X, target = table.drop(columns="target").to_numpy(float), table["target"].to_numpy()
    truth = np.where(target == target.max(), "A", "B")
    y, totals = labels(name, truth)
    is_proved = probe.fit(X, y, totals, **PLAIN | P2["paper"] | {"time_limit": seconds})["proved"]
    for mode, parameters in (EVIDENCE | P2 if is_proved else EVIDENCE).items():
        yield name, mode, fit_of(X, y, totals, **parameters)
    # OCT-H has labeled rows alone, and ends by itself only where it is proved.
    rows = np.array([label is not None for label in y])
    if len(set(y[rows])) > 1 and probe.fit_octh(X[rows], y[rows], **PLAIN | {"time_limit": seconds})["proved"]:
        yield name, "OCT-H", lambda copy: copy.fit_octh(X[rows], y[rows], **PLAIN)
    if with_more:
        domains = np.random.default_rng(1).choice(["north", "south"], len(X))
        by_domain = {domain: counts(y, truth, domains == domain) for domain in ("north", "south")}
        yield name, "domains", fit_of(X, y, by_domain, {"domains": domains})
        weights = np.random.default_rng(2).uniform(0.5, 3, len(X)).round(2)
        yield name, "weights", fit_of(X, y, counts(y, truth, weights=weights), {"sample_weight": weights})
        cuts = np.quantile(X.sum(axis=1), (0.3, 0.7))
        three = np.array(["low", "middle", "top"])[np.searchsorted(cuts, X.sum(axis=1))]
        y_three, totals_three = labels(name, three)
        yield name, "three classes", fit_of(X, y_three, totals_three)


def mixed_fits(name: str) -> Iterator[tuple[str, str, Fit]]:
    hidden = gallery_table(name)
    # The labeled rows first, so that a shorter table keeps them.
    order = np.argsort(hidden.is_hidden, kind="stable")[:MIXED_ROWS]
    X, y = hidden.X.iloc[order].reset_index(drop=True), hidden.y.iloc[order].to_numpy(dtype=object)
    truth = hidden.truth.iloc[order].to_numpy()
    y = np.where(pd.isna(y), None, y)
    for mode, parameters in (EVIDENCE | {"deeper": {"depth": 3}}).items():
        yield name, mode, fit_of(X, y, counts(y, truth), **parameters)


def fit_of(X: Any, y: Any, totals: Any, known: dict[str, Any] | None = None, **parameters: Any) -> Fit:
    return lambda copy: copy.fit(X, y, totals, known=known, **PLAIN | parameters)


def labels(name: str, truth: np.ndarray) -> tuple[np.ndarray, dict[str, float]]:
    """A tenth of the rows labeled, the first class more often than its share, and the totals of the others."""
    rng = np.random.default_rng([0, zlib.crc32(name.encode())])
    odds = np.where(truth == np.unique(truth)[0], 0.85, 0.15)
    chosen = rng.choice(len(truth), max(8, len(truth) // 10), replace=False, p=odds / odds.sum())
    y = np.full(len(truth), None, dtype=object)
    y[chosen] = truth[chosen]
    return y, counts(y, truth)


def counts(
    y: np.ndarray, truth: np.ndarray, here: np.ndarray | None = None, weights: np.ndarray | None = None
) -> dict[str, float]:
    """Unlabeled rows of each class, or their weight."""
    free = np.array([label is None for label in y]) & (True if here is None else here)
    if weights is None:
        return {str(label): int((truth[free] == label).sum()) for label in np.unique(truth)}
    return {str(label): float(weights[free & (truth == label)].sum()) for label in np.unique(truth)}


if __name__ == "__main__":
    main()
