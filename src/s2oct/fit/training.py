"""From a problem to a certified tree of P2: what the estimators and the study call."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.fit.certificate import Certificate, certify
from s2oct.fit.context import PREPARING, Budget, FitContext, Guidance, Listener, Listeners
from s2oct.fit.incumbent import Incumbent, agreement, all_starts_agree, distinct, equally_good, too_few_others
from s2oct.fit.portfolio import Portfolio
from s2oct.fit.simplicity import Simplification
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
from s2oct.solvers import load_solver
from s2oct.stopping import Clock, Stop, never, now
from s2oct.trees.rounding import as_rules
from s2oct.trees.tree import ObliqueTree

PREPARATION_SHARE, LARGEST_RESERVE = 0.25, 0.2
"""Share of the time limit that preparing may take at most, and that is kept for the steps after the search at most."""

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
        The tree: short decimals that read as rules.
    witness : ObliqueTree
        The hyperplanes that the certificate is about. They put every row of the fit into the same leaf as the tree.
    certificate : Certificate
        What it costs and what is proved.
    stability : ndarray of shape (m,)
        For every unlabeled row the share of other trees that are as good and agree with this one on the row's class;
        NaN if none was found.
    scaling : Scaling
        The map from the user's units to those of the model.
    notices : tuple of str
        What the user should know about the fit.
    stability_note : str
        Why the stability is not known, or from how few trees it comes; empty otherwise.
    others : tuple of ObliqueTree
        Distinct trees that are as good, in the user's units.
    simplification : Simplification, optional
        Makes simpler and richer trees, if the evidence model was fitted.
    advice : Advice, optional
        The guide's answer; None if it was not asked or gave no answer in time.
    """

    tree: ObliqueTree
    witness: ObliqueTree
    certificate: Certificate
    stability: FloatArray
    scaling: Scaling
    notices: tuple[str, ...] = ()
    stability_note: str = ""
    others: tuple[ObliqueTree, ...] = ()
    simplification: Simplification | None = None
    advice: Advice | None = None

    def over(self, problem: Problem) -> Trained:
        """The same over all columns of a problem, where the tree was fitted to some of them."""
        columns, n_features = self.certificate.features, problem.n_features
        return replace(
            self,
            tree=widened_tree(self.tree, columns, n_features),
            witness=widened_tree(self.witness, columns, n_features),
            scaling=widened_scaling(self.scaling, columns, n_features),
            others=tuple(widened_tree(other, columns, n_features) for other in self.others),
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
    """Fit a tree: of the evidence model where a guide has weight, of P2 otherwise.

    Parameters
    ----------
    problem : Problem
        Rows, labels and totals.
    spec : ModelSpec
        What the user chose about the model.
    budget : Budget
        What the fit may use.
    guidance : Guidance, optional
        The guide to ask about the unlabeled rows; the paper's P2 and nothing else if None.
    stop : callable
        Asked often, from any thread of the fit. Once it returns True the fit ends and keeps its best tree.
    listener : Listener, optional
        Is informed about stages, costs and bounds.
    spent : float
        Seconds of the time limit that reading the data took.
    alone : bool
        Whether nobody will ask for other trees that are as good.

    Returns
    -------
    Trained
        The tree, its certificate, and what the user should know.
    """
    context = open_context(budget, stop, listener, spent)
    prepared = prepare(problem, spec, deadline=context.clock.deadline(PREPARATION_SHARE * budget.time_limit))
    context = with_reserve(context)

    def for_user(tree: ObliqueTree) -> ObliqueTree:
        return widened_tree(prepared.scaling.to_user(tree), spec.features, problem.n_features)

    context = replace(context, listener=replace(context.listener, convert=for_user))
    if not prepared.bounds.is_exact and not context.clock.stopped():
        context.notices.append(NOT_EXACT)
    outcome = _tree(prepared, context, guidance)
    seconds = context.clock.elapsed
    others = [] if alone else _others(outcome, context)
    if outcome.weighed is not None and context.clock.has_cut and outcome.ended != INTERRUPTED:
        outcome = replace(outcome, ended=TIME_LIMIT)
    if context.clock.stopped() and outcome.ended != INTERRUPTED:
        context.notices.append(
            f"The fit was stopped while it looked for other trees of the same cost: it had found {len(others)}."
        )
    trained = _trained(outcome, seconds, others, context)
    if outcome.weighed is None or guidance is None:
        return trained.over(problem)
    simplification = Simplification(
        evidence=outcome.weighed.evidence,
        search=outcome.weighed.search,
        fitted=trained.tree,
        fitted_cost=outcome.weighed.cost,
        columns=spec.features,
        n_features=problem.n_features,
    )
    return replace(trained.over(problem), simplification=simplification)


def open_context(budget: Budget, stop: Stop, listener: Listener | None, spent: float = 0.0) -> FitContext:
    """Load the solver, then start the clock: importing is not part of the time limit, reading the data is."""
    solver = load_solver(budget.solver) if budget.solver is not None else None
    clock = Clock(budget.time_limit, stop, now() - spent)
    context = FitContext(budget, solver, clock, Listeners.of(listener))
    context.listener.stage(PREPARING)
    return context


def with_reserve(context: FitContext) -> FitContext:
    """The same, with time for what comes after the search.

    That takes less than twice as long as reading and preparing did. Measured on this table and with the present load of
    the machine, this is nearer to the truth than any constant.
    """
    clock = context.clock.anew()  # what preparing had to leave out has a notice of its own
    return replace(context, clock=replace(clock, reserve=min(2 * clock.elapsed, LARGEST_RESERVE * clock.limit)))


def _tree(prepared: Prepared, context: FitContext, guidance: Guidance | None) -> StrategyResult:
    if guidance is not None and guidance.weight > 0:
        return weigh_evidence(prepared, context, guidance)
    if guidance is None or not prepared.given.n_unlabeled:
        return sparsest(prepared, context)
    return break_ties(prepared, context, guidance)


def _trained(outcome: StrategyResult, seconds: float, others: list[ObliqueTree], context: FitContext) -> Trained:
    """The tree in the user's units, certified on the user's rows."""
    prepared = outcome.prepared
    witness = prepared.scaling.to_user(outcome.tree)
    tree = as_rules(witness, prepared.given.X) if outcome.weighed is None else outcome.weighed.tree
    if (witness.apply(prepared.given.X) != tree.apply(prepared.given.X)).any():
        # Beside huge numbers the way to model units and back loses digits.
        witness = tree
    record = FitRecord(
        bound=outcome.bound,
        seconds=seconds,
        ended=outcome.ended,
        history=tuple(outcome.incumbent.history),
        **_weighed(outcome),
    )
    weighed = outcome.weighed is not None
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
        advice=outcome.advice,
    )


