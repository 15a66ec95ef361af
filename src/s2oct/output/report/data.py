"""The facts of a report: data, totals, certificate, and how to reproduce the fit."""

from __future__ import annotations

import math
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from itertools import groupby
from typing import Any

import numpy as np
from scipy.stats import hypergeom

from s2oct.estimators.fitted import FittedRows, SeenCell, SeenTotals
from s2oct.fit.certificate import Cell, Certificate, OCTHCertificate, about_fit
from s2oct.output.plots.totals import heading_of, worst_cells
from s2oct.output.report.wording import clean, percent
from s2oct.p2.proof import CONVERGED, INTERRUPTED, TIME_LIMIT
from s2oct.problem.targets import NEARLY_MET
from s2oct.wording import amount, count, duration, listed, plural

# Totals by domain, or known up to bounds, as tables of the report.

MOST_SHOWN = 60
"""Of more totals, the worst are shown first, and all of them behind a heading."""
WORST = 20


@dataclass(frozen=True)
class CellLine:
    """One total.

    It has the total as it was given, what is known of the unlabeled rows, what the labeled rows alone say, what the
    tree assigns, and by how much it is off.
    """

    class_index: int
    class_name: str
    given: str
    known: str
    alone: str
    achieved: str
    off: float
    is_met: bool


@dataclass(frozen=True)
class DomainLines:
    """The totals of one domain; its name is empty for the whole table."""

    name: str
    lines: tuple[CellLine, ...]


@dataclass(frozen=True)
class MarginTable:
    """The totals of one margin, domain after domain."""

    name: str
    domains: tuple[DomainLines, ...]


@dataclass(frozen=True)
class CellTables:
    """All totals of a fit.

    ``worst`` are the domains and classes that are missed most, if there are too many totals to read all of them.
    """

    margins: tuple[MarginTable, ...]
    worst: MarginTable | None
    n_cells: int
    n_met: int
    has_alone: bool


def describe_cells(seen: SeenTotals, class_names: Sequence[str]) -> CellTables | None:
    """Tables of all totals; None if there are none."""
    if not seen.cells:
        return None
    margins = tuple(_table(cells, class_names, seen.unit) for cells in seen.margins)
    is_long = len(seen.cells) > MOST_SHOWN
    return CellTables(
        margins=margins,
        worst=_table(worst_cells(seen.cells, WORST), class_names, seen.unit) if is_long else None,
        n_cells=len(seen.cells),
        n_met=sum(total.cell.is_met(seen.unit) for total in seen.cells),
        has_alone=any(total.labeled is not None for total in seen.cells),
    )


def _table(cells: Sequence[SeenCell], class_names: Sequence[str], unit: float) -> MarginTable:
    by_domain = groupby(cells, key=lambda total: heading_of(total.cell))
    domains = tuple(
        DomainLines(heading, tuple(_line(total, class_names, unit) for total in inside))
        for heading, inside in by_domain
    )
    return MarginTable(cells[0].cell.margin, domains)


def _line(total: SeenCell, class_names: Sequence[str], unit: float) -> CellLine:
    cell = total.cell
    return CellLine(
        class_index=cell.class_index,
        class_name=class_names[cell.class_index],
        given=total.given,
        known=_known(total),
        alone="" if total.labeled is None else amount(total.labeled, 3),
        achieved=amount(cell.assigned),
        off=cell.excess,
        is_met=cell.is_met(unit),
    )


def _known(total: SeenCell) -> str:
    """A number, bounds, or an estimate with its bounds."""
    cell = total.cell
    if cell.is_aim:
        return f"{amount(cell.low)} ± {amount(cell.se, 2)}, estimated"
    if cell.low == cell.high:
        return amount(cell.low)
    bounds = f"{amount(cell.low, 3)} to {amount(cell.high, 3)}"
    return bounds if cell.value is None else f"{amount(cell.value)} ({bounds})"


# The certificate in plain words: first in rows, then in the paper's model.

_WHY_OPEN = {
    CONVERGED: "nothing better was found",
    TIME_LIMIT: "the time limit came first",
    INTERRUPTED: "the fit was interrupted",
}
"""Why a tree that is not proved best may not be the best, for a small place."""


@dataclass(frozen=True)
class Verdict:
    """What is proved, in a word and a note; ``defect`` if the fit was cut short or lacks labels."""

    good: bool
    word: str
    note: str
    defect: bool = False


