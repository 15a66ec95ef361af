"""Base of the wrappers that give known totals to any scikit-learn classifier: simple rivals of the tree."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, get_tags, indexable
from sklearn.utils.validation import has_fit_parameter

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.guides.all_classes import probabilities_of_all, scores_of_all
from s2oct.guides.base import PartlyLabeledClassifier
from s2oct.inputs import (
    counted_part,
    has_gaps,
    holds_numbers,
    learn_features,
    read_known,
    read_rows,
    refuse_to_estimate,
    text_columns,
    warn_of_doubts,
    without_columns,
)
from s2oct.model.known import Known
from s2oct.model.labels import Labels
from s2oct.model.totals import Totals


class KnownTotalClassifier(MetaEstimatorMixin, PartlyLabeledClassifier):
    """Base of the wrappers: reads labels and totals as `S2OCTClassifier` does, and fits the wrapped classifier.

    If all labeled rows are of one class, the wrapped classifier learns to separate them from the unlabeled rows
    instead. This ranks the rows by how much they resemble that class. If some of three or more classes have no labeled
    rows, they get the rows that are improbable under all labeled classes.
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
            Labeled and unlabeled rows together. A pipeline gets them as they are; any other classifier gets the
            features that `S2OCTClassifier` makes of text, categories and missing values.
        y : array-like of shape (n_rows,)
            Labels; NaN, None or NA marks an unlabeled row, and so does -1 where it cannot be a class.
        totals : mapping of class to count, table by domain and class, or list of these, optional
            Number of unlabeled rows of a class, in each domain: a count, a pair of bounds or an `Estimate`. All classes
            but one are enough.
        population_totals : mapping of class to count, table by domain and class, or list of these, optional
            The same for all rows, the labeled ones included.
        domains : array-like of shape (n_rows,), column name, or list of these, optional
            The domain of each row, for totals by domain; a list if there are several margins.
        as_shares : bool
            Whether totals are shares of the rows of their domain.
        sample_weight : array-like of shape (n_rows,), optional
            Weight of each row. Labeled rows are fitted with it, if the wrapped classifier takes weights, and unlabeled
            rows count with it towards the totals.

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
        """The table as the wrapped classifier takes it, and doubts about its columns.

        It is the table as it is, or its features where these are not just numbers.
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
        """A table as the fitted classifier takes it."""
        if getattr(self, "encoding_", None) is None:
            return without_columns(X, getattr(self, "_left_out", ()))
        return read_rows(self, X)

    def _fit_read(self, X: Any, known: Known) -> Any:
        """Fit to the rows that count and what is known about them."""
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
        """The labels' codes; if one class alone has labeled rows, the unlabeled rows get the code of another one."""
        if _has_several(labels):
            return labels.codes
        return np.where(labels.is_labeled, labels.codes, int(labels.counts().argmin()))

    def _class_probabilities(self, X: Any) -> FloatArray:
        """The wrapped classifier's probabilities, with a column for each class."""
        return probabilities_of_all(self.estimator_, X, self.classes_, self._missing)

    def _class_scores(self, X: Any) -> FloatArray:
        """The wrapped classifier's decision function: of the second of two classes, or with a column for each class."""
        return scores_of_all(self.estimator_, X, self.classes_, self._missing)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = getattr(self.estimator, "__sklearn_tags__", lambda: tags)()
        tags.input_tags = replace(inner.input_tags, allow_nan=True, categorical=True)
        return tags


def reads_tables(estimator: Any) -> bool:
    """Whether a classifier says itself how to read the columns of a table: a pipeline, also inside other estimators."""
    if isinstance(estimator, Pipeline):
        return True
    inner = getattr(estimator, "estimator", None)
    return inner is not None and reads_tables(inner)


def weight_keyword(estimator: Any) -> str | None:
    """The name under which ``fit`` takes weights of rows; None if it takes none."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = weight_keyword(last)
        return None if inner is None else f"{name}__{inner}"
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def _has_several(labels: Labels) -> bool:
    return int((labels.counts() > 0).sum()) > 1
