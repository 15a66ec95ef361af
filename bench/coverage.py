"""How often intervals of domain estimates contain the truth, on the study's instances whose truth is known.

    python bench/coverage.py --data FOLDER --out FOLDER --draws 0 --replicates 30

Of every instance some rows are labeled, by the biased and by the simple design. Rows are divided twice into domains: by
the quartiles of a random feature, and at random into five. For every domain and class the estimate of
`S2OCTClassifier.estimate` is compared with the truth, beside

- naive: the completed labels taken for a sample of observed ones, with a binomial standard error;
- forest: a random forest that knows the total, the percentile interval over bootstrap samples of the labeled rows.

Writes a CSV with one line for each domain and class, and prints coverage, mean width as a share of the domain, error
and bias with and without the correction, and how often the range over alternative trees contains the truth. An
instance that is finished is not run again.
"""

from __future__ import annotations

import argparse
import csv
import warnings
import zlib
from collections import defaultdict
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from s2oct import S2OCTClassifier
from s2oct.estimates.replicates import Bootstrap
from s2oct.guides.rivals import strong
from s2oct.study.designs import DESIGNS, Draw
from s2oct.study.instances import manifest, read_instance

FEWEST_ROWS = 5
"""Unlabeled rows of a domain, at least: below, half a row of rounding decides."""

TREES = 100
COLUMNS = (
    *("instance", "draw", "design", "division", "domain", "class", "rows", "truth", "estimate", "low", "high"),
    *("uncorrected", "guide", "naive_low", "naive_high", "forest", "forest_low", "forest_high", "least", "most"),
)


def main() -> None:
    options = read_options()
    options.out.mkdir(parents=True, exist_ok=True)
    for draw in options.draws:
        for name in manifest():
            path = options.data / f"{name}.tsv.gz"
            target = options.out / f"{name}-{draw}.csv"
            if not path.exists() or target.exists():
                continue
            data = read_instance(name, path)
            if len(data.X) > options.rows:
                continue
            lines = [line for design in DESIGNS for line in compare(data, design, draw, options.replicates)]
            with target.open("w", newline="") as file:
                writer = csv.DictWriter(file, COLUMNS)
                writer.writeheader()
                writer.writerows(lines)
            print(f"{name} {draw}: {len(lines)} estimates", flush=True)
    show(options.out)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with NAME.tsv.gz files")
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--draws", type=int, nargs="+", default=[0])
    parser.add_argument("--replicates", type=int, default=30)
    parser.add_argument("--rows", type=int, default=1000, help="most rows of an instance")
    return parser.parse_args()


