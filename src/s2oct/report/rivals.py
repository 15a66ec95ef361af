"""The tree beside other classifiers that know the same total: where they agree, and where not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.estimators.fitted import FittedRows
from s2oct.report.leaves import LeafRows, unlabeled_by_leaf
from s2oct.report.wording import clean, measure

SHOWN_ROWS = 10
SHOWN_FEATURES = 4


@dataclass(frozen=True)
class Rival:
    """A classifier and on how many unlabeled rows it agrees with the tree."""

    name: str
    agree: int
    share: float


@dataclass(frozen=True)
class LeafDispute:
    """A leaf and how many of its unlabeled rows each rival assigns to another class."""

    leaf: LeafRows
    disagree: tuple[int, ...]


@dataclass(frozen=True)
class DisputedRow:
    """An unlabeled row that every rival assigns to another class than the tree does."""

    id: str
    values: tuple[str, ...]
    class_index: int
    class_name: str
    stability: float | None


@dataclass(frozen=True)
class Comparison:
    """The rivals, where they disagree with the tree, and the rows on which all of them do."""

    rivals: tuple[Rival, ...]
    leaves: tuple[LeafDispute, ...]
    features: tuple[str, ...]
    rows: tuple[DisputedRow, ...]
    n_disputed: int
    n_unlabeled: int


def compare_rivals(
    rows: FittedRows,
    assigned: Mapping[str, IntArray],
    *,
    stability: FloatArray | None = None,
    row_ids: Sequence[Any] | None = None,
) -> Comparison:
    """Compare the tree with the classes that each rival assigns to the unlabeled rows."""
    free = np.flatnonzero(~rows.is_labeled)
    tree = rows.predicted[free]
    differs = {clean(name): np.asarray(codes != tree) for name, codes in assigned.items()}
    disputed = np.logical_and.reduce(list(differs.values())) if differs else np.zeros(len(free), dtype=bool)
    features = _weightiest(rows)
    return Comparison(
        rivals=tuple(Rival(name, int((~other).sum()), float((~other).mean())) for name, other in differs.items()),
        leaves=_by_leaf(rows, list(differs.values())),
        features=tuple(rows.feature_names[j] for j in features),
        rows=tuple(
            _disputed_row(rows, int(free[i]), features, None if stability is None else float(stability[i]), row_ids)
            for i in np.flatnonzero(disputed)[:SHOWN_ROWS]
        ),
        n_disputed=int(disputed.sum()),
        n_unlabeled=len(free),
    )


def _by_leaf(rows: FittedRows, differs: list[BoolArray]) -> tuple[LeafDispute, ...]:
    return tuple(
        LeafDispute(leaf, tuple(int(other[here].sum()) for other in differs)) for leaf, here in unlabeled_by_leaf(rows)
    )


def _weightiest(rows: FittedRows) -> list[int]:
    """The features with the largest coefficients, per standard deviation and relative to the largest in each split."""
    size = np.abs(rows.tree.omega) * rows.spread
    largest = size.max(axis=1, keepdims=True)
    total = np.divide(size, largest, out=np.zeros_like(size), where=largest > 0).sum(axis=0)
    order = np.argsort(-total, kind="stable")[:SHOWN_FEATURES]
    return [int(j) for j in order if total[j] > 0]


def _disputed_row(
    rows: FittedRows, row: int, features: list[int], stability: float | None, row_ids: Sequence[Any] | None
) -> DisputedRow:
    code = int(rows.predicted[row])
    return DisputedRow(
        id=str(row + 1) if row_ids is None else clean(row_ids[row]),
        values=tuple(measure(float(rows.X[row, j])) for j in features),
        class_index=code,
        class_name=rows.class_names[code],
        stability=stability,
    )
