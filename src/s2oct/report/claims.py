"""What a report says of the fit itself; nothing where its data are not those of the fit."""

from __future__ import annotations

from typing import Any

from s2oct.estimators.fitted import FittedRows
from s2oct.inputs import warn_caller
from s2oct.report.certificate import describe_certificate, give_verdict
from s2oct.report.reproduce import parameters, seed_note, versions

OTHER_DATA = (
    "The rows, labels or totals are not those of the fit. The report shows what the tree does with these data, and "
    "leaves out what holds for the data of the fit alone: the accuracy, proofs, agreement "
    "among trees, other trees and the recipe."
)
"""What a user should know of a report about other data."""


def warn_of_other_data() -> None:
    """Warn at the line that asked for the report."""
    warn_caller(OTHER_DATA)


def claims_of_fit(estimator: Any, rows: FittedRows, *, is_of_fit: bool) -> dict[str, Any]:
    """What the template says of the fit: its certificate in words, parameters and versions."""
    certificate, depth, names = estimator.certificate_, rows.tree.topology.depth, rows.class_names
    C = getattr(estimator, "C", None)
    return {
        "certificate": certificate,
        "other_data": "" if is_of_fit else OTHER_DATA,
        "shortcomings": certificate.shortcomings(names) if is_of_fit else (),
        "verdict": give_verdict(certificate, depth, names) if is_of_fit else None,
        "said": describe_certificate(certificate, depth, C, names) if is_of_fit else None,
        "seed_note": seed_note(estimator),
        "sha256": getattr(getattr(estimator, "data_summary_", None), "sha256", None),
        "parameters": parameters(estimator),
        "versions": versions(estimator),
    }
