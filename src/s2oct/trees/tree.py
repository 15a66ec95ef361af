"""Trees as the paper has them: the complete binary tree, and the hyperplanes and classes at its nodes.

Node ids are the paper's and start at 1; node ``b`` has the children ``2 b`` (left) and ``2 b + 1`` (right). Integer
arithmetic gives everything else, for any depth and number of classes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from s2oct._core import cheapest_leaves, distances, leaves, path_distances, values
from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.errors import InvalidProblem
from s2oct.wording import brief

MAX_DEPTH = 12
"""Maximum depth: deeper trees have more than 4095 hyperplanes, and their models cannot be solved."""


@dataclass(frozen=True)
class Topology:
    """Branch nodes, leaves and paths of a complete tree.

    Parameters
    ----------
    depth : int
        D >= 1, the number of hyperplanes between the root and a leaf.
    n_classes : int
        Number of classes.
    classes : tuple of int, optional
        Class of each leaf from the left. By default, the leaves get the classes in turn: A, B, A, B, ... for two. The
        two leaves below a node are in ascending order, because reversing a hyperplane exchanges them.
    """

    depth: int
    n_classes: int = 2
    classes: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.depth, (int, np.integer)) or not 1 <= self.depth <= MAX_DEPTH:
            raise InvalidProblem(f"Expected a depth between 1 and {MAX_DEPTH}, got {brief(self.depth)}.")
        if not 1 <= self.n_classes <= self.n_leaves:
            raise InvalidProblem(
                f"Expected between 1 and {self.n_leaves} classes (the leaves of a tree of depth {self.depth}), "
                f"got {self.n_classes}. A tree of depth {math.ceil(math.log2(max(self.n_classes, 1)))} has enough."
            )

    @property
    def n_branches(self) -> int:
        """Size of T_B, the branch nodes 1 .. 2^D - 1."""
        return int(2**self.depth - 1)

    @property
    def n_leaves(self) -> int:
        """Size of T_L, the leaves 2^D .. 2^(D+1) - 1."""
        return int(2**self.depth)

    @property
    def branches(self) -> range:
        """Ids of the branch nodes."""
        return range(1, self.n_leaves)

    @property
    def leaves(self) -> range:
        """Ids of the leaves."""
        return range(self.n_leaves, 2 * self.n_leaves)

    @property
    def last_level(self) -> range:
        """Ids of the branch nodes whose children are leaves."""
        return range(self.n_leaves // 2, self.n_leaves)

    def path(self, leaf: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """List the branch nodes at which the path to a leaf goes left, and those at which it goes right.

        Parameters
        ----------
        leaf : int
            Id of a leaf.

        Returns
        -------
        tuple of two tuples of int
            N_L(t) and N_R(t).
        """
        left: list[int] = []
        right: list[int] = []
        node = leaf
        while node > 1:
            (right if node % 2 else left).append(node // 2)
            node //= 2
        return tuple(reversed(left)), tuple(reversed(right))

    def leaf_class(self, leaf: int) -> int:
        """Return the class index of a leaf.

        Parameters
        ----------
        leaf : int
            Id of a leaf.

        Returns
        -------
        int
            Its class.
        """
        return int(self.leaf_classes[leaf - self.n_leaves])

    def leaves_of(self, class_index: int) -> tuple[int, ...]:
        """List T_L^c, the leaves of one class.

        Parameters
        ----------
        class_index : int
            A class.

        Returns
        -------
        tuple of int
            Ids of leaves.
        """
        return tuple(t for t in self.leaves if self.leaf_class(t) == class_index)

    @cached_property
    def leaf_classes(self) -> IntArray:
        """Class index of every leaf from the left, shape (n_leaves,)."""
        if self.classes is not None:
            return np.array(self.classes)
        return np.sort((np.arange(self.n_leaves) % self.n_classes).reshape(-1, 2), axis=1).ravel()

    @cached_property
    def path_nodes(self) -> IntArray:
        """Row of each ancestor in the node arrays (id - 1), root first, shape (n_leaves, depth)."""
        shifts = np.arange(self.depth, 0, -1)
        return (np.asarray(self.leaves)[:, None] >> shifts) - 1

    @cached_property
    def path_sides(self) -> IntArray:
        """0 where a path goes left and 1 where it goes right, root first, shape (n_leaves, depth)."""
        shifts = np.arange(self.depth - 1, -1, -1)
        return (np.asarray(self.leaves)[:, None] >> shifts) & 1


@dataclass(frozen=True, eq=False)
class ObliqueTree:
    """A complete tree of hyperplanes; a row goes left iff omega . x - gamma <= 0.

    Parameters
    ----------
    topology : Topology
        Shape of the tree.
    omega : ndarray of shape (n_branches, p)
        Normal vector of each branch node, in the order of the node ids.
    gamma : ndarray of shape (n_branches,)
        Offset of each branch node.
    leaf_classes : ndarray of shape (n_leaves,)
        Class index of each leaf from the left.
    """

    topology: Topology
    omega: FloatArray
    gamma: FloatArray
    leaf_classes: IntArray

    def __post_init__(self) -> None:
        n_branches, n_leaves = self.topology.n_branches, self.topology.n_leaves
        if self.omega.ndim != 2 or self.omega.shape[0] != n_branches or self.gamma.shape != (n_branches,):
            raise InvalidProblem(
                f"Expected omega of shape ({n_branches}, p) and gamma of shape ({n_branches},) at depth "
                f"{self.topology.depth}, got {self.omega.shape} and {self.gamma.shape}."
            )
        if self.leaf_classes.shape != (n_leaves,):
            raise InvalidProblem(f"Expected {n_leaves} leaf classes, got shape {self.leaf_classes.shape}.")

    @classmethod
    def of(cls, topology: Topology, omega: FloatArray, gamma: FloatArray) -> ObliqueTree:
        """Make a tree whose leaves have the classes of the topology.

        Parameters
        ----------
        topology : Topology
            Shape of the tree.
        omega : array-like of shape (n_branches, p)
            Normal vectors.
        gamma : array-like of shape (n_branches,)
            Offsets.

        Returns
        -------
        ObliqueTree
            The tree.
        """
        return cls(topology, np.asarray(omega, dtype=float), np.asarray(gamma, dtype=float), topology.leaf_classes)

    @classmethod
    def constant(cls, topology: Topology, n_features: int, *, right: bool) -> ObliqueTree:
        """Make a tree without splits: every row passes every node at distance 1 on the same side.

        Parameters
        ----------
        topology : Topology
            Shape of the tree.
        n_features : int
            Number of features.
        right : bool
            Whether rows go right instead of left at every node.

        Returns
        -------
        ObliqueTree
            The tree.
        """
        offset = -1.0 if right else 1.0
        return cls.of(
            topology,
            np.zeros((topology.n_branches, n_features)),
            np.full(topology.n_branches, offset),
        )

    @classmethod
    def leading_to(cls, topology: Topology, n_features: int, leaf: int) -> ObliqueTree:
        """Make a tree without splits that sends every row to one leaf.

        Parameters
        ----------
        topology : Topology
            Shape of the tree.
        n_features : int
            Number of features.
        leaf : int
            Id of the leaf.

        Returns
        -------
        ObliqueTree
            The tree.
        """
        gamma = np.ones(topology.n_branches)
        nodes, sides = (part[leaf - topology.n_leaves] for part in (topology.path_nodes, topology.path_sides))
        gamma[nodes] = np.where(sides == 1, -1.0, 1.0)
        return cls.of(topology, np.zeros((topology.n_branches, n_features)), gamma)

    @property
    def n_features(self) -> int:
        """Number of features p."""
        return int(self.omega.shape[1])

    def values(self, X: FloatArray) -> FloatArray:
        """Evaluate omega_b . x - gamma_b for every row and branch node.

        Parameters
        ----------
        X : ndarray of shape (n_rows, p)
            Rows, in the units of the tree.

        Returns
        -------
        ndarray of shape (n_rows, n_branches)
            Values, each summed in the order of the features (``cpp/routing.h``).
        """
        return np.asarray(values(*self._ready(X)))

    @property
    def splits(self) -> BoolArray:
        """Whether each branch node has a nonzero coefficient, shape (n_branches,)."""
        return np.asarray(self.omega.any(axis=1))

    def distances(self, X: FloatArray) -> Distances:
        """Compute the distances of rows from all hyperplanes, without storing the result of `values`.

        Parameters
        ----------
        X : ndarray of shape (n_rows, p)
            Rows, in the units of the tree.

        Returns
        -------
        Distances
            The distances. A node without coefficients takes no time, because all rows are at the same distance from it.
        """
        rows, omega, gamma = self._ready(X)
        splits, n_rows = self.splits, len(rows)
        of_rows, *of_splits = distances(rows, omega[splits], gamma[splits])
        apart = np.abs(gamma) if n_rows else np.full(len(gamma), np.inf)
        of_rows = np.minimum(of_rows, apart[~splits].min(initial=np.inf))
        of_nodes = [apart, np.abs(gamma) * (n_rows > 0), n_rows * (gamma > 0), n_rows * (gamma < 0)]
        for all_nodes, found in zip(of_nodes, of_splits, strict=True):
            all_nodes[splits] = found
        return Distances(of_rows, *of_nodes)

    def goes_right(self, X: FloatArray) -> BoolArray:
        """Return whether each row is on the right of each hyperplane.

        Parameters
        ----------
        X : ndarray of shape (n_rows, p)
            Rows, in the units of the tree.

        Returns
        -------
        ndarray of bool of shape (n_rows, n_branches)
            True on the right.
        """
        return self.sides(self.values(X))

    @staticmethod
    def sides(values: FloatArray) -> BoolArray:
        """Return the side of the hyperplane for each value.

        Parameters
        ----------
        values : ndarray
            The result of `values`.

        Returns
        -------
        ndarray of bool of the same shape
            True on the right, where values are not at most 0. NaN, to which huge values can add up, is therefore on the
            right.
        """
        return np.asarray(~(values <= 0))

    def apply(self, X: FloatArray) -> IntArray:
        """Return the leaf of each row.

        Parameters
        ----------
        X : ndarray of shape (n_rows, p)
            Rows, in the units of the tree.

        Returns
        -------
        ndarray of shape (n_rows,)
            Leaf ids.
        """
        return np.asarray(leaves(*self._ready(X), self.topology.depth))

    def _ready(self, X: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return rows and hyperplanes in the form that the compiled core takes."""
        rows = np.asarray(X, dtype=float)
        if not rows.flags.aligned:
            rows = rows.copy()
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise InvalidProblem(f"Expected rows of {self.n_features} features, got an array of shape {rows.shape}.")
        omega, gamma = (np.ascontiguousarray(part, dtype=float) for part in (self.omega, self.gamma))
        return rows, omega, gamma

    def predict(self, X: FloatArray) -> IntArray:
        """Return the class index of each row's leaf.

        Parameters
        ----------
        X : ndarray of shape (n_rows, p)
            Rows, in the units of the tree.

        Returns
        -------
        ndarray of shape (n_rows,)
            Class indices.
        """
        return np.asarray(self.leaf_classes[self.apply(X) - self.topology.n_leaves])

    def path_margin(self, X: FloatArray) -> FloatArray:
        """Return each row's minimum distance, in units of omega, from the splitting hyperplanes on its path.

        Parameters
        ----------
        X : ndarray of shape (n_rows, p)
            Rows, in the units of the tree.

        Returns
        -------
        ndarray of shape (n_rows,)
            Margins; 1 if no node on the path splits.
        """
        margin = self.path_distances(X, self.splits)
        return np.where(np.isfinite(margin), margin, 1.0)

    def path_distances(self, X: FloatArray, counted: BoolArray) -> FloatArray:
        """Return each row's minimum distance, in units of omega, from some of the hyperplanes on its path.

        Parameters
        ----------
        X : ndarray of shape (n_rows, p)
            Rows, in the units of the tree.
        counted : ndarray of bool of shape (n_branches,)
            Whether each branch node counts.

        Returns
        -------
        ndarray of shape (n_rows,)
            Distances; infinite if no node on the path counts.
        """
        return np.asarray(path_distances(*self._ready(X), counted, self.topology.depth))

    def cheapest_leaves(self, X: FloatArray, classes: IntArray) -> tuple[IntArray, FloatArray]:
        """Return, for each row, the leaf of its class with the minimum error of Definition 2.

        Parameters
        ----------
        X : ndarray of shape (n_rows, p)
            Rows, in the units of the tree.
        classes : ndarray of shape (n_rows,)
            Class index of each row.

        Returns
        -------
        tuple of two ndarrays of shape (n_rows,)
            Positions of the leaves from the left, the first of equally good ones; and the errors.
        """
        rows, omega, gamma = self._ready(X)
        labels, leaf_classes = (np.ascontiguousarray(part, np.int64) for part in (classes, self.leaf_classes))
        return cheapest_leaves(rows, labels, omega, gamma, leaf_classes)


class Distances(NamedTuple):
    """Distances of rows from the hyperplanes of a tree, in units of omega.

    Attributes
    ----------
    of_rows : ndarray of shape (n_rows,)
        Distance of each row from the nearest hyperplane.
    least, largest : ndarray of shape (n_branches,)
        Distance of the nearest and of the farthest row from each hyperplane; infinity and 0 without rows.
    n_left, n_right : ndarray of shape (n_branches,)
        Numbers of rows with a negative and with a positive value at each node.
    """

    of_rows: FloatArray
    least: FloatArray
    largest: FloatArray
    n_left: IntArray
    n_right: IntArray
