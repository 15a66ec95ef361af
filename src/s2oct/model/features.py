"""What a feature means to a reader: a number, a yes or no, one level of a column, or levels in an order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from s2oct.arrays import FloatArray
from s2oct.wording import printable

NUMBER, BOOLEAN, ONEHOT, ORDINAL = "number", "boolean", "onehot", "ordinal"


@dataclass(frozen=True)
class Feature:
    """One feature of a tree and the column that it comes from.

    Parameters
    ----------
    name : str
        The feature in a sum: ``age``, ``region=north``.
    column : str
        The column of the table.
    kind : {"number", "boolean", "onehot", "ordinal"}
    level : str or None
        The level whose rows have 1, all others having 0; ``true`` of a boolean. None for numbers and ordered columns.
    rest : str or None
        The level of the rows that have 0 in every indicator of the column.
    levels : tuple of str
        The levels of an ordered column, whose feature has their positions 0, 1, 2, ...
    missing : str or None
        The level of missing values, the first one of an ordered column; None if the column had none in the fit.
    fill : float or None
        The number that stands for missing ones; None if the column had none in the fit.
    """

    name: str
    column: str
    kind: str = NUMBER
    level: str | None = None
    rest: str | None = None
    levels: tuple[str, ...] = ()
    missing: str | None = None
    fill: float | None = None

    def __str__(self) -> str:
        return self.name

    @property
    def n_values(self) -> int:
        """The number of values 0, 1, 2, ... that the feature can have; 0 for a number, which can have any."""
        return len(self.levels) if self.level is None else 2

    @property
    def title(self) -> str:
        """What the mean of the feature is about: ``region is north``, ``education (0 primary to 2 tertiary)``."""
        if self.levels:
            last = len(self.levels) - 1
            return f"{self.column} (0 {self.levels[0]} to {last} {self.levels[last]})"
        return " ".join(self.condition((False, True)) or (self.column,)) if self.n_values else self.column

    def condition(self, holds: Sequence[bool]) -> tuple[str, ...] | None:
        """Word the condition that is fulfilled by some of the values 0, 1, 2, ..., either the lowest or the highest.

        Parameters
        ----------
        holds : sequence of bool
            Whether each value fulfils it.

        Returns
        -------
        tuple of str or None
            One part, or the column and a comparison. None where the values need no words: for a number, and for an
            indicator both of whose values are on one side.
        """
        if self.level is None:
            return self._of_levels(holds) if self.levels else None
        if holds[0] == holds[1]:
            return None
        column = printable(self.column)
        if self.kind == BOOLEAN and self.level != self.missing:
            return (column if holds[1] else f"not {column}{self._or_missing}",)
        return (f"{column} is {'' if holds[1] else 'not '}{as_level(self.level)}",)

    def _of_levels(self, holds: Sequence[bool]) -> tuple[str, ...]:
        column = printable(self.column)
        known = list(zip(self.levels, holds, strict=True))[int(self.missing is not None) :]
        inside = [level for level, is_in in known if is_in]
        if self.missing is not None and len(inside) in (0, len(known)) and holds[0] != bool(inside):
            return (f"{column} is {'not ' if inside else ''}{self.missing}",)
        if not inside:
            return column, f"> {as_level(self.levels[-1])}"
        is_lowest = known[0][1]
        limit = as_level(inside[-1 if is_lowest else 0])
        return column, f"{'<=' if is_lowest else '>='} {limit}{self._or_missing if holds[0] else ''}"

    @property
    def _or_missing(self) -> str:
        return "" if self.missing is None else f" or {self.missing}"


def as_features(names: Iterable[Feature | str]) -> tuple[Feature, ...]:
    """Features as they are; a name alone is that of a number."""
    return tuple(Feature(name, name) if isinstance(name, str) else name for name in names)


def columns_of(features: Iterable[Feature]) -> tuple[str, ...]:
    """The columns of features, each once."""
    return tuple(dict.fromkeys(feature.column for feature in features))


def renamed(features: Sequence[Feature], names: Sequence[str]) -> tuple[Feature, ...]:
    """Features with other names for their columns, which are as many as ``names``."""
    columns = dict(zip(columns_of(features), names, strict=True))

    def name(feature: Feature) -> Feature:
        column = columns[feature.column]
        return replace(feature, name=column + feature.name.removeprefix(feature.column), column=column)

    return tuple(map(name, features))


def settings_of(features: Sequence[Feature], j: int) -> dict[str, dict[int, float]]:
    """The levels of a feature's column, each with the values of all features of the column; a number has no levels."""
    feature = features[j]
    if feature.level is None:
        return {level: {j: float(position)} for position, level in enumerate(feature.levels)}
    here = [k for k, other in enumerate(features) if other.column == feature.column]
    levels = (str(feature.rest), *(str(features[k].level) for k in here))
    return {level: {k: float(features[k].level == level) for k in here} for level in levels}


def level_of(features: Sequence[Feature], j: int, row: Sequence[float] | FloatArray) -> str:
    """The level that a row has in a feature's column."""
    for level, setting in settings_of(features, j).items():
        if all(row[k] == value for k, value in setting.items()):
            return level
    return str(row[j])


def as_level(level: str) -> str:
    """A level in a rule, quoted where it could be read as a part of the rule."""
    shown = printable(level)
    is_clear = shown.strip() == shown != "" and shown[0] != "'" and not shown.startswith("not ")
    return shown if is_clear and not re.search(r" or \(*missing\)*$", shown) else f"'{shown}'"
