"""Any scikit-learn classifier, told the known totals: the plain alternatives to the tree."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from scipy.special import expit, logit
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted, has_fit_parameter

from s2oct.arrays import BoolArray, FloatArray, IntArray, ObjectArray
from s2oct.errors import InvalidProblem
from s2oct.guides.base import PartlyLabeledClassifier
from s2oct.inputs import check_two_classes
from s2oct.model.labels import Labels, read_labels
from s2oct.model.totals import Totals, named_classes, read_totals

_LEAST_PROBABILITY = 1e-12
"""Probabilities are kept this far from 0 and 1, so that their log odds are finite."""


class KnownTotalClassifier(MetaEstimatorMixin, PartlyLabeledClassifier):
    """Base of the wrappers: reads labels and totals as `S2OCTClassifier` does, and fits the wrapped classifier.

    Where all labeled rows are of one class, the wrapped classifier learns to tell them from the unlabeled rows
    instead, which ranks the rows by how much they resemble that class.
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
        labels = read_labels(y, named=named_classes(totals, population_totals))
        (X,) = indexable(X)
        check_two_classes(labels, _num_samples(X))
        self.classes_ = labels.classes
        self._fit_labels(X, labels, read_totals(labels, totals, population_totals))
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    @abstractmethod
    def _fit_labels(self, X: Any, labels: Labels, counts: IntArray) -> None:
        """Fit, given the labels and how many unlabeled rows each class has."""

    def _fit_estimator(self, X: Any, labels: Labels, weights: FloatArray | None = None) -> None:
        """Fit to the labeled rows, or to labeled against unlabeled where only one class is labeled.

        ``weights`` are those of the rows that are fitted.
        """
        rows = self._fitted_rows(labels)
        targets = labels.classes[self._fitted_codes(labels)[rows]]
        extra = {} if weights is None else {"sample_weight": weights}
        self.estimator_ = clone(self.estimator).fit(_safe_indexing(X, np.flatnonzero(rows)), targets, **extra)

    @staticmethod
    def _fitted_rows(labels: Labels) -> BoolArray:
        return labels.is_labeled if labels.counts().all() else np.ones(len(labels.codes), dtype=bool)

    @staticmethod
    def _fitted_codes(labels: Labels) -> IntArray:
        """The labels' codes; where one class has no labeled rows, the unlabeled rows stand for it."""
        counts = labels.counts()
        return labels.codes if counts.all() else np.where(labels.is_labeled, labels.codes, int(counts.argmin()))

    def _transduce(self, labels: Labels, unlabeled_codes: IntArray) -> ObjectArray:
        codes = labels.codes.copy()
        codes[~labels.is_labeled] = unlabeled_codes
        return np.asarray(labels.classes[codes])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = getattr(self.estimator, "__sklearn_tags__", lambda: tags)()
        tags.input_tags = inner.input_tags
        tags.classifier_tags.multi_class = False
        return tags


