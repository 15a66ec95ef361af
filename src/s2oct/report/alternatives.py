"""Another tree that is as good, beside the fitted one: what the two say differently."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from s2oct.arrays import IntArray
from s2oct.estimators.fitted import FittedRows
from s2oct.model.features import columns_of
from s2oct.report.leaves import rules_text
from s2oct.report.single_rows import SHOWN_ROWS, SingleRow, single_row, weightiest_features
from s2oct.writers.rules import pruned


@dataclass(frozen=True)
class Disagreement:
    """How many unlabeled rows the fitted tree gives one class and the other tree another."""

    class_index: int
    class_name: str
    other_index: int
    other_name: str
    n_rows: int


@dataclass(frozen=True)
class RowOfTwoClasses:
    """A row with its class by the fitted tree, and its class by the other one."""

    row: SingleRow
    other_index: int
    other_name: str


@dataclass(frozen=True)
class SideBySide:
    """Two trees that are as good, and the unlabeled rows on which they differ; ``n_alternatives`` others are known."""

    n_alternatives: int
    fitted_rules: str
    other_rules: str
    only_fitted: tuple[str, ...]
    only_other: tuple[str, ...]
    n_rows: int
    share: float
    disagreements: tuple[Disagreement, ...]
    features: tuple[str, ...]
    rows: tuple[RowOfTwoClasses, ...]


def describe_alternatives(estimator: Any, rows: FittedRows, names: Sequence[Any]) -> SideBySide | None:
    """The fitted tree and, of those that are as good, the one that differs on most unlabeled rows; None without any."""
    trees = getattr(estimator, "alternatives_", ())
    unlabeled = np.flatnonzero(~rows.is_labeled)
    if not trees or not len(unlabeled):
        return None
    others = [replace(rows, tree=tree) for tree in trees]
    other = max(others, key=lambda others_rows: int((others_rows.predicted != rows.predicted)[unlabeled].sum()))
    disputed = unlabeled[(other.predicted != rows.predicted)[unlabeled]]
    here, there = _columns(rows), _columns(other)
    features = weightiest_features(rows)
    return SideBySide(
        n_alternatives=len(trees),
        fitted_rules=rules_text(rows),
        other_rules=rules_text(other),
        only_fitted=tuple(name for name in here if name not in there),
        only_other=tuple(name for name in there if name not in here),
        n_rows=len(disputed),
        share=len(disputed) / len(unlabeled),
        disagreements=_disagreements(rows, other, disputed),
        features=tuple(rows.features[j].column for j in features),
        rows=tuple(
            RowOfTwoClasses(
                single_row(rows, int(i), features, names),
                int(other.predicted[i]),
                rows.class_names[int(other.predicted[i])],
            )
            for i in disputed[:SHOWN_ROWS]
        ),
    )


def _columns(rows: FittedRows) -> list[str]:
    """Columns that the tree asks for, in their order."""
    deciding = [split.node - 1 for split in pruned(rows.tree).splits]
    return list(columns_of(rows.features[j] for j in np.flatnonzero(rows.tree.omega[deciding].any(axis=0))))


def _disagreements(rows: FittedRows, other: FittedRows, disputed: IntArray) -> tuple[Disagreement, ...]:
    counts = np.zeros((rows.n_classes, rows.n_classes), dtype=np.int64)
    np.add.at(counts, (rows.predicted[disputed], other.predicted[disputed]), 1)
    return tuple(
        Disagreement(k, rows.class_names[k], j, rows.class_names[j], int(counts[k, j]))
        for k, j in zip(*(place.tolist() for place in np.nonzero(counts)), strict=True)
    )
