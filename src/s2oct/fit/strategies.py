"""Strategies: how a prepared problem becomes a tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Protocol

import numpy as np

from s2oct.evidence.evidence import Evidence, EvidenceCost
from s2oct.evidence.exact import ExactSearch, Found
from s2oct.fit.context import BREAKING_TIES, GUIDE_RUNS_ON, SEARCHING, FitContext, Guidance, advised
from s2oct.fit.incumbent import LEAST_POOL, Incumbent
from s2oct.fit.portfolio import Exploration, Formulation, Portfolio
from s2oct.p2.instance import Instance
from s2oct.p2.milp import build_lean, decode_tree, encode_tree, p2_size
from s2oct.p2.node_programs import fewer_features, polish
from s2oct.p2.prepared import Prepared
from s2oct.p2.proof import (
    CONVERGED,
    DECIDED_TOLERANCE,
    INTERRUPTED,
    NOT_NEGATIVE,
    PROVED,
    TIME_LIMIT,
    Bound,
    bound_without_solver,
    lower_bound,
)
from s2oct.p2.rounds import round_work, run_round
from s2oct.p2.score import feasible_cost, feasible_score, lengthened, mended
from s2oct.solvers.model import Milp
from s2oct.stopping import Clock, Deadline
from s2oct.trees.tree import ObliqueTree

# Ways to fit a tree: the paper's P2, P2 with a guide that breaks ties, or evidence. One small class each.

PATIENCE, WORTH = 6, 0.25
"""Rounds without a better tree after which breaking ties ends; and by how much a tree must be better to count, where 1
is what the guide charges for a row of which it is sure."""

LAST_SHARE = 0.05
"""The last share of the time limit, in which a guide that only breaks ties is no longer asked."""

BOUND_SHARE = 0.25
"""Share of the remaining time that the bound without a solver may take: after a slow guide little is left."""

TIE_PRICE = 0.05
"""Price of the guide's charges while it breaks ties: small beside a labeled row's error or a row off the total."""


@dataclass(frozen=True, eq=False)
class StrategyResult:
    """What a strategy found: the tree in model units, its problem, what is proved about it, and why the fit ended."""

    prepared: Prepared
    tree: ObliqueTree
    bound: Bound
    ended: str
    incumbent: Incumbent
    weighed: Weighed | None = None


@dataclass(frozen=True, eq=False)
class Weighed:
    """What a fit of the evidence model has besides its tree.

    Attributes
    ----------
    evidence : Evidence
        What classes cost rows, in the user's units.
    tree : ObliqueTree
        The tree in the user's units, with short offsets.
    cost : EvidenceCost
        What it costs.
    search : ExactSearch
        The search that found it.
    found : Found
        What it found and proved.
    is_advised : bool
        Whether the guide answered.
    """

    evidence: Evidence
    tree: ObliqueTree
    cost: EvidenceCost
    search: ExactSearch
    found: Found
    is_advised: bool

    @cached_property
    def others(self) -> list[ObliqueTree]:
        """Other trees that are as good as the fitted one, and different on some row; no more than are wanted."""
        rows, found = self.evidence.X, []
        for tree in self.search.others():
            if not self.evidence.is_as_good(self.evidence.cost_of(tree), self.cost):
                break
            if not np.array_equal(tree.predict(rows), self.tree.predict(rows)):
                found.append(tree)
            if len(found) == LEAST_POOL:
                break
        return found


class Strategy(Protocol):
    """A way from a prepared problem to a tree."""

    def run(self, prepared: Prepared, context: FitContext) -> StrategyResult:
        """Work until the tree is proved optimal, nothing better is found, or the context's clock is over."""


@dataclass(frozen=True)
class Paper:
    """The paper's P2 and nothing else."""

    def run(self, prepared: Prepared, context: FitContext) -> StrategyResult:
        """Search and solve until P2 is proved or the time is over."""
        incumbent = open_incumbent(prepared, context)
        exploration = Exploration(
            Instance.of(prepared, incumbent.bound.value),
            incumbent,
            partial(polish, prepared),
            context.budget.seed,
            context.budget.n_jobs,
        )
        Portfolio(context, incumbent, exploration.run, p2_formulation(prepared)).run()
        return StrategyResult(prepared, incumbent.winner, incumbent.bound, incumbent.ending, incumbent)


