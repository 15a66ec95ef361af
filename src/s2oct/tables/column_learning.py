"""The encoding of one column, learned from its values: its levels, and what stands for missing and unknown ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from s2oct.arrays import FloatArray, ObjectArray
from s2oct.errors import InvalidTable, Remedy
from s2oct.tables.encoding import BOOLEAN, FALSE, NUMBER, ONEHOT, ORDINAL, TRUE, Column
from s2oct.tables.unseen import Unseen

MEDIAN, MOST_FREQUENT = "median", "most-frequent"
IMPUTATIONS = (MEDIAN, MOST_FREQUENT)

MOST_LEVELS = 30
"""Most categories of a one-hot column; the rarer ones are joined."""

MOST_RANKS = 50
"""An ordinal column with more values than this is a name, a date or an id, not a category."""

OTHER, MISSING_LEVEL = "other", "missing"
"""Names of the level that joins rare ones and of the level of missing values, unless a column has such a level."""


def learn_column(
    name: str,
    values: FloatArray | ObjectArray,
    kind: str,
    *,
    impute: str = MEDIAN,
    order: Sequence[str] | None = None,
    may_join: bool = True,
) -> Column:
    """Learn the encoding of one column from its values: floats with NaN for gaps, or text with None for gaps.

    Parameters
    ----------
    name : str
    values : ndarray of shape (rows,)
    kind : {"number", "boolean", "onehot", "ordinal"}
    impute : {"median", "most-frequent"}
        What stands for a missing number.
    order : sequence of str, optional
        The categories of an ordinal column from the lowest; by default they are sorted.
    may_join : bool
        Whether rare categories of a one-hot column are joined where there are more than 30.
    """
    if kind == NUMBER:
        return _learn_number(name, values, impute)
    known = np.array([value for value in values if value is not None], dtype=object)
    if not len(known):
        raise _without_values(name)
    categories: tuple[str, ...] = (FALSE, TRUE)
    if kind == BOOLEAN:
        rest = FALSE
    elif kind == ONEHOT:
        categories, rest = _onehot_levels(name, known, may_join)
    else:
        categories, rest = _ordinal_levels(name, known, order), str(_mode(known))
    if len(known) == len(values):
        return Column(name, kind, categories, rest, rest)
    missing = _unlike({*categories, rest, *known}, MISSING_LEVEL)
    # A missing level lies below all others, so that one rule can tell missing values from all answers.
    categories = (missing, *categories) if kind == ORDINAL else (*categories, missing)
    return Column(name, kind, categories, missing, rest, gaps=True)


def _onehot_levels(name: str, known: Any, may_join: bool) -> tuple[tuple[str, ...], str]:
    """Levels, and which of them has no indicator: the first of two, the rarest of several, or all rare ones of many."""
    found, counts = np.unique(known.astype(object), return_counts=True)
    if len(found) <= MOST_LEVELS:
        return tuple(map(str, found)), str(found[0] if len(found) <= 2 else found[np.argmin(counts)])
    if not may_join:
        raise _too_many(name, len(found), MOST_LEVELS)
    frequent = np.sort(np.argsort(-counts, kind="stable")[: MOST_LEVELS - 1])
    return tuple(map(str, found[frequent])), _unlike(set(found), OTHER)


def _ordinal_levels(name: str, known: Any, order: Sequence[str] | None) -> tuple[str, ...]:
    if order is None:
        levels = sorted(set(known))
        if len(levels) > MOST_RANKS:
            raise _too_many(name, len(levels), MOST_RANKS)
        return tuple(levels)
    unplaced = sorted(set(known) - set(order))
    if unplaced:
        raise InvalidTable(
            f"Expected the order of column {name!r} to name all its values, got no {unplaced[:5]}", column=name
        )
    return tuple(order)


def _learn_number(name: str, values: Any, impute: str) -> Column:
    if values.dtype.kind != "f":
        Column(name, NUMBER).encode(values, Unseen())  # refuses them, and names the first that is no number
    known = values[~np.isnan(values)]
    if not len(known):
        raise _without_values(name)
    finite = known[np.isfinite(known)] if np.isfinite(known).any() else np.zeros(1)
    fill = float(np.median(finite) if impute == MEDIAN else _mode(finite))
    return Column(name, NUMBER, fill=fill, gaps=len(known) < len(values))


def _unlike(taken: set[str], name: str) -> str:
    """The name, in parentheses until it is not taken."""
    while name in taken:
        name = f"({name})"
    return name


def _without_values(name: str) -> InvalidTable:
    return InvalidTable(f"Expected values in column {name!r}, got none", Remedy.LEAVE_OUT, column=name)


def _too_many(name: str, found: int, most: int) -> InvalidTable:
    return InvalidTable(
        f"Expected at most {most} categories in column {name!r}, got {found}",
        Remedy.LEAVE_OUT,
        Remedy.KEEP_AS_ID,
        column=name,
    )


def _mode(values: Any) -> Any:
    """The most frequent value; of several, the least."""
    found, counts = np.unique(values, return_counts=True)
    return found[np.argmax(counts)]
