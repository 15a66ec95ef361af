"""Certificates: what is known about a tree, recomputed from the tree alone.

First the data and their computation, then the words: sentences, and notices about the shortcomings of a fit.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.errors import ChanceLevelWarning, FewLabelsWarning, Notice, OpenTotalsWarning, Remedy
from s2oct.evidence.evidence import ANY_PRICE
from s2oct.p2.costs import MARGIN_TOLERANCE, Assignment, is_feasible, score
from s2oct.p2.octh_milp import OcthSpec, baseline_errors
from s2oct.p2.prepared import Prepared, Scaling
from s2oct.p2.proof import (
    CONVERGED,
    DECIDED_TOLERANCE,
    EVIDENCE,
    INTERRUPTED,
    PAPER,
    TIME_LIMIT,
    FitRecord,
    Moment,
    lower_bound,
    total_bound,
)
from s2oct.problem.labels import FEW_LABELS
from s2oct.problem.problem import Problem, whole_if_whole
from s2oct.problem.totals import NEARLY_MET, Targets
from s2oct.trees.rules import TreeSize
from s2oct.trees.tree import ObliqueTree
from s2oct.wording import amount, duration, listed, plural


@dataclass(frozen=True)
class Cell:
    """A class in a domain.

    Attributes
    ----------
    margin : str
        Name of the division into domains; empty for the whole table.
    domain : str
        The domain as text; empty for the whole table.
    class_index : int
        Position of the class.
    low, high : float
        Bounds on the number of its unlabeled rows, or on their weight; equal if the total is known exactly or was
        estimated by the fit.
    assigned : float
        Number or weight of the rows that the tree assigns to the cell.
    value : float or None
        The known or estimated total; None if only bounds are known.
    se : float
        Standard error of an estimate; 0 otherwise.
    """

    margin: str
    domain: str
    class_index: int
    low: float
    high: float
    assigned: float
    value: float | None = None
    se: float = 0.0

    @property
    def place(self) -> str:
        """The domain in words, to precede the class; empty for the whole table."""
        return f"{self.margin or 'domain'} {self.domain!r}, " if self.domain else ""

    @property
    def is_aim(self) -> bool:
        """Whether the total is an estimate that the fit made and aimed at."""
        return self.low == self.high and self.se > 0

    @property
    def known(self) -> str:
        """What is known about the total, in words."""
        if self.is_aim:
            return f"the total is estimated as {amount(self.low)} ± {amount(self.se, 2)}"
        if self.low == self.high:
            return f"the total says {amount(self.low)}"
        return f"the total says {amount(self.low)} to {amount(self.high)}"

    @property
    def excess(self) -> float:
        """Rows above the upper bound; if negative, rows missing from the lower bound."""
        return max(self.assigned - self.high, 0.0) - max(self.low - self.assigned, 0.0)

    def is_met(self, unit: float = 1.0) -> bool:
        """Whether the total is met, to within half a row of the mean weight."""
        return abs(self.excess) <= NEARLY_MET * unit * (1 + 1e-9)


def cells_of_counts(targets: Targets, counts: Sequence[FloatArray], unit: float = 1.0) -> tuple[Cell, ...]:
    """All cells of some totals, given the rows of each domain and class for each margin, in units of ``unit``."""
    found = []
    for margin, assigned in zip(targets.margins, counts, strict=True):
        for d, k in np.ndindex(*margin.low.shape):
            numbers = np.array([margin.low[d, k], margin.high[d, k], assigned[d, k], margin.value[d, k]])
            low, high, number, value = whole_if_whole(unit * numbers)
            known = None if math.isnan(value) else value
            se = unit * float(margin.se[d, k])
            found.append(Cell(margin.name, str(margin.domains[d]), k, low, high, number, known, se))
    return tuple(found)


def counted_cells(targets: Targets, classes: IntArray, sizes: FloatArray, unit: float = 1.0) -> tuple[Cell, ...]:
    """All cells of some totals, with the rows assigned to them; rows count with their sizes, in units of ``unit``."""
    return cells_of_counts(targets, [margin.counts(classes, sizes) for margin in targets.margins], unit)


@dataclass(frozen=True)
class Claim(ABC):
    """The part that certificates of P2 and OCT-H share. `Certificate` and `OCTHCertificate` document the fields."""

    objective: float
    lower_bound: float
    feasible: bool
    bound_source: str
    min_margin: float
    seconds: float
    history: tuple[Moment, ...]
    ended: str = field(kw_only=True)
    labels: tuple[int, ...] = field(kw_only=True)
    chance: float | None = field(default=None, kw_only=True)

    @property
    def gap(self) -> float:
        """Cost above the lower bound, never negative."""
        return max(self.objective - self.lower_bound, 0.0)

    @property
    def tolerance(self) -> float:
        """A cost this close to its lower bound counts as proved."""
        return DECIDED_TOLERANCE

    @property
    def proved(self) -> bool:
        """Whether the tree is feasible and its cost meets the lower bound."""
        # A bound above the cost of a feasible tree is wrong, and proves nothing.
        return self.feasible and abs(self.objective - self.lower_bound) <= self.tolerance

    @property
    def proved_by(self) -> str | None:
        """Source of the lower bound that the cost meets; None if nothing is proved."""
        return self.bound_source if self.proved else None

    @property
    def minimised(self) -> tuple[float, float]:
        """The cost that the fit minimised, and its lower bound."""
        return self.objective, self.lower_bound

    @property
    def proved_best(self) -> bool:
        """Whether it is proved that no tree is better in the cost that the fit minimised."""
        return self.proved

    @property
    @abstractmethod
    def has_splits(self) -> bool:
        """Whether the tree puts rows into different leaves."""

    @property
    def is_worth_keeping(self) -> bool:
        """Whether the fit has a result: it was not interrupted, or it had already found a tree with splits.

        Every fit starts with trees without splits, and keeps a tree with splits only if it costs less. So an
        interrupted fit whose tree has no splits has found nothing yet.
        """
        return self.ended != INTERRUPTED or self.has_splits

    def shortcomings(self, classes: Sequence[Any]) -> tuple[Notice, ...]:
        """List what the fit did not achieve and the user should know.

        Parameters
        ----------
        classes : sequence
            The class labels in order.

        Returns
        -------
        tuple of Notice
            The most serious first; empty if there are none.
        """
        return (
            *interruption(self),
            *cut_off(self),
            *at_chance(self),
            *few_labels(self, classes, range(len(self.labels))),
        )


def labels_of(problem: Problem) -> tuple[int, ...]:
    """Count the labeled rows of each class, with their multiplicities."""
    counts = np.bincount(problem.labels, weights=problem.labeled_multiplicity, minlength=problem.n_classes)
    return tuple(counts.astype(int).tolist())


@dataclass(frozen=True, kw_only=True)
class InRows:
    """The first part of a certificate: errors, totals and size, in rows. `Certificate` documents the fields."""

    xi: float
    n_labeled: int
    n_unlabeled: int
    n_contradicted: int
    n_against_guide: int | None = None
    n_splits: int
    n_terms: int
    totals: tuple[float, ...]
    assigned: tuple[float, ...]
    cells: tuple[Cell, ...] = ()
    unit: float = 1.0
    least_xi: float = 0.0
    classes_without_label: tuple[int, ...] = ()
    evidence_cost: float | None = None
    evidence_bound: float | None = None
    proved_among: str = ""
    n_sampled: int | None = None
    n_register: int | None = None
    counted: bool = True

    @property
    def known_cells(self) -> tuple[Cell, ...]:
        """All totals, with the rows that the tree assigns to them."""
        if self.cells:
            return self.cells
        return tuple(
            Cell("", "", k, total, total, put, total)
            for k, (total, put) in enumerate(zip(self.totals, self.assigned, strict=True))
        )

    @property
    def off(self) -> str:
        """The amount by which the totals are missed, in words."""
        share = f"{amount(100 * self.share_off, 2)} %"
        if self.unit == 1:
            return f"{plural(self.xi, 'row')} ({share})" if self.xi else "0 rows"
        rows = plural(round(self.xi / self.unit, 1), "row")
        return f"a weight of {amount(self.xi)} ({rows} of mean weight, {share})"

    @property
    def share_off(self) -> float:
        """Share of the unlabeled rows by which the totals are missed."""
        everything = sum(self.assigned)
        return self.xi / everything if everything else 0.0

    @property
    def miss_matters(self) -> bool:
        """Whether the totals are missed by more than one row and more than 0.5 % of the rows."""
        return self.xi > self.unit * (1 + 1e-9) and self.share_off > MINOR_MISS

    @property
    def meets_totals(self) -> bool:
        """Whether every total is met to within half a row of mean weight."""
        if not self.cells:
            return self.xi <= NEARLY_MET * self.unit * (1 + 1e-9)
        return all(cell.is_met(self.unit) for cell in self.cells)

    @property
    def misses_at_any_price(self) -> bool:
        """Whether the totals are missed although the fit was to meet them at any price."""
        is_missed = self.evidence_cost is not None and self.xi > 0
        return is_missed and float(self.evidence_cost or 0.0) >= ANY_PRICE * self.xi / self.unit

    @property
    def features_per_split(self) -> float | None:
        """Mean number of features per split; None without splits."""
        return self.n_terms / self.n_splits if self.n_splits else None

    @property
    def has_splits(self) -> bool:
        """Whether the tree puts rows into different leaves."""
        return self.n_splits > 0


@dataclass(frozen=True, kw_only=True)
class InP2(Claim):
    """The second part of a certificate: the tree's cost in P2. `Certificate` documents the fields."""

    leaf_error: float
    n_margin_violations: int
    coefficient_bound: float = float("inf")
    max_features_per_split: int | None = None
    uncapped_lower_bound: float | None = None
    features: tuple[int, ...] | None = None

    @property
    def proved_for_any_features(self) -> bool:
        """Whether no tree costs less, even with more features per split than the solved P2 allows."""
        if self.max_features_per_split is None:
            return self.proved
        bound = self.uncapped_lower_bound
        return self.feasible and bound is not None and abs(self.objective - bound) <= self.tolerance


