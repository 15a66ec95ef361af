"""Bases of classifiers that use known totals: reading labels, totals and tables, and checking wrapped classifiers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, get_tags, indexable
from sklearn.utils.validation import _num_samples, has_fit_parameter

from s2oct.arrays import BoolArray, FloatArray, IntArray, ObjectArray
from s2oct.errors import InvalidProblem
from s2oct.problem.known import Known, counted_part, labeled_accuracy, read_known, refuse_to_estimate, warn_of_doubts
from s2oct.problem.labels import Labels
from s2oct.problem.totals import Totals
from s2oct.tables.features import has_gaps, holds_numbers, learn_features, read_rows, text_columns, without_columns
from s2oct.wording import amount

_ROUNDING = 1e-3
"""Tolerance for negative probabilities and for sums other than 1: some classifiers compute in single precision."""


class PartlyLabeledClassifier(ClassifierMixin, BaseEstimator, ABC):
    """Base of all classifiers of this package: unlabeled rows do not count in their score."""

    classes_: ObjectArray
    transduction_: ObjectArray
    probabilities_: FloatArray

    @abstractmethod
    def predict(self, X: Any) -> ObjectArray:
        """Predict the class of each row."""

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

    def _over_all_rows(self, known: Known, X: Any) -> None:
        """Extend labels and probabilities to the rows of the table that do not count, by prediction."""
        self.transduction_ = known.completed(self.transduction_, lambda rows: self.predict(_safe_indexing(X, rows)))
        if hasattr(self, "probabilities_"):
            self.probabilities_ = known.of_unlabeled(self.probabilities_)
            if len(known.uncounted):
                unknown = np.isnan(self.probabilities_).any(axis=1)
                self.probabilities_[unknown] = self.predict_proba(_safe_indexing(X, known.uncounted))


class KnownTotalClassifier(MetaEstimatorMixin, PartlyLabeledClassifier):
    """Base of the wrappers: reads labels and totals as `S2OCTClassifier` does, and fits the wrapped classifier.

    If all labeled rows are of one class, the wrapped classifier learns to separate them from the unlabeled rows, which
    ranks the rows by how much they resemble that class. If some of three or more classes have no labeled rows, they get
    the rows that are improbable under all labeled classes.
    """

    estimator_: Any

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

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
        """Fit the wrapped classifier.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Labeled and unlabeled rows together. A pipeline gets the table unchanged; any other classifier gets the
            features that `S2OCTClassifier` makes of text, categories and missing values.
        y : array-like of shape (n_rows,)
            Labels. NaN, None or NA marks an unlabeled row, and so does -1 where it cannot be a class.
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
            Weight of each row. It weights the labeled rows if the wrapped classifier takes weights; totals are sums of
            the weights of unlabeled rows.

        Returns
        -------
        self
            The fitted classifier.
        """
        known = read_known(
            X, y, totals, population_totals, domains=domains, as_shares=as_shares, sample_weight=sample_weight
        )
        refuse_to_estimate(known, type(self).__name__)
        table, doubts = self._learned_table(X, text_columns(X, domains), sample_weight)
        warn_of_doubts((*doubts, *known.doubts))
        self._fit_read(counted_part(table, known), known)
        self._over_all_rows(known, X)
        return self

    def _learned_table(self, X: Any, left_out: tuple[str, ...], weights: Any) -> tuple[Any, tuple[str, ...]]:
        """Return the table in a form that the wrapped classifier can read, and doubts about its columns.

        This is the table itself if it contains only numbers, or its encoded features.
        """
        self._left_out, table = left_out, without_columns(X, left_out)
        if reads_tables(self.estimator) or (holds_numbers(table) and (not has_gaps(table) or self._takes_gaps())):
            self.encoding_ = None
            return indexable(table)[0], ()
        features = learn_features(self, X, left_out=left_out, sample_weight=weights)
        return features.rows, features.doubts

    def _takes_gaps(self) -> bool:
        inner = self.estimator
        while isinstance(inner, KnownTotalClassifier):
            inner = inner.estimator
        return bool(get_tags(inner).input_tags.allow_nan)

    def _table(self, X: Any) -> Any:
        """Return a table in the form that the fitted classifier can read."""
        if getattr(self, "encoding_", None) is None:
            return without_columns(X, getattr(self, "_left_out", ()))
        return read_rows(self, X)

    def _fit_read(self, X: Any, known: Known) -> Any:
        """Fit to the rows that count, with labels, totals and weights that have been read."""
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
        """Fit, given the labels, the totals of the unlabeled rows and the weights of all rows."""

    def _fit_estimator(self, X: Any, labels: Labels, weights: FloatArray | None) -> None:
        """Fit to the labeled rows, or to labeled against unlabeled rows if only one class is labeled.

        ``weights`` are those of the fitted rows; they go to a classifier that takes weights.
        """
        rows = self._fitted_rows(labels)
        targets = labels.classes[self._fitted_codes(labels)[rows]]
        keyword = weight_keyword(self.estimator)
        parameters = {} if weights is None or keyword is None else {keyword: weights}
        self.estimator_ = clone(self.estimator).fit(_safe_indexing(X, np.flatnonzero(rows)), targets, **parameters)

    @staticmethod
    def _fitted_rows(labels: Labels) -> BoolArray:
        return labels.is_labeled if _has_several(labels) else np.ones(len(labels.codes), dtype=bool)

    @staticmethod
    def _fitted_codes(labels: Labels) -> IntArray:
        """Return the labels' codes; if only one class is labeled, unlabeled rows get the code of another class."""
        if _has_several(labels):
            return labels.codes
        return np.where(labels.is_labeled, labels.codes, int(labels.counts().argmin()))

    def _class_probabilities(self, X: Any) -> FloatArray:
        """Return the wrapped classifier's probabilities, with a column for each class."""
        return probabilities_of_all(self.estimator_, X, self.classes_, self._missing)

    def _class_scores(self, X: Any) -> FloatArray:
        """Return the wrapped classifier's decision function: of the second of two classes, or of each class."""
        return scores_of_all(self.estimator_, X, self.classes_, self._missing)

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


