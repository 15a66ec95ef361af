"""What to do with the columns of a table to make features of them: kinds of categories, their orders, gaps."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from s2oct.arrays import FloatArray, ObjectArray
from s2oct.errors import InvalidProblem, InvalidTable, Remedy
from s2oct.tabular.cells import read_cells, read_numbers, read_texts
from s2oct.tabular.dialect import Dialect
from s2oct.tabular.encoding import NUMBER, ONEHOT, ORDINAL, Column, Encoding

CATEGORICAL = (ONEHOT, ORDINAL)

MEDIAN, MOST_FREQUENT = "median", "most-frequent"
IMPUTATIONS = (MEDIAN, MOST_FREQUENT)

MOST_CATEGORIES = 50
"""A column with more values than this is a name, a date or an id, not a category."""

_NUMBER_AS_TEXT = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Treatment:
    """How columns become features.

    Parameters
    ----------
    categories : {"onehot", "ordinal"}, optional
        Kind of every column that does not hold numbers; by default such columns are refused.
    kinds : mapping of str to {"onehot", "ordinal"}
        Kinds of single columns, also of columns of whole numbers.
    orders : mapping of str to sequence of str
        Categories of ordinal columns from the lowest to the highest; by default they are sorted.
    impute : {"median", "most-frequent"}, optional
        What to fill gaps with; by default gaps are refused.
    """

    categories: str | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    orders: Mapping[str, Sequence[str]] = field(default_factory=dict)
    impute: str | None = None

    def __post_init__(self) -> None:
        for kind in (*filter(None, [self.categories]), *self.kinds.values()):
            if kind not in CATEGORICAL:
                raise InvalidProblem(f"Expected categories to be {' or '.join(CATEGORICAL)}, got {kind!r}.")
        if self.impute is not None and self.impute not in IMPUTATIONS:
            raise InvalidProblem(
                f"Expected missing values to be filled with {' or '.join(IMPUTATIONS)}, got {self.impute!r}."
            )

    def learn(self, table: Any, names: Sequence[str], dialect: Dialect) -> Encoding:
        """Learn from a table how its columns of these names become features."""
        for what, named in (("categorical", self.kinds), ("ordered", self.orders)):
            strange = [name for name in named if name not in names]
            if strange:
                raise InvalidProblem(f"Expected {what} columns among the features {list(names)}, got {strange[0]!r}.")
        return Encoding(tuple(self._column(table[name], name, dialect) for name in names))

    def _column(self, cells: Any, name: str, dialect: Dialect) -> Column:
        kind = self.kinds.get(name) or (ORDINAL if name in self.orders else self._kind(cells, name, dialect))
        values = read_cells(cells, name, kind, dialect)
        return learn_column(name, values, kind, impute=self.impute, order=self.orders.get(name))

    def _kind(self, cells: Any, name: str, dialect: Dialect) -> str:
        """A number if all cells are, otherwise the kind that was chosen for categories."""
        if read_numbers(cells, dialect) is not None:
            return NUMBER
        if self.categories is None:
            raise InvalidTable(
                f"Expected numbers in column {name!r}, got {_sample(cells, dialect)}",
                Remedy.ENCODE_CATEGORIES,
                Remedy.LEAVE_OUT,
                column=name,
            )
        return self.categories


def learn_column(
    name: str,
    values: FloatArray | ObjectArray,
    kind: str,
    *,
    impute: str | None = None,
    order: Sequence[str] | None = None,
) -> Column:
    """Learn the encoding of one column from its values: floats with NaN for gaps, or text with None for gaps.

    Parameters
    ----------
    name : str
    values : ndarray of shape (rows,)
    kind : {"number", "onehot", "ordinal"}
    impute : {"median", "most-frequent"}, optional
        What to fill gaps with; categories have no median and are filled with the most frequent one.
    order : sequence of str, optional
        The categories of an ordinal column from the lowest; by default they are sorted.
    """
    if kind == NUMBER:
        return _learn_number(name, values, impute)
    known = [value for value in values if value is not None]
    if not known:
        raise _without_values(name)
    categories = sorted(set(known)) if order is None else list(order)
    unplaced = sorted(set(known) - set(categories))
    if unplaced:
        raise InvalidProblem(f"Expected the order of column {name!r} to name all its values, got no {unplaced}.")
    if len(categories) > MOST_CATEGORIES:
        raise InvalidTable(
            f"Expected at most {MOST_CATEGORIES} categories in column {name!r}, got {len(categories)}",
            Remedy.LEAVE_OUT,
            Remedy.KEEP_AS_ID,
            column=name,
        )
    return Column(name, kind, tuple(categories), None if impute is None else str(_mode(np.array(known, dtype=object))))


def _learn_number(name: str, values: Any, impute: str | None) -> Column:
    if values.dtype.kind != "f":
        Column(name, NUMBER).encode(values)  # refuses them, and names the first that is no number
    known = values[~np.isnan(values)]
    if not len(known):
        raise _without_values(name)
    if impute is None:
        return Column(name, NUMBER)
    return Column(name, NUMBER, fill=float(np.median(known) if impute == MEDIAN else _mode(known)))


def _without_values(name: str) -> InvalidTable:
    return InvalidTable(f"Expected values in column {name!r}, got none", Remedy.LEAVE_OUT, column=name)


def _mode(values: Any) -> Any:
    """The most frequent value; of several, the least."""
    found, counts = np.unique(values, return_counts=True)
    return found[np.argmax(counts)]


def _sample(cells: Any, dialect: Dialect) -> str:
    """Name something in a column that is no number."""
    texts = read_texts(cells, dialect)
    if texts is None:
        return f"{cells.type} values"
    for row, text in enumerate(texts):
        if text is not None and not _NUMBER_AS_TEXT.fullmatch(text):
            return f"{text!r} in row {row + 1}"
    return "text"