@dataclass(frozen=True, kw_only=True)
class Certificate(InRows, InP2):
    """What is known about a tree, in two parts: its errors and totals in rows, and its cost in the paper's P2.

    ``objective``, ``lower_bound``, ``gap``, ``proved`` and ``proved_by`` refer to P2, with or without a guide.
    ``ended``, ``minimised`` and ``proved_best`` refer to the model that was fitted.

    Parameters
    ----------
    objective : float
        Cost of the tree in P2, recomputed from its hyperplanes.
    lower_bound : float
        No feasible tree costs less.
    feasible : bool
        Whether the tree satisfies every constraint of P2 within the stated tolerances.
    bound_source : str
        Source of the lower bound.
    min_margin : float
        Minimum distance of an unlabeled row from a hyperplane, in units of omega.
    seconds : float
        Wall-clock seconds until the tree was final.
    history : tuple of Moment
        Best cost and lower bound over time.
    ended : str
        Why the fit ended: "proved", "converged", "time limit" or "interrupted".
    labels : tuple of int
        Number of labels per class; labeled rows of weight 0 do not count.
    chance : float or None
        The p-value of the hypothesis that the features say nothing about the classes, from a permutation test on
        held-out labels; None if it was not tested.
    leaf_error : float
        Errors of the labeled rows: the first part of the cost.
    n_margin_violations : int
        Unlabeled rows too near a hyperplane; 0 if the tree is feasible.
    coefficient_bound : float
        The paper's s: the bound on coefficients in model units.
    max_features_per_split : int or None
        Maximum number of features per split in the P2 that was solved; None if unlimited, as in the paper.
    uncapped_lower_bound : float or None
        With such a maximum: no tree costs less, whatever number of features its splits use.
    features : tuple of int or None
        Columns that splits may use; None for all. Cost, bound and proof refer to P2 with these columns.
    xi : float
        Rows by which the total is missed; C times this is the second part of the cost.
    n_labeled, n_unlabeled : int
        Numbers of rows. All numbers of rows here count duplicates.
    n_contradicted : int
        Misclassified labeled rows, out of ``n_labeled``.
    n_against_guide : int or None
        Unlabeled rows whose class differs from the guide's most likely class; None without a guide.
    n_splits : int
        Number of splits that separate rows.
    n_terms : int
        Number of columns in these splits, summed over the splits.
    totals, assigned : tuple of float
        Per class, the known total of unlabeled rows and the rows that the tree assigns; with weights, sums of weights.
        A total that is not known exactly appears as the midpoint of its bounds.
    cells : tuple of Cell
        Totals by domain and class, if there are several domains or inexact totals; otherwise empty.
    unit : float
        Mean survey weight of an unlabeled row; 1 without weights. Costs, bounds and totals are in weights.
    least_xi : float
        Minimum possible ``xi``: identical rows share a class.
    classes_without_label : tuple of int
        Positions of the classes without labels.
    evidence_cost, evidence_bound : float or None
        Rows against the tree, and the minimum for trees of its kind; None if P2 was fitted. Rows off the totals and
        terms count at their prices.
    proved_among : str
        The trees that ``evidence_bound`` covers, such as "trees of depth 2 with one feature per split"; empty if P2
        was fitted.
    n_sampled, n_register : int or None
        For a register: the rows of the sample that the guide was fitted to, and all rows. P2's constants are then
        unknown. If ``proved_among`` is empty, the tree comes from the sample, and the guide's part is scaled up.
    counted : bool
        Whether all numbers of rows cover all rows. If the time ended too early, they cover the sample.
    model : str
        The model that was fitted: "paper" for P2, or "evidence".
    guide_cost : float or None
        The guide's charge for the classes of the unlabeled rows, plus 1 for each row off the total; None without a
        guide.
    guide_weight : float or None
        Weight of an unlabeled row about which the guide is certain, relative to a labeled row; 0 if the guide only
        chose between trees of equal cost.
    """

    model: str = PAPER
    guide_cost: float | None = None
    guide_weight: float | None = None

    @property
    def tolerance(self) -> float:
        """A cost this close to its lower bound counts as proved; costs are in survey weights."""
        return DECIDED_TOLERANCE * max(self.unit, 1.0)

    @property
    def minimises_p2(self) -> bool:
        """Whether the fit minimised P2 and nothing else."""
        return self.model == PAPER and not self.guide_weight

    @property
    def minimised(self) -> tuple[float, float]:
        """The cost that the fit minimised, in P2 or in rows, and its lower bound."""
        if self.model == EVIDENCE and self.evidence_cost is not None:
            return self.evidence_cost, self.evidence_bound or 0.0
        return self.objective, self.lower_bound

    @property
    def proved_best(self) -> bool:
        """Whether no tree of its kind, see ``proved_among``, is better in the cost that the fit minimised."""
        cost, bound = self.minimised
        if self.model == EVIDENCE:
            # The evidence model has no margins, so a tree need not be feasible for P2, and it counts rows, not weights.
            return bool(self.proved_among) and abs(cost - bound) <= DECIDED_TOLERANCE
        return self.feasible and abs(cost - bound) <= self.tolerance

    def sentences(self, classes: Sequence[Any] | None = None) -> tuple[str, ...]:
        """Describe the tree and how the fit ended, in rows; for a fit of P2 alone also its cost there.

        Parameters
        ----------
        classes : sequence, optional
            The class labels in order.

        Returns
        -------
        tuple of str
            Short sentences, without capitals and full stops.
        """
        return (*about_fit(self, classes), *(self.in_p2 if self.minimises_p2 else ()))

    @property
    def in_p2(self) -> tuple[str, ...]:
        """The tree's cost in the paper's model, as short sentences."""
        return tuple(about_p2(self))

    def shortcomings(self, classes: Sequence[Any]) -> tuple[Notice, ...]:
        """List what the fit did not achieve and the user should know.

        Parameters
        ----------
        classes : sequence
            The class labels in order.

        Returns
        -------
        tuple of Notice
            The most serious first; empty if there are none.
        """
        return (
            *interruption(self),
            *cut_off(self),
            *_not_counted(self),
            *_missed_total(self, classes),
            *_open_totals(self, classes),
            *at_chance(self),
            *_unlabeled_classes(self, classes),
            *few_labels(self, classes, _labeled_classes(self)),
        )

    def __str__(self) -> str:
        return "; ".join(self.sentences())


