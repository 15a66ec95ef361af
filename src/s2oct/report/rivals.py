"""The tree beside other classifiers that were told the same total: where they agree, and where not."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.errors import InvalidProblem
from s2oct.estimators.fitted import FittedRows
from s2oct.guides import TopTotalClassifier
from s2oct.plots.shown_tree import leaf_label
from s2oct.report.wording import clean, measure
from s2oct.writers.rules import pruned

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
    """A leaf and how many of its unlabeled rows each rival puts elsewhere."""

    label: str
    class_index: int
    class_name: str
    n_rows: int
    disagree: tuple[int, ...]


@dataclass(frozen=True)
class DisputedRow:
    """An unlabeled row that every rival classifies otherwise than the tree."""

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


def compare(
    rows: FittedRows,
    told: IntArray | None,
    rivals: bool | Mapping[str, Any],
    *,
    stability: FloatArray | None = None,
    row_ids: Sequence[Any] | None = None,
) -> Comparison | None:
    """Fit the rivals and compare; None without a total, without unlabeled rows, or where nobody is asked."""
    free = np.flatnonzero(~rows.is_labeled)
    if rivals is False or told is None or rows.n_classes != 2 or not len(free):
        return None
    if row_ids is not None and len(row_ids) != len(rows.X):
        raise InvalidProblem(f"Expected one row id per row, got {len(row_ids)} for {len(rows.X)} rows.")
    chosen = _usual_rivals() if rivals is True else rivals
    codes = {clean(name): _assigned(rival, rows, told) for name, rival in chosen.items()}
    tree = rows.predicted[free]
    differs = {name: code != tree for name, code in codes.items()}
    disputed = np.logical_and.reduce(list(differs.values())) if differs else np.zeros(len(free), dtype=bool)
    features = _weightiest(rows)
    return Comparison(
        rivals=tuple(Rival(name, int((~other).sum()), float((~other).mean())) for name, other in differs.items()),
        leaves=_by_leaf(rows, free, list(differs.values())),
        features=tuple(rows.feature_names[j] for j in features),
        rows=tuple(
            _disputed_row(rows, int(free[i]), features, None if stability is None else float(stability[i]), row_ids)
            for i in np.flatnonzero(disputed)[:SHOWN_ROWS]
        ),
        n_disputed=int(disputed.sum()),
        n_unlabeled=len(free),
    )


def _usual_rivals() -> dict[str, Any]:
    return {
        "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
        "random forest": RandomForestClassifier(n_estimators=300, random_state=0),
    }


def _assigned(rival: Any, rows: FittedRows, told: IntArray) -> IntArray:
    """Class index that a rival, told the totals, gives each unlabeled row."""
    names = np.array([0, 1])
    y = np.where(rows.is_labeled, rows.codes, np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a rival's complaints are not the reader's
        fitted = TopTotalClassifier(rival).fit(rows.X, y, totals={int(c): int(told[c]) for c in names})
    return np.asarray(fitted.transduction_[~rows.is_labeled], dtype=np.int64)


def _by_leaf(rows: FittedRows, free: IntArray, differs: list[BoolArray]) -> tuple[LeafDispute, ...]:
    ends = rows.leaf[free]
    disputes = []
    for leaf in pruned(rows.tree).leaves:
        here = np.isin(ends, leaf.ids)
        if here.any():
            name = rows.class_names[leaf.class_index]
            counts = tuple(int((other & here).sum()) for other in differs)
            disputes.append(LeafDispute(leaf_label(leaf), leaf.class_index, name, int(here.sum()), counts))
    return tuple(disputes)


def _weightiest(rows: FittedRows) -> list[int]:
    """The features that the tree weighs most, per standard deviation and relative to the largest in each split."""
    weight = np.abs(rows.tree.omega) * rows.spread
    largest = weight.max(axis=1, keepdims=True)
    total = np.divide(weight, largest, out=np.zeros_like(weight), where=largest > 0).sum(axis=0)
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
