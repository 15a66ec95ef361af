"""Bases of classifiers that use known totals: scikit-learn's contract, reading tables, and wrapping any classifier.

`PartlyLabeledClassifier` is the base of all classifiers of this package. `KnownTotalClassifier` reads labels and totals
from a table. `WrappedClassifier` fits any classifier, and checks what it predicts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, get_tags, indexable
from sklearn.utils.validation import _num_samples, check_is_fitted, has_fit_parameter

from s2oct.arrays import BoolArray, FloatArray, IntArray, ObjectArray
from s2oct.errors import InvalidProblem
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
        known, doubts = self._read(
            X, y, totals, population_totals, domains=domains, as_shares=as_shares, sample_weight=sample_weight
        )
        refuse_to_estimate(known, type(self).__name__)
        table, doubts_of_table = self._learned_table(X, text_columns(X, domains), sample_weight)
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
