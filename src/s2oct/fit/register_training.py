"""From a register to a certified tree: a fit to its sample, then passes over all rows.

The guide is fitted to the sample. Its probabilities for all rows are summed in histograms, which determine the tree
exactly. If the guide cannot price other rows, or time runs out, the result is the sample's tree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from s2oct.evidence.evidence import LEVEL_PRICE, Evidence, EvidenceSpec, split_price
from s2oct.evidence.exact import ExactSearch
from s2oct.fit.certificate import Certificate, cells_of_counts
from s2oct.fit.context import Budget, Guidance
from s2oct.fit.register import Register
from s2oct.fit.register_passes import Cells, TreeCounts, grained, mark_rows, settle_totals
from s2oct.fit.register_search import CountPairs, ExactFit, RegisterTerms, choose_lines, sample_trees
from s2oct.p2.costs import Assignment, sum_of_errors
from s2oct.p2.prepared import ModelSpec
from s2oct.p2.proof import CONVERGED, INTERRUPTED, NOT_NEGATIVE, PROVED, TIME_LIMIT
from s2oct.problem.batches import Batch, rows_of_batch
from s2oct.problem.problem import DataSummary, Guide, Problem, register_hash, whole_if_whole
from s2oct.stopping import Deadline, Stop, now
from s2oct.trees.rules import TreeSize
from s2oct.wording import duration

if TYPE_CHECKING:
    from s2oct.fit.training import Trained

BY_SAMPLE = "A sample of the rows chose the tree, and nothing is proved about all rows: "
NO_ANSWERS = "the guide reads tables, and rows beyond the sample are numbers. Pass numbers, or another guide."
TOO_MANY_DOMAINS = "the histograms do not fit into memory, because there are totals of too many domains. Pass fewer."
NO_TIME = "the time limit leaves no time to ask the guide about all rows"


@dataclass(frozen=True)
class RegisterParams:
    """How a fit to a register divides its time.

    Attributes
    ----------
    passes : float
        Number of passes for which time is reserved: three, plus some slack, because the machine may be busier by then.
    passes_share : float
        Maximum share of the time limit kept for passes.
    sample_share, least_sample_share : float
        Maximum and minimum share of the time limit for the fit to the sample; the rest is for all rows.
    tried_rows : int
        Rows of the sample on which the seconds of a pass that asks the guide are measured.
    hope : float
        Share of these seconds that must be left for such a pass to start: a busy machine may be less busy later.
    """

    passes: float = 3.5
    passes_share: float = 0.5
    sample_share: float = 0.6
    least_sample_share: float = 0.1
    tried_rows: int = 16_384
    hope: float = 0.5


PARAMS = RegisterParams()


@dataclass(frozen=True, eq=False)
class RegisterTask:
    """A register to fit, and the user's choices.

    Attributes
    ----------
    register : Register
        All rows.
    problem : Problem
        Its sample.
    guidance : Guidance
        The guide, and the options of trees scaled to the sample.
    spec : ModelSpec
        The options of the model.
    evidence_spec : EvidenceSpec
        The options of trees, for all rows.
    """

    register: Register
    problem: Problem
    guidance: Guidance
    spec: ModelSpec
    evidence_spec: EvidenceSpec

    @property
    def term_price(self) -> float:
        """Minimum number of rows that a term must save."""
        labeled = self.problem.labeled_size.sum() * self.problem.unit / self.register.unit
        return self.evidence_spec.price_of(float(labeled) + self.register.n_unlabeled)

    def evidence(self, trained: Trained) -> Evidence:
        """The evidence of the sample's rows, before merging, in rows of the register's mean weight.

        Without the guide's probabilities, only labels have a cost.
        """
        advice, guidance = trained.advice, self.guidance
        guide = None if advice is None else Guide.from_probabilities(advice.probabilities, guidance.weight)
        evidence = guidance.evidence(replace(self.problem, guide=guide), trained.tree.topology)
        return replace(evidence, cost=evidence.cost * (self.problem.unit / self.register.unit))


def train_register(
    task: RegisterTask, fit_sample: Callable[[Budget], Trained], budget: Budget, stop: Stop, began: float
) -> tuple[Trained, DataSummary]:
    """Fit a tree to a register.

    Parameters
    ----------
    task : RegisterTask
        All rows, the sample and the guide.
    fit_sample : callable
        Fits the sample with a budget.
    budget : Budget
        Limits of the whole fit.
    stop : callable
        Once it returns True, the fit ends and keeps its best tree.
    began : float
        The time (of `now`) at which the time limit began.

    Returns
    -------
    tuple of Trained and DataSummary
        The tree with its certificate over all rows, and the identification of these rows.
    """
    # 1. Read all rows once: their mark identifies them, and the seconds show what later passes need.
    register = task.register
    end, before = Deadline(began + budget.time_limit, stop), now()
    mark = register.batches.total(mark_rows, end)
    pass_seconds = now() - before

    # 2. Fit guide and tree to the sample, in the time that the passes leave.
    kept = min(PARAMS.passes * pass_seconds, PARAMS.passes_share * budget.time_limit)
    limit = min(budget.time_limit - kept, PARAMS.sample_share * budget.time_limit)
    trained = fit_sample(replace(budget, time_limit=max(limit, PARAMS.least_sample_share * budget.time_limit)))
    evidence = task.evidence(trained)
    tree = trained.tree

    # 3. Ask the guide about all rows, and find the best tree from their histograms.
    exact = _exact(task, trained, evidence, end.sooner(kept), pass_seconds)
    guide, off = None, 0.0
    if isinstance(exact, ExactFit):
        tree, guide, off = exact.tree, exact.guide, exact.off
    elif exact and not stop():
        trained = replace(trained, notices=(*trained.notices, BY_SAMPLE + exact))

    # 4. Move the offsets of the last splits until the tree meets the totals, and count all rows.
    tree, counts, moving = settle_totals(
        register, tree, evidence, end, pass_seconds, min_rows=task.evidence_spec.min_rows, guide=guide, off=off
    )

    # 5. Certify what is known about all rows; without counts, what is known about the sample.
    if counts is None:
        certificate = _not_counted(register, trained.certificate, INTERRUPTED if stop() else TIME_LIMIT)
    else:
        trained = _with_agreement(replace(trained, tree=tree, witness=tree), task.problem)
        certificate = _counted(task, trained, counts, evidence)
        if isinstance(exact, ExactFit):
            rows_off = evidence.row_off * certificate.xi / register.unit
            certificate = _proved(certificate, exact, exact.fixed + moving + rows_off, end)
        if end.has_cut and certificate.ended != INTERRUPTED:
            certificate = replace(certificate, ended=TIME_LIMIT)
    certificate = replace(certificate, seconds=now() - began)
    return replace(trained, certificate=certificate), _summary(register, task.problem, mark)


def _with_agreement(trained: Trained, problem: Problem) -> Trained:
    """Recompute the agreement of the other trees with this one, which differs from the tree of the sample's fit."""
    if not trained.others:
        return trained
    rows = problem.X_unlabeled
    agrees = np.array([other.predict(rows) for other in trained.others]) == trained.tree.predict(rows)
    others = tuple(other for other, same in zip(trained.others, agrees.all(axis=1), strict=True) if not same)
    return replace(trained, others=others, stability=agrees.mean(axis=0))


