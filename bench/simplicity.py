"""MCC against terms: what the simplest to the richest trees of `simplicity_path` are worth.

    python bench/simplicity.py --data FOLDER

For every draw the path is computed, and for every budget the richest tree of the path with no more terms is taken. The
table has means over the draws: terms, the share of the unlabeled rows on which the tree agrees with the guide, and MCC
on the unlabeled rows. The fitted tree and its guide stand below.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np

from s2oct import S2OCTClassifier, S2OCTWarning, SelfTrainedForest
from s2oct.study.instances import DataSource, Draw, biased_draw, manifest
from s2oct.study.measures import Confusion

BUDGETS = (0, 1, 2, 3, 4, 6, 8, 10, 14, 20, 1000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with <instance>.tsv.gz files of PMLB")
    parser.add_argument("--sets", nargs="*", default=None, help="instances (default: those in the folder)")
    parser.add_argument("--draws", type=int, nargs="*", default=[2, 3, 4])
    options = parser.parse_args()
    warnings.simplefilter("ignore", S2OCTWarning)
    source = DataSource(options.data, download=False)
    sets = options.sets or [name for name in manifest() if (options.data / f"{name}.tsv.gz").exists()]
    found: dict[str, list[tuple[float, float, float]]] = {}
    for name in sets:
        data = source.load(name)[0]
        for number in options.draws:
            for what, values in of_draw(biased_draw(data, number)).items():
                found.setdefault(what, []).append(values)
    print(f"{len(sets)} sets, draws {options.draws}\n{'':20s}   terms  agreement    MCC")
    for what, rows in found.items():
        terms, agreement, mcc = np.mean(rows, axis=0)
        print(f"{what:20s} {terms:7.1f} {100 * agreement:8.2f} % {mcc:6.3f}")


def of_draw(draw: Draw) -> dict[str, tuple[float, float, float]]:
    """Terms, agreement with the guide and MCC of the trees of a path, and of the tree and the guide of the fit."""
    X, unlabeled = draw.data.X, ~draw.is_labeled
    clf = S2OCTClassifier(random_state=0).fit(X, draw.y, totals=draw.totals)
    path = clf.simplicity_path(assess=False)
    truth = draw.data.is_a[unlabeled]

    def row(step, is_a) -> tuple[float, float, float]:
        return step.n_terms, step.agreement, Confusion.of(truth, is_a).mcc

    chosen = {
        f"at most {budget}": max(
            (step for step in path if step.n_terms <= budget), key=lambda s: s.n_terms, default=path[0]
        )
        for budget in BUDGETS
    }
    found = {what: row(step, step.tree.predict(X[unlabeled]) == 0) for what, step in chosen.items()}
    found["the fitted tree"] = row(path.fitted, clf.predict(X[unlabeled]) == "A")
    guide = SelfTrainedForest(random_state=0).fit(X, draw.y, totals=draw.totals)
    found["the guide"] = np.nan, np.nan, Confusion.of(truth, guide.transduction_[unlabeled] == "A").mcc
    return found


if __name__ == "__main__":
    main()
