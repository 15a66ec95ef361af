"""The meaning of a feature: a number, a level of a column, an ordered level, or a missing value."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from s2oct.arrays import FloatArray
from s2oct.errors import InvalidProblem
from s2oct.wording import printable

NUMBER, BOOLEAN, ONEHOT, ORDINAL, MISSING_INDICATOR = "number", "boolean", "onehot", "ordinal", "gap"

MISSING = "missing"
"""Name of the level of missing values, unless a column has a level of that name."""


@dataclass(frozen=True)
class Feature:
    """One feature of a tree and its column.

    Parameters
    ----------
    name : str
        Name of the feature: ``age``, ``region=north``, ``age=missing``.
    column : str
        The column of the table.
    kind : {"number", "boolean", "onehot", "ordinal", "gap"}
        A feature of kind "gap" indicates missing values of a numeric or ordered column.
    level : str or None
        The level whose rows have 1, while others have 0; ``true`` for a boolean. None for numbers and ordered columns.
    rest : str or None
        The level without an indicator: its rows have 0 in all indicators of the column.
    levels : tuple of str
        The levels of an ordered column; the feature is their position 0, 1, 2, ...
    missing : str or None
        The column's level of missing values; None if it has none.
    fill : float or None
        The number or position that replaces missing values; None if the column had none in the fit.
    low, high : float
        Minimum and maximum in the fit.
    is_whole : bool
        Whether all numbers in the fit were whole.
    """

    name: str
    column: str
    kind: str = NUMBER
    level: str | None = None
    rest: str | None = None
    levels: tuple[str, ...] = ()
    missing: str | None = None
    fill: float | None = None
    low: float = -math.inf
    high: float = math.inf
    is_whole: bool = False

    def __str__(self) -> str:
        return self.name

    @property
    def title(self) -> str:
        """Title for the mean of the feature: ``region is north``, ``education (0 primary to 2 tertiary)``."""
        if self.levels:
            last = len(self.levels) - 1
            return f"{self.column} (0 {self.levels[0]} to {last} {self.levels[last]})"
        return self.column if self.level is None else self.statement

    @property
    def statement(self) -> str:
        """Statement that holds for rows whose indicator is 1: ``region is north``, ``owner``."""
        is_true = self.kind == BOOLEAN and self.level != self.missing
        return printable(self.column) if is_true else f"{printable(self.column)} is {as_level(str(self.level))}"


def as_features(names: Iterable[Feature | str]) -> tuple[Feature, ...]:
    """Return features, with plain names turned into numeric features."""
    return tuple(name if isinstance(name, Feature) else Feature(str(name), str(name)) for name in names)


def columns_of(features: Iterable[Feature]) -> tuple[str, ...]:
    """Return the distinct columns of features."""
    return tuple(dict.fromkeys(feature.column for feature in features))


def renamed(features: Sequence[Feature], names: Sequence[str]) -> tuple[Feature, ...]:
    """Return the features with their columns renamed to ``names``, in order."""
    refuse_repeated_names(names)
    columns = dict(zip(columns_of(features), names, strict=True))

    def name(feature: Feature) -> Feature:
        column = columns[feature.column]
        return replace(feature, name=column + feature.name.removeprefix(feature.column), column=column)

    return tuple(map(name, features))


def refuse_repeated_names(names: Sequence[str]) -> None:
    """Refuse duplicate names: rules identify columns by name."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise InvalidProblem(f"Expected different feature names, got {twice[0]!r} twice.")


@dataclass(frozen=True)
class FeatureColumn:
    """The features of a column: indicators of its levels, or a number or position and an indicator of missing values.

    Attributes
    ----------
    features : mapping of int to Feature
        The features by index, in order.
    """

    features: Mapping[int, Feature]

    @classmethod
    def of(cls, features: Sequence[Feature], j: int) -> FeatureColumn:
        """Return the column of feature j."""
        return cls({k: feature for k, feature in enumerate(features) if feature.column == features[j].column})

    @property
    def measured(self) -> int | None:
        """Index of the feature that is a number or position; None if there is none."""
        return next((k for k, feature in self.features.items() if feature.level is None), None)

    @property
    def rest(self) -> str | None:
        """The level without an indicator; None for numbers and ordered columns."""
        return next(iter(self.features.values())).rest

    @property
    def missing(self) -> str | None:
        """The level of missing values; None if the column had none in the fit."""
        if self.measured is None:
            return next(iter(self.features.values())).missing
        named = [feature.level for feature in self.features.values() if feature.kind == MISSING_INDICATOR]
        return None if self.features[self.measured].fill is None else (named or [MISSING])[0]

    @cached_property
    def settings(self) -> dict[str, dict[int, float]]:
        """Values of all features for each level; missing values are a level, the only one of a numeric column."""
        zeros = {k: 0.0 for k, feature in self.features.items() if feature.level is not None}
        if self.measured is None:
            levels = {str(self.rest): zeros} | {str(self.features[k].level): {**zeros, k: 1.0} for k in zeros}
            return dict(sorted(levels.items(), key=lambda item: (item[0] == self.missing, item[0])))
        feature = self.features[self.measured]
        settings = {level: {self.measured: float(i), **zeros} for i, level in enumerate(feature.levels)}
        if self.missing is not None:
            settings[self.missing] = {self.measured: feature.fill or 0.0, **dict.fromkeys(zeros, 1.0)}
        return settings

    def level(self, row: Sequence[float] | FloatArray) -> str | None:
        """Return the level of a row; None for a number."""
        fitting = (
            level for level, setting in self.settings.items() if all(row[k] == value for k, value in setting.items())
        )
        return next(fitting, None)


def as_level(level: str, *, listed: bool = False) -> str:
    """Return a level as written in a rule, quoted if it could be misread as part of the rule or as several levels."""
    shown = printable(level)
    is_clear = shown.strip() == shown != "" and shown[0] != "'" and not shown.startswith("not ")
    is_split = listed and re.search(r"[,()]", shown)
    return shown if is_clear and not is_split and not re.search(r" or \(*missing\)*$", shown) else f"'{shown}'"
