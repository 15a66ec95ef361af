"""Whether rows, labels and totals are those of a fit: what a fit proves holds for its own data alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from s2oct.estimators.fitted import FittedRows
from s2oct.model.known import Known
from s2oct.model.problem import DataSummary, Problem
from s2oct.model.targets import Targets


def are_data_of_fit(estimator: Any, rows: FittedRows, known: Known) -> bool:
    """Compare data with what a classifier remembers of its own.

    The hash decides wherever everything that it is made of is here: the totals are given, or they are exact totals of
    the whole table, which the classifier remembers. Otherwise the numbers of its certificate decide.

    Parameters
    ----------
    estimator : S2OCTClassifier or OCTHClassifier
        A fitted one.
    rows : FittedRows
        The rows and labels, already read.
    known : Known
        Labels and, where they are given, totals, domains and weights.

    Returns
    -------
    bool
        Whether they are the same; also for a classifier that remembers nothing.
    """
    summary: DataSummary | None = getattr(estimator, "data_summary_", None)
    if summary is None:
        return True
    if known.counted is not None:
        rows = replace(rows, X=rows.X[known.counted], codes=known.labels.codes)
    n_labeled = int(rows.is_labeled.sum())
    if (n_labeled, len(rows.X) - n_labeled) != (summary.n_labeled, summary.n_unlabeled):
        return False
    if not known.stated.tables:
        if known.weights is not None or not _has_plain_totals(estimator.certificate_):
            return _agrees_with_certificate(estimator.certificate_, rows)
        known = replace(known, targets=Targets.exact(summary.totals, summary.n_unlabeled))
    return DataSummary.of(Problem.from_known(rows.X, known)).sha256 == summary.sha256


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
