"""The path of one row through the rules of a tree, in sentences."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.trees.features import BOOLEAN, ONEHOT, ORDINAL, Feature, FeatureColumn, as_level
from s2oct.trees.rules import MISSING_ONLY, ORDERED, SUM, THRESHOLD, Split, SplitRule, few_digits, plain_number, pruned
from s2oct.trees.tree import ObliqueTree
from s2oct.wording import alternatives, printable

DIGITS = 6
"""Significant digits of sums and values, unless showing that a rule holds takes more."""
ABOUT_DIGITS = 4
"""Significant digits of limits that are not exact."""
EXACT = 17
"""Significant digits with which any two floats are written differently."""
MOST_CHANGES = 3
"""Maximum number of columns of a rule for which the change needed in each is given."""

_LINES = textwrap.TextWrapper(100, subsequent_indent="   ", break_long_words=False, break_on_hyphens=False)


@dataclass(frozen=True)
class Step:
    """One split on the path of a row.

    Attributes
    ----------
    node : int
        Id of the split.
    rule : str
        Its rule, for example ``age - 0.5 * income <= 3``.
    value : float
        Value of the rule's left-hand side for the row.
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
    """Why a row has its class; prints as a list of sentences.

    Attributes
    ----------
    steps : tuple of Step
        The splits on the path that have an effect, root first.
    predicted : object
        The class label.
    """

    steps: tuple[Step, ...]
    predicted: Any

    def __str__(self) -> str:
        if not self.steps:
            return f"The tree splits nothing: the class of every row is {self.predicted!r}."
        lines = [_LINES.fill(f"{number}. {step.sentence}") for number, step in enumerate(self.steps, start=1)]
        return "\n".join([*lines, f"The class is {self.predicted!r}."])

    __repr__ = __str__


def explain_row(
    tree: ObliqueTree,
    row: FloatArray,
    features: Sequence[Feature | str],
    classes: Sequence[Any],
    entries: Mapping[str, str | None] | None = None,
) -> Explanation:
    """Explain the class of one row.

    Parameters
    ----------
    tree : ObliqueTree
        The tree, in the units of the features.
    row : ndarray of shape (p,)
        The values of the features.
    features : sequence of Feature or str
        All features; a plain name denotes a numeric feature.
    classes : sequence
        The class labels, in the order of their indices.
    entries : mapping of str to str or None, optional
        The entries of the row by column, None for a missing value. They are mentioned if they differ from the features:
        if a missing value was filled, or a level is unknown.

    Returns
    -------
    Explanation
        The splits on the row's path that have an effect, and its class.
    """
    X = np.asarray(row, dtype=float)[None, :]
    values, right = X[0].tolist(), tree.goes_right(X)[0]
    part, steps = pruned(tree), []
    while isinstance(part, Split):
        rule = SplitRule.of(tree, part.node, features)
        visit = _Visit(rule, values, entries or {}, not right[part.node - 1])
        sentence = f"{visit.finding()}. It would change {visit.change()}."
        steps.append(Step(part.node, rule.text(), visit.total, visit.holds, sentence))
        part = part.left if visit.holds else part.right
    return Explanation(tuple(steps), classes[part.class_index])


