"""One fit: `FitTask` is its data and choices, `train` leads to a certified tree, and four strategies find the tree.

`weigh_evidence` is the default, `solve_p2` the paper's model. `sparsest` and `break_ties` solve P2 first and then
choose among its best trees: by the number of features, or by a guide of weight 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from threading import Thread
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from s2oct.arrays import FloatArray, IntArray
from s2oct.evidence.evidence import Evidence, EvidenceSpec
from s2oct.evidence.exact import ExactSearch
from s2oct.fit.certificate import Certificate, certify
from s2oct.fit.context import (
    BREAKING_TIES,
    GUIDE_RUNS_ON,
    SEARCHING,
    Budget,
    FitContext,
    Guidance,
    Incumbent,
    Listener,
    advice_in_time,
    open_context,
    with_reserve,
)
from s2oct.fit.context import PARAMS as TIME
from s2oct.fit.portfolio import Exploration, Formulation, run_solver, search_and_solve
from s2oct.fit.register import Register
from s2oct.fit.register_training import RegisterTask, train_register
from s2oct.fit.simplicity import EvidenceFit, agreement, all_starts_agree, distinct, equally_good, too_few_others
from s2oct.guides.asking import ask_guide, chance_of_rows, chance_of_votes, runs_on
from s2oct.guides.forest import SelfTrainedForest
from s2oct.guides.known_total import reads_tables
from s2oct.p2.costs import feasible_score, lengthened, mended
from s2oct.p2.instance import Instance
from s2oct.p2.milp import build_lean, build_p2, decode_tree, encode_tree, p2_size
from s2oct.p2.node_programs import fewer_features, polish
from s2oct.p2.prepared import (
    LARGEST_M,
    ModelSpec,
    Prepared,
    Scaling,
    narrowed_tree,
    prepare,
    uses_others,
    widened_scaling,
    widened_tree,
)
from s2oct.p2.proof import (
    CONVERGED,
    DECIDED_TOLERANCE,
    EVIDENCE,
    INTERRUPTED,
    NOT_NEGATIVE,
    PROVED,
    TIME_LIMIT,
    Bound,
    FitRecord,
    bound_without_solver,
    lower_bound,
)
from s2oct.p2.rounds import round_work, run_round
from s2oct.problem.batches import is_large, rows_of_batch
from s2oct.problem.known import Known, counted_part
from s2oct.problem.problem import Advice, DataSummary, Guide, Problem
from s2oct.solvers.model import Milp
from s2oct.stopping import Clock, Deadline, Stop, never, now
from s2oct.tables.encoding import Features
from s2oct.tables.features import without_columns
from s2oct.trees.rules import as_rules
from s2oct.trees.tree import ObliqueTree


@dataclass(frozen=True, eq=False)
class FitTask:
    """The data and the choices of one fit, in a form that can be sent to another process.

    Attributes
    ----------
    features : Features
        All rows of the table as the user passed them, and their encoding as numbers.
    rows : ndarray of shape (n_rows, p)
        The rows used by the fit, as numbers.
    known : Known
        Labels, totals, domains and weights.
    spec : ModelSpec
        The user's choices about the model.
    budget : Budget
        Time, threads, seed and solver.
    guide : classifier or None
        The guide, not fitted.
    guide_weight : float
        Weight of an unlabeled row about which the guide is certain, relative to a labeled row.
    evidence_spec : EvidenceSpec
        The user's choices about trees of the evidence model.
    advice : Advice or None
        The guide's probabilities for the unlabeled rows, once it has been asked.
    """

    features: Features
    rows: FloatArray
    known: Known
    spec: ModelSpec
    budget: Budget
    guide: Any
    guide_weight: float
    evidence_spec: EvidenceSpec
    advice: Advice | None = None

    @property
    def problem(self) -> Problem:
        """Rows, labels and totals."""
        return Problem.from_known(self.rows, self.known, self.features.encoding.described)

    @property
    def guided_problem(self) -> Problem:
        """The problem with the guide's advice."""
        guide = None if self.advice is None else Guide.from_probabilities(self.advice.probabilities, self.guide_weight)
        return replace(self.problem, guide=guide)

    @property
    def weighs_evidence(self) -> bool:
        """Whether the fit minimises evidence, which a sample can represent; P2 needs all rows."""
        return self.guide is not None and self.guide_weight > 0 and not self.known.is_labeled.all()

    @property
    def guide_table(self) -> Any:
        """The rows of the fit in a form that the guide can read: the user's table, or the features as numbers."""
        features = self.features
        if isinstance(self.guide, SelfTrainedForest) or not (features.is_plain or reads_tables(self.guide)):
            return self.rows
        return counted_part(without_columns(features.table, features.left_out), self.known)

    def resolved(self, depth: int, share: float = 1.0) -> dict[str, Any]:
        """Values of the parameters that were "auto"; prices are in rows of the whole table.

        ``share`` is the sample's share of the rows. P2 has no prices.
        """
        found: dict[str, Any] = {"depth": depth, "guide": None if self.guide is None else type(self.guide).__name__}
        if self.guide is None or self.guide_weight == 0:
            return found | {"max_features_per_split": self.spec.max_features_per_split}
        problem, spec = self.problem, self.evidence_spec
        n_rows = float(problem.labeled_size.sum() + problem.unlabeled_size.sum())
        return found | {
            "guide_weight": self.guide_weight,
            "max_features_per_split": spec.most,
            "term_price": spec.price_of(n_rows) / share,
            "total_price": spec.total_price,
        }

    def run(
        self, began: float, register: Register | None = None, stop: Stop = never, listener: Listener | None = None
    ) -> tuple[Trained, FitTask, DataSummary]:
        """Fit a tree to all rows, or to a register whose sample is the rows of this task.

        For a register, guide and questions come from the sample. Passes over all rows then find the tree and its last
        offsets. ``began`` is the time (of `now`) at which the time limit began.

        Returns the tree with its certificate, this task with the guide's advice, and a summary of all rows.
        """
        task = self if register is None else replace(self, evidence_spec=self.evidence_spec.of_sample(register.share))
        problem, guidance = task.problem, task._guidance()
        chance = task._chance_before(problem, stop)

        def fit(budget: Budget) -> Trained:
            spent = now() - began
            return train(problem, task.spec, budget, guidance, stop=stop, listener=listener, spent=spent)

        if register is None:
            trained, summary = fit(task.budget), DataSummary.of(problem)
        else:
            assert guidance is not None  # only the evidence model is fitted to a sample
            whole = RegisterTask(register, problem, guidance, task.spec, self.evidence_spec)
            trained, summary = train_register(whole, fit, task.budget, stop, began)
        advice = trained.advice
        if advice is not None:
            if advice.held_out is not None:
                chance = chance_of_votes(advice.held_out, problem.labels)
            # The fitted guide needs more memory than everything else that a fit keeps.
            advice = advice._replace(of_rows=None)
        trained = replace(trained, certificate=replace(trained.certificate, chance=chance), advice=None)
        return trained, replace(task, advice=advice), summary

    def _guidance(self) -> Guidance | None:
        """The guide, to be asked when the fit needs it; None without a guide."""
        if self.guide is None:
            return None
        left_behind: list[Thread] = []

        def ask(deadline: Deadline) -> Advice | None:
            return ask_guide(self.guide, self.guide_table, self.known.in_rows, deadline, left_behind)

        return Guidance(ask, self.guide_weight, self.evidence_spec, lambda: any(map(runs_on, left_behind)))

    def _chance_before(self, problem: Problem, stop: Stop) -> float | None:
        """Test the labels against chance, unless the guide is a forest, whose held-out votes are tested afterwards."""
        if isinstance(self.guide, SelfTrainedForest) and not self.known.is_labeled.all():
            return None
        return chance_of_rows(problem.X_labeled, problem.labels, self.budget.seed, self.budget.for_checks(stop))

    def register(self) -> Register | None:
        """The rows as a register if there are many and a sample can represent them; None otherwise."""
        if is_large(self.rows) and self.weighs_evidence:
            return Register.of_arrays(self.rows, self.known, self.budget.seed)
        return None

    def on_sample(self, register: Register) -> FitTask:
        """Return the task for the sample of a register in memory."""
        table = self.features.table
        if table is not register.rows:
            table = _safe_indexing(table, self.known.counted[register.positions])
        features = replace(self.features, table=table, rows=register.rows)
        return replace(self, features=features, rows=register.rows, known=register.known)

    def in_memory(self, register: Register | None) -> FitTask:
        """Return the task for the sample of a register, with prices scaled to it; for all rows if there is none."""
        if register is None:
            return replace(self, rows=np.asarray(self.rows, dtype=float))
        return replace(self.on_sample(register), evidence_spec=self.evidence_spec.of_sample(register.share))

    def certify(self, tree: ObliqueTree, claimed: Certificate, bound: float) -> Certificate:
        """Certify another tree on these rows; ``bound`` is a lower bound on the cost of every tree."""
        problem = self.guided_problem
        found, _ = recertify(problem, tree, claimed, self.spec, rules=tree)
        if claimed.evidence_cost is not None:
            spec = self.evidence_spec
            evidence = Evidence.of(problem, tree.topology, self.guide_weight, spec.total_price)
            cost = evidence.total_cost(evidence.cost_of(tree), spec.price_of(evidence.total_size))
            found = replace(found, evidence_cost=cost, evidence_bound=min(bound, cost))
        is_proved = found.proved_best if claimed.evidence_cost is not None else found.proved
        ended = CONVERGED if found.ended == PROVED and not is_proved else found.ended
        return replace(found, chance=claimed.chance, ended=ended)


