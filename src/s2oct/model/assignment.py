"""Where a tree puts the rows of a problem, computed once per candidate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.model.problem import Problem
from s2oct.model.topology import Topology
from s2oct.model.tree import ObliqueTree


@dataclass(frozen=True, eq=False)
class Assignment:
    """A tree and the rows of a problem in the same units, with the value of every row at every branch node.

    Attributes
    ----------
    values_labeled : ndarray of shape (n, n_branches)
        omega_b . x - gamma_b of the labeled rows.
    values_unlabeled : ndarray of shape (m, n_branches)
        The same of the unlabeled rows.
    """

    problem: Problem
    tree: ObliqueTree
    values_labeled: FloatArray
    values_unlabeled: FloatArray

    @classmethod
    def of(cls, problem: Problem, tree: ObliqueTree) -> Assignment:
        """Route every row once."""
        return cls(problem, tree, tree.values(problem.X_labeled), tree.values(problem.X_unlabeled))

    @cached_property
    def leaf_errors(self) -> FloatArray:
        """Definition 2: LE(x, t) of every labeled row at every leaf, shape (n, n_leaves)."""
        return leaf_errors(self.tree.topology, self.values_labeled)

    @cached_property
    def is_own_leaf(self) -> BoolArray:
        """Which leaves have the class of each labeled row, shape (n, n_leaves)."""
        return np.asarray(self.tree.leaf_classes[None, :] == self.problem.labels[:, None])

    @cached_property
    def cheapest_leaf(self) -> IntArray:
        """Position (from the left) of the leaf of its own class where each labeled row costs least, shape (n,)."""
        return np.asarray(np.where(self.is_own_leaf, self.leaf_errors, np.inf).argmin(axis=1))

    @cached_property
    def label_errors(self) -> FloatArray:
        """Min over t in T_L^c of LE(x, t) for every labeled row, shape (n,)."""
        return np.asarray(np.where(self.is_own_leaf, self.leaf_errors, np.inf).min(axis=1))

    @cached_property
    def labeled_classes(self) -> IntArray:
        """Class index that the tree gives each labeled row, shape (n,)."""
        leaves = self.tree.leaves_reached(self.values_labeled)
        return np.asarray(self.tree.leaf_classes[leaves - self.tree.topology.n_leaves])

    @cached_property
    def unlabeled_leaves(self) -> IntArray:
        """Id of the leaf in which each unlabeled row ends, shape (m,)."""
        return self.tree.leaves_reached(self.values_unlabeled)

    @cached_property
    def unlabeled_classes(self) -> IntArray:
        """Class index of each unlabeled row, shape (m,)."""
        return np.asarray(self.tree.leaf_classes[self.unlabeled_leaves - self.tree.topology.n_leaves])

    @cached_property
    def class_counts(self) -> FloatArray:
        """Unlabeled rows in each class, each counted with its size, shape (n_classes,)."""
        counted = self.problem.unlabeled_size
        return np.bincount(self.unlabeled_classes, weights=counted, minlength=self.problem.n_classes).astype(float)

    @cached_property
    def margins(self) -> FloatArray:
        """Least distance of each unlabeled row from a hyperplane, in units of omega, shape (m,)."""
        return np.asarray(np.abs(self.values_unlabeled).min(axis=1))


def branch_errors(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Definition 1: y^L and y^R of every row at every branch node, each of shape (rows, n_branches)."""
    return np.maximum(1 + values, 0), np.maximum(1 - values, 0)


def leaf_errors(topology: Topology, values: FloatArray) -> FloatArray:
    """Definition 2: LE(x, t) of every row at every leaf, shape (rows, n_leaves)."""
    left, right = branch_errors(values)
    errors = np.zeros((len(values), topology.n_leaves))
    for nodes, sides in zip(topology.path_nodes.T, topology.path_sides.T, strict=True):
        errors += np.where(sides == 1, right[:, nodes], left[:, nodes])
    return errors
