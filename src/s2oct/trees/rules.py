"""The rules of a tree: splits and leaves as shown to readers, and the rounding of their numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from s2oct.arrays import BoolArray, FloatArray
from s2oct.errors import InvalidProblem
from s2oct.trees.features import (
    BOOLEAN,
    Feature,
    FeatureColumn,
    as_features,
    as_level,
    columns_of,
    refuse_repeated_names,
)
from s2oct.trees.tree import ObliqueTree, Topology
from s2oct.wording import listed, plural, printable

LEVELS, ORDERED, THRESHOLD, MISSING_ONLY, SUM = "levels", "ordered", "threshold", "missing", "sum"

LEAST_WRITTEN_OUT = 1e-6
"""Smaller numbers are written with an exponent, because zeros are hard to count."""

_OPPOSITE = {"<=": ">", ">=": "<"}

Pairs = tuple[tuple[int, float], ...]
"""Features with their coefficients, in the order of the features."""


def terms(tree: ObliqueTree, node: int) -> tuple[Pairs, float]:
    """Return the (feature, coefficient) pairs of a split in the order of addition, and its offset."""
    omega = tree.omega[node - 1]
    return tuple((j, float(omega[j])) for j in np.flatnonzero(omega).tolist()), float(tree.gamma[node - 1])


def n_terms(omega: FloatArray, features: Sequence[Feature]) -> int:
    """Count the terms of a split: levels of one column are one term, and so are a number and its missing values.

    Parameters
    ----------
    omega : ndarray of shape (p,)
        Coefficients of one split.
    features : sequence of Feature
        All features.

    Returns
    -------
    int
        Number of columns with a nonzero coefficient.
    """
    return len({features[j].column for j in np.flatnonzero(omega).tolist()})


@dataclass(frozen=True)
class Term:
    """A term of a sum: a number, or indicators of one column with the same coefficient.

    Attributes
    ----------
    coefficient : float
    indices : tuple of int
        The features.
    text : str
        The factor of the coefficient: ``age``, ``(region in (coast, north))``.
    """

    coefficient: float
    indices: tuple[int, ...]
    text: str


@dataclass(frozen=True)
class SplitRule:
    """The rule of a split, which holds for the rows that go left.

    Its text depends on where the split sends each level of a column and its missing values, not on how the coefficients
    are written.

    Attributes
    ----------
    features : tuple of Feature
        All features of the tree.
    pairs : tuple of (int, float)
        The features with a nonzero coefficient, in the order of addition.
    offset : float
        Rows whose sum is at most this number go left.
    """

    features: tuple[Feature, ...]
    pairs: Pairs
    offset: float

    @classmethod
    def of(cls, tree: ObliqueTree, node: int, features: Sequence[Feature | str]) -> SplitRule:
        """Return the rule of a node that uses at least one feature; a plain name denotes a numeric feature."""
        return cls(as_features(features), *terms(tree, node))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Columns of the rule."""
        return columns_of(self.features[j] for j, _ in self.pairs)

    @cached_property
    def kind(self) -> str:
        """Kind of the rule.

        LEVELS is about levels of one unordered column, ORDERED about those of an ordered column, THRESHOLD about a
        number, and MISSING_ONLY only about missing values of a column. Everything else is a SUM, including a rule that
        holds for all levels of its column or for none.
        """
        if len(self.columns) > 1:
            return SUM
        first = self.features[self.pairs[0][0]]
        if first.level is None and not first.levels:
            return THRESHOLD
        if self.column.measured is None:
            return LEVELS if len({*self.sides.values()}) > 1 else SUM
        known = [is_left for level, is_left in self.sides.items() if level != self.missing] or [self.goes_left({})]
        if self.missing and self.sides[self.missing] not in known and len({*known}) == 1:
            return MISSING_ONLY
        return ORDERED if first.level is None else SUM

    @cached_property
    def column(self) -> FeatureColumn:
        """The first column with all its features."""
        return FeatureColumn.of(self.features, self.pairs[0][0])

    @cached_property
    def sides(self) -> dict[str, bool]:
        """Whether each level of the first column, including missing values, goes left if all other columns are 0."""
        return {level: self.goes_left(setting) for level, setting in self.column.settings.items()}

    @property
    def missing(self) -> str | None:
        """The level of missing values of the first column; None if it had none in the fit."""
        return self.column.missing

    def total(self, values: Mapping[int, float]) -> float:
        """Return the sum for some values of features, with 0 for all others, in the trees' order of addition."""
        total = 0.0
        for j, coefficient in self.pairs:
            total += coefficient * values.get(j, 0.0)
        return total

    def goes_left(self, values: Mapping[int, float]) -> bool:
        """Whether a row with some values of features, and 0 for all others, goes left."""
        return self.total(values) <= self.offset

    @cached_property
    def inequality(self) -> tuple[Pairs, str, float]:
        """Features with coefficients, ``<=`` or ``>=``, and offset, with signs such that the leading term is positive.

        Both directions classify every row alike, because negating floats is exact.
        """
        if self._leading[1] > 0:
            return self.pairs, "<=", self.offset
        return tuple((j, -c) for j, c in self.pairs), ">=", 0.0 - self.offset  # no minus before a zero

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """Terms of the sum as written: the first one with the coefficient 1 leads, if there is one."""
        pairs, _, _ = self.inequality
        together: dict[tuple[object, ...], list[int]] = {}
        for j, coefficient in pairs:
            feature = self.features[j]
            together.setdefault((feature.column, feature.level is None, coefficient), []).append(j)
        found = [
            Term(dict(pairs)[indices[0]], tuple(indices), self._product([self.features[j] for j in indices]))
            for indices in together.values()
        ]
        return tuple(sorted(found, key=lambda term: self._leading[0] not in term.indices))

    @cached_property
    def _leading(self) -> tuple[int, float]:
        """Feature that is written first: with several columns, one with the coefficient 1 or -1.

        If there are several, it is the one that gives the rule the fewest minus signs.
        """
        units = [pair for pair in self.pairs if abs(pair[1]) == 1 and len(self.columns) > 1]

        def minus_signs(pair: tuple[int, float]) -> tuple[int, bool]:
            return sum(c * pair[1] < 0 for _, c in self.pairs), self.offset * pair[1] < 0

        return min(units or self.pairs[:1], key=minus_signs)

    @staticmethod
    def _product(features: Sequence[Feature]) -> str:
        """Return the text multiplied by one coefficient: a number, or the indicators of one column."""
        first = features[0]
        if first.level is None:
            return printable(first.column)
        if first.kind == BOOLEAN:
            statement = " or ".join([features[0].statement, *(str(feature.level) for feature in features[1:])])
            return statement if statement == printable(first.column) else f"({statement})"
        return f"({_levels_text(first.column, [str(feature.level) for feature in features], is_in=True)})"

    def text(self, *, holds: bool = True) -> str:
        """Return the rule on one line, or its negation, which holds for the rows that go right."""
        return " ".join(self.parts(holds=holds))

    def parts(self, *, holds: bool = True) -> tuple[str, ...]:
        """Return the terms of the rule with their signs, then its comparison.

        The numbers are exactly those of the tree: nothing is divided, because that would round.

        Parameters
        ----------
        holds : bool
            False for the negation, which holds for the rows that go right.

        Returns
        -------
        tuple of str
            For example ``("age", "- 3 * children", ">= 20")``, ``("age", ">= 27 or missing")``,
            ``("education", ">= secondary")`` or ``("region in (coast, north)",)``.
        """
        column = printable(self.columns[0])
        if self.kind == MISSING_ONLY:
            is_in = self.sides[str(self.missing)] == holds
            return (f"{column} is {'' if is_in else 'not '}{self.missing}",)
        if self.kind == LEVELS:
            return (self._of_levels(holds),)
        if self.kind == ORDERED:
            return column, self._of_order(holds) + self._or_missing(holds)
        _, relation, offset = self.inequality
        comparison = f"{relation if holds else _OPPOSITE[relation]} {plain_number(offset)}"
        if self.kind == THRESHOLD:
            return (*self._signed(), comparison + self._or_missing(holds))
        return (*self._signed(), comparison)

    def _signed(self) -> Iterator[str]:
        """Yield the terms with their signs."""
        for i, term in enumerate(self.terms if self.kind == SUM else self.terms[:1]):
            size, sign = abs(term.coefficient), "- " if term.coefficient < 0 else "+ "
            yield f"{sign if i else ''}{'' if size == 1 else f'{plain_number(size)} * '}{term.text}"

    def _or_missing(self, holds: bool) -> str:
        return f" or {self.missing}" if self.missing and self.sides[self.missing] == holds else ""

    def _of_levels(self, holds: bool) -> str:
        """List levels with an indicator; all others, including new ones, are treated like the level without one."""
        if self.features[self.pairs[0][0]].kind == BOOLEAN:
            inside = [level for level, is_left in self.sides.items() if is_left == holds and level != self.missing]
            column = printable(self.columns[0])
            if len(inside) == 1:
                return f"{column if inside[0] != self.column.rest else f'not {column}'}{self._or_missing(holds)}"
            return f"{column} is {'not ' if inside else ''}{self.missing}"
        rest = self.sides[str(self.column.rest)]
        named = [level for level, is_left in self.sides.items() if is_left != rest]
        return _levels_text(self.columns[0], named, is_in=rest != holds)

    def _of_order(self, holds: bool) -> str:
        known = {level: is_left == holds for level, is_left in self.sides.items() if level != self.missing}
        inside = [level for level, is_in in known.items() if is_in]
        if not inside:
            return f"> {as_level([*known][-1])}"
        is_lowest = next(iter(known.values()))
        return f"{'<=' if is_lowest else '>='} {as_level(inside[-1 if is_lowest else 0])}"


