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
from s2oct.trees.tree import ObliqueTree, Topology

SAFE, CLEAR = 1 + 1e-8, 1 - 1e-9
"""Distance required of the unlabeled rows, slightly more than 1 because of the program's own tolerance; and the
distance at which a row counts as clear."""

_TINY = 1e-9


@dataclass(frozen=True)
class NodeProgramParams:
    """Effort of the linear programs.

    Attributes
    ----------
    entries_per_second : float
        Rows times columns of a program that can be built in a second.
    most_entries : float
        Limit on rows times columns: some hundred megabytes. A program has a column for each labeled row and for each
        unlabeled row that may pay.
    margin_price : float
        Price of a unit of missing distance; a labeled error of 1 costs 1.
    new_rows : int
        Unlabeled rows that enter a program at a time: first the nearest, then the most violated.
    reweightings : int
        Number of programs in which the weights follow the coefficients of the one before, when features are dropped.
    sparse_work : float
        Limit on simplex steps times columns and rows of these programs for one tree: some tenths of a second.
    most_sparse_entries : float
        Limit on labeled rows times columns of these programs: a larger one takes too long.
    """

    entries_per_second: float = 1e7
    most_entries: float = 2e7
    margin_price: float = 10.0
    new_rows: int = 200
    reweightings: int = 4
    sparse_work: float = 2e7
    most_sparse_entries: float = 4e6


DEFAULTS = NodeProgramParams()


def path_rows(topology: Topology, leaf: IntArray, b: int) -> tuple[IntArray, FloatArray]:
    """The rows whose paths to their leaves pass node b, and 1 where a path goes right there, -1 where left."""
    rows, step = np.nonzero(topology.path_nodes[leaf] == b)
    return rows, np.where(topology.path_sides[leaf[rows], step] == 1, 1.0, -1.0)


def cheapest_hyperplane(
    labeled: tuple[FloatArray, FloatArray, FloatArray],
    unlabeled: tuple[FloatArray, FloatArray, FloatArray],
    largest: FloatArray,
    deadline: Deadline,
    *,
    may_pay: BoolArray | None = None,
    parameters: NodeProgramParams = DEFAULTS,
) -> tuple[FloatArray, float] | None:
    """The cheapest (omega, gamma) of a node; None if there is none, the time is over, or the program is too large.

    Parameters
    ----------
    labeled : tuple of ndarrays of shapes (n, p), (n,) and (n,)
        The labeled rows whose paths pass the node; 1 if a row should go right, -1 if left; and the price of an error
        of 1.
    unlabeled : tuple of ndarrays of shapes (m, p), (m,) and (m,)
        All unlabeled rows; their values at the present hyperplane; and 1 if a row must be on the right, -1 if on the
        left.
    largest : ndarray of shape (p,)
        Bounds on the coefficients.
    deadline : Deadline
        The end of the time.
    may_pay : ndarray of shape (m,), optional
        Whether an unlabeled row may be nearer than 1, at a price; none may by default.
    parameters : NodeProgramParams
        Effort of the linear programs.
    """
    (X_labeled, sign, prices), (X, values, side) = labeled, unlabeled
    if may_pay is None:
        may_pay = np.zeros(len(X), dtype=bool)
    p, n, k, new_rows = len(largest), len(sign), int(may_pay.sum()), parameters.new_rows
    n_entries = (n + k + new_rows) * (n + k + p)
    if n_entries > parameters.most_entries or not deadline.allows(n_entries / parameters.entries_per_second):
        return None
    # 1. The columns are omega, gamma, and the errors of the labeled rows and of the unlabeled rows that may pay.
    program = LinearProgram(
        cost=np.concatenate([np.zeros(p + 1), prices, np.full(k, parameters.margin_price)]),
        lower=np.concatenate([-largest, [-np.inf], np.zeros(n + k)]),
        upper=np.concatenate([largest, np.full(1 + n + k, np.inf)]),
    )
    signed = sign[:, None] * np.column_stack([X_labeled, -np.ones(n)])
    program.add_rows(np.hstack([signed, np.eye(n), np.zeros((n, k))]), np.ones(n))
    # 2. Require the margins of the nearest unlabeled rows, and of others while they are missing.
    missing = np.argsort(np.abs(values), kind="stable")[: new_rows + k]
    while True:
        pays = np.zeros((len(missing), k))
        at = np.flatnonzero(may_pay[missing])
        pays[at, np.cumsum(may_pay)[missing[at]] - 1] = 1.0
        margins = side[missing, None] * np.column_stack([X[missing], -np.ones(len(missing))])
        program.add_rows(np.hstack([margins, np.zeros((len(missing), n)), pays]), np.full(len(missing), SAFE))
        solution = program.solve(deadline)
        if solution is None:
            return None
        reached = side * (X @ solution[:p] - solution[p])
        missing = np.flatnonzero((reached < CLEAR) & ~may_pay)
        missing = missing[np.argsort(reached[missing], kind="stable")[:new_rows]]
        if not len(missing):
            return solution[:p], float(solution[p])
        if deadline.passed:
            return None


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
        fitted = cheapest_hyperplane(
            (problem.X_labeled[rows], sign, problem.labeled_size[rows]),
            (problem.X_unlabeled, h, np.where(h > 0, 1.0, -1.0)),
            np.where((omega[b] != 0) | (prepared.most_features is None), s, 0.0),
            deadline,
        )
        if fitted is not None:
            omega[b], gamma[b] = fitted
    return replace(tree, omega=omega, gamma=gamma)


def fewer_features(
    prepared: Prepared, tree: ObliqueTree, deadline: Deadline, parameters: NodeProgramParams = DEFAULTS
) -> ObliqueTree:
    """The tree with features dropped node by node, as long as no row changes sides and no node's errors increase."""
    assignment = Assignment.of(prepared.problem, tree)
    omega, gamma = tree.omega.copy(), tree.gamma.copy()
    work = parameters.sparse_work
    for b in range(tree.topology.n_branches):
        if np.count_nonzero(omega[b]) < 2 or deadline.passed:
            continue
        rows, sign = path_rows(tree.topology, assignment.cheapest_leaf, b)
        n_entries = len(rows) * (len(rows) + 2 * tree.n_features)
        if n_entries > parameters.most_sparse_entries or not deadline.allows(n_entries / parameters.entries_per_second):
            continue
        node = _SparseProgram(prepared, omega[b], gamma[b], rows, sign, parameters)
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

    def __init__(
        self,
        prepared: Prepared,
        omega: FloatArray,
        gamma: float,
        rows: IntArray,
        sign: FloatArray,
        parameters: NodeProgramParams,
    ) -> None:
        problem, s = prepared.problem, prepared.bounds.s
        self._X, self._p, self._n = problem.X_unlabeled, problem.n_features, len(rows)
        h = self._X @ omega - gamma
        self._side = np.where(h > 0, 1.0, -1.0)
        self._present, self._s, self._parameters = omega, s, parameters
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
        self._add_margins(np.argsort(np.abs(h), kind="stable")[: parameters.new_rows])
        self.work = 0.0

    def fewest(self, deadline: Deadline, work: float) -> FloatArray | None:
        """(omega, gamma) with the fewest features found; None if no program was solved in time."""
        size = np.abs(self._present) * self._spread
        best = None
        for _ in range(self._parameters.reweightings):
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
            self._add_margins(missing[np.argsort(reached[missing], kind="stable")[: self._parameters.new_rows]])
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
