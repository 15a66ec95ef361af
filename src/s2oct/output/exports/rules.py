"""Shared by all exports: the rules of a tree, and the tests that splits apply to cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from s2oct.errors import InvalidProblem
from s2oct.tables.encoding import Column, Encoding, plain_encoding
from s2oct.trees.features import NUMBER
from s2oct.trees.rules import ORDERED, SUM, THRESHOLD, Leaf, Pairs, Split, SplitRule, check_names, features_used
from s2oct.trees.tree import ObliqueTree


def checked_encoding(
    tree: ObliqueTree, feature_names: Sequence[str], classes: Sequence[Any], encoding: Encoding | None
) -> Encoding:
    """Return the encoding, or one in which every feature is a column; refuse one with other features."""
    check_names(tree, feature_names, classes)
    columns = encoding or plain_encoding(feature_names)
    if columns.features != tuple(feature_names):
        raise InvalidProblem(
            f"Expected an encoding into the features {list(feature_names)}, got {list(columns.features)}."
        )
    return columns


def plain_classes(classes: Sequence[Any]) -> list[Any]:
    """Convert the class labels from numpy types, whose literals other languages cannot read."""
    return [label.item() if hasattr(label, "item") else label for label in classes]


def columns_used(tree: ObliqueTree, part: Leaf | Split, encoding: Encoding) -> dict[Column, int]:
    """Return the columns used by the splits of a part, with their positions in the table."""
    used = {encoding.sources[j][0].name for j in features_used(tree, part)}
    return {column: position for position, column in enumerate(encoding.columns) if column.name in used}


Comparison = tuple[float, str, float]
"""Coefficient of a number, ``<=`` or ``>=``, and offset."""


@dataclass(frozen=True)
class CellTest:
    """The test that a split on one column applies to a cell.

    Attributes
    ----------
    column : Column
    missing_left : bool or None
        Whether a missing value goes left; None if missing values are refused.
    comparison : Comparison or None
        The comparison that numbers on the left satisfy.
    named : tuple of str
        Categories that go to the opposite side of all others, including those not seen in the fit.
    is_in : bool
        Whether the named categories go left, and the others right.
    """

    column: Column
    missing_left: bool | None
    comparison: Comparison | None = None
    named: tuple[str, ...] = ()
    is_in: bool = False

    @property
    def levels(self) -> tuple[str, ...]:
        """The named categories, and the level of missing values if it goes to the same side."""
        missing = (missing_level(self.column),) if self.missing_left == self.is_in else ()
        return tuple(dict.fromkeys([*self.named, *missing]))

    @property
    def is_about_gaps(self) -> bool:
        """Whether the split only separates missing values from all others."""
        return self.comparison is None and not self.named


def missing_level(column: Column) -> str:
    """Return the level of missing values of a categorical column."""
    return column.missing or str(column.fill)


def positions_of(column: Column) -> dict[str, int]:
    """Return the numbers of the levels of an ordered column in sums, including its missing values."""
    known = {level: place for place, level in enumerate(column.categories)}
    return {missing_level(column): column.fill_position} | known


def cell_test(rule: SplitRule, encoding: Encoding) -> CellTest | None:
    """Return a rule's test of its column; None for a sum, and for a rule that all cells or no cells satisfy."""
    if rule.kind == SUM or (rule.kind == ORDERED and len({*rule.sides.values()}) == 1):
        return None
    (j, _), *_ = rule.pairs
    column, _ = encoding.sources[j]
    if column.kind == NUMBER:
        if rule.kind != THRESHOLD:
            return CellTest(column, rule.sides[str(rule.missing)])
        ((_, coefficient), *_), relation, offset = rule.inequality
        missing_left = None if column.fill is None else rule.goes_left({j: float(column.fill)})
        if column.gaps:
            missing_left = rule.sides[str(rule.missing)]
        return CellTest(column, missing_left, (coefficient, relation, offset))
    is_left = {category: rule.sides[column.word(category)] for category in (*column.categories, str(column.rest))}
    others_left = is_left[str(column.rest)]
    return CellTest(
        column,
        rule.sides[column.missing] if column.missing else others_left,
        named=tuple(category for category in column.categories if is_left[category] != others_left),
        is_in=not others_left,
    )


def written_sum(pairs: Pairs, product: Callable[[float, int], str]) -> str:
    """Write a sum in the order of the features; ``product`` writes the product of a positive factor and a feature."""
    first, *rest = ((c < 0, product(abs(c), j)) for j, c in pairs)
    return " ".join([f"{'-' * first[0]}{first[1]}", *(f"{'-' if minus else '+'} {text}" for minus, text in rest)])


@dataclass(frozen=True, kw_only=True)
class Language:
    """The notation of a language that reads each used column into a variable before it applies the rules.

    The variables are v0, v1, ... by the position of the column; they hold numbers or the levels of categories. In the
    templates, ``{0}`` is a variable.

    Parameters
    ----------
    number, string : callable
        Write a literal that the language reads as exactly this value.
    position : callable
        Write the number of a level in a sum, from the variable and the numbers of all levels.
    is_missing, is_known : str
        Condition for a missing number, and for any other.
    or_missing, and_known : str
        Condition ``{1}`` about a number, and in addition the condition that it is missing, or that it is not.
    is_in, is_not_in : str
        Condition for a level in the list ``{1}``, and for any other.
    filled : str
        The number, or ``{1}`` if it is missing.
    gap : str
        Indicator of a missing number.
    """

    number: Callable[[float], str]
    string: Callable[[str], str]
    position: Callable[[str, dict[str, int]], str]
    is_missing: str
    is_known: str
    or_missing: str
    and_known: str
    is_in: str
    is_not_in: str
    filled: str
    gap: str

    def condition(self, rule: SplitRule, encoding: Encoding) -> str:
        """Write the condition for rows that go left."""
        test = cell_test(rule, encoding)
        if test is None:
            total = written_sum(rule.pairs, lambda c, j: f"{self.number(c)} * {self.feature(j, encoding)}")
            return f"{total} <= {self.number(rule.offset)}"
        value = variable(test.column, encoding)
        if test.column.kind != NUMBER:
            levels = ", ".join(map(self.string, test.levels))
            return (self.is_in if test.is_in else self.is_not_in).format(value, levels)
        if test.comparison is None:
            return (self.is_missing if test.missing_left else self.is_known).format(value)
        comparison = compared(value, test.comparison, self.number)
        if test.missing_left is None:
            return comparison
        return (self.or_missing if test.missing_left else self.and_known).format(value, comparison)

    def feature(self, j: int, encoding: Encoding) -> str:
        """Write a feature of a row, for a sum."""
        column, level = encoding.sources[j]
        value = variable(column, encoding)
        if column.kind == NUMBER and level is not None:
            return self.gap.format(value)
        if column.kind == NUMBER:
            return value if column.fill is None else self.filled.format(value, self.number(float(column.fill)))
        return self.position(value, positions_of(column)) if level is None else f"({value} == {self.string(level)})"


def variable(column: Column, encoding: Encoding) -> str:
    """Return the name of the variable of a column."""
    return f"v{encoding.positions[column.name]}"


def compared(value: str, comparison: Comparison, number: Callable[[float], str]) -> str:
    """Write the comparison of a number with the offset of a rule."""
    coefficient, relation, offset = comparison
    factor = "" if coefficient == 1 else f"{number(coefficient)} * "
    return f"{factor}{value} {relation} {number(offset)}"
