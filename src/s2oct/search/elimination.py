"""Fewer features a split at the same cost: linear programs that drop the features of one node after the other.

Every row keeps its side, and the labeled rows whose path passes a node pay no more there than before. Under these
conditions the program of a node first minimises a weighted sum of its coefficients' sizes, several times: a small
coefficient gets a large weight, so that it becomes 0. Then the features that are left are dropped one by one where
some hyperplane without them still exists. The number of features is not proved least: sides could be changed, too.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.linear.program import LinearProgram
from s2oct.model.assignment import Assignment
from s2oct.model.prepared import Prepared
from s2oct.model.tree import ObliqueTree
from s2oct.search.node_program import ENTRIES_PER_SECOND, SAFE, path_rows
from s2oct.stopping import Deadline

REWEIGHTINGS = 4
"""How often the weights follow the coefficients."""

WORK = 2e7
"""Simplex steps times columns and rows of the programs of one tree: some tenths of a second."""

MOST_ENTRIES = 4e6
"""Labeled rows times columns of a program that is worth building: a larger one takes longer than it may."""

_NEW_ROWS = 200
"""Unlabeled rows that enter a program at a time: first the nearest, then the most violated."""

_TINY = 1e-9


def fewer_features(prepared: Prepared, tree: ObliqueTree, deadline: Deadline) -> ObliqueTree:
    """The tree with features dropped where no row changes sides and no node's errors rise."""
    assignment = Assignment.of(prepared.problem, tree)
    omega, gamma = tree.omega.copy(), tree.gamma.copy()
    work = WORK
    for b in range(tree.topology.n_branches):
        if np.count_nonzero(omega[b]) < 2 or deadline.passed:
            continue
        rows, sign = path_rows(tree.topology, assignment.cheapest_leaf, b)
        n_entries = len(rows) * (len(rows) + 2 * tree.n_features)
        if n_entries > MOST_ENTRIES or not deadline.allows(n_entries / ENTRIES_PER_SECOND):
            continue
        node = _NodeProgram(prepared, omega[b], gamma[b], rows, sign)
        found = node.fewest(deadline, work)
        work -= node.work
        if found is not None and np.count_nonzero(found[:-1]) < np.count_nonzero(omega[b]):
            omega[b], gamma[b] = found[:-1], found[-1]
    return replace(tree, omega=omega, gamma=gamma)


class _NodeProgram:
    """The hyperplanes of a node that keep every row on its side and cost no more.

    The columns are omega+, omega-, gamma and errors. ``rows`` are the labeled rows whose path passes the node, ``sign``
    is 1 where the path goes right.
    """

    def __init__(self, prepared: Prepared, omega: FloatArray, gamma: float, rows: IntArray, sign: FloatArray) -> None:
        problem, s = prepared.problem, prepared.bounds.s
        self._X, self._p, self._n = problem.X_unlabeled, problem.n_features, len(rows)
        h = self._X @ omega - gamma
        self._side = np.where(h > 0, 1.0, -1.0)
        self._present, self._s = omega, s
        self._spread = np.ptp(problem.X, axis=0)
        p, n = self._p, self._n
        may_use = np.where((omega != 0) | (prepared.most_features is None), s, 0.0) * (self._spread > 0)
        errors = np.maximum(1 - sign * (problem.X_labeled[rows] @ omega - gamma), 0.0)
        paid = float(problem.labeled_size[rows] @ errors)
        # Where nothing is paid there are no errors, rather than errors that add up to 0.
        largest_error = np.inf if paid > _TINY else 0.0
        self._program = LinearProgram(
            cost=np.zeros(2 * p + 1 + n),
            lower=np.concatenate([np.zeros(2 * p), [-np.inf], np.zeros(n)]),
            upper=np.concatenate([may_use, may_use, [np.inf], np.full(n, largest_error)]),
        )
        self._n_rows = 0
        self._add(sign[:, None] * self._hyperplane(problem.X_labeled[rows]), np.eye(n), 1.0)
        if paid > _TINY:
            self._add(np.zeros((1, 2 * p + 1)), -problem.labeled_size[rows][None, :], -paid)
        nearest = np.argsort(np.abs(h), kind="stable")[:_NEW_ROWS]
        self._add_margins(nearest)
        self.work = 0.0

    def fewest(self, deadline: Deadline, work: float) -> FloatArray | None:
        """(omega, gamma) with as few features as could be reached; None if no program was solved in time."""
        size = np.abs(self._present) * self._spread
        best = None
        for _ in range(REWEIGHTINGS):
            found = self._shortest(1.0 / (size + 1e-3 * max(float(size.max()), _TINY)), deadline, work)
            if found is None:
                return best
            best, size = found, np.abs(found[:-1]) * self._spread
        assert best is not None
        self._use(np.flatnonzero(best[:-1] == 0), 0.0)
        for j in np.argsort(size, kind="stable"):
            if best[j] == 0:
                continue
            self._use(np.array([j]), 0.0)
            found = self._shortest(np.ones(self._p), deadline, work)
            if found is None:
                if self.work > work or deadline.passed:
                    return best
                self._use(np.array([j]), self._s)
            else:
                best = found
                self._use(np.flatnonzero(best[:-1] == 0), 0.0)
        return best

    def _use(self, features: IntArray, largest: float) -> None:
        self._program.set_upper(np.concatenate([features, self._p + features]), largest)

    def _shortest(self, weights: FloatArray, deadline: Deadline, work: float) -> FloatArray | None:
        """(omega, gamma) of least weighted size, tiny coefficients set to 0; None if there is none or time is up."""
        p = self._p
        price = weights * self._spread / float((weights * self._spread).max())
        self._program.set_costs(np.concatenate([price, price, np.zeros(1 + self._n)]))
        while self.work <= work:
            solution = self._program.solve(deadline)
            self.work += (1 + self._program.iterations) * float(self._n_rows + 2 * p + self._n)
            if solution is None:
                return None
            omega, gamma = solution[:p] - solution[p : 2 * p], float(solution[2 * p])
            omega[np.abs(omega) * self._spread < _TINY] = 0.0
            reached = self._side * (self._X @ omega - gamma)
            missing = np.flatnonzero(reached < 1 - _TINY)
            if not len(missing):
                return np.append(omega, gamma)
            if deadline.passed:
                return None
            self._add_margins(missing[np.argsort(reached[missing], kind="stable")[:_NEW_ROWS]])
        return None

    def _add_margins(self, rows: IntArray) -> None:
        margins = self._side[rows, None] * self._hyperplane(self._X[rows])
        self._add(margins, np.zeros((len(rows), self._n)), SAFE)

    def _add(self, hyperplane: FloatArray, errors: FloatArray, least: float) -> None:
        if len(hyperplane):
            self._program.add_rows(np.hstack([hyperplane, errors]), np.full(len(hyperplane), least))
            self._n_rows += len(hyperplane)

    @staticmethod
    def _hyperplane(X: FloatArray) -> FloatArray:
        return np.hstack([X, -X, -np.ones((len(X), 1))])
