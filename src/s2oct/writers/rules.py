"""What of a tree decides anything: the part that every export writes down."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from s2oct.errors import InvalidProblem
from s2oct.model.tree import ObliqueTree


@dataclass(frozen=True)
class Leaf:
    """Leaves of one class that are read as one."""

    ids: tuple[int, ...]
    class_index: int

    @property
    def node(self) -> int:
        """Id of the first of them."""
        return self.ids[0]

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
    """A branch node that matters."""

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
    """The tree below a node without the splits that decide nothing: constant ones, and those between equal classes."""
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


def conditions(part: Leaf | Split, leaf: Leaf) -> Iterator[tuple[Split, bool]]:
    """The splits on the way to a leaf, root first, each with whether the way goes right."""
    while isinstance(part, Split):
        right = leaf in part.right.leaves
        yield part, right
        part = part.right if right else part.left


def terms(tree: ObliqueTree, node: int) -> tuple[list[tuple[int, float]], float]:
    """(feature, coefficient) pairs of a split in the order in which they are added up, and its offset."""
    omega = tree.omega[node - 1]
    return [(j, float(omega[j])) for j in np.flatnonzero(omega).tolist()], float(tree.gamma[node - 1])


def features_used(tree: ObliqueTree, part: Leaf | Split) -> list[int]:
    """The features that some split of the part looks at, in their order."""
    if isinstance(part, Leaf):
        return []
    here = {j for j, _ in terms(tree, part.node)[0]}
    return sorted(here.union(features_used(tree, part.left), features_used(tree, part.right)))


def check_names(tree: ObliqueTree, feature_names: Sequence[str]) -> None:
    """Refuse a list of names that is not one for every feature."""
    if len(feature_names) != tree.n_features:
        raise InvalidProblem(f"Expected {tree.n_features} feature names, got {len(feature_names)}.")
