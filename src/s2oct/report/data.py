"""The data and the bias of the sample: labeled rows against what is known of all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import hypergeom

from s2oct.arrays import IntArray
from s2oct.estimators.fitted import FittedRows
from s2oct.report.wording import percent
from s2oct.wording import count, plural

SHOWN_FEATURES = 10
"""Features in the table, those with the largest differences first."""
USUAL = 0.95
"""How often a simple random sample lies in the range that is given."""


@dataclass(frozen=True)
class ClassLine:
    """One class in the tables of the report; counts of rows, None where no total is known."""

    index: int
    name: str
    labeled: int
    labeled_share: float
    known: int | None
    known_share: float | None
    achieved: int
    achieved_share: float
    population: int | None
    population_share: float | None

    @property
    def missed(self) -> int | None:
        """Rows by which the tree is above the known total."""
        return None if self.known is None else self.achieved - self.known


@dataclass(frozen=True)
class Sample:
    """The sample and what is known beside it."""

    n_rows: int
    n_labeled: int
    n_unlabeled: int
    classes: tuple[ClassLine, ...]
    bias: str
    met: str

    @property
    def has_total(self) -> bool:
        """Whether a total is known."""
        return self.classes[0].known is not None


@dataclass(frozen=True)
class FeatureLine:
    """A feature among labeled and unlabeled rows; the difference is in standard deviations."""

    name: str
    labeled: float
    unlabeled: float
    difference: float


def describe_sample(rows: FittedRows, totals: IntArray | None) -> Sample:
    """Counts and shares of the classes, and sentences on bias and totals."""
    known = rows.is_labeled
    labeled = rows.labeled_counts.sum(axis=0)
    n_labeled, n_unlabeled = int(known.sum()), int((~known).sum())
    achieved = np.bincount(rows.predicted[~known], minlength=rows.n_classes)
    if not n_unlabeled or (totals is not None and totals.sum() != n_unlabeled):
        totals = None
    lines = tuple(
        ClassLine(
            index=c,
            name=name,
            labeled=int(labeled[c]),
            labeled_share=_share(labeled[c], n_labeled),
            known=None if totals is None else int(totals[c]),
            known_share=None if totals is None else _share(totals[c], n_unlabeled),
            achieved=int(achieved[c]),
            achieved_share=_share(achieved[c], n_unlabeled),
            population=None if totals is None else int(labeled[c] + totals[c]),
            population_share=None if totals is None else _share(labeled[c] + totals[c], len(rows.X)),
        )
        for c, name in enumerate(rows.class_names)
    )
    return Sample(
        n_rows=len(rows.X),
        n_labeled=n_labeled,
        n_unlabeled=n_unlabeled,
        classes=lines,
        bias=_bias(lines, n_labeled, len(rows.X)) if totals is not None else "",
        met=_met(lines) if totals is not None else "",
    )


def _share(part: int | np.integer, whole: int) -> float:
    return float(part) / whole if whole else 0.0


def _bias(lines: tuple[ClassLine, ...], n_labeled: int, n_rows: int) -> str:
    """What the sample gets wrong, and whether chance could do that."""
    worst = max(lines, key=lambda line: line.labeled_share - (line.population_share or 0.0))
    share, population = worst.labeled_share, worst.population or 0
    points = 100 * (share - (worst.population_share or 0.0))
    low, high = (int(bound) for bound in hypergeom.interval(USUAL, n_rows, population, n_labeled))
    draws = (
        f"A simple random sample of {plural(n_labeled, 'row')} would have between {count(low)} and {count(high)} such "
        f"rows in 19 of 20 draws; this one has {count(worst.labeled)}."
    )
    if low <= worst.labeled <= high:
        return (
            f"Of the labeled rows, {percent(share, 1)} are “{worst.name}”; by the known total it is "
            f"{percent(worst.population_share or 0.0, 1)} of all rows. {draws} The shares give no sign of a biased "
            "sample, which does not mean that there is no bias of another kind."
        )
    return (
        f"Of the labeled rows, {percent(share, 1)} are “{worst.name}”, but by the known total only "
        f"{percent(worst.population_share or 0.0, 1)} of all rows are: the sample overstates this class by "
        f"{points:.1f} percentage points. {draws} So the sample is biased, and a method that learns the "
        "shares from it would carry the bias on."
    )


def _met(lines: tuple[ClassLine, ...]) -> str:
    """Whether the totals are met."""
    off = max(abs(line.missed or 0) for line in lines)
    if not off:
        return "The tree assigns exactly as many of the unlabeled rows to each class as the total says."
    above = max(lines, key=lambda line: line.missed or 0)
    return (
        f"The tree misses the total by {plural(off, 'row')}: it assigns {count(above.achieved)} of the unlabeled rows "
        f"to “{above.name}”, and the total says {count(above.known or 0)}."
    )


def describe_features(rows: FittedRows) -> tuple[tuple[FeatureLine, ...], int]:
    """The features in which labeled and unlabeled rows differ most, and how many are left out."""
    known = rows.is_labeled
    if not known.any() or known.all():
        return (), 0
    means = rows.X[known].mean(axis=0), rows.X[~known].mean(axis=0)
    spread = np.where(rows.spread > 0, rows.spread, 1.0)
    difference = (means[0] - means[1]) / spread
    order = np.argsort(-np.abs(difference), kind="stable")[:SHOWN_FEATURES]
    lines = tuple(
        FeatureLine(rows.feature_names[j], float(means[0][j]), float(means[1][j]), float(difference[j])) for j in order
    )
    return lines, rows.X.shape[1] - len(lines)


def chance_difference(rows: FittedRows) -> float:
    """Difference of two means, in standard deviations, that chance seldom exceeds: two standard errors."""
    n = int(rows.is_labeled.sum())
    return float(2 * np.sqrt(1 / max(n, 1) + 1 / max(len(rows.X) - n, 1)))
