"""Arrays in which P2's kernels work. Python makes them once for many calls, so that kernels allocate nothing."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from s2oct.search.compiled.move_costs import Tally, new_tally
from s2oct.search.compiled.nearness import Nearest, new_nearest
from s2oct.search.compiled.node_views import Data, NodeView, new_view
from s2oct.search.compiled.orders import WAITING


class AnnealingRoom(NamedTuple):
    """Room for moves of hyperplanes."""

    H: Any  # (n_branches, n + m) values of all rows at all nodes
    violations: Any  # (n_branches,) margin violations at each node
    sides: NodeView  # what each side of a node means; numba refuses the name view
    tally: Tally  # the present tree
    new: Tally  # the tree after a move
    nearest: Nearest
    move: Any  # (4,) feature, scale, step and shift
    direction: Any  # (p,) a change of all coefficients
    slope: Any  # (n + m,) by how much it changes every value
    order: Any  # (m,) unlabeled rows by their values
    waiting: Any  # (2, WAITING) for sorting


def new_room(data: Data) -> AnnealingRoom:
    """Room for a tree over given rows."""
    p, n_rows = data.space.XT.shape
    n, n_branches, n_cells = len(data.labels), len(data.leaf_classes) - 1, data.counts.bounds.shape[1]
    return AnnealingRoom(
        np.empty((n_branches, n_rows)),
        np.empty(n_branches),
        new_view(data),
        new_tally(n_cells),
        new_tally(n_cells),
        new_nearest(n, n_rows - n),
        np.zeros(4),
        np.zeros(p),
        np.zeros(n_rows),
        np.empty(n_rows - n, dtype=np.int64),
        np.empty((2, WAITING), dtype=np.int64),
    )
