"""Which of the unlabeled rows are really determined: how often equally good trees agree on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.errors import InvalidProblem
from s2oct.estimators.fitted import FittedRows
from s2oct.report.leaves import LeafRows, unlabeled_by_leaf

DETERMINED, OPEN = 0.95, 0.75
"""From here on a row counts as determined, below as open."""


@dataclass(frozen=True)
class LeafStability:
    """Stability of the unlabeled rows of one leaf."""

    leaf: LeafRows
    determined: float
    open: float


@dataclass(frozen=True, eq=False)
class Stability:
    """Stability of the unlabeled rows, as shares of them; where ``known`` is false, ``note`` says why."""

    values: FloatArray
    known: bool
    note: str
    determined: float
    between: float
    open: float
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
    determined, still_open = _shares(values)
    known = not np.isnan(values).all()
    note = getattr(estimator, "stability_note_", "")
    return Stability(values, known, note, determined, 1 - determined - still_open, still_open, leaves)


def _shares(values: FloatArray) -> tuple[float, float]:
    """Shares of determined and of open rows among those whose stability is known; rows of weight 0 have none."""
    known = values[~np.isnan(values)]
    return (float((known >= DETERMINED).mean()), float((known < OPEN).mean())) if len(known) else (0.0, 0.0)
