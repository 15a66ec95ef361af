"""From a register to a certified tree: a fit to its sample, then passes over all rows.

The guide is fitted to the sample. Its answers about all rows are added up in histograms, from which the tree follows
exactly. If the guide cannot answer about other rows, or there is no time, the tree is that of the sample.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from s2oct.evidence.evidence import LEVEL_PRICE, Evidence, EvidenceSpec, split_price
from s2oct.evidence.exact import ExactSearch
from s2oct.fit.certificate import Certificate, cells_of_counts
from s2oct.fit.context import Budget, Guidance
from s2oct.fit.register import Register
from s2oct.fit.register_passes import CountedTree, Finding, Marks, PricedTree, Pricing, grained, marks_of, settle_totals
from s2oct.fit.register_search import CountPairs, ExactFit, RegisterTerms, asked_of
from s2oct.fit.training import Trained
from s2oct.p2.costs import Assignment, LabelErrors
from s2oct.p2.prepared import ModelSpec
from s2oct.p2.proof import CONVERGED, INTERRUPTED, NOT_NEGATIVE, PROVED, TIME_LIMIT
from s2oct.problem.batches import Batch, rows_of_batch
from s2oct.problem.problem import DataSummary, Guide, Problem, register_hash, whole_if_whole
from s2oct.problem.targets import NEARLY_MET
from s2oct.stopping import Deadline, Stop, now
from s2oct.trees.rounding import TreeSize
from s2oct.trees.tree import ObliqueTree
from s2oct.wording import duration

LARGEST_SHARE = 0.5
"""Share of the time limit that is kept for passes at most."""

SAMPLE_SHARE = 0.6
"""Share of the time limit that the fit to the sample may take: the rest is for all rows."""

PASSES = 3.5
"""Passes for which time is kept: three, and some rows more, because the machine may be busier then."""

BY_SAMPLE = "A sample of the rows chose the tree, and nothing is proved about all rows: "
NO_ANSWERS = "the guide reads tables, and rows beyond the sample are numbers. Pass numbers, or another guide."
NO_ROOM = "histograms of so many domains do not fit into memory. State totals of fewer domains."
NO_TIME = "the time limit leaves no time to ask the guide about all rows"

TRIED_ROWS, HOPE = 16_384, 0.5
"""Rows of the sample by which the time of a pass that asks the guide is estimated, and the share of it that must be
left to begin: a busy machine may be less busy later."""


@dataclass(frozen=True, eq=False)
class RegisterTask:
    """What a fit to a register is about.

    Attributes
    ----------
    register : Register
        All rows.
    problem : Problem
        Its sample.
    guidance : Guidance
        The guide that this fit asks, and what the user chose about trees, as far as the sample is concerned.
    spec : ModelSpec
        What the user chose about the model.
    evidence_spec : EvidenceSpec
        What the user chose about trees.
    """

    register: Register
    problem: Problem
    guidance: Guidance
    spec: ModelSpec
    evidence_spec: EvidenceSpec

    @property
    def term_price(self) -> float:
        """Rows that a term must save."""
        labeled = self.problem.labeled_size.sum() * self.problem.unit / self.register.unit
        return self.evidence_spec.price_of(float(labeled) + self.register.n_unlabeled)

    def evidence(self, tree: ObliqueTree) -> Evidence:
        """What classes cost the rows of the sample, as they are, in rows of the mean weight of the register.

        Without an answer of the guide, labels alone cost something.
        """
        said, guidance = self.guidance.answer, self.guidance
        guide = None if said is None else Guide.from_probabilities(said.probabilities, guidance.weight)
        evidence = guidance.evidence(replace(self.problem, guide=guide), tree.topology)
        return replace(evidence, cost=evidence.cost * (self.problem.unit / self.register.unit))


@dataclass(frozen=True, eq=False)
class SettledFit:
    """A tree whose totals are those of all rows, and what identifies these."""

    trained: Trained
    summary: DataSummary


def train_register(
    task: RegisterTask, fit_sample: Callable[[Budget], Trained], budget: Budget, stop: Stop, began: float
) -> SettledFit:
    """Fit a tree to a register.

    Parameters
    ----------
    task : RegisterTask
        All rows, the sample and the guide.
    fit_sample : callable
        Fits the sample with a budget.
    budget : Budget
        What everything together may use.
    stop : callable
        Once it returns True, the tree so far is kept.
    began : float
        The moment (of `now`) at which the time limit began.
    """
    register = task.register
    end, before = Deadline(began + budget.time_limit, stop), now()
    marks = register.batches.total(marks_of, end)
    pass_seconds = now() - before
    kept = min(PASSES * pass_seconds, LARGEST_SHARE * budget.time_limit)
    limit = min(budget.time_limit - kept, SAMPLE_SHARE * budget.time_limit)
    trained = fit_sample(replace(budget, time_limit=max(limit, 0.1 * budget.time_limit)))
    evidence = task.evidence(trained.tree)
    exact = _exact(task, trained, evidence, end.sooner(kept), pass_seconds)
    tree: ObliqueTree | PricedTree = trained.tree
    if isinstance(exact, _Exact):
        tree = PricedTree(exact.fit.best.tree, exact.fit.best.off, exact.pricing)
    elif exact and not stop():
        trained = replace(trained, notices=(*trained.notices, BY_SAMPLE + exact))
    settled = settle_totals(register, tree, evidence, end, pass_seconds, task.evidence_spec.min_rows)
    if settled.finding is None:
        ended = INTERRUPTED if stop() else TIME_LIMIT
        certificate = _not_counted(register, trained.certificate, ended)
    else:
        trained = _beside_others(replace(trained, tree=settled.tree, witness=settled.tree), task.problem)
        certificate = _counted(task, trained, settled.finding, evidence)
        if isinstance(exact, _Exact):
            certificate = _proved(certificate, exact, settled, register.unit, end)
        if end.has_cut and certificate.ended != INTERRUPTED:
            certificate = replace(certificate, ended=TIME_LIMIT)
    certificate = replace(certificate, seconds=now() - began)
    summary = _summary(register, task.problem, marks)
    return SettledFit(replace(trained, certificate=certificate), summary)


def _beside_others(trained: Trained, problem: Problem) -> Trained:
    """The same with the agreement of other trees and this one, which is not that of the sample's fit."""
    if not trained.others:
        return trained
    rows = problem.X_unlabeled
    agrees = np.array([other.predict(rows) for other in trained.others]) == trained.tree.predict(rows)
    others = tuple(other for other, same in zip(trained.others, agrees.all(axis=1), strict=True) if not same)
    return replace(trained, others=others, stability=agrees.mean(axis=0))