def leaves_of(tree: ObliqueTree, rows: FloatArray) -> IntArray:
    """Leaf ids of all rows, computed in batches, so that a large table of any number type needs little memory."""
    leaf = np.empty(len(rows), dtype=np.int64)
    step = rows_of_batch(rows.shape[1])
    for first in range(0, len(rows), step):
        part = slice(first, first + step)
        leaf[part] = tree.apply(np.asarray(rows[part], dtype=float))
    return leaf


@dataclass(frozen=True)
class StrategyParams:
    """Shares of time and effort.

    Attributes
    ----------
    bound_share : float
        Share of the remaining time for the bound without a solver: after a slow guide little time is left.
    last_share : float
        In this last share of the time limit, a guide of weight 0 is not asked: its answer would come too late.
    tie_patience : int
        Rounds without a better tree after which breaking ties ends; more rounds rarely changed the choice.
    tie_worth : float
        Minimum improvement that counts, where 1 is the guide's charge for a row about which it is certain.
    tie_price : float
        Price of the guide's charges while it breaks ties: small compared with a label or a row off the total, so that
        P2's cost still leads the search.
    sparse_share, sparse_seconds : float
        Share of the time limit, and maximum seconds, kept for dropping features after P2.
    sparse_rounds, sparse_work : int, float
        Maximum rounds, and their work in rows times moves, for each number of features tried.
    """

    bound_share: float = 0.25
    last_share: float = 0.05
    tie_patience: int = 6
    tie_worth: float = 0.25
    tie_price: float = 0.05
    sparse_share: float = 0.03
    sparse_seconds: float = 0.5
    sparse_rounds: int = 6
    sparse_work: float = 2e7


