"""Certificates of trees that meet totals, computed from the hyperplanes: their cost in P2, and what they do in rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from s2oct.certificate.cell import Cell, counted_cells
from s2oct.certificate.claim import Claim, labels_of, shortcomings_of
from s2oct.certificate.sentences import about_fit, about_p2
from s2oct.errors import Notice
from s2oct.model.assignment import Assignment
from s2oct.model.evidence import ANY_PRICE
from s2oct.model.prepared import Prepared
from s2oct.model.problem import whole_if_whole
from s2oct.model.proof import DECIDED_TOLERANCE, EVIDENCE, PAPER, FitRecord, lower_bound, total_bound
from s2oct.model.rules import TreeSize
from s2oct.model.score import is_feasible, score
from s2oct.model.targets import NEARLY_MET
from s2oct.model.tree import ObliqueTree
from s2oct.wording import amount, plural

MINOR_MISS = 0.005
"""A total that is missed by a smaller share of the rows is no reason for a warning."""


@dataclass(frozen=True)
class Certificate(Claim):
    """What is known about a tree: what it does in rows, and what it costs in the paper's P2.

    ``objective``, ``lower_bound``, ``gap``, ``proved`` and ``proved_by`` are about P2, with or without a guide.
    ``ended``, ``minimised`` and ``proved_best`` are about the model that was fitted.

    Parameters
    ----------
    objective : float
        Cost of the tree, evaluated from its hyperplanes on the rows.
    lower_bound : float
        No feasible tree costs less.
    feasible : bool
        Whether the tree satisfies every constraint of the model within the stated tolerances.
    bound_source : str
        Where the lower bound comes from.
    min_margin : float
        Least distance of a row from a hyperplane, in units of omega, that the model bounds from below.
    seconds : float
        Wall-clock seconds until the tree was final.
    history : tuple of Moment
        Best cost and lower bound over time.
    leaf_error : float
        Errors of the labeled rows, the first part of the cost.
    xi : float
        Rows by which the total is missed; C times this is the second part.
    n_margin_violations : int
        Unlabeled rows that are too near a hyperplane; 0 if the tree is feasible.
    guide_cost : float or None
        What the guide charges for the classes of the unlabeled rows, plus 1 for each row off the total; None without
        a guide.
    guide_weight : float or None
        What an unlabeled row of which the guide is sure counted against a labeled one; 0 if the guide only chose
        between trees of equal cost.
    coefficient_bound : float
        The paper's s in the P2 that was solved: the bound on the coefficients in model units.
    max_features_per_split : int or None
        Most features in a split of the P2 that was solved; None if there is no such constraint, as in the paper.
    uncapped_lower_bound : float or None
        With such a constraint: no tree costs less, however many features its splits use.
    features : tuple of int or None
        The columns that splits may use; None for all. Cost, bound and proof are about P2 with these columns alone.
    ended : str
        Why the fit ended: "proved", "converged", "time limit" or "interrupted".
    labels : tuple of int
        Labels of each class; a labeled row of weight 0 does not count.
    chance : float or None
        The p-value of the hypothesis that the features say nothing about the classes, tested on labels that were held
        out from forests; None if it was not tested.
    n_labeled, n_unlabeled : int
        Numbers of rows, each counted with its multiplicity like all numbers of rows here.
    n_contradicted : int
        Labeled rows that the tree puts into another class than their own.
    n_against_guide : int or None
        Unlabeled rows that the tree puts into another class than the one that the guide finds likeliest; None without
        a guide.
    n_splits : int
        Splits that decide something.
    n_terms : int
        Columns in these splits, added up over the splits.
    totals, assigned : tuple of float
        Of each class, the unlabeled rows by the total and those that the tree puts there; weights are added up, if
        there are any. Where a total is not known exactly, the first is the middle of what is known.
    cells : tuple of Cell
        Totals of all domains and classes, if there are several domains or totals that are not exact; else empty.
    unit : float
        Mean survey weight of an unlabeled row; 1 without weights. Costs, bounds and totals are in weights.
    least_xi : float
        Rows by which every tree misses the total, because rows with equal features get one class.
    classes_without_label : tuple of int
        Positions of the classes that no labeled row has.
    model : str
        The model that was fitted: "paper" for P2, or "evidence".
    evidence_cost, evidence_bound : float or None
        In the evidence model, the rows against the tree, and the fewest that a tree of its kind can have; None in the
        paper's. Rows off the totals and terms are counted at their prices.
    proved_among : str
        In the evidence model, the trees that ``evidence_bound`` is about, as in "trees of depth 2 with one feature per
        split"; empty in the paper's.
    n_sampled, n_register : int or None
        If the table is a register: the rows of the sample that the guide was fitted to, and all rows. The constants of
        P2 are not known. If ``proved_among`` is empty, the sample chose the tree, and what the guide says of it is
        scaled up.
    counted : bool
        Whether all numbers of rows are about all rows. If the time ended too soon, they are about the sample.
    """

    leaf_error: float
    xi: float
    n_margin_violations: int
    guide_cost: float | None = None
    guide_weight: float | None = None
    coefficient_bound: float = float("inf")
    max_features_per_split: int | None = None
    uncapped_lower_bound: float | None = None
    features: tuple[int, ...] | None = None
    n_labeled: int = field(kw_only=True)
    n_unlabeled: int = field(kw_only=True)
    n_contradicted: int = field(kw_only=True)
    n_against_guide: int | None = field(default=None, kw_only=True)
    n_splits: int = field(kw_only=True)
    n_terms: int = field(kw_only=True)
    totals: tuple[float, ...] = field(kw_only=True)
    assigned: tuple[float, ...] = field(kw_only=True)
    cells: tuple[Cell, ...] = field(default=(), kw_only=True)
    unit: float = field(default=1.0, kw_only=True)
    least_xi: float = field(default=0.0, kw_only=True)
    classes_without_label: tuple[int, ...] = field(default=(), kw_only=True)
    model: str = field(default=PAPER, kw_only=True)
    evidence_cost: float | None = field(default=None, kw_only=True)
    evidence_bound: float | None = field(default=None, kw_only=True)
    proved_among: str = field(default="", kw_only=True)
    n_sampled: int | None = field(default=None, kw_only=True)
    n_register: int | None = field(default=None, kw_only=True)
    counted: bool = field(default=True, kw_only=True)

    @property
    def tolerance(self) -> float:
        """A cost this close to its lower bound counts as proved; costs are in survey weights."""
        return DECIDED_TOLERANCE * max(self.unit, 1.0)

    @property
    def known_cells(self) -> tuple[Cell, ...]:
        """All totals with what the tree puts there."""
        if self.cells:
            return self.cells
        return tuple(
            Cell("", "", k, total, total, put, total)
            for k, (total, put) in enumerate(zip(self.totals, self.assigned, strict=True))
        )

    @property
    def off(self) -> str:
        """By how much the totals are missed, in words."""
        share = f"{amount(100 * self.share_off, 2)} %"
        if self.unit == 1:
            return f"{plural(self.xi, 'row')} ({share})" if self.xi else "0 rows"
        rows = plural(round(self.xi / self.unit, 1), "row")
        return f"a weight of {amount(self.xi)} ({rows} of mean weight, {share})"

    @property
    def share_off(self) -> float:
        """By which share of the unlabeled rows the totals are missed."""
        everything = sum(self.assigned)
        return self.xi / everything if everything else 0.0

    @property
    def miss_matters(self) -> bool:
        """Whether the totals are missed by more than a row and by more than 0.5 % of the rows."""
        return self.xi > self.unit * (1 + 1e-9) and self.share_off > MINOR_MISS

    @property
    def meets_totals(self) -> bool:
        """Whether every total is met, to within half a row of the mean weight."""
        if not self.cells:
            return self.xi <= NEARLY_MET * self.unit * (1 + 1e-9)
        return all(cell.is_met(self.unit) for cell in self.cells)

    @property
    def proved_for_any_features(self) -> bool:
        """Whether no tree costs less, even one whose splits use more features than the P2 that was solved allows."""
        if self.max_features_per_split is None:
            return self.proved
        bound = self.uncapped_lower_bound
        return self.feasible and bound is not None and abs(self.objective - bound) <= self.tolerance

    @property
    def features_per_split(self) -> float | None:
        """Features that a split has on average; None without splits."""
        return self.n_terms / self.n_splits if self.n_splits else None

    @property
    def has_splits(self) -> bool:
        """Whether the tree puts rows into different leaves."""
        return self.n_splits > 0

    @property
    def minimises_p2(self) -> bool:
        """Whether the fit minimised P2 and nothing else."""
        return self.model == PAPER and not self.guide_weight

    @property
    def minimised(self) -> tuple[float, float]:
        """What the fit minimised, and a lower bound of it: P2's cost, or the cost in rows."""
        if self.model == EVIDENCE and self.evidence_cost is not None:
            return self.evidence_cost, self.evidence_bound or 0.0
        return self.objective, self.lower_bound

    @property
    def misses_at_any_price(self) -> bool:
        """Whether the totals are missed although they were to be met at any price."""
        is_missed = self.evidence_cost is not None and self.xi > 0
        return is_missed and float(self.evidence_cost or 0.0) >= ANY_PRICE * self.xi / self.unit

    @property
    def proved_best(self) -> bool:
        """Whether it is proved that no tree of its kind, see ``proved_among``, is better by what the fit minimised."""
        cost, bound = self.minimised
        if self.model == EVIDENCE:
            # It has no margins, so a tree need not be feasible for P2, and it counts rows, not survey weights.
            return bool(self.proved_among) and abs(cost - bound) <= DECIDED_TOLERANCE
        return self.feasible and abs(cost - bound) <= self.tolerance

    def sentences(self, classes: Sequence[Any] | None = None) -> tuple[str, ...]:
        """Say what the tree does and how the fit ended, in rows; of a fit to P2 alone also what it costs there.

        Parameters
        ----------
        classes : sequence, optional
            The class labels in their order, to name them.

        Returns
        -------
        tuple of str
            Short sentences, without capitals and full stops.
        """
        return (*about_fit(self, classes), *(self.in_p2 if self.minimises_p2 else ()))

    @property
    def in_p2(self) -> tuple[str, ...]:
        """What the tree costs in the paper's model, as short sentences."""
        return tuple(about_p2(self))

    def shortcomings(self, classes: Sequence[Any]) -> tuple[Notice, ...]:
        """Say what the fit did not reach, which its user should know.

        Parameters
        ----------
        classes : sequence
            The class labels in their order, to name them.

        Returns
        -------
        tuple of Notice
            The gravest first; empty if there are none.
        """
        return shortcomings_of(self, classes)

    def __str__(self) -> str:
        return "; ".join(self.sentences())