@dataclass(frozen=True, eq=False)
class _Exact:
    """What was found by all rows, and how they were priced."""

    fit: ExactFit
    pricing: Pricing
    row_off: float


def _exact(
    task: RegisterTask, trained: Trained, evidence: Evidence, deadline: Deadline, pass_seconds: float
) -> _Exact | str:
    """Find the tree from histograms of all rows; otherwise say why not, or nothing if that has been said."""
    said, simplification, register = task.guidance.answer, trained.simplification, task.register
    if said is None or simplification is None:
        return ""
    if said.of_rows is None:
        return NO_ANSWERS
    search, targets = simplification.search, register.targets
    if register.is_weighted:
        targets = targets.widened(NEARLY_MET)
    low, high = (part.reshape(-1, targets.n_classes) for part in (targets.low, targets.high))
    depth = trained.tree.topology.depth
    n_regions = 2 ** max(depth - 2, 0)
    sample = asked_of(search, n_regions * (targets.n_classes + 1 + len(low)))
    if not sample.asked:
        return NO_ROOM if search.questions else ""
    pricing = Pricing(said.of_rows)
    counting = CountPairs(sample.asked, trained.tree, simplification.columns, pricing, len(low))
    needed = pass_seconds + _seconds(counting, register)
    sums = register.batches.total(counting, deadline) if deadline.allows(HOPE * needed) else None
    if sums is None:
        return f"{NO_TIME}, which takes about {duration(needed)}. Allow more time."
    labeled, none = slice(evidence.n_labeled), np.zeros((1, evidence.n_labeled), dtype=np.int64)
    own = counting.added(
        evidence.X[labeled], grained(evidence.cost[labeled]), evidence.given[labeled], np.zeros(none.shape[1]), none
    )
    terms = RegisterTerms(
        low=low,
        high=high,
        n_first=targets.margins[0].n_domains,
        row_off=evidence.row_off,
        term=task.term_price,
        above=_price_above(search, n_regions),
        min_rows=float(task.evidence_spec.min_rows),
    )
    return _Exact(ExactFit.of(counting, sums.parts[0] + own, terms, sample, deadline), pricing, evidence.row_off)


