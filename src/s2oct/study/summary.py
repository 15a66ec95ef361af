"""The results of a study, computed from its records. A table is a list of rows, whose keys are column names."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np

from s2oct.p2.milp import octh_size, p2_size
from s2oct.p2.prepared import paper_depth
from s2oct.study import paper
from s2oct.study.instances import TWO_CLASSES, manifest, n_labeled_rows
from s2oct.study.measures import measures_of
from s2oct.study.methods import METHODS
from s2oct.study.records import Fit, StudySettings, TaskRecord

ROWS = ("all", "unlabeled")
"""The rows over which a measure is taken."""

BASELINES = ("octh", "octh-separate")
"""The methods with which the paper compares trees."""

EQUAL = 1e-9
"""Two accuracies closer than this correspond to the same number of rows."""

DrawKey = tuple[str, int]
"""The name of a draw of a design: an instance and a sample."""

Row = dict[str, Any]
"""A row of a table, by column."""


class Results:
    """The fits of one design, by method and draw; errors are left out."""

    def __init__(self, records: Iterable[TaskRecord], design: str, settings: StudySettings) -> None:
        self.design = design
        self.measures = measures_of(settings.classes)
        self.is_in_paper = design == "biased" and settings.classes == TWO_CLASSES
        """Whether the paper prints numbers for this design and these classes."""
        self.fits: dict[str, dict[DrawKey, Fit]] = defaultdict(dict)
        for record in records:
            if record.task.design == design and record.fit is not None:
                self.fits[record.task.method][record.task.instance, record.task.sample] = record.fit

    @property
    def methods(self) -> list[str]:
        """Methods with results, in their usual order."""
        return [name for name in METHODS if self.fits.get(name)]

    @property
    def trees(self) -> list[str]:
        """Methods with results that fit a tree with a certificate."""
        return [name for name in self.methods if METHODS[name].is_tree]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Pairs of a tree method that uses the total and a baseline with results."""
        return [
            (first, second)
            for second in BASELINES
            if second in self.methods
            for first in self.trees
            if first not in BASELINES
        ]

    def differences(self, first: str, second: str, measure: str, rows: str, both_finished: bool) -> list[float]:
        """First minus second, for draws where both have a result, or only where both proved their trees optimal."""
        mine, others = self.fits[first], self.fits[second]
        return [
            measured(fit, measure, rows) - measured(others[draw], measure, rows)
            for draw, fit in mine.items()
            if draw in others and not (both_finished and not (finished(fit) and finished(others[draw])))
        ]


def measured(fit: Fit, measure: str, rows: str) -> float:
    """One measure of one fit, over all rows or over the unlabeled rows."""
    value: float = getattr(fit.all_rows if rows == "all" else fit.unlabeled_rows, measure)
    return value


def finished(fit: Fit) -> bool:
    """Whether a fit ended before its time limit: its tree is proved optimal, or the method proves nothing."""
    return fit.settled is not False


def solved(results: Results) -> list[Row]:
    """Number of draws that each tree method proved, and the seconds to each proof in ascending order."""
    rows = []
    for name in results.trees:
        fits = list(results.fits[name].values())
        seconds = sorted(fit.seconds if fit.fit_seconds is None else fit.fit_seconds for fit in fits if finished(fit))
        row = {
            "design": results.design,
            "method": name,
            "draws": len(fits),
            "proved": len(seconds),
            "share": len(seconds) / len(fits),
            "median_seconds": statistics.median(seconds) if seconds else None,
            "paper_share": paper.SOLVED.get(name) if results.is_in_paper else None,
            "seconds": seconds,
        }
        rows.append(row)
    return rows


def differences(results: Results) -> list[Row]:
    """The paper's tables of differences, for all pairs of methods, with the paper's numbers where available."""
    rows = []
    for (first, second), measure, over, both in product(results.pairs, results.measures, ROWS, (False, True)):
        is_printed = results.is_in_paper and first in ("s2oct", "s2oct-plain")
        printed = paper.DIFFERENCES.get((measure, over, both)) if is_printed else None
        values = results.differences(first, second, measure, over, both)
        row = {
            "design": results.design,
            "first": first,
            "second": second,
            "measure": measure,
            "rows": over,
            "draws": "both finished" if both else "all",
            "n": len(values),
            "mean": _mean(values),
            "sd": _sd(values),
            "paper_mean": printed[0] if printed else None,
            "paper_sd": printed[1] if printed else None,
        }
        rows.append(row)
    return rows


