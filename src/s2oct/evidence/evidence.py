"""The evidence model: the cost of each class for each row, counted in rows.

A misclassified labeled row has a fixed cost. An unlabeled row costs what the guide charges for its class. Rows off the
totals and terms of splits have prices. There are no margins and no bound on coefficients, so the cost does not depend
on scale: only the sides of the rows count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.p2.proof import total_bound
from s2oct.problem.problem import Problem, equal_rows, group_sums
from s2oct.problem.totals import NEARLY_MET, Targets
from s2oct.trees.features import Feature
from s2oct.trees.rules import n_terms, pruned
from s2oct.trees.tree import ObliqueTree, Topology

AUTO_GUIDE_WEIGHT = 0.5
"""Default weight of an unlabeled row about which the guide is certain, relative to a labeled row."""


AUTO_TOTAL_PRICE = 1.5
"""Price of a row off the totals, in rows. A higher price makes trees more complex just to gain the last few rows."""

ANY_PRICE, ANY_PRICE_FRACTION = 1000.0, 1e6
"""The same for totals that must be met at any price. The second price is for totals that can be missed by a fraction
of a row, because rows have weights or bounds are not whole numbers: a hundredth of a row off must still cost more than
the evidence."""

LEVEL_PRICE = 0.25
"""Price of each further level in a rule, as a multiple of the term price."""

AUTO_MOST, AUTO_TERM_SHARE, AUTO_TERM_ROWS, MIXING = 3, 0.003, 2.1, 1.3
"""Defaults: maximum number of features per split; share of all rows that a term must save, and minimum number of rows,
more than the weight of a labeled row; and price of a term in a sum relative to a single term."""


@dataclass(frozen=True)
class EvidenceSpec:
    """The user's choices about trees of the evidence model.

    Attributes
    ----------
    most : int or None
        Maximum number of columns per split; None for any number.
    term_price : float or None
        Minimum number of rows a term must save; None for `AUTO_TERM_SHARE` of all rows, at least `AUTO_TERM_ROWS`.
    total_price : float
        Cost of a row off the totals, in rows; infinite to meet them at any price.
    min_rows : int
        Minimum number of rows per leaf.
    """

    most: int | None = AUTO_MOST
    term_price: float | None = None
    total_price: float = AUTO_TOTAL_PRICE
    min_rows: int = 1

    def of_sample(self, share: float) -> EvidenceSpec:
        """Scale the choices to a sample with this share of the rows: the user's numbers refer to the whole table."""
        price = None if self.term_price is None else share * self.term_price
        return replace(self, term_price=price, min_rows=max(math.ceil(share * self.min_rows), 1))

    def most_of(self, n_columns: int) -> int:
        """Maximum number of columns per split for a table with this number of columns."""
        return max(n_columns if self.most is None else min(self.most, n_columns), 1)

    def price_of(self, n_rows: float) -> float:
        """Minimum number of rows a term must save in a table with this number of rows."""
        return max(AUTO_TERM_SHARE * n_rows, AUTO_TERM_ROWS) if self.term_price is None else self.term_price


def split_price(n_terms: int) -> float:
    """The price of a split with this number of terms, as a multiple of the term price: sums are harder to read."""
    return float(n_terms) if n_terms < 2 else MIXING * n_terms


@dataclass(frozen=True)
class EvidenceCost:
    """The cost of a tree in the evidence model.

    Attributes
    ----------
    rows : float
        Cost from labels and guide, in rows: 1 is an unlabeled row about which the guide is certain.
    off : float
        Rows by which the totals are missed.
    terms : int
        Number of terms in all splits.
    price : float
        Price of the splits, as a multiple of the term price.
    """

    rows: float
    off: float
    terms: int
    price: float