def _levels_text(column: str, levels: Sequence[str], *, is_in: bool) -> str:
    """Return ``region is north``, ``region in (coast, north)``, or the negation."""
    shown = printable(column)
    if len(levels) == 1:
        return f"{shown} is {'' if is_in else 'not '}{as_level(levels[0])}"
    return f"{shown} {'' if is_in else 'not '}in ({', '.join(as_level(level, listed=True) for level in levels)})"


def plain_number(value: float) -> str:
    """Return the shortest decimal that parses as exactly this float: ``27``, ``0.5``, ``0.00005``, ``1e-07``."""
    if LEAST_WRITTEN_OUT <= abs(value) < 1:
        return str(np.format_float_positional(value, trim="-"))
    return repr(float(value) + 0.0).removesuffix(".0")  # + 0.0: no minus before a zero


INDENT = "    "


@dataclass(frozen=True)
class Leaf:
    """Leaves of one class, shown as one leaf."""

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
        """No splits."""
        return ()


@dataclass(frozen=True)
class Split:
    """A branch node that has an effect."""

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
    """Return the tree below a node without splits that are constant or have the same rules on both sides."""
    first_leaf = tree.topology.n_leaves
    if node >= first_leaf:
        return Leaf((node,), int(tree.leaf_classes[node - first_leaf]))
    if not tree.omega[node - 1].any():
        everyone_goes_right = -tree.gamma[node - 1] > 0
        return pruned(tree, 2 * node + int(everyone_goes_right))
    left, right = pruned(tree, 2 * node), pruned(tree, 2 * node + 1)
    return _joined(tree, left, right) or Split(node, left, right)


