"""Labels and totals that users pass to a classifier."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import accuracy_score
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from s2oct.arrays import ObjectArray
from s2oct.errors import S2OCTWarning, UnlabeledScoreWarning
from s2oct.inputs.domains import read_domains
from s2oct.inputs.weights import read_weights
from s2oct.model.known import Known, known_of
from s2oct.model.labels import (
    UNLABELED,
    Labels,
    read_labels,
)
from s2oct.model.totals import Totals, stated_totals
from s2oct.wording import count, plural


def read_known(
    X: Any,
    y: Any,
    totals: Totals | None,
    population_totals: Totals | None,
    *,
    domains: Any = None,
    as_shares: bool = False,
    sample_weight: Any = None,
) -> Known:
    """Labels, totals, domains and weights, checked; ``y`` may be what is known already."""
    if isinstance(y, Known):
        return y
    warn_of_column(y)
    n_rows = _num_samples(X)
    weights, divided = read_weights(sample_weight, n_rows), read_domains(domains, X, n_rows)
    stated = stated_totals(totals, population_totals, y=y, domains=divided, as_shares=as_shares)
    return known_of(y, stated, n_rows=n_rows, domains=divided, weights=weights)


def warn_of_doubts(doubts: Iterable[str]) -> None:
    """Warn about doubtful input. Call it from ``fit``, so that warnings point at the user's line."""
    for doubt in doubts:
        warnings.warn(doubt, S2OCTWarning, stacklevel=3)


def counted_part(X: Any, known: Known) -> Any:
    """Those rows of a table in any form that count."""
    return X if known.counted is None else _safe_indexing(X, known.counted)


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
