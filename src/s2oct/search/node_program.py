"""The linear program of one branch node: its best hyperplane where every row has its side.

It minimises the errors of the labeled rows, keeps the unlabeled rows at distance 1 on their sides, and the coefficients
within their bounds. Only the unlabeled rows near the hyperplane bind. The others are added when a solution violates
them, and the program continues from its last basis.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.linear.program import LinearProgram
from s2oct.model.topology import Topology
from s2oct.stopping import Deadline

SAFE, CLEAR = 1 + 1e-8, 1 - 1e-9
"""Distance required of the unlabeled rows: a little more than 1, because of the program's own tolerance. And the
distance from which on a row counts as clear."""

ENTRIES_PER_SECOND, MOST_ENTRIES = 1e7, 2e7
"""Rows times columns of a program that can be built in a second, and that are built at all: some hundred megabytes. It
has a column for each labeled row and for each unlabeled one that may pay."""

MISSING_PRICE = 10.0
"""Price of a unit of distance that is missing, where an error of 1 of a labeled row costs 1."""

_NEW_ROWS = 200
"""Unlabeled rows that enter the program at a time: first the nearest, then the most violated."""


def path_rows(topology: Topology, leaf: IntArray, b: int) -> tuple[IntArray, FloatArray]:
    """The rows whose way to their leaves passes node b, and 1 where it goes right, -1 where left."""
    rows, step = np.nonzero(topology.path_nodes[leaf] == b)
    return rows, np.where(topology.path_sides[leaf[rows], step] == 1, 1.0, -1.0)


@dataclass(frozen=True, eq=False)
class NodeProgram:
    """Rows at a node, their sides and the bounds on the coefficients.

    Attributes
    ----------
    labeled : ndarray of shape (n, p)
        The labeled rows whose way passes the node.
    sign : ndarray of shape (n,)
        1 if a labeled row is to go right, -1 if left.
    prices : ndarray of shape (n,)
        What an error of 1 costs.
    unlabeled : ndarray of shape (m, p)
        All unlabeled rows.
    values : ndarray of shape (m,)
        Their values at the present hyperplane.
    side : ndarray of shape (m,)
        1 if an unlabeled row is to be on the right, -1 if on the left.
    may_pay : ndarray of shape (m,)
        Whether an unlabeled row may be nearer than 1, at `MISSING_PRICE`.
    largest : ndarray of shape (p,)
        Bounds on the coefficients.
    """

    labeled: FloatArray
    sign: FloatArray
    prices: FloatArray
    unlabeled: FloatArray
    values: FloatArray
    side: FloatArray
    may_pay: BoolArray
    largest: FloatArray

    def solve(self, deadline: Deadline) -> FloatArray | None:
        """(omega, gamma) of least cost; None if there is none, none was found in time, or the program is too large."""
        p, n, k = len(self.largest), len(self.sign), int(self.may_pay.sum())
        n_entries = (n + k + _NEW_ROWS) * (n + k + p)
        if n_entries > MOST_ENTRIES or not deadline.allows(n_entries / ENTRIES_PER_SECOND):
            return None
        program = LinearProgram(
            cost=np.concatenate([np.zeros(p + 1), self.prices, np.full(k, MISSING_PRICE)]),
            lower=np.concatenate([-self.largest, [-np.inf], np.zeros(n + k)]),
            upper=np.concatenate([self.largest, np.full(1 + n + k, np.inf)]),
        )
        signed = self.sign[:, None] * np.column_stack([self.labeled, -np.ones(n)])
        program.add_rows(np.hstack([signed, np.eye(n), np.zeros((n, k))]), np.ones(n))
        missing = np.argsort(np.abs(self.values), kind="stable")[: _NEW_ROWS + k]
        while True:
            program.add_rows(self._margins(missing, n, k), np.full(len(missing), SAFE))
            solution = program.solve(deadline)
            if solution is None:
                return None
            reached = self.side * (self.unlabeled @ solution[:p] - solution[p])
            missing = np.flatnonzero((reached < CLEAR) & ~self.may_pay)
            missing = missing[np.argsort(reached[missing], kind="stable")[:_NEW_ROWS]]
            if not len(missing):
                return solution[: p + 1]
            if deadline.passed:
                return None

    def _margins(self, rows: IntArray, n: int, k: int) -> FloatArray:
        """Rows of the program that keep some unlabeled rows on their sides, or let them pay."""
        pays = np.zeros((len(rows), k))
        at = np.flatnonzero(self.may_pay[rows])
        pays[at, np.cumsum(self.may_pay)[rows[at]] - 1] = 1.0
        margins = self.side[rows, None] * np.column_stack([self.unlabeled[rows], -np.ones(len(rows))])
        return np.hstack([margins, np.zeros((len(rows), n)), pays])