def certify(prepared: Prepared, tree: ObliqueTree, record: FitRecord, rules: ObliqueTree | None = None) -> Certificate:
    """Certify a tree from its hyperplanes, on the rows as the user gave them and in the user's units.

    ``rules`` is the tree as users read it, whose splits and terms are counted; the tree itself if None.
    """
    problem, most = prepared.given, prepared.most_features
    guide, unit = problem.guide, problem.unit
    # Numbers of rows count duplicates.
    n_rows, m_rows = problem.labeled_multiplicity, problem.unlabeled_multiplicity
    size = TreeSize.of_tree(tree if rules is None else rules, problem.features)
    assignment = Assignment.of(problem, tree)
    labeled, classes = assignment.labeled_classes, assignment.unlabeled_classes
    found = score(assignment, prepared.spec)
    cells = () if problem.targets.is_known else counted_cells(problem.targets, classes, problem.unlabeled_size, unit)
    labels = labels_of(problem)
    return Certificate(
        objective=unit * found.objective,
        lower_bound=unit * record.bound.value,
        feasible=is_feasible(assignment, prepared.bounds, found, prepared.scaling.scale, most),
        bound_source=record.bound.source,
        min_margin=found.min_margin,
        seconds=record.seconds,
        history=tuple(moment.times(unit) for moment in record.history) if unit != 1 else record.history,
        ended=record.ended,
        labels=labels,
        leaf_error=unit * found.leaf_error,
        n_margin_violations=found.n_margin_violations,
        coefficient_bound=prepared.bounds.s,
        max_features_per_split=most,
        uncapped_lower_bound=None if most is None else unit * lower_bound(prepared.problem, prepared.spec.C),
        features=prepared.spec.features,
        xi=unit * found.xi,
        n_labeled=int(n_rows.sum()),
        n_unlabeled=int(m_rows.sum()),
        n_contradicted=int(n_rows[labeled != problem.labels].sum()),
        n_against_guide=None if guide is None else int(m_rows[guide.is_against(classes)].sum()),
        n_splits=size.n_splits,
        n_terms=size.n_terms,
        totals=whole_if_whole(unit * problem.totals),
        assigned=whole_if_whole(unit * assignment.class_counts),
        cells=cells,
        unit=unit,
        least_xi=unit * total_bound(prepared.problem) if found.xi else 0.0,
        classes_without_label=tuple(c for c, n_labels in enumerate(labels) if not n_labels),
        guide_cost=None if guide is None else found.guide_cost,
        guide_weight=None if guide is None else guide.weight,
    )


