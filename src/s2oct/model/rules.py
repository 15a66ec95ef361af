"""The rules of a tree: the splits and leaves that decide something, and their text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from s2oct.errors import InvalidProblem
from s2oct.model.features import Feature, as_features, as_level
from s2oct.model.tree import ObliqueTree
from s2oct.wording import listed, plural, printable

INDENT = "    "

LEAST_WRITTEN_OUT = 1e-6
"""Smaller numbers are written with an exponent: their zeros would have to be counted."""

_OPPOSITE = {"<=": ">", ">=": "<"}


@dataclass(frozen=True)
class Leaf:
    """Leaves of one class, written as one leaf."""

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
    """The tree below a node without splits that decide nothing: constant ones, and ones with the same on both sides."""
    first_leaf = tree.topology.n_leaves
    if node >= first_leaf:
        return Leaf((node,), int(tree.leaf_classes[node - first_leaf]))
    if not tree.omega[node - 1].any():
        everyone_goes_right = -tree.gamma[node - 1] > 0
        return pruned(tree, 2 * node + int(everyone_goes_right))
    left, right = pruned(tree, 2 * node), pruned(tree, 2 * node + 1)
    return _joined(tree, left, right) or Split(node, left, right)


def _joined(tree: ObliqueTree, left: Leaf | Split, right: Leaf | Split) -> Leaf | Split | None:
    """Two parts as one, if they have the same rules and classes."""
    if isinstance(left, Leaf) and isinstance(right, Leaf):
        is_same = left.class_index == right.class_index
        return Leaf(left.ids + right.ids, left.class_index) if is_same else None
    if isinstance(left, Leaf) or isinstance(right, Leaf) or terms(tree, left.node) != terms(tree, right.node):
        return None
    below = _joined(tree, left.left, right.left), _joined(tree, left.right, right.right)
    return None if below[0] is None or below[1] is None else Split(left.node, below[0], below[1])


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


def inequality(tree: ObliqueTree, node: int) -> tuple[list[tuple[int, float]], str, float]:
    """The terms of a split, ``<=`` or ``>=``, and the offset, written the way round that has fewer minus signs.

    Both ways decide every row alike, because floats are negated without rounding.
    """
    pairs, offset = terms(tree, node)
    turned = [(j, -c) for j, c in pairs]
    if _minus_signs(turned, -offset) < _minus_signs(pairs, offset):
        return turned, ">=", 0.0 - offset  # no minus before a zero
    return pairs, "<=", offset


def _minus_signs(pairs: Sequence[tuple[int, float]], offset: float) -> tuple[int, bool, bool]:
    """How many terms have one; whether the offset has one; whether the first term has one."""
    return sum(c < 0 for _, c in pairs), offset < 0, pairs[0][1] < 0


def features_used(tree: ObliqueTree, part: Leaf | Split) -> list[int]:
    """The features that some split of the part uses, in their order."""
    if isinstance(part, Leaf):
        return []
    here = {j for j, _ in terms(tree, part.node)[0]}
    return sorted(here.union(features_used(tree, part.left), features_used(tree, part.right)))


def rule_lines(
    tree: ObliqueTree,
    features: Sequence[Feature | str],
    classes: Sequence[Any],
    note: Callable[[Leaf], str] = lambda _: "",
) -> Iterator[str]:
    """The lines of a tree as nested rules; ``note`` writes what comes after the class of a leaf.

    At the end there is a line for every feature of which the rules do not say everything (`remarks`).
    """
    check_names(tree, features, classes)

    def lines(part: Leaf | Split, indent: str) -> Iterator[str]:
        if isinstance(part, Leaf):
            yield f"{indent}{printable(classes[part.class_index])}{note(part)}"
            return
        yield f"{indent}if {rule_text(tree, part.node, features)}:"
        yield from lines(part.left, indent + INDENT)
        yield f"{indent}otherwise:"
        yield from lines(part.right, indent + INDENT)

    root = pruned(tree)
    return chain(lines(root, ""), remarks(tree, root, features))


def remarks(tree: ObliqueTree, part: Leaf | Split, features: Sequence[Feature | str]) -> Iterator[str]:
    """Sentences on what a missing number counts as, and on what ordered levels count in sums."""
    known, sums = as_features(features), (terms(tree, split.node)[0] for split in part.splits)
    summed = {j for pairs in sums if len(pairs) > 1 for j, _ in pairs}
    for j in features_used(tree, part):
        feature, name = known[j], printable(known[j].column)
        if feature.fill is not None:
            yield f"A missing {name} counts as {plain_number(feature.fill)}."
        if feature.levels and j in summed:
            counted = [f"{i} for {as_level(level)}" for i, level in enumerate(feature.levels)]
            yield f"In a sum, {name} is {listed(counted)}."


def rule_text(tree: ObliqueTree, node: int, features: Sequence[Feature | str], *, holds: bool = True) -> str:
    """The rule of a split, which holds for the rows that go left: ``age - 0.5 * income <= 3``, ``region is north``.

    These are exactly the numbers that decide, see `rule_parts`.

    Parameters
    ----------
    tree : ObliqueTree
        The tree, in the units of the features.
    node : int
        Id of a branch node that uses some feature.
    features : sequence of Feature or str
        Every feature; a name alone is that of a number.
    holds : bool
        False for the opposite, which holds for the rows that go right.

    Returns
    -------
    str
        The rule.
    """
    return " ".join(rule_parts(tree, node, features, holds=holds))


def rule_parts(
    tree: ObliqueTree, node: int, features: Sequence[Feature | str], *, holds: bool = True
) -> tuple[str, ...]:
    """The terms of a rule with their signs, and at the end its comparison.

    The rule is written as `inequality` has it. Nothing is divided, because that would round. A rule on levels of one
    column names them.

    Parameters
    ----------
    tree : ObliqueTree
        The tree, in the units of the features.
    node : int
        Id of a branch node that uses some feature.
    features : sequence of Feature or str
        Every feature; a name alone is that of a number.
    holds : bool
        False for the opposite.

    Returns
    -------
    tuple of str
        For example ``("age", "- 0.5 * income", "<= 3")``, ``("education", ">= secondary")`` or
        ``("region is north",)``.
    """
    pairs, relation, offset = inequality(tree, node)
    known = as_features(features[j] for j, _ in pairs)
    if len(pairs) == 1:
        worded = known[0].condition([is_left == holds for is_left in left_values(tree, node, known[0])])
        if worded is not None:
            return worded
    products = [(c < 0, _product(abs(c), printable(name))) for (_, c), name in zip(pairs, known, strict=True)]
    return (*signed_terms(products), f"{relation if holds else _OPPOSITE[relation]} {plain_number(offset)}")


def left_values(tree: ObliqueTree, node: int, feature: Feature) -> list[bool]:
    """Whether a split on one feature sends each of its values 0, 1, 2, ... to the left; empty for a number."""
    [(_, coefficient)], offset = terms(tree, node)
    return [coefficient * value <= offset for value in range(feature.n_values)]


def _product(size: float, name: str) -> str:
    return name if size == 1 else f"{plain_number(size)} * {name}"


def plain_number(value: float) -> str:
    """The shortest decimal that is read as exactly this float: ``27``, ``0.5``, ``0.00005``, ``1e-07``."""
    if LEAST_WRITTEN_OUT <= abs(value) < 1:
        return str(np.format_float_positional(value, trim="-"))
    return repr(float(value) + 0.0).removesuffix(".0")  # + 0.0: no minus before a zero


def signed_terms(products: Iterable[tuple[bool, str]]) -> Iterator[str]:
    """Terms of a sum as text, from pairs of whether a product is subtracted and the product without its sign."""
    for i, (is_negative, product) in enumerate(products):
        yield f"{'- ' if is_negative else '+ '}{product}" if i else f"{'-' * is_negative}{product}"


def check_names(tree: ObliqueTree, features: Sequence[Feature | str], classes: Sequence[Any]) -> None:
    """Refuse names unless every feature and every class has one."""
    n_classes = 1 + int(tree.leaf_classes.max())
    if len(classes) < n_classes:
        given = plural(len(classes), "class", "classes")
        verb = "was" if len(classes) == 1 else "were"
        raise InvalidProblem(
            f"The tree has {n_classes} classes, but only {given} {verb} given: name them all, in order."
        )
    if len(features) != tree.n_features:
        raise InvalidProblem(f"Expected {tree.n_features} feature names, got {len(features)}.")
