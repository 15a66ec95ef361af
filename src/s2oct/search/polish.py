"""Node LPs: with every row's side fixed, P2 splits into one linear program per branch node.

Each labeled row has its cheapest leaf, and each unlabeled row its side at every node. The best hyperplane of a node
minimises the branch errors of the labeled rows whose path passes it. It keeps the unlabeled rows at distance 1 on
their sides, and its coefficients within s. Only the unlabeled rows near the hyperplane bind. The others are added when
a solution violates them, and the linear program continues from its last basis.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.linear.program import LinearProgram
from s2oct.model.assignment import Assignment
from s2oct.model.prepared import Prepared
from s2oct.model.tree import ObliqueTree
from s2oct.stopping import Deadline

SAFE = 1 + 1e-8
"""Distance required of the unlabeled rows: a little more than 1, because of the LP's own tolerance."""

ENTRIES_PER_SECOND = 1e7
"""Labeled rows times columns of a program that can be built in a second: it has a column for each labeled row."""

_NEW_ROWS = 200
"""Unlabeled rows that enter the linear program at a time: first the nearest, then the most violated."""


def polish(prepared: Prepared, tree: ObliqueTree, deadline: Deadline) -> ObliqueTree:
    """The tree with every hyperplane that has errors refitted; all rows keep their sides."""
    assignment = Assignment.of(prepared.problem, tree)
    omega, gamma = tree.omega.copy(), tree.gamma.copy()
    for b in range(tree.topology.n_branches):
        if deadline.passed:
            break
        rows, sign = path_rows(assignment, b)
        if len(rows) * (len(rows) + tree.n_features) > ENTRIES_PER_SECOND * deadline.seconds_left:
            continue
        if (sign * assignment.values_labeled[rows, b] < 1 - 1e-9).any():
            fitted = _fit_node(prepared, omega[b], gamma[b], rows, sign, deadline)
            if fitted is not None:
                omega[b], gamma[b] = fitted[:-1], fitted[-1]
    return replace(tree, omega=omega, gamma=gamma)


def path_rows(assignment: Assignment, b: int) -> tuple[IntArray, FloatArray]:
    """The labeled rows whose way to their cheapest leaf passes node b, and 1 where it goes right, -1 where left."""
    leaf, topology = assignment.cheapest_leaf, assignment.tree.topology
    rows, step = np.nonzero(topology.path_nodes[leaf] == b)
    return rows, np.where(topology.path_sides[leaf[rows], step] == 1, 1.0, -1.0)


def _fit_node(
    prepared: Prepared, omega: FloatArray, gamma: float, rows: IntArray, sign: FloatArray, deadline: Deadline
) -> FloatArray | None:
    """(omega, gamma) of least labeled error with the unlabeled rows on their sides; None if the LP finds none.

    Where splits may use few features, the node keeps to those that it uses.
    """
    problem, s = prepared.problem, prepared.bounds.s
    largest = np.full(problem.n_features, s) if prepared.most_features is None else np.where(omega != 0, s, 0.0)
    p, n = problem.n_features, len(rows)
    h = problem.X_unlabeled @ omega - gamma
    side = np.where(h > 0, 1.0, -1.0)
    program = LinearProgram(
        cost=np.concatenate([np.zeros(p + 1), problem.labeled_size[rows]]),
        lower=np.concatenate([-largest, [-np.inf], np.zeros(n)]),
        upper=np.concatenate([largest, np.full(1 + n, np.inf)]),
    )
    signed = sign[:, None] * np.column_stack([problem.X_labeled[rows], -np.ones(n)])
    program.add_rows(np.hstack([signed, np.eye(n)]), np.ones(n))
    missing = np.argsort(np.abs(h), kind="stable")[:_NEW_ROWS]
    while True:
        margins = side[missing, None] * np.column_stack([problem.X_unlabeled[missing], -np.ones(len(missing))])
        program.add_rows(np.hstack([margins, np.zeros((len(missing), n))]), np.full(len(missing), SAFE))
        solution = program.solve(deadline)
        if solution is None:
            return None
        reached = side * (problem.X_unlabeled @ solution[:p] - solution[p])
        missing = np.flatnonzero(reached < 1 - 1e-9)
        missing = missing[np.argsort(reached[missing], kind="stable")[:_NEW_ROWS]]
        if not len(missing):
            return solution[: p + 1]
        if deadline.passed:
            return None