def _joined(tree: ObliqueTree, left: Leaf | Split, right: Leaf | Split) -> Leaf | Split | None:
    """Merge two parts if they have the same rules and classes."""
    if isinstance(left, Leaf) and isinstance(right, Leaf):
        is_same = left.class_index == right.class_index
        return Leaf(left.ids + right.ids, left.class_index) if is_same else None
    if isinstance(left, Leaf) or isinstance(right, Leaf) or terms(tree, left.node) != terms(tree, right.node):
        return None
    below = _joined(tree, left.left, right.left), _joined(tree, left.right, right.right)
    return None if below[0] is None or below[1] is None else Split(left.node, below[0], below[1])


def conditions(part: Leaf | Split, leaf: Leaf) -> Iterator[tuple[Split, bool]]:
    """Yield the splits on the path to a leaf, root first, and whether the path goes right at each."""
    while isinstance(part, Split):
        right = leaf in part.right.leaves
        yield part, right
        part = part.right if right else part.left


def features_used(tree: ObliqueTree, part: Leaf | Split) -> list[int]:
    """Return the features used by the splits of a part, in order."""
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
    """Return a tree as lines of nested rules; ``note`` returns the text after the class of a leaf.

    The last lines are the `remarks` about what the rules themselves do not say.
    """
    check_names(tree, features, classes)

    def lines(part: Leaf | Split, indent: str) -> Iterator[str]:
        if isinstance(part, Leaf):
            yield f"{indent}{printable(classes[part.class_index])}{note(part)}"
            return
        yield f"{indent}if {SplitRule.of(tree, part.node, features).text()}:"
        yield from lines(part.left, indent + INDENT)
        yield f"{indent}otherwise:"
        yield from lines(part.right, indent + INDENT)

    root = pruned(tree)
    return chain(lines(root, ""), remarks(tree, root, features))


