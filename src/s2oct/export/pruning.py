"""What of a tree is worth showing: the splits that decide something, and leaves of one class read as one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from s2oct.tree import ObliqueTree


@dataclass(frozen=True)
class Leaf:
    """Leaves of one class that are read as one.

    Attributes
    ----------
    node : int
        Id of the node where the tree could end: the leaf itself, or the branch node whose split decides nothing.
    ids : tuple of int
        Ids of the leaves it stands for, from the left.
    class_index : int
    """

    node: int
    ids: tuple[int, ...]
    class_index: int

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """Itself."""
        return (self,)

    @property
    def splits(self) -> tuple[Split, ...]:
        """None."""
        return ()


@dataclass(frozen=True)
class Split:
    """A branch node that matters, with what follows on its two sides."""

    node: int
    left: Leaf | Split
    right: Leaf | Split

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The leaves below, from the left."""
        return self.left.leaves + self.right.leaves

    @property
    def splits(self) -> tuple[Split, ...]:
        """The split itself and those below, parents before children, left before right."""
        return (self, *self.left.splits, *self.right.splits)

    @property
    def ids(self) -> tuple[int, ...]:
        """Ids of the tree's leaves below."""
        return self.left.ids + self.right.ids


def prune(tree: ObliqueTree, node: int = 1) -> Leaf | Split:
    """The tree below a node without the splits that send every row the same way or to the same class.

    Examples
    --------
    >>> import numpy as np
    >>> from s2oct import ObliqueTree, Topology
    >>> omega = np.array([[1.0], [0.0], [2.0]])
    >>> shown = prune(ObliqueTree.of(Topology(2), omega, np.array([5.0, 1.0, 14.0])))
    >>> [split.node for split in shown.splits], [leaf.ids for leaf in shown.leaves]
    ([1, 3], [(4,), (6,), (7,)])
    """
    first_leaf = tree.topology.n_leaves
    if node >= first_leaf:
        return Leaf(node, (node,), int(tree.leaf_classes[node - first_leaf]))
    if not tree.omega[node - 1].any():
        everyone_goes_right = -tree.gamma[node - 1] > 0
        return prune(tree, 2 * node + int(everyone_goes_right))
    left, right = prune(tree, 2 * node), prune(tree, 2 * node + 1)
    if isinstance(left, Leaf) and isinstance(right, Leaf) and left.class_index == right.class_index:
        return Leaf(node, left.ids + right.ids, left.class_index)
    return Split(node, left, right)


def conditions(part: Leaf | Split, leaf: Leaf) -> Iterator[tuple[Split, bool]]:
    """The splits on the way to a leaf, root first, each with whether the way goes right."""
    while isinstance(part, Split):
        right = leaf in part.right.leaves
        yield part, right
        part = part.right if right else part.left
