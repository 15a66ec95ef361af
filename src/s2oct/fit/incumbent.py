"""The best tree and bound so far, and the other trees worth keeping."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.fit.context import COMPARING, FitContext, Listener, Listeners
from s2oct.p2.costs import Assignment, feasible_score, mended, score
from s2oct.p2.instance import Instance
from s2oct.p2.prepared import Prepared
from s2oct.p2.proof import CONVERGED, DECIDED_TOLERANCE, INTERRUPTED, NOT_NEGATIVE, PROVED, TIME_LIMIT, Bound, Moment
from s2oct.p2.rounds import descends, run_round
from s2oct.stopping import Clock
from s2oct.trees.rounding import as_rules
from s2oct.trees.tree import ObliqueTree
from s2oct.wording import plural

# The best tree and the lower bound so far. Search and solver report trees and bounds here.

WORTH_NOTING = 1e-9
"""A bound must rise by this much to count: solvers report rounding errors as progress."""

Assess = Callable[[ObliqueTree], tuple[ObliqueTree, float] | None]
"""Evaluates a tree from scratch: returns the tree as it will be kept and its cost, or None if it is not feasible."""


class Incumbent:
    """Best tree and lower bound so far, with the clock of the fit. Safe to use from several threads.

    Parameters
    ----------
    clock : Clock
        The time of the fit.
    assess : callable
        Evaluates every tree that is offered.
    opening : Bound
        The initial lower bound.
    listener : Listener, optional
        Receives every improvement.
    """

    def __init__(
        self, clock: Clock, assess: Assess, opening: Bound = NOT_NEGATIVE, listener: Listener | None = None
    ) -> None:
        self.clock = clock
        self.bound = self._opening = opening
        self.best: ObliqueTree | None = None
        self.best_cost = float("inf")
        self.history: list[Moment] = []
        self._assess = assess
        self._listener = Listeners.of(listener)
        self._refuted: set[str] = set()
        self._lock = threading.Lock()

    def offer(self, tree: ObliqueTree) -> bool:
        """Evaluate a tree, and keep it if it is feasible and cheaper than the best; return whether it was kept."""
        found = self._assess(tree)
        if found is None:
            return False
        kept, cost = found
        with self._lock:
            if cost >= self.best_cost:
                return False
            if cost < self.bound.value - DECIDED_TOLERANCE:
                # An evaluated tree refutes the bound, so its source is no longer trusted. The bound changes before the
                # cost: other threads read both without the lock, and must not mistake them for a proof.
                self._refuted.add(self.bound.source)
                self.bound = self._opening
            self.best, self.best_cost = kept, cost
            self._note()
            if self._listener.wants_trees:
                self._listener.found(kept)
            return True

    def raise_bound(self, value: float, source: str) -> None:
        """Report a lower bound. A bound above the cost of an evaluated tree is wrong, and is ignored."""
        with self._lock:
            if source in self._refuted:
                return
            if self.bound.value + WORTH_NOTING < value <= self.best_cost + DECIDED_TOLERANCE:
                self.bound = Bound(min(value, self.best_cost), source)
                self._note()

    @property
    def winner(self) -> ObliqueTree:
        """The best tree. It exists once a constant tree has been offered, which is always feasible."""
        if self.best is None:
            raise RuntimeError("No feasible tree was offered.")
        return self.best

    @property
    def is_decided(self) -> bool:
        """Whether the best tree is proved optimal."""
        return self.best_cost <= self.bound.value + DECIDED_TOLERANCE

    @property
    def is_over(self) -> bool:
        """Whether there is nothing more to do: decided, out of time, or asked to stop."""
        return self.is_decided or self.clock.is_over

    @property
    def ending(self) -> str:
        """The reason for the end of the fit, if it ended now."""
        if self.is_decided:
            return PROVED
        if self.clock.stopped():
            return INTERRUPTED
        return TIME_LIMIT if self.clock.has_cut else CONVERGED

    def _note(self) -> None:
        moment = Moment(self.clock.elapsed, self.best_cost, self.bound.value)
        self.history.append(moment)
        self._listener.progress(moment)


# Other trees that cost no more than the fitted tree, and their agreement with it.


@dataclass(frozen=True)
class PoolParams:
    """Effort of the search for other trees that cost no more. The user is waiting for the tree, which is final.

    Attributes
    ----------
    most, enough : int
        Maximum number of trees, and minimum number for a meaningful stability.
    most_rounds, fruitless_rounds : int
        Maximum number of rounds, and of fruitless rounds in a row.
    least_seconds, least_seconds_guided : float
        Seconds without and with a guide, whose P2 is harder to search; if the fit took longer, the seconds of the fit.
    longest_seconds : float
        Maximum seconds.
    """

    most: int = 20
    enough: int = 5
    most_rounds: int = 100
    fruitless_rounds: int = 10
    least_seconds: float = 0.05
    least_seconds_guided: float = 2.0
    longest_seconds: float = 5.0


PARAMS = PoolParams()


def equally_good(prepared: Prepared, tree: ObliqueTree, context: FitContext) -> list[ObliqueTree]:
    """Find trees that cost no more than this one in P2, each from its own start and without the guide."""
    clock, seed = context.clock, context.budget.seed + 1
    if clock.is_over:
        return []
    context.listener.stage(COMPARING)
    cost = score(Assignment.of(prepared.problem, tree), prepared.spec.C).objective + DECIDED_TOLERANCE
    instance = Instance.of(prepared.without_guide(), cost)
    least = PARAMS.least_seconds if prepared.problem.guide is None else PARAMS.least_seconds_guided
    until = clock.deadline(min(max(clock.elapsed, least), PARAMS.longest_seconds))
    found: list[ObliqueTree] = []
    last = -1
    for number in range(PARAMS.most_rounds):
        if len(found) >= PARAMS.most or number - last > PARAMS.fruitless_rounds or until.passed:
            break
        by_descents = descends(instance, number, descents_lead=False)
        for candidate in reversed(run_round(instance, seed, number, until, by_descents=by_descents)):
            assignment = mended(prepared, candidate)
            worth = feasible_score(prepared, assignment)
            if worth is not None and worth.objective <= cost:
                found.append(assignment.tree)
                last = number
                break
    return found


def distinct(trees: Iterable[ObliqueTree], rows: FloatArray, fitted: ObliqueTree) -> tuple[ObliqueTree, ...]:
    """The trees whose predictions differ from those of the fitted tree and of all trees before them, as rules."""
    seen: list[IntArray] = [fitted.predict(rows)]
    kept = []
    for tree in trees:
        classes = tree.predict(rows)
        if not any(np.array_equal(classes, known) for known in seen):
            seen.append(classes)
            kept.append(as_rules(tree, rows))
    return tuple(kept)


def all_starts_agree(ended: str, *, weighed: bool) -> bool:
    """Whether finding no other tree means that there is none: the search of the evidence model ran to its end."""
    return weighed and ended not in (INTERRUPTED, TIME_LIMIT)


def too_few_others(n_found: int, ended: str, *, weighed: bool) -> str:
    """Explain why the stability is uncertain or unknown; empty if enough other trees were found."""
    if n_found >= PARAMS.enough:
        return ""
    which = "as good" if weighed else "of no higher cost"
    if not n_found and ended == INTERRUPTED:
        return "The stability of rows is not known: the fit was interrupted before it looked for other trees."
    if not n_found and all_starts_agree(ended, weighed=weighed):
        return (
            "The search led to no other tree as good from any of its starts: every row counts as stable, though trees "
            "that were not found may differ."
        )
    if not n_found:
        return f"The stability of rows is not known: the fit found no other tree {which}."
    return (
        f"The stability of rows comes from {plural(n_found, 'other tree')} {which}, and at least {PARAMS.enough} are "
        "wanted: trees that were not found may differ on further rows."
    )


def agreement(prepared: Prepared, tree: ObliqueTree, others: list[ObliqueTree]) -> FloatArray:
    """Share of other trees that agree with a tree in the user's units, per unlabeled row; NaN without other trees."""
    rows = prepared.given.X_unlabeled
    if not others:
        return np.full(len(rows), np.nan)
    chosen = tree.predict(rows)
    return np.asarray(np.mean([prepared.scaling.to_user(other).predict(rows) == chosen for other in others], axis=0))
