"""A prepared problem laid out for the search and its kernels, and the cost of a tree on it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from s2oct._core import Instance as CoreInstance
from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.p2.costs import leaf_errors, sum_of_errors
from s2oct.p2.prepared import Prepared
from s2oct.problem.totals import Targets
from s2oct.trees.tree import ObliqueTree, Topology

Hyperplanes = tuple[FloatArray, FloatArray]
"""Normals omega (n_branches, p) and offsets gamma (n_branches,) of a tree."""

FAR = 1e30
"""Higher than any cost: no tree was found yet, or a class has no leaf."""

_CLOSE = 1e-9
"""A smaller distance from the floor is a rounding error."""

USUAL_MOVES = 60
"""Default number of moves per visit."""


@dataclass(frozen=True)
class PaceParams:
    """How much of the search runs between two looks at the clock, and how long it takes.

    Attributes
    ----------
    stretch_work : float
        Rows times moves of one stretch, which takes some hundredths of a second and is fixed so that results do not
        depend on speed.
    node_work : int
        Work per row and node besides the features, in features.
    cells_per_second : float
        Rows times nodes times features that a shared core processes in a second.
    """

    stretch_work: float = 2e6
    node_work: int = 10
    cells_per_second: float = 3e8


PACE = PaceParams()


@dataclass(frozen=True, eq=False)
class Instance:
    """Arrays of a prepared problem as the search needs them; cheap to send to another process.

    Attributes
    ----------
    XT : ndarray of shape (p, n + m)
        Features by rows, the labeled rows first.
    labels : ndarray of shape (n,)
        Class of each labeled row.
    sizes : ndarray of shape (n + m,)
        Size of each row.
    targets : Targets
        Known totals of the unlabeled rows.
    charges : ndarray of shape (m, n_classes)
        Price of each class for each unlabeled row; 0 unless a guide breaks ties, see `charged`.
    row_off : float
        Price of a row off the totals.
    s : float
        Bound on every coefficient.
    quanta : ndarray of shape (p,)
        Steps that keep margins on gridded features; 0 elsewhere.
    floor : float
        A lower bound on the cost, at which the search may stop.
    most_features : int, optional
        Maximum number of features per hyperplane; all if None.
    """

    topology: Topology
    XT: FloatArray
    labels: IntArray
    sizes: FloatArray
    targets: Targets
    charges: FloatArray
    row_off: float
    s: float
    quanta: FloatArray
    floor: float
    most_features: int | None = None

    @classmethod
    def of(cls, prepared: Prepared, floor: float) -> Instance:
        """Lay out a problem in model units; a guide charges nothing yet."""
        problem = prepared.problem
        return cls(
            topology=prepared.topology,
            XT=np.ascontiguousarray(problem.X.T),
            labels=problem.labels,
            sizes=np.concatenate([problem.labeled_size, problem.unlabeled_size]),
            targets=problem.targets,
            charges=np.zeros((problem.n_unlabeled, problem.n_classes)),
            row_off=prepared.spec.C,
            s=prepared.bounds.s,
            quanta=grid_quanta(problem.X, prepared.bounds.s),
            floor=floor,
            most_features=prepared.most_features,
        )

    @cached_property
    def totals(self) -> FloatArray:
        """Known total of each class over the whole table."""
        return self.targets.class_totals()

    @property
    def n_labeled(self) -> int:
        """Number of labeled rows."""
        return len(self.labels)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.XT.shape[1])

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.XT.shape[0])

    @property
    def step_seconds(self) -> float:
        """Seconds that one step of the search takes, which cannot be interrupted.

        It evaluates all rows at all nodes, and at every visit the errors of the labeled rows at all leaves.
        """
        topology = self.topology
        values = self.n_rows * topology.n_branches * (self.n_features + PACE.node_work)
        errors = self.stretch(USUAL_MOVES) * self.n_labeled * topology.n_leaves * topology.depth
        return (values + errors) / PACE.cells_per_second

    def stretch(self, moves_per_visit: int) -> int:
        """Visits between two looks at the clock."""
        return max(1, int(PACE.stretch_work / (self.n_rows * moves_per_visit)))

    @cached_property
    def has_one_number(self) -> bool:
        """Whether one whole number describes the totals, as in the paper: two classes, one domain, no weights."""
        counted = self.sizes[self.n_labeled :]
        is_plain = self.targets.is_plain and self.targets.n_classes == 2
        return is_plain and bool((counted == np.round(counted)).all())

    @cached_property
    def gridded(self) -> float:
        """Share of the features on a grid."""
        return float((self.quanta > 0).mean())

    @cached_property
    def is_guided(self) -> bool:
        """Whether a guide charges for anything."""
        return bool(self.charges.any())

    def is_at_floor(self, cost: float) -> bool:
        """Whether a cost reaches the floor."""
        return cost <= self.floor + _CLOSE

    @cached_property
    def data(self) -> CoreInstance:
        """The instance in the form that the kernels use."""
        first = self.targets.first_cells
        return CoreInstance(
            XT=self.XT,
            quanta=self.quanta,
            s=self.s,
            most_features=self.n_features if self.most_features is None else self.most_features,
            sizes=self.sizes,
            # No labeled row is counted in a cell.
            first=np.hstack([np.zeros((len(first), self.n_labeled), dtype=np.int64), first]),
            bounds=np.array([self.targets.low, self.targets.high]),
            n_classes=self.targets.n_classes,
            labels=self.labels,
            charges=self.charges,
            row_off=self.row_off,
            leaf_classes=self.topology.leaf_classes,
        )

    def __getstate__(self) -> dict[str, Any]:
        """All fields; another process creates the kernels' form itself."""
        return {name: value for name, value in self.__dict__.items() if name != "data"}

    def charged(self, charges: FloatArray) -> Instance:
        """The same instance with other charges of the guide."""
        return replace(self, charges=charges)

    def with_leaf_classes(self, classes: tuple[int, ...]) -> Instance:
        """The same instance with other classes of the leaves."""
        return replace(self, topology=replace(self.topology, classes=classes))

    def labeled_only(self) -> Instance:
        """The same instance without its unlabeled rows and totals."""
        n = self.n_labeled
        return replace(
            self,
            XT=np.ascontiguousarray(self.XT[:, :n]),
            sizes=self.sizes[:n],
            targets=Targets.exact(np.zeros(self.targets.n_classes), 0),
            charges=self.charges[:0],
        )


