"""Node LPs: once every row's side is fixed, P2 falls apart into one linear program per branch node.

Given each labeled row's cheapest leaf and each unlabeled row's side at every node, the best hyperplane of a node
minimises the branch errors of the labeled rows on their way, keeps the unlabeled rows at distance 1 on their
sides, and its coefficients within s. Of the unlabeled rows only those near the hyperplane bind; the others are
added when they turn out to be violated.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, hstack, vstack

from s2oct.arrays import FloatArray, IntArray
from s2oct.bounds import Bounds
from s2oct.objective import leaf_errors
from s2oct.problem import Problem
from s2oct.tree import ObliqueTree

_SAFE = 1 + 1e-8
"""Distance asked of the unlabeled rows: a little more than 1, for the LP's own tolerance."""

_FIRST_ROWS, _MAX_PASSES = 200, 8


def polish(problem: Problem, tree: ObliqueTree, bounds: Bounds, deadline: float) -> ObliqueTree:
    """The tree with every hyperplane that costs anything refitted, all rows keeping their sides."""
    errors = leaf_errors(tree, problem.X_labeled)
    own_class = tree.leaf_classes[None, :] == problem.labels[:, None]
    leaf = np.where(own_class, errors, np.inf).argmin(axis=1)
    nodes, sides = tree.topology.path_nodes[leaf], tree.topology.path_sides[leaf]
    values = tree.values(problem.X_labeled)
    omega, gamma = tree.omega.copy(), tree.gamma.copy()
    for b in range(tree.topology.n_branches):
        rows, step = np.nonzero(nodes == b)
        sign = np.where(sides[rows, step] == 1, 1.0, -1.0)
        if (sign * values[rows, b] < 1 - 1e-9).any() and time.monotonic() < deadline:
            fitted = _fit_node(problem, bounds, omega[b], gamma[b], rows, sign, deadline)
            if fitted is not None:
                omega[b], gamma[b] = fitted[:-1], fitted[-1]
    return replace(tree, omega=omega, gamma=gamma)


def _fit_node(
    problem: Problem,
    bounds: Bounds,
    omega: FloatArray,
    gamma: float,
    rows: IntArray,
    sign: FloatArray,
    deadline: float,
) -> FloatArray | None:
    """(omega, gamma) of least labeled error with the unlabeled rows on their sides; None if the LP does not say."""
    p, n = problem.n_features, len(rows)
    weights = problem.labeled_weights[rows]
    signed = sign[:, None] * np.column_stack([problem.X_labeled[rows], -np.ones(n)])
    h = problem.X_unlabeled @ omega - gamma
    side = np.where(h > 0, 1.0, -1.0)
    margins = side[:, None] * np.column_stack([problem.X_unlabeled, -np.ones(len(h))])
    active = np.zeros(len(h), dtype=bool)
    active[np.argsort(np.abs(h), kind="stable")[:_FIRST_ROWS]] = True
    cost = np.concatenate([np.zeros(p + 1), weights])
    limits = [(-bounds.s, bounds.s)] * p + [(None, None)] + [(0, None)] * n
    errors = hstack([csr_array(-signed), -eye_array(n)])
    for _ in range(_MAX_PASSES):
        kept = hstack([csr_array(-margins[active]), csr_array((int(active.sum()), n))])
        right_hand = np.concatenate([-np.ones(n), np.full(int(active.sum()), -_SAFE)])
        rows_below: Any = vstack([errors, kept], format="csr")  # linprog takes sparse matrices, its stubs do not
        seconds: Any = {"time_limit": float(np.clip(deadline - time.monotonic(), 0.01, 1e6))}
        solved = linprog(cost, A_ub=rows_below, b_ub=right_hand, bounds=limits, method="highs", options=seconds)
        if solved.status != 0 or solved.x is None:
            return None
        hyperplane = np.asarray(solved.x[: p + 1])
        violated = margins @ hyperplane < 1 - 1e-9
        if not (violated & ~active).any():
            return hyperplane
        active |= violated
    return None
