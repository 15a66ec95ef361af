"""A problem laid out for the kernels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.model.bounds import Bounds
from s2oct.model.problem import Problem
from s2oct.model.topology import Topology
from s2oct.search.grid import grid_quanta


@dataclass(frozen=True, eq=False)
class Instance:
    """Arrays of a (merged, scaled) problem as the kernels want them; cheap to send to another process.

    Attributes
    ----------
    XT : ndarray of shape (p, n + m)
        Features by rows, the labeled rows first.
    row_costs : ndarray of shape (m, n_classes)
        What the guide charges for putting an unlabeled row into a class, times its weight.
    quanta : ndarray of shape (p,)
        Steps that keep margins on gridded features; 0 elsewhere.
    floor : float
        A cost no tree can undercut: the search may stop there.
    """

    topology: Topology
    XT: FloatArray
    labels: IntArray
    weights: FloatArray
    totals: FloatArray
    row_costs: FloatArray
    C: float
    s: float
    quanta: FloatArray
    floor: float

    @classmethod
    def of(cls, problem: Problem, topology: Topology, bounds: Bounds, floor: float) -> Instance:
        """Lay out a problem in model units.

        Costs are divided by the guide's weight where that is above 1: the temperatures and prices of the annealing
        suit costs of about 1 a row.
        """
        guide = problem.guide
        unit = 1.0 if guide is None else max(guide.weight, 1.0)
        row_costs = np.zeros((problem.n_unlabeled, problem.n_classes))
        C = problem.C
        if guide is not None:
            row_costs = guide.weight / unit * guide.costs
            C += guide.weight
        return cls(
            topology=topology,
            XT=np.ascontiguousarray(problem.X.T),
            labels=problem.labels,
            weights=np.concatenate([problem.labeled_weights / unit, problem.unlabeled_weights]),
            totals=problem.totals.astype(float),
            row_costs=row_costs,
            C=C / unit,
            s=bounds.s,
            quanta=grid_quanta(problem.X, bounds.s),
            floor=floor / unit,
        )

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

    @cached_property
    def is_guided(self) -> bool:
        """Whether a guide charges for anything."""
        return bool(self.row_costs.any())

    @cached_property
    def spans(self) -> FloatArray:
        """Least and largest value of every feature, shape (2, p)."""
        return np.array([self.XT.min(axis=1), self.XT.max(axis=1)])

    def guided(self, row_costs: FloatArray) -> Instance:
        """The same with other charges of the guide."""
        return replace(self, row_costs=row_costs)

    def labeled_only(self) -> Instance:
        """The same without its unlabeled rows and totals."""
        n = self.n_labeled
        return replace(
            self,
            XT=np.ascontiguousarray(self.XT[:, :n]),
            weights=self.weights[:n],
            totals=np.zeros_like(self.totals),
            row_costs=self.row_costs[:0],
        )
