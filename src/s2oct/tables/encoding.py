"""From the columns of a table to features: numbers as they are, categories as numbers, gaps filled or refused.

`Treatment.learn` makes an `Encoding` from a table; the model file keeps it, and every export repeats it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2oct.arrays import FloatArray, ObjectArray
from s2oct.errors import InvalidProblem, InvalidTable, Remedy
from s2oct.model.features import NUMBER, ONEHOT, ORDINAL, Feature
from s2oct.wording import plural

__all__ = ["KINDS", "NUMBER", "ONEHOT", "ORDINAL", "Column", "Encoding", "plain_encoding"]

KINDS = (NUMBER, ONEHOT, ORDINAL)

_DIGITS = {"false": "0", "true": "1"}


@dataclass(frozen=True)
class Column:
    """How one column of a table becomes one feature or, one-hot, several.

    Parameters
    ----------
    name : str
    kind : {"number", "onehot", "ordinal"}
    categories : tuple of str
        The values of a categorical column as text. One-hot makes an indicator of each but the reference; ordinal makes
        their positions 0, 1, 2, ...
    fill : float, str or None
        The value that replaces a missing one; None where missing values are refused.
    reference : str or None
        The category without an indicator. Where it is None, as in models of earlier versions, the first of two
        categories has none, and of more categories each has one.
    joins : bool
        Whether the reference stands for all values that are not among the categories, too: rare ones and new ones.
        Otherwise such values are refused.
    """

    name: str
    kind: str
    categories: tuple[str, ...] = ()
    fill: float | str | None = None
    reference: str | None = None
    joins: bool = False

    @property
    def indicated(self) -> tuple[str, ...]:
        """The categories that have an indicator."""
        if self.reference is not None:
            return tuple(value for value in self.categories if value != self.reference)
        return self.categories[1:] if len(self.categories) == 2 else self.categories

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features this column becomes."""
        return tuple(f"{self.name}={value}" for value in self.indicated) if self.kind == ONEHOT else (self.name,)

    @property
    def described(self) -> tuple[Feature, ...]:
        """The features this column becomes, as readers know them."""
        if self.kind == ONEHOT:
            rest = self.reference or (self.categories[0] if len(self.categories) == 2 else "other")
            return tuple(
                Feature(name, self.name, ONEHOT, level=level, rest=rest)
                for name, level in zip(self.features, self.indicated, strict=True)
            )
        fill = float(self.fill) if isinstance(self.fill, float) else None
        return (Feature(self.name, self.name, self.kind, levels=self.categories, fill=fill, gaps=fill is not None),)

    @property
    def readings(self) -> dict[str, int]:
        """Every text that stands for a category, with the position of the category.

        Files, databases and languages write booleans in different ways. So a column of booleans takes all of them.
        """
        readings = {value: position for position, value in enumerate(self.categories)}
        words = [value.lower() for value in self.categories]
        if set(words) <= set(_DIGITS) and len(set(words)) == len(words):
            for position, word in enumerate(words):
                for spelling in (word, word.capitalize(), word.upper(), _DIGITS[word]):
                    readings.setdefault(spelling, position)
        return readings

    @property
    def rest(self) -> int | None:
        """The position of the category that stands for all other values; None if these are refused."""
        return self.categories.index(str(self.reference)) if self.joins else None

    def encode(self, values: FloatArray | ObjectArray, first_row: int = 1) -> FloatArray:
        """Encode some rows, shape (rows, len(features)).

        ``values`` are floats with NaN for gaps, or text with None for gaps. ``first_row`` is the number of the first
        row in error messages.
        """
        if self.kind == NUMBER:
            return self._numbers(values, first_row)[:, None]
        positions = self._positions(values, first_row)
        if self.kind == ORDINAL:
            return np.asarray(positions[:, None], dtype=float)
        indicated = np.array([self.categories.index(value) for value in self.indicated])
        return np.asarray(positions[:, None] == indicated[None, :], dtype=float)

    def _numbers(self, values: FloatArray | ObjectArray, first_row: int) -> FloatArray:
        if values.dtype.kind != "f":
            row, value = _first(values, [value is not None and not _is_number(value) for value in values])
            raise InvalidProblem(f"Expected numbers in column {self.name!r}, got {value!r} in row {row + first_row}.")
        if np.isfinite(values).all():
            return np.asarray(values, dtype=float)
        gaps = np.isnan(values)
        if gaps.any():
            if self.fill is None:
                self._refuse_gaps(gaps, first_row)
            values = np.where(gaps, float(self.fill or 0.0), values)
        if np.isinf(values).any():
            row = int(np.argmax(np.isinf(values)))
            raise InvalidTable(
                f"Expected finite numbers in column {self.name!r}, got infinity in row {row + first_row}",
                Remedy.LEAVE_OUT,
                column=self.name,
            )
        return np.asarray(values, dtype=float)

    def _positions(self, values: FloatArray | ObjectArray, first_row: int) -> Any:
        index: dict[Any, int] = dict(self.readings)
        unknown = -1 if self.rest is None else self.rest
        index[None] = -1 if self.fill is None else index[str(self.fill)]
        found = np.array([index.get(value, unknown) for value in values], dtype=np.int64)
        if (found < 0).any():
            gaps = np.array([value is None for value in values])
            if gaps.any() and self.fill is None:
                self._refuse_gaps(gaps, first_row)
            row = int(np.argmax(found < 0))
            raise self.unknown_level(values[row], int((values == values[row]).sum()), row + first_row)
        return found

    def unknown_level(self, level: Any, n_rows: int, first: int) -> InvalidTable:
        """Say that some rows have a level that the column had not when its encoding was learned."""
        where = f"in {plural(n_rows, 'row')}, the first of them row {first}" if n_rows > 1 else f"in row {first}"
        return InvalidTable(
            f"Column {self.name!r} has {level!r} {where}, but the model knows only {list(self.categories)}",
            Remedy.KNOWN_LEVEL,
            column=self.name,
            value=str(level),
        )

    def _refuse_gaps(self, gaps: Any, first_row: int) -> None:
        count, row = int(gaps.sum()), int(np.argmax(gaps)) + first_row
        raise InvalidTable(
            f"Expected no missing values in column {self.name!r}, got {count}, the first in row {row}",
            Remedy.FILL_GAPS,
            Remedy.LEAVE_OUT,
            column=self.name,
            n_missing=count,
        )