# Certificates of OCT-H.


@dataclass(frozen=True)
class OCTHCertificate(Claim):
    """What is known about a tree in OCT-H: its training errors and the number of coefficients it uses.

    Parameters
    ----------
    objective : float
        Cost of the tree, recomputed from its hyperplanes.
    lower_bound : float
        No feasible tree costs less.
    feasible : bool
        Whether the tree satisfies every constraint of the model within the stated tolerances.
    bound_source : str
        Source of the lower bound.
    min_margin : float
        Minimum of the distances of rows from hyperplanes that the model bounds from below, in units of omega.
    seconds : float
        Wall-clock seconds until the tree was final.
    history : tuple of Moment
        Best cost and lower bound over time.
    n_errors : int
        Number of misclassified labeled rows.
    n_coefficients : int
        Number of nonzero coefficients.
    ended : str
        Why the fit ended: "proved", "converged", "time limit" or "interrupted".
    labels : tuple of int
        Number of labels per class; labeled rows of weight 0 do not count.
    chance : float or None
        The p-value of the hypothesis that the features say nothing about the classes, from a permutation test on
        held-out labels; None if it was not tested.
    """

    n_errors: int
    n_coefficients: int

    @property
    def has_splits(self) -> bool:
        """Whether the tree puts rows into different leaves."""
        return self.n_coefficients > 0

    def __str__(self) -> str:
        verdict = f"proved optimal by {self.proved_by}" if self.proved else f"not proved, gap {amount(self.gap)}"
        errors = f"{plural(self.n_errors, 'labeled row')} misclassified"
        return (
            f"{errors}; ended: {self.ended} after {duration(self.seconds)}; "
            f"OCT-H cost {amount(self.objective, 6)}; lower bound {amount(self.lower_bound, 6)}; {verdict}"
        )


