"""What each side of one hyperplane means for each row, while the others stay.

While one node b changes and the others stay, a labeled row's cost depends on its value h at b alone,

    min(left + [1 + h]+, right + [1 - h]+, other),

where ``left`` and ``right`` are the best errors at all other nodes of a path through b on that side, and ``other`` is
the best error of a path that avoids b. An unlabeled row that reaches b has one class on each side. `node_view`
tabulates this, so that a change of b is evaluated in one pass over the rows, for any depth.

Rows are columns of ``XT`` (p, N), labeled ones first, so that a feature's values lie side by side.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from s2oct.search.compiled.cells import Counts, count_row
from s2oct.search.compiled.options import inlined, plain
from s2oct.search.compiled.walks import FAR, end_below, walk_to


class Space(NamedTuple):
    """Where hyperplanes live: the features of all rows, the n labeled ones first, and what coefficients may be."""

    XT: Any  # (p, n + m) features by rows
    quanta: Any  # (p,) steps that keep margins on gridded features; 0 elsewhere
    s: float  # bound on every coefficient
    most: int  # most features that a hyperplane may use; p if it may use all


class Data(NamedTuple):
    """What does not change during a search.

    In parts, because compiled functions receive every field of every array by itself: a function that is called for
    every move takes only the part it needs.
    """

    space: Space
    counts: Counts
    spans: Any  # (2, p) least and largest value of every feature
    labels: Any  # (n,) class of each labeled row
    charges: Any  # (m, K) what the guide charges for the class of an unlabeled row
    row_off: float  # price of a row by which the totals are missed
    leaf_classes: Any  # (n_leaves,) class of each leaf from the left
    depth: int


class Planes(NamedTuple):
    """The hyperplanes of a tree."""

    omega: Any  # (n_branches, p)
    gamma: Any  # (n_branches,)


class Ways(NamedTuple):
    """What a labeled row pays elsewhere for each way it can take; see the first paragraph of the module."""

    left: Any  # (n,) best error below the node on the left, the node itself aside
    right: Any  # (n,) the same on the right
    other: Any  # (n,) best error where it avoids the node


class NodeView(NamedTuple):
    """What each side of one node means for each row."""

    ways: Ways
    gain: Any  # (K - 1, m) by how much class k grows if an unlabeled row goes right instead of left
    ends: Any  # (2, m) its class on the left and on the right; only where there are several domains
    charge: Any  # (m,) by how much the guide's charge grows then
    base: Any  # (n_cells + 1,) rows of each cell, and the guide's charge, with all rows left of the node


@plain
def compute_values(XT, omega, gamma, h):
    """Compute h of every row from a hyperplane. Moves change h by themselves; their rounding errors would add up."""
    p, n_rows = XT.shape
    for i in range(n_rows):
        h[i] = -gamma
    for j in range(p):
        coefficient = omega[j]
        if coefficient != 0.0:
            x = XT[j]
            for i in range(n_rows):
                h[i] += coefficient * x[i]


def new_view(data: Data) -> NodeView:
    """An empty view."""
    n, n_rows, n_classes, n_cells = (
        len(data.labels),
        data.space.XT.shape[1],
        data.counts.n_classes,
        data.counts.bounds.shape[1],
    )
    return NodeView(
        Ways(np.empty(n), np.empty(n), np.empty(n)),
        np.empty((max(n_classes - 1, 1), n_rows - n)),
        np.zeros((2, n_rows - n if n_cells > n_classes else 0), dtype=np.int64),
        np.empty(n_rows - n),
        np.empty(n_cells + 1),
    )


@plain
def node_view(data, H, b, view):
    """Tabulate what each side of node b means for each row, into ``view``."""
    view_labeled(data, H, b + 1, view.ways)
    view_unlabeled(data, H, b + 1, view)


@inlined
def view_labeled(data, H, node, ways):
    """Tabulate the best errors of the labeled rows on both sides of a node and where they avoid it."""
    labels, leaf_classes, depth = data.labels, data.leaf_classes, data.depth
    left, right, other = ways
    n_leaves = leaf_classes.size
    for i in range(labels.size):
        left[i], right[i], other[i] = FAR, FAR, FAR
        for t in range(n_leaves):
            if leaf_classes[t] != labels[i]:
                continue
            leaf = t + n_leaves
            error = 0.0
            side = -1
            for up in range(depth - 1, -1, -1):
                at = leaf >> (up + 1)
                goes_right = (leaf >> up) & 1
                if at == node:
                    side = goes_right
                else:
                    h = H[at - 1, i]
                    e = 1.0 - h if goes_right == 1 else 1.0 + h
                    if e > 0.0:
                        error += e
            if side == 0:
                left[i] = min(left[i], error)
            elif side == 1:
                right[i] = min(right[i], error)
            else:
                other[i] = min(other[i], error)


@inlined
def view_unlabeled(data, H, node, view):
    """Tabulate the classes of the unlabeled rows on both sides of a node, and what differs between them."""
    leaf_classes, charges, counts = data.leaf_classes, data.charges, data.counts
    gain, ends, charge, base = view.gain, view.ends, view.charge, view.base
    n, n_leaves, n_classes, n_cells = data.labels.size, leaf_classes.size, counts.n_classes, base.size - 1
    for c in range(n_cells + 1):
        base[c] = 0.0
    for i in range(n, H.shape[1]):
        u, size = i - n, counts.sizes[i]
        for k in range(n_classes - 1):
            gain[k, u] = 0.0
        charge[u] = 0.0
        at = walk_to(H, i, node, n_leaves)
        if at == node:
            left = leaf_classes[end_below(H, i, 2 * node, n_leaves)]
            right = leaf_classes[end_below(H, i, 2 * node + 1, n_leaves)]
        else:
            left = leaf_classes[at - n_leaves]
            right = left
        count_row(counts, base, i, left)
        base[n_cells] += size * charges[u, left]
        if n_cells > n_classes:
            ends[0, u], ends[1, u] = left, right
        if left != right:
            if left < n_classes - 1:
                gain[left, u] -= size
            if right < n_classes - 1:
                gain[right, u] += size
            charge[u] = size * (charges[u, right] - charges[u, left])
