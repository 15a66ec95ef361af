"""Wrappers that make any classifier use known totals: by the rows with the highest scores, or by class weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted

from s2oct.arrays import FloatArray, IntArray
from s2oct.errors import InvalidProblem
from s2oct.guides.known_total import WrappedClassifier, fitted_rows, weight_keyword
from s2oct.guides.meeting_totals import log_odds, multipliers_for_new_rows, settle, two_columns
from s2oct.problem.known import Known

_LEAST_PROBABILITY = 1e-12
"""Minimum distance of probabilities from 0 and 1, so that their logarithms are finite."""


class TopTotalClassifier(WrappedClassifier):
    """Wrap any classifier, and shift its scores until the known totals are met.

    With two classes, the unlabeled rows with the highest scores become ``classes_[1]`` until its total is reached. New
    rows are classified by the threshold between the last of these rows and the next one. With more classes, or totals
    by domain, each class of each domain has a multiplier that is added to the scores of the class; a row gets the class
    with the highest sum. New rows are classified by the multipliers for the totals over all domains.

    Most classifiers are strongest as ``TopTotalClassifier(PriorCorrectedClassifier(classifier))``: the labeled rows are
    weighted by the known shares, and the threshold is moved until the total is met.

    Parameters
    ----------
    estimator : classifier
        Any classifier with ``predict_proba`` or ``decision_function``. A `PriorCorrectedClassifier` also receives the
        totals.
    random_state : int, RandomState or None
        Seed of the order of tied unlabeled rows; ``transduction_`` takes the number that the total needs.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    threshold_ : float
        With two classes, the score above which a new row is ``classes_[1]``: log odds if the classifier has
        probabilities.
    multipliers_ : ndarray of shape (n_classes,)
        Numbers added to the scores of the classes for a new row.
    probabilities_ : ndarray of shape (n_unlabeled, n_classes)
        Probabilities of the unlabeled rows, with the multipliers of their domains. The likeliest classes meet the
        totals, except that with one exact total of two classes, rows may be tied at the threshold.
    transduction_ : ndarray of shape (n_rows,)
        A label for every training row: the given label, or a class that meets the totals. Exact totals are met exactly
        if rows have equal weights. Ties are broken at random.
    classes_ : ndarray of shape (n_classes,)
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

    def __init__(self, estimator: Any, random_state: Any = None) -> None:
        super().__init__(estimator)
        self.random_state = random_state

    def _fit_labels(self, X: Any, known: Known) -> None:
        labels = known.labels
        if isinstance(self.estimator, WrappedClassifier):
            self.estimator_ = clone(self.estimator)._fit_known(X, known)
        else:
            self._fit_estimator(X, labels, None if known.weights is None else known.weights[fitted_rows(labels)[0]])
        unlabeled = np.flatnonzero(~labels.is_labeled)
        scores = np.empty((0, 1 if len(labels.classes) == 2 else len(labels.classes)))
        if len(unlabeled):
            scores = self._scores(_safe_indexing(X, unlabeled)).reshape(len(unlabeled), -1)
        known = known.unless_equal
        classes, self.probabilities_, _ = settle(scores, known, rng=check_random_state(self.random_state))
        self.multipliers_ = multipliers_for_new_rows(scores, known)
        if len(labels.classes) == 2:
            self.threshold_ = float(self.multipliers_[0] - self.multipliers_[1])
        self.transduction_ = labels.completed(classes)

    def _scores(self, X: Any) -> FloatArray:
        """Return log odds of the second of two classes, log probabilities, or the classifier's decision function."""
        if hasattr(self.estimator_, "predict_proba"):
            probabilities = self._class_probabilities(X)
            if probabilities.shape[1] == 2:
                return log_odds(probabilities[:, 1], _LEAST_PROBABILITY)
            return np.asarray(np.log(np.maximum(probabilities, _LEAST_PROBABILITY)))
        if hasattr(self.estimator_, "decision_function"):
            return self._class_scores(X)
        raise InvalidProblem(
            f"{type(self.estimator_).__name__} has neither predict_proba nor decision_function: use another classifier."
        )

    def decision_function(self, X: Any) -> FloatArray:
        """Return shifted scores: with two classes, the score minus the threshold, positive for ``classes_[1]``.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows with the features of the fit.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            Scores minus the threshold; with three or more classes, scores plus multipliers.
        """
        check_is_fitted(self)
        scores = self._scores(self._table(X))
        return scores - self.threshold_ if scores.ndim == 1 else scores + self.multipliers_

    def _predicted_codes(self, X: Any) -> IntArray:
        scores = self.decision_function(X)
        return np.asarray((scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return probabilities from shifted scores; the likeliest class is the predicted one.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows with the features of the fit.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities of ``classes_``.
        """
        scores = self.decision_function(X)
        return two_columns(scores) if scores.ndim == 1 else np.asarray(softmax(scores, axis=1))


def _has_probabilities(self: Any) -> bool:
    return hasattr(getattr(self, "estimator_", self.estimator), "predict_proba")


def _has_weighted_scores(self: Any) -> bool:
    """Whether there is a decision function and weights correct it; it cannot be corrected afterwards."""
    fitted = getattr(self, "estimator_", self.estimator)
    return hasattr(fitted, "decision_function") and weight_keyword(self.estimator) is not None


class PriorCorrectedClassifier(WrappedClassifier):
    """Wrap any classifier, and weight the labeled rows so that the classes have their known shares.

    The known shares are those of the totals over all domains. Survey weights multiply these class weights. If a
    classifier takes no ``sample_weight``, its probabilities are corrected instead, by the ratio of the known shares to
    those of the fitted rows. In a pipeline, the last step gets the weights.

    Parameters
    ----------
    estimator : classifier
        Any classifier that takes ``sample_weight`` or has ``predict_proba``.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    class_weights_ : ndarray of shape (n_classes,)
        Known share of each class over its share among the fitted rows.
    transduction_ : ndarray of shape (n_rows,)
        A label for every training row: the given label, or the predicted class. It meets the totals only roughly.
    classes_ : ndarray of shape (n_classes,)
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

    def _fit_labels(self, X: Any, known: Known) -> None:
        labels, weights = known.labels, known.weights
        rows, codes = fitted_rows(labels)
        own = np.ones(len(codes)) if weights is None else weights[rows]
        self.class_weights_ = self._class_weights(codes, own, known.targets.class_totals())
        self._reweighted = weight_keyword(self.estimator) is not None
        if not self._reweighted and not hasattr(self.estimator, "predict_proba"):
            raise InvalidProblem(
                f"{type(self.estimator).__name__} has no predict_proba and takes no sample_weight: use another one."
            )
        self._fit_estimator(X, labels, self.class_weights_[codes] * own)
        unlabeled = np.flatnonzero(~labels.is_labeled)
        codes = self._codes_of_table(_safe_indexing(X, unlabeled)) if len(unlabeled) else unlabeled
        self.transduction_ = labels.completed(codes)

    def _class_weights(self, codes: IntArray, own: FloatArray, totals: FloatArray) -> FloatArray:
        """Return the known share of each class over that among the fitted rows; 1 for a class without rows."""
        fitted = np.bincount(codes, weights=own, minlength=len(totals)) / own.sum()
        # Half a row for a class whose total is 0: some classifiers cannot fit a class with sample weights of 0.
        known = np.maximum(totals, 0.5) / np.maximum(totals, 0.5).sum() if totals.sum() else fitted
        stands_in = self._missing & (fitted > 0)
        if stands_in.any():
            known = np.where(self._missing, known[self._missing].sum(), known)
            fitted = np.where(self._missing, fitted[stands_in].sum(), fitted)
        return np.asarray(np.where(fitted > 0, known, 1.0) / np.where(fitted > 0, fitted, 1.0))

    def _predicted_codes(self, X: Any) -> IntArray:
        return self._codes_of_table(self._table(X))

    def _codes_of_table(self, table: Any) -> IntArray:
        """Return the class index of each row of a table in the form that the fitted classifier can read."""
        knows_all = len(self.classes_) == 2 or not self._missing.any()
        if self._reweighted and (knows_all or not _has_probabilities(self)):
            # Some classifiers return a table with one column.
            return self._codes_of(np.ravel(self.estimator_.predict(table)), _num_samples(table))
        return np.asarray(self._probabilities(table).argmax(axis=1))

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> FloatArray:
        """Return class probabilities under the known shares.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows with the features of the fit.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities of ``classes_``.
        """
        check_is_fitted(self)
        return self._probabilities(self._table(X))

    def _probabilities(self, table: Any) -> FloatArray:
        probabilities = self._class_probabilities(table)
        if self._reweighted:
            return probabilities
        corrected = probabilities * self.class_weights_
        return np.asarray(corrected / corrected.sum(axis=1, keepdims=True))

    @available_if(_has_weighted_scores)
    def decision_function(self, X: Any) -> FloatArray:
        """Return scores of the classifier fitted with weights: with two classes, positive for ``classes_[1]``.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows with the features of the fit.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            The scores; with three or more classes, one per class.
        """
        check_is_fitted(self)
        return self._class_scores(self._table(X))
