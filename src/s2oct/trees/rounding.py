"""The rules of a tree: the splits and leaves that decide something, their text, and their short numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np

from s2oct.arrays import BoolArray, FloatArray
from s2oct.errors import InvalidProblem
from s2oct.trees.features import Feature, as_features, as_level, refuse_repeated_names
from s2oct.trees.rules import SplitRule, n_terms, plain_number, terms
from s2oct.trees.topology import Topology
from s2oct.trees.tree import ObliqueTree
from s2oct.wording import listed, plural, printable

INDENT = "    "


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

    At the end there is a line for everything that the rules do not say themselves (`remarks`).
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
    """Sentences on what missing numbers and ordered levels count in sums."""
    known, rules = as_features(features), (SplitRule.of(tree, split.node, features) for split in part.splits)
    for j in sorted({j for rule in rules if len(rule.columns) > 1 for j, _ in rule.pairs}):
        feature, name = known[j], printable(known[j].column)
        levels = [f"{i} for {as_level(level)}" for i, level in enumerate(feature.levels)]
        if levels:
            yield f"In a sum, {name} is {listed(levels)}."
        if feature.fill is not None:
            fill = as_level(feature.levels[int(feature.fill)]) if levels else plain_number(feature.fill)
            yield f"In a sum, a missing {name} counts as {fill}."


def rule_text(tree: ObliqueTree, node: int, features: Sequence[Feature | str], *, holds: bool = True) -> str:
    """The rule of a split, which holds for the rows that go left: ``age - 0.5 * income <= 3``, ``region is north``.

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
        The rule, see `SplitRule.parts`.
    """
    return SplitRule.of(tree, node, features).text(holds=holds)


def check_names(tree: ObliqueTree, features: Sequence[Feature | str], classes: Sequence[Any]) -> None:
    """Refuse names unless every class has one, and every feature one of its own."""
    n_classes = 1 + int(tree.leaf_classes.max())
    if len(classes) < n_classes:
        given = plural(len(classes), "class", "classes")
        verb = "was" if len(classes) == 1 else "were"
        raise InvalidProblem(
            f"The tree has {n_classes} classes, but only {given} {verb} given: name them all, in order."
        )
    if len(features) != tree.n_features:
        raise InvalidProblem(f"Expected {tree.n_features} feature names, got {len(features)}.")
    refuse_repeated_names([str(feature) for feature in features])


def few_digits(value: float, digits: int) -> float:
    """Round a number to so many significant digits, but to no less than whole numbers."""
    before_point = len(f"{abs(value):.0f}")
    return float(f"{value:.{max(digits, before_point) - 1}e}")


@dataclass(frozen=True)
class TreeSize:
    """The size of a tree as its reader sees it.

    Attributes
    ----------
    n_splits : int
        Splits that decide something. A node that sends all rows to one side is no split.
    n_terms : int
        Terms in all these splits together: levels of one column are one term, and so are a number and its missing
        values.
    """

    n_splits: int
    n_terms: int

    @property
    def features_per_split(self) -> float:
        """Mean number of terms in a split; 0 for a tree without splits."""
        return self.n_terms / self.n_splits if self.n_splits else 0.0

    @classmethod
    def of_tree(cls, tree: ObliqueTree, features: Sequence[Feature]) -> TreeSize:
        """Count the splits that decide something, and their terms."""
        nodes = [split.node for split in pruned(tree).splits]
        return cls(len(nodes), sum(n_terms(tree.omega[node - 1], features) for node in nodes))


_EXACT = 17
"""Significant digits with which any two floats are written differently."""
_POWERS = 20
"""Powers of ten from the size of two different floats down to one with a multiple between them."""

Hyperplane = tuple[FloatArray, float]
"""Coefficients and offset of a node."""


def as_rules(tree: ObliqueTree, X: FloatArray) -> ObliqueTree:
    """Round a tree to the shortest decimals that keep every row in its leaf.

    A node that splits none of the rows becomes constant. Features that a node does not need to split its rows are left
    out, those of least influence first. A node with one feature left has the coefficient 1 or -1. With several, the
    feature of largest influence that is no indicator has it, and the others have as few significant digits as the rows
    allow. The offset is the shortest decimal between the two sides. A node that no rounding leaves as it splits stays
    exactly as it is.

    Parameters
    ----------
    tree : ObliqueTree
        The tree, in the units of the features.
    X : ndarray of shape (n_rows, p)
        Rows that must keep their leaves: all rows of the fit.

    Returns
    -------
    ObliqueTree
        The rounded tree, or the tree itself where there are no rows.

    Examples
    --------
    >>> import numpy as np
    >>> from s2oct import ObliqueTree, Topology
    >>> tree = ObliqueTree.of(Topology(1), np.array([[-2.0000001, 8e-15]]), np.array([-53.1]))
    >>> rounded = as_rules(tree, np.array([[26.0, 1.0], [27.0, 3.0], [40.0, 2.0]]))
    >>> rounded.omega.tolist(), rounded.gamma.tolist()
    ([[-1.0, 0.0]], [-27.0])
    """
    if not len(X):
        return tree
    rows, leaf = np.asarray(X, dtype=float), tree.apply(X)
    omega, gamma = tree.omega.astype(float), tree.gamma.astype(float)
    # In the order of the leaves, the rows that reach a node lie side by side: those that go left first.
    order = np.argsort(leaf, kind="stable")
    leaf = leaf[order]
    for node in tree.topology.branches:
        levels_below = tree.topology.depth + 1 - node.bit_length()
        ends = np.array([2 * node, 2 * node + 1, 2 * node + 2]) << (levels_below - 1)
        first, middle, last = np.searchsorted(leaf, ends).tolist()
        if first == middle or middle == last:
            # No rows, or all of them on one side.
            omega[node - 1], gamma[node - 1] = 0.0, -1.0 if middle < last else 1.0
        else:
            exact = omega[node - 1].copy(), float(gamma[node - 1])
            omega[node - 1], gamma[node - 1] = _rounded(exact, _Sides(rows[order[first:last]], middle - first))
    return replace(tree, omega=omega, gamma=gamma)


def _rounded(exact: Hyperplane, sides: _Sides) -> Hyperplane:
    """The shortest hyperplane with the same sides of all rows, or the exact one."""
    # Sums of large numbers are rounded. They may overflow, and then no candidate separates the sides.
    with np.errstate(all="ignore"):
        for omega in (sides.without_noise(exact[0]), exact[0]):
            found = sides.shortest(omega)
            if found is not None:
                return found
    return exact


class _Sides:
    """The rows that reach a node, those of the left side first."""

    def __init__(self, rows: FloatArray, n_left: int) -> None:
        self.rows, self.n_left = rows, n_left
        self.right: BoolArray = np.arange(len(rows)) >= n_left
        self.lowest: FloatArray = rows.min(axis=0)
        self.highest: FloatArray = rows.max(axis=0)

    def gap(self, values: FloatArray) -> tuple[float, float] | None:
        """The largest value of the left side and the smallest of the right, if these are finite and in this order."""
        low, high = float(values[: self.n_left].max()), float(values[self.n_left :].min())
        return (low, high) if -math.inf < low < high < math.inf else None

    def without_noise(self, omega: FloatArray) -> FloatArray:
        """Set coefficients to 0, those of least influence first, as long as some offset separates the sides.

        The values are updated from feature to feature. A gap no wider than what this may round is none.
        """
        kept, values = omega.copy(), self._values(omega)
        used, inexact = np.flatnonzero(omega), self._inexact(omega)
        for j in used[np.argsort(self._influence(omega)[used], kind="stable")][:-1]:
            values -= omega[j] * self.rows[:, j]
            gap = self.gap(values)
            if gap is None or not gap[1] - gap[0] > inexact:
                break
            kept[j] = 0.0
        return kept

    def shortest(self, omega: FloatArray) -> Hyperplane | None:
        """The coefficients in units of one of them, with the fewest digits that separate the sides.

        The unit is the coefficient of the number with most influence: what a level is worth is said in its units.

        A gap that may come from the rounding of sums is taken only if there is no other. By hand it does not exist, and
        its offset has all digits of a float.
        """
        used = np.flatnonzero(omega)
        is_number = ~np.isin(self.rows[:, used], (0.0, 1.0)).all(axis=0)
        numbers = used[is_number] if is_number.any() else used
        unit = abs(float(omega[numbers[np.argmax(self._influence(omega)[numbers])]]))
        narrow = None
        for digits in range(1, _EXACT + 1):
            short = np.zeros_like(omega)
            short[used] = [float(f"{c / unit:.{digits - 1}e}") for c in omega[used]]
            gap = self.gap(self._values(short))
            if gap is None:
                continue
            clear = gap[0], gap[1] - self._inexact(short)
            if clear[0] < clear[1]:
                return self._with_offset(short, clear)
            narrow = narrow or (short, gap)
        return None if narrow is None else self._with_offset(*narrow)

    def _with_offset(self, omega: FloatArray, gap: tuple[float, float]) -> Hyperplane | None:
        found = omega, shortest_between(*gap)
        return found if self._agree(found) else None

    def _inexact(self, omega: FloatArray) -> float:
        """By how much the rounding of sums may move two values of rows apart."""
        largest = np.abs(omega) * np.maximum(np.abs(self.lowest), np.abs(self.highest))
        return float(2 * np.count_nonzero(omega) * np.finfo(float).eps * largest.sum())

    def _influence(self, omega: FloatArray) -> FloatArray:
        """Half of what each feature can change in the value of a row; the whole could be infinite."""
        return np.abs(omega) * (self.highest / 2 - self.lowest / 2)

    def _values(self, omega: FloatArray) -> FloatArray:
        return np.asarray(_alone((omega, 0.0)).values(self.rows)[:, 0])

    def _agree(self, plane: Hyperplane) -> bool:
        """Whether every row goes to its side, as predictions decide it."""
        return bool(((_alone(plane).apply(self.rows) == Topology(1).n_leaves + 1) == self.right).all())


def _alone(plane: Hyperplane) -> ObliqueTree:
    """A tree with this hyperplane alone: it adds up sums in the order in which every tree does."""
    return ObliqueTree.of(Topology(1), plane[0][None, :], np.array([plane[1]]))


def shortest_between(low: float, high: float) -> float:
    """Find the shortest decimal of at least ``low`` and below ``high``.

    Parameters
    ----------
    low, high : float
        Finite, in this order, and different.

    Returns
    -------
    float
        A multiple of the largest power of ten that has one there; of several, the one nearest the middle.

    Examples
    --------
    >>> [shortest_between(*ends) for ends in ((26, 27), (95.5, 105), (-3, 5), (0.1, 0.2), (1.23, 1.27))]
    [26.0, 100.0, 0.0, 0.1, 1.25]
    """
    # As decimals, not as the binary numbers behind them: 0.1 is a decimal between 0.1 and 0.2.
    lower, upper = Fraction(repr(float(low))), Fraction(repr(float(high)))
    largest = Decimal(max(abs(low), abs(high))).adjusted() + 1
    for power in range(largest, largest - _POWERS, -1):
        step = Fraction(10) ** power
        first, last = math.ceil(lower / step), math.ceil(upper / step) - 1
        multiple = min(max(round((lower + upper) / (2 * step)), first), last)
        found = float(f"{multiple}e{power}")
        # A decimal of very many digits may be read as the upper end.
        if first <= last and found < high:
            return found
    return low
