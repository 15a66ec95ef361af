"""The certificate in plain words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from s2oct.certificate import Certificate, OCTHCertificate
from s2oct.model.proof import DECIDED_TOLERANCE
from s2oct.plots.progress import minimised
from s2oct.report.wording import plural


@dataclass(frozen=True)
class Verdict:
    """What is proved, in a word and a note."""

    proved: bool
    word: str
    note: str


def give_verdict(certificate: Any, depth: int) -> Verdict:
    """Whether the tree is the best of its depth: at its cost or, with a guide, at what the fit minimised."""
    if certificate.proved:
        return Verdict(True, "optimal", f"at depth {depth}")
    cost, bound = minimised(certificate)
    if _guide_has_price(certificate) and certificate.feasible and cost <= bound + DECIDED_TOLERANCE:
        return Verdict(True, "optimal", f"at depth {depth}, guide included")
    return Verdict(False, "open", f"gap {max(cost - bound, 0.0):.3g}")


def describe_certificate(certificate: Any, depth: int, C: float | None) -> tuple[str, ...]:
    """What is known of the tree's quality, paragraph by paragraph."""
    paragraphs = [_cost(certificate, C), _bound(certificate, depth)]
    if isinstance(certificate, Certificate):
        paragraphs += _guide(certificate)
    if not certificate.feasible:
        paragraphs.append(
            "The tree violates a constraint of the model: some unlabeled rows lie too near a hyperplane. It predicts "
            "all the same, but its cost cannot be compared with the bound."
        )
    return tuple(paragraphs)


def _guide_has_price(certificate: Any) -> bool:
    """Whether the fit also minimised the charges of a guide."""
    return bool(getattr(certificate, "guide_weight", None))


def _cost(certificate: Any, C: float | None) -> str:
    recomputed = "This was recomputed from the tree and the rows, and not taken from a solver."
    if isinstance(certificate, OCTHCertificate):
        errors = plural(certificate.n_errors, "labeled row")
        return f"The tree misclassifies {errors}; its cost in the model is {certificate.objective:.4g}. {recomputed}"
    price = "" if C is None else f", at a price of {C:g} each"
    return (
        f"The tree costs {certificate.objective:.4g}. This is the sum of {certificate.leaf_error:.4g} for labeled rows "
        "on the wrong side, measured by how far they are from the right one, and of "
        f"{certificate.xi:g} rows by which the total is missed{price}. {recomputed}"
    )


def _bound(certificate: Any, depth: int) -> str:
    bound = f"No tree of depth {depth} can cost less than {certificate.lower_bound:.4g} ({certificate.bound_source})"
    if certificate.proved:
        return (
            f"{bound}. This tree meets the bound, so it is proved optimal: none of this depth fits labels and total "
            "better. Others may cost the same. Optimal is not the same as true."
        )
    if _guide_has_price(certificate):
        return (
            f"{bound}. This tree costs {certificate.gap:.4g} more, and the fit did not look for the least cost alone."
        )
    return (
        f"{bound}. Between this bound and the cost of the tree lies a gap of {certificate.gap:.4g}. So the tree is the "
        f"best that was found in {certificate.seconds:.1f} seconds, and a better one may exist."
    )


def _guide(certificate: Certificate) -> list[str]:
    if certificate.guide_weight is None:
        return []
    if certificate.guide_weight == 0:
        return [
            "Many trees cost the same. Among those that were found, another classifier that knows the same total "
            "(the guide) chose this one, which agrees best with its probabilities for the unlabeled rows."
        ]
    cost, bound = minimised(certificate)
    ending = (
        "This sum meets its bound, so no tree of this depth does better by it."
        if cost <= bound + DECIDED_TOLERANCE
        else f"The tree is the best by this sum that was found in {certificate.seconds:.1f} seconds; a better one may "
        "exist."
    )
    return [
        "Many trees fit labels and total about equally well and differ on the unlabeled rows. Another classifier that "
        "knows the same total (the guide) helped to choose: the fit minimised the cost above plus "
        f"{certificate.guide_weight:g} times what the guide charges for the classes of the unlabeled rows and for rows "
        f"off the total, {cost:.4g} in all. No tree can have less than {bound:.4g}. {ending}"
    ]