def _exact(
    task: RegisterTask, trained: Trained, evidence: Evidence, deadline: Deadline, pass_seconds: float
) -> ExactFit | str:
    """Find the tree from histograms of all rows; otherwise return the reason, empty if the user already knows it."""
    advice, fit, register = trained.advice, trained.evidence_fit, task.register
    if advice is None or fit is None:
        return ""
    if advice.of_rows is None:
        return NO_ANSWERS
    search, cells = fit.search, Cells.of(register)
    n_domains, n_classes = cells.low.shape
    depth = trained.tree.topology.depth
    n_regions = 2 ** max(depth - 2, 0)
    lines = choose_lines(search, n_regions * (n_classes + 1 + n_domains))
    if not lines:
        return TOO_MANY_DOMAINS if search.questions else ""
    counting = CountPairs(tuple(lines.values()), trained.tree, fit.columns, advice.of_rows, n_domains)
    needed = pass_seconds + _seconds(counting, register)
    histograms = register.batches.total(counting, deadline) if deadline.allows(PARAMS.hope * needed) else None
    if histograms is None:
        return f"{NO_TIME}, which takes about {duration(needed)}. Allow more time."
    # Labeled rows have a cost, but their size is 0: they count towards no total.
    n = evidence.n_labeled
    own = counting.added(
        evidence.X[:n],
        grained(evidence.cost[:n]),
        evidence.multiplicity[:n],
        np.zeros(n),
        np.zeros((1, n), dtype=np.int64),
    )
    terms = RegisterTerms(
        cells=cells,
        row_off=evidence.row_off,
        term=task.term_price,
        above=_price_above(search, n_regions),
        min_rows=float(task.evidence_spec.min_rows),
    )
    return ExactFit.of(counting, histograms + own, terms, partial(sample_trees, search, lines), deadline)