def _seconds(counting: CountPairs, register: Register) -> float:
    """What histograms of all rows take, without reading the rows; estimated by rows of the sample."""
    took = []
    for n in (0, min(TRIED_ROWS, len(register.rows))):
        began = now()
        counting(Batch(register.rows[:n], np.ones(n), np.zeros((1, n), dtype=np.int64)))
        took.append(now() - began)
    of_batch, of_row = took[0], max(took[1] - took[0], 0.0) / n
    n_batches = register.n_unlabeled / rows_of_batch(register.rows.shape[1])
    return (n_batches * of_batch + register.n_unlabeled * of_row) / register.batches.n_readers


def _price_above(search: ExactSearch, n_regions: int) -> float:
    """The price of the splits of the sample's tree above its regions, in prices of one term."""
    price = 0.0
    for q, cut in zip(search.best.questions[: n_regions - 1], search.best.cuts, strict=False):
        if q >= 0:
            named = search.questions[q].named
            price += split_price(search.questions[q].n_terms) + (LEVEL_PRICE * named[cut] if len(named) else 0.0)
    return price


def _counted(task: RegisterTask, trained: Trained, found: Finding, evidence: Evidence) -> Certificate:
    """The certificate of a tree by all rows, where the guide was asked about the sample only: that is scaled up."""
    register, problem, tree, certificate = task.register, task.problem, trained.tree, trained.certificate
    targets, unit = register.targets, register.unit
    counts = np.split(found.counts, np.cumsum([margin.n_domains for margin in targets.margins])[:-1])
    off = float(sum(m.rows_off(part).sum() for m, part in zip(targets.margins, counts, strict=True)))
    leaf_error = problem.unit * LabelErrors().value(Assignment.of(problem, tree))
    classes = tree.predict(evidence.X)
    n, charged = evidence.n_labeled, evidence.cost[np.arange(evidence.n_rows), classes]
    price = task.term_price * evidence.cost_of(tree).price
    size = TreeSize.of_tree(tree, problem.features)
    return replace(
        certificate,
        objective=leaf_error + task.spec.C * unit * off,
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
        evidence_cost=float(charged[:n].sum() + charged[n:].sum() / register.share) + price + evidence.row_off * off,
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


def _proved(
    certificate: Certificate, exact: _Exact, settled: CountedTree, unit: float, deadline: Deadline
) -> Certificate:
    """The certificate of a tree whose cost over all rows is known, with what is proved about others."""
    best = exact.fit.best
    cost = best.rows + settled.extra + best.price + exact.row_off * certificate.xi / unit
    certificate = replace(
        certificate,
        evidence_cost=cost,
        evidence_bound=exact.fit.bound_beside(cost, deadline),
        proved_among=exact.fit.among,
    )
    is_proved = certificate.proved_best and certificate.ended == CONVERGED
    return replace(certificate, ended=PROVED) if is_proved else certificate


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
