"""What to do with the columns of a table to make features of them: kinds of categories, their orders, gaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from s2oct.arrays import FloatArray, ObjectArray
from s2oct.errors import InvalidProblem, InvalidTable, Remedy, refuse_all
from s2oct.tables.cells import read_cells
from s2oct.tables.column_use import ID, ColumnUse, use_of
from s2oct.tables.content import Content, is_other_notation, odd_one_out, what_cells_are
from s2oct.tables.dialect import Dialect
from s2oct.tables.encoding import NUMBER, ONEHOT, ORDINAL, Column, Encoding

CATEGORICAL = (ONEHOT, ORDINAL)

MEDIAN, MOST_FREQUENT = "median", "most-frequent"
IMPUTATIONS = (MEDIAN, MOST_FREQUENT)

MOST_LEVELS = 30
"""Most categories of a one-hot column; the rarer ones are joined."""

MOST_RANKS = 50
"""An ordinal column with more values than this is a name, a date or an id, not a category."""

_REST = "other"


@dataclass(frozen=True)
class Learned:
    """What was learned from a table: how columns become features, and what became of each column."""

    encoding: Encoding
    uses: tuple[ColumnUse, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """Columns that turned out to be ids."""
        return tuple(use.name for use in self.uses if use.role == ID)


@dataclass(frozen=True)
class Treatment:
    """How columns become features.

    Parameters
    ----------
    categories : {"onehot", "ordinal"}, optional
        Kind of every column of words; by default one-hot.
    kinds : mapping of str to {"onehot", "ordinal"}
        Kinds of single columns, also of columns of whole numbers.
    orders : mapping of str to sequence of str
        Categories of ordinal columns from the lowest to the highest; by default they are sorted.
    impute : {"median", "most-frequent"}, optional
        What to fill gaps with; by default gaps are refused.
    strict : bool
        Refuse what would have to be guessed: columns of words if ``categories`` is not given, more than 30 categories,
        and ids that nobody named.
    """

    categories: str | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    orders: Mapping[str, Sequence[str]] = field(default_factory=dict)
    impute: str | None = None
    strict: bool = False

    def __post_init__(self) -> None:
        for kind in (*filter(None, [self.categories]), *self.kinds.values()):
            if kind not in CATEGORICAL:
                raise InvalidProblem(f"Expected categories to be {' or '.join(CATEGORICAL)}, got {kind!r}.")
        if self.impute is not None and self.impute not in IMPUTATIONS:
            raise InvalidProblem(
                f"Expected missing values to be filled with {' or '.join(IMPUTATIONS)}, got {self.impute!r}."
            )

    def learn(self, table: Any, names: Sequence[str], dialect: Dialect, *, named: bool = False) -> Learned:
        """Learn from a table how its columns of these names become features; refuse all that cannot at once.

        Parameters
        ----------
        table : pyarrow.Table
        names : sequence of str
            Columns that may become features.
        dialect : Dialect
            How the cells are written.
        named : bool
            Whether the user named these columns, so that none of them is an id.
        """
        for what, given in (("categorical", self.kinds), ("ordered", self.orders)):
            strange = [name for name in given if name not in names]
            if strange:
                raise InvalidProblem(f"Expected {what} columns among the features {list(names)}, got {strange[0]!r}.")
        learned, problems = self.try_each(table, names, dialect, named=named)
        refuse_all(problems)
        if not learned.encoding.columns:
            raise InvalidProblem("Expected a column of numbers or categories among the features, got ids only.")
        return learned

    def try_each(
        self, table: Any, names: Sequence[str], dialect: Dialect, *, named: bool = False
    ) -> tuple[Learned, list[InvalidTable]]:
        """Learn from those columns that can become features, and say what is wrong with the others.

        The arguments are those of `learn`.
        """
        columns: list[Column] = []
        uses: list[ColumnUse] = []
        problems: list[InvalidTable] = []
        for name in names:
            try:
                column, use = self._column(table[name], name, dialect, named)
            except InvalidTable as problem:
                problems.append(problem)
                continue
            uses.append(use)
            columns += [] if column is None else [column]
        return Learned(Encoding(tuple(columns)), tuple(uses)), problems

    def _column(self, cells: Any, name: str, dialect: Dialect, named: bool) -> tuple[Column | None, ColumnUse]:
        kind = self.kinds.get(name) or (ORDINAL if name in self.orders else self._kind(cells, name, dialect, named))
        if kind is None:
            return None, ColumnUse(name, ID, "another text in every row: kept, not used")
        values = read_cells(cells, name, kind, dialect)
        column = learn_column(
            name, values, kind, impute=self.impute, order=self.orders.get(name), may_join=not self.strict
        )
        column.encode(values)  # refuses gaps and infinite numbers
        return column, use_of(column, values)

    def _kind(self, cells: Any, name: str, dialect: Dialect, named: bool) -> str | None:
        """The kind of a column for which none was chosen; None for an id."""
        content = what_cells_are(cells, dialect)
        if content is Content.NUMBERS:
            return NUMBER
        is_chosen = self.categories is not None and content in (Content.MIXED, Content.WORDS, Content.NAMES)
        if content is Content.NAMES and not named and not self.strict:
            return None
        if is_chosen or (content in (Content.WORDS, Content.NAMES) and not self.strict):
            return self.categories or ONEHOT
        raise _not_a_feature(cells, name, content, dialect)


def learn_column(
    name: str,
    values: FloatArray | ObjectArray,
    kind: str,
    *,
    impute: str | None = None,
    order: Sequence[str] | None = None,
    may_join: bool = True,
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
    may_join : bool
        Whether rare categories of a one-hot column are joined where there are more than 30.
    """
    if kind == NUMBER:
        return _learn_number(name, values, impute)
    known = np.array([value for value in values if value is not None], dtype=object)
    if not len(known):
        raise _without_values(name)
    fill = None if impute is None else str(_mode(known))
    if kind == ONEHOT:
        return _learn_onehot(name, known, fill, may_join)
    categories = sorted(set(known)) if order is None else list(order)
    unplaced = sorted(set(known) - set(categories))
    if unplaced:
        raise InvalidTable(
            f"Expected the order of column {name!r} to name all its values, got no {unplaced[:5]}", column=name
        )
    if len(categories) > MOST_RANKS:
        raise _too_many(name, len(categories), MOST_RANKS)
    return Column(name, kind, tuple(categories), fill)


