"""The way of one row through the rules of a tree, in sentences."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.model.features import (
    BOOLEAN,
    ONEHOT,
    ORDINAL,
    Feature,
    as_features,
    as_level,
    level_of,
    settings_of,
)
from s2oct.model.rules import Split, few_digits, inequality, left_values, plain_number, pruned, rule_parts, rule_text
from s2oct.model.tree import ObliqueTree
from s2oct.wording import printable

DIGITS = 6
"""Significant digits of sums and values, unless a rule needs more to be seen to hold."""
ABOUT_DIGITS = 4
"""Significant digits of limits that are not exact."""
EXACT = 17
"""Significant digits with which any two floats are written differently."""
MOST_CHANGES = 3
"""For a rule of at most so many features it is said how each of them alone would change the side."""

WIDTH = 100
"""Letters in a line."""


@dataclass(frozen=True)
class Step:
    """One split on the way of a row.

    Attributes
    ----------
    node : int
        Id of the split.
    rule : str
        Its rule, for example ``age - 0.5 * income <= 3``.
    value : float
        What the row has on the left of the rule.
    holds : bool
        Whether the rule holds for the row.
    sentence : str
        The step in words.
    """

    node: int
    rule: str
    value: float
    holds: bool
    sentence: str


@dataclass(frozen=True, repr=False)
class Explanation:
    """Why a row has its class; printed, it is a list of sentences.

    Attributes
    ----------
    steps : tuple of Step
        The splits on the way that decide something, root first.
    predicted : object
        The class label.
    """

    steps: tuple[Step, ...]
    predicted: Any

    def __str__(self) -> str:
        if not self.steps:
            return f"The tree splits nothing: the class of every row is {self.predicted!r}."
        lines = [_wrapped(f"{number}. {step.sentence}") for number, step in enumerate(self.steps, start=1)]
        return "\n".join([*lines, f"The class is {self.predicted!r}."])

    __repr__ = __str__


def explain_row(
    tree: ObliqueTree,
    row: FloatArray,
    features: Sequence[Feature | str],
    classes: Sequence[Any],
    cells: Mapping[str, str | None] | None = None,
) -> Explanation:
    """Explain the class of one row.

    Parameters
    ----------
    tree : ObliqueTree
        The tree, in the units of the features.
    row : ndarray of shape (p,)
        The values of the features.
    features : sequence of Feature or str
        Every feature; a name alone is that of a number.
    classes : sequence
        The class labels, in the order of their indices.
    cells : mapping of str to str or None, optional
        The cells of the row by column, None for a missing one. They are mentioned where the features say something
        else: where a missing value was filled, or a level is unknown.

    Returns
    -------
    Explanation
        The splits on the row's way that decide something, and its class.
    """
    X = np.asarray(row, dtype=float)[None, :]
    right = tree.goes_right(X)[0]
    seen = _SeenRow(X[0].tolist(), as_features(features), cells or {})
    part, steps = pruned(tree), []
    while isinstance(part, Split):
        visit = _Visit(tree, part.node, seen, not right[part.node - 1])
        steps.append(visit.step())
        part = part.left if visit.holds else part.right
    return Explanation(tuple(steps), classes[part.class_index])


@dataclass(frozen=True)
class _SeenRow:
    """A row by its features, and in the words of its columns."""

    values: list[float]
    features: tuple[Feature, ...]
    cells: Mapping[str, str | None]

    def column(self, j: int) -> str:
        return printable(self.features[j].column)

    def level(self, j: int) -> str:
        return level_of(self.features, j, self.values)

    def said(self, j: int, shown: str) -> str:
        """What the row has in a feature's column: ``shown``, unless its cell says something else."""
        column, kind = self.features[j].column, self.features[j].kind
        cell = self.cells.get(column, "")
        if cell is None and shown != self.features[j].missing:
            shown = f"missing and counts as {shown}"
        elif cell and kind in (ONEHOT, ORDINAL) and cell != self.level(j):
            shown = f"{as_level(cell)} and counts as {shown}"
        return f"{printable(column)} is {shown}"

    def said_in_sum(self, j: int) -> str:
        """The same for a sum, where an ordered level counts by its position."""
        if not self.features[j].n_values:
            return self.said(j, plain_number(few_digits(self.values[j], DIGITS)))
        said = self.said(j, as_level(self.level(j)))
        return f"{said} ({plain_number(self.values[j])})" if self.features[j].levels else said


