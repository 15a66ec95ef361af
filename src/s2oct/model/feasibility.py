"""Whether a tree is feasible for P2, what it costs, and small changes that make a nearly feasible tree feasible."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.model.assignment import Assignment
from s2oct.model.bounds import Bounds
from s2oct.model.prepared import Prepared
from s2oct.model.score import MARGIN_TOLERANCE, Score, score
from s2oct.model.tree import ObliqueTree

_WORTH_MENDING = 0.5
"""A smallest margin below this is not a rounding error. Scaling it up would make a different tree."""


def is_feasible(
    assignment: Assignment,
    bounds: Bounds,
    found: Score,
    scale: FloatArray | float = 1.0,
    most_features: int | None = None,
) -> bool:
    """Whether unlabeled rows keep distance 1 and (boundomega), the far sides of (BIGM1/2) and LE <= B(s) hold.

    The assignment may be in other units than the bounds: ``scale`` is what the features were multiplied by. With
    ``most_features`` no split may have more coefficients other than 0.
    """
    slack = 1 + MARGIN_TOLERANCE
    reach = np.abs(assignment.values_unlabeled).max(initial=0.0)
    errors = np.where(assignment.is_own_leaf, assignment.leaf_errors, 0.0)
    n_used = np.count_nonzero(assignment.tree.omega, axis=1).max(initial=0)
    return bool(
        found.n_margin_violations == 0
        and (most_features is None or n_used <= most_features)
        and np.abs(assignment.tree.omega / scale).max(initial=0.0) <= bounds.s * slack
        and reach <= (bounds.M - 1) * slack
        and errors.max(initial=0.0) <= bounds.B * slack
    )


def feasible_score(prepared: Prepared, assignment: Assignment) -> Score | None:
    """The score of a tree in model units, or None if it is not feasible for P2."""
    found = score(assignment, prepared.spec.C)
    feasible = is_feasible(assignment, prepared.bounds, found, most_features=prepared.most_features)
    return found if feasible else None


def feasible_cost(prepared: Prepared, assignment: Assignment) -> float | None:
    """The sum of the cost terms of a tree in model units, or None if it is not feasible for P2."""
    if feasible_score(prepared, assignment) is None:
        return None
    cost = 0.0
    for term in prepared.terms:
        cost += term.value(assignment)
    return cost


def mended(prepared: Prepared, tree: ObliqueTree) -> Assignment:
    """Repair what solver tolerances did to a tree, and return where it puts the rows. Every row keeps its side.

    No node uses a feature afterwards that it did not use before.

    Coefficients are clipped to s, and those of constant features moved into the offset. A node with a margin a little
    below 1 is scaled up as far as s allows. A node that has all rows at distance 1 or more on one side becomes
    constant: no row pays for that, and every M allows it.
    """
    problem, s = prepared.problem, prepared.bounds.s
    n, X = problem.n_labeled, problem.X
    omega = np.clip(tree.omega, -s, s)
    # Solvers give any coefficient to a feature that is the same for all rows; a large value drowns the others.
    constant = np.ptp(X, axis=0) == 0
    gamma = tree.gamma - omega[:, constant] @ X[0, constant]
    omega[:, constant] = 0.0
    values = replace(tree, omega=omega, gamma=gamma).values(X)
    routed = omega.copy(), gamma.copy()
    for b in range(tree.topology.n_branches):
        factor = _lengthening(values[:, b], n, omega[b], s)
        if factor is None:
            omega[b], gamma[b] = 0.0, -np.sign(values[0, b])
        else:
            omega[b] *= factor
            gamma[b] *= factor
    mended_tree = replace(tree, omega=omega, gamma=gamma)
    if np.array_equal(omega, routed[0]) and np.array_equal(gamma, routed[1]):
        return Assignment(problem, mended_tree, values[:n], values[n:])
    return Assignment.of(problem, mended_tree)


def _lengthening(values: FloatArray, n_labeled: int, omega: FloatArray, s: float) -> float | None:
    """The factor that lengthens a normal so that margins are 1; None where the node should split nothing."""
    if abs(np.sign(values).sum()) == len(values) and np.abs(values).min() >= 1 - MARGIN_TOLERANCE:
        return None
    margin = np.abs(values[n_labeled:]).min(initial=np.inf)
    largest = np.abs(omega).max(initial=0.0)
    if _WORTH_MENDING < margin < 1 and largest > 0:
        # Slightly more than needed, so that rounding does not undo it.
        return float(min((1 + 1e-12) / margin, s / largest))
    return 1.0


def lengthened(prepared: Prepared, tree: ObliqueTree) -> ObliqueTree:
    """The same hyperplanes, so long that the unlabeled rows are at distance 1 from each, as far as s allows."""
    distance = np.abs(tree.values(prepared.problem.X_unlabeled)).min(axis=0, initial=np.inf)
    largest = np.abs(tree.omega).max(axis=1, initial=0.0)
    splits = largest > 0
    factor = np.ones(len(largest))
    with np.errstate(divide="ignore"):
        factor[splits] = np.minimum((1 + 1e-12) / distance, prepared.bounds.s / np.where(splits, largest, 1.0))[splits]
    # Where no unlabeled row is, any length will do.
    factor[splits & (factor == 0)] = 1.0
    return replace(tree, omega=tree.omega * factor[:, None], gamma=np.where(splits, tree.gamma * factor, tree.gamma))
