"""How often a default fit warns that its tree may be no better than chance: of noise, and of tables with signal.

    python bench/chance.py --data FOLDER

Noise are labels without any pattern; there the warning is right. Signal are a made-up labour force and biased draws of
the study's sets, by the MCC that the tree reaches on the hidden labels; the higher it is, the rarer the warning should
be. Fits in which fewer than two classes have ten labels are not tested; they warn of few labels instead.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.metrics import matthews_corrcoef

from s2oct import S2OCTClassifier
from s2oct.datasets import make_labour_force
from s2oct.fit.certificate import AT_CHANCE
from s2oct.study import biased_draw, load_instance
from s2oct.study.instances import manifest

NOISE_LABELS, LABOUR_LABELS, SHARES = (40, 100, 300), (40, 80, 160), (0.1, 0.3)
MOST_ROWS = 1100
BANDS = (-1.0, 0.1, 0.25, 0.5, 1.01)
"""Limits of the groups of hidden MCC."""


class Case(NamedTuple):
    group: str
    X: np.ndarray
    y: np.ndarray
    totals: dict[str, int]
    truth: np.ndarray


def main() -> None:
    options = parse()
    warnings.simplefilter("ignore")
    found: dict[str, list[float | None]] = {}
    cases = [*noise(options.number), *labour(options.number)]
    for case in cases if options.data is None else [*cases, *sets(options.data, options.draws)]:
        clf = S2OCTClassifier(solver=None, time_limit=20, random_state=0).fit(case.X, case.y, totals=case.totals)
        group = case.group or band(case, clf)
        found.setdefault(group, []).append(clf.certificate_.chance)
    print(f"{'':32s} {'fits':>5s} {'tested':>6s} {'warned':>6s}")
    for group, values in found.items():
        tested = [p for p in values if p is not None]
        share = f"{np.mean([p >= AT_CHANCE for p in tested]):6.2f}" if tested else f"{'-':>6s}"
        print(f"{group:32s} {len(values):5d} {len(tested):6d} {share}")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with <instance>.tsv.gz files of PMLB")
    parser.add_argument("--number", type=int, default=50, help="made-up tables of each kind")
    parser.add_argument("--draws", type=int, default=2, help="draws of each set")
    return parser.parse_args()


def noise(number: int) -> Iterator[Case]:
    """Labels that have nothing to do with the features, more of the first class than there are of it."""
    for n_labeled in NOISE_LABELS:
        for n_classes in (2, 3):
            for seed in range(number):
                rng = np.random.default_rng([n_labeled, n_classes, seed])
                n_rows = 4 * n_labeled + 200
                X = rng.normal(size=(n_rows, 8)) if seed % 2 else rng.integers(0, 4, size=(n_rows, 8)).astype(float)
                truth = rng.choice(np.array(list("abc"[:n_classes]), dtype=object), n_rows)
                odds = np.where(truth == "a", 2.0, 1.0)
                labeled = rng.choice(n_rows, n_labeled, replace=False, p=odds / odds.sum())
                y = np.full(n_rows, None, dtype=object)
                y[labeled] = truth[labeled]
                hidden = np.delete(truth, labeled)
                totals = {label: int((hidden == label).sum()) for label in "abc"[:n_classes]}
                yield Case(f"noise, {n_labeled} labels, {n_classes} classes", X, y, totals, truth)


def labour(number: int) -> Iterator[Case]:
    """The labour force, whose answers depend on the features and on chance."""
    for n_labeled in LABOUR_LABELS:
        for seed in range(number):
            survey = make_labour_force(n_labeled=n_labeled, seed=seed)
            yield Case(f"labour force, {n_labeled} labels", survey.X, survey.y, survey.totals, survey.truth)


def sets(folder: Path, draws: int) -> Iterator[Case]:
    """Biased draws of the sets in a folder that are not too large."""
    for name in (name for name in manifest() if (folder / f"{name}.tsv.gz").exists()):
        data = load_instance(name, folder)
        if len(data.X) > MOST_ROWS:
            continue
        for draw in (biased_draw(data, number, share) for number in range(draws) for share in SHARES):
            yield Case("", data.X, draw.y, draw.totals, data.classes[data.codes])


def band(case: Case, clf: S2OCTClassifier) -> str:
    """The group of a set by the MCC that its tree reaches on the hidden labels."""
    hidden = np.array([label is None for label in case.y])
    mcc = matthews_corrcoef(case.truth[hidden].astype(str), clf.predict(case.X[hidden]).astype(str))
    place = int(np.searchsorted(BANDS, mcc, side="right"))
    return f"sets, hidden MCC {BANDS[place - 1]:g} to {min(BANDS[place], 1):g}"


if __name__ == "__main__":
    main()
