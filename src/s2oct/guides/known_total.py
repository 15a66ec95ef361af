"""Classifiers that use known totals: their bases, and wrappers that make any classifier use them.

`PartlyLabeledClassifier` is the base of all classifiers of this package. `KnownTotalClassifier` reads labels and totals
from a table. `WrappedClassifier` fits any classifier, and checks what it predicts. The wrappers use the totals by the
rows with the highest scores, or by class weights.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_random_state, get_tags, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted, has_fit_parameter

from s2oct.arrays import BoolArray, FloatArray, IntArray, ObjectArray
from s2oct.errors import InvalidProblem
from s2oct.guides.meeting_totals import log_odds, multipliers_for_new_rows, settle, two_columns
from s2oct.problem.known import Known, counted_part, labeled_accuracy, read_known, refuse_to_estimate, warn_of_doubts
from s2oct.problem.labels import UNLABELED, Labels
from s2oct.problem.totals import Totals
from s2oct.tables.features import has_gaps, holds_numbers, learn_features, read_rows, text_columns, without_columns
from s2oct.wording import amount

_ROUNDING = 1e-3
"""Tolerance for negative probabilities and for sums other than 1: some classifiers compute in single precision."""


class PartlyLabeledClassifier(ClassifierMixin, BaseEstimator, ABC):
    """Base of all classifiers of this package: unlabeled rows do not count in their score."""

    classes_: ObjectArray

    @abstractmethod
    def _predicted_codes(self, X: Any) -> IntArray:
        """Return the class index of each row of a table."""

    def predict(self, X: Any) -> ObjectArray:
        """Predict the class of each row.

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
        codes = self._predicted_codes(X)
        return np.asarray(self.classes_[codes])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on the labeled rows; rows marked as unlabeled in ``y`` do not count.

        A warning reports how many rows do not count: in cross-validation, they are missing from the training set unless
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


class KnownTotalClassifier(PartlyLabeledClassifier):
    """Base of the guides: reads labels and totals as `S2OCTClassifier` does."""

    transduction_: ObjectArray
    probabilities_: FloatArray

    def fit(
        self,
        X: Any,
        y: Any,
        totals: Totals | None = None,
        population_totals: Totals | None = None,
        domains: Any = None,
        as_shares: bool = False,
        sample_weight: Any = None,
    ) -> Any:
        """Fit the classifier.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Labeled and unlabeled rows together, in any form that `S2OCTClassifier` takes. A wrapped classifier gets the
            features that `S2OCTClassifier` makes of text, categories and missing values; a pipeline gets the table
            unchanged.
        y : array-like of shape (n_rows,)
            Labels. NaN, None or NA marks an unlabeled row, and so does -1 where it cannot be a class. A
            `SelfTrainedForest` also takes complete labels without totals; -1 is then a class if there is one other.
        totals : mapping of class to count, table by domain and class, or list of these, optional
            Number of unlabeled rows of a class, in each domain: a count, a pair of bounds or an `Estimate`. One class
            may be omitted.
        population_totals : mapping of class to count, table by domain and class, or list of these, optional
            The same for all rows, including the labeled ones.
        domains : array-like of shape (n_rows,), column name, or list of these, optional
            The domain of each row, for totals by domain; a list for several margins.
        as_shares : bool
            Whether totals are shares of the rows of their domain.
        sample_weight : array-like of shape (n_rows,), optional
            Weight of each row. It weights the labeled rows, if a wrapped classifier takes weights; totals are sums of
            the weights of unlabeled rows.

        Returns
        -------
        self
            The fitted classifier.
        """
        table, doubts_of_table = self._learned_table(X, text_columns(X, domains), sample_weight)
        known, doubts = self._read(
            X, y, totals, population_totals, domains=domains, as_shares=as_shares, sample_weight=sample_weight
        )
        refuse_to_estimate(known, type(self).__name__)
        warn_of_doubts((*doubts_of_table, *doubts))
        self._fit_known(counted_part(table, known), known)
        self._extend_to_uncounted_rows(known, X)
        return self

    def _read(
        self, X: Any, y: Any, totals: Totals | None, population_totals: Totals | None, **others: Any
    ) -> tuple[Known, tuple[str, ...]]:
        """Return labels, totals and weights, and doubts about them; ``others`` are further arguments of ``fit``."""
        known = read_known(X, y, totals, population_totals, **others)
        return known, known.doubts

    @abstractmethod
    def _learned_table(self, X: Any, left_out: tuple[str, ...], weights: Any) -> tuple[Any, tuple[str, ...]]:
        """Learn how to read a table; return it in the form that the fit reads, and doubts about its columns."""

    @abstractmethod
    def _fit_known(self, X: Any, known: Known) -> Any:
        """Fit to the rows that count, in the form of `_learned_table`, with labels, totals and weights."""

    def _extend_to_uncounted_rows(self, known: Known, X: Any) -> None:
        """Extend labels and probabilities to the rows of the table that do not count, by prediction."""
        self.transduction_ = known.completed(self.transduction_, lambda rows: self.predict(_safe_indexing(X, rows)))
        if hasattr(self, "probabilities_"):
            self.probabilities_ = known.of_unlabeled(self.probabilities_)
            if len(known.uncounted):
                unknown = np.isnan(self.probabilities_).any(axis=1)
                self.probabilities_[unknown] = self.predict_proba(_safe_indexing(X, known.uncounted))