PARAMS = StrategyParams()


NOT_EXACT = (
    "The largest distance between two rows was not found in time: the constant M of P2 is larger than the paper's rule "
    "says, and the bound s on the coefficients perhaps smaller."
)


@dataclass(frozen=True, eq=False)
class Trained:
    """A tree in the user's units and what is proved about it.

    Attributes
    ----------
    tree : ObliqueTree
        The tree, with short decimals that read as rules.
    witness : ObliqueTree
        The hyperplanes to which the certificate refers. They put every row of the fit into the same leaf as the tree.
    certificate : Certificate
        The cost of the tree, and what is proved about it.
    stability : ndarray of shape (m,)
        For every unlabeled row, the share of equally good trees that agree with this one on the row's class; NaN if
        no such tree was found.
    scaling : Scaling
        The map from the user's units to model units.
    notices : tuple of str
        Messages about the fit.
    stability_note : str
        Why the stability is unknown, or how few trees it comes from; empty otherwise.
    others : tuple of ObliqueTree
        Other trees that are equally good, distinct, in the user's units.
    evidence_fit : EvidenceFit, optional
        The search of the evidence model, which finds simpler and richer trees; None if P2 was fitted.
    advice : Advice, optional
        The guide's probabilities; None if it was not asked or did not finish in time.
    """

    tree: ObliqueTree
    witness: ObliqueTree
    certificate: Certificate
    stability: FloatArray
    scaling: Scaling
    notices: tuple[str, ...] = ()
    stability_note: str = ""
    others: tuple[ObliqueTree, ...] = ()
    evidence_fit: EvidenceFit | None = None
    advice: Advice | None = None

    def over(self, problem: Problem) -> Trained:
        """Extend a fit to some columns of a problem to all of its columns."""
        columns, n_features = self.certificate.features, problem.n_features
        return replace(
            self,
            tree=widened_tree(self.tree, columns, n_features),
            witness=widened_tree(self.witness, columns, n_features),
            scaling=widened_scaling(self.scaling, columns, n_features),
            others=tuple(widened_tree(other, columns, n_features) for other in self.others),
            evidence_fit=None if self.evidence_fit is None else replace(self.evidence_fit, n_features=n_features),
        )


