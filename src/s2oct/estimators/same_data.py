"""Whether rows, labels and totals are those of a fit: what a fit proves holds for its own data alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from s2oct.estimators.fitted import FittedRows
from s2oct.estimators.seen_totals import Known
from s2oct.inputs import read_domains, read_weights
from s2oct.model.counted import counted_rows
from s2oct.model.data_summary import DataSummary
from s2oct.model.labels import Labels
from s2oct.model.problem import Problem
from s2oct.model.targets import Targets
from s2oct.model.totals import read_targets


def are_data_of_fit(estimator: Any, rows: FittedRows, X: Any, known: Known) -> bool:
    """Compare data with what a classifier remembers of its own.

    The hash decides wherever everything that it is made of is here: the totals are given, or they are exact totals of
    the whole table, which the classifier remembers. Otherwise the numbers of its certificate decide.

    Parameters
    ----------
    estimator : S2OCTClassifier or OCTHClassifier
        A fitted one.
    rows : FittedRows
        The rows and labels, already read.
    X : array-like or data frame of shape (n_rows, n_features)
        The rows as the user has them; domains may be columns of it.
    known : Known
        Totals, domains and weights, where they are given.

    Returns
    -------
    bool
        Whether they are the same; also for a classifier that remembers nothing.
    """
    summary: DataSummary | None = getattr(estimator, "data_summary_", None)
    if summary is None:
        return True
    weights, n_rows = read_weights(known.sample_weight, len(rows.X)), len(rows.X)
    counted = counted_rows(weights)
    if counted is not None and weights is not None:
        weights, rows = weights[counted], replace(rows, X=rows.X[counted], codes=rows.codes[counted])
    n_labeled = int(rows.is_labeled.sum())
    if (n_labeled, len(rows.X) - n_labeled) != (summary.n_labeled, summary.n_unlabeled):
        return False
    labels = Labels(estimator.classes_, rows.codes)
    if known.totals is not None or known.population_totals is not None:
        domains = read_domains(known.domains, X, n_rows)
        if counted is not None:
            domains = tuple((name, cells[counted]) for name, cells in domains)
        targets = read_targets(
            labels,
            known.totals,
            known.population_totals,
            domains=domains,
            as_shares=known.as_shares,
            weights=weights,
        )
    elif weights is None and _has_plain_totals(estimator.certificate_):
        targets = Targets.exact(summary.totals, summary.n_unlabeled)
    else:
        return _agrees_with_certificate(estimator.certificate_, rows)
    problem = Problem.from_labels(rows.X, labels, targets, weights=weights)
    return DataSummary.of(problem).sha256 == summary.sha256


def _has_plain_totals(certificate: Any) -> bool:
    """Whether the totals of the fit are exact, of the whole table and without weights; OCT-H has none at all."""
    cells = getattr(certificate, "known_cells", ())
    return getattr(certificate, "unit", 1.0) == 1 and all(not cell.domain and cell.low == cell.high for cell in cells)


def _agrees_with_certificate(certificate: Any, rows: FittedRows) -> bool:
    """Whether the tree contradicts as many labels, and assigns as many rows to each class, as in the fit."""
    contradicted = int((rows.predicted != rows.codes)[rows.is_labeled].sum())
    if getattr(certificate, "n_contradicted", None) not in (None, contradicted):
        return False
    cells = getattr(certificate, "known_cells", ())
    if not cells or certificate.unit != 1:
        return True
    put: dict[tuple[str, int], float] = {}
    for cell in cells:
        if cell.margin == cells[0].margin:
            put.setdefault((cell.domain, cell.class_index), cell.assigned)
    _, assigned = rows.counted()
    expected = [sum(put[key] for key in put if key[1] == k) for k in range(rows.n_classes)]
    return bool(np.allclose(assigned, expected))
