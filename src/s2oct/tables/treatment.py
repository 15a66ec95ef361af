"""The preprocessing of columns: which are categorical, their kinds and orders, and replacement of missing values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from s2oct.errors import InvalidProblem, InvalidTable, Remedy, refuse_all
from s2oct.tables.columns import (
    ColumnUse,
    Content,
    are_row_numbers,
    as_values,
    category_texts,
    declared_order,
    find_content,
    first_nonnumeric,
    id_use,
    is_other_notation,
    is_text,
    read_cells,
    use_of,
)
from s2oct.tables.dialect import Dialect
from s2oct.tables.encoding import IMPUTATIONS, MEDIAN, Column, Encoding, Unseen, learn_column, refuse_same_features
from s2oct.trees.features import BOOLEAN, NUMBER, ONEHOT, ORDINAL

CATEGORICAL = (ONEHOT, ORDINAL)


@dataclass(frozen=True)
class Treatment:
    """The preprocessing of columns before they become features.

    Parameters
    ----------
    categories : {"onehot", "ordinal"}, optional
        Kind of every text column; by default one-hot, or ordinal if its type is ordered.
    kinds : mapping of str to {"onehot", "ordinal"}
        Kinds of single columns, including numeric ones.
    orders : mapping of str to sequence of str
        Categories of ordinal columns from the lowest to the highest; by default the levels of the column's type, or
        sorted if the type has none.
    impute : {"median", "most-frequent"}
        Replacement of missing numbers. Missing values also get an indicator.
    strict : bool
        Refuse instead of guessing: text columns if ``categories`` is not given, more than 30 categories, and ids that
        the user did not name.
    categorical : tuple of str, optional
        The only categorical columns; numeric columns among them are categorical, too. By default the content of a
        column decides.
    """

    categories: str | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    orders: Mapping[str, Sequence[str]] = field(default_factory=dict)
    impute: str = MEDIAN
    strict: bool = False
    categorical: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for kind in (*filter(None, [self.categories]), *self.kinds.values()):
            if kind not in CATEGORICAL:
                raise InvalidProblem(f"Expected categories to be {' or '.join(CATEGORICAL)}, got {kind!r}.")
        if self.impute not in IMPUTATIONS:
            raise InvalidProblem(
                f"Expected missing values to be filled with {' or '.join(IMPUTATIONS)}, got {self.impute!r}."
            )

    def learn(
        self, table: Any, names: Sequence[str], dialect: Dialect, *, named: bool = False
    ) -> tuple[Encoding, tuple[ColumnUse, ...]]:
        """Learn the encoding of the named columns of a table, and the use of each.

        All unsuitable columns are refused in one error.

        Parameters
        ----------
        table : pyarrow.Table
        names : sequence of str
            Candidate feature columns.
        dialect : Dialect
            The dialect of the cells.
        named : bool
            Whether the user named these columns, so that none of them is an id.
        """
        for what, given in (("categorical", self.kinds), ("ordered", self.orders)):
            unknown = [name for name in given if name not in names]
            if unknown:
                raise InvalidProblem(f"Expected {what} columns among the features {list(names)}, got {unknown[0]!r}.")
        encoding, uses, problems = self.try_each(table, names, dialect, named=named)
        refuse_all(problems)
        if not encoding.features:
            raise InvalidProblem(
                "Expected numbers or categories among the features, got only ids and columns with one value."
            )
        refuse_same_features(encoding)
        return encoding, uses

    def try_each(
        self, table: Any, names: Sequence[str], dialect: Dialect, *, named: bool = False
    ) -> tuple[Encoding, tuple[ColumnUse, ...], list[InvalidTable]]:
        """Learn the encoding and the use of the suitable columns, and describe the problems of the others.

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
        return Encoding(tuple(columns)), tuple(uses), problems

    def _column(self, cells: Any, name: str, dialect: Dialect, named: bool) -> tuple[Column | None, ColumnUse]:
        kind = self._kind(cells, name, dialect, named)
        if kind is None:
            return None, id_use(name)
        values = read_cells(cells, name, kind, dialect)
        order = self._order(cells, name, dialect)
        column = learn_column(name, values, kind, impute=self.impute, order=order, may_join=not self.strict)
        column.encode(values, Unseen())  # refuses infinite numbers
        return column, use_of(column, values)

    def _order(self, cells: Any, name: str, dialect: Dialect) -> Sequence[str] | None:
        given = self.orders.get(name)
        if given is None:
            return declared_order(cells)
        return tuple(category_texts(np.array(given, dtype=object), dialect))

    def _kind(self, cells: Any, name: str, dialect: Dialect, named: bool) -> str | None:
        """Return the kind of a column; None for an id."""
        if name in self.orders:
            return ORDINAL
        content = find_content(cells, dialect)
        if content is Content.BOOLEANS and self.kinds.get(name) != ORDINAL:
            return BOOLEAN
        if name in self.kinds:
            return self.kinds[name]
        has_levels = pa.types.is_dictionary(cells.type)
        if self.categorical is not None:
            has_levels = name in self.categorical
        if content is Content.OTHER or (content is Content.DATES and not (has_levels and is_text(cells.type))):
            raise _not_a_feature(cells, name, content, dialect)
        if has_levels:
            is_ordered = pa.types.is_dictionary(cells.type) and cells.type.ordered
            return ORDINAL if is_ordered else self.categories or ONEHOT
        if content is Content.NUMBERS:
            may_be_id = not named and not self.strict
            return None if may_be_id and are_row_numbers(name, read_cells(cells, name, NUMBER, dialect)) else NUMBER
        if self.categorical is not None:
            raise _not_a_feature(as_values(cells), name, content, dialect)
        if content is Content.NAMES and not named and not self.strict:
            return None
        if self.categories is not None or (content is not Content.MIXED and not self.strict):
            return self.categories or ONEHOT
        raise _not_a_feature(cells, name, content, dialect)


def _not_a_feature(cells: Any, name: str, content: Content, dialect: Dialect) -> InvalidTable:
    """Explain why a column cannot be a feature, and what would make it one."""
    if content is Content.DATES:
        return InvalidTable(
            f"Expected no dates in column {name!r}, got {_first(cells, dialect)}",
            Remedy.MAKE_NUMBER,
            Remedy.KEEP_AS_ID,
            column=name,
        )
    odd = first_nonnumeric(cells, dialect)
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
    """Return the type of a column or, if it is text, its first cell."""
    odd = first_nonnumeric(cells, dialect)
    return f"{cells.type} values" if odd is None else f"{odd[1]!r} in row {odd[0]}"