def _learn_onehot(name: str, known: Any, fill: str | None, may_join: bool) -> Column:
    """One-hot. The reference is the first of two, the rarest of several or, of too many, all rare ones together."""
    found, counts = np.unique(known.astype(object), return_counts=True)
    if len(found) <= MOST_LEVELS:
        reference = {1: None, 2: str(found[0])}.get(len(found), str(found[np.argmin(counts)]))
        return Column(name, ONEHOT, tuple(map(str, found)), fill, reference)
    if not may_join:
        raise _too_many(name, len(found), MOST_LEVELS)
    frequent = np.sort(np.argsort(-counts, kind="stable")[: MOST_LEVELS - 1])
    rest = _REST
    while rest in found:
        rest = f"({rest})"
    return Column(name, ONEHOT, (*map(str, found[frequent]), rest), fill, rest, joins=True)


def _learn_number(name: str, values: Any, impute: str | None) -> Column:
    if values.dtype.kind != "f":
        Column(name, NUMBER).encode(values)  # refuses them, and names the first that is no number
    known = values[~np.isnan(values)]
    if not len(known):
        raise _without_values(name)
    if impute is None:
        return Column(name, NUMBER)
    return Column(name, NUMBER, fill=float(np.median(known) if impute == MEDIAN else _mode(known)))


def _not_a_feature(cells: Any, name: str, content: Content, dialect: Dialect) -> InvalidTable:
    """Say why a column is no feature, and what would make it one."""
    if content is Content.DATES:
        return InvalidTable(
            f"Expected no dates in column {name!r}, got {_first(cells, dialect)}",
            Remedy.MAKE_NUMBER,
            Remedy.KEEP_AS_ID,
            column=name,
        )
    odd = odd_one_out(cells, dialect)
    if odd is None:
        return InvalidTable(
            f"Expected numbers in column {name!r}, got {cells.type} values", Remedy.LEAVE_OUT, column=name
        )
    row, text = odd
    cures: tuple[Remedy, ...] = (Remedy.ENCODE_CATEGORIES, Remedy.LEAVE_OUT)
    if content is Content.NAMES:
        cures = (Remedy.KEEP_AS_ID, *cures)
    elif content is Content.MIXED:
        cures = (Remedy.OTHER_DECIMAL if is_other_notation(text) else Remedy.MARK_GAPS, *cures)
    finding = f"Expected numbers in column {name!r}, got {text[:50]!r} in row {row}"
    return InvalidTable(finding, *cures, column=name, value=text)


def _first(cells: Any, dialect: Dialect) -> str:
    """Name the type of a column or, if it is text, its first cell."""
    odd = odd_one_out(cells, dialect)
    return f"{cells.type} values" if odd is None else f"{odd[1]!r} in row {odd[0]}"


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