@dataclass(frozen=True)
class _Visit:
    """A row at a split, and whether the rule of the split holds for it."""

    tree: ObliqueTree
    node: int
    row: _SeenRow
    holds: bool

    def step(self) -> Step:
        pairs, relation, bound = inequality(self.tree, self.node)
        rule = rule_text(self.tree, self.node, self.row.features)
        total = self._total(pairs, {})
        [(j, coefficient), *more] = pairs
        verdict = "holds" if self.holds else "does not hold"
        level_change = "" if more else self._change_of_level(j)
        if level_change:
            said = self.row.said(j, as_level(self.row.level(j)))
            return Step(self.node, rule, total, self.holds, f'{said}, so "{rule}" {verdict}. {level_change}')
        rises = (relation == "<=") == self.holds
        comparison = f"{_beside(total, bound)} {relation} {plain_number(bound)} {verdict}"
        change = self._where(rises, plain_number(bound))
        if not more and coefficient == 1:
            sentence = f"{self.row.said(j, _beside(total, bound))}, and {comparison}. It would change {change}."
        else:
            given = ", ".join(dict.fromkeys(self.row.said_in_sum(j) for j, _ in pairs))
            changes = self._changes(pairs, bound - total, rises) if len(pairs) <= MOST_CHANGES else ""
            products = " ".join(rule_parts(self.tree, self.node, self.row.features)[:-1])
            written = f"{products} = {_beside(total, bound)} ({given})"
            sentence = f"{written}, and {comparison}. It would change {change}{changes}."
        return Step(self.node, rule, total, self.holds, sentence)

    def _total(self, pairs: Sequence[tuple[int, float]], setting: Mapping[int, float]) -> float:
        """The sum of a rule, some values replaced."""
        total = 0.0
        for j, coefficient in pairs:
            total += coefficient * setting.get(j, self.row.values[j])
        return total

    def _change_of_level(self, j: int) -> str:
        """The levels with which a rule about one column is decided otherwise; empty if the rule is about a number."""
        feature = self.row.features[j]
        others = [is_left != self.holds for is_left in left_values(self.tree, self.node, feature)]
        if not others:
            return ""
        column = self.row.column(j)
        if not any(others):
            return f"It would change with no other {column}."
        if feature.levels:
            where = _levels_at(feature, [feature.levels[i] for i, is_other in enumerate(others) if is_other])
            return f"It would change {where}."
        if others[1]:
            return f"It would change if {column} were {as_level(str(feature.level))}."
        if feature.level == feature.missing:
            return f"It would change if {column} were not {feature.missing}."
        if feature.kind == BOOLEAN:
            levels = (level for level in (feature.rest, feature.missing) if level)
            return f"It would change if {column} were {' or '.join(levels)}."
        return f"It would change with another {column}."

    def _where(self, rises: bool, limit: str) -> str:
        """Where the rule is decided otherwise; a rule that holds still holds at its limit."""
        side = "above" if rises else "below"
        return f"{side} {limit}" if self.holds else f"at {limit} or {side}"

    def _changes(self, pairs: Sequence[tuple[int, float]], lacking: float, rises: bool) -> str:
        """Where each column alone would have to go."""
        found = []
        for j, coefficient in pairs:
            if self.row.features[j].n_values:
                found += self._levels_that_change(pairs, j)
                continue
            limit = self.row.values[j] + lacking / coefficient
            if math.isfinite(limit):
                found.append(f"with {self.row.column(j)} {self._where(rises == (coefficient > 0), _about(limit))}")
        start = "that is" if len(pairs) == 1 else "for instance"
        return f", {start} {', or '.join(dict.fromkeys(found))}" if found else ""

    def _levels_that_change(self, pairs: Sequence[tuple[int, float]], j: int) -> list[str]:
        _, relation, bound = inequality(self.tree, self.node)
        settings, column, feature = settings_of(self.row.features, j), self.row.column(j), self.row.features[j]
        changing = []
        for level, setting in settings.items():
            total = self._total(pairs, setting)
            if (total <= bound if relation == "<=" else total >= bound) != self.holds:
                changing.append(level)
        if feature.levels:
            return [f"with {column} {_levels_at(feature, changing)}"] if changing else []
        if len(changing) == len(settings) - 1 > 1:
            return [f"with another {column}"]
        shown = [as_level(level) for level in changing[:MOST_CHANGES]]
        return [f"with {column} {' or '.join(shown)}"] if shown else []


def _levels_at(feature: Feature, levels: Sequence[str]) -> str:
    """Say which levels of an ordered column these are, its lowest or its highest."""
    all_known = [level for level in feature.levels if level != feature.missing]
    known = [level for level in levels if level in all_known]
    missing = f"if it were {feature.missing}" if len(known) < len(levels) else ""
    if not known:
        return missing
    if not missing and len(known) == len(all_known):
        return f"if it were not {feature.missing}"
    is_lowest = known[0] == all_known[0]
    where = f"at {as_level(known[-1 if is_lowest else 0])}"
    where += "" if len(known) == 1 else " or below" if is_lowest else " or above"
    return f"{where}, or {missing}" if missing else where


def _beside(value: float, bound: float) -> str:
    """A value with few digits, but enough to see on which side of a bound it is."""
    for digits in range(DIGITS, EXACT):
        short = few_digits(value, digits)
        if (short <= bound) == (value <= bound) and (short >= bound) == (value >= bound):
            return plain_number(short)
    return plain_number(value)


def _about(value: float) -> str:
    """A limit with few digits, and a word if they are not all of it."""
    short = few_digits(value, DIGITS)
    if math.isclose(short, value, rel_tol=1e-12, abs_tol=1e-12):
        return plain_number(short)
    return f"about {plain_number(few_digits(value, ABOUT_DIGITS))}"


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH, subsequent_indent="   ", break_long_words=False, break_on_hyphens=False)
