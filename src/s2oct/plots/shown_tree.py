"""What the picture of a tree shows: its parts that decide something, their rows, and the rules of its splits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.looks import short_sets
from s2oct.model.features import Feature
from s2oct.model.rules import few_digits
from s2oct.model.tree import ObliqueTree
from s2oct.writers.rules import Leaf, Split, SplitRule, pruned

DIGITS = 5
"""Significant digits of numbers; a tree that was fitted has fewer, as a rule."""


@dataclass(frozen=True, eq=False)
class ShownTree:
    """A tree with names and counts.

    Attributes
    ----------
    tree : ObliqueTree
    features : sequence of Feature or str
    class_names : sequence of str
    labeled : ndarray of shape (n_leaves, n_classes)
        Labeled rows of each leaf and class.
    unlabeled : ndarray of shape (n_leaves,)
        Unlabeled rows of each leaf.
    spread : ndarray of shape (n_features,)
        Standard deviation of each feature.
    max_features : int
        Terms of a rule that are shown.
    """

    tree: ObliqueTree
    features: Sequence[Feature | str]
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

    def rule(self, split: Split) -> tuple[str, ...]:
        """The terms of a split's rule with their signs, and at the end its comparison; large sets are shortened.

        Of more than ``max_features`` terms, those of largest influence are kept: coefficient times standard deviation.
        What is left out is counted, unless it is one term, which takes no more room than its count.
        """
        rule = SplitRule.of(self.rounded, split.node, self.features)
        parts = tuple(map(short_sets, rule.parts()))
        n_left_out = len(parts) - 1 - self.max_features
        if n_left_out <= 1:
            return parts
        size = np.abs(self.tree.omega[split.node - 1]) * self.spread
        influence = np.array([size[list(term.indices)].max() for term in rule.terms])
        kept = sorted(np.argsort(-influence, kind="stable")[: self.max_features].tolist())
        return (*(parts[i] for i in kept), f"+ {n_left_out} more", parts[-1])

    def whole_rule(self, split: Split) -> str:
        """A split's rule with every term, digit and level."""
        return SplitRule.of(self.tree, split.node, self.features).text()

    @cached_property
    def rounded(self) -> ObliqueTree:
        """The tree with the numbers that are shown, which are its own where these are short."""
        omega, gamma = (np.vectorize(few_digits)(numbers, DIGITS) for numbers in (self.tree.omega, self.tree.gamma))
        return replace(self.tree, omega=omega, gamma=gamma)

    @property
    def rounds(self) -> bool:
        """Whether a number that is shown differs from that of the tree."""
        nodes = [split.node - 1 for split in self.root.splits]
        return bool(
            (self.rounded.omega[nodes] != self.tree.omega[nodes]).any()
            or (self.rounded.gamma[nodes] != self.tree.gamma[nodes]).any()
        )


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
