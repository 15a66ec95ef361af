"""Where a tree puts the rows of a problem, computed once per candidate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.model.bounds import Distances
from s2oct.model.problem import Problem
from s2oct.model.topology import Topology
from s2oct.model.tree import ObliqueTree


@dataclass(frozen=True, eq=False)
class Assignment:
    """A tree and the rows of a problem in the same units, with their distances from all hyperplanes.

    Attributes
    ----------
    labeled : Distances
        How far the labeled rows are from the hyperplanes.
    unlabeled : Distances
        The same of the unlabeled rows.
    """

    problem: Problem
    tree: ObliqueTree
    labeled: Distances
    unlabeled: Distances

    @classmethod
    def of(cls, problem: Problem, tree: ObliqueTree) -> Assignment:
        """Measure every row once."""
        return cls(problem, tree, tree.distances(problem.X_labeled), tree.distances(problem.X_unlabeled))

    @cached_property
    def values_labeled(self) -> FloatArray:
        """omega_b . x - gamma_b of the labeled rows, shape (n, n_branches)."""
        return self.tree.values(self.problem.X_labeled)

    @cached_property
    def leaf_errors(self) -> FloatArray:
        """Definition 2: LE(x, t) of every labeled row at every leaf, shape (n, n_leaves)."""
        return leaf_errors(self.tree.topology, self.values_labeled)

    @cached_property
    def is_own_leaf(self) -> BoolArray:
        """Which leaves have the class of each labeled row, shape (n, n_leaves)."""
        return np.asarray(self.tree.leaf_classes[None, :] == self.problem.labels[:, None])

    @cached_property
    def _cheapest(self) -> tuple[IntArray, FloatArray]:
        return self.tree.cheapest_leaves(self.problem.X_labeled, self.problem.labels)

    @property
    def cheapest_leaf(self) -> IntArray:
        """Position (from the left) of the leaf of its own class where each labeled row costs least, shape (n,)."""
        return self._cheapest[0]

    @property
    def label_errors(self) -> FloatArray:
        """Min over t in T_L^c of LE(x, t) for every labeled row, shape (n,)."""
        return self._cheapest[1]

    @cached_property
    def labeled_classes(self) -> IntArray:
        """Class index that the tree gives each labeled row, shape (n,)."""
        return self.tree.predict(self.problem.X_labeled)

    @cached_property
    def unlabeled_leaves(self) -> IntArray:
        """Id of the leaf in which each unlabeled row ends, shape (m,)."""
        return self.tree.apply(self.problem.X_unlabeled)

    @cached_property
    def unlabeled_classes(self) -> IntArray:
        """Class index of each unlabeled row, shape (m,)."""
        return np.asarray(self.tree.leaf_classes[self.unlabeled_leaves - self.tree.topology.n_leaves])

    @cached_property
    def class_counts(self) -> FloatArray:
        """Unlabeled rows in each class, each counted with its size, shape (n_classes,)."""
        counted = self.problem.unlabeled_size
        return np.bincount(self.unlabeled_classes, weights=counted, minlength=self.problem.n_classes).astype(float)

    @property
    def margins(self) -> FloatArray:
        """Least distance of each unlabeled row from a hyperplane, in units of omega, shape (m,)."""
        return self.unlabeled.of_rows

    def errors_are_within(self, most: float) -> bool:
        """Whether no labeled row has a larger error at any leaf that it may choose.

        Of two classes these are the leaves of its own. With more, the classes of the leaves are variables of P2, and
        (boundbeta2) is about every leaf.
        """
        depth = self.tree.topology.depth
        # Far from all hyperplanes there is nothing to add up: a branch error is at most 1 more than the distance.
        if depth * (1 + float(self.labeled.largest.max(initial=0.0))) <= most:
            return True
        may_choose = self.is_own_leaf if self.tree.topology.n_classes == 2 else True
        return bool(np.where(may_choose, self.leaf_errors, 0.0).max(initial=0.0) <= most)


def branch_errors(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Definition 1: y^L and y^R of every row at every branch node, each of shape (rows, n_branches)."""
    return np.maximum(1 + values, 0), np.maximum(1 - values, 0)


def leaf_errors(topology: Topology, values: FloatArray) -> FloatArray:
    """Definition 2: LE(x, t) of every row at every leaf, shape (rows, n_leaves)."""
    left, right = branch_errors(values)
    errors = np.zeros((len(values), 1))
    for level in range(topology.depth):
        nodes = slice(2**level - 1, 2 ** (level + 1) - 1)
        both = np.stack([errors + left[:, nodes], errors + right[:, nodes]], axis=2)
        errors = both.reshape(len(values), 2 ** (level + 1))
    return errors


def sum_of_errors(sizes: FloatArray, errors: FloatArray) -> float:
    """Errors of labeled rows, each times the size of its row.

    A row of size 0 costs nothing, even if no leaf has its class and its error is infinite.
    """
    counts = sizes > 0
    return float(sizes[counts] @ errors[counts])
