"""What all classifiers of this package share: a score that does not count unlabeled rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import _safe_indexing

from s2oct.arrays import FloatArray, ObjectArray
from s2oct.inputs import labeled_accuracy
from s2oct.model.known import Known


class PartlyLabeledClassifier(ClassifierMixin, BaseEstimator, ABC):
    """Base of all classifiers of this package: unlabeled rows do not count in their score."""

    classes_: ObjectArray
    transduction_: ObjectArray
    probabilities_: FloatArray

    @abstractmethod
    def predict(self, X: Any) -> ObjectArray:
        """Predict the class of each row."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy over the labeled rows; rows that ``y`` marks as unlabeled do not count.

        A warning says how many rows do not count: in a cross-validation they are missing from the training set, unless
        `LabeledKFold` splits the rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows with the features of the fit.
        y : array-like of shape (n_rows,)
            Labels, with the markers for unlabeled rows.
        sample_weight : array-like of shape (n_rows,), optional
            Weight of each row.

        Returns
        -------
        float
            Share of the labeled rows whose prediction equals their label.
        """
        return labeled_accuracy(y, self.predict(X), self.classes_, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = True
        return tags

    def _over_all_rows(self, known: Known, X: Any) -> None:
        """Extend what a fit says of single rows to the rows of the table that do not count."""
        self.transduction_ = known.completed(self.transduction_, lambda rows: self.predict(_safe_indexing(X, rows)))
        if hasattr(self, "probabilities_"):
            self.probabilities_ = known.of_unlabeled(self.probabilities_)
            if len(known.uncounted):
                unknown = np.isnan(self.probabilities_).any(axis=1)
                self.probabilities_[unknown] = self.predict_proba(_safe_indexing(X, known.uncounted))
