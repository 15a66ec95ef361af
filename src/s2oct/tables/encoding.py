"""From the columns of a table to features: numbers as they are, categories as numbers, missing values filled.

`Treatment.learn` makes an `Encoding` from a table; the model file keeps it, and every export repeats it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from s2oct.arrays import FloatArray, ObjectArray
from s2oct.errors import InvalidProblem, InvalidTable, Remedy
from s2oct.model.features import BOOLEAN, NUMBER, ONEHOT, ORDINAL, Feature
from s2oct.tables.dialect import MISSING
from s2oct.tables.unseen import Unseen

__all__ = [
    "BOOLEAN",
    "FALSE",
    "KINDS",
    "NUMBER",
    "ONEHOT",
    "ORDINAL",
    "TRUE",
    "Column",
    "Encoding",
    "plain_encoding",
]

KINDS = (NUMBER, BOOLEAN, ONEHOT, ORDINAL)

FALSE, TRUE = "False", "True"

_WHOLE = re.compile(r"-?\d{1,15}", re.ASCII)


@dataclass(frozen=True)
class Column:
    """How one column of a table becomes one feature or, one-hot, several.

    Parameters
    ----------
    name : str
    kind : {"number", "boolean", "onehot", "ordinal"}
    categories : tuple of str
        The levels of a categorical column as text. One-hot makes an indicator of each but ``rest``, a boolean column
        likewise; ordinal makes their positions 0, 1, 2, ...
    fill : float, str or None
        What stands for a missing value: a number, or a category. None where missing values are refused.
    rest : str or None
        The category that stands for all levels that are not among the categories. It has no indicator. It is not among
        the categories itself if it joins rare levels.
    gaps : bool
        Whether the column had missing values in the fit.
    """

    name: str
    kind: str
    categories: tuple[str, ...] = ()
    fill: float | str | None = None
    rest: str | None = None
    gaps: bool = False

    @property
    def levels(self) -> tuple[str, ...]:
        """The categories without the one that stands for missing values alone."""
        return tuple(level for level in self.categories if not (self.gaps and level == self.fill))

    @property
    def joins(self) -> bool:
        """Whether ``rest`` joins rare levels, so that a level outside the categories need not be a new one."""
        return self.kind != NUMBER and self.rest not in self.categories

    @property
    def indicated(self) -> tuple[str, ...]:
        """The categories that have an indicator."""
        if self.kind in (NUMBER, ORDINAL):
            return ()
        return tuple(value for value in self.categories if value != self.rest)

    @cached_property
    def features(self) -> tuple[str, ...]:
        """Names of the features this column becomes; that of a boolean is the column's own."""
        if self.kind in (NUMBER, ORDINAL):
            return (self.name,)
        is_boolean = self.kind == BOOLEAN
        return tuple(self.name if is_boolean and value == TRUE else f"{self.name}={value}" for value in self.indicated)

    @property
    def described(self) -> tuple[Feature, ...]:
        """The features this column becomes, as readers know them."""
        if self.kind == NUMBER:
            return (Feature(self.name, self.name, fill=float(self.fill or 0.0) if self.gaps else None),)
        missing = str(self.fill) if self.gaps else None
        if self.kind == ORDINAL:
            return (Feature(self.name, self.name, ORDINAL, levels=self.categories, missing=missing),)
        words = {FALSE: "false", TRUE: "true"} if self.kind == BOOLEAN else {}
        rest = words.get(str(self.rest), self.rest)
        return tuple(
            Feature(name, self.name, self.kind, level=words.get(level, level), rest=rest, missing=missing)
            for name, level in zip(self.features, self.indicated, strict=True)
        )

    @cached_property
    def readings(self) -> dict[str, int]:
        """Every text that stands for a category, with the position of the category.

        Files, databases and languages write booleans and whole numbers in different ways; a column takes all of them.
        """
        readings = {value: position for position, value in enumerate(self.categories)}
        for position, value in enumerate(self.categories):
            for spelling in _spellings(value, self.kind):
                readings.setdefault(spelling, position)
        return readings

    @cached_property
    def marks(self) -> tuple[str, ...]:
        """Texts that stand for a missing value: the usual ones, unless a level of the column is called like that."""
        return tuple(mark for mark in MISSING if mark not in self.readings)

    def is_gap(self, text: str | None) -> bool:
        """Whether a cell of a categorical column is a missing value."""
        return text is None or (text not in self.readings and text.strip() in self.marks)

    def text(self, cell: Any) -> str | None:
        """Write a cell, a known level in the spelling of the fit; None for a missing value."""
        if self.kind == NUMBER:
            return None if np.isnan(cell) else str(cell)
        if self.is_gap(cell):
            return None
        return self.categories[self.readings[cell]] if cell in self.readings else str(cell)

    @property
    def rest_position(self) -> int:
        """The position of ``rest``; the one after the last category if it joins rare levels."""
        return len(self.categories) if self.joins else self.categories.index(str(self.rest))

    @property
    def fill_position(self) -> int:
        """The position of the category that stands for a missing value."""
        return self.rest_position if self.fill == self.rest else self.categories.index(str(self.fill))

    def encode(self, values: FloatArray | ObjectArray, unseen: Unseen, first_row: int = 1) -> FloatArray:
        """Encode some rows, shape (rows, len(features)).

        ``values`` are floats with NaN for missing ones, or text with None for missing ones. What the fit did not see
        is counted in ``unseen``. ``first_row`` is the number of the first row in messages.
        """
        if self.kind == NUMBER:
            return self._numbers(values, unseen, first_row)[:, None]
        positions = self._positions(values, unseen, first_row)
        if self.kind == ORDINAL:
            return np.asarray(positions[:, None], dtype=float)
        indicated = np.array([self.categories.index(value) for value in self.indicated], dtype=np.int64)
        return np.asarray(positions[:, None] == indicated[None, :], dtype=float)

    def _numbers(self, values: FloatArray | ObjectArray, unseen: Unseen, first_row: int) -> FloatArray:
        if values.dtype.kind != "f":
            row, value = _first(values, [value is not None and not _is_number(value) for value in values])
            raise InvalidProblem(f"Expected numbers in column {self.name!r}, got {value!r} in row {row + first_row}.")
        if np.isfinite(values).all():
            return np.asarray(values, dtype=float)
        gaps = np.isnan(values)
        if gaps.any():
            if self.fill is None:
                raise self._refused_gaps(gaps, first_row)
            if not self.gaps:
                unseen.add(self.name, None, (np.flatnonzero(gaps) + first_row).tolist())
            values = np.where(gaps, float(self.fill), values)
        if np.isinf(values).any():
            row = int(np.argmax(np.isinf(values)))
            raise InvalidTable(
                f"Expected finite numbers in column {self.name!r}, got infinity in row {row + first_row}",
                Remedy.LEAVE_OUT,
                column=self.name,
            )
        return np.asarray(values, dtype=float)

    def _positions(self, values: FloatArray | ObjectArray, unseen: Unseen, first_row: int) -> Any:
        index: dict[Any, int] = dict(self.readings)
        if self.gaps:
            index[None] = self.fill_position
        found = np.array([index.get(value, -1) for value in values], dtype=np.int64)
        strange: dict[Any, list[int]] = {}
        for row in np.flatnonzero(found < 0).tolist():
            is_gap = self.is_gap(values[row])
            found[row] = self.fill_position if is_gap else self.rest_position
            if not (self.gaps if is_gap else self.joins):
                strange.setdefault(None if is_gap else values[row], []).append(row + first_row)
        for value, rows in strange.items():
            unseen.add(self.name, value, rows)
        return found

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
        """The features as readers know them."""
        return tuple(feature for column in self.columns for feature in column.described)

    def features_of(self, names: Iterable[str]) -> tuple[str, ...]:
        """Names of the features that columns of these names become."""
        wanted = set(names)
        strange = sorted(wanted - set(self.names))
        if strange:
            close = difflib.get_close_matches(strange[0], self.names) or list(self.names[:20])
            raise InvalidProblem(f"Expected rules to use feature columns such as {close}, got {strange[0]!r}.")
        return tuple(feature for column in self.columns if column.name in wanted for feature in column.features)

    @property
    def is_numeric(self) -> bool:
        """Whether every column holds numbers, and so is its feature."""
        return all(column.kind == NUMBER for column in self.columns)

    def encode(
        self, table: Mapping[str, FloatArray | ObjectArray], first_row: int = 1, unseen: Unseen | None = None
    ) -> FloatArray:
        """Encode some rows, shape (rows, n_features).

        What the fit did not see, a level or a missing value, is replaced by what stands for it and counted in
        ``unseen``; without that it is refused.
        """
        counted = Unseen() if unseen is None else unseen
        # Columns stay contiguous in memory: a tree reads them as fast, and a copy into rows would cost more.
        features = np.empty((len(table[self.names[0]]), len(self.features)), order="F")
        first = 0
        for column in self.columns:
            after = first + len(column.features)
            features[:, first:after] = column.encode(table[column.name], counted, first_row)
            first = after
        if unseen is None:
            counted.refuse(self.columns)
        return features


def plain_encoding(names: Iterable[str]) -> Encoding:
    """The encoding of a table whose columns are its features, and in which missing values are refused."""
    return Encoding(tuple(Column(name, NUMBER) for name in names))


def _spellings(category: str, kind: str) -> tuple[str, ...]:
    """Other texts for a category: 3.0 is 3, and true, TRUE and 1 are True."""
    if kind == BOOLEAN and category in (FALSE, TRUE):
        digit = str(int(category == TRUE))
        return category.lower(), category.upper(), digit, f"{digit}.0"
    whole = category.removesuffix(".0")
    if not _WHOLE.fullmatch(whole):
        return ()
    return (whole,) if whole != category else (f"{category}.0",)


def _first(values: Any, is_wrong: list[bool]) -> tuple[int, Any]:
    row = is_wrong.index(True) if True in is_wrong else 0
    return row, values[row] if len(values) else None


def _is_number(text: Any) -> bool:
    try:
        float(text)
    except (TypeError, ValueError):
        return False
    return True
