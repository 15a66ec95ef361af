"""Encode the columns of a table as features: numbers unchanged, categories as numbers, missing values filled.

`Treatment.learn` makes an `Encoding` from a table; the model file stores it, and every export reproduces it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray, ObjectArray
from s2oct.errors import InvalidProblem, InvalidTable, Remedy, refuse_all
from s2oct.problem.known import columns_meant
from s2oct.tables.dialect import MISSING as MARKS
from s2oct.trees.features import BOOLEAN, MISSING, MISSING_INDICATOR, NUMBER, ONEHOT, ORDINAL, Feature
from s2oct.wording import amount, brief, listed, plural

_MOST_NAMED = 3
"""Maximum number of levels of a column named in a sentence."""


@dataclass(frozen=True)
class Unseen:
    """Levels and missing values not seen in the fit, counted over batches of rows.

    Attributes
    ----------
    rows : dict of (str, str or None) to (int, int)
        By column and level (None for a missing value): the number of rows, and the first row.
    """

    rows: dict[tuple[str, str | None], tuple[int, int]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.rows)

    def add(self, column: str, level: str | None, rows: Sequence[int]) -> None:
        """Count the rows with these numbers for a level or a missing value of a column."""
        n_rows, first = self.rows.get((column, level), (0, rows[0]))
        self.rows[column, level] = n_rows + len(rows), min(first, rows[0])

    def sentence(self, columns: Iterable[Column]) -> str:
        """Describe the replacements of the levels and missing values; the columns are those of the encoding."""
        found = [
            f"column {column.name!r} has {part}, treated as {_stand_in(column, is_missing)}"
            for column in columns
            for is_missing, part, _ in self._parts(column)
        ]
        return f"Some values were not seen in the fit: {'; '.join(found)}."

    def refuse(self, columns: Iterable[Column]) -> None:
        """Refuse all counted levels and missing values."""
        refuse_all(
            [
                _refusal(column, part, None if is_missing else value)
                for column in columns
                for is_missing, part, value in self._parts(column)
            ]
        )

    def _parts(self, column: Column) -> Iterator[tuple[bool, str, str]]:
        """Describe the levels and the missing values of a column: which ones, in how many rows, and the first."""
        found = {level: rows for (name, level), rows in self.rows.items() if name == column.name}
        n_missing, first = found.pop(None, (0, 0))
        levels = [str(level) for level in found]
        if levels:
            named = [repr(level) for level in levels[:_MOST_NAMED]]
            named += [plural(len(levels) - _MOST_NAMED, "other level")] if len(levels) > _MOST_NAMED else []
            n_rows, first_row = sum(n for n, _ in found.values()), min(row for _, row in found.values())
            where = f"{plural(n_rows, 'row')}, the first of them row {first_row}" if n_rows > 1 else f"row {first_row}"
            yield False, f"{listed(named)} in {where}", levels[0]
        if n_missing:
            where = f", the first in row {first}" if n_missing > 1 else f" in row {first}"
            yield True, plural(n_missing, "missing value") + where, ""


def _stand_in(column: Column, is_missing: bool) -> str:
    if is_missing and isinstance(column.fill, float):
        return amount(column.fill, 6)
    return repr(column.fill if is_missing else column.rest)


def _refusal(column: Column, part: str, level: str | None) -> InvalidTable:
    if level is None:
        return InvalidTable(f"Column {column.name!r} has {part}, but had none in the fit", column=column.name)
    return InvalidTable(
        f"Column {column.name!r} has {part}, but the model knows only {list(column.levels)}",
        Remedy.KNOWN_LEVEL,
        column=column.name,
        value=level,
    )


KINDS = (NUMBER, BOOLEAN, ONEHOT, ORDINAL)

FALSE, TRUE = "False", "True"

_WHOLE = re.compile(r"-?\d{1,15}", re.ASCII)

_UNKNOWN, _GAP = -1, -2
"""Placeholders for the position of a level not seen in the fit, and of a missing value."""


@dataclass(frozen=True)
class Column:
    """The encoding of one column of a table as one or more features.

    Parameters
    ----------
    name : str
    kind : {"number", "boolean", "onehot", "ordinal"}
    categories : tuple of str
        The levels of a categorical column as text. One-hot and boolean columns get an indicator of each level except
        ``rest``; ordinal columns become positions 0, 1, 2, ...
    fill : float, str or None
        Replacement of missing values: a number or a category; None if missing values are refused. If a one-hot or
        boolean column had missing values in the fit, they are a separate category.
    rest : str or None
        The category for all levels outside the categories. It has no indicator. If it joins rare levels, it is not one
        of the categories itself.
    gaps : bool
        Whether the column had missing values in the fit. If it did, numbers and positions get an additional indicator
        of missing values.
    low, high : float or None
        The minimum and maximum in the fit; None for categories.
    whole : bool
        Whether all numbers in the fit were integers.
    """

    name: str
    kind: str
    categories: tuple[str, ...] = ()
    fill: float | str | None = None
    rest: str | None = None
    gaps: bool = False
    low: float | None = None
    high: float | None = None
    whole: bool = False

    @property
    def is_measured(self) -> bool:
        """Whether the column becomes numbers: its values, or the positions of its levels."""
        return self.kind in (NUMBER, ORDINAL)

    @property
    def missing(self) -> str | None:
        """The level of missing values, which has an indicator; None if the fit had no missing values here."""
        if not self.gaps:
            return None
        return _unlike({*self.categories}, MISSING) if self.is_measured else str(self.fill)

    @property
    def levels(self) -> tuple[str, ...]:
        """The categories without the one for missing values only."""
        return tuple(level for level in self.categories if level != self.missing)

    @property
    def joins(self) -> bool:
        """Whether ``rest`` joins rare levels, so that a level outside the categories may have been in the fit."""
        return self.kind != NUMBER and self.rest not in self.categories

    @property
    def indicated(self) -> tuple[str, ...]:
        """The levels with an indicator."""
        if self.is_measured:
            return () if self.missing is None else (self.missing,)
        return tuple(value for value in self.categories if value != self.rest)

    @cached_property
    def features(self) -> tuple[str, ...]:
        """Names of the column's features; the feature of a boolean column has the name of the column."""
        is_boolean = self.kind == BOOLEAN
        indicators = (self.name if is_boolean and level == TRUE else f"{self.name}={level}" for level in self.indicated)
        return (self.name, *indicators) if self.is_measured else tuple(indicators)

    @property
    def described(self) -> tuple[Feature, ...]:
        """The column's features, as shown to readers."""
        if self.is_measured:
            fill = float(self.fill or 0.0) if self.kind == NUMBER else float(self.fill_position)
            measured = Feature(
                self.name,
                self.name,
                self.kind,
                levels=self.categories,
                fill=fill if self.gaps else None,
                low=-math.inf if self.low is None else self.low,
                high=math.inf if self.high is None else self.high,
                is_whole=self.whole,
            )
            gaps = (Feature(name, self.name, MISSING_INDICATOR, level=self.missing) for name in self.features[1:])
            return (measured, *gaps)
        rest = self.word(str(self.rest))
        return tuple(
            Feature(name, self.name, self.kind, level=self.word(level), rest=rest, missing=self.missing)
            for name, level in zip(self.features, self.indicated, strict=True)
        )

    def word(self, category: str) -> str:
        """Return a category as shown to readers: ``true`` for True."""
        return category.lower() if self.kind == BOOLEAN and category in (FALSE, TRUE) else category

    @cached_property
    def readings(self) -> dict[str, int]:
        """All spellings of the categories, with the position of the category.

        Files, databases and languages write booleans and integers differently; a column accepts all spellings.
        """
        readings = {value: position for position, value in enumerate(self.categories)}
        for position, value in enumerate(self.categories):
            for spelling in _spellings(value, self.kind):
                readings.setdefault(spelling, position)
        return readings

    @cached_property
    def marks(self) -> tuple[str, ...]:
        """Marks of missing values: the default ones, except those that are levels of the column."""
        return tuple(mark for mark in MARKS if mark not in self.readings)

    def is_gap(self, text: str | None) -> bool:
        """Whether a cell of a categorical column is a missing value."""
        return text is None or (text not in self.readings and text.strip() in self.marks)

    def text(self, cell: Any) -> str | None:
        """Return a cell as text, known levels in the spelling of the fit; None for a missing value."""
        if self.kind == NUMBER:
            return None if np.isnan(cell) else str(cell)
        if self.is_gap(cell):
            return None
        return self.categories[self.readings[cell]] if cell in self.readings else str(cell)

    @property
    def rest_position(self) -> int:
        """The position of ``rest``; after the last category if it joins rare levels."""
        return len(self.categories) if self.joins else self.categories.index(str(self.rest))

    @property
    def fill_position(self) -> int:
        """The position of the category for missing values."""
        return self.rest_position if self.fill == self.rest else self.categories.index(str(self.fill))

    def encode(self, values: FloatArray | ObjectArray, unseen: Unseen, first_row: int = 1) -> FloatArray:
        """Encode some rows, shape (rows, len(features)).

        ``values`` are floats with NaN for missing values, or text with None for missing values. Values not seen in the
        fit are counted in ``unseen``. ``first_row`` is the number of the first row in messages.
        """
        if self.is_measured:
            read = self._numbers if self.kind == NUMBER else self._positions
            measured, gaps = read(values, unseen, first_row)
            return np.column_stack([measured, gaps]) if self.gaps else np.asarray(measured, dtype=float)[:, None]
        positions, _ = self._positions(values, unseen, first_row)
        indicated = np.array([self.categories.index(value) for value in self.indicated], dtype=np.int64)
        return np.asarray(positions[:, None] == indicated[None, :], dtype=float)

    def _numbers(
        self, values: FloatArray | ObjectArray, unseen: Unseen, first_row: int
    ) -> tuple[FloatArray, BoolArray]:
        """Return the numbers with missing values filled, and a mask of missing values."""
        if values.dtype.kind != "f":
            row = next((row for row, value in enumerate(values) if value is not None and not _is_number(value)), 0)
            got = values[row] if len(values) else None
            raise InvalidProblem(f"Expected numbers in column {self.name!r}, got {got!r} in row {row + first_row}.")
        if np.isfinite(values).all():
            return np.asarray(values, dtype=float), np.zeros(len(values), dtype=bool)
        gaps: BoolArray = np.isnan(values)
        if gaps.any():
            if self.fill is None:
                raise self._refused_gaps(gaps, first_row)
            self._count_gaps(gaps, unseen, first_row)
            values = np.where(gaps, float(self.fill), values)
        if np.isinf(values).any():
            row = int(np.argmax(np.isinf(values)))
            raise InvalidTable(
                f"Expected finite numbers in column {self.name!r}, got infinity in row {row + first_row}",
                Remedy.LEAVE_OUT,
                column=self.name,
            )
        return np.asarray(values, dtype=float), gaps

    def _positions(
        self, values: FloatArray | ObjectArray, unseen: Unseen, first_row: int
    ) -> tuple[IntArray, BoolArray]:
        """Return the positions of the categories with missing values filled, and a mask of missing values."""
        index: dict[Any, int] = {**self.readings, None: _GAP}
        found = np.array([index.get(value, _UNKNOWN) for value in values], dtype=np.int64)
        unknown: dict[str, list[int]] = {}
        for row in np.flatnonzero(found == _UNKNOWN).tolist():
            if self.is_gap(values[row]):
                found[row] = _GAP
            elif not self.joins:
                unknown.setdefault(str(values[row]), []).append(row + first_row)
        for value, rows in unknown.items():
            unseen.add(self.name, value, rows)
        gaps: BoolArray = found == _GAP
        self._count_gaps(gaps, unseen, first_row)
        return np.where(gaps, self.fill_position, np.where(found == _UNKNOWN, self.rest_position, found)), gaps

    def _count_gaps(self, gaps: BoolArray, unseen: Unseen, first_row: int) -> None:
        """Count missing values as unseen if the fit had none."""
        if not self.gaps and gaps.any():
            unseen.add(self.name, None, (np.flatnonzero(gaps) + first_row).tolist())

    def _refused_gaps(self, gaps: Any, first_row: int) -> InvalidTable:
        count, row = int(gaps.sum()), int(np.argmax(gaps)) + first_row
        return InvalidTable(
            f"Expected no missing values in column {self.name!r}, got {count}, the first in row {row}",
            Remedy.LEAVE_OUT,
            column=self.name,
        )