def train(
    problem: Problem,
    spec: ModelSpec,
    budget: Budget,
    guidance: Guidance | None = None,
    *,
    stop: Stop = never,
    listener: Listener | None = None,
    spent: float = 0.0,
    alone: bool = False,
) -> Trained:
    """Fit a tree of the evidence model if a guide has weight, and of P2 otherwise.

    Parameters
    ----------
    problem : Problem
        Rows, labels and totals.
    spec : ModelSpec
        The user's choices about the model.
    budget : Budget
        Solver, seconds, threads and seed.
    guidance : Guidance, optional
        The guide to ask about the unlabeled rows; with None, the fit solves the paper's P2.
    stop : callable
        Polled often, from any thread. Once it returns True, the fit ends and keeps its best tree.
    listener : Listener, optional
        Receives stage, cost and bound updates.
    spent : float
        Seconds of the time limit already spent on reading the data.
    alone : bool
        Whether to skip the search for other trees that are equally good.

    Returns
    -------
    Trained
        The tree, its certificate, and messages about the fit.
    """
    # 1. Prepare the problem in a limited share of the time. The time that this takes shows how much to reserve for the
    #    steps after the search.
    context = open_context(budget, stop, listener, spent)
    prepared = prepare(problem, spec, deadline=context.clock.deadline(TIME.preparation * budget.time_limit))
    context = with_reserve(context)

    # 2. Let the listener receive trees in the user's units, over all columns: inside the fit, trees are in model units.
    def for_user(tree: ObliqueTree) -> ObliqueTree:
        return widened_tree(prepared.scaling.to_user(tree), spec.features, problem.n_features)

    context = replace(context, listener=replace(context.listener, convert=for_user))
    if not prepared.bounds.is_exact and not context.clock.stopped():
        context.notices.append(NOT_EXACT)
    # 3. Find the tree. The certificate reports the seconds up to here, when the tree is final.
    if guidance is not None and guidance.weight > 0:
        outcome = weigh_evidence(prepared, context, guidance)
    elif guidance is None or not prepared.given.n_unlabeled:
        outcome = sparsest(prepared, context)
    else:
        outcome = break_ties(prepared, context, guidance)
    seconds = context.clock.elapsed
    # 4. Look for other trees that are equally good: how far they agree with the tree shows its stability.
    others: list[ObliqueTree] = []
    if outcome.evidence_fit is not None and not alone:
        others = [prepared.scaling.to_model(other) for other in outcome.evidence_fit.others]
    elif outcome.ended != INTERRUPTED and not alone:
        others = equally_good(outcome.prepared, outcome.tree, context)
    if outcome.evidence_fit is not None and context.clock.has_cut and outcome.ended != INTERRUPTED:
        outcome = replace(outcome, ended=TIME_LIMIT)
    if context.clock.stopped() and outcome.ended != INTERRUPTED:
        context.notices.append(
            f"The fit was stopped while it looked for other trees of the same cost: it had found {len(others)}."
        )
    # 5. Return to the user's units and short decimals, and certify the tree on the user's rows: rounding and scaling
    #    could have changed what was found.
    return _trained(outcome, seconds, others, context).over(problem)


