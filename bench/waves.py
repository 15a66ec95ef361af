"""Stability between two waves of answers: how many rows that are unlabeled in both change their class.

    python bench/waves.py --data FOLDER

Two biased draws of each set, draws 0 and 1, are two waves. A row that nobody labeled in either wave should keep its
class. The table has the mean share of such rows that change it, and for comparison the mean MCC of both waves.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from s2oct import S2OCTClassifier, S2OCTWarning, SelfTrainedForest
from s2oct.p2.prepared import paper_depth
from s2oct.study.instances import DataSource, Draw, biased_draw, manifest
from s2oct.study.measures import Confusion
from s2oct.workflow.comparison import N_TREES, strong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with <instance>.tsv.gz files of PMLB")
    parser.add_argument("--sets", nargs="*", default=None, help="instances (default: those in the folder)")
    options = parser.parse_args()
    warnings.simplefilter("ignore", S2OCTWarning)
    source = DataSource(options.data, download=False)
    sets = options.sets or [name for name in manifest() if (options.data / f"{name}.tsv.gz").exists()]
    found: dict[str, list[tuple[float, float]]] = {}
    for name in sets:
        data = source.load(name)[0]
        waves = [biased_draw(data, number) for number in (0, 1)]
        in_neither = ~(waves[0].is_labeled | waves[1].is_labeled)
        for method, classifier in classifiers(len(data.X)).items():
            first, second = (assigned(classifier, wave) for wave in waves)
            changed = float((first != second)[in_neither].mean())
            mcc = [
                Confusion.of(data.is_a[~wave.is_labeled], given[~wave.is_labeled]).mcc
                for wave, given in zip(waves, (first, second), strict=True)
            ]
            found.setdefault(method, []).append((changed, float(np.mean(mcc))))
    print(f"{len(sets)} sets\n{'':44s} rows that change    MCC")
    for method, rows in found.items():
        changed, mcc = np.mean(rows, axis=0)
        print(f"{method:44s} {changed:16.3f} {mcc:6.3f}")


def classifiers(n_rows: int) -> dict[str, Any]:
    return {
        "tree": S2OCTClassifier(random_state=0),
        "its guide": SelfTrainedForest(random_state=0),
        "random forest, weighted, knows the total": strong(RandomForestClassifier(N_TREES, random_state=0)),
        "CART, weighted, knows the total": strong(
            DecisionTreeClassifier(max_depth=paper_depth(n_rows), random_state=0)
        ),
    }


def assigned(classifier: Any, wave: Draw) -> np.ndarray:
    """Whether each row is assigned to class A."""
    return np.asarray(classifier.fit(wave.data.X, wave.y, totals=wave.totals).transduction_ == "A")


if __name__ == "__main__":
    main()
