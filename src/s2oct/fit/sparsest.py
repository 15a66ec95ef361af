"""Of the trees of P2's least cost, one that uses few features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from s2oct.fit.context import BREAKING_TIES, FitContext
from s2oct.fit.incumbent import Incumbent
from s2oct.fit.strategies import Paper, StrategyResult, ended_by
from s2oct.model.prepared import Prepared
from s2oct.model.proof import DECIDED_TOLERANCE
from s2oct.model.score import feasible_score, mended
from s2oct.model.tree import ObliqueTree
from s2oct.search import Instance, fewer_features, round_work, run_round
from s2oct.stopping import Deadline

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