def _trained(outcome: StrategyResult, seconds: float, others: list[ObliqueTree], context: FitContext) -> Trained:
    """Return the tree in the user's units, certified on the user's rows."""
    prepared = outcome.prepared
    witness = prepared.scaling.to_user(outcome.tree)
    fit = outcome.evidence_fit
    tree = as_rules(witness, prepared.given.X) if fit is None else fit.found.tree
    if (witness.apply(prepared.given.X) != tree.apply(prepared.given.X)).any():
        # With very large numbers, conversion to model units and back loses digits.
        witness = tree
    weighed = fit is not None
    stability = agreement(prepared, tree, others)
    if not others and all_starts_agree(outcome.ended, weighed=weighed):
        stability = np.ones_like(stability)
    record = FitRecord(outcome.bound, seconds, outcome.ended, tuple(outcome.incumbent.history))
    certificate = certify(prepared, witness, record, tree)
    if fit is not None:
        # Without the guide's answer, a bound says nothing about the requested model.
        bound, among = (fit.found.bound, fit.found.among) if fit.is_complete else (0.0, "")
        certificate = replace(
            certificate,
            model=EVIDENCE,
            evidence_cost=fit.found.cost,
            evidence_bound=bound,
            proved_among=among,
        )
    if certificate.ended == PROVED and not (certificate.proved_best if weighed else certificate.proved):
        certificate = replace(certificate, ended=CONVERGED)
    note = too_few_others(len(others), outcome.ended, weighed=weighed)
    alternatives = distinct(map(prepared.scaling.to_user, others), prepared.given.X, tree)
    return Trained(
        tree,
        witness,
        certificate,
        stability,
        prepared.scaling,
        tuple(context.notices),
        note,
        alternatives,
        fit,
        outcome.advice,
    )


@dataclass(frozen=True, eq=False)
class StrategyResult:
    """The result of a strategy: the tree in model units, its problem, what is proved, and why the fit ended."""

    prepared: Prepared
    tree: ObliqueTree
    bound: Bound
    ended: str
    incumbent: Incumbent
    evidence_fit: EvidenceFit | None = None
    advice: Advice | None = None


def weigh_evidence(prepared: Prepared, context: FitContext, guidance: Guidance) -> StrategyResult:
    """Fit the default model: labels, guide and totals weighed in rows, with few features per split."""
    # 1. Ask the guide about the unlabeled rows. If it gives no answer, labels and totals alone are the evidence.
    needs_guide = prepared.problem.n_unlabeled > 0
    advice = advice_in_time(guidance, context) if needs_guide else None
    is_complete = advice is not None or not needs_guide
    if not is_complete and context.clock.stopped():
        # The user stopped the fit, so a full search without the guide would only delay the end.
        return _without_answer(solve_p2(prepared, context), guidance, context)
    guided = prepared if advice is None else guidance.advised(prepared, advice)
    context.listener.stage(SEARCHING)

    # 2. Price every class of every row, in the user's units: rules are in these units, and so is their search.
    merged, _ = guided.given.merged_groups()
    evidence = guidance.evidence(merged, guided.topology)
    price, scaling = guidance.spec.price_of(evidence.total_size), guided.scaling
    least = Bound(evidence.bound + evidence.row_off * evidence.least_off, "identical rows share a class")

    # 3. Find the best tree over all questions. The search ends by itself; every better tree goes to the listener.
    listener = replace(context.listener, convert=lambda tree: context.listener.convert(scaling.to_model(tree)))
    incumbent = Incumbent(context.clock, partial(_weigh, evidence, price), least, listener)
    search = ExactSearch(evidence, guidance.spec, context.clock.deadline(), guidance.effort)
    found = search.run(incumbent.offer if context.listener.wants_trees else None)
    incumbent.offer(found.tree)

    # 4. Return the tree with hyperplanes in the middle of their gaps, which the certificate evaluates in P2 as well.
    result = StrategyResult(
        guided,
        lengthened(guided, scaling.to_model(found.middle)),
        Bound(lower_bound(guided.problem, guided.spec.C), "a bound that needs no solver"),
        ended_by(context.clock, PROVED if found.is_proved else CONVERGED),
        incumbent,
        EvidenceFit(evidence, search, found, is_complete, prepared.spec.features, prepared.given.n_features),
        advice,
    )
    return result if is_complete else _without_answer(result, guidance, context)


