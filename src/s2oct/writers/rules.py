"""The splits and leaves of a tree that every export writes: those that decide something."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from s2oct.errors import InvalidProblem
from s2oct.model.tree import ObliqueTree
from s2oct.tabular.encoding import Encoding, plain_encoding


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


def conditions(part: Leaf | Split, leaf: Leaf) -> Iterator[tuple[Split, bool]]:
    """The splits on the path to a leaf, root first, each with whether the path goes right."""
    while isinstance(part, Split):
        right = leaf in part.right.leaves
        yield part, right
        part = part.right if right else part.left


def terms(tree: ObliqueTree, node: int) -> tuple[list[tuple[int, float]], float]:
    """(feature, coefficient) pairs of a split in the order in which they are added up, and its offset."""
    omega = tree.omega[node - 1]
    return [(j, float(omega[j])) for j in np.flatnonzero(omega).tolist()], float(tree.gamma[node - 1])


def features_used(tree: ObliqueTree, part: Leaf | Split) -> list[int]:
    """The features that some split of the part uses, in their order."""
    if isinstance(part, Leaf):
        return []
    here = {j for j, _ in terms(tree, part.node)[0]}
    return sorted(here.union(features_used(tree, part.left), features_used(tree, part.right)))


def signed_sum(products: Iterable[tuple[bool, str]]) -> str:
    """A sum as text, from pairs of whether a product is subtracted and the product without its sign."""
    written = ""
    for is_negative, product in products:
        if written:
            written += f" {'-' if is_negative else '+'} {product}"
        else:
            written = f"-{product}" if is_negative else product
    return written


def checked_encoding(tree: ObliqueTree, feature_names: Sequence[str], encoding: Encoding | None) -> Encoding:
    """The encoding, or one in which every feature is a column; refuses one that makes other features."""
    check_names(tree, feature_names)
    columns = encoding or plain_encoding(feature_names)
    if columns.features != tuple(feature_names):
        raise InvalidProblem(
            f"Expected an encoding into the features {list(feature_names)}, got {list(columns.features)}."
        )
    return columns


def check_names(tree: ObliqueTree, feature_names: Sequence[str]) -> None:
    """Refuse names unless there is one for every feature."""
    if len(feature_names) != tree.n_features:
        raise InvalidProblem(f"Expected {tree.n_features} feature names, got {len(feature_names)}.")
