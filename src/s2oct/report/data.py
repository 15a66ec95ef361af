"""The data and the bias of the sample: labeled rows against what is known of all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import hypergeom

from s2oct.certificate.cell import Cell
from s2oct.estimators.fitted import FittedRows, SeenCell, SeenTotals
from s2oct.model.targets import NEARLY_MET
from s2oct.report.cells import CellTables, describe_cells
from s2oct.report.wording import clean, percent
from s2oct.wording import amount, count, plural

SHOWN_FEATURES = 10
"""Features in the table, those with the largest differences first."""
USUAL = 0.95
"""How often a simple random sample lies in the range that is given."""
SLIGHT = 3.0
"""Percentage points between shares that are no sign of bias, where chance cannot be computed."""


@dataclass(frozen=True)
class ClassLine:
    """One class in the tables of the report; counts of rows or sums of weights, None where no total is known.

    ``known`` is the middle of what is known where the totals are not exact. ``alone`` is what the labeled rows alone
    say: their share of the class, times the unlabeled rows. ``given`` is the total as the user gave it, where this is
    no count of unlabeled rows.
    """

    index: int
    name: str
    labeled: float
    labeled_share: float
    known: float | None
    achieved: float
    achieved_share: float
    alone: float
    population: float | None
    population_share: float | None
    given: str = ""

    @property
    def missed(self) -> float | None:
        """Rows by which the tree is above the known total."""
        return None if self.known is None else self.achieved - self.known


@dataclass(frozen=True)
class Sample:
    """The sample and what is known beside it.

    ``is_exact`` says whether the known numbers are exact, and ``weight`` the mean weight of an unlabeled row, if rows
    have weights. ``given_of`` says what the totals counted as the user gave them, and is empty for counts of unlabeled
    rows. ``confusion`` has the labeled rows of each class by the class that the tree gives them.
    """

    n_rows: int
    n_labeled: int
    n_unlabeled: int
    classes: tuple[ClassLine, ...]
    bias: str
    met: str
    is_met: bool
    is_exact: bool
    weight: float | None
    given_of: str
    cells: CellTables | None
    confusion: tuple[tuple[int, ...], ...]

    @property
    def has_total(self) -> bool:
        """Whether a total is known."""
        return self.classes[0].known is not None

    @property
    def has_two_plain_classes(self) -> bool:
        """Whether one number says everything that is known."""
        return len(self.classes) == 2 and self.cells is None

    @property
    def n_met(self) -> tuple[int, int]:
        """How many totals are met, and how many there are."""
        if self.cells is not None:
            return self.cells.n_met, self.cells.n_cells
        off = [abs(line.missed or 0.0) for line in self.classes]
        return sum(miss < NEARLY_MET * (self.weight or 1.0) for miss in off), len(off)


@dataclass(frozen=True)
class FeatureLine:
    """The mean of a feature, or the share of a level, among labeled and unlabeled rows.

    The difference is in standard deviations.
    """

    name: str
    labeled: float
    unlabeled: float
    difference: float
    is_share: bool


def describe_sample(rows: FittedRows, seen: SeenTotals) -> Sample:
    """Counts and shares of the classes, and sentences on bias and totals."""
    known = rows.is_labeled
    seen = seen if _is_about(seen, rows) else replace(seen, cells=())
    cells = None if seen.is_plain and seen.sizes is not None else describe_cells(seen, rows.class_names)
    lines = _class_lines(rows, seen)
    is_exact = all(total.cell.low == total.cell.high and not total.cell.se for total in seen.cells)
    found = Sample(
        n_rows=len(rows.X),
        n_labeled=int(known.sum()),
        n_unlabeled=int((~known).sum()),
        classes=lines,
        bias="",
        met="",
        is_met=True,
        is_exact=is_exact,
        weight=seen.unit if seen.is_weighted else None,
        given_of=seen.given_of if seen.cells else "",
        cells=cells,
        confusion=_confusion(rows),
    )
    n_met, n_totals = found.n_met
    return replace(
        found,
        bias=_bias(found) if lines[0].population is not None else "",
        met=_met(found) if found.has_total else "",
        is_met=n_met == n_totals,
    )


def _is_about(seen: SeenTotals, rows: FittedRows) -> bool:
    """Whether totals are about these rows: those of the whole table add up to the unlabeled rows."""
    if rows.is_labeled.all():
        return False
    plain = [total for total in seen.cells if not total.cell.domain and total.cell.low == total.cell.high]
    if len(plain) < len(seen.cells) or not plain:
        return True
    return abs(sum(total.cell.low for total in plain) - plain[0].size) < NEARLY_MET * seen.unit


def _class_lines(rows: FittedRows, seen: SeenTotals) -> tuple[ClassLine, ...]:
    labeled, achieved = rows.counted(seen.sizes)
    known = _known_by_class(seen, rows.n_classes)
    if seen.sizes is None:  # The weights of the fit are not here, but its certificate counted with them.
        first = seen.margins[0]
        achieved = np.array([_sum_of(first, c, lambda cell: cell.assigned) for c in range(rows.n_classes)])
    n_labeled, n_unlabeled = float(labeled.sum()), float(achieved.sum())
    given = {total.cell.class_index: total.given for total in seen.cells if not total.cell.domain}
    can_add = known is not None and seen.sizes is not None
    population = [float(labeled[c]) + known[c] for c in range(len(labeled))] if known and can_add else None
    return tuple(
        ClassLine(
            index=c,
            name=name,
            labeled=float(labeled[c]),
            labeled_share=_share(labeled[c], n_labeled),
            known=None if known is None else known[c],
            achieved=float(achieved[c]),
            achieved_share=_share(achieved[c], n_unlabeled),
            alone=_share(labeled[c], n_labeled) * n_unlabeled,
            population=None if population is None else population[c],
            population_share=None if population is None else _share(population[c], sum(population)),
            given=given.get(c, ""),
        )
        for c, name in enumerate(rows.class_names)
    )


def _known_by_class(seen: SeenTotals, n_classes: int) -> list[float] | None:
    """What the first margin says of each class in all, or the middle of it."""
    if not seen.cells:
        return None
    return [_sum_of(seen.margins[0], c, _middle) for c in range(n_classes)]


def _middle(cell: Cell) -> float:
    return 0.5 * (cell.low + cell.high) if cell.value is None else cell.value


def _sum_of(cells: Sequence[SeenCell], class_index: int, number: Callable[[Cell], float]) -> float:
    return sum(number(total.cell) for total in cells if total.cell.class_index == class_index)


def _confusion(rows: FittedRows) -> tuple[tuple[int, ...], ...]:
    known, n_classes = rows.is_labeled, rows.n_classes
    cell = rows.codes[known] * n_classes + rows.predicted[known]
    counts = np.bincount(cell, minlength=n_classes**2).reshape(n_classes, n_classes)
    return tuple(tuple(line) for line in counts.tolist())


def _share(part: float | np.integer | np.floating, whole: float) -> float:
    return float(part) / whole if whole else 0.0


def _bias(sample: Sample) -> str:
    """What the sample gets wrong, and whether chance could do that."""
    worst = max(sample.classes, key=lambda line: line.labeled_share - (line.population_share or 0.0))
    share, in_all = worst.labeled_share, worst.population_share or 0.0
    total = "known total" if sample.is_exact else "middle of what is known"
    rows = "rows," if sample.weight is None else "rows, by weight,"
    draws, is_usual = _chance(sample, worst)
    if is_usual:
        return (
            f"Of the labeled {rows} {percent(share, 1)} are “{worst.name}”; by the {total} it is "
            f"{percent(in_all, 1)} of all rows.{draws} The shares give no sign of a biased "
            "sample, which does not mean that there is no bias of another kind."
        )
    verdict = " So the sample is biased, and a method" if draws else " A method"
    return (
        f"Of the labeled {rows} {percent(share, 1)} are “{worst.name}”, but by the {total} only "
        f"{percent(in_all, 1)} of all rows are: the sample overstates this class by "
        f"{100 * (share - in_all):.1f} percentage points.{draws}{verdict} that learns the "
        "shares from it would carry the bias on."
    )


def _chance(sample: Sample, worst: ClassLine) -> tuple[str, bool]:
    """What a simple random sample would have, and whether this one has it; weights say too little about chance."""
    if sample.weight is not None or not sample.is_exact:
        return "", 100 * abs(worst.labeled_share - (worst.population_share or 0.0)) < SLIGHT
    drawn = hypergeom.interval(USUAL, sample.n_rows, round(worst.population or 0.0), sample.n_labeled)
    low, high = (int(bound) for bound in drawn)
    draws = (
        f" A simple random sample of {plural(sample.n_labeled, 'row')} would have between {count(low)} and "
        f"{count(high)} such rows in 19 of 20 draws; this one has {count(worst.labeled)}."
    )
    return draws, low <= worst.labeled <= high


def _met(sample: Sample) -> str:
    """Whether the totals are met."""
    n_met, n_totals = sample.n_met
    if sample.cells is not None:
        if n_met == n_totals:
            within = "" if sample.weight is None else ", to within half a row"
            return f"The tree meets all {n_totals} totals{within}."
        return f"The tree meets {n_met} of {n_totals} totals. Those that it misses are marked in the table."
    off = max(abs(line.missed or 0.0) for line in sample.classes)
    if not off:
        return "The tree assigns exactly as many of the unlabeled rows to each class as the total says."
    if n_met == n_totals:
        return "The tree assigns as much of the weight to each class as the total says, to within half a row."
    above = max(sample.classes, key=lambda line: line.missed or 0.0)
    unit = plural(off, "row") if sample.weight is None else f"a weight of {amount(off)}"
    return (
        f"The tree misses the total by {unit}: it assigns {amount(above.achieved)} of the unlabeled rows "
        f"to “{above.name}”, and the total says {amount(above.known or 0.0)}."
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
        FeatureLine(
            rows.features[j].title,
            float(means[0][j]),
            float(means[1][j]),
            float(difference[j]),
            is_share=rows.features[j].level is not None,
        )
        for j in order
    )
    return lines, rows.X.shape[1] - len(lines)


def describe_columns(
    rows: FittedRows, label: str | None, variable_labels: Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    """What the file says about the column of the labels and about those in the rules."""
    columns = {label, *(rows.features[j].column for j in np.flatnonzero(rows.tree.omega.any(axis=0)))}
    return tuple((clean(name), clean(text)) for name, text in variable_labels.items() if clean(name) in columns)


def chance_difference(rows: FittedRows) -> float:
    """Difference of two means, in standard deviations, that chance seldom exceeds: two standard errors."""
    n = int(rows.is_labeled.sum())
    return float(2 * np.sqrt(1 / max(n, 1) + 1 / max(len(rows.X) - n, 1)))