def solve_p2(prepared: Prepared, context: FitContext) -> StrategyResult:
    """Solve the paper's P2 until the tree is proved optimal, the search ends, or the time is over."""
    # 1. Open with a lower bound that needs no solver and the constant trees, which are always feasible.
    incumbent = open_incumbent(prepared, context)
    instance = Instance.of(prepared, incumbent.bound.value)

    # 2. Search: rounds of moves from many starts. Each new best tree is refitted by linear programs.
    exploration = Exploration(
        instance,
        incumbent,
        partial(polish, prepared),
        context.budget.seed,
        context.budget.n_jobs,
    )

    # 3. The search has a head start. If P2 is still open, a solver joins with the best tree as its start.
    search_and_solve(context, incumbent, exploration.run, p2_formulation(prepared))
    return StrategyResult(prepared, incumbent.winner, incumbent.bound, incumbent.ending, incumbent)


def sparsest(prepared: Prepared, context: FitContext) -> StrategyResult:
    """Solve P2; among trees that cost no more, return one with fewer features.

    Cost and proof are those of P2. Nothing proves that the number of features is the minimum.
    """
    # 1. Solve P2, with a little time in reserve.
    clock = context.clock
    reserve = min(PARAMS.sparse_share * clock.limit, PARAMS.sparse_seconds)
    solved = solve_p2(prepared, replace(context, clock=replace(clock, limit=clock.limit - reserve)))
    if clock.stopped():
        return solved
    clock = clock.anew()
    context.listener.stage(BREAKING_TIES)
    incumbent = solved.incumbent
    # A certificate is computed in other units, so half of the tolerance is left for rounding.
    least = incumbent.bound.value if incumbent.is_decided else incumbent.best_cost
    most = max(incumbent.best_cost, least + 0.5 * DECIDED_TOLERANCE)

    # 2. Drop features while every row keeps its side. This incumbent counts features, so the listener does not see it.
    sparse = Incumbent(clock, partial(_n_terms, prepared, most))
    sparse.offer(solved.tree)
    sparse.offer(fewer_features(prepared, sparse.winner, clock.deadline()))

    # 3. If P2 is decided, search with fewer and fewer features per split, by bisection.
    if incumbent.is_decided:
        _bisect(prepared, sparse, least, context.budget.seed, clock.deadline())
    return StrategyResult(prepared, sparse.winner, solved.bound, ended_by(clock, solved.ended), incumbent)


def break_ties(prepared: Prepared, context: FitContext, guidance: Guidance) -> StrategyResult:
    """Solve P2; the guide chooses between trees that cost no more than the best."""
    # 1. Solve P2. If it stays undecided, there are no ties yet, and the guide is not asked.
    solved = solve_p2(prepared, context)
    clock = context.clock
    if not solved.incumbent.is_decided or clock.stopped():
        return solved
    if clock.seconds_left < PARAMS.last_share * clock.limit:
        context.notices.append(
            f"The best tree was found too late in a time limit of {clock.limit:g} s to ask the guide: it did not "
            "choose among trees of equal cost."
        )
        return replace(solved, ended=TIME_LIMIT)

    # 2. Ask the guide.
    clock = clock.anew()
    context = replace(context, clock=clock)
    advice = advice_in_time(guidance, context)
    if advice is None:
        return _without_answer(solved, guidance, context)
    guided = guidance.advised(prepared, advice)
    assert guided.problem.guide is not None

    # 3. Search for the tree of least charge. This incumbent's cost is the charge, so the listener does not see it.
    context.listener.stage(BREAKING_TIES)
    ties = Incumbent(clock, partial(_charge, guided, solved.incumbent.best_cost))
    ties.offer(solved.tree)
    instance = Instance.of(guided, solved.bound.value).charged(PARAMS.tie_price * guided.problem.guide.charges)
    # The search ends by itself, so it gives the same tree every time unless the time limit cuts it.
    Exploration(
        instance,
        ties,
        partial(polish, guided),
        context.budget.seed,
        context.budget.n_jobs,
        patience=PARAMS.tie_patience,
        worth=PARAMS.tie_worth,
    ).run()
    ended = ended_by(clock, solved.ended)
    return StrategyResult(guided, ties.winner, solved.bound, ended, solved.incumbent, advice=advice)


