"""A split as its reader sees it: levels of one column, a threshold and where missing values go, or a sum."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.trees.features import BOOLEAN, Feature, FeatureColumn, as_features, as_level, columns_of
from s2oct.trees.tree import ObliqueTree
from s2oct.wording import printable

LEVELS, ORDERED, THRESHOLD, GAPS, SUM = "levels", "ordered", "threshold", "gaps", "sum"

LEAST_WRITTEN_OUT = 1e-6
"""Smaller numbers are written with an exponent: their zeros would have to be counted."""

_OPPOSITE = {"<=": ">", ">=": "<"}

Pairs = tuple[tuple[int, float], ...]
"""Features with their coefficients, in the order of the features."""


def terms(tree: ObliqueTree, node: int) -> tuple[Pairs, float]:
    """(feature, coefficient) pairs of a split in the order in which they are added up, and its offset."""
    omega = tree.omega[node - 1]
    return tuple((j, float(omega[j])) for j in np.flatnonzero(omega).tolist()), float(tree.gamma[node - 1])


def n_terms(omega: FloatArray, features: Sequence[Feature]) -> int:
    """Count what a reader sees as one term: levels of one column, or a number and its missing values.

    Parameters
    ----------
    omega : ndarray of shape (p,)
        Coefficients of one split.
    features : sequence of Feature
        Every feature.

    Returns
    -------
    int
        The number of columns with a coefficient other than 0.
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
        What is multiplied: ``age``, ``(region in (coast, north))``.
    """

    coefficient: float
    indices: tuple[int, ...]
    text: str


@dataclass(frozen=True)
class SplitRule:
    """The rule of a split, which holds for the rows that go left.

    What it says follows from what the split does with every level of a column and with its missing values, not from
    how the coefficients are written.

    Attributes
    ----------
    features : tuple of Feature
        Every feature of the tree.
    pairs : tuple of (int, float)
        The features with a coefficient other than 0, in the order in which they are added up.
    offset : float
        Their sum is at most this number in the rows that go left.
    """

    features: tuple[Feature, ...]
    pairs: Pairs
    offset: float

    @classmethod
    def of(cls, tree: ObliqueTree, node: int, features: Sequence[Feature | str]) -> SplitRule:
        """The rule of a node that uses some feature; a name alone is that of a number."""
        return cls(as_features(features), *terms(tree, node))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns that the rule is about."""
        return columns_of(self.features[j] for j, _ in self.pairs)

    @cached_property
    def kind(self) -> str:
        """What the rule is about.

        LEVELS are those of one column without an order, ORDERED ones those of a column with an order. A THRESHOLD is
        one of a number. GAPS are the missing values of a column alone. Everything else is a SUM, also a rule that all
        levels of its column fulfil or none.
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
            return GAPS
        return ORDERED if first.level is None else SUM

    @cached_property
    def column(self) -> FeatureColumn:
        """The first column with all its features."""
        return FeatureColumn.of(self.features, self.pairs[0][0])

    @cached_property
    def sides(self) -> dict[str, bool]:
        """Whether each level of the first column goes left, its missing values included; 0 in all other columns."""
        return {level: self.goes_left(setting) for level, setting in self.column.settings.items()}

    @property
    def missing(self) -> str | None:
        """The level of the missing values of the first column; None if it had none in the fit."""
        return self.column.missing

    def total(self, values: Mapping[int, float]) -> float:
        """Add up the sum for some values of features, the others being 0, in the order in which trees add."""
        total = 0.0
        for j, coefficient in self.pairs:
            total += coefficient * values.get(j, 0.0)
        return total

    def goes_left(self, values: Mapping[int, float]) -> bool:
        """Whether a row with some values of features, the others being 0, goes left."""
        return self.total(values) <= self.offset

    @cached_property
    def inequality(self) -> tuple[Pairs, str, float]:
        """The features with coefficients, ``<=`` or ``>=``, and the offset, so that the leading term has no minus.

        Both ways round decide every row alike, because floats are negated without rounding.
        """
        if self._leading[1] > 0:
            return self.pairs, "<=", self.offset
        return tuple((j, -c) for j, c in self.pairs), ">=", 0.0 - self.offset  # no minus before a zero

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """The terms of the sum as they are written: the first with the coefficient 1 leads, if there is one."""
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
        """The feature that is written first: if there are several columns, one with the coefficient 1 or -1.

        Of several, it is the one with which the rule has the fewest minus signs.
        """
        units = [pair for pair in self.pairs if abs(pair[1]) == 1 and len(self.columns) > 1]

        def minus_signs(pair: tuple[int, float]) -> tuple[int, bool]:
            return sum(c * pair[1] < 0 for _, c in self.pairs), self.offset * pair[1] < 0

        return min(units or self.pairs[:1], key=minus_signs)

    @staticmethod
    def _product(features: Sequence[Feature]) -> str:
        """What is multiplied with one coefficient: a number, or the indicators of one column."""
        first = features[0]
        if first.level is None:
            return printable(first.column)
        if first.kind == BOOLEAN:
            told = " or ".join([features[0].statement, *(str(feature.level) for feature in features[1:])])
            return told if told == printable(first.column) else f"({told})"
        return f"({_levels_text(first.column, [str(feature.level) for feature in features], is_in=True)})"

    def text(self, *, holds: bool = True) -> str:
        """The rule on one line, or its opposite, which holds for the rows that go right."""
        return " ".join(self.parts(holds=holds))

    def parts(self, *, holds: bool = True) -> tuple[str, ...]:
        """The terms of the rule with their signs, and at the end its comparison.

        The numbers are exactly those that decide: nothing is divided, because that would round.

        Parameters
        ----------
        holds : bool
            False for the opposite, which holds for the rows that go right.

        Returns
        -------
        tuple of str
            For example ``("age", "- 3 * children", ">= 20")``, ``("age", ">= 27 or missing")``,
            ``("education", ">= secondary")`` or ``("region in (coast, north)",)``.
        """
        column = printable(self.columns[0])
        if self.kind == GAPS:
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
        """The terms with their signs."""
        for i, term in enumerate(self.terms if self.kind == SUM else self.terms[:1]):
            size, sign = abs(term.coefficient), "- " if term.coefficient < 0 else "+ "
            yield f"{sign if i else ''}{'' if size == 1 else f'{plain_number(size)} * '}{term.text}"

    def _or_missing(self, holds: bool) -> str:
        return f" or {self.missing}" if self.missing and self.sides[self.missing] == holds else ""

    def _of_levels(self, holds: bool) -> str:
        """Name levels that have an indicator: all others, also new ones, are like the one that has none."""
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
    """``region is north``, ``region in (coast, north)``, or that it is not."""
    shown = printable(column)
    if len(levels) == 1:
        return f"{shown} is {'' if is_in else 'not '}{as_level(levels[0])}"
    return f"{shown} {'' if is_in else 'not '}in ({', '.join(as_level(level, listed=True) for level in levels)})"


def plain_number(value: float) -> str:
    """The shortest decimal that is read as exactly this float: ``27``, ``0.5``, ``0.00005``, ``1e-07``."""
    if LEAST_WRITTEN_OUT <= abs(value) < 1:
        return str(np.format_float_positional(value, trim="-"))
    return repr(float(value) + 0.0).removesuffix(".0")  # + 0.0: no minus before a zero