@dataclass(frozen=True)
class Encoding:
    """The columns of a table in the order of their features."""

    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def features(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(feature for column in self.columns for feature in column.features)

    @cached_property
    def described(self) -> tuple[Feature, ...]:
        """The features, as shown to readers."""
        return tuple(feature for column in self.columns for feature in column.described)

    @cached_property
    def sources(self) -> tuple[tuple[Column, str | None], ...]:
        """For each feature, its column and the level that it indicates; None for numbers and positions."""
        return tuple(
            (column, level)
            for column in self.columns
            for level in ((None, *column.indicated) if column.is_measured else column.indicated)
        )

    @cached_property
    def positions(self) -> dict[str, int]:
        """The positions of the columns in the table, by name."""
        return {name: position for position, name in enumerate(self.names)}

    def features_of(self, name: str) -> list[int]:
        """Return the positions of the features of a column, or of the feature with this name; refuse other names."""
        for column in self.columns:
            if column.name == name:
                return [self.features.index(feature) for feature in column.features]
        if name in self.features:
            return [self.features.index(name)]
        raise InvalidProblem(
            f"Rules can use only the columns of the features, not {brief(name)}; {columns_meant(name, self.names)}."
        )

    @property
    def is_numeric(self) -> bool:
        """Whether every column holds numbers."""
        return all(column.kind == NUMBER for column in self.columns)

    def encode(
        self, table: Mapping[str, FloatArray | ObjectArray], first_row: int = 1, unseen: Unseen | None = None
    ) -> FloatArray:
        """Encode some rows, shape (rows, n_features).

        Levels and missing values not seen in the fit are replaced as the encoding says and counted in ``unseen``;
        without ``unseen`` they are refused.
        """
        counted = Unseen() if unseen is None else unseen
        # Columns stay contiguous in memory: a tree reads them equally fast, and copying them to rows would be slower.
        features = np.empty((len(table[self.names[0]]), len(self.features)), order="F")
        first = 0
        for column in self.columns:
            after = first + len(column.features)
            features[:, first:after] = column.encode(table[column.name], counted, first_row)
            first = after
        if unseen is None:
            counted.refuse(self.columns)
        return features


def refuse_same_features(encoding: Encoding) -> None:
    """Refuse an encoding in which two columns have features of the same name."""
    twice = [name for name, times in Counter(encoding.features).items() if times > 1]
    if twice:
        raise InvalidProblem(f"Two columns make a feature {twice[0]!r}: rename one of them.")


def plain_encoding(names: Iterable[str]) -> Encoding:
    """Return the encoding of a table whose columns are its features; it refuses missing values."""
    return Encoding(tuple(Column(name, NUMBER) for name in names))


def _spellings(category: str, kind: str) -> tuple[str, ...]:
    """Return other spellings of a category: 3.0 for 3, and true, TRUE and 1 for True."""
    if kind == BOOLEAN and category in (FALSE, TRUE):
        digit = str(int(category == TRUE))
        return category.lower(), category.upper(), digit, f"{digit}.0"
    whole = category.removesuffix(".0")
    if not _WHOLE.fullmatch(whole):
        return ()
    return (whole,) if whole != category else (f"{category}.0",)


def _is_number(text: Any) -> bool:
    try:
        float(text)
    except (TypeError, ValueError):
        return False
    return True


@dataclass(frozen=True, eq=False)
class Features:
    """A table with its features.

    Attributes
    ----------
    table : object
        The table as passed or read.
    encoding : Encoding
        The encoding of its columns.
    rows : ndarray of shape (n_rows, n_features)
        The features of all rows.
    left_out : tuple of str
        Valid columns that are not features: domains as text.
    is_plain : bool
        Whether the table equals its features: numbers without missing values.
    doubts : tuple of str
        Warnings about single columns, in sentences.
    """

    table: Any
    encoding: Encoding
    rows: FloatArray
    left_out: tuple[str, ...] = ()
    is_plain: bool = False
    doubts: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)


