"""The problem: labeled rows, unlabeled rows, totals and weights, validated once and immutable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from s2oct.arrays import FloatArray, IntArray, ObjectArray
from s2oct.errors import InvalidProblem
from s2oct.model.feature_matrix import feature_matrix
from s2oct.model.guide import Guide
from s2oct.model.known import Known, in_mean_weights
from s2oct.model.labels import Labels, read_labels
from s2oct.model.merging import equal_rows, group_means, group_sums
from s2oct.model.targets import Targets
from s2oct.model.totals import Totals, read_targets, stated_totals


@dataclass(frozen=True, eq=False)
class Problem:
    """The data of P2. Rows have a multiplicity, so that equal rows can be merged.

    Parameters
    ----------
    X_labeled : ndarray of shape (n, p)
        Features of the labeled rows.
    labels : ndarray of shape (n,)
        Class index of each labeled row.
    X_unlabeled : ndarray of shape (m, p)
        Features of the unlabeled rows.
    targets : Targets
        Known totals of the unlabeled rows, in units of ``unit``.
    classes : ndarray of shape (n_classes,)
        Class labels as the user has them; index 0 is the paper's class A.
    feature_names : tuple of str
        Names of the features.
    labeled_multiplicity, unlabeled_multiplicity : ndarray
        Multiplicity of each row: how many rows of the table it stands for.
    guide : Guide, optional
        Charges for the classes of the unlabeled rows, which are no part of P2.
    labeled_weight, unlabeled_weight : ndarray, optional
        Survey weights of the rows that each row stands for, added up, in units of ``unit``; None if all are equal.
    unit : float
        Mean survey weight of an unlabeled row; 1 without weights. So everything inside a fit is counted in rows.
    """

    X_labeled: FloatArray
    labels: IntArray
    X_unlabeled: FloatArray
    targets: Targets
    classes: ObjectArray
    feature_names: tuple[str, ...]
    labeled_multiplicity: FloatArray
    unlabeled_multiplicity: FloatArray
    guide: Guide | None = None
    labeled_weight: FloatArray | None = None
    unlabeled_weight: FloatArray | None = None
    unit: float = 1.0

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        y: Any,
        *,
        totals: Totals | None = None,
        population_totals: Totals | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> Problem:
        """Validate rows, labels with markers, and totals.

        Parameters
        ----------
        X : array-like of shape (n_rows, p)
            Labeled and unlabeled rows together.
        y : array-like of shape (n_rows,)
            Labels; NaN, None or NA marks an unlabeled row, and so does -1 where it cannot be a class.
        totals : mapping of class to count, optional
            Number of unlabeled rows of a class. One class is enough; several must add up. Without any totals the
            class shares of the labeled rows are used.
        population_totals : mapping of class to count, optional
            The same for all rows, the labeled ones included.
        feature_names : sequence of str, optional
            Names of the features; x0, x1, ... otherwise.

        Returns
        -------
        Problem
            The problem.
        """
        rows = feature_matrix(X)
        stated = stated_totals(totals, population_totals)
        labels = read_labels(y, n_rows=len(rows), named=stated.classes)
        targets = read_targets(labels, stated)
        return cls.from_labels(rows, labels, targets, feature_names=feature_names)

    @classmethod
    def from_labels(
        cls,
        X: FloatArray,
        labels: Labels,
        targets: Targets,
        *,
        feature_names: Sequence[str] | None = None,
        weights: FloatArray | None = None,
    ) -> Problem:
        """Make a problem from rows, labels and totals that are already read.

        Parameters
        ----------
        X : ndarray of shape (n_rows, p)
            Labeled and unlabeled rows together.
        labels : Labels
            Classes and codes.
        targets : Targets
            Known totals of the unlabeled rows, in the units of the weights.
        feature_names : sequence of str, optional
            Names of the features; x0, x1, ... otherwise.
        weights : ndarray of shape (n_rows,), optional
            Survey weights.

        Returns
        -------
        Problem
            The problem.
        """
        known = labels.is_labeled
        names = feature_names if feature_names is not None else [f"x{j}" for j in range(X.shape[1])]
        if len(names) != X.shape[1]:
            raise InvalidProblem(f"Expected {X.shape[1]} feature names, got {len(names)}.")
        unit, weights = in_mean_weights(weights, known)
        return cls(
            X_labeled=X[known],
            labels=labels.codes[known],
            X_unlabeled=X[~known],
            targets=targets if unit == 1 else targets.over(unit),
            classes=labels.classes,
            feature_names=tuple(str(name) for name in names),
            labeled_multiplicity=np.ones(int(known.sum())),
            unlabeled_multiplicity=np.ones(int((~known).sum())),
            labeled_weight=None if weights is None else weights[known],
            unlabeled_weight=None if weights is None else weights[~known],
            unit=unit,
        )

    @classmethod
    def from_known(cls, X: FloatArray, known: Known, feature_names: Sequence[str] | None = None) -> Problem:
        """Make a problem from the rows that count and what is known about their classes."""
        return cls.from_labels(X, known.labels, known.targets, feature_names=feature_names, weights=known.weights)

    @property
    def n_labeled(self) -> int:
        """Number n of labeled rows as stored (each may stand for several)."""
        return len(self.X_labeled)

    @property
    def n_unlabeled(self) -> int:
        """Number m of unlabeled rows as stored."""
        return len(self.X_unlabeled)

    @property
    def n_rows(self) -> int:
        """Number N of rows, multiplicities counted."""
        return int(self.labeled_multiplicity.sum() + self.unlabeled_multiplicity.sum())

    @property
    def n_features(self) -> int:
        """Number p of features."""
        return int(self.X_labeled.shape[1])

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def totals(self) -> FloatArray:
        """Known total of each class over the whole table, see `Targets.class_totals`."""
        return self.targets.class_totals()

    @property
    def is_weighted(self) -> bool:
        """Whether rows have survey weights that differ."""
        return self.unlabeled_weight is not None

    @property
    def labeled_size(self) -> FloatArray:
        """What each labeled row counts: its weight, or else its multiplicity."""
        return self.labeled_multiplicity if self.labeled_weight is None else self.labeled_weight

    @property
    def unlabeled_size(self) -> FloatArray:
        """What each unlabeled row counts: its weight, or else its multiplicity."""
        return self.unlabeled_multiplicity if self.unlabeled_weight is None else self.unlabeled_weight

    @property
    def X(self) -> FloatArray:
        """All rows, the labeled ones first."""
        return np.vstack([self.X_labeled, self.X_unlabeled])

    def merged(self) -> Problem:
        """Merge equal rows (and labels) and count them.

        Returns
        -------
        Problem
            A smaller problem with multiplicities; P2's costs do not change.
        """
        return self.merged_groups()[0]

    def merged_groups(self) -> tuple[Problem, IntArray]:
        """Merge equal rows, and keep track of the unlabeled ones.

        Returns
        -------
        tuple of Problem and ndarray of shape (m,)
            The merged problem, and for every unlabeled row its place there.
        """
        first, group = equal_rows(np.column_stack([self.X_labeled, self.labels]))
        first_unlabeled, group_unlabeled = equal_rows(self._rows_by_domain())
        guide = self.guide
        if guide is not None:
            charges = group_means(group_unlabeled, guide.charges, self.unlabeled_size)
            guide = replace(guide, charges=charges)
        merged = replace(
            self,
            X_labeled=self.X_labeled[first],
            labels=self.labels[first],
            labeled_multiplicity=group_sums(group, self.labeled_multiplicity),
            X_unlabeled=self.X_unlabeled[first_unlabeled],
            unlabeled_multiplicity=group_sums(group_unlabeled, self.unlabeled_multiplicity),
            labeled_weight=None if self.labeled_weight is None else group_sums(group, self.labeled_weight),
            unlabeled_weight=None
            if self.unlabeled_weight is None
            else group_sums(group_unlabeled, self.unlabeled_weight),
            targets=self.targets.of_rows(first_unlabeled),
            guide=guide,
        )
        return merged, group_unlabeled

    def _rows_by_domain(self) -> FloatArray:
        """The unlabeled rows with their domains beside them: equal rows are merged within a domain."""
        if self.targets.has_one_domain:
            return self.X_unlabeled
        return np.column_stack([self.X_unlabeled, self.targets.first_cells.T])
