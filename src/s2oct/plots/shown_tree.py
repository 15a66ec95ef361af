"""What the picture of a tree shows: its parts that decide something, their rows, and the features of its splits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.model.tree import ObliqueTree
from s2oct.writers.rules import Leaf, Split, pruned


@dataclass(frozen=True, eq=False)
class ShownTree:
    """A tree with names and counts.

    Attributes
    ----------
    tree : ObliqueTree
    feature_names, class_names : sequence of str
    labeled : ndarray of shape (n_leaves, n_classes)
        Labeled rows of each leaf and class.
    unlabeled : ndarray of shape (n_leaves,)
        Unlabeled rows of each leaf.
    spread : ndarray of shape (n_features,)
        Standard deviation of each feature.
    max_features : int
        Bars in a split.
    """

    tree: ObliqueTree
    feature_names: Sequence[str]
    class_names: Sequence[str]
    labeled: IntArray
    unlabeled: IntArray
    spread: FloatArray
    max_features: int

    @cached_property
    def root(self) -> Leaf | Split:
        """The tree without the splits that decide nothing."""
        return pruned(self.tree)

    @cached_property
    def parts(self) -> list[tuple[Leaf | Split, int]]:
        """Every part with its level, parents first."""
        return _parts(self.root, 0)

    def labeled_in(self, part: Leaf | Split) -> list[int]:
        """Labeled rows of each class below a part."""
        return [int(n) for n in self.labeled[self._leaves(part)].sum(axis=0)]

    def unlabeled_in(self, part: Leaf | Split) -> int:
        """Unlabeled rows below a part."""
        return int(self.unlabeled[self._leaves(part)].sum())

    def rows_in(self, part: Leaf | Split) -> int:
        """All rows below a part."""
        return sum(self.labeled_in(part)) + self.unlabeled_in(part)

    def _leaves(self, part: Leaf | Split) -> list[int]:
        return [node - self.tree.topology.n_leaves for node in part.ids]

    def bars(self, split: Split) -> tuple[list[int], FloatArray]:
        """The features a split uses and their coefficients per standard deviation, the largest first.

        A feature that does not vary over the rows has a bar of length 0, but is still used.
        """
        omega = self.tree.omega[split.node - 1]
        used = np.flatnonzero(omega)
        length = omega[used] * self.spread[used]
        order = np.argsort(-np.abs(length), kind="stable")
        return used[order].tolist(), length[order]

    def is_threshold(self, split: Split) -> bool:
        """Whether a split uses one feature, so that it reads as a threshold."""
        return int(np.count_nonzero(self.tree.omega[split.node - 1])) == 1


def _parts(part: Leaf | Split, level: int) -> list[tuple[Leaf | Split, int]]:
    if isinstance(part, Leaf):
        return [(part, level)]
    return [(part, level), *_parts(part.left, level + 1), *_parts(part.right, level + 1)]


def leaf_label(leaf: Leaf) -> str:
    """Name of a leaf: the id that ``apply`` gives its rows, or the ids that are read as one."""
    if len(leaf.ids) == 1:
        return f"leaf {leaf.ids[0]}"
    separator = "+" if len(leaf.ids) == 2 else "…"
    return f"leaf {leaf.ids[0]}{separator}{leaf.ids[-1]}"
