"""Everything that users tell a guide beside the features: labels, totals and weights, read together."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import _num_samples

from s2oct.arrays import FloatArray
from s2oct.errors import S2OCTWarning
from s2oct.inputs.answers import doubts_about, read_labels_and_targets, warn_of_column
from s2oct.inputs.domains import read_domains
from s2oct.inputs.weights import read_weights
from s2oct.model.labels import Labels
from s2oct.model.targets import Targets
from s2oct.model.totals import Totals


def read_told(
    X: Any,
    y: Any,
    totals: Totals | None,
    population_totals: Totals | None,
    *,
    domains: Any = None,
    as_shares: bool = False,
    sample_weight: Any = None,
) -> tuple[Labels, Targets, FloatArray | None]:
    """Labels of all classes, what is known about the unlabeled rows, and weights; warns about doubtful input."""
    warn_of_column(y)
    n_rows = _num_samples(X)
    weights = read_weights(sample_weight, n_rows)
    divided = read_domains(domains, X, n_rows)
    labels, targets = read_labels_and_targets(
        y, n_rows, totals, population_totals, domains=divided, as_shares=as_shares, weights=weights
    )
    has_totals = totals is not None or population_totals is not None
    for doubt in doubts_about(labels, np.rint(targets.class_totals()).astype(np.int64), has_totals=has_totals):
        warnings.warn(doubt, S2OCTWarning, stacklevel=3)
    return labels, targets, weights