def _without_answer(instead: StrategyResult, guidance: Guidance, context: FitContext) -> StrategyResult:
    """Return a result without the guide as one that ended early: it proves nothing about the requested model."""
    if guidance.is_busy():
        context.notices.append(GUIDE_RUNS_ON)
    return replace(instead, ended=INTERRUPTED if context.clock.stopped() else TIME_LIMIT)


def ended_by(clock: Clock, otherwise: str) -> str:
    """Why a stage of a fit ended: the user stopped it, the time limit cut it, or ``otherwise``."""
    if clock.stopped():
        return INTERRUPTED
    return TIME_LIMIT if clock.has_cut else otherwise


def _weigh(evidence: Evidence, term_price: float, tree: ObliqueTree) -> tuple[ObliqueTree, float]:
    return tree, evidence.total_cost(evidence.cost_of(tree), term_price)


def open_incumbent(prepared: Prepared, context: FitContext) -> Incumbent:
    """Create an incumbent with the bound that needs no solver and the constant trees, which need no search."""
    opening = NOT_NEGATIVE
    # Bounds for a large table take seconds, which a fit that is over does not have.
    if not context.clock.is_over:
        deadline = context.clock.deadline(PARAMS.bound_share * context.clock.seconds_left)
        least = bound_without_solver(prepared.problem, prepared.spec.C, prepared.bounds.s, deadline)
        opening = Bound(least, "a bound that needs no solver")
    incumbent = Incumbent(context.clock, partial(price_tree, prepared), opening, context.listener)
    offer_constant_trees(prepared, incumbent)
    return incumbent


def offer_constant_trees(prepared: Prepared, incumbent: Incumbent) -> None:
    """Offer the trees that split nothing, one for each class: they are always feasible."""
    topology, n_features = prepared.topology, prepared.problem.n_features
    if topology.n_classes <= 2:
        for right in (False, True):
            incumbent.offer(ObliqueTree.constant(topology, n_features, right=right))
        return
    for k in range(topology.n_classes):
        incumbent.offer(ObliqueTree.leading_to(topology, n_features, topology.leaves_of(k)[0]))


def price_tree(prepared: Prepared, tree: ObliqueTree) -> tuple[ObliqueTree, float] | None:
    """Return the mended tree and its cost; None if it is not feasible."""
    assignment = mended(prepared, tree)
    found = feasible_score(prepared, assignment)
    return None if found is None else (assignment.tree, found.objective)


def _charge(prepared: Prepared, most: float, tree: ObliqueTree) -> tuple[ObliqueTree, float] | None:
    """Return the mended tree and the guide's charge for it; None if it costs more than ``most`` in P2."""
    assignment = mended(prepared, tree)
    found = feasible_score(prepared, assignment)
    if found is None or found.objective > most + DECIDED_TOLERANCE:
        return None
    return assignment.tree, found.guide_cost


def p2_formulation(prepared: Prepared, build: Callable[[Prepared], Milp] = build_lean) -> Formulation:
    """P2 for a solver: the lean model, or the literal one."""
    problem, topology, most = prepared.problem, prepared.topology, prepared.most_features
    return Formulation(
        size=p2_size(
            problem.n_labeled, problem.n_unlabeled, problem.n_features, topology.depth, few_features=most is not None
        ),
        build=lambda: build(prepared),
        encode=lambda milp, tree: encode_tree(milp, problem, tree),
        decode=lambda milp, x: decode_tree(milp, x, topology),
    )


def _n_terms(prepared: Prepared, most: float, tree: ObliqueTree) -> tuple[ObliqueTree, float] | None:
    """Return the mended tree and its number of coefficients; None if it costs more than ``most`` in P2."""
    assignment = mended(prepared, tree)
    found = feasible_score(prepared, assignment)
    if found is None or found.objective > most:
        return None
    return assignment.tree, float(np.count_nonzero(assignment.tree.omega))