def _weighed(outcome: StrategyResult) -> dict[str, Any]:
    """How a fit of the evidence model went; nothing of another one."""
    if outcome.weighed is None:
        return {}
    found = outcome.weighed.found
    # Without the guide's answer, a bound says nothing about the model that was asked for.
    bound, among = (found.bound, found.among) if outcome.weighed.is_complete else (0.0, "")
    return {"model": EVIDENCE, "evidence_cost": found.cost, "evidence_bound": bound, "proved_among": among}


def _others(outcome: StrategyResult, context: FitContext) -> list[ObliqueTree]:
    """Other trees that are as good."""
    if outcome.weighed is not None:
        return [outcome.prepared.scaling.to_model(other) for other in outcome.weighed.others]
    return [] if outcome.ended == INTERRUPTED else equally_good(outcome.prepared, outcome.tree, context)


def recertify(
    problem: Problem, tree: ObliqueTree, claimed: Certificate, spec: ModelSpec, *, rules: ObliqueTree | None = None
) -> tuple[Certificate, float]:
    """The certificate of a tree in the user's units for P2, recomputed, and the lower bound that needs no solver.

    ``rules`` is the tree as people read it, if it is not the same.
    From the claimed certificate come what belongs to P2 and is not in the data (s, the columns and the number of
    features that splits may use), the lower bound and its source, and how the fit went: its model, its end and its
    cost there. The guide is no part of P2, and nobody keeps what it said.
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
    # Inside a fit costs are in rows; a certificate has them in survey weights.
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
    """Hand the literal P2 to a solver alone, as the paper does; trees and costs are still checked here."""
    context = open_context(replace(budget, solver=budget.solver or "highs"), never, None)
    prepared = prepare(problem, spec, merge=False)
    incumbent = Incumbent(context.clock, partial(price_tree, prepared))
    portfolio = Portfolio(context, incumbent, lambda number, seconds: number, p2_formulation(prepared, build_p2))
    portfolio.solve(None)
    # A solver may end without any tree.
    offer_constant_trees(prepared, incumbent)
    outcome = StrategyResult(prepared, incumbent.winner, incumbent.bound, incumbent.ending, incumbent)
    return _trained(outcome, context.clock.elapsed, [], context).over(problem)
