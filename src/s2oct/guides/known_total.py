"""Base of the wrappers that give known totals to any scikit-learn classifier: simple rivals of the tree."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import _num_samples

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.guides.base import PartlyLabeledClassifier, TwoClasses
from s2oct.inputs import read_answers
from s2oct.model.labels import Labels
from s2oct.model.totals import Totals


class KnownTotalClassifier(MetaEstimatorMixin, TwoClasses, PartlyLabeledClassifier):
    """Base of the wrappers: reads labels and totals as `S2OCTClassifier` does, and fits the wrapped classifier.

    If all labeled rows are of one class, the wrapped classifier learns to separate them from the unlabeled rows
    instead. This ranks the rows by how much they resemble that class.
    """

    estimator_: Any

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any, totals: Totals | None = None, population_totals: Totals | None = None) -> Any:
        """Fit the wrapped classifier.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Labeled and unlabeled rows together, in any form the wrapped classifier takes.
        y : array-like of shape (n_rows,)
            Labels; NaN, None or NA marks an unlabeled row, and so does -1 where it cannot be a class.
        totals : mapping of class to count, optional
            Number of unlabeled rows of a class. One class is enough; several must add up.
        population_totals : mapping of class to count, optional
            The same for all rows, the labeled ones included.

        Returns
        -------
        self
            The fitted classifier.
        """
        (X,) = indexable(X)
        answers = read_answers(y, _num_samples(X), totals, population_totals)
        labels, counts = answers.labels, answers.targets.class_totals().astype(np.int64)
        return self._fit_read(X, labels, counts)

    def _fit_read(self, X: Any, labels: Labels, counts: IntArray) -> Any:
        """Fit to labels and totals that are read already."""
        self.classes_ = labels.classes
        self._fit_labels(X, labels, counts)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    @abstractmethod
    def _fit_labels(self, X: Any, labels: Labels, counts: IntArray) -> None:
        """Fit, given the labels and how many unlabeled rows each class has."""

    def _fit_estimator(self, X: Any, labels: Labels, **parameters: FloatArray) -> None:
        """Fit to the labeled rows, or to labeled against unlabeled rows if only one class is labeled.

        ``parameters`` go to the ``fit`` of the wrapped classifier.
        """
        rows = self._fitted_rows(labels)
        targets = labels.classes[self._fitted_codes(labels)[rows]]
        self.estimator_ = clone(self.estimator).fit(_safe_indexing(X, np.flatnonzero(rows)), targets, **parameters)

    @staticmethod
    def _fitted_rows(labels: Labels) -> BoolArray:
        return labels.is_labeled if labels.counts().all() else np.ones(len(labels.codes), dtype=bool)

    @staticmethod
    def _fitted_codes(labels: Labels) -> IntArray:
        """The labels' codes; if a class has no labeled rows, the unlabeled rows get its code."""
        counts = labels.counts()
        return labels.codes if counts.all() else np.where(labels.is_labeled, labels.codes, int(counts.argmin()))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = getattr(self.estimator, "__sklearn_tags__", lambda: tags)()
        tags.input_tags = inner.input_tags
        return tags