def _bisect(prepared: Prepared, sparse: Incumbent, floor: float, seed: int, deadline: Deadline) -> None:
    """Search by bisection for trees with a smaller maximum number of features per split."""
    failed, reached = 0, most_used(sparse.winner)
    while reached - failed > 1 and not deadline.passed:
        k = (failed + reached) // 2
        if _search_with(prepared, k, sparse, floor, seed, deadline):
            reached = min(k, most_used(sparse.winner))
        else:
            failed = k


def _search_with(prepared: Prepared, k: int, sparse: Incumbent, floor: float, seed: int, deadline: Deadline) -> bool:
    """Run some rounds with at most k features per split; return whether they find a good enough tree, and offer it."""
    few = replace(prepared, spec=replace(prepared.spec, max_features_per_split=k))
    instance = Instance.of(few, floor)
    start, work = _cut_down(prepared, sparse.winner, k), 0.0
    for number in range(PARAMS.sparse_rounds):
        work += round_work(instance, number)
        if work > PARAMS.sparse_work or deadline.passed:
            return False
        # Round 3 starts from the known tree, see `s2oct.p2.rounds.run_round`.
        for tree in reversed(run_round(instance, seed, number, deadline, start)):
            if sparse.offer(tree):
                sparse.offer(fewer_features(few, sparse.winner, deadline))
                return True
    return False


def _cut_down(prepared: Prepared, tree: ObliqueTree, k: int) -> ObliqueTree:
    """Keep only the k most influential features of every split; the tree may become far from feasible."""
    weight = np.abs(tree.omega) * np.ptp(prepared.problem.X, axis=0)
    omega = tree.omega.copy()
    np.put_along_axis(omega, np.argsort(-weight, axis=1, kind="stable")[:, k:], 0.0, axis=1)
    return replace(tree, omega=omega)


def most_used(tree: ObliqueTree) -> int:
    """Maximum number of features per split."""
    return int(np.count_nonzero(tree.omega, axis=1).max())


def recertify(
    problem: Problem, tree: ObliqueTree, claimed: Certificate, spec: ModelSpec, *, rules: ObliqueTree | None = None
) -> tuple[Certificate, float]:
    """Recompute the certificate of a tree in the user's units, and the lower bound of P2 that needs no solver.

    ``rules`` is the tree as users read it, if it differs. The claimed certificate provides the parameters of P2 that
    are not in the data (s, the columns and the maximum number of features per split), the lower bound and its source,
    and the model, end and cost of the fit. The guide is not part of P2, and its probabilities are not stored.
    """
    claimed_spec = replace(
        spec,
        depth=tree.topology.depth,
        coefficient_bound=None,
        max_features_per_split=claimed.max_features_per_split,
        features=claimed.features,
    )
    prepared = prepare(problem, claimed_spec)
    prepared = prepared.with_coefficient_bound(min(claimed.coefficient_bound, LARGEST_M))
    narrow, read = (narrowed_tree(some, claimed.features) for some in (tree, tree if rules is None else rules))
    found = certify(prepared, narrow, FitRecord(NOT_NEGATIVE, claimed.seconds, claimed.ended), read)
    found = replace(
        found,
        lower_bound=claimed.lower_bound,
        bound_source=claimed.bound_source,
        history=claimed.history,
        model=claimed.model,
        evidence_cost=claimed.evidence_cost,
        evidence_bound=claimed.evidence_bound,
        proved_among=claimed.proved_among,
    )
    if uses_others(tree, claimed.features):
        found = replace(found, feasible=False)
    return found, problem.unit * bound_without_solver(prepared.problem, spec.C, prepared.bounds.s)


def train_plain(problem: Problem, spec: ModelSpec, budget: Budget) -> Trained:
    """Solve the literal P2 with a solver alone, as the paper does; trees and costs are still checked here."""
    context = open_context(replace(budget, solver=budget.solver or "highs"), never, None)
    prepared = prepare(problem, spec, merge=False)
    incumbent = Incumbent(context.clock, partial(price_tree, prepared))
    run_solver(context, incumbent, p2_formulation(prepared, build_p2))
    # A solver may end without any tree.
    offer_constant_trees(prepared, incumbent)
    outcome = StrategyResult(prepared, incumbent.winner, incumbent.bound, incumbent.ending, incumbent)
    return _trained(outcome, context.clock.elapsed, [], context).over(problem)
