"""The rule of a split as shown to readers: levels of one column, a threshold with missing values, or a sum."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.trees.features import BOOLEAN, Feature, FeatureColumn, as_features, as_level, columns_of
from s2oct.trees.tree import ObliqueTree
from s2oct.wording import printable

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
