"""From a register to a certified tree: a fit to its sample, then passes over all rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from s2oct.certificate import Certificate
from s2oct.certificate.cell import cells_of_counts
from s2oct.fit.context import Budget, Guidance
from s2oct.fit.training import Trained
from s2oct.model.assignment import Assignment
from s2oct.model.cost_terms import LabelErrors
from s2oct.model.evidence import Evidence
from s2oct.model.prepared import ModelSpec
from s2oct.model.problem import DataSummary, Guide, Problem, register_hash, whole_if_whole
from s2oct.model.proof import CONVERGED, INTERRUPTED, NOT_NEGATIVE, PROVED, TIME_LIMIT
from s2oct.model.rules import TreeSize
from s2oct.model.tree import ObliqueTree
from s2oct.register.passes import Finding, Marks, marks_of
from s2oct.register.register import Register
from s2oct.register.settling import settle_totals
from s2oct.stopping import Deadline, Stop, now

LARGEST_SHARE = 0.5
"""Share of the time limit that is kept for passes at most."""

PASSES = 3.5
"""Passes for which time is kept: three, and some rows more, because the machine may be busier then."""


@dataclass(frozen=True, eq=False)
class SettledFit:
    """A tree whose totals are those of all rows, and what identifies these."""

    trained: Trained
    summary: DataSummary


def train_register(
    register: Register,
    problem: Problem,
    fit_sample: Callable[[Budget], Trained],
    guidance: Guidance,
    spec: ModelSpec,
    budget: Budget,
    stop: Stop,
    began: float,
) -> SettledFit:
    """Fit a tree to the sample of a register, and make it meet the totals of all rows.

    Parameters
    ----------
    register : Register
        All rows.
    problem : Problem
        Its sample.
    fit_sample : callable
        Fits the sample with a budget.
    guidance : Guidance
        The guide that this fit asks.
    spec : ModelSpec
        What the user chose about the model.
    budget : Budget
        What everything together may use.
    stop : callable
        Once it returns True, the tree so far is kept.
    began : float
        The moment (of `now`) at which the time limit began.
    """
    end, before = Deadline(began + budget.time_limit, stop), now()
    marks = register.batches.total(marks_of, end)
    pass_seconds = now() - before
    kept = min(PASSES * pass_seconds, LARGEST_SHARE * budget.time_limit)
    trained = fit_sample(replace(budget, time_limit=max(budget.time_limit - kept, 0.1 * budget.time_limit)))
    evidence = _evidence(problem, trained.tree, guidance)
    found = settle_totals(register, trained.tree, evidence, end, pass_seconds)
    if found.finding is None:
        ended = INTERRUPTED if stop() else TIME_LIMIT
        certificate = _not_counted(register, trained.certificate, ended)
    else:
        trained = replace(trained, tree=found.tree, witness=found.tree)
        certificate = _counted(register, problem, trained, found.finding, evidence, spec)
        if end.has_cut and certificate.ended != INTERRUPTED:
            certificate = replace(certificate, ended=TIME_LIMIT)
    certificate = replace(certificate, seconds=now() - began)
    summary = _summary(register, problem, marks)
    return SettledFit(replace(trained, certificate=certificate), summary)


def _evidence(problem: Problem, tree: ObliqueTree, guidance: Guidance) -> Evidence:
    """What classes cost the rows of the sample, as they are; without an answer of the guide, labels alone."""
    said = guidance.answer
    guide = None if said is None else Guide.from_probabilities(said.probabilities, guidance.weight)
    return guidance.evidence(replace(problem, guide=guide), tree.topology)


def _counted(
    register: Register,
    problem: Problem,
    trained: Trained,
    found: Finding,
    evidence: Evidence,
    spec: ModelSpec,
) -> Certificate:
    """The certificate of a tree by all rows. The guide was asked about the sample only: what it says is scaled up."""
    targets, unit, tree, certificate = register.targets, register.unit, trained.tree, trained.certificate
    counts = np.split(found.counts, np.cumsum([margin.n_domains for margin in targets.margins])[:-1])
    off = float(sum(m.rows_off(part).sum() for m, part in zip(targets.margins, counts, strict=True)))
    leaf_error = problem.unit * LabelErrors().value(Assignment.of(problem, tree))
    classes = tree.predict(evidence.X)
    n, charged = evidence.n_labeled, evidence.cost[np.arange(evidence.n_rows), classes]
    size = TreeSize.of_tree(tree, problem.features)
    return replace(
        certificate,
        objective=leaf_error + spec.C * unit * off,
        lower_bound=NOT_NEGATIVE.value,
        bound_source=NOT_NEGATIVE.source,
        # The constants of P2 are not known for all rows.
        feasible=False,
        min_margin=found.least,
        leaf_error=leaf_error,
        xi=unit * off,
        least_xi=0.0,
        n_margin_violations=found.n_near,
        guide_cost=None,
        n_against_guide=None,
        uncapped_lower_bound=None,
        ended=CONVERGED if certificate.ended == PROVED else certificate.ended,
        evidence_cost=float(charged[:n].sum() + charged[n:].sum() / register.share) + evidence.row_off * off,
        evidence_bound=0.0,
        proved_among="",
        n_contradicted=int((classes[:n] != problem.labels).sum()),
        n_splits=size.n_splits,
        n_terms=size.n_terms,
        n_unlabeled=register.n_unlabeled,
        assigned=whole_if_whole(unit * counts[0].sum(axis=0)),
        totals=whole_if_whole(unit * targets.class_totals()),
        unit=unit,
        cells=() if targets.is_known else cells_of_counts(targets, counts, unit),
        n_sampled=len(register.rows),
        n_register=register.n_rows,
    )


def _not_counted(register: Register, certificate: Certificate, ended: str) -> Certificate:
    """The certificate of a tree by the sample alone."""
    return replace(
        certificate,
        ended=ended,
        n_sampled=len(register.rows),
        n_register=register.n_rows,
        counted=False,
        evidence_bound=0.0,
        proved_among="",
    )


def _summary(register: Register, problem: Problem, marks: Marks | None) -> DataSummary:
    """What identifies the rows; nothing does, if the time ended before all of them were seen."""
    totals = whole_if_whole(register.unit * register.targets.class_totals())
    mark = "" if marks is None else register_hash(problem, register.targets, marks.mark, register.n_unlabeled)
    return DataSummary(mark, register.n_labeled, register.n_unlabeled, totals)
