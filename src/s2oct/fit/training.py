"""From a problem to a certified tree: the functions that the estimators and the study call."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.fit.certificate import Certificate, certify
from s2oct.fit.context import PARAMS, Budget, FitContext, Guidance, Listener, open_context, with_reserve
from s2oct.fit.incumbent import Incumbent, agreement, all_starts_agree, distinct, equally_good, too_few_others
from s2oct.fit.portfolio import solve
from s2oct.fit.simplicity import EvidenceFit
from s2oct.fit.strategies import (
    StrategyResult,
    break_ties,
    offer_constant_trees,
    p2_formulation,
    price_tree,
    sparsest,
    weigh_evidence,
)
from s2oct.p2.milp import build_p2
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
from s2oct.p2.proof import CONVERGED, EVIDENCE, INTERRUPTED, PROVED, TIME_LIMIT, Bound, FitRecord, bound_without_solver
from s2oct.problem.problem import Advice, Problem
from s2oct.stopping import Stop, never
from s2oct.trees.rounding import as_rules
from s2oct.trees.tree import ObliqueTree

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
    prepared = prepare(problem, spec, deadline=context.clock.deadline(PARAMS.preparation * budget.time_limit))
    context = with_reserve(context)

    # 2. Let the listener receive trees in the user's units, over all columns: inside the fit, trees are in model units.
    def for_user(tree: ObliqueTree) -> ObliqueTree:
        return widened_tree(prepared.scaling.to_user(tree), spec.features, problem.n_features)

    context = replace(context, listener=replace(context.listener, convert=for_user))
    if not prepared.bounds.is_exact and not context.clock.stopped():
        context.notices.append(NOT_EXACT)
    # 3. Find the tree. The certificate reports the seconds up to here, when the tree is final.
    outcome = _tree(prepared, context, guidance)
    seconds = context.clock.elapsed
    # 4. Look for other trees that are equally good: how far they agree with the tree shows its stability.
    others = [] if alone else _others(outcome, context)
    if outcome.evidence_fit is not None and context.clock.has_cut and outcome.ended != INTERRUPTED:
        outcome = replace(outcome, ended=TIME_LIMIT)
    if context.clock.stopped() and outcome.ended != INTERRUPTED:
        context.notices.append(
            f"The fit was stopped while it looked for other trees of the same cost: it had found {len(others)}."
        )
    # 5. Return to the user's units and short decimals, and certify the tree on the user's rows: rounding and scaling
    #    could have changed what was found.
    return _trained(outcome, seconds, others, context).over(problem)


def _tree(prepared: Prepared, context: FitContext, guidance: Guidance | None) -> StrategyResult:
    if guidance is not None and guidance.weight > 0:
        return weigh_evidence(prepared, context, guidance)
    if guidance is None or not prepared.given.n_unlabeled:
        return sparsest(prepared, context)
    return break_ties(prepared, context, guidance)


def _trained(outcome: StrategyResult, seconds: float, others: list[ObliqueTree], context: FitContext) -> Trained:
    """Return the tree in the user's units, certified on the user's rows."""
    prepared = outcome.prepared
    witness = prepared.scaling.to_user(outcome.tree)
    fit = outcome.evidence_fit
    tree = as_rules(witness, prepared.given.X) if fit is None else fit.found.tree
    if (witness.apply(prepared.given.X) != tree.apply(prepared.given.X)).any():
        # With very large numbers, conversion to model units and back loses digits.
        witness = tree
    record = FitRecord(
        bound=outcome.bound,
        seconds=seconds,
        ended=outcome.ended,
        history=tuple(outcome.incumbent.history),
    )
    if fit is not None:
        # Without the guide's answer, a bound says nothing about the requested model.
        bound, among = (fit.found.bound, fit.found.among) if fit.is_complete else (0.0, "")
        record = replace(record, model=EVIDENCE, evidence_cost=fit.found.cost, evidence_bound=bound, proved_among=among)
    weighed = fit is not None
    stability = agreement(prepared, tree, others)
    if not others and all_starts_agree(outcome.ended, weighed=weighed):
        stability = np.ones_like(stability)
    certificate = certify(prepared, witness, record, tree)
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


def _others(outcome: StrategyResult, context: FitContext) -> list[ObliqueTree]:
    """Other trees that are equally good."""
    if outcome.evidence_fit is not None:
        return [outcome.prepared.scaling.to_model(other) for other in outcome.evidence_fit.others]
    return [] if outcome.ended == INTERRUPTED else equally_good(outcome.prepared, outcome.tree, context)


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
    # Inside a fit, costs are in rows; in a certificate, they are in survey weights.
    unit = problem.unit
    bound = Bound(claimed.lower_bound / unit, claimed.bound_source)
    record = FitRecord(
        bound,
        claimed.seconds,
        claimed.ended,
        tuple(moment.times(1 / unit) for moment in claimed.history) if unit != 1 else claimed.history,
        model=claimed.model,
        evidence_cost=claimed.evidence_cost,
        evidence_bound=claimed.evidence_bound,
        proved_among=claimed.proved_among,
    )
    narrow, read = (narrowed_tree(some, claimed.features) for some in (tree, tree if rules is None else rules))
    found = certify(prepared, narrow, record, read)
    if uses_others(tree, claimed.features):
        found = replace(found, feasible=False)
    return found, unit * bound_without_solver(prepared.problem, spec.C, prepared.bounds.s)


def train_plain(problem: Problem, spec: ModelSpec, budget: Budget) -> Trained:
    """Solve the literal P2 with a solver alone, as the paper does; trees and costs are still checked here."""
    context = open_context(replace(budget, solver=budget.solver or "highs"), never, None)
    prepared = prepare(problem, spec, merge=False)
    incumbent = Incumbent(context.clock, partial(price_tree, prepared))
    solve(context, incumbent, p2_formulation(prepared, build_p2))
    # A solver may end without any tree.
    offer_constant_trees(prepared, incumbent)
    outcome = StrategyResult(prepared, incumbent.winner, incumbent.bound, incumbent.ending, incumbent)
    return _trained(outcome, context.clock.elapsed, [], context).over(problem)