def remarks(tree: ObliqueTree, part: Leaf | Split, features: Sequence[Feature | str]) -> Iterator[str]:
    """Yield sentences about the values of missing numbers and ordered levels in sums."""
    known, rules = as_features(features), (SplitRule.of(tree, split.node, features) for split in part.splits)
    for j in sorted({j for rule in rules if len(rule.columns) > 1 for j, _ in rule.pairs}):
        feature, name = known[j], printable(known[j].column)
        levels = [f"{i} for {as_level(level)}" for i, level in enumerate(feature.levels)]
        if levels:
            yield f"In a sum, {name} is {listed(levels)}."
        if feature.fill is not None:
            fill = as_level(feature.levels[int(feature.fill)]) if levels else plain_number(feature.fill)
            yield f"In a sum, a missing {name} counts as {fill}."


def check_names(tree: ObliqueTree, features: Sequence[Feature | str], classes: Sequence[Any]) -> None:
    """Refuse names unless every class has one and every feature has a unique one."""
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
    """Round a number to ``digits`` significant digits, keeping all digits before the decimal point."""
    before_point = len(f"{abs(value):.0f}")
    return float(f"{value:.{max(digits, before_point) - 1}e}")


@dataclass(frozen=True)
class TreeSize:
    """The size of a tree as shown to readers.

    Attributes
    ----------
    n_splits : int
        Number of splits with an effect. A node that sends all rows to one side is not a split.
    n_terms : int
        Number of terms in all these splits: levels of one column are one term, and so are a number and its missing
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
        """Count the splits with an effect, and their terms."""
        nodes = [split.node for split in pruned(tree).splits]
        return cls(len(nodes), sum(n_terms(tree.omega[node - 1], features) for node in nodes))


_EXACT = 17
"""Significant digits that distinguish any two floats."""
_POWERS = 20
"""Powers of ten from the size of two distinct floats down to one that has a multiple between them."""

Hyperplane = tuple[FloatArray, float]
"""Coefficients and offset of a node."""


def as_rules(tree: ObliqueTree, X: FloatArray) -> ObliqueTree:
    """Round a tree to the shortest decimals that keep every row in its leaf.

    A node that splits none of the rows becomes constant. Features that a node does not need to split its rows are
    removed, those with the least influence first. If one feature remains, its coefficient is 1 or -1. If several
    remain, the most influential feature that is not an indicator has this coefficient, and the others have as few
    significant digits as the rows allow. The offset is the shortest decimal between the two sides. A node whose split
    would change under any rounding is left unrounded.

    Parameters
    ----------
    tree : ObliqueTree
        The tree, in the units of the features.
    X : ndarray of shape (n_rows, p)
        Rows that must keep their leaves: all rows of the fit.

    Returns
    -------
    ObliqueTree
        The rounded tree, or the tree itself if there are no rows.

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
    # Sorted by leaf, the rows that reach a node are contiguous: those that go left come first.
    order = np.argsort(leaf, kind="stable")
    leaf = leaf[order]
    for node in tree.topology.branches:
        levels_below = tree.topology.depth + 1 - node.bit_length()
        ends = np.array([2 * node, 2 * node + 1, 2 * node + 2]) << (levels_below - 1)
        first, middle, last = np.searchsorted(leaf, ends).tolist()
        if first == middle or middle == last:
            # There are no rows, or all are on one side.
            omega[node - 1], gamma[node - 1] = 0.0, -1.0 if middle < last else 1.0
        else:
            exact = omega[node - 1].copy(), float(gamma[node - 1])
            omega[node - 1], gamma[node - 1] = _rounded(exact, _Sides(rows[order[first:last]], middle - first))
    return replace(tree, omega=omega, gamma=gamma)


def _rounded(exact: Hyperplane, sides: _Sides) -> Hyperplane:
    """Return the shortest hyperplane that keeps all rows on their sides, or the exact one."""
    # Sums of large numbers are rounded. They may overflow, and then no candidate separates the sides.
    with np.errstate(all="ignore"):
        for omega in (sides.without_noise(exact[0]), exact[0]):
            found = sides.shortest(omega)
            if found is not None:
                return found
    return exact