def certify_octh(
    problem: Problem, tree: ObliqueTree, spec: OcthSpec, record: FitRecord, *, scaling: Scaling | None = None
) -> OCTHCertificate:
    """Certify a tree for OCT-H from its hyperplanes and leaf classes, in the units in which it will predict.

    ``scaling`` maps the features to [0, 1], where |a|_1 and |b| are bounded; None if they are already scaled.
    """
    model = tree if scaling is None else scaling.to_model(tree)
    wrong = tree.predict(problem.X_labeled) != problem.labels
    n_errors = float(problem.labeled_multiplicity[wrong].sum())
    n_coefficients = int(np.count_nonzero(tree.omega))
    leaf = tree.apply(problem.X_labeled) - tree.topology.n_leaves
    sizes = np.bincount(leaf, weights=problem.labeled_multiplicity)
    margin = _octh_margin(problem, tree)
    enough = bool((sizes[sizes > 0] >= spec.min_leaf).all())
    splits = np.asarray(tree.omega.any(axis=1))
    offset = np.abs(model.gamma[splits] + spec.mu / 2)
    normed = bool(max(np.abs(model.omega).sum(axis=1).max(), offset.max(initial=0.0)) <= 1 + MARGIN_TOLERANCE)
    child = np.arange(2, tree.topology.n_leaves)
    ordered = not (splits[child - 1] & ~splits[child // 2 - 1]).any()
    return OCTHCertificate(
        objective=n_errors / baseline_errors(problem) + spec.complexity * n_coefficients,
        lower_bound=record.bound.value,
        feasible=enough and normed and ordered and margin >= spec.mu / 2 - MARGIN_TOLERANCE,
        bound_source=record.bound.source,
        min_margin=margin,
        seconds=record.seconds,
        history=record.history,
        n_errors=int(n_errors),
        n_coefficients=n_coefficients,
        ended=record.ended,
        labels=labels_of(problem),
    )


def _octh_margin(problem: Problem, tree: ObliqueTree) -> float:
    """Minimum distance of a row from the hyperplanes on its own path; OCT-H bounds no others."""
    all_nodes = np.ones(tree.topology.n_branches, dtype=bool)
    return float(tree.path_distances(problem.X_labeled, all_nodes).min())


# A certificate in short sentences: first in rows, then in the paper's model.

_OUTLOOK = {
    CONVERGED: "nothing better was found",
    TIME_LIMIT: "the time limit cut the search off",
    INTERRUPTED: "the search was interrupted",
}
"""Why a tree without proof may not be the best."""


def about_fit(certificate: Certificate, classes: Sequence[Any] | None = None) -> Iterator[str]:
    """Describe the tree's errors and totals in rows, its size, and how the fit ended."""
    yield from about_tree(certificate, classes)
    yield from about_end(certificate)


def about_tree(certificate: Certificate, classes: Sequence[Any] | None = None) -> Iterator[str]:
    """Describe the tree's errors, totals and size: everything that rows, labels and totals show."""
    yield f"{certificate.n_contradicted:,} of {plural(certificate.n_labeled, 'label')} contradicted"
    if certificate.n_unlabeled:
        yield _total(certificate)
    n_estimated = sum(cell.is_aim for cell in certificate.cells)
    if n_estimated:
        yield f"{plural(n_estimated, 'total')} estimated, as if labeling depended on the class alone"
    yield _size(certificate.n_splits, certificate.n_terms)
    if certificate.classes_without_label:
        yield _without_label(certificate.classes_without_label, classes)
    if certificate.n_sampled is not None and certificate.n_register is not None:
        yield _sampled(certificate)


def about_end(certificate: Certificate) -> Iterator[str]:
    """Describe what only the fit knows: the agreement with the guide, how the fit ended, and what it proved."""
    if certificate.n_against_guide is not None:
        rows = plural(certificate.n_unlabeled, "unlabeled row")
        yield f"agrees with the guide on {certificate.n_unlabeled - certificate.n_against_guide:,} of {rows}"
    yield f"ended: {certificate.ended} after {duration(certificate.seconds)}"
    if not certificate.minimises_p2:
        yield _outlook(certificate)


def about_p2(certificate: Certificate) -> Iterator[str]:
    """Describe the tree's cost in the paper's model, its lower bound, and whether they meet."""
    yield p2_cost(certificate)
    yield f"lower bound {amount(certificate.lower_bound, 6)}"
    if not certificate.feasible:
        yield f"not feasible for P2 ({plural(certificate.n_margin_violations, 'row')} too near a hyperplane)"
    elif certificate.proved:
        yield f"proved optimal by {certificate.proved_by}{_among(certificate)}"
    else:
        yield f"not proved, gap {amount(certificate.gap)}"


def p2_cost(certificate: Certificate) -> str:
    """The tree's cost in the paper's model, in words."""
    off = plural(certificate.xi, "row") if certificate.unit == 1 else f"a weight of {amount(certificate.xi)}"
    return (
        f"P2 cost {amount(certificate.objective, 6)} = leaf error {amount(certificate.leaf_error, 6)} + "
        f"C * xi ({off} off the total)"
    )


def _among(certificate: Certificate) -> str:
    """The trees to which a proof refers if the number of features is limited."""
    if certificate.max_features_per_split is None:
        return ""
    most = "any number of" if certificate.proved_for_any_features else f"at most {certificate.max_features_per_split}"
    return f" among trees with {most} features per split"


def _total(certificate: Certificate) -> str:
    n_missed = sum(not cell.is_met(certificate.unit) for cell in certificate.cells)
    which = f"{len(certificate.cells)} totals" if certificate.cells else "total"
    if certificate.meets_totals:
        return f"{which} met exactly (0 rows off)" if not certificate.xi else f"{which} met to within half a row"
    missed = f"{f'{n_missed} of {which}' if n_missed else which} missed by {certificate.off}"
    if certificate.xi <= certificate.least_xi:
        return f"{missed}: the minimum possible, because identical rows share a class"
    return missed


def _sampled(certificate: Certificate) -> str:
    """The rows of a register that the guide, the tree and the totals come from."""
    sample, everything = plural(certificate.n_sampled or 0, "row"), plural(certificate.n_register or 0, "row")
    if certificate.proved_among and certificate.counted:
        return f"guide and questions from a sample of {sample}, tree and totals from all {everything}"
    if certificate.counted:
        return f"tree from a sample of {sample}, totals counted over all {everything}"
    return f"tree from a sample of {sample}, totals not counted over all {everything}, because the time ended"


def _size(n_splits: int, n_terms: int) -> str:
    if not n_splits:
        return "no splits: every row gets one class"
    if n_splits == 1:
        return f"1 split with {plural(n_terms, 'feature')}"
    return f"{n_splits} splits with {plural(round(n_terms / n_splits, 1), 'feature')} each ({n_terms} terms)"


def _without_label(indices: tuple[int, ...], classes: Sequence[Any] | None) -> str:
    if classes is None:
        return "1 class has no label" if len(indices) == 1 else f"{len(indices)} classes have no label"
    return f"no label of class {listed([repr(classes[c]) for c in indices])}"


def _outlook(certificate: Certificate) -> str:
    if certificate.model == EVIDENCE:
        return rows_against(certificate)
    return "proved best: no tree of this depth is better" if certificate.proved_best else _not_proved(certificate)


def _not_proved(certificate: Certificate) -> str:
    return f"not proved best: {_OUTLOOK.get(certificate.ended, 'a better one may exist')}"


def rows_against(certificate: Certificate) -> str:
    """The number of rows against the tree, and what is proved about other trees."""
    if certificate.misses_at_any_price:
        # A row off costs a thousand rows or more, so the sum means nothing to a reader.
        if certificate.proved_best:
            return f"proved best among {certificate.proved_among}, where the totals come first"
        return f"{_not_proved(certificate)}; the totals come first"
    cost, bound = certificate.minimised
    has = f"{plural(round(cost, 1), 'row')} against it, with rows off and terms at their prices"
    if certificate.proved_best:
        return f"proved best among {certificate.proved_among or 'trees of this depth'}: none has fewer than {has}"
    found = f"{_not_proved(certificate)}; the tree has {has}"
    if not certificate.proved_among or round(bound, 1) <= 0:
        return found
    return f"{found}, and {certificate.proved_among} have at least {plural(round(bound, 1), 'row')}"


# The shortcomings of a fit, as notices.

MINOR_MISS = 0.005
"""A total missed by a smaller share of the rows causes no warning."""

NAMED = 5
"""Maximum number of missed totals, or of classes, that a message names."""

AT_CHANCE = 0.15
"""From this p-value on, the labels do not show that the tree is better than chance.

In `bench/chance.py` it separates noise from tables with signal."""


def interruption(certificate: Claim) -> Iterator[Notice]:
    """A notice if the user stopped the fit."""
    if certificate.ended == INTERRUPTED:
        interrupted = f"The fit was interrupted after {duration(certificate.seconds)}"
        if certificate.is_worth_keeping:
            yield Notice(f"{interrupted}. Its tree is the best that was found until then")
        else:
            yield Notice(f"{interrupted}, before it found a tree that splits the rows")


def at_chance(certificate: Claim) -> Iterator[Notice]:
    """A notice if the features seem to say nothing about the classes."""
    if certificate.chance is not None and certificate.chance >= AT_CHANCE:
        yield Notice(
            "The tree may be no better than chance: on held-out labels, forests are not significantly better "
            f"(p = {certificate.chance:.2f}, permutation test)",
            Remedy.MORE_EVIDENCE,
            category=ChanceLevelWarning,
        )


def few_labels(certificate: Claim, classes: Sequence[Any], among: Iterable[int]) -> Iterator[Notice]:
    """A notice about the classes with too few labels to recognise them, all in one sentence."""
    few = [c for c in among if certificate.labels[c] < FEW_LABELS]
    if few:
        named = _named([f"class {classes[c]!r} ({plural(certificate.labels[c], 'label')})" for c in few])
        yield Notice(f"Too few labels to recognise {named} reliably", Remedy.LABEL_MORE, category=FewLabelsWarning)


def _labeled_classes(certificate: Certificate) -> list[int]:
    """The classes with labels and with rows or a positive total."""
    put, known = certificate.assigned, certificate.totals
    return [
        c for c in range(len(certificate.labels)) if c not in certificate.classes_without_label and (put[c] or known[c])
    ]


def _named(classes: Sequence[str]) -> str:
    """List classes in a sentence, only the first ones if there are many."""
    n_more = len(classes) - NAMED
    return listed([*classes[:NAMED], *([plural(n_more, "other class", "other classes")] if n_more > 0 else [])])


def cut_off(certificate: Claim) -> Iterator[Notice]:
    """A notice if the time limit cut the fit: a longer limit may give another tree."""
    if certificate.ended != TIME_LIMIT:
        return
    if certificate.proved_best:
        found = "No tree fits labels and totals better, but the search for others that fit as well was not completed"
    elif certificate.has_splits:
        found = "Its tree is the best that was found until then, and a better tree may exist"
    else:
        found = "It found no split, and a better tree may exist"
    yield Notice(f"The time limit cut the fit off after {duration(certificate.seconds)}. {found}", Remedy.MORE_TIME)


def _not_counted(certificate: Certificate) -> Iterator[Notice]:
    """A notice if time ran out before all rows were counted."""
    if not certificate.counted and certificate.n_register is not None:
        yield Notice(
            f"The totals were not counted over all {plural(certificate.n_register, 'row')}, because the time ended. "
            "All numbers are about a sample of them",
            Remedy.MORE_TIME,
        )


def _missed_total(certificate: Certificate, classes: Sequence[Any]) -> Iterator[Notice]:
    if certificate.meets_totals or not certificate.miss_matters:
        return
    missed = [cell for cell in certificate.cells if not cell.is_met(certificate.unit)]
    if missed and all(cell.is_aim and abs(cell.excess) <= cell.se for cell in missed):
        return  # An estimate is not more precise than that.
    what = "totals" if certificate.cells else "total"
    finding = f"The tree misses the {what} by {certificate.off}{_where(certificate, classes)}"
    if certificate.xi <= certificate.least_xi:
        yield Notice(f"{finding}. No tree can come nearer, because rows with equal features get one class")
        return
    if certificate.least_xi:
        finding += f". Equal features force every tree to miss it by {plural(certificate.least_xi, 'row')}"
    if certificate.n_register is not None:
        only = "" if certificate.proved_among else "Only the offsets of its last splits are fitted to all rows. "
        finding += f". {only}Rows of equal value stay together"
    price = () if certificate.misses_at_any_price else (Remedy.ANY_PRICE,)
    price = (Remedy.HIGHER_PRICE,) if certificate.minimises_p2 else price
    features = () if certificate.max_features_per_split is None else (Remedy.MORE_FEATURES,)
    yield Notice(finding, *price, Remedy.DEEPER_TREE, *features)


def _where(certificate: Certificate, classes: Sequence[Any]) -> str:
    """The class whose total is exceeded most, in words."""
    if certificate.cells:
        return _worst_cells(certificate, classes)
    excess = [put - known for put, known in zip(certificate.assigned, certificate.totals, strict=True)]
    most = excess.index(max(excess))
    return (
        f": it puts {amount(certificate.assigned[most])} of {plural(sum(certificate.assigned), 'unlabeled row')} into "
        f"class {classes[most]!r}, and the total says {amount(certificate.totals[most])}"
    )


def _worst_cells(certificate: Certificate, classes: Sequence[Any]) -> str:
    """The cells that are missed most, with their known totals, in words."""
    missed = [cell for cell in certificate.cells if not cell.is_met(certificate.unit)]
    worst = sorted(missed, key=lambda cell: -abs(cell.excess))[:NAMED]
    described = [
        f"{cell.place}class {classes[cell.class_index]!r} gets {amount(cell.assigned)}, and {cell.known}"
        for cell in worst
    ]
    more = f"; and {plural(len(missed) - len(worst), 'other total')}" if len(missed) > len(worst) else ""
    return f": {'; '.join(described)}{more}"


def _open_totals(certificate: Certificate, classes: Sequence[Any]) -> Iterator[Notice]:
    """A notice about classes whose number of rows is left to the fit, or that get none although totals allow some."""
    if len(still_open := _open_classes(certificate)) > 1:
        rows = [f"class {classes[c]!r} ({plural(certificate.assigned[c], 'row')})" for c in still_open]
        finding = f"The totals do not say how many rows belong to {_named(rows)}, so the fit decides"
        yield Notice(finding, Remedy.COMPLETE_TOTALS, category=OpenTotalsWarning)
        return
    empty = [
        c
        for c, assigned in enumerate(certificate.assigned)
        if not assigned and any(cell.class_index == c and cell.low < cell.high for cell in certificate.cells)
    ]
    if empty:
        named = _named([f"class {classes[c]!r}" for c in empty])
        yield Notice(f"No unlabeled row gets {named}, although the totals allow some", category=OpenTotalsWarning)


def _open_classes(certificate: Certificate) -> list[int]:
    """The classes that may have any number of rows in some domain of every margin."""
    size: dict[tuple[str, str], float] = defaultdict(float)
    for cell in certificate.cells:
        size[cell.margin, cell.domain] += cell.assigned
    slack = NEARLY_MET * certificate.unit
    is_open = {
        (cell.margin, cell.class_index)
        for cell in certificate.cells
        if cell.value is None and cell.low <= 0 and cell.high >= (n := size[cell.margin, cell.domain]) - slack and n > 0
    }
    margins = {cell.margin for cell in certificate.cells}
    return [c for c in range(len(certificate.assigned)) if margins and all((m, c) in is_open for m in margins)]


def _unlabeled_classes(certificate: Certificate, classes: Sequence[Any]) -> Iterator[Notice]:
    """A notice about each class without labels that has, or should have, rows."""
    support = "the total" if certificate.guide_weight is None else "the total and the guide"
    for c in certificate.classes_without_label:
        if certificate.assigned[c] or certificate.totals[c]:
            yield Notice(
                f"No labeled row has class {classes[c]!r}. The tree puts {amount(certificate.assigned[c])} of "
                f"{plural(sum(certificate.assigned), 'unlabeled row')} into it, but which rows is a guess: it rests on "
                f"{support}, and no label supports it",
                Remedy.LABEL_SOME,
            )
