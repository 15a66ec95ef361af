"""Every hyperplane that has errors refitted by its linear program, see `node_program`.

With every row's side fixed, P2 splits into one linear program per branch node: each labeled row has its cheapest leaf,
and each unlabeled row its side at every node.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.model.assignment import Assignment
from s2oct.model.prepared import Prepared
from s2oct.model.tree import ObliqueTree
from s2oct.search.node_program import CLEAR, NodeProgram, path_rows
from s2oct.stopping import Deadline


def polish(prepared: Prepared, tree: ObliqueTree, deadline: Deadline) -> ObliqueTree:
    """The tree with every hyperplane that has errors refitted; all rows keep their sides."""
    assignment = Assignment.of(prepared.problem, tree)
    omega, gamma = tree.omega.copy(), tree.gamma.copy()
    for b in range(tree.topology.n_branches):
        if deadline.passed:
            break
        rows, sign = path_rows(tree.topology, assignment.cheapest_leaf, b)
        if (sign * assignment.values_labeled[rows, b] < CLEAR).any():
            fitted = _fit_node(prepared, omega[b], gamma[b], rows, sign, deadline)
            if fitted is not None:
                omega[b], gamma[b] = fitted[:-1], fitted[-1]
    return replace(tree, omega=omega, gamma=gamma)


def _fit_node(
    prepared: Prepared, omega: FloatArray, gamma: float, rows: IntArray, sign: FloatArray, deadline: Deadline
) -> FloatArray | None:
    """(omega, gamma) of least labeled error with the unlabeled rows on their sides; None if the program finds none.

    Where splits may use few features, the node keeps to those that it uses.
    """
    problem, s = prepared.problem, prepared.bounds.s
    h = problem.X_unlabeled @ omega - gamma
    return NodeProgram(
        labeled=problem.X_labeled[rows],
        sign=sign,
        prices=problem.labeled_size[rows],
        unlabeled=problem.X_unlabeled,
        values=h,
        side=np.where(h > 0, 1.0, -1.0),
        may_pay=np.zeros(len(h), dtype=bool),
        largest=np.full(len(omega), s) if prepared.most_features is None else np.where(omega != 0, s, 0.0),
    ).solve(deadline)
