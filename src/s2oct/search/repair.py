"""Margins of a tree that nearly keeps them: one linear program for each node where unlabeled rows are too near.

All other rows keep their sides. The rows that are too near are moved out of the margins if some hyperplane does that;
otherwise they pay for what is missing. Labeled rows pay their errors on the way to their cheapest leaf.
"""

from __future__ import annotations

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.linear.program import LinearProgram
from s2oct.model.assignment import leaf_errors
from s2oct.search.evaluation import values_at_nodes
from s2oct.search.instance import Instance
from s2oct.search.polish import ENTRIES_PER_SECOND, SAFE
from s2oct.stopping import Deadline

VIOLATION_PRICE = 10.0
"""Price of a unit of margin violation, where an error of 1 of a labeled row costs 1."""

_CLEAR = 1 - 1e-9
_NEW_ROWS = 200
"""Unlabeled rows that enter a linear program at a time: first the nearest, then the most violated."""


def repaired(
    instance: Instance, omega: FloatArray, gamma: FloatArray, deadline: Deadline
) -> tuple[FloatArray, FloatArray]:
    """The hyperplanes with every one refitted that unlabeled rows are too near to.

    What cannot be moved out of the margins on its side is then moved to the other side, where that leaves less.
    """
    omega, gamma = omega.copy(), gamma.copy()
    n, topology = instance.n_labeled, instance.topology
    own_class = topology.leaf_classes[None, :] == instance.labels[:, None]
    for side in (1.0, -1.0):
        H = values_at_nodes(instance, omega, gamma)
        leaf = np.where(own_class, leaf_errors(topology, H[:, :n].T), np.inf).argmin(axis=1)
        for b in np.flatnonzero((np.abs(H[:, n:]) < _CLEAR).any(axis=1)):
            rows, step = np.nonzero(topology.path_nodes[leaf] == b)
            sign = np.where(topology.path_sides[leaf[rows], step] == 1, 1.0, -1.0)
            is_large = len(rows) * (len(rows) + instance.n_features) > ENTRIES_PER_SECOND * deadline.seconds_left
            if is_large or deadline.passed:
                continue
            fitted = _fit_node(instance, H[b, n:], side, rows, sign, deadline)
            if fitted is not None and _violation(fitted @ _columns(instance)) < _violation(H[b, n:]):
                omega[b], gamma[b] = fitted[:-1], fitted[-1]
    return omega, gamma


def _columns(instance: Instance) -> FloatArray:
    """The unlabeled rows by features, and -1 for the offset."""
    X = instance.XT[:, instance.n_labeled :]
    return np.vstack([X, -np.ones(X.shape[1])])


def _violation(h: FloatArray) -> float:
    return float(np.maximum(1 - np.abs(h), 0).sum())


def _fit_node(
    instance: Instance, h: FloatArray, near_side: float, rows: IntArray, sign: FloatArray, deadline: Deadline
) -> FloatArray | None:
    """(omega, gamma) of least labeled error and violation; None if the program finds none in time.

    ``near_side`` is 1 if rows that are too near are to keep their sides, and -1 if they are to leave them.
    """
    too_near = np.abs(h) < _CLEAR
    p, n, k = instance.n_features, len(rows), int(too_near.sum())
    X = instance.XT[:, instance.n_labeled :].T
    side = np.where(h > 0, 1.0, -1.0) * np.where(too_near, near_side, 1.0)
    column = np.cumsum(too_near) - 1
    program = LinearProgram(
        cost=np.concatenate([np.zeros(p + 1), instance.sizes[rows], np.full(k, VIOLATION_PRICE)]),
        lower=np.concatenate([np.full(p, -instance.s), [-np.inf], np.zeros(n + k)]),
        upper=np.concatenate([np.full(p, instance.s), np.full(1 + n + k, np.inf)]),
    )
    signed = sign[:, None] * np.column_stack([instance.XT[:, rows].T, -np.ones(n)])
    program.add_rows(np.hstack([signed, np.eye(n), np.zeros((n, k))]), np.ones(n))
    missing = np.argsort(np.abs(h), kind="stable")[: _NEW_ROWS + k]
    while True:
        slack = np.zeros((len(missing), k))
        at = np.flatnonzero(too_near[missing])
        slack[at, column[missing[at]]] = 1.0
        margins = side[missing, None] * np.column_stack([X[missing], -np.ones(len(missing))])
        program.add_rows(np.hstack([margins, np.zeros((len(missing), n)), slack]), np.full(len(missing), SAFE))
        solution = program.solve(deadline)
        if solution is None or deadline.passed:
            return None
        reached = side * (X @ solution[:p] - solution[p])
        missing = np.flatnonzero((reached < 1 - 1e-9) & ~too_near)
        missing = missing[np.argsort(reached[missing], kind="stable")[:_NEW_ROWS]]
        if not len(missing):
            return solution[: p + 1]
