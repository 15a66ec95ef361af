"""Other trees and other classifiers beside the tree of a report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.estimates.assessment import with_error
from s2oct.estimators import S2OCTClassifier
from s2oct.estimators.fitted import FittedRows
from s2oct.fit.simplicity import SimplicityPath, SimplicityStep
from s2oct.output.pages import Picture
from s2oct.output.report.figures import simplicity_picture
from s2oct.output.report.leaves import (
    SHOWN_ROWS,
    LeafRows,
    SingleRow,
    rules_text,
    single_row,
    unlabeled_by_leaf,
    weightiest_features,
)
from s2oct.output.report.wording import clean
from s2oct.trees.features import columns_of
from s2oct.trees.rounding import pruned, rule_lines
from s2oct.wording import amount, percentage

# Another tree that is as good, beside the fitted one: what the two say differently.


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


# The tree beside other classifiers that know the same total: where they agree, and where not.


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


# Simpler and richer trees for the same rows, and how good each is.


@dataclass(frozen=True)
class SimplerTree:
    """One tree of the path as a line of a table."""

    n_terms: int
    n_splits: int
    accuracy: str
    agreement: str
    rows_off: str
    rules: str
    is_fitted: bool
    is_recommended: bool


@dataclass(frozen=True)
class Simplicity:
    """The trees of a path from the simplest, the fitted one where it belongs, and their picture."""

    trees: tuple[SimplerTree, ...]
    picture: Picture
    fitted_on_path: bool
    is_assessed: bool


def describe_simplicity(estimator: Any, rows: FittedRows, *, assess: bool = True) -> Simplicity | None:
    """Fit the trees of the path; None where the rows of the fit are gone, where there was no guide, or no choice."""
    if not isinstance(estimator, S2OCTClassifier) or not estimator.has_simplicity_path:
        return None
    path = estimator.simplicity_path(assess=assess)
    if len(path) < 2:
        return None
    return Simplicity(
        trees=tuple(_line(step, path, rows) for step in path.with_fitted),
        picture=simplicity_picture(path),
        fitted_on_path=path.fitted in path,
        is_assessed=path.recommended is not None,
    )


def _line(step: SimplicityStep, path: SimplicityPath, rows: FittedRows) -> SimplerTree:
    return SimplerTree(
        n_terms=step.n_terms,
        n_splits=step.n_splits,
        accuracy=with_error(step.accuracy, step.accuracy_se),
        agreement="-" if math.isnan(step.agreement) else percentage(step.agreement, 1),
        rows_off=amount(step.rows_off),
        rules="\n".join(rule_lines(step.tree, rows.features, rows.class_names)),
        is_fitted=step is path.fitted,
        is_recommended=step is path.recommended,
    )
