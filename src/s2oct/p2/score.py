"""The cost of a tree, (P1) evaluated directly from the rows in its leaves, and whether the tree is feasible."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from s2oct.arrays import BoolArray, FloatArray
from s2oct.p2.costs import Assignment, LabelErrors, TotalMiss, rows_off
from s2oct.p2.prepared import Bounds, Prepared
from s2oct.problem.problem import Guide
from s2oct.trees.tree import ObliqueTree

MARGIN_TOLERANCE = 1e-6
"""An unlabeled row counts as being at distance 1 from a hyperplane down to 1 - 1e-6."""


@dataclass(frozen=True)
class Score:
    """The cost of a tree in P2, the guide's charge, and whether its unlabeled rows keep their distance.

    Attributes
    ----------
    leaf_error : float
        Errors of the labeled rows.
    xi : float
        Rows by which the totals are missed.
    objective : float
        P2's cost: errors and C xi.
    n_margin_violations : int
        Unlabeled rows that are too near a hyperplane.
    min_margin : float
        Minimum distance of an unlabeled row from a hyperplane.
    guide_cost : float
        The guide's charge, see `guide_cost`; 0 without a guide.
    """

    leaf_error: float
    xi: float
    objective: float
    n_margin_violations: int
    min_margin: float
    guide_cost: float = 0.0


def score(assignment: Assignment, C: float) -> Score:
    """Evaluate a tree on the rows of a problem."""
    problem, margins = assignment.problem, assignment.margins
    leaf_error = LabelErrors().value(assignment)
    too_near = margins < 1 - MARGIN_TOLERANCE
    return Score(
        leaf_error=leaf_error,
        xi=rows_off(assignment),
        objective=leaf_error + TotalMiss(C).value(assignment),
        n_margin_violations=int(problem.unlabeled_multiplicity[too_near].sum()),
        min_margin=float(margins.min()) if len(margins) else float("inf"),
        guide_cost=0.0 if problem.guide is None else guide_cost(problem.guide, assignment),
    )


def guide_cost(guide: Guide, assignment: Assignment) -> float:
    """The guide's charge for a tree. The guide knows the totals, so a row off them counts as surely misclassified."""
    assigned = assignment.unlabeled_classes
    charged = guide.charges[np.arange(len(assigned)), assigned]
    return float(assignment.problem.unlabeled_size @ charged) + rows_off(assignment)


_WORTH_MENDING = 0.5
"""A minimum margin below this is not a rounding error. Scaling it up would give a different tree."""


def is_feasible(
    assignment: Assignment,
    bounds: Bounds,
    found: Score,
    scale: FloatArray | float = 1.0,
    most_features: int | None = None,
) -> bool:
    """Whether unlabeled rows keep distance 1 and (boundomega), the far sides of (BIGM1/2) and LE <= B(s) hold.

    The assignment may be in other units than the bounds: ``scale`` is the factor of the features. ``most_features`` is
    the maximum number of nonzero coefficients per split.
    """
    slack, bounds = 1 + MARGIN_TOLERANCE, bounds.strict()
    reach = assignment.unlabeled.largest.max(initial=0.0)
    n_used = np.count_nonzero(assignment.tree.omega, axis=1).max(initial=0)
    return bool(
        found.n_margin_violations == 0
        and (most_features is None or n_used <= most_features)
        and np.abs(assignment.tree.omega / scale).max(initial=0.0) <= bounds.s * slack
        and reach <= (bounds.M - 1) * slack
        and assignment.errors_are_within(bounds.B * slack)
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
    """Repair the effects of solver tolerances on a tree, and return its assignment. Every row keeps its side.

    Coefficients are clipped to s, and those of constant features move into the offset. A node with a margin slightly
    below 1 is scaled up as far as s allows. A node with all rows on one side, at distance 1 or more, becomes constant:
    no row pays for that, and every M allows it. No node uses a feature that it did not use before.
    """
    problem, s = prepared.problem, prepared.bounds.s
    omega = np.clip(tree.omega, -s, s)
    # Solvers give arbitrary coefficients to constant features; a large one would swamp the others.
    constant = prepared.spread == 0
    gamma = tree.gamma - omega[:, constant] @ prepared.lowest[constant]
    omega[:, constant] = 0.0
    routed = Assignment.of(problem, replace(tree, omega=omega, gamma=gamma))
    is_idle, goes_right = _idle(routed)
    factor = _lengthening(routed, s)
    mended_tree = replace(
        tree,
        omega=np.where(is_idle[:, None], 0.0, omega * factor[:, None]),
        gamma=np.where(is_idle, np.where(goes_right, -1.0, 1.0), gamma * factor),
    )
    if np.array_equal(mended_tree.omega, omega) and np.array_equal(mended_tree.gamma, gamma):
        return replace(routed, tree=mended_tree)
    return Assignment.of(problem, mended_tree)


def _idle(routed: Assignment) -> tuple[BoolArray, BoolArray]:
    """Whether each node has all rows on one side, at distance 1 or more, and whether that is the right side."""
    labeled, unlabeled = routed.labeled, routed.unlabeled
    n_left, n_right = labeled.n_left + unlabeled.n_left, labeled.n_right + unlabeled.n_right
    n_rows = len(labeled.of_rows) + len(unlabeled.of_rows)
    nearest = np.minimum(labeled.least, unlabeled.least)
    return ((n_left == n_rows) | (n_right == n_rows)) & (nearest >= 1 - MARGIN_TOLERANCE), n_right == n_rows


def _lengthening(routed: Assignment, s: float) -> FloatArray:
    """The factor of each normal that makes its margin 1."""
    margin = routed.unlabeled.least
    largest = np.abs(routed.tree.omega).max(axis=1, initial=0.0)
    short = (margin > _WORTH_MENDING) & (margin < 1) & (largest > 0)
    # Slightly more than needed, so that rounding does not undo it.
    found = np.minimum((1 + 1e-12) / np.where(short, margin, 1.0), s / np.where(short, largest, 1.0))
    return np.where(short, found, 1.0)


def lengthened(prepared: Prepared, tree: ObliqueTree) -> ObliqueTree:
    """The same hyperplanes, lengthened so that the unlabeled rows are at distance 1 from each, as far as s allows."""
    distance = tree.distances(prepared.problem.X_unlabeled).least
    largest = np.abs(tree.omega).max(axis=1, initial=0.0)
    splits = largest > 0
    factor = np.ones(len(largest))
    with np.errstate(divide="ignore"):
        factor[splits] = np.minimum((1 + 1e-12) / distance, prepared.bounds.s / np.where(splits, largest, 1.0))[splits]
    # Without unlabeled rows, any length will do.
    factor[splits & (factor == 0)] = 1.0
    return replace(tree, omega=tree.omega * factor[:, None], gamma=np.where(splits, tree.gamma * factor, tree.gamma))