def _has_several(labels: Labels) -> bool:
    return int((labels.counts() > 0).sum()) > 1


def probabilities_of_all(classifier: Any, X: Any, classes: ObjectArray, missing: BoolArray) -> FloatArray:
    """Return checked probabilities of a fitted classifier, with a column for each class.

    Classes without labeled rows share what is improbable under all others. If only one class is labeled, they share the
    probability of the class that represents them. Invalid probabilities are refused.
    """
    name, n_rows = type(classifier).__name__, _num_samples(X)
    fitted = np.asarray(getattr(classifier, "classes_", classes))
    said = _as_numbers(classifier.predict_proba(X), f"{name} gave probabilities")
    if said.shape != (n_rows, len(fitted)):
        raise InvalidProblem(
            f"{name} gave probabilities of shape {said.shape}, and {n_rows} rows of {len(fitted)} classes need "
            f"{(n_rows, len(fitted))}."
        )
    _require_finite(said, f"{name} gave a probability")
    is_negative = (said < -_ROUNDING).any(axis=1)
    if is_negative.any():
        raise InvalidProblem(f"{name} gave a probability below 0 to {is_negative.sum()} of {n_rows} rows.")
    sums = said.sum(axis=1)
    if (np.abs(sums - 1) > _ROUNDING).any():
        row = int(np.abs(sums - 1).argmax())
        raise InvalidProblem(f"The probabilities of {name} add up to {amount(sums[row])} in row {row}, not to 1.")
    full = np.zeros((n_rows, len(classes)))
    full[:, _places(fitted, classes, missing, name)] = np.maximum(said, 0.0)
    if len(fitted) == len(classes):
        return full
    if (~missing).sum() > 1:
        return with_missing_classes(full, missing)
    full[:, missing] = full[:, missing].sum(axis=1, keepdims=True) / missing.sum()
    return full


def scores_of_all(classifier: Any, X: Any, classes: ObjectArray, missing: BoolArray) -> FloatArray:
    """Return checked scores of a fitted classifier's decision function: of the second of two classes, or of each.

    A class without labeled rows has the highest score of the others, with the opposite sign. If only one class is
    labeled, it has the score of the class that represents it.
    """
    name, n_rows = type(classifier).__name__, _num_samples(X)
    fitted = np.asarray(getattr(classifier, "classes_", classes))
    scores = _as_numbers(classifier.decision_function(X), f"{name} gave scores")
    expected = (n_rows,) if len(fitted) == 2 else (n_rows, len(fitted))
    if scores.shape != expected:
        raise InvalidProblem(f"{name} gave scores of shape {scores.shape}, and its rows and classes need {expected}.")
    _require_finite(scores, f"{name} gave a score")
    places = _places(fitted, classes, missing, name)
    if len(classes) == 2:
        return scores if places[0] == 0 else -scores
    scores = scores if scores.ndim == 2 else np.column_stack([-0.5 * scores, 0.5 * scores])
    full = np.zeros((len(scores), len(classes)))
    full[:, places] = scores
    if len(fitted) == len(classes):
        return full
    highest = scores.max(axis=1, keepdims=True)
    stands_in = np.isin(classes, fitted) & missing
    full[:, missing] = full[:, stands_in] if stands_in.any() else -highest
    return full


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


def predicted_codes(classifier: Any, predicted: ObjectArray, n_rows: int, classes: ObjectArray) -> IntArray:
    """Return the checked class index of each predicted label."""
    name, known = type(classifier).__name__, {label: k for k, label in enumerate(classes.tolist())}
    if len(predicted) != n_rows:
        raise InvalidProblem(f"{name} predicted {len(predicted)} classes for {n_rows} rows.")
    for label in predicted.tolist():
        if label not in known:
            raise InvalidProblem(f"{name} predicted class {label!r}, which is not among the labels.")
    return np.array([known[label] for label in predicted.tolist()], dtype=np.int64)


def _as_numbers(said: Any, what: str) -> FloatArray:
    try:
        return np.asarray(said, dtype=float)
    except (TypeError, ValueError) as error:
        raise InvalidProblem(f"{what} that are not numbers: {error}.") from error


def _require_finite(said: FloatArray, what: str) -> None:
    is_wrong = ~np.isfinite(said.reshape(len(said), -1)).all(axis=1)
    if is_wrong.any():
        raise InvalidProblem(
            f"{what} that is NaN or infinite to {is_wrong.sum()} of {len(said)} rows. Scale the features, drop those "
            "that do not vary, or use another classifier."
        )


def _places(fitted: ObjectArray, classes: ObjectArray, missing: BoolArray, name: str) -> IntArray:
    """Return the columns of a classifier's classes among all classes; the classifier may have any order."""
    known = {label: k for k, label in enumerate(classes.tolist())}
    for label in fitted.tolist():
        if label not in known:
            raise InvalidProblem(f"{name} has a class {label!r} in classes_ that is not among the labels.")
    places = np.array([known[label] for label in fitted.tolist()], dtype=np.int64)
    for k in np.setdiff1d(np.flatnonzero(~missing), places):
        label = classes.tolist()[k]
        raise InvalidProblem(f"{name} has no class {label!r} in classes_, though it was fitted to rows of it.")
    return places
