"""Any classifier with its threshold moved until the known total is met."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import check_is_fitted

from s2oct.arrays import FloatArray, IntArray, ObjectArray
from s2oct.errors import InvalidProblem
from s2oct.guides.known_total import KnownTotalClassifier
from s2oct.guides.log_odds import log_odds
from s2oct.model.labels import Labels

_LEAST_PROBABILITY = 1e-12
"""Probabilities are kept this far from 0 and 1, so that their log odds are finite."""


class TopTotalClassifier(KnownTotalClassifier):
    """Any classifier with its threshold moved until the known total is met.

    The unlabeled rows with the highest scores become ``classes_[1]`` until its total is reached. New rows are
    classified by the threshold between the last of these rows and the next one.

    The strongest form of most classifiers is ``TopTotalClassifier(PriorCorrectedClassifier(classifier))``: the labeled
    rows are weighted by the known shares, and the threshold is moved until the total is met.

    Parameters
    ----------
    estimator : classifier
        Anything with ``predict_proba`` or ``decision_function``. A `PriorCorrectedClassifier` gets the totals, too.
    random_state : int, RandomState or None
        Seed of the order of unlabeled rows with equal scores, from which ``transduction_`` takes as many as the total
        needs.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    threshold_ : float
        Score above which a row is ``classes_[1]``; log odds where the classifier has probabilities.
    transduction_ : ndarray of shape (n_rows,)
        A label for every training row, the given ones kept; it meets the totals exactly, ties broken at random.
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

    def __init__(self, estimator: Any, random_state: Any = None) -> None:
        super().__init__(estimator)
        self.random_state = random_state

    def _fit_labels(self, X: Any, labels: Labels, counts: IntArray) -> None:
        if isinstance(self.estimator, KnownTotalClassifier):
            self.estimator_ = clone(self.estimator)._fit_read(X, labels, counts)
        else:
            self._fit_estimator(X, labels)
        unlabeled = np.flatnonzero(~labels.is_labeled)
        scores = self._scores(_safe_indexing(X, unlabeled)) if len(unlabeled) else np.empty(0)
        self.threshold_ = top_threshold(scores, int(counts[1]))
        rng = check_random_state(self.random_state)
        self.transduction_ = labels.completed(top_rows(scores, int(counts[1]), rng))

    def _scores(self, X: Any) -> FloatArray:
        """Log odds of ``classes_[1]``, or the wrapped classifier's own decision function."""
        if hasattr(self.estimator_, "predict_proba"):
            second = np.asarray(self.estimator_.predict_proba(X))[:, 1]
            return log_odds(second, _LEAST_PROBABILITY)
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
    """A threshold with ``n_above`` of the scores above it; 0, the usual threshold, if there are no scores."""
    if not len(scores):
        return 0.0
    descending = np.sort(scores)[::-1]
    if n_above == 0:
        return float(descending[0])
    if n_above == len(descending):
        return float(np.nextafter(descending[-1], -np.inf))
    return float(0.5 * descending[n_above - 1] + 0.5 * descending[n_above])


def top_rows(scores: FloatArray, n_above: int, rng: np.random.RandomState | None = None) -> IntArray:
    """1 for the ``n_above`` rows with the highest scores, 0 for the others; ties at random, or else by row order."""
    order = np.arange(len(scores)) if rng is None else rng.permutation(len(scores))
    codes = np.zeros(len(scores), dtype=np.int64)
    codes[order[np.argsort(-scores[order], kind="stable")[:n_above]]] = 1
    return codes
