"""Other trees that are as good: found from other seeds, meeting the totals as well, and different on some row."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.fit.simplicity import Simplification
from s2oct.model.columns import widened_tree
from s2oct.model.evidence import EvidenceCost
from s2oct.model.tree import ObliqueTree
from s2oct.search import EvidenceSearch
from s2oct.stopping import Deadline

SEEDS = 12
"""Seeds from which the search runs again."""

EPSILON = 0.01
"""Evidence against another tree beyond that against the fitted one, as a share of the rows, at most."""


def alternative_trees(fit: Simplification, deadline: Deadline) -> tuple[ObliqueTree, ...]:
    """Distinct trees in the user's units that meet the totals as well as the fitted one and cost little more."""
    candidates: list[ObliqueTree] = []
    for number in range(1, SEEDS + 1):
        if deadline.passed:
            break
        for tree in EvidenceSearch(fit.evidence, fit.sparsity, fit.seed + number, deadline).run()[:2]:
            if _is_as_good(fit, fit.evidence.cost_of(tree)):
                candidates.append(widened_tree(fit.scaling.to_user(tree), fit.columns, fit.n_features))
    fitted = widened_tree(fit.fitted, fit.columns, fit.n_features)
    narrow = fit.rows
    rows = narrow if fit.columns is None else _widened_rows(narrow, fit.columns, fit.n_features)
    return distinct(candidates, rows, fitted)


def distinct(trees: Iterable[ObliqueTree], rows: FloatArray, fitted: ObliqueTree) -> tuple[ObliqueTree, ...]:
    """The trees that give some row another class than the fitted tree and than all trees before them."""
    seen: list[IntArray] = [fitted.predict(rows)]
    kept = []
    for tree in trees:
        classes = tree.predict(rows)
        if not any(np.array_equal(classes, known) for known in seen):
            seen.append(classes)
            kept.append(tree)
    return tuple(kept)


def _is_as_good(fit: Simplification, cost: EvidenceCost) -> bool:
    allowed = EPSILON * fit.evidence.n_given
    return cost.off <= fit.fitted_cost.off + 1e-9 and cost.rows <= fit.fitted_cost.rows + allowed


def _widened_rows(rows: FloatArray, columns: tuple[int, ...], n_features: int) -> FloatArray:
    wide = np.zeros((len(rows), n_features))
    wide[:, list(columns)] = rows
    return wide
