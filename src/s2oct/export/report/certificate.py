"""The certificate in plain words."""

from __future__ import annotations

from typing import Any

from s2oct.certificate import Certificate, OCTHCertificate
from s2oct.export.report.wording import plural


def tell_certificate(certificate: Any, depth: int, C: float | None) -> tuple[str, ...]:
    """What a fit can say of its tree, paragraph by paragraph."""
    paragraphs = [_cost(certificate, C), _verdict(certificate, depth)]
    if isinstance(certificate, Certificate):
        paragraphs += _guide(certificate)
    if not certificate.feasible:
        paragraphs.append(
            "The tree violates a constraint of the model: some unlabeled rows lie too near a hyperplane. It predicts "
            "all the same, but its cost cannot be compared with the bound."
        )
    return tuple(paragraphs)


def _cost(certificate: Any, C: float | None) -> str:
    recomputed = "This was recomputed from the tree and the rows, and not taken from a solver."
    if isinstance(certificate, OCTHCertificate):
        errors = plural(certificate.n_errors, "labeled row")
        return f"The tree misclassifies {errors}; its cost in the model is {certificate.objective:.4g}. {recomputed}"
    assert isinstance(certificate, Certificate)
    price = "" if C is None else f", at a price of {C:g} each"
    return (
        f"The tree costs {certificate.objective:.4g}. This is the sum of {certificate.leaf_error:.4g} for labeled rows "
        "on the wrong side, measured by how far they are from the right one, and of "
        f"{certificate.xi:g} rows by which the total is missed{price}. {recomputed}"
    )


def _verdict(certificate: Any, depth: int) -> str:
    bound = f"No tree of depth {depth} can cost less than {certificate.lower_bound:.4g} ({certificate.bound_source})"
    if certificate.proved:
        return (
            f"{bound}. This tree meets the bound, so it is proved optimal: none of this depth fits labels and total "
            "better. Others may be just as cheap. Optimal is not the same as true."
        )
    return (
        f"{bound}. Between this bound and the cost of the tree lies a gap of {certificate.gap:.4g}. So the tree is the "
        f"best that was found in {certificate.seconds:.1f} seconds, and it is not proved that there is none better."
    )


def _guide(certificate: Certificate) -> list[str]:
    """How a guide took part; certificates from before there were guides say nothing."""
    weight = getattr(certificate, "guide_weight", None)
    if weight is None:
        return []
    if weight == 0:
        return [
            "Many trees cost the same. Among those that were found, a classifier fitted to the labels (the guide) "
            "chose this one, which agrees best with its probabilities for the unlabeled rows."
        ]
    return [
        f"The fit also listened to a classifier fitted to the labels (the guide), with a weight of {weight:g}: "
        "agreement with its probabilities for the unlabeled rows was worth some cost. Cost and bound above are those "
        "without it."
    ]