SAMPLE = 500
"""Number of values of a feature that are checked first: they rule out most features without a grid."""

_RELATIVE_TOLERANCE = 1e-7


def grid_quanta(X: FloatArray, s: float) -> FloatArray:
    """2 / g_j for every feature on a grid wide enough for coefficients up to s, and 0 for the others.

    With coefficients that are multiples of these, margins hold by construction.
    """
    return np.array([0.0 if _is_narrow(column[:SAMPLE], s) else _quantum(np.unique(column), s) for column in X.T])


def _is_narrow(values: FloatArray, s: float) -> bool:
    """Whether two of these values are too near for a grid: sorting all values of a feature would take long."""
    steps = np.diff(np.unique(values))
    return bool(len(steps) and steps.min() * s < 2 * (1 - _RELATIVE_TOLERANCE))


def _quantum(values: FloatArray, s: float) -> float:
    if len(values) < 2:
        return 0.0
    steps = np.unique(np.diff(values))
    tolerance = _RELATIVE_TOLERANCE * float(values[-1] - values[0])
    spacing = 0.0
    for step in steps.tolist():
        spacing = _common_divisor(step, spacing, tolerance)
        if spacing * s < 2 * (1 - _RELATIVE_TOLERANCE):
            return 0.0
    # Averaging over the whole range removes the rounding of single steps.
    n_steps = np.round((values[-1] - values[0]) / spacing)
    return float(2 * n_steps / (values[-1] - values[0]))


def _common_divisor(a: float, b: float, tolerance: float) -> float:
    """Euclid's algorithm on measured numbers; remainders within the tolerance of 0 or of the divisor are 0."""
    while b > tolerance:
        remainder = a % b
        if b - remainder <= tolerance:
            remainder = 0.0
        a, b = b, remainder
    return a