@dataclass(frozen=True)
class _Visit:
    """A row at a split: the values of its features, its entries by column, and whether the rule of the split holds."""

    rule: SplitRule
    values: list[float]
    entries: Mapping[str, str | None]
    holds: bool

    @property
    def total(self) -> float:
        """The sum on the left of the rule."""
        return self._total_with({})

    def _total_with(self, setting: Mapping[int, float]) -> float:
        """Return the sum on the left of the rule, with some values of the row replaced."""
        total = 0.0
        for j, coefficient in self.rule.inequality[0]:
            total += coefficient * setting.get(j, self.values[j])
        return total

    def finding(self) -> str:
        """Say what the row has, and whether the rule holds for it."""
        pairs, relation, limit = self.rule.inequality
        j, coefficient = pairs[0]
        verdict = "holds" if self.holds else "does not hold"
        is_threshold = self.rule.kind == THRESHOLD
        if self.rule.kind != SUM and not (is_threshold and not self._is_missing):
            return f'{self._value_of(j)}, so "{self.rule.text()}" {verdict}'
        total = _on_its_side(self.total, limit)
        comparison = f"{total} {relation} {plain_number(limit)} {verdict}"
        if is_threshold and coefficient == 1:
            return f"{self._is(j, total)}, and {comparison}"
        given = ", ".join(dict.fromkeys(self._value_in_sum(term.indices[0]) for term in self.rule.terms))
        return f"{' '.join(self.rule.parts()[:-1])} = {total} ({given}), and {comparison}"

    @property
    def _is_missing(self) -> bool:
        """Whether the row has a missing value in the first column, which also had some in the fit."""
        level = self.rule.column.level(self.values)
        return level is not None and level == self.rule.missing

    def _column(self, j: int) -> FeatureColumn:
        return FeatureColumn.of(self.rule.features, j)

    def _is(self, j: int, shown: str) -> str:
        """Say what the row has in a feature's column: ``shown``, and the entry if it differs."""
        feature, column = self.rule.features[j], self._column(j)
        entry = self.entries.get(feature.column, "")
        if entry is None and shown != column.missing:
            shown = f"missing and counts as {shown}"
        elif entry and feature.kind in (ONEHOT, ORDINAL) and entry != column.level(self.values):
            shown = f"{as_level(entry)} and counts as {shown}"
        return f"{printable(feature.column)} is {shown}"

    def _value_of(self, j: int) -> str:
        """Say which level or number the row has in a feature's column."""
        level = self._column(j).level(self.values)
        return self._is(j, self._number(j) if level is None else as_level(level))

    def _value_in_sum(self, j: int) -> str:
        """Say the same in a sum, where ordered levels and missing values count as numbers."""
        column = self._column(j)
        level = column.level(self.values)
        if column.measured is None or level is None:
            return self._value_of(j)
        if level != column.missing:
            return f"{self._value_of(column.measured)} ({self._number(j)})"
        return f"{printable(self.rule.features[j].column)} is {level} and counts as {self._number(j)}"

    def _number(self, j: int) -> str:
        """Return the number or position that represents a column."""
        measured = self._column(j).measured
        return plain_number(few_digits(self.values[j if measured is None else measured], DIGITS))

    def change(self) -> str:
        """Say which values would change the side."""
        if self.rule.kind not in (SUM, THRESHOLD):
            return self._with_other_levels()
        change = self._where(self._rises, plain_number(self.rule.inequality[2]))
        if self.rule.kind == SUM:
            if len(self.rule.columns) == 1:
                return f"with no other {printable(self.rule.columns[0])}"  # all levels are on one side
            first = {self.rule.features[j].column: j for j, _ in reversed(self.rule.pairs)}
            found = [how for name in self.rule.columns for how in self._with_other_values(first[name])]
            return f"{change}, for instance {', or '.join(found)}" if found and len(first) <= MOST_CHANGES else change
        j, coefficient = self.rule.inequality[0][0]
        if coefficient != 1:
            change = ", that is ".join([change, *self._with_other_number(j)])
        changes_if_missing = self.rule.missing is not None and self.rule.sides[self.rule.missing] != self.holds
        return f"{change}, or if it were {self.rule.missing}" if changes_if_missing else change

    @property
    def _rises(self) -> bool:
        """Whether the sum on the left of the rule must increase to change the side."""
        return (self.rule.inequality[1] == "<=") == self.holds

    def _where(self, rises: bool, limit: str) -> str:
        """Say which values would change the side; a rule that holds still holds at its limit."""
        side = "above" if rises else "below"
        return f"{side} {limit}" if self.holds else f"at {limit} or {side}"

    def _with_other_levels(self) -> str:
        """Say which levels would change the side of a rule about one column."""
        column, missing = printable(self.rule.columns[0]), self.rule.missing
        others = [level for level, is_left in self.rule.sides.items() if is_left != self.holds]
        if self.rule.kind == MISSING_ONLY:
            return f"if {column} were {'not ' if self._is_missing else ''}{missing}"
        if not others:
            return f"with no other {column}"
        if self.rule.kind == ORDERED:
            return _at_levels(self.rule.column, others)
        same = [level for level in self.rule.sides if level not in others]
        if len(same) == 1 < len(others) and self.rule.features[self.rule.pairs[0][0]].kind != BOOLEAN:
            return f"if {column} were not {missing}" if same == [missing] else f"with another {column}"
        if len(others) <= len(same) or len(others) <= MOST_CHANGES:
            return f"if {column} were {_named(others)}"
        return f"if {column} were anything but {_named(same)}"

    def _with_other_values(self, j: int) -> list[str]:
        """Say which values of one column of a sum would change the side."""
        column, name = self._column(j), printable(self.rule.features[j].column)
        values = dict(enumerate(self.values))
        changing = [
            level
            for level, setting in column.settings.items()
            if self.rule.goes_left({**values, **setting}) != self.holds
        ]
        if column.measured is not None and not self.rule.features[column.measured].levels:
            return [*self._with_other_number(column.measured), *(f"with {name} {level}" for level in changing)]
        if not changing:
            return []
        if column.measured is not None:
            known = [level for level in changing if level != column.missing]
            if column.missing is not None and len(known) in (0, len(column.settings) - 1):
                return [f"with {name} {'not ' if known else ''}{column.missing}"]
            return [f"with {name} {_at_levels(column, changing)}"]
        if len(changing) == len(column.settings) - 1 > 1:
            return [f"with another {name}"]
        return [f"with {name} {_named(changing[:MOST_CHANGES])}"]

    def _with_other_number(self, j: int) -> list[str]:
        """Say which values of a number would change the side; empty if they are outside the range of the fit."""
        feature, coefficient = self.rule.features[j], dict(self.rule.inequality[0]).get(j, 0.0)
        others = self._total_with(dict.fromkeys(self._column(j).features, 0.0))
        limit = (self.rule.inequality[2] - others) / coefficient if coefficient else math.inf
        if not math.isfinite(limit):
            return []
        rises, name = self._rises == (coefficient > 0), printable(feature.column)
        if feature.is_whole and not _is_close(round(limit), limit):
            whole = math.ceil(limit) if rises else math.floor(limit)
            where = f"at {whole} or {'above' if rises else 'below'}"
            return [f"with {name} {where}"] if feature.low <= whole <= feature.high else []
        beyond = feature.high - limit if rises else limit - feature.low
        is_possible = beyond > 0 or (beyond == 0 and not self.holds)
        return [f"with {name} {self._where(rises, _about(limit))}"] if is_possible else []


