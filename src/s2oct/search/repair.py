"""Margins of a tree that nearly keeps them: one linear program for each node where unlabeled rows are too near.

All other rows keep their sides. The rows that are too near are moved out of the margins if some hyperplane does that;
otherwise they pay for what is missing. Labeled rows pay their errors on the way to their cheapest leaf.
"""

from __future__ import annotations

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.search.evaluation import own_leaf_errors, values_at_nodes
from s2oct.search.instance import Instance
from s2oct.search.node_program import CLEAR, NodeProgram, path_rows
from s2oct.stopping import Deadline


def repaired(
    instance: Instance, omega: FloatArray, gamma: FloatArray, deadline: Deadline
) -> tuple[FloatArray, FloatArray]:
    """The hyperplanes, after a refit of each one that has unlabeled rows too near.

    What cannot be moved out of the margins on its side is then moved to the other side, where that leaves less.
    """
    omega, gamma = omega.copy(), gamma.copy()
    n, topology = instance.n_labeled, instance.topology
    X = instance.XT[:, n:]
    for side in (1.0, -1.0):
        H = values_at_nodes(instance, omega, gamma)
        leaf = own_leaf_errors(instance, H).argmin(axis=1)
        for b in np.flatnonzero((np.abs(H[:, n:]) < CLEAR).any(axis=1)):
            rows, sign = path_rows(topology, leaf, int(b))
            if deadline.passed:
                break
            fitted = _fit_node(instance, H[b, n:], side, rows, sign, deadline)
            if fitted is not None and _violation(fitted[:-1] @ X - fitted[-1]) < _violation(H[b, n:]):
                omega[b], gamma[b] = fitted[:-1], fitted[-1]
    return omega, gamma


def _violation(h: FloatArray) -> float:
    return float(np.maximum(1 - np.abs(h), 0).sum())


def _fit_node(
    instance: Instance, h: FloatArray, near_side: float, rows: IntArray, sign: FloatArray, deadline: Deadline
) -> FloatArray | None:
    """(omega, gamma) of least labeled error and violation; None if the program finds none in time.

    ``near_side`` is 1 if rows that are too near are to keep their sides, and -1 if they are to leave them.
    """
    too_near = np.abs(h) < CLEAR
    return NodeProgram(
        labeled=instance.XT[:, rows].T,
        sign=sign,
        prices=instance.sizes[rows],
        unlabeled=instance.XT[:, instance.n_labeled :].T,
        values=h,
        side=np.where(h > 0, 1.0, -1.0) * np.where(too_near, near_side, 1.0),
        may_pay=too_near,
        largest=np.full(instance.n_features, instance.s),
    ).solve(deadline)
