"""What a fit did not reach: its total, its end, or labels of every class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from s2oct.errors import Remedy
from s2oct.model.proof import INTERRUPTED, TIME_LIMIT
from s2oct.wording import amount, duration, plural

if TYPE_CHECKING:
    from s2oct.certificate.claim import Claim
    from s2oct.certificate.p2 import Certificate


NAMED = 5
"""Missed totals that a message names at most."""


@dataclass(frozen=True)
class Shortcoming:
    """Something that a fit did not reach, and what may help.

    Parameters
    ----------
    finding : str
        What was not reached, in sentences without the last full stop.
    remedies : tuple of Remedy
        What may help, the best first.
    """

    finding: str
    remedies: tuple[Remedy, ...] = ()

    def __str__(self) -> str:
        return self.worded({remedy: remedy.value for remedy in Remedy})

    def worded(self, phrases: Mapping[Remedy, str]) -> str:
        """Write the finding and its remedies with the caller's own phrases for the remedies."""
        cures = ", or ".join(phrases[remedy] for remedy in self.remedies)
        return f"{self.finding}. What may help: {cures}." if cures else f"{self.finding}."


def shortcomings_of(certificate: Certificate, classes: Sequence[Any]) -> tuple[Shortcoming, ...]:
    """What a fit with totals did not reach, the gravest first."""
    return (
        *interruption(certificate),
        *cut_off(certificate),
        *_not_counted(certificate),
        *_missed_total(certificate, classes),
        *_unlabeled_classes(certificate, classes),
    )


def interruption(certificate: Claim) -> tuple[Shortcoming, ...]:
    """That somebody stopped the fit."""
    if certificate.ended != INTERRUPTED:
        return ()
    seconds = duration(certificate.seconds)
    if not certificate.is_worth_keeping:
        return (Shortcoming(f"The fit was interrupted after {seconds}, before it found a tree that splits the rows"),)
    return (Shortcoming(f"The fit was interrupted after {seconds}. Its tree is the best that was found until then"),)


def cut_off(certificate: Claim) -> tuple[Shortcoming, ...]:
    """That the time limit cut the fit off: a longer one may lead to another tree."""
    if certificate.ended != TIME_LIMIT:
        return ()
    if certificate.proved_best:
        found = "No better tree exists, but the choice among equally good trees was not completed"
    elif certificate.has_splits:
        found = "Its tree is the best that was found until then, and a better tree may exist"
    else:
        found = "It found no split, and a better tree may exist"
    cut = f"The time limit cut the fit off after {duration(certificate.seconds)}"
    return (Shortcoming(f"{cut}. {found}", (Remedy.MORE_TIME,)),)


def _not_counted(certificate: Certificate) -> tuple[Shortcoming, ...]:
    """That the time ended before all rows were counted."""
    if certificate.counted or certificate.n_register is None:
        return ()
    return (
        Shortcoming(
            f"The totals were not counted over all {plural(certificate.n_register, 'row')}, because the time ended. "
            "All numbers are about a sample of them",
            (Remedy.MORE_TIME,),
        ),
    )


def _missed_total(certificate: Certificate, classes: Sequence[Any]) -> tuple[Shortcoming, ...]:
    if certificate.meets_totals:
        return ()
    what = "totals" if certificate.cells else "total"
    finding = f"The tree misses the {what} by {certificate.off}{_where(certificate, classes)}"
    if certificate.xi <= certificate.least_xi:
        return (Shortcoming(f"{finding}. No tree can come nearer, because rows with equal features get one class"),)
    if certificate.least_xi:
        finding += f". Equal features force every tree to miss it by {plural(certificate.least_xi, 'row')}"
    if certificate.n_register is not None:
        finding += ". Only the offsets of its last splits are fitted to all rows, and rows of equal value stay together"
    # In the evidence model meeting the total is the rule, and its price is not chosen.
    price = (Remedy.HIGHER_PRICE,) if certificate.minimises_p2 else ()
    features = () if certificate.max_features_per_split is None else (Remedy.MORE_FEATURES,)
    return (Shortcoming(finding, (*price, Remedy.DEEPER_TREE, *features)),)


def _where(certificate: Certificate, classes: Sequence[Any]) -> str:
    """By which class the total is exceeded most; nothing where the certificate does not say."""
    if not certificate.assigned:
        return ""
    if certificate.cells:
        return _worst_cells(certificate, classes)
    excess = [put - known for put, known in zip(certificate.assigned, certificate.totals, strict=True)]
    most = excess.index(max(excess))
    return (
        f": it puts {amount(certificate.assigned[most])} of {plural(sum(certificate.assigned), 'unlabeled row')} into "
        f"class {classes[most]!r}, and the total says {amount(certificate.totals[most])}"
    )


def _worst_cells(certificate: Certificate, classes: Sequence[Any]) -> str:
    """The cells that are missed most, with what is known of them."""
    missed = [cell for cell in certificate.cells if not cell.is_met(certificate.unit)]
    worst = sorted(missed, key=lambda cell: -abs(cell.excess))[:NAMED]
    described = [
        f"{cell.place}class {classes[cell.class_index]!r} gets {amount(cell.assigned)}, and {cell.known}"
        for cell in worst
    ]
    more = f"; and {plural(len(missed) - len(worst), 'other total')}" if len(missed) > len(worst) else ""
    return f": {'; '.join(described)}{more}"


def _unlabeled_classes(certificate: Certificate, classes: Sequence[Any]) -> tuple[Shortcoming, ...]:
    """The classes that no label shows, if there should be or are rows of them."""
    support = "the total" if certificate.guide_weight is None else "the total and the guide"
    return tuple(
        Shortcoming(
            f"No labeled row has class {classes[c]!r}. The tree puts {amount(certificate.assigned[c])} of "
            f"{plural(sum(certificate.assigned), 'unlabeled row')} into it, but which rows is a guess: it rests on "
            f"{support}, and no label supports it",
            (Remedy.LABEL_SOME,),
        )
        for c in certificate.classes_without_label
        if certificate.assigned[c] or certificate.totals[c]
    )