def _seconds(counting: CountPairs, register: Register) -> float:
    """Estimated seconds for histograms of all rows, without reading them; measured on rows of the sample."""
    took = []
    for n in (0, min(PARAMS.tried_rows, len(register.rows))):
        began = now()
        counting(Batch(register.rows[:n], np.ones(n), np.zeros((1, n), dtype=np.int64)))
        took.append(now() - began)
    of_batch, of_row = took[0], max(took[1] - took[0], 0.0) / n
    n_batches = register.n_unlabeled / rows_of_batch(register.rows.shape[1])
    return (n_batches * of_batch + register.n_unlabeled * of_row) / register.batches.n_readers


def _price_above(search: ExactSearch, n_regions: int) -> float:
    """The price of the splits of the sample's tree above its regions, as a multiple of the term price."""
    price = 0.0
    for q, cut in zip(search.best.questions[: n_regions - 1], search.best.cuts, strict=False):
        if q >= 0:
            named = search.questions[q].n_named
            price += split_price(search.questions[q].n_terms) + (LEVEL_PRICE * named[cut] if len(named) else 0.0)
    return price


def _counted(task: RegisterTask, trained: Trained, found: TreeCounts, evidence: Evidence) -> Certificate:
    """The certificate of a tree over all rows, with the guide's part scaled up from the sample."""
    register, problem, tree, certificate = task.register, task.problem, trained.tree, trained.certificate
    targets, unit = register.targets, register.unit
    counts = np.split(found.by_class, np.cumsum([margin.n_domains for margin in targets.margins])[:-1])
    off = float(sum(m.rows_off(part).sum() for m, part in zip(targets.margins, counts, strict=True)))
    leaf_error = problem.unit * sum_of_errors(problem.labeled_size, Assignment.of(problem, tree).label_errors)
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
        min_margin=found.min_distance,
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


def _proved(certificate: Certificate, exact: ExactFit, cost: float, deadline: Deadline) -> Certificate:
    """The certificate of a tree of this cost over all rows, with what is proved about others."""
    certificate = replace(
        certificate,
        evidence_cost=cost,
        evidence_bound=exact.bound_up_to(cost, deadline),
        proved_among=exact.among,
    )
    is_proved = certificate.proved_best and certificate.ended == CONVERGED
    return replace(certificate, ended=PROVED) if is_proved else certificate


def _not_counted(register: Register, certificate: Certificate, ended: str) -> Certificate:
    """The certificate of a tree whose rows were not all counted: it covers the sample."""
    return replace(
        certificate,
        ended=ended,
        n_sampled=len(register.rows),
        n_register=register.n_rows,
        counted=False,
        evidence_bound=0.0,
        proved_among="",
    )


def _summary(register: Register, problem: Problem, mark: NDArray[np.uint64] | None) -> DataSummary:
    """Identification of the rows; empty if time ran out before all of them were read."""
    totals = whole_if_whole(register.unit * register.targets.class_totals())
    found = "" if mark is None else register_hash(problem, register.targets, int(mark[0]), register.n_unlabeled)
    return DataSummary(found, register.n_labeled, register.n_unlabeled, totals)