class WrappedClassifier(MetaEstimatorMixin, KnownTotalClassifier):
    """Base of the wrappers, which fit any classifier.

    If all labeled rows are of one class, the wrapped classifier learns to separate them from the unlabeled rows, which
    ranks the rows by how much they resemble that class. If some of three or more classes have no labeled rows, they get
    the rows that are improbable under all labeled classes.
    """

    estimator_: Any
    encoding_: Any
    _left_out: tuple[str, ...] = ()

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def _learned_table(self, X: Any, left_out: tuple[str, ...], weights: Any) -> tuple[Any, tuple[str, ...]]:
        """Return the table itself if the wrapped classifier can read it, or else its encoded features."""
        self._left_out, table = left_out, without_columns(X, left_out)
        if reads_tables(self.estimator) or (holds_numbers(table) and (not has_gaps(table) or self._takes_gaps())):
            self.encoding_ = None
            return indexable(table)[0], ()
        features = learn_features(self, X, left_out=left_out, sample_weight=weights)
        return features.rows, features.doubts

    def _takes_gaps(self) -> bool:
        inner = self.estimator
        while isinstance(inner, WrappedClassifier):
            inner = inner.estimator
        return bool(get_tags(inner).input_tags.allow_nan)

    def _table(self, X: Any) -> Any:
        """Return a table in the form that the fitted classifier can read."""
        if getattr(self, "encoding_", None) is None:
            return without_columns(X, self._left_out)
        return read_rows(self, X)

    def _fit_known(self, X: Any, known: Known) -> Any:
        self.classes_ = known.classes
        self._missing = known.unlabeled_classes
        self._fit_labels(X, known)
        if getattr(self, "encoding_", None) is None:
            for name in ("n_features_in_", "feature_names_in_"):
                self.__dict__.pop(name, None)
                if hasattr(self.estimator_, name):
                    setattr(self, name, getattr(self.estimator_, name))
        return self

    @abstractmethod
    def _fit_labels(self, X: Any, known: Known) -> None:
        """Fit the wrapped classifier, and classify the unlabeled rows."""

    def _fit_estimator(self, X: Any, labels: Labels, weights: FloatArray | None) -> None:
        """Fit to the labeled rows, or to labeled against unlabeled rows if only one class is labeled.

        ``weights`` are those of the fitted rows; they go to a classifier that takes weights.
        """
        rows, codes = fitted_rows(labels)
        targets = labels.classes[codes]
        keyword = weight_keyword(self.estimator)
        parameters = {} if weights is None or keyword is None else {keyword: weights}
        self.estimator_ = clone(self.estimator).fit(_safe_indexing(X, rows), targets, **parameters)

    def _class_probabilities(self, X: Any) -> FloatArray:
        """Return the wrapped classifier's checked probabilities, with a column for each class.

        Classes without labeled rows share what is improbable under all others. If only one class is labeled, they share
        the probability of the class that represents them. Invalid probabilities are refused.
        """
        probabilities, places = self._checked_output("predict_proba", "probability", X)
        name = type(self.estimator_).__name__
        n_rows, n_negative = len(probabilities), int((probabilities < -_ROUNDING).any(axis=1).sum())
        if n_negative:
            raise InvalidProblem(f"{name} gave a probability below 0 to {n_negative} of {n_rows} rows.")
        sums = probabilities.sum(axis=1)
        if (np.abs(sums - 1) > _ROUNDING).any():
            row = int(np.abs(sums - 1).argmax())
            raise InvalidProblem(f"The probabilities of {name} add up to {amount(sums[row])} in row {row}, not to 1.")
        full, missing = np.zeros((n_rows, len(self.classes_))), self._missing
        full[:, places] = np.maximum(probabilities, 0.0)
        if len(places) == len(self.classes_):
            return full
        if (~missing).sum() > 1:
            return with_missing_classes(full, missing)
        full[:, missing] = full[:, missing].sum(axis=1, keepdims=True) / missing.sum()
        return full

    def _class_scores(self, X: Any) -> FloatArray:
        """Return the checked decision function of the wrapped classifier: of the second of two classes, or of each.

        A class without labeled rows has the highest score of the others, with the opposite sign. If only one class is
        labeled, it has the score of the class that represents it.
        """
        scores, places = self._checked_output("decision_function", "score", X)
        if len(self.classes_) == 2:
            return scores if places[0] == 0 else -scores
        scores = scores if scores.ndim == 2 else np.column_stack([-0.5 * scores, 0.5 * scores])
        full = np.zeros((len(scores), len(self.classes_)))
        full[:, places] = scores
        if len(places) == len(self.classes_):
            return full
        stands_in = np.isin(np.arange(len(self.classes_)), places) & self._missing
        highest = scores.max(axis=1, keepdims=True)
        full[:, self._missing] = full[:, stands_in] if stands_in.any() else -highest
        return full

    def _checked_output(self, method: str, what: str, X: Any) -> tuple[FloatArray, IntArray]:
        """Return what a method of the wrapped classifier gives each row, and the index of the class of each column.

        The classifier may have its classes in any order. Output of another shape, and numbers that are not finite, are
        refused.
        """
        name, n_rows = type(self.estimator_).__name__, _num_samples(X)
        output = getattr(self.estimator_, method)(X)
        try:
            output = np.asarray(output, dtype=float)
        except (TypeError, ValueError) as error:
            raise InvalidProblem(f"{method} of {name} must return numbers: {error}.") from error
        fitted = np.asarray(getattr(self.estimator_, "classes_", self.classes_)).tolist()
        is_one_column = method == "decision_function" and len(fitted) == 2
        expected = (n_rows,) if is_one_column else (n_rows, len(fitted))
        if output.shape != expected:
            raise InvalidProblem(
                f"{method} of {name} gave an array of shape {output.shape}, and its rows and classes need {expected}."
            )
        is_wrong = ~np.isfinite(output.reshape(n_rows, -1)).all(axis=1)
        if is_wrong.any():
            raise InvalidProblem(
                f"{name} gave a {what} that is NaN or infinite to {is_wrong.sum()} of {n_rows} rows. Scale the "
                "features, drop those that do not vary, or use another classifier."
            )
        place = {label: k for k, label in enumerate(self.classes_.tolist())}
        for label in fitted:
            if label not in place:
                raise InvalidProblem(f"{name} has a class {label!r} in classes_ that is not among the labels.")
        for label in self.classes_[~self._missing].tolist():
            if label not in fitted:
                raise InvalidProblem(f"{name} has no class {label!r} in classes_, though it was fitted to rows of it.")
        return output, np.array([place[label] for label in fitted], dtype=np.int64)

    def _codes_of(self, predicted: ObjectArray, n_rows: int) -> IntArray:
        """Return the class index of each label that the wrapped classifier predicted; refuse other labels."""
        name, place = type(self.estimator_).__name__, {label: k for k, label in enumerate(self.classes_.tolist())}
        if len(predicted) != n_rows:
            raise InvalidProblem(f"{name} predicted {len(predicted)} classes for {n_rows} rows.")
        for label in predicted.tolist():
            if label not in place:
                raise InvalidProblem(f"{name} predicted class {label!r}, which is not among the labels.")
        return np.array([place[label] for label in predicted.tolist()], dtype=np.int64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = getattr(self.estimator, "__sklearn_tags__", lambda: tags)()
        tags.input_tags = replace(inner.input_tags, allow_nan=True, categorical=True)
        return tags


def reads_tables(estimator: Any) -> bool:
    """Whether a classifier reads the columns of a table by itself: a pipeline, also inside other estimators."""
    if isinstance(estimator, Pipeline):
        return True
    inner = getattr(estimator, "estimator", None)
    return inner is not None and reads_tables(inner)


def weight_keyword(estimator: Any) -> str | None:
    """Return the keyword under which ``fit`` takes weights of rows; None if it takes none."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = weight_keyword(last)
        return None if inner is None else f"{name}__{inner}"
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def fitted_rows(labels: Labels) -> tuple[IntArray, IntArray]:
    """Return the rows that a wrapped classifier is fitted to, and their class indices: the labeled rows.

    If only one class is labeled, these are all rows, and the unlabeled ones stand for another class.
    """
    counts = labels.counts()
    codes = labels.codes if (counts > 0).sum() > 1 else np.where(labels.is_labeled, labels.codes, counts.argmin())
    rows = np.flatnonzero(codes != UNLABELED)
    return rows, codes[rows]


def with_missing_classes(votes: FloatArray, missing: BoolArray) -> FloatArray:
    """Give classes without labeled rows the votes of rows that resemble no labeled class.

    They share one minus the largest probability; then each row is scaled to 1. Without missing classes, or with two
    classes, votes stay unchanged.
    """
    if not missing.any() or votes.shape[1] == 1:
        return votes
    filled = votes.copy()
    filled[:, missing] = (1 - votes.max(axis=1, keepdims=True)) / missing.sum()
    return np.asarray(filled / filled.sum(axis=1, keepdims=True))


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
