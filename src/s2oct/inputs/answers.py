"""Labels and totals that users pass to a classifier."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import accuracy_score

from s2oct.arrays import FloatArray, IntArray, ObjectArray
from s2oct.errors import Remedy, S2OCTWarning
from s2oct.inputs.weights import refuse_weightless
from s2oct.model.labels import (
    UNLABELED,
    Labels,
    read_labels,
    refuse_other_than_two_classes,
    refuse_unusable_classes,
)
from s2oct.model.targets import Targets
from s2oct.model.total_forms import Domains
from s2oct.model.totals import Totals, exact_counts, named_classes, read_targets
from s2oct.wording import listed, plural


def read_labels_and_targets(
    y: Any,
    n_rows: int,
    totals: Totals | None,
    population_totals: Totals | None,
    *,
    domains: Domains = (),
    as_shares: bool = False,
    weights: FloatArray | None = None,
) -> tuple[Labels, Targets]:
    """Labels of all classes, one per row, and what is known about the unlabeled rows; domains and weights are read.

    Nothing warns here: see `doubts_about`.
    """
    named = named_classes(totals, population_totals, y=y, domains=domains)
    labels = read_labels(y, n_rows=n_rows, named=named)
    refuse_unusable_classes(labels.classes.tolist())
    if weights is not None:
        refuse_weightless(weights, labels.is_labeled)
    targets = read_targets(labels, totals, population_totals, domains=domains, as_shares=as_shares, weights=weights)
    return labels, targets


def read_answers(
    y: Any, n_rows: int, totals: Totals | None, population_totals: Totals | None
) -> tuple[Labels, IntArray]:
    """Labels of two classes, one per row, and the unlabeled rows of each class; warns about doubtful input."""
    warn_of_column(y)
    labels, targets = read_labels_and_targets(y, n_rows, totals, population_totals)
    refuse_other_than_two_classes(labels.classes.tolist())
    counts = exact_counts(targets, labels)
    for doubt in doubts_about(labels, counts, has_totals=totals is not None or population_totals is not None):
        warnings.warn(doubt, S2OCTWarning, stacklevel=3)
    return labels, counts


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


def doubts_about(labels: Labels, counts: IntArray, *, has_totals: bool) -> tuple[str, ...]:
    """What is doubtful about labels and totals, in sentences."""
    m = int((~labels.is_labeled).sum())
    if m == 0:
        return ("Every row is labeled, so totals have no effect; OCTHClassifier is the supervised tree.",)
    if has_totals:
        return ()
    shares = listed(
        [f"{total} {label!r}" for label, total in zip(labels.classes.tolist(), counts.tolist(), strict=True)]
    )
    return (
        f"No totals were given: the class shares of the labeled rows are used, {shares} of "
        f"{plural(m, 'unlabeled row')}. "
        f"A biased sample has wrong shares; {Remedy.GIVE_TOTALS.value}.",
    )


def warn_of_column(y: Any) -> None:
    """Warn about labels in a table of one column, as scikit-learn does. Call it from ``fit`` or one level below."""
    if getattr(y, "ndim", 1) == 2 and y.shape[1] == 1:
        message = "A column-vector y was passed when a 1d array was expected. Pass y.ravel()."
        warnings.warn(message, DataConversionWarning, stacklevel=4)


def labeled_accuracy(y: Any, predicted: ObjectArray, classes: ObjectArray, sample_weight: Any) -> float:
    """Share of the labeled rows of ``y`` that are predicted correctly."""
    labels = read_labels(y, n_rows=len(predicted), named=classes.tolist())
    known = labels.is_labeled
    weights = None if sample_weight is None else np.asarray(sample_weight)[known]
    truth = labels.classes[labels.codes[known]]
    return float(accuracy_score(truth, predicted[known], sample_weight=weights))
