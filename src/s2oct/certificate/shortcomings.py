"""What users should know before they use a tree: what its fit did not reach, and what its data do not support."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from s2oct.errors import ChanceLevelWarning, FewLabelsWarning, Notice, OpenTotalsWarning, Remedy
from s2oct.model.labels import FEW_LABELS
from s2oct.model.proof import INTERRUPTED, TIME_LIMIT
from s2oct.model.targets import NEARLY_MET
from s2oct.wording import amount, duration, listed, plural

if TYPE_CHECKING:
    from s2oct.certificate.claim import Claim
    from s2oct.certificate.p2 import Certificate


NAMED = 5
"""Missed totals, or classes, that a message names at most."""

AT_CHANCE = 0.15
"""From this p-value on the labels do not show that the tree is better than chance.

In `bench/chance.py` it separates noise from tables with signal."""


def shortcomings_of(certificate: Certificate, classes: Sequence[Any]) -> tuple[Notice, ...]:
    """What a fit with totals did not reach, the gravest first."""
    return (
        *interruption(certificate),
        *cut_off(certificate),
        *_not_counted(certificate),
        *_missed_total(certificate, classes),
        *_open_totals(certificate, classes),
        *at_chance(certificate),
        *_unlabeled_classes(certificate, classes),
        *few_labels(certificate, classes, _labeled_classes(certificate)),
    )


def interruption(certificate: Claim) -> tuple[Notice, ...]:
    """That somebody stopped the fit."""
    if certificate.ended != INTERRUPTED:
        return ()
    seconds = duration(certificate.seconds)
    if not certificate.is_worth_keeping:
        return (Notice(f"The fit was interrupted after {seconds}, before it found a tree that splits the rows"),)
    return (Notice(f"The fit was interrupted after {seconds}. Its tree is the best that was found until then"),)


def at_chance(certificate: Claim) -> tuple[Notice, ...]:
    """That the features seem to say nothing about the classes."""
    if certificate.chance is None or certificate.chance < AT_CHANCE:
        return ()
    return (
        Notice(
            "The tree may be no better than chance: on held-out labels, forests are not significantly better "
            f"(p = {certificate.chance:.2f}, permutation test)",
            Remedy.MORE_EVIDENCE,
            category=ChanceLevelWarning,
        ),
    )


def few_labels(certificate: Claim, classes: Sequence[Any], among: Iterable[int]) -> tuple[Notice, ...]:
    """The classes that have fewer labels than it takes to recognise them, all in one sentence."""
    few = [c for c in among if certificate.labels[c] < FEW_LABELS]
    if not few:
        return ()
    named = _named([f"class {classes[c]!r} ({plural(certificate.labels[c], 'label')})" for c in few])
    return (Notice(f"Too few labels to recognise {named} reliably", Remedy.LABEL_MORE, category=FewLabelsWarning),)


def _labeled_classes(certificate: Certificate) -> list[int]:
    """The classes that have labels, and rows or a total above 0."""
    put, known = certificate.assigned, certificate.totals
    return [
        c for c in range(len(certificate.labels)) if c not in certificate.classes_without_label and (put[c] or known[c])
    ]


def _named(classes: Sequence[str]) -> str:
    """Classes in a sentence, only the first ones if they are many."""
    n_more = len(classes) - NAMED
    return listed([*classes[:NAMED], *([plural(n_more, "other class", "other classes")] if n_more > 0 else [])])


def cut_off(certificate: Claim) -> tuple[Notice, ...]:
    """That the time limit cut the fit off: a longer one may lead to another tree."""
    if certificate.ended != TIME_LIMIT:
        return ()
    if certificate.proved_best:
        found = "No tree fits labels and totals better, but the search for others that fit as well was not completed"
    elif certificate.has_splits:
        found = "Its tree is the best that was found until then, and a better tree may exist"
    else:
        found = "It found no split, and a better tree may exist"
    cut = f"The time limit cut the fit off after {duration(certificate.seconds)}"
    return (Notice(f"{cut}. {found}", Remedy.MORE_TIME),)


def _not_counted(certificate: Certificate) -> tuple[Notice, ...]:
    """That the time ended before all rows were counted."""
    if certificate.counted or certificate.n_register is None:
        return ()
    return (
        Notice(
            f"The totals were not counted over all {plural(certificate.n_register, 'row')}, because the time ended. "
            "All numbers are about a sample of them",
            Remedy.MORE_TIME,
        ),
    )


def _missed_total(certificate: Certificate, classes: Sequence[Any]) -> tuple[Notice, ...]:
    if certificate.meets_totals:
        return ()
    what = "totals" if certificate.cells else "total"
    finding = f"The tree misses the {what} by {certificate.off}{_where(certificate, classes)}"
    if certificate.xi <= certificate.least_xi:
        return (Notice(f"{finding}. No tree can come nearer, because rows with equal features get one class"),)
    if certificate.least_xi:
        finding += f". Equal features force every tree to miss it by {plural(certificate.least_xi, 'row')}"
    if certificate.n_register is not None:
        finding += ". Only the offsets of its last splits are fitted to all rows, and rows of equal value stay together"
    # In the evidence model meeting the total is the rule, and its price is not chosen.
    price = (Remedy.HIGHER_PRICE,) if certificate.minimises_p2 else ()
    features = () if certificate.max_features_per_split is None else (Remedy.MORE_FEATURES,)
    return (Notice(finding, *price, Remedy.DEEPER_TREE, *features),)


def _where(certificate: Certificate, classes: Sequence[Any]) -> str:
    """By which class the total is exceeded most."""
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


def _open_totals(certificate: Certificate, classes: Sequence[Any]) -> tuple[Notice, ...]:
    """The classes whose number of rows is left to the fit, or that get no row although their totals allow some."""
    if len(still_open := _open_classes(certificate)) > 1:
        rows = [f"class {classes[c]!r} ({plural(certificate.assigned[c], 'row')})" for c in still_open]
        finding = f"The totals do not say how many rows belong to {_named(rows)}, so the fit decides"
        return (Notice(finding, Remedy.COMPLETE_TOTALS, category=OpenTotalsWarning),)
    empty = [
        c
        for c, assigned in enumerate(certificate.assigned)
        if not assigned and any(cell.class_index == c and cell.low < cell.high for cell in certificate.cells)
    ]
    if not empty:
        return ()
    named = _named([f"class {classes[c]!r}" for c in empty])
    return (Notice(f"No unlabeled row gets {named}, although the totals allow some", category=OpenTotalsWarning),)


def _open_classes(certificate: Certificate) -> list[int]:
    """The classes of which every margin has a domain that may have none or nothing but rows of this class."""
    size: dict[tuple[str, str], float] = defaultdict(float)
    for cell in certificate.cells:
        size[cell.margin, cell.domain] += cell.assigned
    slack = NEARLY_MET * certificate.unit
    is_open = {
        (cell.margin, cell.class_index)
        for cell in certificate.cells
        if cell.value is None and cell.low <= 0 and cell.high >= (n := size[cell.margin, cell.domain]) - slack and n > 0
    }
    margins = {cell.margin for cell in certificate.cells}
    return [c for c in range(len(certificate.assigned)) if margins and all((m, c) in is_open for m in margins)]


def _unlabeled_classes(certificate: Certificate, classes: Sequence[Any]) -> tuple[Notice, ...]:
    """The classes that no label shows, if there should be or are rows of them."""
    support = "the total" if certificate.guide_weight is None else "the total and the guide"
    return tuple(
        Notice(
            f"No labeled row has class {classes[c]!r}. The tree puts {amount(certificate.assigned[c])} of "
            f"{plural(sum(certificate.assigned), 'unlabeled row')} into it, but which rows is a guess: it rests on "
            f"{support}, and no label supports it",
            Remedy.LABEL_SOME,
        )
        for c in certificate.classes_without_label
        if certificate.assigned[c] or certificate.totals[c]
    )
