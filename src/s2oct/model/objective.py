"""(P1) evaluated directly: branch errors, leaf errors and the total, from the tree and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.model.problem import Problem
from s2oct.model.tree import ObliqueTree

MARGIN_TOLERANCE = 1e-6
"""An unlabeled row counts as kept at distance 1 from a hyperplane down to 1 - 1e-6."""


@dataclass(frozen=True)
class Score:
    """What a tree costs in P2 and what the guide charges for it, and whether its unlabeled rows keep their distance."""

    leaf_error: float
    xi: float
    objective: float
    n_margin_violations: int
    min_margin: float
    guide_cost: float = 0.0


def score(problem: Problem, tree: ObliqueTree) -> Score:
    """Evaluate a tree on a problem in the same units."""
    leaf_error = float(problem.labeled_weights @ least_leaf_errors(problem, tree))
    xi = total_error(problem, tree)
    margins = np.abs(tree.values(problem.X_unlabeled)).min(axis=1) if problem.n_unlabeled else np.empty(0)
    return Score(
        leaf_error=leaf_error,
        xi=xi,
        objective=leaf_error + problem.C * xi,
        n_margin_violations=int(problem.unlabeled_weights[margins < 1 - MARGIN_TOLERANCE].sum()),
        min_margin=float(margins.min()) if len(margins) else float("inf"),
        guide_cost=guide_cost(problem, tree),
    )


def branch_errors(tree: ObliqueTree, X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Definition 1: y^L and y^R of every row at every branch node, each of shape (rows, n_branches)."""
    values = tree.values(X)
    return np.maximum(1 + values, 0), np.maximum(1 - values, 0)


def leaf_errors(tree: ObliqueTree, X: FloatArray) -> FloatArray:
    """Definition 2: LE(x, t) of every row at every leaf, shape (rows, n_leaves)."""
    left, right = branch_errors(tree, X)
    errors = np.zeros((len(X), tree.topology.n_leaves))
    for nodes, sides in zip(tree.topology.path_nodes.T, tree.topology.path_sides.T, strict=True):
        errors += np.where(sides == 1, right[:, nodes], left[:, nodes])
    return errors


def least_leaf_errors(problem: Problem, tree: ObliqueTree) -> FloatArray:
    """Min over t in T_L^c of LE(x, t) for every labeled row, shape (n,)."""
    errors = leaf_errors(tree, problem.X_labeled)
    own_class = tree.leaf_classes[None, :] == problem.labels[:, None]
    return np.asarray(np.where(own_class, errors, np.inf).min(axis=1))


def total_error(problem: Problem, tree: ObliqueTree) -> float:
    """xi: how many unlabeled rows would have to change class to meet the totals."""
    counts = np.bincount(
        tree.predict(problem.X_unlabeled), weights=problem.unlabeled_weights, minlength=problem.n_classes
    )
    return float(np.abs(counts - problem.totals).sum() / 2)


def guide_cost(problem: Problem, tree: ObliqueTree) -> float:
    """What the problem's guide charges for the classes of the unlabeled rows and for each row off the totals.

    It was told the totals, so a row off them counts as one that is surely in the wrong class. 0 without a guide.
    """
    if problem.guide is None or not problem.n_unlabeled:
        return 0.0
    assigned = tree.predict(problem.X_unlabeled)
    charges = problem.guide.costs[np.arange(len(assigned)), assigned]
    return float(problem.unlabeled_weights @ charges) + total_error(problem, tree)