@dataclass(frozen=True, eq=False)
class Evidence:
    """The cost of each class for each row, labeled rows first.

    Attributes
    ----------
    X : ndarray of shape (n + m, p)
        The rows.
    cost : ndarray of shape (n + m, n_classes)
        Cost of each class for each row, multiplicities included.
    size : ndarray of shape (n + m,)
        Contribution of each row to the totals: 0 for labeled rows.
    targets : Targets
        Known totals of the unlabeled rows.
    topology : Topology
        The shape of the tree.
    least_off : float
        Minimum possible number of rows off, because identical rows share a class.
    total_size : float
        Total size of all rows, labeled ones included.
    multiplicity : ndarray of shape (n + m,)
        Number of rows of the table that each row stands for.
    row_off : float
        Price of a row off the totals.
    features : tuple of Feature
        The meaning of each column.
    """

    X: FloatArray
    cost: FloatArray
    size: FloatArray
    targets: Targets
    topology: Topology
    least_off: float
    total_size: float
    multiplicity: FloatArray
    row_off: float
    features: tuple[Feature, ...]

    @classmethod
    def of(
        cls,
        problem: Problem,
        topology: Topology,
        guide_weight: float,
        total_price: float = AUTO_TOTAL_PRICE,
    ) -> Evidence:
        """Price the rows of a problem that has a guide.

        A misclassified labeled row costs ``1 / guide_weight`` rows; see `unlabeled_costs` for unlabeled rows.
        """
        n = problem.n_labeled
        cost = np.zeros((len(problem.X), problem.n_classes))
        cost[:n] = problem.labeled_size[:, None] / guide_weight
        cost[np.arange(n), problem.labels] = 0.0
        if problem.guide is not None:
            cost[n:] = unlabeled_costs(problem.guide.charges, problem.unlabeled_size)
        size = np.concatenate([np.zeros(n), problem.unlabeled_size])
        # Sums of weights seldom reach a total exactly, so a total counts as met within half a row.
        targets = problem.targets.widened(NEARLY_MET) if problem.is_weighted else problem.targets
        multiplicity = np.concatenate([problem.labeled_multiplicity, problem.unlabeled_multiplicity]).astype(float)
        return cls(
            X=problem.X,
            cost=cost,
            size=size,
            targets=targets,
            topology=topology,
            least_off=total_bound(problem),
            total_size=float(problem.labeled_size.sum() + problem.unlabeled_size.sum()),
            multiplicity=multiplicity,
            row_off=_price_of_row_off(total_price, size, targets),
            features=problem.features,
        )

    def arranged(self, rows: IntArray, classes: IntArray) -> Evidence:
        """Return the evidence with rows and classes in another order; labeled rows still come first."""
        n = self.n_labeled
        return replace(
            self,
            X=self.X[rows],
            cost=np.ascontiguousarray(self.cost[rows][:, classes]),
            size=self.size[rows],
            targets=self.targets.arranged(rows[n:] - n, classes),
            multiplicity=self.multiplicity[rows],
        )

    @property
    def n_rows(self) -> int:
        """Number of distinct rows."""
        return len(self.X)

    @property
    def n_labeled(self) -> int:
        """Number of distinct labeled rows."""
        return len(self.X) - len(self.targets.margins[0].codes)

    def cost_of(self, tree: ObliqueTree) -> EvidenceCost:
        """Evaluate the cost of a tree from its definition."""
        classes, n = tree.predict(self.X), self.n_labeled
        return EvidenceCost(
            rows=float(self.cost[np.arange(self.n_rows), classes].sum()),
            off=self.targets.rows_off(classes[n:], self.size[n:]),
            terms=sum(self.terms_of(tree)),
            price=sum(map(split_price, self.terms_of(tree))) + LEVEL_PRICE * self._named_levels(tree),
        )

    def terms_of(self, tree: ObliqueTree) -> list[int]:
        """Number of columns in each split that separates rows."""
        return [n_terms(tree.omega[split.node - 1], self.features) for split in pruned(tree).splits]

    def _named_levels(self, tree: ObliqueTree) -> int:
        """Number of levels beyond the first that rules about a single categorical column name."""
        found = 0
        for split in pruned(tree).splits:
            used = [self.features[j] for j in np.flatnonzero(tree.omega[split.node - 1]).tolist()]
            if {feature.column for feature in used} == {used[0].column} and used[0].level is not None:
                n_levels = 1 + sum(feature.column == used[0].column for feature in self.features)
                has_gap_alone = any(f.column == used[0].column and f.level is None for f in self.features)
                found += 0 if has_gap_alone else min(len(used), n_levels - len(used)) - 1
        return found

    def against(self, cost: EvidenceCost) -> float:
        """Rows against a tree, with rows off at their price."""
        return cost.rows + self.row_off * cost.off

    def total_cost(self, cost: EvidenceCost, term_price: float) -> float:
        """Total cost of a tree: rows against it, plus rows off and terms at their prices."""
        return self.against(cost) + term_price * cost.price

    def is_as_good(self, cost: EvidenceCost, best: EvidenceCost) -> bool:
        """Whether a tree is within 1 % of the rows of the best one; rows off count at their price."""
        return self.against(cost) <= self.against(best) + 0.01 * self.total_size

    @cached_property
    def bound(self) -> float:
        """Lower bound on the cost in rows of every tree, because identical rows share a class."""
        _, groups = equal_rows(self.X)
        return float(np.min([group_sums(groups, column) for column in self.cost.T], axis=0).sum())


def unlabeled_costs(charges: FloatArray, sizes: FloatArray) -> FloatArray:
    """Cost of each class for each unlabeled row, from the guide's charges, shape (m, n_classes).

    Half of the cost is the lead of the likeliest class over this one. The other half applies to every class except the
    likeliest, so that uncertain rows also count.
    """
    # Charges of merged rows are means, so even the likeliest class may have a positive charge.
    lead = charges - charges.min(axis=1, keepdims=True)
    return np.asarray(sizes[:, None] * (0.5 * lead + 0.5 * (lead > 0)))


def _price_of_row_off(total_price: float, size: FloatArray, targets: Targets) -> float:
    if total_price < ANY_PRICE:
        return total_price
    are_whole = [bool((part == np.round(part)).all()) for part in (size, targets.low, targets.high)]
    return ANY_PRICE if all(are_whole) else ANY_PRICE_FRACTION
