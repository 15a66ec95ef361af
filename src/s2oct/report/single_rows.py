"""Single rows in the report: what they are called, which of their features are shown, and the contradicted ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2oct.errors import InvalidProblem
from s2oct.estimators.fitted import FittedRows
from s2oct.model.features import FeatureColumn
from s2oct.report.wording import clean, measure

SHOWN_ROWS = 10
SHOWN_FEATURES = 4


@dataclass(frozen=True)
class SingleRow:
    """A row by its name, with some of its values and the class that the tree gives it."""

    id: str
    values: tuple[str, ...]
    class_index: int
    class_name: str


@dataclass(frozen=True)
class ContradictedRow:
    """A labeled row that the tree puts into another class than its own."""

    row: SingleRow
    label_index: int
    label_name: str


@dataclass(frozen=True)
class Contradictions:
    """How many labels the tree contradicts, and the first of these rows."""

    n_rows: int
    features: tuple[str, ...]
    rows: tuple[ContradictedRow, ...]


def names_of_rows(rows: FittedRows, row_ids: Sequence[Any] | None) -> Sequence[Any]:
    """What to call the rows: as given, or their numbers from 1."""
    if row_ids is None:
        return range(1, len(rows.X) + 1)
    if len(row_ids) != len(rows.X):
        raise InvalidProblem(f"Expected one row id per row, got {len(row_ids)} for {len(rows.X)} rows.")
    return row_ids


def weightiest_features(rows: FittedRows) -> list[int]:
    """The features with the largest coefficients, per standard deviation and relative to the largest in each split.

    Of the features of one column there is only the first.
    """
    size = np.abs(rows.tree.omega) * rows.spread
    largest = size.max(axis=1, keepdims=True)
    total = np.divide(size, largest, out=np.zeros_like(size), where=largest > 0).sum(axis=0)
    first: dict[str, int] = {}
    for j in np.argsort(-total, kind="stable").tolist():
        if total[j] > 0:
            first.setdefault(rows.features[j].column, j)
    return list(first.values())[:SHOWN_FEATURES]


def single_row(rows: FittedRows, i: int, features: list[int], names: Sequence[Any]) -> SingleRow:
    """Row number i as the report shows it."""
    code = int(rows.predicted[i])
    values = tuple(_value(rows, i, j) for j in features)
    return SingleRow(clean(names[i]), values, code, rows.class_names[code])


def _value(rows: FittedRows, i: int, j: int) -> str:
    """What a row has in the column of a feature."""
    level = FeatureColumn.of(rows.features, j).level(rows.X[i])
    return measure(float(rows.X[i, j])) if level is None else level


def describe_contradictions(rows: FittedRows, names: Sequence[Any]) -> Contradictions:
    """The labels that the tree contradicts."""
    wrong = np.flatnonzero(rows.is_labeled & (rows.predicted != rows.codes))
    features = weightiest_features(rows)
    return Contradictions(
        n_rows=len(wrong),
        features=tuple(rows.features[j].column for j in features),
        rows=tuple(
            ContradictedRow(
                single_row(rows, int(i), features, names), int(rows.codes[i]), rows.class_names[rows.codes[i]]
            )
            for i in wrong[:SHOWN_ROWS]
        ),
    )