MEDIAN, MOST_FREQUENT = "median", "most-frequent"
IMPUTATIONS = (MEDIAN, MOST_FREQUENT)

MOST_LEVELS = 30
"""Maximum number of categories of a one-hot column; the rarest ones are joined."""

MOST_RANKS = 50
"""Maximum number of values of an ordinal column; a column with more holds names, dates or ids."""

OTHER = "other"
"""Name of the level that joins rare ones, unless a column has a level of that name."""


def learn_column(
    name: str,
    values: FloatArray | ObjectArray,
    kind: str,
    *,
    impute: str = MEDIAN,
    order: Sequence[str] | None = None,
    may_join: bool = True,
) -> Column:
    """Learn the encoding of a column from its values: floats or text, with NaN or None for missing values.

    Parameters
    ----------
    name : str
    values : ndarray of shape (rows,)
    kind : {"number", "boolean", "onehot", "ordinal"}
    impute : {"median", "most-frequent"}
        Replacement of missing numbers.
    order : sequence of str, optional
        The categories of an ordinal column, the lowest first; sorted by default.
    may_join : bool
        Whether rare categories of a one-hot column are joined if there are more than 30.
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
    has_gaps = len(known) < len(values)
    if kind == ORDINAL or not has_gaps:
        return Column(name, kind, categories, rest, rest, has_gaps)
    missing = _unlike({*categories, rest, *known}, MISSING)
    return Column(name, kind, (*categories, missing), missing, rest, gaps=True)


def _onehot_levels(name: str, known: Any, may_join: bool) -> tuple[tuple[str, ...], str]:
    """Return the levels, and the one without indicator: the first of two, the rarest of several, or all rare ones."""
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
        Column(name, NUMBER).encode(values, Unseen())  # refuses them, and names the first nonnumeric cell
    known = values[~np.isnan(values)]
    if not len(known):
        raise _without_values(name)
    finite = known[np.isfinite(known)] if np.isfinite(known).any() else np.zeros(1)
    fill = _short(float(np.median(finite) if impute == MEDIAN else _mode(finite)), finite)
    low, high, whole = float(finite.min()), float(finite.max()), bool((finite == np.floor(finite)).all())
    return Column(name, NUMBER, fill=fill, gaps=len(known) < len(values), low=low, high=high, whole=whole)


def _short(value: float, values: FloatArray) -> float:
    """Return the shortest decimal within a millionth of the spread, for rules: 32-bit floats have long decimals."""
    # Each end separately: a difference of huge numbers overflows.
    nearest = 1e-6 * float(values.max()) - 1e-6 * float(values.min())
    shorter = (float(f"{value:.{digits}g}") for digits in range(1, 17))
    return next((number for number in shorter if abs(number - value) <= nearest), value)


def _unlike(taken: set[str], name: str) -> str:
    """Return the name, in parentheses until it is unique."""
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
    """Return the most frequent value; the smallest one in a tie."""
    found, counts = np.unique(values, return_counts=True)
    return found[np.argmax(counts)]
