"""The evidence model: what the classes of the rows cost, counted in rows.

A labeled row that ends in another class costs a fixed price. An unlabeled row costs what the guide charges for its
class. Rows off the totals cost more than anything else. There are no margins and no bound on coefficients, so the
cost has no scale: only the sides of the rows count.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.model.problem import Problem, equal_rows, group_sums
from s2oct.model.proof import DECIDED_TOLERANCE, total_bound
from s2oct.model.targets import NEARLY_MET, Targets
from s2oct.model.topology import Topology
from s2oct.model.tree import ObliqueTree

AUTO_GUIDE_WEIGHT = 0.25
"""What a sure unlabeled row counts against a labeled one, if the user does not say."""


ROW_OFF = 1000.0
"""Price of a row off the totals of the whole table: meeting them is the rule, whatever it costs in evidence."""

ROW_OFF_FRACTION = 1e6
"""The same where totals can be missed by a fraction of a row, because rows have weights or bounds are no whole numbers:
a hundredth of a row off must still cost more than the evidence."""

ROW_OFF_DOMAIN = 4.0
"""Price of a row off the totals of several domains: that of a contradicted label, as the user weighs it if he does not
say. A tree that does not see the domains cannot meet all of them. With a higher price it gives up labels and guide for
few rows: such trees were worse on held-back labels."""

AUTO_MOST, AUTO_TERM_SHARE = 4, 0.002
"""Features of a split, and the share of all rows that a feature in a split must save, if the user does not say."""


@dataclass(frozen=True)
class Sparsity:
    """How sparse the splits of a tree should be.

    Attributes
    ----------
    most : int or None
        Features of a split at most; None for any number.
    term_price : float or None
        Rows that a feature in a split must save; None for `AUTO_TERM_SHARE` of all rows.
    may_exceed : bool
        Whether a split may have more features than ``most`` if the totals cannot be met otherwise.
    """

    most: int | None = AUTO_MOST
    term_price: float | None = None
    may_exceed: bool = True

    def most_of(self, n_features: int) -> int:
        """Features of a split at most, where there are so many."""
        return max(n_features if self.most is None else min(self.most, n_features), 1)

    def price_of(self, n_rows: float) -> float:
        """Rows that a feature in a split must save, where there are so many rows."""
        return AUTO_TERM_SHARE * n_rows if self.term_price is None else self.term_price


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
        What each row counts towards the totals: 0 for labeled rows.
    targets : Targets
        Known totals of the unlabeled rows.
    topology : Topology
        The shape of the tree.
    least_off : float
        Equal rows end in one class, so no tree misses the totals by fewer rows.
    n_given : float
        Rows, each counted with its size.
    """

    X: FloatArray
    cost: FloatArray
    size: FloatArray
    targets: Targets
    topology: Topology
    least_off: float
    n_given: float

    @classmethod
    def of(cls, problem: Problem, topology: Topology, guide_weight: float) -> Evidence:
        """Price the rows of a problem that has a guide.

        Half of what a class costs an unlabeled row is the lead of its likeliest class over this one; the other half is
        due for every class but the likeliest, so that doubtful rows count, too. A labeled row costs as many rows as
        ``guide_weight`` says.
        """
        n = problem.n_labeled
        cost = np.zeros((len(problem.X), problem.n_classes))
        cost[:n] = problem.labeled_size[:, None] / guide_weight
        cost[np.arange(n), problem.labels] = 0.0
        if problem.guide is not None:
            # Charges of merged rows are means, so even the likeliest class may have one.
            lead = problem.guide.charges - problem.guide.charges.min(axis=1, keepdims=True)
            cost[n:] = problem.unlabeled_size[:, None] * (0.5 * lead + 0.5 * (lead > 0))
        size = np.concatenate([np.zeros(n), problem.unlabeled_size])
        n_given = float(problem.labeled_size.sum() + problem.unlabeled_size.sum())
        # Sums of weights seldom reach a total exactly: they count as met as near as one row allows.
        targets = problem.targets.widened(NEARLY_MET) if problem.is_weighted else problem.targets
        return cls(problem.X, cost, size, targets, topology, total_bound(problem), n_given)

    @cached_property
    def row_off(self) -> float:
        """Price of a row off the totals."""
        if not self.targets.has_one_domain:
            return ROW_OFF_DOMAIN
        are_whole = [bool((part == np.round(part)).all()) for part in (self.size, self.targets.low, self.targets.high)]
        return ROW_OFF if all(are_whole) else ROW_OFF_FRACTION

    @property
    def n_rows(self) -> int:
        """Number of rows that differ."""
        return len(self.X)

    @property
    def n_labeled(self) -> int:
        """Number of labeled rows that differ."""
        return len(self.X) - len(self.targets.margins[0].codes)

    def cost_of(self, tree: ObliqueTree) -> EvidenceCost:
        """What a tree costs, by its formula."""
        classes, n = tree.predict(self.X), self.n_labeled
        return EvidenceCost(
            rows=float(self.cost[np.arange(self.n_rows), classes].sum()),
            off=self.targets.rows_off(classes[n:], self.size[n:]),
            terms=int(np.count_nonzero(tree.omega)),
        )

    def is_least(self, cost: EvidenceCost) -> bool:
        """Whether no tree, with however many features, costs fewer rows or is nearer to the totals."""
        return cost.off <= self.least_off + DECIDED_TOLERANCE and cost.rows <= self.bound + DECIDED_TOLERANCE

    def is_as_good(self, cost: EvidenceCost, best: EvidenceCost) -> bool:
        """Whether a tree meets the totals as well as the best and has at most 1 % of the rows more against it."""
        return cost.off <= best.off + DECIDED_TOLERANCE and cost.rows <= best.rows + 0.01 * self.n_given

    @cached_property
    def bound(self) -> float:
        """No tree costs less in rows: equal rows end in one class."""
        _, groups = equal_rows(self.X)
        return float(np.min([group_sums(groups, column) for column in self.cost.T], axis=0).sum())
