"""A prepared problem laid out for the kernels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from s2oct._core import Instance as CoreInstance
from s2oct.arrays import FloatArray, IntArray
from s2oct.model.prepared import Prepared
from s2oct.model.targets import Targets
from s2oct.model.topology import Topology
from s2oct.search.grid import grid_quanta

FAR = 1e30
"""What no tree costs: no tree was found yet, or there is no leaf of a class."""

STRETCH_WORK, USUAL_MOVES = 2e6, 60
"""Rows times moves of one stretch: some hundredths of a second. Fixed, so that results do not depend on speed. And the
moves of a visit, where a schedule does not say."""

VISIT_WORK, CELLS_PER_SECOND = 10, 3e8
"""What visiting a row at a node takes besides its features, in features; and rows times nodes times features that a
core works through in a second if it is shared with others."""


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
        What each row counts.
    targets : Targets
        Known totals of the unlabeled rows.
    charges : ndarray of shape (m, n_classes)
        What each class costs each unlabeled row; 0 unless a guide breaks ties, see `charged`.
    row_off : float
        Price of a row by which the totals are missed.
    s : float
        Bound on every coefficient.
    quanta : ndarray of shape (p,)
        Steps that keep margins on gridded features; 0 elsewhere.
    floor : float
        A lower bound on the cost: the search may stop there.
    most_features : int, optional
        Most features that a hyperplane may use; all if None.
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
            row_off=sum(term.row_off for term in prepared.terms),
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
        """Seconds that one step of the search takes, which cannot be left in between.

        It evaluates all rows at all nodes, and at every visit the errors of the labeled rows at all leaves.
        """
        topology = self.topology
        values = self.n_rows * topology.n_branches * (self.n_features + VISIT_WORK)
        errors = self.stretch(USUAL_MOVES) * self.n_labeled * topology.n_leaves * topology.depth
        return (values + errors) / CELLS_PER_SECOND

    def stretch(self, moves_per_visit: int) -> int:
        """Visits between two looks at the clock."""
        return max(1, int(STRETCH_WORK / (self.n_rows * moves_per_visit)))

    @cached_property
    def has_one_number(self) -> bool:
        """Whether the totals are one whole number of rows, as in the paper: two classes, one domain, no weights."""
        counted = self.sizes[self.n_labeled :]
        is_plain = self.targets.is_plain and self.targets.n_classes == 2
        return is_plain and bool((counted == np.round(counted)).all())

    @cached_property
    def is_guided(self) -> bool:
        """Whether a guide charges for anything."""
        return bool(self.charges.any())

    @cached_property
    def data(self) -> CoreInstance:
        """The same for the kernels."""
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
        """What another process needs; the kernels' form is made there."""
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
