"""Linear programs for one branch node while every row keeps its side: the best hyperplane, and one with fewer features.

Unlabeled rows enter a program when their margins are violated, and each solve starts where the last one ended.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.p2.costs import Assignment
from s2oct.p2.prepared import Prepared
from s2oct.solvers.program import LinearProgram
from s2oct.stopping import Deadline
from s2oct.trees.topology import Topology
from s2oct.trees.tree import ObliqueTree

SAFE, CLEAR = 1 + 1e-8, 1 - 1e-9
"""Distance required of the unlabeled rows, slightly more than 1 because of the program's own tolerance; and the
distance at which a row counts as clear."""

ENTRIES_PER_SECOND, MOST_ENTRIES = 1e7, 2e7
"""Rows times columns of a program that can be built in a second, and limit on them: some hundred megabytes. A program
has a column for each labeled row and for each unlabeled row that may pay."""

MARGIN_PRICE = 10.0
"""Price of a unit of missing distance; a labeled error of 1 costs 1."""

_NEW_ROWS = 200
"""Unlabeled rows that enter the program at a time: first the nearest, then the most violated."""


def path_rows(topology: Topology, leaf: IntArray, b: int) -> tuple[IntArray, FloatArray]:
    """The rows whose paths to their leaves pass node b, and 1 where a path goes right there, -1 where left."""
    rows, step = np.nonzero(topology.path_nodes[leaf] == b)
    return rows, np.where(topology.path_sides[leaf[rows], step] == 1, 1.0, -1.0)


@dataclass(frozen=True, eq=False)
class NodeProgram:
    """Rows at a node, their sides and the bounds on the coefficients.

    Attributes
    ----------
    labeled : ndarray of shape (n, p)
        The labeled rows whose paths pass the node.
    sign : ndarray of shape (n,)
        1 if a labeled row should go right, -1 if left.
    prices : ndarray of shape (n,)
        Price of an error of 1.
    unlabeled : ndarray of shape (m, p)
        All unlabeled rows.
    values : ndarray of shape (m,)
        Their values at the present hyperplane.
    side : ndarray of shape (m,)
        1 if an unlabeled row must be on the right, -1 if on the left.
    may_pay : ndarray of shape (m,)
        Whether an unlabeled row may be nearer than 1, at `MARGIN_PRICE`.
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
        """The cheapest (omega, gamma); None if there is none, the time is over, or the program is too large."""
        p, n, k = len(self.largest), len(self.sign), int(self.may_pay.sum())
        n_entries = (n + k + _NEW_ROWS) * (n + k + p)
        if n_entries > MOST_ENTRIES or not deadline.allows(n_entries / ENTRIES_PER_SECOND):
            return None
        program = LinearProgram(
            cost=np.concatenate([np.zeros(p + 1), self.prices, np.full(k, MARGIN_PRICE)]),
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


def polish(prepared: Prepared, tree: ObliqueTree, deadline: Deadline) -> ObliqueTree:
    """The tree with every hyperplane that has errors refitted; all rows keep their sides.

    If the number of features is limited, a node keeps to the features that it uses.
    """
    problem, s = prepared.problem, prepared.bounds.s
    assignment = Assignment.of(problem, tree)
    omega, gamma = tree.omega.copy(), tree.gamma.copy()
    for b in range(tree.topology.n_branches):
        if deadline.passed:
            break
        rows, sign = path_rows(tree.topology, assignment.cheapest_leaf, b)
        if not (sign * assignment.values_labeled[rows, b] < CLEAR).any():
            continue
        h = problem.X_unlabeled @ omega[b] - gamma[b]
        fitted = NodeProgram(
            labeled=problem.X_labeled[rows],
            sign=sign,
            prices=problem.labeled_size[rows],
            unlabeled=problem.X_unlabeled,
            values=h,
            side=np.where(h > 0, 1.0, -1.0),
            may_pay=np.zeros(len(h), dtype=bool),
            largest=np.where((omega[b] != 0) | (prepared.most_features is None), s, 0.0),
        ).solve(deadline)
        if fitted is not None:
            omega[b], gamma[b] = fitted[:-1], fitted[-1]
    return replace(tree, omega=omega, gamma=gamma)


REWEIGHTINGS = 4
"""Number of programs in which the weights follow the coefficients of the one before."""

WORK = 2e7
"""Limit on simplex steps times columns and rows of the programs of one tree: some tenths of a second."""

MOST_KEPT_ENTRIES = 4e6
"""Limit on labeled rows times columns: a larger program takes too long."""

_TINY = 1e-9


def fewer_features(prepared: Prepared, tree: ObliqueTree, deadline: Deadline) -> ObliqueTree:
    """The tree with features dropped node by node, as long as no row changes sides and no node's errors increase."""
    assignment = Assignment.of(prepared.problem, tree)
    omega, gamma = tree.omega.copy(), tree.gamma.copy()
    work = WORK
    for b in range(tree.topology.n_branches):
        if np.count_nonzero(omega[b]) < 2 or deadline.passed:
            continue
        rows, sign = path_rows(tree.topology, assignment.cheapest_leaf, b)
        n_entries = len(rows) * (len(rows) + 2 * tree.n_features)
        if n_entries > MOST_KEPT_ENTRIES or not deadline.allows(n_entries / ENTRIES_PER_SECOND):
            continue
        node = _SparseProgram(prepared, omega[b], gamma[b], rows, sign)
        found = node.fewest(deadline, work)
        work -= node.work
        if found is not None and np.count_nonzero(found[:-1]) < np.count_nonzero(omega[b]):
            omega[b], gamma[b] = found[:-1], found[-1]
    return replace(tree, omega=omega, gamma=gamma)


class _SparseProgram:
    """The hyperplanes of a node that keep every row on its side and do not cost more.

    The columns are omega+, omega-, gamma and errors. ``rows`` are the labeled rows whose paths pass the node, ``sign``
    is 1 where a path goes right.
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
        # If nothing is paid, every error is fixed at 0, rather than their sum.
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
        """(omega, gamma) with the fewest features found; None if no program was solved in time."""
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
        """(omega, gamma) of minimum weighted size, with tiny coefficients set to 0; None if there is none in time."""
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
