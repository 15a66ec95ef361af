"""Whether a tree is feasible for P2, and the small changes that make a nearly feasible one so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.model.bounds import Bounds
from s2oct.model.objective import MARGIN_TOLERANCE, Score, leaf_errors, score
from s2oct.model.problem import Problem
from s2oct.model.tree import ObliqueTree

_WORTH_MENDING = 0.5
"""A least margin below this is no rounding error; scaling it up would be a different tree."""


def is_feasible(
    problem: Problem, tree: ObliqueTree, bounds: Bounds, found: Score, scale: FloatArray | float = 1.0
) -> bool:
    """Whether unlabeled rows keep distance 1 and (boundomega), the far sides of (BIGM1/2) and LE <= B(s) hold.

    Problem and tree may be in other units than the bounds: ``scale`` is what the features were multiplied with.
    """
    slack = 1 + MARGIN_TOLERANCE
    reach = np.abs(tree.values(problem.X_unlabeled)).max(initial=0.0)
    own_class = tree.leaf_classes[None, :] == problem.labels[:, None]
    errors = np.where(own_class, leaf_errors(tree, problem.X_labeled), 0.0)
    return bool(
        found.n_margin_violations == 0
        and np.abs(tree.omega / scale).max(initial=0.0) <= bounds.s * slack
        and reach <= (bounds.M - 1) * slack
        and errors.max(initial=0.0) <= bounds.B * slack
    )


def feasible_score(problem: Problem, tree: ObliqueTree, bounds: Bounds) -> Score | None:
    """What a tree is worth, or None if it is not feasible for P2."""
    found = score(problem, tree)
    return found if is_feasible(problem, tree, bounds, found) else None


def feasible_cost(problem: Problem, tree: ObliqueTree, bounds: Bounds) -> float | None:
    """Cost of a tree in P2 plus what the guide charges times its weight, or None if the tree is not feasible."""
    found = feasible_score(problem, tree, bounds)
    if found is None:
        return None
    return found.objective + (0.0 if problem.guide is None else problem.guide.weight * found.guide_cost)


def mend(problem: Problem, tree: ObliqueTree, bounds: Bounds) -> ObliqueTree:
    """Undo what solver tolerances do to a tree; every row keeps its side.

    Coefficients are clipped to s, and those of constant features moved into the offset. A node with a margin a little
    below 1 is scaled up as far as s allows. A node that has all rows at distance 1 or more on one side becomes
    constant, which no row pays for and M always admits.
    """
    X = problem.X
    omega = np.clip(tree.omega, -bounds.s, bounds.s)
    # Solvers give any weight to a feature that tells no rows apart; where its values are large it drowns the others.
    constant = np.ptp(X, axis=0) == 0
    gamma = tree.gamma - omega[:, constant] @ X[0, constant]
    omega[:, constant] = 0.0
    values = replace(tree, omega=omega, gamma=gamma).values(X)
    unlabeled = np.abs(values[problem.n_labeled :])
    for b in range(tree.topology.n_branches):
        if abs(np.sign(values[:, b]).sum()) == len(values) and np.abs(values[:, b]).min() >= 1 - MARGIN_TOLERANCE:
            omega[b], gamma[b] = 0.0, -np.sign(values[0, b])
            continue
        margin = unlabeled[:, b].min(initial=np.inf)
        largest = np.abs(omega[b]).max(initial=0.0)
        if _WORTH_MENDING < margin < 1 and largest > 0:
            # A hair more than needed, so that rounding does not take it back.
            factor = min((1 + 1e-12) / margin, bounds.s / largest)
            omega[b] *= factor
            gamma[b] *= factor
    return replace(tree, omega=omega, gamma=gamma)
