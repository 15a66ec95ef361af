"""Other trees that cost no more than the fitted tree, and how far they agree with it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.fit.context import COMPARING, FitContext
from s2oct.model.assignment import Assignment
from s2oct.model.prepared import Prepared
from s2oct.model.proof import DECIDED_TOLERANCE, INTERRUPTED, TIME_LIMIT
from s2oct.model.rules import as_rules
from s2oct.model.score import feasible_score, mended, score
from s2oct.model.tree import ObliqueTree
from s2oct.search import Instance, descends, run_round
from s2oct.wording import plural

POOL, POOL_ROUNDS, LEAST_POOL = 20, 100, 5
"""Most trees of equal cost to look for, most rounds for that, and fewest trees whose agreement proves something."""

POOL_SECONDS = 0.05, 2.0
"""Least seconds for the pool, without and with a guide; if the fit took longer, as long as the fit."""

LONGEST_POOL, FRUITLESS_ROUNDS = 5.0, 10
"""Most seconds for the pool, and most rounds in a row that find nothing: the tree is there, and its user waits."""


def equally_good(prepared: Prepared, tree: ObliqueTree, context: FitContext) -> list[ObliqueTree]:
    """Trees that cost no more than this one in P2, each from its own start and without the guide."""
    clock, seed = context.clock, context.budget.seed + 1
    if clock.is_over:
        return []
    context.listener.stage(COMPARING)
    cost = score(Assignment.of(prepared.problem, tree), prepared.spec.C).objective + DECIDED_TOLERANCE
    instance = Instance.of(prepared.without_guide(), cost)
    until = clock.deadline(min(max(clock.elapsed, POOL_SECONDS[prepared.problem.guide is not None]), LONGEST_POOL))
    found: list[ObliqueTree] = []
    last = -1
    for number in range(POOL_ROUNDS):
        if len(found) >= POOL or number - last > FRUITLESS_ROUNDS or until.passed:
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
    """The trees that give some row another class than the fitted tree and than all trees before them, as rules."""
    seen: list[IntArray] = [fitted.predict(rows)]
    kept = []
    for tree in trees:
        classes = tree.predict(rows)
        if not any(np.array_equal(classes, known) for known in seen):
            seen.append(classes)
            kept.append(as_rules(tree, rows))
    return tuple(kept)


def all_starts_agree(ended: str, *, weighed: bool) -> bool:
    """Whether no other tree means that there is none from any start: the evidence model was searched to its end."""
    return weighed and ended not in (INTERRUPTED, TIME_LIMIT)


def too_few_others(n_found: int, ended: str, *, weighed: bool) -> str:
    """Why little or nothing is known of how other trees agree; empty if enough of them were found."""
    if n_found >= LEAST_POOL:
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
        f"The stability of rows comes from {plural(n_found, 'other tree')} {which}, and at least {LEAST_POOL} are "
        "wanted: trees that were not found may differ on further rows."
    )


def agreement(prepared: Prepared, tree: ObliqueTree, others: list[ObliqueTree]) -> FloatArray:
    """For every unlabeled row the share of other trees that agree with a tree in the user's units; NaN without any."""
    rows = prepared.given.X_unlabeled
    if not others:
        return np.full(len(rows), np.nan)
    chosen = tree.predict(rows)
    return np.asarray(np.mean([prepared.scaling.to_user(other).predict(rows) == chosen for other in others], axis=0))
