"""The certificate in plain words: first in rows, then in the paper's model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from s2oct.certificate import Certificate, OCTHCertificate
from s2oct.certificate.sentences import about_fit
from s2oct.model.proof import CONVERGED, INTERRUPTED, TIME_LIMIT
from s2oct.wording import amount, duration, listed, plural

_WHY_OPEN = {
    CONVERGED: "nothing better was found",
    TIME_LIMIT: "the time limit came first",
    INTERRUPTED: "the fit was interrupted",
}
"""Why a tree that is not proved best may not be the best, for a small place."""


@dataclass(frozen=True)
class Verdict:
    """What is proved, in a word and a note; ``defect`` if the fit was cut short or lacks labels."""

    good: bool
    word: str
    note: str
    defect: bool = False


@dataclass(frozen=True)
class CertificateText:
    """A certificate as the report has it.

    Attributes
    ----------
    facts : tuple of str
        What the tree does, in rows.
    paragraphs : tuple of str
        What is proved in the model that was fitted.
    in_p2 : tuple of str
        What is known in the paper's model; empty for OCT-H, which is its own model.
    """

    facts: tuple[str, ...]
    paragraphs: tuple[str, ...]
    in_p2: tuple[str, ...]


def give_verdict(certificate: Any, depth: int, class_names: Sequence[str]) -> Verdict:
    """Whether the tree is proved the best of its depth in the model that was fitted."""
    if not certificate.proved_best:
        why = _WHY_OPEN.get(certificate.ended, "a better tree may exist")
        return Verdict(False, "open", why, certificate.ended in (TIME_LIMIT, INTERRUPTED))
    at_depth = f"at depth {depth}" if _minimises_p2(certificate) else _kind(certificate.proved_among, depth)
    unseen = getattr(certificate, "classes_without_label", ())
    if unseen:
        names = listed([f"“{class_names[c]}”" for c in unseen])
        return Verdict(False, "optimal", f"{at_depth}, but no label of {names}", defect=True)
    return Verdict(True, "optimal", at_depth)


def _kind(among: str, depth: int) -> str:
    """Among which trees a tree is optimal, for a small place: without what stands in brackets."""
    return f"among {among.partition(' (')[0] or f'trees of depth {depth}'}, guide included"


def describe_certificate(certificate: Any, depth: int, C: float | None, class_names: Sequence[str]) -> CertificateText:
    """What is known of the tree's quality."""
    if isinstance(certificate, OCTHCertificate):
        return CertificateText((), (_octh_cost(certificate), _bound(certificate, depth)), ())
    return CertificateText(
        facts=tuple(f"{fact[0].upper()}{fact[1:]}." for fact in about_fit(certificate, class_names)),
        paragraphs=(_best(certificate, depth), *_guide(certificate)),
        in_p2=(_p2_cost(certificate, C), _bound(certificate, depth), *_infeasible(certificate)),
    )


def _minimises_p2(certificate: Any) -> bool:
    return getattr(certificate, "minimises_p2", True)


def _best(certificate: Certificate, depth: int) -> str:
    measure = "labels and total" if certificate.minimises_p2 else "labels, total and guide together"
    if certificate.n_unlabeled == 0:
        measure = "the labels"
    if certificate.proved_best and certificate.proved_among:
        return (
            f"Among {certificate.proved_among}, it is proved that none fits {measure} better. Others may fit as well. "
            "Optimal is not the same as true."
        )
    if certificate.proved_best:
        return (
            f"It is proved that no tree of depth {depth} fits {measure} better. Others may fit as well. Optimal is not "
            "the same as true."
        )
    return (
        f"The tree is the best that was found in {duration(certificate.seconds)}. It is not proved that no tree of "
        f"depth {depth} fits {measure} better."
    )


def _guide(certificate: Certificate) -> tuple[str, ...]:
    if certificate.guide_weight is None:
        return ()
    if certificate.minimises_p2:
        return (
            "Many trees cost the same. Among those that were found, another classifier that knows the same total "
            "(the guide) chose this one, which agrees best with its probabilities for the unlabeled rows.",
        )
    return (
        "Many trees fit labels and total about equally well and differ on the unlabeled rows. Another classifier that "
        "knows the same total (the guide) helped to choose: the fit weighed the labels and the total against the "
        "guide's probabilities for the unlabeled rows.",
    )


def _octh_cost(certificate: OCTHCertificate) -> str:
    errors = plural(certificate.n_errors, "labeled row")
    return (
        f"The tree misclassifies {errors}; its cost in the model is {amount(certificate.objective)}. This was "
        "recomputed from the tree and the rows, and not taken from a solver."
    )


def _p2_cost(certificate: Certificate, C: float | None) -> str:
    price = "" if C is None else f", at a price of {amount(C)} each"
    return (
        f"The tree costs {amount(certificate.objective)}. This is the sum of "
        f"{amount(certificate.leaf_error)} for labeled rows on the wrong side, measured by how far they are from "
        f"the right one, and of {plural(certificate.xi, 'row')} by which the total is missed{price}. This was "
        "recomputed from the tree and the rows, and not taken from a solver."
    )


def _bound(certificate: Any, depth: int) -> str:
    least = amount(certificate.lower_bound)
    bound = f"No tree of depth {depth} can cost less than {least} ({certificate.bound_source})"
    if certificate.proved:
        return f"{bound}. This tree meets the bound, so it is proved optimal: none of this depth costs less."
    if not _minimises_p2(certificate):
        return (
            f"{bound}. This tree costs {amount(certificate.gap)} more, and the fit did not look for the least "
            "cost in this model."
        )
    return (
        f"{bound}. Between this bound and the cost of the tree lies a gap of {amount(certificate.gap)}. So the "
        f"tree is the best that was found in {duration(certificate.seconds)}, and a better one may exist."
    )


def _infeasible(certificate: Certificate) -> tuple[str, ...]:
    if certificate.feasible:
        return ()
    n_near = certificate.n_margin_violations
    return (
        f"The tree violates a constraint of this model: {plural(n_near, 'unlabeled row')} "
        f"{'lies' if n_near == 1 else 'lie'} too near a hyperplane. It predicts all the same, but its cost cannot be "
        "compared with the bound.",
    )
