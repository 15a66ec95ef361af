"""Which of the unlabeled rows are really determined: how often equally good trees agree on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.errors import InvalidProblem
from s2oct.estimators.fitted import FittedRows
from s2oct.plots.shown_tree import leaf_label
from s2oct.writers.rules import pruned

DETERMINED, OPEN = 0.95, 0.75
"""From here on a row counts as determined, below as open."""


@dataclass(frozen=True)
class LeafStability:
    """Stability of the unlabeled rows of one leaf."""

    label: str
    class_index: int
    class_name: str
    n_rows: int
    determined: float
    open: float


@dataclass(frozen=True, eq=False)
class Stability:
    """Stability of the unlabeled rows, as shares of them; ``told`` is false where too few trees were found to say."""

    values: FloatArray
    told: bool
    determined: float
    between: float
    open: float
    leaves: tuple[LeafStability, ...]


def describe_stability(estimator: Any, rows: FittedRows) -> Stability | None:
    """What the estimator says of the unlabeled rows' stability; None where it says nothing."""
    told = getattr(estimator, "stability_", None)
    free = ~rows.is_labeled
    if told is None or not free.any():
        return None
    values = np.asarray(told, dtype=float)
    if values.shape != (int(free.sum()),):
        raise InvalidProblem(
            f"Expected the rows of the fit, whose {len(values)} unlabeled ones have a stability, got {int(free.sum())} "
            "unlabeled rows."
        )
    ends = rows.leaf[free]
    leaves = []
    for leaf in pruned(rows.tree).leaves:
        here = values[np.isin(ends, leaf.ids)]
        if len(here):
            name = rows.class_names[leaf.class_index]
            leaves.append(LeafStability(leaf_label(leaf), leaf.class_index, name, len(here), *_shares(here)))
    determined, still_open = _shares(values)
    return Stability(
        values, not np.isnan(values).any(), determined, 1 - determined - still_open, still_open, tuple(leaves)
    )


def _shares(values: FloatArray) -> tuple[float, float]:
    return float((values >= DETERMINED).mean()), float((values < OPEN).mean())