@dataclass(frozen=True)
class CertificateText:
    """A certificate as the report has it.

    Attributes
    ----------
    facts : tuple of str
        What the tree does, in rows.
    paragraphs : tuple of str
        What is proved in the model that was fitted.
    in_p2 : tuple of str
        What is known in the paper's model; empty for OCT-H, which is its own model.
    """

    facts: tuple[str, ...]
    paragraphs: tuple[str, ...]
    in_p2: tuple[str, ...]


def give_verdict(certificate: Any, depth: int, class_names: Sequence[str]) -> Verdict:
    """Whether the tree is proved the best of its depth in the model that was fitted."""
    if not certificate.proved_best:
        why = _WHY_OPEN.get(certificate.ended, "a better tree may exist")
        return Verdict(False, "open", why, certificate.ended in (TIME_LIMIT, INTERRUPTED))
    at_depth = f"at depth {depth}" if _minimises_p2(certificate) else _kind(certificate.proved_among, depth)
    unseen = getattr(certificate, "classes_without_label", ())
    if unseen:
        names = listed([f"“{class_names[c]}”" for c in unseen])
        return Verdict(False, "optimal", f"{at_depth}, but no label of {names}", defect=True)
    return Verdict(True, "optimal", at_depth)


def _kind(among: str, depth: int) -> str:
    """Among which trees a tree is optimal, for a small place: without what stands in brackets."""
    return f"among {among.partition(' (')[0] or f'trees of depth {depth}'}, guide included"


def describe_certificate(certificate: Any, depth: int, C: float | None, class_names: Sequence[str]) -> CertificateText:
    """What is known of the tree's quality."""
    if isinstance(certificate, OCTHCertificate):
        return CertificateText((), (_octh_cost(certificate), _bound(certificate, depth)), ())
    return CertificateText(
        facts=tuple(f"{fact[0].upper()}{fact[1:]}." for fact in about_fit(certificate, class_names)),
        paragraphs=(_best(certificate, depth), *_guide(certificate)),
        in_p2=(_p2_cost(certificate, C), _bound(certificate, depth), *_infeasible(certificate)),
    )


def _minimises_p2(certificate: Any) -> bool:
    return getattr(certificate, "minimises_p2", True)


def _best(certificate: Certificate, depth: int) -> str:
    measure = "labels and total" if certificate.minimises_p2 else "labels, total and guide together"
    if certificate.n_unlabeled == 0:
        measure = "the labels"
    if certificate.proved_best and certificate.proved_among:
        return (
            f"Among {certificate.proved_among}, it is proved that none fits {measure} better. Others may fit as well. "
            "Optimal is not the same as true."
        )
    if certificate.proved_best:
        return (
            f"It is proved that no tree of depth {depth} fits {measure} better. Others may fit as well. Optimal is not "
            "the same as true."
        )
    return (
        f"The tree is the best that was found in {duration(certificate.seconds)}. It is not proved that no tree of "
        f"depth {depth} fits {measure} better."
    )


def _guide(certificate: Certificate) -> tuple[str, ...]:
    if certificate.guide_weight is None:
        return ()
    if certificate.minimises_p2:
        return (
            "Many trees cost the same. Among those that were found, another classifier that knows the same total "
            "(the guide) chose this one, which agrees best with its probabilities for the unlabeled rows.",
        )
    return (
        "Many trees fit labels and total about equally well and differ on the unlabeled rows. Another classifier that "
        "knows the same total (the guide) helped to choose: the fit weighed the labels and the total against the "
        "guide's probabilities for the unlabeled rows.",
    )


def _octh_cost(certificate: OCTHCertificate) -> str:
    errors = plural(certificate.n_errors, "labeled row")
    return (
        f"The tree misclassifies {errors}; its cost in the model is {amount(certificate.objective)}. This was "
        "recomputed from the tree and the rows, and not taken from a solver."
    )


def _p2_cost(certificate: Certificate, C: float | None) -> str:
    price = "" if C is None else f", at a price of {amount(C)} each"
    return (
        f"The tree costs {amount(certificate.objective)}. This is the sum of "
        f"{amount(certificate.leaf_error)} for labeled rows on the wrong side, measured by how far they are from "
        f"the right one, and of {plural(certificate.xi, 'row')} by which the total is missed{price}. This was "
        "recomputed from the tree and the rows, and not taken from a solver."
    )