@dataclass(frozen=True, eq=False)
class TieBreak:
    """P2 as without a guide. The guide then chooses between trees that cost no more than the best.

    It is asked only if P2 was decided before the time limit. Otherwise the search for cheaper trees goes on to the end:
    an undecided P2 has no ties yet.
    """

    guidance: Guidance

    def run(self, prepared: Prepared, context: FitContext) -> StrategyResult:
        """Solve P2, then choose."""
        solved = Paper().run(prepared, context)
        clock = context.clock
        if not solved.incumbent.is_decided or clock.stopped():
            return solved
        if clock.seconds_left < LAST_SHARE * clock.limit:
            context.notices.append(
                f"The tree of least cost was found too late in a time limit of {clock.limit:g} s to ask the guide: it "
                "did not choose among trees of equal cost."
            )
            return replace(solved, ended=TIME_LIMIT)
        clock = clock.anew()
        context = replace(context, clock=clock)
        guided = advised(prepared, self.guidance, context)
        if guided is None or guided.problem.guide is None:
            return _without_answer(solved, self.guidance, context)
        context.listener.stage(BREAKING_TIES)
        # The cost of this incumbent is the guide's charge, so the listener of the fit is not informed.
        ties = Incumbent(clock, partial(_charge, guided, solved.incumbent.best_cost))
        ties.offer(solved.tree)
        instance = Instance.of(guided, solved.bound.value).charged(TIE_PRICE * guided.problem.guide.charges)
        # The search ends by itself, so that it gives the same tree every time unless the time limit cuts it.
        Exploration(
            instance,
            ties,
            partial(polish, guided),
            context.budget.seed,
            context.budget.n_jobs,
            patience=PATIENCE,
            worth=WORTH,
        ).run()
        return StrategyResult(guided, ties.winner, solved.bound, ended_by(clock, solved.ended), solved.incumbent)


@dataclass(frozen=True, eq=False)
class WeighEvidence:
    """The evidence model: labels, guide and totals weighed in rows, few features a split."""

    guidance: Guidance

    def run(self, prepared: Prepared, context: FitContext) -> StrategyResult:
        """Ask the guide, and search until nothing better is found; without unlabeled rows there is nothing to ask.

        If the guide does not answer, labels and totals alone are the evidence.
        """
        said = advised(prepared, self.guidance, context) if prepared.problem.n_unlabeled else prepared
        if said is None and context.clock.stopped():
            # A tree without the guide is not worth keeping against somebody's will.
            return _without_answer(Paper().run(prepared, context), self.guidance, context)
        guided = prepared if said is None else said
        context.listener.stage(SEARCHING)
        # Rules are in the user's units, and so is the search for them.
        merged, _ = guided.given.merged_groups()
        evidence = self.guidance.evidence(merged, guided.topology)
        price, scaling = self.guidance.spec.price_of(evidence.n_given), guided.scaling
        least = Bound(evidence.bound + evidence.row_off * evidence.least_off, "identical rows share a class")
        listener = replace(context.listener, convert=lambda tree: context.listener.convert(scaling.to_model(tree)))
        incumbent = Incumbent(context.clock, partial(_weigh, evidence, price), least, listener)
        search = ExactSearch(evidence, self.guidance.spec, context.clock.deadline(), self.guidance.effort)
        found = search.run(incumbent.offer if context.listener.wants_trees else None)
        incumbent.offer(found.tree)
        ended = ended_by(context.clock, PROVED if found.is_proved else CONVERGED)
        result = StrategyResult(
            guided,
            lengthened(guided, scaling.to_model(found.middle)),
            Bound(lower_bound(guided.problem, guided.spec.C), "a bound that needs no solver"),
            ended,
            incumbent,
            Weighed(evidence, found.tree, evidence.cost_of(found.tree), search, found, is_advised=said is not None),
        )
        return result if said is not None else _without_answer(result, self.guidance, context)


def _without_answer(instead: StrategyResult, guidance: Guidance, context: FitContext) -> StrategyResult:
    """A result without the guide in place of one with it: a proof is none about the model that was asked for."""
    if guidance.is_busy():
        context.notices.append(GUIDE_RUNS_ON)
    return replace(instead, ended=INTERRUPTED if context.clock.stopped() else TIME_LIMIT)


def ended_by(clock: Clock, otherwise: str) -> str:
    """Why a stage of a fit ended: somebody stopped it, the time limit cut it, or it came to its own end."""
    if clock.stopped():
        return INTERRUPTED
    return TIME_LIMIT if clock.has_cut else otherwise


def _weigh(evidence: Evidence, term_price: float, tree: ObliqueTree) -> tuple[ObliqueTree, float]:
    return tree, evidence.total_cost(evidence.cost_of(tree), term_price)


def open_incumbent(prepared: Prepared, context: FitContext) -> Incumbent:
    """An incumbent with the bound that needs no solver and the two constant trees, which need no search."""
    opening = NOT_NEGATIVE
    # Bounds of a large table take seconds, which a fit that is over does not have.
    if not context.clock.is_over:
        deadline = context.clock.deadline(BOUND_SHARE * context.clock.seconds_left)
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
    """A tree mended, and the sum of its cost terms; None if it is not feasible."""
    assignment = mended(prepared, tree)
    cost = feasible_cost(prepared, assignment)
    return None if cost is None else (assignment.tree, cost)