def compare(data, design: str, number: int, n_replicates: int) -> list[dict]:
    """Estimates of all domains and classes of one draw beside the truth; none if only one class is labeled."""
    draw = DESIGNS[design](data, number, 0.1)
    y, truth = draw.y, np.where(data.is_a, "A", "B")
    if len({label for label in y if label is not None}) < 2:
        return []
    rng = np.random.default_rng([number, zlib.crc32(data.name.encode())])
    divisions = {"feature": quartiles(data.X, rng), "random": rng.integers(5, size=len(y))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = S2OCTClassifier(random_state=0).fit(data.X, y, totals=draw.totals)
        found = clf.estimate(by=divisions, replicates=n_replicates)
        forest, again = forests(draw, n_replicates)
    lines = []
    for row in found:
        here = divisions[row["by"]] == row["domain"]
        if (here & ~draw.is_labeled).sum() < FEWEST_ROWS:
            continue
        n_rows, share = row["rows"], row["uncorrected"] / row["rows"]
        naive = 1.96 * np.sqrt(n_rows * share * (1 - share))
        counts = [(classes[here] == row["class"]).sum() for classes in again]
        low, high = np.percentile(counts, [2.5, 97.5])
        kept = ("domain", "class", "rows", "estimate", "low", "high", "uncorrected", "guide", "least", "most")
        lines.append(
            {name: row[name] for name in kept}
            | {"instance": data.name, "draw": number, "design": design, "division": row["by"]}
            | {"truth": int((truth[here] == row["class"]).sum())}
            | {"naive_low": row["uncorrected"] - naive, "naive_high": row["uncorrected"] + naive}
            | {"forest": int((forest[here] == row["class"]).sum()), "forest_low": low, "forest_high": high}
        )
    return lines


def quartiles(X, rng: np.random.Generator):
    """Domains by the quartiles of a random feature."""
    feature = X[:, int(rng.integers(X.shape[1]))]
    return np.searchsorted(np.unique(np.quantile(feature, [0.25, 0.5, 0.75])), feature)


def forests(draw: Draw, n_replicates: int):
    """Completed labels of a forest that knows the total, and of others fitted to bootstrap samples of the labels."""
    labeled, bootstrap, rng = np.flatnonzero(draw.is_labeled), Bootstrap(), np.random.default_rng(0)
    codes = (~draw.data.is_a).astype(int)[labeled]

    def completed(rows) -> np.ndarray:
        clf = strong(RandomForestClassifier(TREES, random_state=0)).fit(draw.data.X[rows], draw.y[rows], draw.totals)
        labels = draw.y.copy()
        labels[~draw.is_labeled] = clf.transduction_[np.flatnonzero(~draw.is_labeled[rows])]
        return labels

    unlabeled = np.flatnonzero(~draw.is_labeled)
    again = [
        completed(np.concatenate([np.repeat(labeled, bootstrap.times(codes, 0, rng).astype(int)), unlabeled]))
        for _ in range(n_replicates)
    ]
    return completed(np.arange(len(codes))), again


def show(folder: Path) -> None:
    """Print the tables."""
    lines = [line for path in sorted(folder.glob("*.csv")) for line in csv.DictReader(path.open())]
    groups = defaultdict(list)
    for line in lines:
        values = {name: float(line[name]) for name in COLUMNS[6:]}
        for key in ((line["design"], line["division"]), (line["design"], "all"), ("all", "all")):
            groups[key].append(values)
    print(f"{len(lines)} estimates of {len({line['instance'] for line in lines})} instances")
    print(f"{'design':8s} {'domains':8s} {'n':>6s}  {'covered':>7s} {'naive':>6s} {'forest':>6s}   width: naive forest")
    for key in sorted(groups):
        print(f"{key[0]:8s} {key[1]:8s} {len(groups[key]):6d}  {intervals(groups[key])}")
    print("error as a share of the domain, root mean square: corrected, uncorrected, guide, forest; truth in the range")
    for key in sorted(groups):
        print(f"{key[0]:8s} {key[1]:8s}  {errors(groups[key])}")
    print("bias: by how much estimates are nearer to the share of the whole table than the truth: the same four")
    print(f"{'':17s}  {pulls(lines)}")


def intervals(group: list[dict]) -> str:
    def covered(low: str, high: str) -> float:
        return float(np.mean([v[low] - 1e-9 <= v["truth"] <= v[high] + 1e-9 for v in group]))

    def width(low: str, high: str) -> float:
        return float(np.mean([(v[high] - v[low]) / v["rows"] for v in group]))

    pairs = (("low", "high"), ("naive_low", "naive_high"), ("forest_low", "forest_high"))
    return "  ".join(f"{covered(*pair):.3f}" for pair in pairs) + "   " + " ".join(f"{width(*p):.3f}" for p in pairs)


def errors(group: list[dict]) -> str:
    parts = []
    for name in ("estimate", "uncorrected", "guide", "forest"):
        off = np.array([(v[name] - v["truth"]) / v["rows"] for v in group])
        parts.append(f"{np.sqrt((off**2).mean()):.3f}")
    inside = np.mean([v["least"] <= v["truth"] <= v["most"] for v in group])
    return "  ".join(parts) + f"   {inside:.3f}"


def pulls(lines: list[dict]) -> str:
    """Mean error towards the share that a class has in the whole table; sums over domains are right by construction."""
    tables = defaultdict(list)
    for line in lines:
        tables[tuple(line[name] for name in ("instance", "draw", "design", "division", "class"))].append(line)
    parts = []
    for name in ("estimate", "uncorrected", "guide", "forest"):
        towards = []
        for table in tables.values():
            truth, rows, found = (np.array([float(line[key]) for line in table]) for key in ("truth", "rows", name))
            towards += (np.sign(truth.sum() / rows.sum() - truth / rows) * (found - truth) / rows).tolist()
        parts.append(f"{np.mean(towards):.3f}")
    return "  ".join(parts)


if __name__ == "__main__":
    main()