def _bound(certificate: Any, depth: int) -> str:
    least = amount(certificate.lower_bound)
    bound = f"No tree of depth {depth} can cost less than {least} ({certificate.bound_source})"
    if certificate.proved:
        return f"{bound}. This tree meets the bound, so it is proved optimal: none of this depth costs less."
    if not _minimises_p2(certificate):
        return (
            f"{bound}. This tree costs {amount(certificate.gap)} more, and the fit did not look for the least "
            "cost in this model."
        )
    return (
        f"{bound}. Between this bound and the cost of the tree lies a gap of {amount(certificate.gap)}. So the "
        f"tree is the best that was found in {duration(certificate.seconds)}, and a better one may exist."
    )


def _infeasible(certificate: Certificate) -> tuple[str, ...]:
    if certificate.feasible:
        return ()
    n_near = certificate.n_margin_violations
    return (
        f"The tree violates a constraint of this model: {plural(n_near, 'unlabeled row')} "
        f"{'lies' if n_near == 1 else 'lie'} too near a hyperplane. It predicts all the same, but its cost cannot be "
        "compared with the bound.",
    )


# How to repeat a fit: code, parameters and versions.

PACKAGES = ("s2oct", "numpy", "scipy", "scikit-learn")
SOLVER_PACKAGES = {"highs": "highspy", "scip": "pyscipopt", "gurobi": "gurobipy"}


def python_code(estimator: Any, rows: FittedRows, sample: Sample, *, label: str | None, data_name: str | None) -> str:
    """A few lines of Python that repeat the fit."""
    kind = type(estimator).__name__
    labels = f"table[{label!r}]" if label else "y"
    features = f"table[{list(rows.columns)!r}]" if label else "X"
    known = _known_arguments(estimator, sample)
    lines = [f"from s2oct import {kind}", ""]
    if label:
        name = data_name or "table.csv"
        reader = "read_parquet" if name.endswith((".parquet", ".pq")) else "read_csv"
        lines = ["import pandas as pd", *lines, f"table = pd.{reader}({name!r})"]
    return "\n".join([*lines, f"clf = {_call(estimator)}", f"clf.fit({features}, {labels}{known})"])


def _known_arguments(estimator: Any, sample: Sample) -> str:
    """The totals and weights as arguments; those by domain by the names of their tables."""
    weights = "" if sample.weight is None else ", sample_weight=weights"
    if sample.cells is not None:
        by_domain = any(domain.name for margin in sample.cells.margins for domain in margin.domains)
        return f", totals=totals{', domains=domains' if by_domain else ''}{weights}"
    classes = estimator.classes_.tolist()
    found = {classes[line.index]: line.known for line in sample.classes if line.known is not None}
    totals = {label: int(known) if float(known).is_integer() else known for label, known in found.items()}
    return (f", totals={totals!r}" if totals else "") + weights


def _call(estimator: Any) -> str:
    """The constructor call, with the parameters that differ from their defaults."""
    defaults = type(estimator)().get_params(deep=False)
    chosen = {
        name: value for name, value in estimator.get_params(deep=False).items() if repr(value) != repr(defaults[name])
    }
    return f"{type(estimator).__name__}({', '.join(f'{name}={_code(value)}' for name, value in chosen.items())})"


def _code(value: Any) -> str:
    return "float('inf')" if isinstance(value, float) and value == math.inf else repr(value)


def parameters(estimator: Any) -> Mapping[str, str]:
    """All parameters, the defaults included; beside "auto" stands what it stood for."""
    resolved = getattr(estimator, "resolved_params_", {})

    def shown(name: str, value: Any) -> str:
        if not isinstance(value, str) or value != "auto" or name not in resolved:
            return repr(value)
        found = resolved[name]
        text = f"{found:.4g}" if isinstance(found, float) else str(found)
        return f"{'at most ' if name == 'max_features_per_split' and found else ''}{text} (auto)"

    return {name: shown(name, value) for name, value in estimator.get_params(deep=False).items()}


def versions(estimator: Any) -> Mapping[str, str]:
    """Versions of Python and of the packages that took part."""
    solver = SOLVER_PACKAGES.get(str(getattr(estimator, "solver", None)))
    found = {"Python": platform.python_version()}
    for name in (*PACKAGES, *([solver] if solver else [])):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def seed_note(estimator: Any) -> str:
    """What the seed promises."""
    limit = getattr(estimator, "time_limit", None)
    if getattr(estimator, "random_state", None) is None:
        return "No seed was set (random_state=None): another run may find another tree."
    return (
        f"The seed is fixed (random_state={estimator.random_state!r}). A fit that ends before its time limit"
        f"{'' if limit is None else f' of {limit:g} seconds'} finds the same tree again; one that the clock ended may "
        "find another on a faster or slower machine."
    )


# The data and the bias of the sample: labeled rows against what is known of all.

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