def to_grid(instance: Instance, omega: FloatArray, gamma: float, *, lengthen: bool = True) -> tuple[FloatArray, float]:
    """The nearest hyperplane with every row at an odd distance; lengthened first, so that rounding changes little."""
    quanta = instance.quanta
    largest = float(np.abs(omega).max())
    if largest == 0.0:
        return omega, 1.0 if gamma >= 0 else -1.0
    length = instance.s / largest if lengthen else 1.0
    on_grid = quanta > 0
    steps = np.zeros_like(omega)
    steps[on_grid] = np.round(np.abs(omega[on_grid]) * length / quanta[on_grid])
    steps[on_grid] = np.minimum(steps[on_grid], np.floor(instance.s * (1 + 1e-9) / quanta[on_grid]))
    rounded = np.sign(omega) * steps * quanta
    value = float(rounded @ instance.XT[:, 0])
    odd = 2 * np.round((value - gamma * length - 1) / 2) + 1
    return rounded, value - odd


def values_at_nodes(instance: Instance, omega: FloatArray, gamma: FloatArray) -> FloatArray:
    """omega_b . x - gamma_b of all rows at all nodes, shape (n_branches, n + m)."""
    H = omega @ instance.XT
    H -= gamma[:, None]
    return np.asarray(H)


def own_leaf_errors(instance: Instance, H: FloatArray) -> FloatArray:
    """Error of each labeled row on the path to each leaf (n, n_leaves); infinite where a leaf has another class."""
    topology = instance.topology
    own_class = topology.leaf_classes[None, :] == instance.labels[:, None]
    return np.where(own_class, leaf_errors(topology, H[:, : instance.n_labeled].T), np.inf)


def tree_cost(instance: Instance, H: FloatArray) -> float:
    """Labeled errors, the price of rows off the totals, and the guide's charges; ``H`` are the `values_at_nodes`."""
    n = instance.n_labeled
    labeled = sum_of_errors(instance.sizes[:n], own_leaf_errors(instance, H).min(axis=1)) if n else 0.0
    classes = ends(instance.topology.leaf_classes, H[:, n:] > 0)
    sizes = instance.sizes[n:]
    rows_off = instance.targets.rows_off(classes, sizes)
    return labeled + instance.row_off * rows_off + float(sizes @ instance.charges[np.arange(len(classes)), classes])


def ends(leaf_classes: IntArray, right: BoolArray, node: int = 1) -> IntArray:
    """The class that each row gets if it starts at a node; ``right`` (n_branches, rows) has its sides."""
    n_leaves, row = len(leaf_classes), np.arange(right.shape[1])
    at = np.full(len(row), node)
    while node < n_leaves:
        at = 2 * at + right[at - 1, row]
        node *= 2
    return np.asarray(leaf_classes[at - n_leaves])


def reaches(right: BoolArray, node: int) -> BoolArray:
    """Whether each row reaches a node; ``right`` (n_branches, rows) has the sides of the rows."""
    there = np.ones(right.shape[1], dtype=bool)
    while node > 1:
        there &= right[node // 2 - 1] == bool(node % 2)
        node //= 2
    return there


def cost_of_tree(instance: Instance, tree: ObliqueTree) -> float:
    """The cost of a tree with the classes of its own leaves, without its margin violation."""
    if instance.targets.n_classes > 2:
        instance = instance.with_leaf_classes(tuple(int(k) for k in tree.leaf_classes))
    return tree_cost(instance, values_at_nodes(instance, tree.omega, tree.gamma))


def margin_violation(instance: Instance, H: FloatArray) -> float:
    """Missing distance of unlabeled rows from hyperplanes, summed over rows and nodes."""
    return float(np.maximum(1 - np.abs(H[:, instance.n_labeled :]), 0).sum())


def lengthen(planes: Hyperplanes, s: float) -> Hyperplanes:
    """Scale every hyperplane up to the bound on its coefficients: rows keep their sides and gain distance."""
    omega, gamma = planes
    largest = np.abs(omega).max(axis=1)
    splits = largest > 0
    factor = np.where(splits, s / np.where(splits, largest, 1.0), 1.0)
    return omega * factor[:, None], gamma * factor
