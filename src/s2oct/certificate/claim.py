"""What certificates of all models share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from s2oct.certificate.shortcomings import at_chance, cut_off, few_labels, interruption
from s2oct.errors import Notice
from s2oct.model.problem import Problem
from s2oct.model.proof import DECIDED_TOLERANCE, INTERRUPTED, Moment


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
