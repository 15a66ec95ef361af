"""The last rows where a chain of single moves does not do: rows that count differently, or several margins.

The rows that could change class at the least loss are chosen anew together, by a small integer program; all others
keep their class.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from s2oct.arrays import FloatArray, IntArray
from s2oct.model.targets import Targets

SPARE_ROWS = 3
"""Rows of each way out of a cell that may change class beyond those that must."""

MOST_NODES = 200
"""Nodes of the integer program's search, at most: counted work, so that the result depends on no clock."""


def settle_last_rows(scores: FloatArray, sizes: FloatArray, targets: Targets, classes: IntArray) -> IntArray:
    """Classes near the given ones that meet the totals as nearly as possible, at little loss.

    ``scores`` has shape (m, n_classes) and includes the multipliers; ``classes`` are the best ones under them. Where
    rows count differently, a cell may be off by half its largest row.
    """
    rows = _open_rows(scores, sizes, targets, classes)
    if not len(rows):
        return classes
    losses = scores[rows].max(axis=1, keepdims=True) - scores[rows]
    kept = np.ones(len(classes), dtype=bool)
    kept[rows] = False
    settled = classes.copy()
    settled[rows] = _best(losses, sizes[rows], targets.of_rows(rows), _beside(targets, sizes, classes, kept))
    return settled if targets.rows_off(settled, sizes) <= targets.rows_off(classes, sizes) else classes


def _open_rows(scores: FloatArray, sizes: FloatArray, targets: Targets, classes: IntArray) -> IntArray:
    """The rows that may change class: those of least loss on each way from a class to another in each domain."""
    m = len(classes)
    losses = scores[np.arange(m), classes][:, None] - scores
    chosen = np.zeros(m, dtype=bool)
    for margin in targets.margins:
        off = margin.rows_off(margin.counts(classes, sizes))
        n_open = SPARE_ROWS + np.ceil(off / max(float(np.median(sizes)), 1e-12)).astype(np.int64)
        for target in range(targets.n_classes):
            order = np.lexsort((losses[:, target], margin.codes * targets.n_classes + classes))
            cells = (margin.codes * targets.n_classes + classes)[order]
            place = np.arange(m) - np.searchsorted(cells, cells)
            chosen[order[place < n_open[margin.codes[order]]]] = True
    return np.flatnonzero(chosen)


def _beside(targets: Targets, sizes: FloatArray, classes: IntArray, kept: FloatArray) -> FloatArray:
    """Counts of all cells by the rows that keep their class, in the order of `Targets.low`."""
    counts = [margin.counts(classes, np.where(kept, sizes, 0.0)).ravel() for margin in targets.margins]
    return np.concatenate(counts)


def _best(losses: FloatArray, sizes: FloatArray, targets: Targets, beside: FloatArray) -> IntArray:
    """The classes of the open rows that cost least; a row off a total costs more than any change of classes."""
    n_rows, n_classes = losses.shape
    cell_of = (targets.first_cells[:, :, None] + np.arange(n_classes)).reshape(len(targets.margins), -1)
    columns = np.tile(np.arange(n_rows * n_classes), len(cell_of))
    weights = np.tile(np.repeat(sizes, n_classes), len(cell_of))
    counts = sparse.csr_array((weights, (cell_of.ravel(), columns)), shape=(len(beside), n_rows * n_classes))
    slack = sparse.eye_array(len(beside), format="csr")
    one_class = sparse.kron(sparse.eye_array(n_rows), np.ones((1, n_classes)))
    spare = _allowance(sizes, targets)
    price = 10.0 * (1.0 + float(losses.max())) * max(float(sizes.max()), 1.0) / float(sizes[sizes > 0].min(initial=1.0))
    solved = milp(
        np.concatenate([(losses * sizes[:, None]).ravel(), np.full(2 * len(beside), price)]),
        integrality=np.concatenate([np.ones(losses.size), np.zeros(2 * len(beside))]),
        bounds=Bounds(0.0, np.concatenate([np.ones(losses.size), np.full(2 * len(beside), np.inf)])),
        constraints=[
            LinearConstraint(
                sparse.hstack([one_class, sparse.csr_array((n_rows, 2 * len(beside)))], format="csr"), 1.0, 1.0
            ),
            LinearConstraint(
                sparse.hstack([counts, slack, -slack], format="csr"),
                targets.low - beside - spare,
                targets.high - beside + spare,
            ),
        ],
        options={"node_limit": MOST_NODES, "mip_rel_gap": 1e-6},
    )
    if solved.x is None:
        return np.asarray(losses.argmin(axis=1))
    return np.asarray(solved.x[: losses.size].reshape(losses.shape).argmax(axis=1))


def _allowance(sizes: FloatArray, targets: Targets) -> FloatArray:
    """Half the largest open row of each cell's domain; nothing where all rows count alike."""
    if len(sizes) == 0 or float(np.ptp(sizes)) == 0.0:
        return np.zeros(len(targets.low))
    largest = []
    for margin in targets.margins:
        of_domain = np.zeros(margin.n_domains)
        np.maximum.at(of_domain, margin.codes, sizes)
        largest.append(np.repeat(of_domain, targets.n_classes))
    return 0.49 * np.concatenate(largest)
