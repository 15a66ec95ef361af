"""Labels and totals that users pass to a classifier."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import accuracy_score
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from s2oct.arrays import FloatArray, IntArray, ObjectArray
from s2oct.errors import Notice, Remedy, UnlabeledScoreWarning
from s2oct.inputs.domains import read_domains
from s2oct.inputs.weights import read_weights
from s2oct.model.counted import counted_rows, refuse_weightless
from s2oct.model.labels import (
    UNLABELED,
    Labels,
    read_labels,
    refuse_unusable_classes,
)
from s2oct.model.targets import Targets
from s2oct.model.totals import Totals, named_classes, read_targets
from s2oct.wording import amount, count, listed, plural


@dataclass(frozen=True, eq=False)
class Answers:
    """What a user said about the classes of the rows that count: rows of weight 0 take no part in a fit.

    Attributes
    ----------
    labels : Labels
        Classes and codes of the rows.
    targets : Targets
        What is known about the unlabeled rows, in the units of the weights.
    weights : ndarray of shape (n_rows,) or None
        Survey weights.
    doubts : tuple of Notice
        What is doubtful about labels and totals.
    counted : ndarray of int or None
        Positions of these rows in the table; None if all its rows count.
    given : Labels or None
        Classes and codes of all rows of the table, if some do not count.
    """

    labels: Labels
    targets: Targets
    weights: FloatArray | None
    doubts: tuple[Notice, ...]
    counted: IntArray | None = None
    given: Labels | None = None

    def of_counted(self, rows: Any) -> Any:
        """Those rows of a table that count."""
        return rows if self.counted is None else _safe_indexing(rows, self.counted)

    def positions(self, rows: IntArray) -> IntArray:
        """Where some of the rows are in the table."""
        return rows if self.counted is None else self.counted[rows]

    @property
    def uncounted(self) -> IntArray:
        """Positions of the unlabeled rows of the table that do not count."""
        if self.counted is None or self.given is None:
            return np.empty(0, dtype=np.int64)
        return np.setdiff1d(np.flatnonzero(~self.given.is_labeled), self.counted)

    @property
    def uncounted_classes(self) -> tuple[Any, ...]:
        """Classes of which no row counts: they have labels of weight 0 alone."""
        known = self.labels.classes.tolist()
        return () if self.given is None else tuple(c for c in self.given.classes.tolist() if c not in known)

    def completed(self, classes: ObjectArray, predict: Callable[[IntArray], ObjectArray]) -> ObjectArray:
        """A label for every row of the table.

        Parameters
        ----------
        classes : ndarray of shape (n_rows,)
            The labels of the rows that count.
        predict : callable
            Takes positions of other rows and returns their labels. A row that has a label keeps it.
        """
        if self.counted is None or self.given is None:
            return classes
        found = np.asarray(self.given.classes[np.maximum(self.given.codes, 0)])
        found[self.counted] = classes
        if len(self.uncounted):
            found[self.uncounted] = predict(self.uncounted)
        return found

    def of_unlabeled(self, values: FloatArray) -> FloatArray:
        """Values of all unlabeled rows of the table, given those of the rows that count; NaN for the others."""
        if self.counted is None or self.given is None:
            return values
        everywhere = np.full((len(self.given.codes), *values.shape[1:]), np.nan)
        everywhere[self.counted[~self.labels.is_labeled]] = values
        return np.asarray(everywhere[~self.given.is_labeled])


def read_answers(
    X: Any,
    y: Any,
    totals: Totals | None,
    population_totals: Totals | None,
    *,
    domains: Any = None,
    as_shares: bool = False,
    sample_weight: Any = None,
) -> Answers:
    """Labels of all classes, what is known about the unlabeled rows, and weights; warns about doubtful input.

    Call it from ``fit``, so that warnings point at the user's line.
    """
    warn_of_column(y)
    n_rows = _num_samples(X)
    weights, divided = read_weights(sample_weight, n_rows), read_domains(domains, X, n_rows)
    named = named_classes(totals, population_totals, y=y, domains=divided)
    given = labels = read_labels(y, n_rows=n_rows, named=named)
    if weights is not None:
        refuse_weightless(weights, labels.is_labeled)
    counted = counted_rows(weights)
    if counted is not None and weights is not None:
        labels, weights = labels.of_rows(counted, named), weights[counted]
        divided = tuple((name, cells[counted]) for name, cells in divided)
    refuse_unusable_classes(labels.classes.tolist())
    targets = read_targets(labels, totals, population_totals, domains=divided, as_shares=as_shares, weights=weights)
    doubts = doubts_about(labels, targets, has_totals=totals is not None or population_totals is not None)
    for doubt in doubts:
        warnings.warn(str(doubt), doubt.category, stacklevel=3)
    return Answers(labels, targets, weights, doubts, counted, None if counted is None else given)


def read_complete_labels(y: Any, n_rows: int) -> Labels | None:
    """Labels of two or more classes if every row has one, else None.

    Here -1 is no marker: without totals it can be a class.
    """
    labels = read_labels(y, n_rows=n_rows, named=[UNLABELED])
    if not labels.counts().all():
        labels = read_labels(y, n_rows=n_rows)  # naming -1 has made it a class, although no row has it
    if not labels.is_labeled.all() or len(labels.classes) < 2 or not labels.counts().all():
        return None
    warn_of_column(y)
    return labels


def doubts_about(labels: Labels, targets: Targets, *, has_totals: bool, n_unseen: int = 0) -> tuple[Notice, ...]:
    """What is doubtful about labels and totals; ``n_unseen`` unlabeled rows are not among the labels."""
    m = int((~labels.is_labeled).sum()) + n_unseen
    if m == 0:
        return (Notice("Every row is labeled, so totals have no effect; OCTHClassifier is the supervised tree"),)
    if has_totals:
        return ()
    counts = targets.class_totals()
    shares = listed([f"{amount(n)} {label!r}" for label, n in zip(labels.classes.tolist(), counts, strict=True)])
    finding = f"the class shares of the labeled rows are used, {shares} of {plural(m, 'unlabeled row')}"
    return (Notice(f"No totals were given: {finding}. A biased sample has wrong shares", Remedy.GIVE_TOTALS),)


def warn_of_column(y: Any) -> None:
    """Warn about labels in a table of one column, as scikit-learn does. Call it from ``fit`` or one level below."""
    if getattr(y, "ndim", 1) == 2 and y.shape[1] == 1:
        message = "A column-vector y was passed when a 1d array was expected. Pass y.ravel()."
        warnings.warn(message, DataConversionWarning, stacklevel=4)


def labeled_accuracy(y: Any, predicted: ObjectArray, classes: ObjectArray, sample_weight: Any) -> float:
    """Share of the labeled rows of ``y`` that are predicted correctly; warns if other rows are left out.

    Call it from ``score``, so that the warning points at the user's line.
    """
    labels = read_labels(y, n_rows=len(predicted), named=classes.tolist())
    known = labels.is_labeled
    if not known.all():
        warnings.warn(
            f"{count((~known).sum())} of {plural(len(known), 'row')} to be scored are unlabeled and do not count. In "
            "cross-validation, use LabeledKFold: other splitters take unlabeled rows out of the training set, so that "
            "the known totals no longer hold there.",
            UnlabeledScoreWarning,
            stacklevel=3,
        )
    weights = read_weights(sample_weight, len(predicted))
    truth = labels.classes[labels.codes[known]]
    return float(accuracy_score(truth, predicted[known], sample_weight=None if weights is None else weights[known]))
