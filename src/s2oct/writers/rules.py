"""The splits and leaves of a tree that every export writes: those that decide something."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from s2oct.errors import InvalidProblem
from s2oct.model.pruning import Leaf, Split, pruned
from s2oct.model.tree import ObliqueTree
from s2oct.tabular.encoding import Encoding, plain_encoding

__all__ = [
    "Leaf",
    "Split",
    "check_names",
    "checked_encoding",
    "conditions",
    "features_used",
    "pruned",
    "signed_sum",
    "terms",
]


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
