"""The splits and leaves of a tree that decide something."""

from __future__ import annotations

from dataclasses import dataclass

from s2oct.model.tree import ObliqueTree


@dataclass(frozen=True)
class Leaf:
    """Neighbouring leaves of one class, written as one leaf."""

    ids: tuple[int, ...]
    class_index: int

    @property
    def node(self) -> int:
        """Id of the first leaf."""
        return self.ids[0]

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The leaf itself."""
        return (self,)

    @property
    def splits(self) -> tuple[Split, ...]:
        """A leaf has no splits."""
        return ()


@dataclass(frozen=True)
class Split:
    """A branch node that decides something."""

    node: int
    left: Leaf | Split
    right: Leaf | Split

    @property
    def ids(self) -> tuple[int, ...]:
        """Ids of the tree's leaves below."""
        return self.left.ids + self.right.ids

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The leaves below, from the left."""
        return self.left.leaves + self.right.leaves

    @property
    def splits(self) -> tuple[Split, ...]:
        """The split itself and those below, parents before children, left before right."""
        return (self, *self.left.splits, *self.right.splits)


def pruned(tree: ObliqueTree, node: int = 1) -> Leaf | Split:
    """The tree below a node without splits that decide nothing: constant splits, and splits between equal classes."""
    first_leaf = tree.topology.n_leaves
    if node >= first_leaf:
        return Leaf((node,), int(tree.leaf_classes[node - first_leaf]))
    if not tree.omega[node - 1].any():
        everyone_goes_right = -tree.gamma[node - 1] > 0
        return pruned(tree, 2 * node + int(everyone_goes_right))
    left, right = pruned(tree, 2 * node), pruned(tree, 2 * node + 1)
    if isinstance(left, Leaf) and isinstance(right, Leaf) and left.class_index == right.class_index:
        return Leaf(left.ids + right.ids, left.class_index)
    return Split(node, left, right)
