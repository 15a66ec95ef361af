"""The way of one row through the rules of a tree, in sentences."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.model.few_digits import few_digits
from s2oct.model.rules import Split, inequality, plain_number, pruned, rule_parts
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
    feature_names: Sequence[str],
    classes: Sequence[Any],
    remarks: Mapping[int, str] | None = None,
) -> Explanation:
    """Explain the class of one row.

    Parameters
    ----------
    tree : ObliqueTree
        The tree, in the units of the features.
    row : ndarray of shape (p,)
        The values of the features.
    feature_names : sequence of str
        A name for every feature.
    classes : sequence
        The class labels, in the order of their indices.
    remarks : mapping of int to str, optional
        What to say of the value of a feature, for instance which category it stands for.

    Returns
    -------
    Explanation
        The splits on the row's way that decide something, and its class.
    """
    X = np.asarray(row, dtype=float)[None, :]
    right = tree.goes_right(X)[0]
    names = tuple(map(printable, feature_names))
    said = {j: printable(remark) for j, remark in (remarks or {}).items()}
    part, steps = pruned(tree), []
    while isinstance(part, Split):
        visit = _Visit(tree, part.node, X[0].tolist(), names, said, not right[part.node - 1])
        steps.append(visit.step())
        part = part.left if visit.holds else part.right
    return Explanation(tuple(steps), classes[part.class_index])


@dataclass(frozen=True)
class _Visit:
    """A row at a split, and whether the rule of the split holds for it."""

    tree: ObliqueTree
    node: int
    row: list[float]
    names: tuple[str, ...]
    remarks: Mapping[int, str]
    holds: bool

    def step(self) -> Step:
        *products, comparison = rule_parts(self.tree, self.node, self.names)
        pairs, relation, bound = inequality(self.tree, self.node)
        total = 0.0
        for j, coefficient in pairs:
            total += coefficient * self.row[j]
        rises = (relation == "<=") == self.holds
        verdict = f"{_beside(total, bound)} {comparison} {'holds' if self.holds else 'does not hold'}"
        change = self._where(rises, plain_number(bound))
        if [coefficient for _, coefficient in pairs] == [1.0]:
            sentence = f"{self._given(pairs[0][0], bound)}, and {verdict}. It would change {change}."
        else:
            given = ", ".join(self._given(j) for j, _ in pairs)
            changes = self._changes(pairs, bound - total, rises) if len(pairs) <= MOST_CHANGES else ""
            written = f"{' '.join(products)} = {_beside(total, bound)} ({given})"
            sentence = f"{written}, and {verdict}. It would change {change}{changes}."
        return Step(self.node, " ".join([*products, comparison]), total, self.holds, sentence)

    def _given(self, j: int, bound: float | None = None) -> str:
        value = plain_number(few_digits(self.row[j], DIGITS)) if bound is None else _beside(self.row[j], bound)
        remark = f" ({self.remarks[j]})" if j in self.remarks else ""
        return f"{self.names[j]} is {value}{remark}"

    def _where(self, rises: bool, limit: str) -> str:
        """Where the rule is decided otherwise; a rule that holds still holds at its limit."""
        side = "above" if rises else "below"
        return f"{side} {limit}" if self.holds else f"at {limit} or {side}"

    def _changes(self, pairs: Sequence[tuple[int, float]], missing: float, rises: bool) -> str:
        """Where each feature alone would have to go."""
        found = []
        for j, coefficient in pairs:
            limit = self.row[j] + missing / coefficient
            if math.isfinite(limit):
                where = self._where(rises == (coefficient > 0), _about(limit))
                found.append(f"with {self.names[j]} {where}")
        start = "that is" if len(pairs) == 1 else "for instance"
        return f", {start} {', or '.join(found)}" if found else ""


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
