"""Compiled descent of all hyperplanes at once, along the gradient of a widened cost.

At width w a labeled row pays [w - h]+ or [w + h]+ at the nodes on the way to its cheapest leaf, and an unlabeled row
pays [w - |h|]+ at every node. For w = 1 these are the errors and the margin violations of P2. A wide margin sees far
rows, so it finds the empty regions; as it shrinks, the hyperplanes settle there. Rows that pay a lot pull less than
their share, so that a few outliers do not decide. Every cell of the totals has a price, which pulls near rows over a
hyperplane where that brings the cell nearer to its bounds. Steps are those of Adam.

The kernels see standardised features and a working set of rows, the labeled ones first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from s2oct.caching import kept
from s2oct.search.compiled.walks import end_below

SOFTNESS = 30.0
"""A labeled row that pays this many widths pulls half as much as one that pays little."""

INERTIA, MEMORY = 0.9, 0.99
"""How much of the mean gradient and of the mean squared gradient is kept in a step."""

PRICE_MEMORY, PRICE_ROWS = 0.98, 0.01
"""How much of the price of a cell is kept in a step; and the share of the rows off at which its change is largest in
the first step. In the last step it is largest if one row is off."""


class WorkingSet(NamedTuple):
    """A working set of rows: n labeled ones, then k unlabeled ones."""

    Z: Any  # (p, n + k) standardised features by rows
    ZT: Any  # (n + k, p) the same by features
    labels: Any  # (n,) class of each labeled row
    sizes: Any  # (n + k,) what each row counts
    strength: Any  # (n + k,) how strongly each row pulls
    first: Any  # (n_margins, k) cell of class 0 in the domain of each unlabeled row
    weight: float  # how many rows an unlabeled row stands for, where they are a sample


class Aims(NamedTuple):
    """What the tree is to reach."""

    leaf_classes: Any  # (n_leaves,)
    depth: int
    bounds: Any  # (2, n_cells) least and most rows of each cell
    outside: Any  # (n_cells,) rows of each cell that are not in the working set
    box: Any  # (2, n_branches, p) least and largest standardised coefficients


class Motion(NamedTuple):
    """The hyperplanes over standardised features, what Adam remembers of them, and the prices of the cells."""

    normals: Any  # (n_branches, p)
    offsets: Any  # (n_branches,)
    mean: Any  # (n_branches, p + 1) of the gradient, the offset last
    square: Any  # (n_branches, p + 1) of the squared gradient
    prices: Any  # (n_cells,)


class Fall(NamedTuple):
    """Values at the first and the last step; between them they change geometrically."""

    n_steps: int
    width: Any  # (2,) of the margins
    margin: Any  # (2,) pull of an unlabeled row within them
    step: Any  # (2,) length of a step in every coefficient


@kept()
def between(ends, progress):
    """A value on the way from the first to the last."""
    return ends[0] * (ends[1] / ends[0]) ** progress


@kept()
def pull_labeled(H, rows, aims, width, pulls):
    """Add the pull of every labeled row towards its cheapest leaf to ``pulls`` (n_branches, n + k)."""
    leaf_classes, labels, depth = aims.leaf_classes, rows.labels, aims.depth
    n_leaves = leaf_classes.size
    for i in range(labels.size):
        least, nearest = 1e30, 0
        for t in range(n_leaves):
            if leaf_classes[t] != labels[i]:
                continue
            leaf, error = t + n_leaves, 0.0
            for up in range(depth):
                h = H[(leaf >> (up + 1)) - 1, i]
                error += max(width - h if (leaf >> up) & 1 else width + h, 0.0)
            if error < least:
                least, nearest = error, leaf
        if nearest == 0 or least == 0.0:
            continue
        strength = rows.strength[i] / (1.0 + least / (SOFTNESS * width))
        for up in range(depth):
            b = (nearest >> (up + 1)) - 1
            if (nearest >> up) & 1:
                if H[b, i] < width:
                    pulls[b, i] -= strength
            elif H[b, i] > -width:
                pulls[b, i] += strength


@kept()
def pull_unlabeled(H, rows, aims, width, margin, prices, pulls):
    """Set the pull of every unlabeled row: out of the margins, and over a hyperplane where prices ask for it.

    Returns the rows of each cell.
    """
    leaf_classes, first = aims.leaf_classes, rows.first
    n, n_leaves = rows.labels.size, leaf_classes.size
    counts = aims.outside.copy()
    for i in range(n, H.shape[1]):
        leaf = end_below(H, i, 1, n_leaves)
        here = leaf_classes[leaf]
        size = rows.sizes[i] * rows.weight
        for g in range(first.shape[0]):
            counts[first[g, i - n] + here] += size
        strength = margin * rows.weight * rows.strength[i]
        for b in range(H.shape[0]):
            h = H[b, i]
            pulls[b, i] = 0.0 if h <= -width or h >= width else (-strength if h > 0.0 else strength)
        node = leaf + n_leaves
        while node > 1:
            above = node >> 1
            h = H[above - 1, i]
            if -width < h < width:
                there = leaf_classes[end_below(H, i, node ^ 1, n_leaves)]
                if there != here:
                    saved = 0.0
                    for g in range(first.shape[0]):
                        saved += prices[first[g, i - n] + here] - prices[first[g, i - n] + there]
                    pulls[above - 1, i] += 0.5 * saved * size if h > 0.0 else -0.5 * saved * size
            node = above
    return counts


@kept()
def change_prices(prices, counts, bounds, progress):
    """Raise the prices of cells with too many rows, and lower those of cells with too few."""
    slack = 1.0 + PRICE_ROWS * counts.sum() * (1.0 - progress)
    for c in range(counts.size):
        excess = max(counts[c] - bounds[1, c], 0.0) - max(bounds[0, c] - counts[c], 0.0)
        prices[c] = PRICE_MEMORY * prices[c] + (1.0 - PRICE_MEMORY) * min(max(excess / slack, -1.0), 1.0)


@kept()
def values_of(normals, Z, H):
    """Fill in ``normals @ Z``, added up in the order of the features, which BLAS does not promise."""
    for b in range(H.shape[0]):
        for i in range(H.shape[1]):
            H[b, i] = 0.0
        for j in range(normals.shape[1]):
            for i in range(H.shape[1]):
                H[b, i] += normals[b, j] * Z[j, i]


@kept()
def slopes_of(pulls, ZT, slopes):
    """Fill in ``pulls @ ZT``, added up in the order of the rows; most of them do not pull."""
    for b in range(pulls.shape[0]):
        for j in range(slopes.shape[1]):
            slopes[b, j] = 0.0
        for i in range(pulls.shape[1]):
            if pulls[b, i] != 0.0:
                for j in range(slopes.shape[1]):
                    slopes[b, j] += pulls[b, i] * ZT[i, j]


@kept(nogil=True)
def descend_stretch(rows, aims, motion, fall, step_from, step_to):
    """Take some steps of a descent, in place."""
    normals, offsets, mean, square, prices = motion
    n_branches, p = normals.shape
    pulls = np.zeros((n_branches, rows.Z.shape[1]))
    H, slopes = np.empty_like(pulls), np.empty((n_branches, p))
    n = rows.labels.size
    for t in range(step_from, step_to):
        progress = t / max(fall.n_steps - 1, 1)
        width, length = between(fall.width, progress), between(fall.step, progress)
        values_of(normals, rows.Z, H)
        for b in range(n_branches):
            for i in range(H.shape[1]):
                H[b, i] -= offsets[b]
            for i in range(n):
                pulls[b, i] = 0.0
        pull_labeled(H, rows, aims, width, pulls)
        counts = pull_unlabeled(H, rows, aims, width, between(fall.margin, progress), prices, pulls)
        change_prices(prices, counts, aims.bounds, progress)
        slopes_of(pulls, rows.ZT, slopes)
        new, seen = 1.0 - INERTIA ** (t + 1), 1.0 - MEMORY ** (t + 1)
        for b in range(n_branches):
            for j in range(p + 1):
                slope = slopes[b, j] if j < p else -pulls[b].sum()
                mean[b, j] = INERTIA * mean[b, j] + (1.0 - INERTIA) * slope
                square[b, j] = MEMORY * square[b, j] + (1.0 - MEMORY) * slope * slope
                change = length * mean[b, j] / new / (np.sqrt(square[b, j] / seen) + 1e-12)
                if j < p:
                    normals[b, j] = min(max(normals[b, j] - change, aims.box[0, b, j]), aims.box[1, b, j])
                else:
                    offsets[b] -= change
