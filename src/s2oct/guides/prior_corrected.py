"""Any classifier, fitted as if its classes had their known shares."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from s2oct.arrays import FloatArray, IntArray, ObjectArray
from s2oct.errors import InvalidProblem
from s2oct.guides.known_total import KnownTotalClassifier
from s2oct.model.labels import Labels


def _has_probabilities(self: Any) -> bool:
    return hasattr(getattr(self, "estimator_", self.estimator), "predict_proba")


def _has_weighted_scores(self: Any) -> bool:
    """Only weights correct a decision function: it has no shares that could be corrected afterwards."""
    fitted = getattr(self, "estimator_", self.estimator)
    return hasattr(fitted, "decision_function") and _weight_keyword(self.estimator) is not None


class PriorCorrectedClassifier(KnownTotalClassifier):
    """Any classifier, with the labeled rows weighted so that the classes have the shares of the known totals.

    If a classifier takes no ``sample_weight``, its probabilities are corrected instead, by the ratio of the known
    shares to those of the fitted rows. The last step of a pipeline gets the weights.

    Parameters
    ----------
    estimator : classifier
        Anything that takes ``sample_weight``, or else has ``predict_proba``.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    class_weights_ : ndarray of shape (2,)
        Known share of each class over its share among the rows that were fitted.
    transduction_ : ndarray of shape (n_rows,)
        A label for every training row, the given ones kept. It meets the totals only roughly.
    classes_ : ndarray of shape (2,)
        The class labels, sorted.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from s2oct import PriorCorrectedClassifier
    >>> X = [[1.0], [2.0], [8.0], [9.0], [1.5], [3.0], [7.0], [7.5]]
    >>> y = ["no", "yes", "yes", "yes", None, None, None, None]
    >>> clf = PriorCorrectedClassifier(DecisionTreeClassifier()).fit(X, y, totals={"yes": 2})
    >>> clf.class_weights_.round(2).tolist()
    [2.0, 0.67]
    """

    def _fit_labels(self, X: Any, labels: Labels, counts: IntArray) -> None:
        rows = self._fitted_rows(labels)
        codes = self._fitted_codes(labels)[rows]
        fitted = np.bincount(codes, minlength=2) / len(codes)
        m = int(counts.sum())
        # Half a row for a class whose total is 0: some classifiers cannot fit a class with sample weights of 0.
        known = np.maximum(counts, 0.5) / np.maximum(counts, 0.5).sum() if m else fitted
        self.class_weights_ = known / fitted
        keyword = _weight_keyword(self.estimator)
        self._reweighted = keyword is not None
        if not self._reweighted and not hasattr(self.estimator, "predict_proba"):
            raise InvalidProblem(
                f"Expected an estimator that takes sample_weight or has predict_proba, got "
                f"{type(self.estimator).__name__}."
            )
        self._fit_estimator(X, labels, **({} if keyword is None else {keyword: self.class_weights_[codes]}))
        unlabeled = np.flatnonzero(~labels.is_labeled)
        predicted = self.predict(_safe_indexing(X, unlabeled)) if m else labels.classes[:0]
        self.transduction_ = labels.completed(np.searchsorted(labels.classes, predicted))

    def predict(self, X: Any) -> ObjectArray:
        """Class label of each row.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows with the features of the fit.

        Returns
        -------
        ndarray of shape (n_rows,)
            A class label for each row.
        """
        check_is_fitted(self)
        if self._reweighted:
            return np.asarray(self.estimator_.predict(X))
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> FloatArray:
        """Class probabilities under the known shares.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows with the features of the fit.

        Returns
        -------
        ndarray of shape (n_rows, 2)
            Probabilities of ``classes_[0]`` and ``classes_[1]``.
        """
        check_is_fitted(self)
        probabilities = np.asarray(self.estimator_.predict_proba(X))
        if self._reweighted:
            return probabilities
        corrected = probabilities * self.class_weights_
        return np.asarray(corrected / corrected.sum(axis=1, keepdims=True))

    @available_if(_has_weighted_scores)
    def decision_function(self, X: Any) -> FloatArray:
        """Scores of the classifier that was fitted with weights: positive for ``classes_[1]``.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows with the features of the fit.

        Returns
        -------
        ndarray of shape (n_rows,)
            The scores.
        """
        check_is_fitted(self)
        return np.asarray(self.estimator_.decision_function(X), dtype=float)


def _weight_keyword(estimator: Any) -> str | None:
    """The name under which ``fit`` takes weights of rows; None if it takes none."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = _weight_keyword(last)
        return None if inner is None else f"{name}__{inner}"
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None
