"""The complete binary tree of the paper: the ancestors of each leaf, and the side of each on which it lies.

Node ids are the paper's and start at 1; node ``b`` has the children ``2 b`` (left) and ``2 b + 1`` (right). Integer
arithmetic gives everything else, for any depth and number of classes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from s2oct.arrays import IntArray
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
