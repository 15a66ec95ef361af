"""The tree beside other classifiers that know the same total: where they agree, and where not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.estimators.fitted import FittedRows
from s2oct.report.leaves import LeafRows, unlabeled_by_leaf
from s2oct.report.single_rows import SHOWN_ROWS, SingleRow, single_row, weightiest_features
from s2oct.report.wording import clean


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

    row: SingleRow
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
    names: Sequence[Any],
    stability: FloatArray | None = None,
) -> Comparison:
    """Compare the tree with the classes that each rival assigns to the unlabeled rows."""
    free = np.flatnonzero(~rows.is_labeled)
    tree = rows.predicted[free]
    differs = {clean(name): np.asarray(codes != tree) for name, codes in assigned.items()}
    disputed = np.logical_and.reduce(list(differs.values())) if differs else np.zeros(len(free), dtype=bool)
    features = weightiest_features(rows)
    return Comparison(
        rivals=tuple(Rival(name, int((~other).sum()), float((~other).mean())) for name, other in differs.items()),
        leaves=_by_leaf(rows, list(differs.values())),
        features=tuple(rows.features[j].column for j in features),
        rows=tuple(
            DisputedRow(
                single_row(rows, int(free[i]), features, names), None if stability is None else float(stability[i])
            )
            for i in np.flatnonzero(disputed)[:SHOWN_ROWS]
        ),
        n_disputed=int(disputed.sum()),
        n_unlabeled=len(free),
    )


def _by_leaf(rows: FittedRows, differs: list[BoolArray]) -> tuple[LeafDispute, ...]:
    return tuple(
        LeafDispute(leaf, tuple(int(other[here].sum()) for other in differs)) for leaf, here in unlabeled_by_leaf(rows)
    )
