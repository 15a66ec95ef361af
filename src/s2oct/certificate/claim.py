"""What certificates of all models share, and what fell short in a fit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from s2oct.errors import ChanceLevelWarning, FewLabelsWarning, Notice, OpenTotalsWarning, Remedy
from s2oct.model.labels import FEW_LABELS
from s2oct.model.problem import Problem
from s2oct.model.proof import DECIDED_TOLERANCE, INTERRUPTED, TIME_LIMIT, Moment
from s2oct.model.targets import NEARLY_MET
from s2oct.wording import amount, duration, listed, plural

if TYPE_CHECKING:
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
    if certificate.meets_totals or not certificate.miss_matters:
        return ()
    missed = [cell for cell in certificate.cells if not cell.is_met(certificate.unit)]
    if missed and all(cell.is_aim and abs(cell.excess) <= cell.se for cell in missed):
        return ()  # An estimate is no more exact than that.
    what = "totals" if certificate.cells else "total"
    finding = f"The tree misses the {what} by {certificate.off}{_where(certificate, classes)}"
    if certificate.xi <= certificate.least_xi:
        return (Notice(f"{finding}. No tree can come nearer, because rows with equal features get one class"),)
    if certificate.least_xi:
        finding += f". Equal features force every tree to miss it by {plural(certificate.least_xi, 'row')}"
    if certificate.n_register is not None:
        only = "" if certificate.proved_among else "Only the offsets of its last splits are fitted to all rows. "
        finding += f". {only}Rows of equal value stay together"
    price = () if certificate.misses_at_any_price else (Remedy.ANY_PRICE,)
    price = (Remedy.HIGHER_PRICE,) if certificate.minimises_p2 else price
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


@dataclass(frozen=True)
class Claim(ABC):
    """The part that certificates of P2 and OCT-H share.

    Parameters
    ----------
    objective : float
        Cost of the tree, evaluated from its hyperplanes on the rows.
    lower_bound : float
        No feasible tree costs less.
    feasible : bool
        Whether the tree satisfies every constraint of the model within the stated tolerances.
    bound_source : str
        Where the lower bound comes from.
    min_margin : float
        Least distance of a row from a hyperplane, in units of omega, that the model bounds from below.
    seconds : float
        Wall-clock seconds until the tree was final.
    history : tuple of Moment
        Best cost and lower bound over time.
    ended : str
        Why the fit ended: "proved", "converged", "time limit" or "interrupted".
    labels : tuple of int
        Labels of each class; a labeled row of weight 0 does not count.
    chance : float or None
        The p-value of the hypothesis that the features say nothing about the classes, tested on labels that were held
        out from forests; None if it was not tested.
    """

    objective: float
    lower_bound: float
    feasible: bool
    bound_source: str
    min_margin: float
    seconds: float
    history: tuple[Moment, ...]
    ended: str = field(kw_only=True)
    labels: tuple[int, ...] = field(kw_only=True)
    chance: float | None = field(default=None, kw_only=True)

    @property
    def gap(self) -> float:
        """Cost above the lower bound, never negative."""
        return max(self.objective - self.lower_bound, 0.0)

    @property
    def tolerance(self) -> float:
        """A cost this close to its lower bound counts as proved."""
        return DECIDED_TOLERANCE

    @property
    def proved(self) -> bool:
        """Whether the tree is feasible and its cost meets the lower bound."""
        # A bound above the cost of a feasible tree is false, and proves nothing.
        return self.feasible and abs(self.objective - self.lower_bound) <= self.tolerance

    @property
    def proved_by(self) -> str | None:
        """Where the lower bound that the cost meets comes from; None if nothing is proved."""
        return self.bound_source if self.proved else None

    @property
    def minimised(self) -> tuple[float, float]:
        """What the fit minimised, and a lower bound of it."""
        return self.objective, self.lower_bound

    @property
    def proved_best(self) -> bool:
        """Whether it is proved that no tree is better by what the fit minimised."""
        return self.proved

    @property
    @abstractmethod
    def has_splits(self) -> bool:
        """Whether the tree puts rows into different leaves."""

    @property
    def is_worth_keeping(self) -> bool:
        """Whether the fit has a result: it ended by itself or by its limit, or it was interrupted with a tree in hand.

        Every fit begins with trees without splits. They cost more than any tree with splits that it keeps, or it would
        not keep that one. So an interrupted fit whose tree has no splits has found nothing yet.
        """
        return self.ended != INTERRUPTED or self.has_splits

    def shortcomings(self, classes: Sequence[Any]) -> tuple[Notice, ...]:
        """Say what the fit did not reach, which its user should know.

        Parameters
        ----------
        classes : sequence
            The class labels in their order, to name them.

        Returns
        -------
        tuple of Notice
            The gravest first; empty if there are none.
        """
        return (
            *interruption(self),
            *cut_off(self),
            *at_chance(self),
            *few_labels(self, classes, range(len(self.labels))),
        )


def labels_of(problem: Problem) -> tuple[int, ...]:
    """Count the labeled rows of each class, with their multiplicities."""
    counts = np.bincount(problem.labels, weights=problem.labeled_multiplicity, minlength=problem.n_classes)
    return tuple(counts.astype(int).tolist())
