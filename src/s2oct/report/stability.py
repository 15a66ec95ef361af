"""On which unlabeled rows near-optimal trees agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.errors import InvalidProblem
from s2oct.estimators.fitted import FittedRows
from s2oct.report.leaves import LeafRows, unlabeled_by_leaf

ALIKE, DIVIDED = 0.95, 0.75
"""Share of near-optimal trees from which on they agree on a row, and below which they are divided."""


@dataclass(frozen=True)
class LeafStability:
    """Stability of the unlabeled rows of one leaf."""

    leaf: LeafRows
    alike: float
    divided: float


@dataclass(frozen=True, eq=False)
class Stability:
    """Stability of the unlabeled rows, as shares of them; where ``known`` is false, ``note`` says why."""

    values: FloatArray
    known: bool
    note: str
    alike: float
    between: float
    divided: float
    leaves: tuple[LeafStability, ...]


def describe_stability(estimator: Any, rows: FittedRows) -> Stability | None:
    """Stability of the unlabeled rows as the estimator knows it; None where it does not."""
    found = getattr(estimator, "stability_", None)
    n_unlabeled = int((~rows.is_labeled).sum())
    # Rows of a class whose labels have weight 0 are no unlabeled rows of the fit, and have no stability.
    if found is None or not n_unlabeled or len(getattr(estimator, "_uncounted_classes", ())):
        return None
    values = np.asarray(found, dtype=float)
    if values.shape != (n_unlabeled,):
        raise InvalidProblem(
            f"Expected the rows of the fit, whose {len(values)} unlabeled ones have a stability, got {n_unlabeled} "
            "unlabeled rows."
        )
    leaves = tuple(LeafStability(leaf, *_shares(values[here])) for leaf, here in unlabeled_by_leaf(rows))
    alike, divided = _shares(values)
    known = not np.isnan(values).all()
    note = getattr(estimator, "stability_note_", "")
    return Stability(values, known, note, alike, 1 - alike - divided, divided, leaves)


def _shares(values: FloatArray) -> tuple[float, float]:
    """Shares of rows on which trees agree and are divided, among those whose stability is known."""
    known = values[~np.isnan(values)]
    return (float((known >= ALIKE).mean()), float((known < DIVIDED).mean())) if len(known) else (0.0, 0.0)
