"""The evidence model: what the classes of the rows cost, counted in rows.

A labeled row that ends in another class costs a fixed price. An unlabeled row costs what the guide charges for its
class. Rows off the totals cost more than anything else. There are no margins and no bound on coefficients, so the
cost has no scale: only the sides of the rows count.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.model.lower_bound import total_bound
from s2oct.model.merging import equal_rows, group_sums
from s2oct.model.problem import Problem
from s2oct.model.topology import Topology
from s2oct.model.tree import ObliqueTree

AUTO_GUIDE_WEIGHT = 1 / 3
"""What a sure unlabeled row counts against a labeled one, if the user does not say."""


@dataclass(frozen=True)
class EvidenceCost:
    """What a tree costs in the evidence model.

    Attributes
    ----------
    rows : float
        What labels and guide charge, in rows: 1 is an unlabeled row of which the guide is sure.
    off : float
        Rows by which the totals are missed.
    terms : int
        Features over all splits.
    """

    rows: float
    off: float
    terms: int


@dataclass(frozen=True, eq=False)
class Evidence:
    """What each class costs each row, labeled rows first.

    Attributes
    ----------
    X : ndarray of shape (n + m, p)
        The rows.
    cost : ndarray of shape (n + m, n_classes)
        What each class costs each row, multiplicities included.
    size : ndarray of shape (n + m,)
        How many rows of the totals each row stands for: 0 for labeled rows.
    totals : ndarray of shape (n_classes,)
        Known total of each class.
    topology : Topology
        The shape of the tree.
    least_off : float
        Equal rows end in one class, so no tree misses the totals by fewer rows.
    """

    X: FloatArray
    cost: FloatArray
    size: FloatArray
    totals: FloatArray
    topology: Topology
    least_off: float

    @classmethod
    def of(cls, problem: Problem, topology: Topology, guide_weight: float) -> Evidence:
        """Price the rows of a problem that has a guide.

        Half of what a class costs an unlabeled row is the lead of its likeliest class over this one; the other half is
        due for every class but the likeliest, so that doubtful rows count, too. A labeled row costs as many rows as
        ``guide_weight`` says.
        """
        n = problem.n_labeled
        cost = np.zeros((len(problem.X), problem.n_classes))
        cost[:n] = problem.labeled_multiplicity[:, None] / guide_weight
        cost[np.arange(n), problem.labels] = 0.0
        if problem.guide is not None:
            # Charges of merged rows are means, so even the likeliest class may have one.
            lead = problem.guide.charges - problem.guide.charges.min(axis=1, keepdims=True)
            cost[n:] = problem.unlabeled_multiplicity[:, None] * (0.5 * lead + 0.5 * (lead > 0))
        size = np.concatenate([np.zeros(n), problem.unlabeled_multiplicity])
        return cls(problem.X, cost, size, problem.totals.astype(float), topology, total_bound(problem))

    @property
    def n_rows(self) -> int:
        """Number of rows that differ."""
        return len(self.X)

    @property
    def weight(self) -> float:
        """What all rows would cost in their worst classes: the scale of the prices of terms."""
        return float(self.cost.max(axis=1).sum())

    def cost_of(self, tree: ObliqueTree) -> EvidenceCost:
        """What a tree costs, by its formula."""
        classes = tree.predict(self.X)
        counts = np.bincount(classes, weights=self.size, minlength=len(self.totals))
        return EvidenceCost(
            rows=float(self.cost[np.arange(self.n_rows), classes].sum()),
            off=0.5 * float(np.abs(counts - self.totals).sum()),
            terms=int(np.count_nonzero(tree.omega)),
        )

    @cached_property
    def bound(self) -> float:
        """No tree costs less in rows: equal rows end in one class."""
        _, groups = equal_rows(self.X)
        return float(np.min([group_sums(groups, column) for column in self.cost.T], axis=0).sum())


def reached_features(evidence: Evidence) -> IntArray:
    """Features that are not the same in all rows."""
    return np.flatnonzero(np.ptp(evidence.X, axis=0) > 0) if evidence.n_rows else np.arange(0)