def certify(prepared: Prepared, tree: ObliqueTree, record: FitRecord, rules: ObliqueTree | None = None) -> Certificate:
    """Certify a tree from its hyperplanes, on the rows as the user gave them and in the user's units.

    ``rules`` is the tree as people read it, whose splits and terms are counted; the tree itself if it is None.
    """
    guide, most, unit = prepared.given.guide, prepared.most_features, prepared.given.unit
    size = TreeSize.of_tree(tree if rules is None else rules, prepared.given.features)
    assignment = Assignment.of(prepared.given, tree)
    found = score(assignment, prepared.spec.C)
    return Certificate(
        objective=unit * found.objective,
        lower_bound=unit * record.bound.value,
        feasible=is_feasible(assignment, prepared.bounds, found, prepared.scaling.scale, most),
        bound_source=record.bound.source,
        min_margin=found.min_margin,
        seconds=record.seconds,
        history=tuple(moment.times(unit) for moment in record.history) if unit != 1 else record.history,
        leaf_error=unit * found.leaf_error,
        xi=unit * found.xi,
        n_margin_violations=found.n_margin_violations,
        guide_cost=None if guide is None else found.guide_cost,
        guide_weight=None if guide is None else guide.weight,
        coefficient_bound=prepared.bounds.s,
        max_features_per_split=most,
        uncapped_lower_bound=None if most is None else unit * lower_bound(prepared.problem, prepared.spec.C),
        features=prepared.spec.features,
        ended=record.ended,
        least_xi=unit * total_bound(prepared.problem) if found.xi else 0.0,
        model=record.model,
        evidence_cost=record.evidence_cost,
        evidence_bound=record.evidence_bound,
        proved_among=record.proved_among,
        n_splits=size.n_splits,
        n_terms=size.n_terms,
        **_in_rows(assignment),
    )


def _in_rows(assignment: Assignment) -> dict[str, Any]:
    """What a tree does with the rows of a problem, counted with their multiplicities."""
    problem, guide = assignment.problem, assignment.problem.guide
    n_rows, m_rows = problem.labeled_multiplicity, problem.unlabeled_multiplicity
    labeled = np.bincount(problem.labels, weights=n_rows, minlength=problem.n_classes)
    return {
        "n_labeled": int(n_rows.sum()),
        "n_unlabeled": int(m_rows.sum()),
        "n_contradicted": int(n_rows[assignment.labeled_classes != problem.labels].sum()),
        "n_against_guide": None if guide is None else int(m_rows[guide.is_against(assignment.unlabeled_classes)].sum()),
        "totals": whole_if_whole(problem.unit * problem.totals),
        "assigned": whole_if_whole(problem.unit * assignment.class_counts),
        "unit": problem.unit,
        "cells": ()
        if problem.targets.is_known
        else counted_cells(problem.targets, assignment.unlabeled_classes, problem.unlabeled_size, problem.unit),
        "labels": labels_of(problem),
        "classes_without_label": tuple(np.flatnonzero(labeled == 0).tolist()),
    }
