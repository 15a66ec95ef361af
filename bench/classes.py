"""Three classes kept apart: the default and the paper's model beside rivals that know the same totals, draw by draw.

Takes the study's instances that have three classes or more, in the folder or generated, and runs its tasks on biased
samples. What is finished already is not run again, so that methods may have different numbers of draws. Prints, per
method and over the unlabeled rows:

- macro-F1, accuracy and MCC, rows off the totals, the share of draws that meet them all, the share proved within the
  limit, features a split and seconds;
- the default minus the method over the draws that both have, with bootstrap intervals over whole sets.

Draws in which every class has a label and the others are also shown apart: a class without a label is known by its
total alone. Then follow macro-F1 set by set and the draws on which a tree misses totals.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np

from s2oct.study.instances import GENERATED, TWO_CLASSES, DataSource, manifest
from s2oct.study.methods import METHODS
from s2oct.study.records import Fit, Plan, StudySettings, TaskRecord, open_store, read_store
from s2oct.study.run import Run, run_local

CLASSES = 3
DEFAULT, PAPER = "s2oct-guided", "s2oct"
RIVALS = ("rf-strong", "lightgbm-strong", "catboost-strong")
RESAMPLES = 4000

Draw = tuple[str, int]
Found = dict[str, dict[Draw, TaskRecord]]


def main() -> None:
    options = read_options()
    if options.data is not None:
        fit_all(options)
    found = read_records(options.out)
    if options.beside is not None:
        found = by_usual_order({**read_records(options.beside), **found})
    report(found, "all draws")
    for title, wanted in (("every class has a label", True), ("some class has no label", False)):
        report(chosen(found, wanted), title)
    show_sets(found)
    show_missed_totals(found)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the study's files; without it, only report")
    parser.add_argument("--out", type=Path, default=Path("bench/out/classes"), help="folder of the records")
    parser.add_argument("--beside", type=Path, help="records of another limit, of methods that are not in --out")
    parser.add_argument("--sets", nargs="*", default=None, help="instances (default: all with three classes or more)")
    parser.add_argument("--draws", type=int, default=5, help="draws of each set")
    parser.add_argument("--methods", nargs="*", default=[DEFAULT, PAPER, *RIVALS], choices=list(METHODS))
    parser.add_argument("--limit", type=float, default=20.0, help="seconds per fit of a tree")
    parser.add_argument("--jobs", type=int, default=1)
    return parser.parse_args()


def fit_all(options: argparse.Namespace) -> None:
    source = DataSource(options.data, download=False)
    settings = StudySettings(labeled_share=0.1, time_limit=options.limit, solver="highs", seed=0, classes=CLASSES)
    methods = [name for name in options.methods if METHODS[name].needs is None]
    for name in set(options.methods) - set(methods):
        print(f"left out: {METHODS[name].needs}")
    sets = options.sets or sets_with_classes(source)
    plan = Plan(tuple(sets), options.draws, ("biased",), tuple(methods))
    with open_store(options.out, settings) as store:
        run = Run(store, plan, source)
        n_tasks = len(run.tasks)
        for number, record in enumerate(run.go(lambda jobs: run_local(jobs, n_workers=options.jobs, memory=0)), 1):
            print(f"{number}/{n_tasks}  {record.task}  {record.error or ''}", flush=True)


def sets_with_classes(source: DataSource) -> list[str]:
    available = [name for name in manifest() if name in GENERATED or (source.folder / f"{name}.tsv.gz").exists()]
    return [name for name in available if source.load(name, CLASSES)[0].n_classes > TWO_CLASSES]


def read_records(folder: Path) -> Found:
    """Records of fits by method and draw."""
    found: Found = defaultdict(dict)
    for task, record in read_store(folder).records.items():
        if record.fit is None:
            print(f"failed: {task}: {record.error}")
        else:
            found[task.method][task.instance, task.sample] = record
    return by_usual_order(found)


def by_usual_order(found: Found) -> Found:
    return {name: found[name] for name in METHODS if name in found}


def chosen(found: Found, wanted: bool) -> Found:
    """The draws in which every class has a label, or the other ones."""
    parts = {
        name: {draw: record for draw, record in records.items() if labels_every_class(record) == wanted}
        for name, records in found.items()
    }
    return {name: records for name, records in parts.items() if records}


def labels_every_class(record: TaskRecord) -> bool:
    everything, unlabeled = (
        np.sum(counts.table, axis=1) for counts in (record.fit.all_rows, record.fit.unlabeled_rows)
    )
    return bool((everything > unlabeled).all())


def report(found: Found, title: str) -> None:
    draws = {draw for records in found.values() for draw in records}
    print(f"\n{title}: {len(draws)} draws of {len({name for name, _ in draws})} sets; biased samples, unlabeled rows")
    print(
        f"{'method':18s} {'draws':>5s}  {'F1':>5s} {'acc':>5s} {'MCC':>5s}  {'off':>6s} {'met':>5s} {'proved':>6s}  "
        f"{'f/split':>7s} {'most':>5s} {'terms':>5s}  {'median s':>8s} {'mean s':>6s}   "
        f"{DEFAULT} minus it: macro-F1, accuracy (95 %), won/tied/lost in macro-F1"
    )
    for name, records in found.items():
        counts = [record.fit.unlabeled_rows for record in records.values()]
        means = [np.mean([getattr(each, measure) for each in counts]) for measure in ("macro_f1", "accuracy", "mcc")]
        off, seconds = np.array([each.n_off for each in counts]), [record.fit.seconds for record in records.values()]
        line = f"{name:18s} {len(records):5d}  " + " ".join(f"{mean:5.3f}" for mean in means)
        line += f"  {off.mean():6.2f} {np.mean(off == 0):5.2f} {share_proved(name, records):>6s}  {sizes(records)}"
        line += f"  {np.median(seconds):8.2f} {np.mean(seconds):6.2f}"
        if name != DEFAULT and DEFAULT in found:
            line += "   " + compared(found[DEFAULT], records)
        print(line)


def share_proved(name: str, records: dict[Draw, TaskRecord]) -> str:
    if not METHODS[name].is_tree:
        return "-"
    return f"{np.mean([record.solved for record in records.values()]):.2f}"


def sizes(records: dict[Draw, TaskRecord]) -> str:
    """Mean and largest number of features a split, and mean terms, over the trees that have a split."""
    trees = [record.fit for record in records.values() if record.fit.n_splits]
    if not trees:
        return f"{'-':>7s} {'-':>5s} {'-':>5s}"
    widths = [width(fit) for fit in trees]
    return f"{np.mean(widths):7.2f} {max(widths):5.2f} {np.mean([fit.n_terms for fit in trees]):5.1f}"


def width(fit: Fit) -> float:
    """Mean features of a split of one tree."""
    return fit.n_terms / fit.n_splits


def compared(first: dict[Draw, TaskRecord], second: dict[Draw, TaskRecord]) -> str:
    draws = sorted(set(first) & set(second))
    if not draws:
        return "no draws in common"
    parts = []
    for measure in ("accuracy", "macro_f1"):
        ahead = np.array([measured(first[draw], measure) - measured(second[draw], measure) for draw in draws])
        low, high = interval(ahead, [instance for instance, _ in draws])
        parts.insert(0, f"{ahead.mean():+.3f} [{low:+.3f}, {high:+.3f}]")
    won, lost = int((ahead > 1e-9).sum()), int((ahead < -1e-9).sum())
    return "  ".join(parts) + f"  {won}/{len(draws) - won - lost}/{lost}"


def measured(record: TaskRecord, measure: str) -> float:
    return getattr(record.fit.unlabeled_rows, measure)


def interval(ahead: np.ndarray, sets: list[str]) -> tuple[float, float]:
    """A bootstrap interval of the mean that draws whole sets: draws of one set are no independent evidence."""
    names, index = np.unique(np.array(sets), return_inverse=True)
    sums, numbers = np.bincount(index, weights=ahead), np.bincount(index)
    picked = np.random.default_rng(0).integers(len(names), size=(RESAMPLES, len(names)))
    low, high = np.quantile(sums[picked].sum(axis=1) / numbers[picked].sum(axis=1), [0.025, 0.975])
    return float(low), float(high)


def show_sets(found: Found) -> None:
    """Mean macro-F1 of every method on every set, and what the default is like there."""
    print(f"\nMacro-F1 set by set\n{'set':24s} {'rows':>5s} " + " ".join(f"{name:>16s}" for name in found))
    for instance in (name for name in manifest() if any(name == of for fits in found.values() for of, _ in fits)):
        of_set = {name: [record for (of, _), record in fits.items() if of == instance] for name, fits in found.items()}
        n_rows = next(records[0].n_rows for records in of_set.values() if records)
        means = [
            np.mean([measured(record, "macro_f1") for record in records] or [np.nan]) for records in of_set.values()
        ]
        line = f"{instance:24s} {n_rows:5d} " + " ".join(f"{mean:16.3f}" for mean in means)
        for name in (name for name in (DEFAULT, PAPER) if of_set.get(name)):
            records = of_set[name]
            line += f"   {name}: proved {np.mean([record.solved for record in records]):.2f},"
            line += f" {np.mean([width(record.fit) for record in records if record.fit.n_splits] or [0]):.1f} features,"
            line += f" {np.median([record.fit.seconds for record in records]):.2f} s"
        print(line)


def show_missed_totals(found: Found) -> None:
    for name in (name for name in (DEFAULT, PAPER) if name in found):
        missed = {draw: n_off for draw, record in found[name].items() if (n_off := record.fit.unlabeled_rows.n_off)}
        print(f"\n{name} misses totals on {len(missed)} of {len(found[name])} draws")
        for (instance, sample), n_off in missed.items():
            print(f"  {instance}, draw {sample}: {n_off} rows would have to change their class")


if __name__ == "__main__":
    main()
