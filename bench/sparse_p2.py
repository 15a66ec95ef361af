"""How many features a split P2's trees use: any optimal tree, the sparsest one found, and trees of at most 3 a split.

    python bench/sparse_p2.py --data FOLDER --limit 10

Biased draws, the paper's parameters, no guide. "P2" stops at the first tree of least cost, "sparsest" is what
``guide=None`` returns, "k = 3" has ``max_features_per_split=3``. Features are counted in splits that split. The
sparsest tree costs as much as the tree it comes from, and has the same proof.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from s2oct.fit.context import Budget, open_context
from s2oct.fit.training import solve_p2, train
from s2oct.p2.prepared import ModelSpec, prepare
from s2oct.stopping import never
from s2oct.study import biased_draw, load_instance
from s2oct.trees.tree import ObliqueTree

SETS = (
    "analcatdata_bankruptcy", "appendicitis", "labor", "monk1", "prnn_crabs", "heart_statlog", "bupa", "ionosphere",
    "breast_w", "spect", "iris", "tae",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with <instance>.tsv.gz files of PMLB")
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--draw", type=int, default=0)
    parser.add_argument("--limit", type=float, default=10.0, help="seconds per fit")
    args = parser.parse_args()
    budget = Budget(time_limit=args.limit)
    print(f"{'cost, features a split, seconds of':36s} | {'P2':27s} | {'sparsest':27s} | k = 3")
    found: dict[str, list[tuple[bool, float, float]]] = {"P2": [], "sparsest": [], "k = 3": []}
    for name in args.sets:
        problem = biased_draw(load_instance(name, args.data), args.draw).problem()
        context = open_context(budget, never, None)
        solved = solve_p2(prepare(problem, ModelSpec()), context)
        shown = {
            "P2": (solved.incumbent.is_decided, solved.incumbent.best_cost, solved.tree, context.clock.elapsed),
        }
        for column, most in (("sparsest", None), ("k = 3", 3)):
            trained = train(problem, ModelSpec(max_features_per_split=most), budget)
            certificate = trained.certificate
            shown[column] = (certificate.proved, certificate.objective, trained.tree, certificate.seconds)
        line = f"{name:24s} {problem.n_rows:5d} {problem.n_features:4d}"
        for column, (proved, cost, tree, seconds) in shown.items():
            found[column].append((proved, features_per_split(tree), seconds))
            line += f" | {'proved' if proved else '      '} {cost:7.2f} {features_per_split(tree):5.1f} {seconds:6.2f}"
        print(line, flush=True)
    for column, rows in found.items():
        proved, features, seconds = (np.array(part) for part in zip(*rows, strict=True))
        print(
            f"{column:9s} proved {proved.mean():4.0%}, features a split {features.mean():5.2f}, "
            f"median {np.median(seconds):.2f} s"
        )


def features_per_split(tree: ObliqueTree) -> float:
    """Mean number of features of the splits that use any; 0 for a constant tree."""
    used = np.count_nonzero(tree.omega, axis=1)
    return float(used[used > 0].mean()) if used.any() else 0.0


if __name__ == "__main__":
    began = time.monotonic()
    main()
    print(f"{time.monotonic() - began:.0f} s in all")
