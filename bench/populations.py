"""The made-up labour force: our tree, its guide and strong rivals on many populations.

    python bench/populations.py --number 20

Every population has 400 people and 40 answers, employed people answering more readily. Everybody knows the total;
rivals are also weighted by the known shares. The table has means over the people who did not answer.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.metrics import accuracy_score, matthews_corrcoef

from s2oct import S2OCTClassifier, S2OCTWarning, SelfTrainedForest
from s2oct.datasets import make_labour_force
from s2oct.workflow.comparison import light_rivals, strong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=20, help="populations, seeds from 0 on")
    options = parser.parse_args()
    warnings.simplefilter("ignore", S2OCTWarning)
    found: dict[str, list[tuple[float, float, float, float]]] = {}
    for seed in range(options.number):
        survey = make_labour_force(seed=seed)
        others = ~survey.is_labeled
        rivals = {f"{name}, strong": strong(rival, seed) for name, rival in light_rivals(2, seed).items()}
        ours = {"tree": S2OCTClassifier(random_state=seed), "guide": SelfTrainedForest(random_state=seed)}
        for name, classifier in (ours | rivals).items():
            began = time.perf_counter()
            assigned = classifier.fit(survey.X, survey.y, totals=survey.totals).transduction_[others]
            seconds = time.perf_counter() - began
            truth = survey.truth[others]
            scores = accuracy_score(truth, assigned), matthews_corrcoef(truth, assigned)
            terms = classifier.certificate_.n_terms if name == "tree" else np.nan
            found.setdefault(name, []).append((*scores, seconds, terms))
    trees = np.array(found["tree"])
    print(f"{'':36s} accuracy    MCC  seconds  terms   tree minus it, MCC (standard error)")
    for name, rows in found.items():
        table = np.array(rows)
        accuracy, mcc, seconds, terms = table.mean(axis=0)
        ahead = trees[:, 1] - table[:, 1]
        error = ahead.std(ddof=1) / np.sqrt(len(ahead))
        print(f"{name:36s} {accuracy:8.3f} {mcc:6.3f} {seconds:8.2f} {terms:6.1f}   {ahead.mean():+.3f} ({error:.3f})")


if __name__ == "__main__":
    main()
