"""A fitted tree with rows: in which leaf they end, and how many of each kind and class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.errors import InvalidProblem
from s2oct.estimators.base import TreeClassifier
from s2oct.inputs import read_rows
from s2oct.model.features import Feature, columns_of, renamed
from s2oct.model.known import Known
from s2oct.model.labels import UNLABELED, read_labels
from s2oct.model.tree import ObliqueTree


@dataclass(frozen=True, eq=False)
class FittedRows:
    """A tree and rows, labeled or not, in the estimator's order of classes.

    Attributes
    ----------
    tree : ObliqueTree
    features : tuple of Feature
    class_names : tuple of str
    X : ndarray of shape (rows, p)
    codes : ndarray of shape (rows,)
        Class index of each labeled row, -1 for an unlabeled one.
    """

    tree: ObliqueTree
    features: tuple[Feature, ...]
    class_names: tuple[str, ...]
    X: FloatArray
    codes: IntArray

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(feature.name for feature in self.features)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table from which the features come."""
        return columns_of(self.features)

    @property
    def is_labeled(self) -> BoolArray:
        """Whether each row is labeled."""
        return np.asarray(self.codes != UNLABELED)

    @property
    def n_classes(self) -> int:
        """Number of classes, with or without rows."""
        return len(self.class_names)

    @cached_property
    def leaf(self) -> IntArray:
        """Id of the leaf in which each row ends."""
        return self.tree.apply(self.X)

    @cached_property
    def predicted(self) -> IntArray:
        """Class index that the tree gives each row."""
        return self.tree.predict(self.X)

    @cached_property
    def labeled_counts(self) -> IntArray:
        """Labeled rows of each leaf and class, shape (n_leaves, n_classes)."""
        known = self.is_labeled
        counts = np.zeros((self.tree.topology.n_leaves, self.n_classes), dtype=np.int64)
        np.add.at(counts, (self.leaf[known] - self.tree.topology.n_leaves, self.codes[known]), 1)
        return counts

    @cached_property
    def unlabeled_counts(self) -> IntArray:
        """Unlabeled rows of each leaf, shape (n_leaves,)."""
        ends = self.leaf[~self.is_labeled] - self.tree.topology.n_leaves
        return np.bincount(ends, minlength=self.tree.topology.n_leaves).astype(np.int64)

    def counted(self, sizes: FloatArray | None = None) -> tuple[IntArray | FloatArray, IntArray | FloatArray]:
        """Count labeled rows by their class and unlabeled rows by the class that the tree gives them.

        Parameters
        ----------
        sizes : ndarray of shape (rows,), optional
            What each row counts; 1 each if None.

        Returns
        -------
        tuple of two ndarrays of shape (n_classes,)
            Labeled rows, and unlabeled rows.
        """
        known = self.is_labeled
        return self._sums(self.codes, known, sizes), self._sums(self.predicted, ~known, sizes)

    def _sums(self, codes: IntArray, rows: BoolArray, sizes: FloatArray | None) -> IntArray | FloatArray:
        counts = np.bincount(codes[rows], minlength=self.n_classes).astype(np.int64)
        if sizes is None or (sizes == 1).all():
            return counts
        return np.bincount(codes[rows], weights=sizes[rows], minlength=self.n_classes).astype(float)

    @cached_property
    def spread(self) -> FloatArray:
        """Standard deviation of each feature over the rows, shape (p,)."""
        return np.asarray(self.X.std(axis=0))


def read_fit(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
) -> FittedRows:
    """Read a fitted tree and rows for it; without `y` every row counts as unlabeled."""
    if not isinstance(estimator, TreeClassifier):
        raise InvalidProblem(
            f"Expected a fitted S2OCTClassifier or OCTHClassifier, got {type(estimator).__name__}. "
            "For a pipeline or a search, pass its last step or its best_estimator_."
        )
    check_is_fitted(estimator)
    rows, features = read_rows(estimator, X), estimator._features()
    classes = estimator.classes_.tolist()
    return FittedRows(
        tree=estimator.tree_,
        features=renamed(features, _names("feature", feature_names, columns_of(features))),
        class_names=_names("class", class_names, tuple(str(label) for label in classes)),
        X=rows,
        codes=_codes(y, classes, len(rows), getattr(estimator, "_uncounted_classes", ())),
    )


def _names(kind: str, given: Sequence[str] | None, known: tuple[str, ...]) -> tuple[str, ...]:
    if given is None:
        return known
    if len(given) != len(known):
        raise InvalidProblem(f"Expected {len(known)} {kind} names, got {len(given)}.")
    return tuple(str(name) for name in given)


def _codes(y: Any, classes: list[Any], n_rows: int, uncounted: Sequence[Any]) -> IntArray:
    """Class index of each row in the estimator's order of classes; none for classes whose labels have weight 0."""
    if y is None:
        return np.full(n_rows, UNLABELED, dtype=np.int64)
    if isinstance(y, Known):
        labels = y.labels if y.given is None else y.given
    else:
        labels = read_labels(y, n_rows=n_rows, named=classes)
    strange = [label for label in labels.classes.tolist() if label not in classes and label not in uncounted]
    if strange:
        raise InvalidProblem(f"Expected labels of the classes {classes}, got {strange[:10]}.")
    places = [UNLABELED if label in uncounted else classes.index(label) for label in labels.classes.tolist()]
    place = np.array([*places, UNLABELED], dtype=np.int64)
    return np.asarray(place[labels.codes])