class _Sides:
    """The rows that reach a node, those on the left first."""

    def __init__(self, rows: FloatArray, n_left: int) -> None:
        self.rows, self.n_left = rows, n_left
        self.right: BoolArray = np.arange(len(rows)) >= n_left
        self.lowest: FloatArray = rows.min(axis=0)
        self.highest: FloatArray = rows.max(axis=0)

    def separation(self, values: FloatArray) -> tuple[float, float] | None:
        """Return the largest value on the left and the smallest on the right, if they are finite and in this order."""
        low, high = float(values[: self.n_left].max()), float(values[self.n_left :].min())
        return (low, high) if -math.inf < low < high < math.inf else None

    def without_noise(self, omega: FloatArray) -> FloatArray:
        """Set coefficients to 0, those with the least influence first, while some offset separates the sides.

        The values are updated feature by feature. A separation within the possible rounding error does not count.
        """
        kept, values = omega.copy(), self._values(omega)
        used, inexact = np.flatnonzero(omega), self._inexact(omega)
        for j in used[np.argsort(self._influence(omega)[used], kind="stable")][:-1]:
            values -= omega[j] * self.rows[:, j]
            separation = self.separation(values)
            if separation is None or not separation[1] - separation[0] > inexact:
                break
            kept[j] = 0.0
        return kept

    def shortest(self, omega: FloatArray) -> Hyperplane | None:
        """Return the coefficients in units of one of them, with the fewest digits that separate the sides.

        The unit is the coefficient of the most influential number, so that levels are expressed in its units.

        A separation that may be a rounding error of sums is used only if there is no other. It does not exist in
        exact arithmetic, and its offset needs all digits of a float.
        """
        used = np.flatnonzero(omega)
        is_number = ~np.isin(self.rows[:, used], (0.0, 1.0)).all(axis=0)
        numbers = used[is_number] if is_number.any() else used
        unit = abs(float(omega[numbers[np.argmax(self._influence(omega)[numbers])]]))
        narrow = None
        for digits in range(1, _EXACT + 1):
            short = np.zeros_like(omega)
            short[used] = [float(f"{c / unit:.{digits - 1}e}") for c in omega[used]]
            separation = self.separation(self._values(short))
            if separation is None:
                continue
            clear = separation[0], separation[1] - self._inexact(short)
            if clear[0] < clear[1]:
                return self._with_offset(short, clear)
            narrow = narrow or (short, separation)
        return None if narrow is None else self._with_offset(*narrow)

    def _with_offset(self, omega: FloatArray, separation: tuple[float, float]) -> Hyperplane | None:
        found = omega, shortest_between(*separation)
        return found if self._agree(found) else None

    def _inexact(self, omega: FloatArray) -> float:
        """Return the maximum rounding error of the difference between two rows' values."""
        largest = np.abs(omega) * np.maximum(np.abs(self.lowest), np.abs(self.highest))
        return float(2 * np.count_nonzero(omega) * np.finfo(float).eps * largest.sum())

    def _influence(self, omega: FloatArray) -> FloatArray:
        """Return half the range of each feature's contribution to a row's value; the whole range could overflow."""
        return np.abs(omega) * (self.highest / 2 - self.lowest / 2)

    def _values(self, omega: FloatArray) -> FloatArray:
        return np.asarray(_alone((omega, 0.0)).values(self.rows)[:, 0])

    def _agree(self, plane: Hyperplane) -> bool:
        """Whether predictions send every row to its side."""
        return bool(((_alone(plane).apply(self.rows) == Topology(1).n_leaves + 1) == self.right).all())


def _alone(plane: Hyperplane) -> ObliqueTree:
    """Return a tree with only this hyperplane, which adds up sums in the same order as every tree."""
    return ObliqueTree.of(Topology(1), plane[0][None, :], np.array([plane[1]]))


def shortest_between(low: float, high: float) -> float:
    """Return the shortest decimal that is at least ``low`` and below ``high``.

    Parameters
    ----------
    low, high : float
        Finite numbers, ``low`` less than ``high``.

    Returns
    -------
    float
        A multiple of the largest power of ten with a multiple in this interval; if there are several, the nearest to
        the middle.

    Examples
    --------
    >>> [shortest_between(*ends) for ends in ((26, 27), (95.5, 105), (-3, 5), (0.1, 0.2), (1.23, 1.27))]
    [26.0, 100.0, 0.0, 0.1, 1.25]
    """
    # Compare decimals, not their binary representations: 0.1 is a decimal between 0.1 and 0.2.
    lower, upper = Fraction(repr(float(low))), Fraction(repr(float(high)))
    largest = Decimal(max(abs(low), abs(high))).adjusted() + 1
    for power in range(largest, largest - _POWERS, -1):
        step = Fraction(10) ** power
        first, last = math.ceil(lower / step), math.ceil(upper / step) - 1
        multiple = min(max(round((lower + upper) / (2 * step)), first), last)
        found = float(f"{multiple}e{power}")
        # A decimal with very many digits may be parsed as the upper end.
        if first <= last and found < high:
            return found
    return low