def _named(levels: Sequence[str]) -> str:
    return alternatives([as_level(level, listed=True) for level in levels])


def _at_levels(column: FeatureColumn, levels: Sequence[str]) -> str:
    """Describe levels of an ordered column: its lowest or its highest ones."""
    all_known = [level for level in column.settings if level != column.missing]
    known = [level for level in levels if level in all_known]
    is_lowest = known[0] == all_known[0]
    where = f"at {as_level(known[-1 if is_lowest else 0])}"
    where += "" if len(known) == 1 else " or below" if is_lowest else " or above"
    return where if len(known) == len(levels) else f"{where}, or if it were {column.missing}"


def _on_its_side(value: float, limit: float) -> str:
    """Return a value with few digits, but enough to show on which side of a limit it is."""
    for digits in range(DIGITS, EXACT):
        short = few_digits(value, digits)
        if (short <= limit) == (value <= limit) and (short >= limit) == (value >= limit):
            return plain_number(short)
    return plain_number(value)


def _about(value: float) -> str:
    """Return a limit with few digits, preceded by "about" if it is rounded."""
    short = few_digits(value, DIGITS)
    return plain_number(short) if _is_close(short, value) else f"about {plain_number(few_digits(value, ABOUT_DIGITS))}"


def _is_close(value: float, other: float) -> bool:
    return math.isclose(value, other, rel_tol=1e-12, abs_tol=1e-12)