@dataclass(frozen=True)
class Encoding:
    """The columns of a table in the order of their features."""

    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(feature for column in self.columns for feature in column.features)

    @property
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
    def is_plain(self) -> bool:
        """Whether every column is its feature, gaps refused."""
        return all(column.kind == NUMBER and column.fill is None for column in self.columns)

    def encode(self, table: Mapping[str, FloatArray | ObjectArray], first_row: int = 1) -> FloatArray:
        """Encode some rows, shape (rows, n_features)."""
        # Columns stay contiguous in memory: a tree reads them as fast, and a copy into rows would cost more.
        features = np.empty((len(table[self.names[0]]), len(self.features)), order="F")
        first = 0
        for column in self.columns:
            after = first + len(column.features)
            features[:, first:after] = column.encode(table[column.name], first_row)
            first = after
        return features


def plain_encoding(names: Iterable[str]) -> Encoding:
    """The encoding of a table whose columns are its features."""
    return Encoding(tuple(Column(name, NUMBER) for name in names))


def _first(values: Any, is_wrong: list[bool]) -> tuple[int, Any]:
    row = is_wrong.index(True) if True in is_wrong else 0
    return row, values[row] if len(values) else None


def _is_number(text: Any) -> bool:
    try:
        float(text)
    except (TypeError, ValueError):
        return False
    return True
