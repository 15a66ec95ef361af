"""The numbers of a study, from its records."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from s2oct.p2.milp import octh_size, p2_size
from s2oct.p2.prepared import paper_depth
from s2oct.study.designs import n_labeled_rows
from s2oct.study.instances import manifest
from s2oct.study.measures import ConfusionTable
from s2oct.study.methods import METHODS
from s2oct.study.paper import QUANTILES
from s2oct.study.records import FitFacts, TaskRecord

ROWS = ("all", "unlabeled")
"""The rows over which a measure is taken."""

BASELINES = ("octh", "octh-separate")
"""The methods with which the paper compares trees."""

DrawKey = tuple[str, int]
"""The name of a draw of a design: an instance and a sample."""


class Results:
    """The fits of one design, by method and draw; errors are left out."""

    def __init__(self, records: Iterable[TaskRecord], design: str) -> None:
        self.design = design
        self.fits: dict[str, dict[DrawKey, FitFacts]] = defaultdict(dict)
        for record in records:
            if record.task.design == design and record.fit is not None:
                self.fits[record.task.method][record.task.instance, record.task.sample] = record.fit

    @property
    def methods(self) -> list[str]:
        """Methods with a result, in their usual order."""
        return [name for name in METHODS if self.fits.get(name)]

    @property
    def trees(self) -> list[str]:
        """Those of them that fit a tree with a certificate."""
        return [name for name in self.methods if METHODS[name].is_tree]

    def values(self, method: str, measure: str, rows: str) -> list[float]:
        """A measure of every draw."""
        return [measured(fit, measure, rows) for fit in self.fits[method].values()]

    def differences(self, first: str, second: str, measure: str, rows: str, both_finished: bool) -> list[float]:
        """First minus second, draw by draw where both have a result, or only where both proved their trees optimal."""
        mine, others = self.fits[first], self.fits[second]
        return [
            measured(fit, measure, rows) - measured(others[draw], measure, rows)
            for draw, fit in mine.items()
            if draw in others and not (both_finished and not (finished(fit) and finished(others[draw])))
        ]


def counts_of(fit: FitFacts, rows: str) -> ConfusionTable:
    """The counts over all or over the unlabeled rows."""
    return fit.all_rows if rows == "all" else fit.unlabeled_rows


def measured(fit: FitFacts, measure: str, rows: str) -> float:
    """One measure of one fit."""
    value: float = getattr(counts_of(fit, rows), measure)
    return value


def finished(fit: FitFacts) -> bool:
    """Whether a fit ended before its time limit: a tree that is proved optimal, or a method that proves nothing."""
    return fit.certificate is None or fit.certificate.settled


@dataclass(frozen=True)
class Spread:
    """Mean and sample standard deviation of some values; None where there are too few values."""

    n: int
    mean: float | None
    sd: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """The spread of any number of values, even of no values."""
        return cls(
            len(values),
            statistics.fmean(values) if values else None,
            statistics.stdev(values) if len(values) > 1 else None,
        )


@dataclass(frozen=True)
class Solved:
    """How many draws a method proved, and when."""

    method: str
    n_draws: int
    seconds: tuple[float, ...]

    @property
    def share(self) -> float:
        """Share of draws that were proved."""
        return len(self.seconds) / self.n_draws

    @property
    def median_seconds(self) -> float | None:
        """Median of the seconds to a proof; None if nothing was proved."""
        return statistics.median(self.seconds) if self.seconds else None


def solved(results: Results) -> list[Solved]:
    """Times to proof of every tree method, in ascending order."""
    return [
        Solved(
            name,
            len(results.fits[name]),
            tuple(sorted(_seconds(fit) for fit in results.fits[name].values() if finished(fit))),
        )
        for name in results.trees
    ]


def _seconds(fit: FitFacts) -> float:
    return fit.seconds if fit.certificate is None else fit.certificate.seconds


def variable_quantiles(instances: Iterable[str], share: float) -> dict[tuple[str, str], tuple[int, ...]]:
    """Table 2: quantiles of the numbers of variables over some instances, by kind of variable and model."""
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
    return {key: tuple(round(float(at)) for at in np.quantile(counts, QUANTILES)) for key, counts in found.items()}


@dataclass(frozen=True)
class Standing:
    """How a method did over the draws for which every method of the study has a result.

    Attributes
    ----------
    n_off : float
        Mean number of unlabeled rows that would have to change their class to meet the totals.
    """

    method: str
    n_draws: int
    accuracy: Spread
    mcc: Spread
    macro_f1: Spread
    n_off: float
    better: int
    equal: int
    worse: int
    seconds: float


EQUAL = 1e-9
"""Two accuracies closer than this are the same number of rows."""


def standings(results: Results, reference: str) -> list[Standing]:
    """Every method over the unlabeled rows of the draws they share, best mean accuracy first.

    Better, equal and worse count draws in which the method's accuracy is above, at or below the reference's.
    """
    if not results.methods:
        return []
    common = set.intersection(*(set(results.fits[name]) for name in results.methods))
    found = [_standing(results, name, reference, sorted(common)) for name in results.methods]
    return sorted(found, key=lambda standing: -(standing.accuracy.mean or 0.0))


def _standing(results: Results, name: str, reference: str, draws: list[DrawKey]) -> Standing:
    fits = [results.fits[name][draw] for draw in draws]
    ahead = [
        fit.unlabeled_rows.accuracy - results.fits[reference][draw].unlabeled_rows.accuracy
        for fit, draw in zip(fits, draws, strict=True)
    ]
    return Standing(
        method=name,
        n_draws=len(draws),
        accuracy=Spread.of([fit.unlabeled_rows.accuracy for fit in fits]),
        mcc=Spread.of([fit.unlabeled_rows.mcc for fit in fits]),
        macro_f1=Spread.of([fit.unlabeled_rows.macro_f1 for fit in fits]),
        n_off=statistics.fmean(fit.unlabeled_rows.n_off for fit in fits) if fits else 0.0,
        better=sum(value > EQUAL for value in ahead),
        equal=sum(abs(value) <= EQUAL for value in ahead),
        worse=sum(value < -EQUAL for value in ahead),
        seconds=statistics.fmean(fit.seconds for fit in fits) if fits else 0.0,
    )


@dataclass(frozen=True)
class Line:
    """One method on one instance under one design: means over its samples."""

    instance: str
    n_rows: int
    n_features: int
    design: str
    method: str
    samples: int
    errors: int
    solved: int | None
    seconds: float | None
    accuracy: float | None
    mcc: float | None
    accuracy_unlabeled: float | None
    mcc_unlabeled: float | None


def per_instance(records: Iterable[TaskRecord]) -> list[Line]:
    """A line for every instance, design and method with a record, in the paper's order."""
    groups: dict[tuple[str, str, str], list[TaskRecord]] = defaultdict(list)
    for record in records:
        groups[record.task.instance, record.task.design, record.task.method].append(record)
    names, methods = list(manifest()), list(METHODS)
    order = sorted(groups, key=lambda key: (names.index(key[0]), key[1], methods.index(key[2])))
    return [_line(*key, groups[key]) for key in order]


def _line(instance: str, design: str, method: str, records: list[TaskRecord]) -> Line:
    fits = [record.fit for record in records if record.fit is not None]

    def mean(values: list[float]) -> float | None:
        return statistics.fmean(values) if values else None

    return Line(
        instance=instance,
        n_rows=records[0].draw.n_rows,
        n_features=records[0].draw.n_features,
        design=design,
        method=method,
        samples=len(records),
        errors=len(records) - len(fits),
        solved=sum(finished(fit) for fit in fits) if METHODS[method].is_tree else None,
        seconds=mean([fit.seconds for fit in fits]),
        accuracy=mean([fit.all_rows.accuracy for fit in fits]),
        mcc=mean([fit.all_rows.mcc for fit in fits]),
        accuracy_unlabeled=mean([fit.unlabeled_rows.accuracy for fit in fits]),
        mcc_unlabeled=mean([fit.unlabeled_rows.mcc for fit in fits]),
    )
