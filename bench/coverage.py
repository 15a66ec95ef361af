"""Estimates by domain beside the truth: coverage, width and error at 40, 150, 300 and 1,000 labels.

    python bench/coverage.py --draws 12 --replicates 40 --data FOLDER --out FILE

Each draw has a made-up labour force, divided by region, and, with --data, a part of one of the study's instances that
have at least 3,000 rows, divided by the quartiles of a random feature. Both are also divided at random into five. Of
400, 1,500, 1,500 and 3,000 rows 40, 150, 300 and 1,000 are labeled, one class at higher odds, and the totals of the
classes are known. Compared are intervals of 95 % for the share of a class in a domain:

- replicates: `clf.estimate(by)`, with so many replicates of the fit;
- difference: `clf.estimate(by, method="difference")`;
- PPI++: prediction-powered inference with power tuning, in the domain, from what our own guide says of the unlabeled
  rows and its trees say of labeled rows that they have not seen; the formula of `ppi_mean_ci` of ppi_python;
- PPI++ weighted: the same with labels weighted to the known shares of the classes;
- raking: the labeled rows alone, weighted to the rows of the domains and the totals of the classes;
- naive: labels that the tree completes, taken for observed ones, with a binomial standard error.

Appends a line for each estimate to FILE, a CSV, so that a run that was interrupted goes on where it ended, and prints
how often the truth is inside, the mean width, the root mean square error, and width over error: 3.9 is that of a
normal distribution whose standard error is right.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np

from s2oct import S2OCTClassifier
from s2oct.datasets import make_labour_force
from s2oct.study.instances import manifest, read_instance

SIZES = {40: 400, 150: 1500, 300: 1500, 1000: 3000}
"""Rows of a population for each number of labels."""

ODDS = 3.0
"""Odds of being labeled of one class over the other."""

LARGE = 3000
"""Rows of an instance, at least."""

FEWEST_ROWS = 10
"""Unlabeled rows of a domain, at least: below, half a row of rounding decides."""

COLUMNS = ("draw", "population", "labels", "by", "domain", "method", "truth", "estimate", "low", "high")
METHODS = ("replicates", "difference", "PPI++", "PPI++ weighted", "raking", "naive")


def main() -> None:
    options = read_options()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    done = {(line["draw"], line["labels"]) for line in read_lines(options.out)}
    for draw in range(options.first, options.first + options.draws):
        for n_labels in options.labels:
            n_rows = SIZES[n_labels]
            if (str(draw), str(n_labels)) in done:
                continue
            lines = [
                {"draw": draw, "labels": n_labels, **line}
                for population in populations(options.data, draw, n_labels, n_rows)
                for line in compare(*population, draw, options)
            ]
            write_lines(options.out, lines)
    show(read_lines(options.out))


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with NAME.tsv.gz files of the study")
    parser.add_argument("--out", type=Path, required=True, help="CSV file to append to")
    parser.add_argument("--draws", type=int, default=12)
    parser.add_argument("--first", type=int, default=0, help="number of the first draw")
    parser.add_argument("--replicates", type=int, default=40)
    parser.add_argument("--labels", type=int, nargs="+", choices=list(SIZES), default=list(SIZES))
    parser.add_argument("--jobs", type=int, default=1)
    return parser.parse_args()


def populations(folder: Path | None, draw: int, n_labels: int, n_rows: int):
    """Name, rows, partly unknown labels, truth (whether a row is of the class) and domains of each population."""
    rng = np.random.default_rng([draw, n_labels])
    survey = make_labour_force(n_rows, n_labels, seed=draw)
    truth = survey.truth == "yes"
    yield "labour force", survey.X, survey.is_labeled, truth, survey.X[:, 0].astype(int) - 1
    if folder is None:
        return
    large = [
        name for name, facts in manifest().items() if (folder / f"{name}.tsv.gz").exists() and facts.n_rows >= 3000
    ]
    data = read_instance(large[draw % len(large)], folder / f"{large[draw % len(large)]}.tsv.gz")
    rows = rng.permutation(len(data.X))[:n_rows]
    X, truth = data.X[rows], data.is_a[rows]
    odds = np.where(truth, ODDS, 1.0)
    is_labeled = np.zeros(len(rows), dtype=bool)
    is_labeled[rng.choice(len(rows), n_labels, replace=False, p=odds / odds.sum())] = True
    feature = X[:, int(rng.integers(X.shape[1]))]
    yield data.name, X, is_labeled, truth, np.searchsorted(np.unique(np.quantile(feature, [0.25, 0.5, 0.75])), feature)


def compare(name: str, X, is_labeled, truth, domains, draw: int, options: argparse.Namespace):
    """Estimates of the share of the class in every domain by all methods; none if one class alone is labeled."""
    if len(set(truth[is_labeled])) < 2:
        return
    y = np.where(is_labeled, truth.astype(object), None)
    totals = {True: int(truth[~is_labeled].sum()), False: int((~truth[~is_labeled]).sum())}
    divisions = {"feature": domains, "random": np.random.default_rng(draw).integers(5, size=len(y))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = S2OCTClassifier(random_state=draw, n_jobs=options.jobs).fit(X, y, totals=totals)
        ours = {
            "replicates": clf.estimate(divisions, replicates=options.replicates, n_jobs=options.jobs),
            "difference": clf.estimate(divisions, method="difference", n_jobs=options.jobs),
        }
    advice, k = clf._session.fit.advice, clf.classes_.tolist().index(True)
    guide = np.zeros(len(y))
    guide[~is_labeled] = advice.probabilities[:, k]
    guide[is_labeled] = np.abs((1 - k) - advice.held_out[:, 0])  # votes for the second class
    weights = known_shares(truth, is_labeled, totals)
    for by, codes in divisions.items():
        raked = raked_weights(truth, is_labeled, codes, totals)
        for d in np.unique(codes):
            here = codes == d
            if (here & ~is_labeled).sum() < FEWEST_ROWS:
                continue
            labeled, others = here & is_labeled, here & ~is_labeled
            found = {
                method: [row["share"], row["share_low"], row["share_high"]]
                for method, rows in ours.items()
                for row in rows
                if row["by"] == by and row["domain"] == d and row["class"]
            }
            # What others say of the unlabeled rows is added to the labels, as ours is.
            rivals = {
                "PPI++": ppi(truth[labeled], guide[labeled], guide[others], np.ones(labeled.sum())),
                "PPI++ weighted": ppi(truth[labeled], guide[labeled], guide[others], weights[labeled]),
                "raking": weighted_share(truth[labeled], raked[labeled]),
            }
            for method, ends in rivals.items():
                found[method] = [(truth[labeled].sum() + others.sum() * end) / here.sum() for end in ends]
            completed = clf.transduction_.astype(bool)[here]
            found["naive"] = weighted_share(completed, np.ones(len(completed)))
            for method, (estimate, low, high) in found.items():
                yield {
                    **{"population": name, "by": by, "domain": d, "method": method, "truth": truth[here].mean()},
                    **{"estimate": estimate, "low": low, "high": high},
                }


def known_shares(truth, is_labeled, totals):
    """Weights with which the labeled rows have the known shares of the classes, 1 in the mean."""
    labeled = {label: max(int((truth[is_labeled] == label).sum()), 1) for label in totals}
    weights = np.where(truth, totals[True] / labeled[True], totals[False] / labeled[False])
    return weights / weights[is_labeled].mean()


def raked_weights(truth, is_labeled, codes, totals):
    """Weights of the labeled rows that add up to the rows of the domains and the totals of the classes."""
    weights = is_labeled.astype(float)
    for _ in range(100):
        for label, total in totals.items():
            weights[truth == label] *= total / max(weights[truth == label].sum(), 1e-9)
        for d in np.unique(codes):
            weights[codes == d] *= (~is_labeled & (codes == d)).sum() / max(weights[codes == d].sum(), 1e-9)
    return weights


def weighted_share(truth, weights):
    """Share of a class among weighted rows, with the standard error of as many rows of equal weight."""
    if not weights.any():
        return 0.5, 0.0, 1.0
    share = np.average(truth, weights=weights)
    return with_ends(share, np.sqrt(share * (1 - share) * (weights**2).sum()) / weights.sum())


def ppi(truth, predicted, unlabeled, weights):
    """PPI++ with power tuning as in `ppi_mean_ci` of ppi_python; nothing is known without two labels in the domain."""
    n, m = len(truth), len(unlabeled)
    if n < 2:
        return 0.5, 0.0, 1.0
    w = weights / weights.mean()
    first = unlabeled.mean() + (w * (truth - predicted)).mean()
    grads, grads_hat, grads_unlabeled = w * (truth - first), w * (predicted - first), unlabeled - first
    covariance = np.mean((grads - grads.mean()) * (grads_hat - grads_hat.mean()))
    spread = np.var(np.concatenate([grads_hat, grads_unlabeled]))
    power = np.clip(covariance / max((1 + n / m) * spread, 1e-12), 0, 1)
    share = power * unlabeled.mean() + (w * (truth - power * predicted)).mean()
    variance = (power * unlabeled).var() / m + (w * (truth - power * predicted)).var() / n
    return with_ends(share, np.sqrt(variance))


def with_ends(share: float, se: float):
    """A share with the ends of its interval."""
    return share, max(share - 1.96 * se, 0.0), min(share + 1.96 * se, 1.0)


def read_lines(path: Path) -> list[dict]:
    return list(csv.DictReader(path.open())) if path.exists() else []


def write_lines(path: Path, lines: list[dict]) -> None:
    is_new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if is_new:
            writer.writeheader()
        writer.writerows(lines)


def show(lines: list[dict]) -> None:
    """Print a table for each number of labels."""
    groups = defaultdict(list)
    for line in lines:
        numbers = [float(line[name]) for name in ("truth", "estimate", "low", "high")]
        kind = "random" if line["by"] == "random" else line["population"]
        kind = kind if kind in ("random", "labour force") else "instances"
        for key in (kind, "all"):
            groups[int(line["labels"]), key, line["method"]].append(numbers)
    for n_labels in SIZES:
        for kind in ("all", "labour force", "instances", "random"):
            if (n_labels, kind, METHODS[0]) not in groups:
                continue
            print(f"{n_labels} labels, {kind}: {len(groups[n_labels, kind, METHODS[0]])} estimates")
            for method in METHODS:
                truth, estimate, low, high = np.array(groups[n_labels, kind, method]).T
                covered = np.mean((low - 1e-9 <= truth) & (truth <= high + 1e-9))
                width, error = np.mean(high - low), np.sqrt(np.mean((estimate - truth) ** 2))
                print(
                    f"  {method:15s} covered {covered:.3f}  width {width:.3f}  error {error:.3f}  {width / error:.1f}"
                )


if __name__ == "__main__":
    main()
