"""What a table and its known totals say about the classes of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from s2oct.arrays import FloatArray, IntArray, ObjectArray
from s2oct.model.counted import counted_rows, refuse_weightless
from s2oct.model.labels import Labels, read_labels, refuse_unusable_classes
from s2oct.model.targets import Targets
from s2oct.model.totals import named_classes, read_targets


@dataclass(frozen=True, eq=False)
class TableAnswers:
    """Labels, totals, domains and weights of a table.

    Parameters
    ----------
    labels : list
        The labels, None for unlabeled rows.
    totals, population_totals : object, optional
        Totals of the unlabeled rows or of all rows, in a form that a fit takes.
    as_shares : bool
        Whether totals are shares of the rows of their domain.
    domains : tuple of (str, ndarray of shape (n_rows,))
        For each margin its name and the domain of each row; empty for the whole table.
    weights : ndarray of shape (n_rows,), optional
        Survey weights.
    unseen : ndarray of shape (n_rows,), optional
        What rows of a register count that are not among these, beside one of their domain.
    """

    labels: list[Any]
    totals: Any = None
    population_totals: Any = None
    as_shares: bool = False
    domains: tuple[tuple[str, ObjectArray], ...] = ()
    weights: FloatArray | None = None
    unseen: FloatArray | None = None

    @property
    def keywords(self) -> dict[str, Any]:
        """The keywords of a fit, those left out that say nothing."""
        told = {
            "totals": self.totals,
            "population_totals": self.population_totals,
            "as_shares": self.as_shares or None,
            "domains": dict(self.domains) or None,
            "sample_weight": self.weights,
        }
        return {name: value for name, value in told.items() if value is not None}

    @property
    def counted(self) -> IntArray | None:
        """Positions of the rows that count; None if all do."""
        return counted_rows(self.weights)

    def of_counted(self) -> TableAnswers:
        """The same about the rows that count; refuses labeled rows, or unlabeled ones, that all have weight 0."""
        counted, weights = self.counted, self.weights
        if counted is None or weights is None:
            return self
        sizes = weights if self.unseen is None else weights + self.unseen
        refuse_weightless(sizes, np.array([label is not None for label in self.labels]))
        return replace(
            self,
            labels=[self.labels[row] for row in counted.tolist()],
            domains=tuple((name, cells[counted]) for name, cells in self.domains),
            weights=weights[counted],
            unseen=None if self.unseen is None else self.unseen[counted],
        )

    def read(self, also: Sequence[Any] = ()) -> tuple[Labels, Targets]:
        """Read labels and what is known of the unlabeled rows; ``also`` are further classes."""
        named = named_classes(self.totals, self.population_totals, y=self.labels, domains=self.domains)
        labels = read_labels(self.labels, named=[*named, *also])
        refuse_unusable_classes(labels.classes.tolist())
        targets = read_targets(
            labels,
            self.totals,
            self.population_totals,
            domains=self.domains,
            as_shares=self.as_shares,
            weights=self.weights,
            unseen=self.unseen,
        )
        return labels, targets