def standings(results: Results, reference: str) -> list[Row]:
    """Compare all methods over the unlabeled rows of their common draws, best mean accuracy first.

    Better, equal and worse count draws in which the method's accuracy is above, at or below the reference's. Rows off
    are unlabeled rows that would have to change class to meet the totals.
    """
    if not results.methods:
        return []
    common = sorted(set.intersection(*(set(results.fits[name]) for name in results.methods)))
    rows = []
    for name in results.methods:
        counts = [results.fits[name][draw].unlabeled_rows for draw in common]
        others = [results.fits[reference][draw].unlabeled_rows for draw in common]
        ahead = [mine.accuracy - other.accuracy for mine, other in zip(counts, others, strict=True)]
        accuracy, mcc, macro_f1 = (
            [getattr(each, measure) for each in counts] for measure in ("accuracy", "mcc", "macro_f1")
        )
        row = {
            "design": results.design,
            "method": name,
            "draws": len(common),
            "accuracy_unlabeled_mean": _mean(accuracy),
            "accuracy_unlabeled_sd": _sd(accuracy),
            "mcc_unlabeled_mean": _mean(mcc),
            "mcc_unlabeled_sd": _sd(mcc),
            "macro_f1_unlabeled_mean": _mean(macro_f1),
            "macro_f1_unlabeled_sd": _sd(macro_f1),
            "mean_rows_off": _mean([each.n_off for each in counts]) or 0.0,
            "reference": reference,
            "better": sum(value > EQUAL for value in ahead),
            "equal": sum(abs(value) <= EQUAL for value in ahead),
            "worse": sum(value < -EQUAL for value in ahead),
            "mean_seconds": _mean([results.fits[name][draw].seconds for draw in common]) or 0.0,
        }
        rows.append(row)
    return sorted(rows, key=lambda row: -(row["accuracy_unlabeled_mean"] or 0.0))


def per_instance(records: Iterable[TaskRecord]) -> list[Row]:
    """Means over the samples of every instance, design and method with a record, in the paper's order."""
    groups: dict[tuple[str, str, str], list[TaskRecord]] = defaultdict(list)
    for record in records:
        groups[record.task.instance, record.task.design, record.task.method].append(record)
    names, methods = list(manifest()), list(METHODS)
    rows = []
    for instance, design, method in sorted(
        groups, key=lambda key: (names.index(key[0]), key[1], methods.index(key[2]))
    ):
        group = groups[instance, design, method]
        fits = [record.fit for record in group if record.fit is not None]
        row = {
            "instance": instance,
            "n_rows": group[0].n_rows,
            "n_features": group[0].n_features,
            "design": design,
            "method": method,
            "samples": len(group),
            "errors": len(group) - len(fits),
            "solved": sum(finished(fit) for fit in fits) if METHODS[method].is_tree else None,
            "seconds": _mean([fit.seconds for fit in fits]),
            "accuracy": _mean([fit.all_rows.accuracy for fit in fits]),
            "mcc": _mean([fit.all_rows.mcc for fit in fits]),
            "accuracy_unlabeled": _mean([fit.unlabeled_rows.accuracy for fit in fits]),
            "mcc_unlabeled": _mean([fit.unlabeled_rows.mcc for fit in fits]),
        }
        rows.append(row)
    return rows


def model_sizes(records: Iterable[TaskRecord], share: float) -> list[Row]:
    """Table 2: the paper's numbers, ours for its 97 instances, and ours for those with records."""
    everything = variable_quantiles(manifest(), share)
    here = variable_quantiles({record.task.instance for record in records}, share)
    return [
        {
            "kind": kind,
            "model": model,
            "quantile": quantile,
            "printed": printed[place],
            "computed": everything[kind, model][place],
            "here": here[kind, model][place],
        }
        for (kind, model), printed in paper.VARIABLES.items()
        for place, quantile in enumerate(paper.QUANTILES)
    ]


def variable_quantiles(instances: Iterable[str], share: float) -> dict[tuple[str, str], tuple[int, ...]]:
    """Quantiles over some instances of the numbers of variables, by kind of variable and model."""
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for name in instances:
        facts = manifest()[name]
        n, depth = n_labeled_rows(facts.n_rows, share), paper_depth(facts.n_rows)
        for model, size in (
            ("OCT-H", octh_size(n, facts.n_features, 2, depth)),
            ("S²OCT", p2_size(n, facts.n_rows - n, facts.n_features, depth)),
        ):
            found["continuous", model].append(size.n_continuous)
            found["binary", model].append(size.n_binary)
    return {
        key: tuple(round(float(at)) for at in np.quantile(counts, paper.QUANTILES)) for key, counts in found.items()
    }


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None


def _sd(values: Sequence[float]) -> float | None:
    """Sample standard deviation; None for fewer than two values."""
    return statistics.stdev(values) if len(values) > 1 else None