def _charge(prepared: Prepared, most: float, tree: ObliqueTree) -> tuple[ObliqueTree, float] | None:
    """A tree mended, and what the guide charges for it; None if it costs more than ``most`` in P2."""
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


# Of the trees of P2's least cost, one that uses few features.

RESERVE_SHARE, LONGEST_RESERVE = 0.03, 0.5
"""Share of the time limit that P2 leaves for dropping features, and most seconds of it."""

ROUNDS, ROUND_WORK = 6, 2e7
"""Most rounds of search for each number of features, and most work of them, in rows times moves."""


@dataclass(frozen=True)
class Sparsest:
    """P2 as in `Paper`, with the same cost and proof. Of trees that cost no more, it returns one with fewer features.

    First features are dropped while every row keeps its side. If P2 is decided, short searches with few features a
    split follow: by bisection between the numbers of features for which they found a tree of this cost and those for
    which they did not. Nothing proves that the number of features is the least.
    """

    def run(self, prepared: Prepared, context: FitContext) -> StrategyResult:
        """Solve P2, then choose."""
        clock = context.clock
        reserve = min(RESERVE_SHARE * clock.limit, LONGEST_RESERVE)
        solved = Paper().run(prepared, replace(context, clock=replace(clock, limit=clock.limit - reserve)))
        if clock.stopped():
            return solved
        clock = clock.anew()
        context.listener.stage(BREAKING_TIES)
        incumbent = solved.incumbent
        # A certificate is computed in other units: half of the tolerance is left for rounding.
        least = incumbent.bound.value if incumbent.is_decided else incumbent.best_cost
        most = max(incumbent.best_cost, least + 0.5 * DECIDED_TOLERANCE)
        # The cost of this incumbent is a number of features, so the listener of the fit is not informed.
        sparse = Incumbent(clock, partial(_n_terms, prepared, most))
        sparse.offer(solved.tree)
        sparse.offer(fewer_features(prepared, sparse.winner, clock.deadline()))
        if incumbent.is_decided:
            _bisect(prepared, sparse, least, context.budget.seed, clock.deadline())
        return StrategyResult(prepared, sparse.winner, solved.bound, ended_by(clock, solved.ended), incumbent)


def _n_terms(prepared: Prepared, most: float, tree: ObliqueTree) -> tuple[ObliqueTree, float] | None:
    """A tree mended, and how many coefficients it has; None if it costs more than ``most`` in P2."""
    assignment = mended(prepared, tree)
    found = feasible_score(prepared, assignment)
    if found is None or found.objective > most:
        return None
    return assignment.tree, float(np.count_nonzero(assignment.tree.omega))


def _bisect(prepared: Prepared, sparse: Incumbent, floor: float, seed: int, deadline: Deadline) -> None:
    """Search for trees with fewer features in the split that has most."""
    failed, reached = 0, most_used(sparse.winner)
    while reached - failed > 1 and not deadline.passed:
        k = (failed + reached) // 2
        if _search_with(prepared, k, sparse, floor, seed, deadline):
            reached = min(k, most_used(sparse.winner))
        else:
            failed = k


def _search_with(prepared: Prepared, k: int, sparse: Incumbent, floor: float, seed: int, deadline: Deadline) -> bool:
    """Whether some rounds with at most k features a split find a tree that is good enough; it is offered."""
    few = replace(prepared, spec=replace(prepared.spec, max_features_per_split=k))
    instance = Instance.of(few, floor)
    start, work = _cut_down(prepared, sparse.winner, k), 0.0
    for number in range(ROUNDS):
        work += round_work(instance, number)
        if work > ROUND_WORK or deadline.passed:
            return False
        # The fourth round starts from the tree that is known.
        for tree in reversed(run_round(instance, seed, number, deadline, start)):
            if sparse.offer(tree):
                sparse.offer(fewer_features(few, sparse.winner, deadline))
                return True
    return False


def _cut_down(prepared: Prepared, tree: ObliqueTree, k: int) -> ObliqueTree:
    """The tree with the k features of every split that matter most; it may be far from feasible."""
    weight = np.abs(tree.omega) * np.ptp(prepared.problem.X, axis=0)
    omega = tree.omega.copy()
    np.put_along_axis(omega, np.argsort(-weight, axis=1, kind="stable")[:, k:], 0.0, axis=1)
    return replace(tree, omega=omega)


def most_used(tree: ObliqueTree) -> int:
    """The number of features in the split that has most."""
    return int(np.count_nonzero(tree.omega, axis=1).max())