class TopTotalClassifier(KnownTotalClassifier):
    """Any classifier with its threshold moved until the known total is met.

    The unlabeled rows with the highest scores become ``classes_[1]`` until its total is reached; new rows are judged
    by the threshold between the last row in and the first row out.

    Parameters
    ----------
    estimator : classifier
        Anything with ``predict_proba`` or ``decision_function``.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    threshold_ : float
        Score above which a row is ``classes_[1]``; log odds where the classifier has probabilities.
    transduction_ : ndarray of shape (n_rows,)
        A label for every training row, the given ones kept; it meets the totals exactly, ties broken by row order.
    classes_ : ndarray of shape (2,)
        The class labels, sorted.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from s2oct import TopTotalClassifier
    >>> X = [[1.0], [2.0], [8.0], [9.0], [1.5], [3.0], [7.0], [7.5]]
    >>> y = ["no", "no", "yes", "yes", None, None, None, None]
    >>> clf = TopTotalClassifier(LogisticRegression()).fit(X, y, totals={"yes": 3})
    >>> clf.transduction_.tolist()
    ['no', 'no', 'yes', 'yes', 'no', 'yes', 'yes', 'yes']
    """

    def _fit_labels(self, X: Any, labels: Labels, counts: IntArray) -> None:
        self._fit_estimator(X, labels)
        unlabeled = np.flatnonzero(~labels.is_labeled)
        scores = self._scores(_safe_indexing(X, unlabeled)) if len(unlabeled) else np.empty(0)
        self.threshold_ = top_threshold(scores, int(counts[1]))
        self.transduction_ = self._transduce(labels, top_rows(scores, int(counts[1])))

    def _scores(self, X: Any) -> FloatArray:
        """Log odds of ``classes_[1]``, or the wrapped classifier's own decision function."""
        if hasattr(self.estimator_, "predict_proba"):
            second = np.asarray(self.estimator_.predict_proba(X))[:, 1]
            return np.asarray(logit(np.clip(second, _LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY)))
        if hasattr(self.estimator_, "decision_function"):
            return np.asarray(self.estimator_.decision_function(X), dtype=float)
        raise InvalidProblem(
            f"Expected an estimator with predict_proba or decision_function, got {type(self.estimator_).__name__}."
        )

    def decision_function(self, X: Any) -> FloatArray:
        """Score above the threshold: positive for ``classes_[1]``.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows with the features of the fit.

        Returns
        -------
        ndarray of shape (n_rows,)
            Scores minus the threshold.
        """
        check_is_fitted(self)
        return self._scores(X) - self.threshold_

    def predict(self, X: Any) -> ObjectArray:
        """Class label of each row, by the threshold.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows with the features of the fit.

        Returns
        -------
        ndarray of shape (n_rows,)
            A class label for each row.
        """
        above = self.decision_function(X) > 0
        return np.asarray(self.classes_[above.astype(int)])

    def predict_proba(self, X: Any) -> FloatArray:
        """The wrapped classifier's probabilities with their log odds shifted so that the threshold is at 1/2.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows with the features of the fit.

        Returns
        -------
        ndarray of shape (n_rows, 2)
            Probabilities of ``classes_[0]`` and ``classes_[1]``.
        """
        second = expit(self.decision_function(X))
        return np.column_stack([1 - second, second])


def top_threshold(scores: FloatArray, n_above: int) -> float:
    """A score with so many of the given ones above it; 0, the usual one, if none are given."""
    if not len(scores):
        return 0.0
    descending = np.sort(scores)[::-1]
    if n_above == 0:
        return float(descending[0])
    if n_above == len(descending):
        return float(np.nextafter(descending[-1], -np.inf))
    return float(0.5 * descending[n_above - 1] + 0.5 * descending[n_above])


def top_rows(scores: FloatArray, n_above: int) -> IntArray:
    """1 for so many rows of the highest scores, 0 for the others; ties by row order."""
    codes = np.zeros(len(scores), dtype=np.int64)
    codes[np.argsort(-scores, kind="stable")[:n_above]] = 1
    return codes


def _has_probabilities(self: Any) -> bool:
    return hasattr(getattr(self, "estimator_", self.estimator), "predict_proba")


class PriorCorrectedClassifier(KnownTotalClassifier):
    """Any classifier, with the labeled rows weighed so that the classes have the shares of the known totals.

    A classifier that takes no ``sample_weight`` has its probabilities corrected instead, by the ratio of the known
    shares to those it was fitted with.

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
        # Half a row for a class whose total is 0: a class without any weight is one some classifiers cannot fit.
        known = np.maximum(counts, 0.5) / np.maximum(counts, 0.5).sum() if m else fitted
        self.class_weights_ = known / fitted
        self._reweighted = has_fit_parameter(self.estimator, "sample_weight")
        if not self._reweighted and not hasattr(self.estimator, "predict_proba"):
            raise InvalidProblem(
                f"Expected an estimator that takes sample_weight or has predict_proba, got "
                f"{type(self.estimator).__name__}."
            )
        self._fit_estimator(X, labels, self.class_weights_[codes] if self._reweighted else None)
        unlabeled = np.flatnonzero(~labels.is_labeled)
        predicted = self.predict(_safe_indexing(X, unlabeled)) if m else labels.classes[:0]
        self.transduction_ = self._transduce(labels, np.searchsorted(labels.classes, predicted))

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
