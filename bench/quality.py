"""How good the tree is: accuracy, MCC, size and seconds of every method on the same draws, compared draw by draw.

Runs the study's tasks for the methods that are asked for (what is finished already is not run again), and prints per
design, for all draws, for the draws on which the defaults were settled and for the later ones:

- means over the draws, the share of draws that meet the total, what there is to read in a tree, seconds and their
  ratio to a random forest's on the same draw;
- the default against each method with a confidence interval and wins, ties and losses.

Draws with a single labeled class are also shown apart. Then follow the sets where the default loses most against the
strongest rivals, MCC against terms, the certificates of the tie-break against those of plain P2, and what the choice of
defaults is worth on sets that had no part in it. CSV and box plots go beside the records. The rivals of the dependency
group bench take part where they are installed.
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np

from s2oct.study.instances import DataSource, manifest
from s2oct.study.measures import MEASURES, Confusion
from s2oct.study.methods import METHODS
from s2oct.study.records import Plan, StudySettings, TaskRecord, open_store, read_store
from s2oct.study.run import Run, run_local

DEFAULT = "s2oct-guided"
EARLIER = "s2oct-earlier"
"""The default of an earlier version, from the records of its own run."""

LEFT_OUT = ("octh-separate", "s2oct-plain")
CANDIDATES = tuple(name for name in METHODS if name.startswith("s2oct") and name not in LEFT_OUT)
"""Settings of the tree between which the defaults are chosen; those without records are left out."""

STRONGEST = ("rf-strong", "et-strong", "catboost-strong")
"""Rivals against which the worst sets of the default are listed."""

CLOCK = "rf"
"""The method whose seconds are the unit: a forest of 200 trees. It fits nothing if one class is labeled."""

SETTLED_DRAWS = (0, 1)
"""Draws on which the defaults were settled; only the later ones are evidence."""

RESAMPLES, FOLDS, WORST_SETS = 4000, 10, 12


@dataclass(frozen=True)
class Row:
    instance: str
    sample: int
    design: str
    method: str
    one_class: bool
    seconds: float
    objective: float | None
    proved: bool
    n_splits: int | None
    n_terms: int | None
    off: int  # rows by which the total is missed
    n_unlabeled: int
    values: dict[tuple[str, str], float]  # by measure and rows


def main() -> None:
    options = read_options()
    if options.data is not None:
        fit_all(options)
    rows = read_rows(options.out)
    if options.earlier is not None:
        rows += [replace(row, method=EARLIER) for row in read_rows(options.earlier) if row.method == DEFAULT]
    write_csv(rows, options.out / "quality.csv")
    for design in sorted({row.design for row in rows}):
        of_design = [row for row in rows if row.design == design]
        parts = {
            "two labeled classes": [row for row in of_design if not row.one_class],
            "one labeled class": [row for row in of_design if row.one_class],
            "draws that were settled on": [row for row in of_design if row.sample in SETTLED_DRAWS],
            "later draws": [row for row in of_design if row.sample not in SETTLED_DRAWS],
            "all draws": of_design,
        }
        for title, part in parts.items():
            if part:
                report(part, f"{design}, {title}")
        show_missed_totals(of_design)
        for rival in STRONGEST:
            show_worst_sets(of_design, rival)
        show_sizes(of_design)
        compare_certificates(of_design)
        choose_defaults(of_design)
        draw_boxes(of_design, options.out / f"quality-{design}.png")


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the study's files; without it, only report")
    parser.add_argument("--out", type=Path, default=Path("bench/out/quality"), help="folder of the records")
    parser.add_argument("--earlier", type=Path, help="records of an earlier version, whose default takes part, too")
    parser.add_argument("--sets", nargs="*", default=None, help="instances (default: those in the folder)")
    parser.add_argument("--draws", type=int, default=5, help="draws of each set")
    parser.add_argument("--designs", nargs="*", default=["biased", "simple"])
    runnable = [name for name, method in METHODS.items() if name not in LEFT_OUT and method.needs is None]
    parser.add_argument("--methods", nargs="*", default=runnable)
    parser.add_argument("--limit", type=float, default=20.0, help="seconds per fit of a tree")
    parser.add_argument("--jobs", type=int, default=1)
    return parser.parse_args()


def fit_all(options: argparse.Namespace) -> None:
    sets = options.sets or [name for name in manifest() if (options.data / f"{name}.tsv.gz").exists()]
    settings = StudySettings(labeled_share=0.1, time_limit=options.limit, solver="highs", seed=0)
    for name in options.methods:
        if METHODS[name].needs is not None:
            print(f"left out: {METHODS[name].needs}")
    methods = [name for name in dict.fromkeys([CLOCK, *options.methods]) if METHODS[name].needs is None]
    plan = Plan(tuple(sets), options.draws, tuple(options.designs), tuple(methods))
    with open_store(options.out, settings) as store:
        run = Run(store, plan, DataSource(options.data, download=False))
        n_tasks = len(run.tasks)
        for number, record in enumerate(run.go(lambda jobs: run_local(jobs, n_workers=options.jobs, memory=0)), 1):
            print(f"{number}/{n_tasks}  {record.task}  {record.error or ''}", flush=True)


def read_rows(folder: Path) -> list[Row]:
    return [row for record in read_store(folder).records.values() if (row := read_row(record)) is not None]


def read_row(record: TaskRecord) -> Row | None:
    if record.fit is None:
        print(f"failed: {record.task}: {record.error}")
        return None
    whole, unknown = record.fit.all_rows, record.fit.unlabeled_rows
    known = Confusion(tuple(map(tuple, np.subtract(whole.table, unknown.table).tolist())))
    parts = (("unlabeled", unknown), ("all", whole), ("labeled", known))
    return Row(
        record.task.instance,
        record.task.sample,
        record.task.design,
        record.task.method,
        record.n_labeled_a in (0, record.n_labeled),
        record.fit.seconds,
        record.fit.objective,
        record.fit.proved is True,
        record.fit.n_splits,
        record.fit.n_terms,
        unknown.n_off,
        unknown.n_rows,
        {(measure, part): getattr(counts, measure) for part, counts in parts for measure in MEASURES},
    )


def write_csv(rows: Iterable[Row], path: Path) -> None:
    keys = [(measure, part) for part in ("unlabeled", "all") for measure in MEASURES]
    facts = [field.name for field in fields(Row) if field.name != "values"]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(facts + [f"{measure}_{part}" for measure, part in keys])
        for row in sorted(rows, key=lambda row: (row.design, row.instance, row.sample, row.method)):
            writer.writerow([getattr(row, name) for name in facts] + [row.values[key] for key in keys])


def by_method(rows: Iterable[Row]) -> dict[str, dict[tuple[str, int], Row]]:
    found: dict[str, dict[tuple[str, int], Row]] = defaultdict(dict)
    for row in rows:
        found[row.method][row.instance, row.sample] = row
    return {name: found[name] for name in (*METHODS, EARLIER) if name in found}


def report(rows: Sequence[Row], title: str) -> None:
    """Means of every method over the draws it has, and the default against it over the draws they share."""
    methods = by_method(rows)
    n_draws, n_sets = len({(row.instance, row.sample) for row in rows}), len({row.instance for row in rows})
    print(f"\n{title}: {n_draws} draws of {n_sets} sets")
    print(
        f"{'method':22s} {'draws':>5s}  {'acc':>6s} {'MCC':>6s} {'acc labeled':>11s} {'met':>5s}  "
        f"{'f/split':>7s} {'terms':>6s}  {'median s':>8s} {'mean s':>7s} {'x ' + CLOCK:>7s}   "
        f"{DEFAULT} minus it: accuracy, MCC (95 %), won/tied/lost"
    )
    clock = methods.get(CLOCK, {})
    for name, found in methods.items():
        accuracy, mcc, labeled = (
            np.mean([row.values[key] for row in found.values()])
            for key in (("accuracy", "unlabeled"), ("mcc", "unlabeled"), ("accuracy", "labeled"))
        )
        seconds = [row.seconds for row in found.values()]
        ratios = [
            row.seconds / clock[draw].seconds for draw, row in found.items() if draw in clock and not row.one_class
        ]
        line = f"{name:22s} {len(found):5d}  {accuracy:6.3f} {mcc:6.3f} {labeled:11.3f}"
        line += f" {np.mean([row.off == 0 for row in found.values()]):5.3f}  {size_of(found):>14s}"
        line += (
            f"  {np.median(seconds):8.2f} {np.mean(seconds):7.2f} {f'{np.median(ratios):.1f}' if ratios else '-':>7s}"
        )
        if name != DEFAULT and DEFAULT in methods:
            line += "   " + compared(methods[DEFAULT], found)
        print(line)


def size_of(found: dict[tuple[str, int], Row]) -> str:
    """Mean features in a split, over the trees that have one, and mean terms of a tree."""
    trees = [row for row in found.values() if row.n_terms is not None]
    if not trees:
        return f"{'-':>7s} {'-':>6s}"
    widths = [row.n_terms / row.n_splits for row in trees if row.n_splits]
    return f"{np.mean(widths) if widths else 0:7.1f} {np.mean([row.n_terms for row in trees]):6.1f}"


def compared(first: dict[tuple[str, int], Row], second: dict[tuple[str, int], Row]) -> str:
    draws = sorted(set(first) & set(second))
    if not draws:
        return "no draws in common"
    parts = []
    for measure in ("accuracy", "mcc"):
        difference = np.array(
            [first[d].values[measure, "unlabeled"] - second[d].values[measure, "unlabeled"] for d in draws]
        )
        low, high = interval(difference, [instance for instance, _ in draws])
        parts.append(f"{difference.mean():+.4f} [{low:+.4f}, {high:+.4f}]")
    won, lost = int((difference > 1e-9).sum()), int((difference < -1e-9).sum())
    return "  ".join(parts) + f"  {won}/{len(draws) - won - lost}/{lost}"


def interval(difference: np.ndarray, sets: Sequence[str]) -> tuple[float, float]:
    """A bootstrap interval of the mean that draws whole sets: draws of one set are no independent evidence."""
    names, index = np.unique(np.array(sets), return_inverse=True)
    sums, sizes = np.bincount(index, weights=difference), np.bincount(index)
    chosen = np.random.default_rng(0).integers(len(names), size=(RESAMPLES, len(names)))
    low, high = np.quantile(sums[chosen].sum(axis=1) / sizes[chosen].sum(axis=1), [0.025, 0.975])
    return float(low), float(high)


def show_missed_totals(rows: Sequence[Row]) -> None:
    """Draws on which the default misses its total."""
    ours = [row for row in rows if row.method == DEFAULT]
    missed = [row for row in ours if row.off]
    share = np.mean([row.off / row.n_unlabeled for row in ours]) if ours else 0.0
    print(f"\n{DEFAULT} misses the total on {len(missed)} of {len(ours)} draws, by {share:.2%} of the rows in the mean")
    for row in missed:
        print(f"  {row.instance}, draw {row.sample}: {row.off} rows off")


def show_worst_sets(rows: Sequence[Row], rival: str) -> None:
    """The sets on which the default loses most MCC against a rival."""
    methods = by_method(rows)
    ours, other = methods.get(DEFAULT, {}), methods.get(rival, {})
    by_set = defaultdict(list)
    for draw in sorted(set(ours) & set(other)):
        by_set[draw[0]].append((ours[draw], other[draw]))
    if not by_set:
        return
    lines = []
    for name, pairs in by_set.items():
        means = np.mean([[row.values["mcc", "unlabeled"] for row in pair] for pair in pairs], axis=0)
        terms = [first.n_terms for first, _ in pairs if first.n_terms is not None]
        lines.append((means[0] - means[1], f"{name:40s} {len(pairs):5d} {means[0]:7.3f} {means[1]:7.3f}", terms))
    lines.sort(key=lambda line: line[0])
    print(f"\nWhere {DEFAULT} loses most against {rival}, by mean MCC on the unlabeled rows:")
    print(f"  {'set':40s} {'draws':>5s} {'ours':>7s} {'rival':>7s} {'difference':>10s} {'our terms':>9s}")
    for difference, text, terms in lines[:WORST_SETS]:
        if difference < -0.0005:
            print(f"  {text} {difference:+10.3f} {f'{np.mean(terms):.1f}' if terms else '-':>9s}")


def show_sizes(rows: Sequence[Row]) -> None:
    """MCC against terms, over the draws in which every such method has a tree."""
    found_trees = {
        name: {draw: row for draw, row in found.items() if row.n_terms is not None}
        for name, found in by_method(rows).items()
    }
    trees = {name: found for name, found in found_trees.items() if found}
    draws = sorted(set.intersection(*(set(found) for found in trees.values()))) if trees else []
    if not draws:
        return
    means = {
        name: np.mean([[found[d].n_terms, found[d].values["mcc", "unlabeled"]] for d in draws], axis=0)
        for name, found in trees.items()
    }
    print(f"\nTerms of a tree and MCC on the unlabeled rows, {len(draws)} draws:")
    for name, (terms, mcc) in sorted(means.items(), key=lambda item: item[1][0]):
        print(f"  {name:22s} {terms:7.1f} {mcc:7.3f}")


def compare_certificates(rows: Sequence[Row]) -> None:
    """Whether the tie-break costs anything in P2."""
    methods = by_method(rows)
    if "s2oct" not in methods or "s2oct-tiebreak" not in methods:
        return
    plain, tied = methods["s2oct"], methods["s2oct-tiebreak"]
    draws = sorted(set(plain) & set(tied))
    worse = [d for d in draws if (tied[d].objective or 0) > (plain[d].objective or 0) + 1e-6]
    better = [d for d in draws if (tied[d].objective or 0) < (plain[d].objective or 0) - 1e-6]
    unproved = [d for d in draws if plain[d].proved and not tied[d].proved]
    gained = [d for d in draws if tied[d].proved and not plain[d].proved]
    print(
        f"\nP2 under guide_weight=0 against guide=None, {len(draws)} draws: proved there alone {len(unproved)}, "
        f"proved here alone {len(gained)}, cost higher {len(worse)}, cost lower {len(better)}"
    )
    for draw in worse:
        print(
            f"  cost higher: {draw[0]} draw {draw[1]}: {tied[draw].objective:.6g} against {plain[draw].objective:.6g}"
        )


def choose_defaults(rows: Sequence[Row]) -> None:
    """Choose a candidate by mean MCC on nine tenths of the sets, and look at it on the last tenth; ten times."""
    methods = {name: found for name, found in by_method(rows).items() if name in CANDIDATES}
    if len(methods) < 2:
        return
    draws = sorted(set.intersection(*(set(found) for found in methods.values())))
    sets = np.array([instance for instance, _ in draws])
    values = {name: np.array([found[d].values["mcc", "unlabeled"] for d in draws]) for name, found in methods.items()}
    names = np.random.default_rng(0).permutation(np.unique(sets))
    held_out, chosen = [], []
    for part in np.array_split(names, FOLDS):
        inside = np.isin(sets, part)
        if inside.all() or not inside.any():
            continue
        best = max(values, key=lambda name: values[name][~inside].mean())
        chosen.append(best)
        held_out.append(values[best][inside])
    outside = float(np.concatenate(held_out).mean())
    best = max(values, key=lambda name: values[name].mean())
    print(
        f"\nChoice of defaults by mean MCC, {len(draws)} draws of {len(names)} sets: {best} {values[best].mean():.4f}; "
        f"chosen on other sets ({', '.join(sorted(set(chosen)))}): {outside:.4f}"
    )
    for name, found in values.items():
        print(f"  {name:22s} {found.mean():.4f}")


def draw_boxes(rows: Sequence[Row], path: Path) -> None:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    methods = by_method(rows)
    figure, axes = plt.subplots(2, 2, figsize=(11, 9), sharey=True, layout="constrained")
    names = list(reversed(methods))
    for axis, measure in zip(axes.ravel(), MEASURES, strict=True):
        columns = [[row.values[measure, "unlabeled"] for row in methods[name].values()] for name in names]
        axis.boxplot(columns, orientation="horizontal", tick_labels=names, widths=0.6, showmeans=True, sym=".")
        axis.set_title(f"{measure}, unlabeled rows")
        axis.grid(axis="x", alpha=0.3)
    figure.savefig(path, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    main()
