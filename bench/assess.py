"""Whether `assess` can be trusted: its accuracy and interval beside the truth on the unlabeled rows.

    python bench/assess.py --data FOLDER

For every draw the tree is fitted and assessed, and the assessment is compared with the labels that the draw hides. The
tables have, by design and by number of labels: draws, how often the nominal 95 % interval covers the truth, the mean of
assessed minus true accuracy, and the mean width. With ``--path``, the trees of the simplicity path are assessed, too,
and the recommended tree is compared with the fitted one and the richest. Draws in which no class has two labels cannot
be assessed and are counted. A file of draws (``--out``) lets a run that was interrupted go on.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from s2oct import S2OCTClassifier, S2OCTWarning
from s2oct.errors import InvalidProblem
from s2oct.study.instances import DESIGNS, GENERATED, DataSource, Draw, StudyData, manifest

LABELS = (0, 20, 40, 80, 160, 10**9)
"""Ends of the groups of draws by number of labels."""


def main() -> None:
    options = read_options()
    warnings.simplefilter("ignore", S2OCTWarning)
    found = {key_of(line): line for line in read_lines(options.out)}
    for draw_of in planned(options):
        if draw_of not in found:
            found[draw_of] = of_draw(options, *draw_of)
            with options.out.open("a") as file:
                file.write(json.dumps(found[draw_of]) + "\n")
    report([line for line in found.values() if "accuracy" in line])
    print(f"\n{sum('accuracy' not in line for line in found.values())} draws could not be assessed")


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with <instance>.tsv.gz files of PMLB")
    parser.add_argument("--out", type=Path, default=Path("bench/out/assess.jsonl"), help="file of the draws")
    parser.add_argument("--most-rows", type=int, default=2000, help="leave out sets with more rows")
    parser.add_argument("--most-cells", type=int, default=100_000, help="leave out sets with more rows times features")
    parser.add_argument("--draws", type=int, nargs="*", default=[0, 1, 2, 3])
    parser.add_argument("--designs", nargs="*", default=list(DESIGNS))
    parser.add_argument("--share", type=float, default=0.1, help="share of the rows that is labeled")
    parser.add_argument("--path", action="store_true", help="assess the trees of the simplicity path, too")
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    return options


def planned(options: argparse.Namespace) -> Iterable[tuple[str, str, int]]:
    """Instance, design and number of each draw: one draw of every set after the other."""
    there = [name for name in manifest() if (options.data / f"{name}.tsv.gz").exists() or name in GENERATED]
    shapes = {name: load(options, name).X.shape for name in there}
    sets = [name for name, (n, p) in shapes.items() if n <= options.most_rows and n * p <= options.most_cells]
    return [(name, design, number) for number in options.draws for design in options.designs for name in sets]


def load(options: argparse.Namespace, name: str) -> StudyData:
    return DataSource(options.data, download=False).load(name)[0]


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def key_of(line: dict[str, Any]) -> tuple[str, str, int]:
    return line["set"], line["design"], line["draw"]


def of_draw(options: argparse.Namespace, name: str, design: str, number: int) -> dict[str, Any]:
    """The truth and the assessment of one draw; no accuracy if it cannot be assessed."""
    draw = DESIGNS[design](load(options, name), number, options.share)
    X, unlabeled = draw.data.X, ~draw.is_labeled
    line: dict[str, Any] = {"set": name, "design": design, "draw": number, "n_labels": int(draw.is_labeled.sum())}
    try:
        clf = S2OCTClassifier(random_state=0).fit(X, draw.y, totals=draw.totals)
        found = clf.assess()
    except InvalidProblem:
        return line
    right = clf.transduction_[unlabeled] == draw.data.classes[draw.data.codes[unlabeled]]
    line |= {"accuracy": found.accuracy, "se": found.accuracy_se, "low": found.interval[0], "high": found.interval[1]}
    line |= {"truth": float(right.mean()), "chance": found.chance, "fewest": min(c.n_labels for c in found.per_class)}
    line |= {"agreed": found.agreed_accuracy, "agreed_truth": float(right[clf.stability_ == 1].mean())}
    return line | (of_path(clf, draw) if options.path else {})


def of_path(clf: S2OCTClassifier, draw: Draw) -> dict[str, Any]:
    """True accuracy and terms of the recommended, the fitted and the richest tree of the path."""
    path, unlabeled = clf.simplicity_path(), ~draw.is_labeled
    rows, codes = clf._rows(draw.data.X[unlabeled]), draw.data.codes[unlabeled]
    steps = {"recommended": path.recommended, "fitted": path.fitted, "richest": path[-1]}
    names = [str(label) for label in draw.data.classes[codes]]
    classes = np.asarray(clf.classes_)
    return {
        f"path_{what}": (float(np.mean(classes[step.tree.predict(rows)] == names)), step.n_terms, step.accuracy)
        for what, step in steps.items()
    }


def report(lines: Sequence[dict[str, Any]]) -> None:
    print("draws                          number  covered   bias of it  mean width  truth  chance")
    for design in sorted({line["design"] for line in lines}):
        of_design = [line for line in lines if line["design"] == design]
        show(f"{design}, all", of_design)
        for least, most in pairwise(LABELS):
            part = [line for line in of_design if least <= line["n_labels"] < most]
            show(f"{design}, {least} to {most - 1} labels" if most < LABELS[-1] else f"{design}, from {least}", part)
        show(f"{design}, every class from 10", [line for line in of_design if line["fewest"] >= 10])
        show(f"{design}, some class below 10", [line for line in of_design if line["fewest"] < 10])
    show("all", lines)
    agreed = [line for line in lines if np.isfinite(line["agreed"]) and np.isfinite(line["agreed_truth"])]
    gap = np.mean([line["agreed"] - line["agreed_truth"] for line in agreed])
    print(f"\nrows on which near-optimal trees agree: assessed minus true accuracy {gap:+.3f} over {len(agreed)} draws")
    with_path = [line for line in lines if "path_fitted" in line]
    if with_path:
        print(f"\n{len(with_path)} draws of the path   accuracy  terms  assessed")
        for what in ("recommended", "fitted", "richest"):
            accuracy, terms, assessed = np.mean([line[f"path_{what}"] for line in with_path], axis=0)
            print(f"{what:20s}      {accuracy:8.4f}  {terms:5.1f}  {assessed:8.4f}")
        gain = [line["path_recommended"][0] - line["path_fitted"][0] for line in with_path]
        error = np.std(gain) / np.sqrt(len(gain))
        print(f"recommended minus fitted: {np.mean(gain):+.4f} ± {error:.4f}")


def show(what: str, lines: Sequence[dict[str, Any]]) -> None:
    if not lines:
        return
    covered = np.mean([line["low"] <= line["truth"] <= line["high"] for line in lines])
    bias = [line["accuracy"] - line["truth"] for line in lines]
    width = np.mean([line["high"] - line["low"] for line in lines])
    truth, chance = np.mean([(line["truth"], line["chance"]) for line in lines], axis=0)
    error = np.std(bias) / np.sqrt(len(bias))
    print(
        f"{what:30s} {len(lines):6d}  {100 * covered:5.1f} %  {np.mean(bias):+.3f} ± {error:.3f}  {width:9.3f}  "
        f"{truth:5.3f}  {chance:5.3f}"
    )


if __name__ == "__main__":
    main()
