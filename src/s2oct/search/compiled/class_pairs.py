"""Which two classes the leaves below a node may have: what rows would pay, by classes and by pairs of them."""

from __future__ import annotations

import numpy as np

from s2oct.search.compiled.choices import HUGE
from s2oct.search.compiled.evidence_trees import price_of
from s2oct.search.compiled.options import allocating
from s2oct.search.compiled.orders import in_order
from s2oct.search.compiled.walks import walk_to

PAIRED = 4
"""Classes of which pairs are tried in the leaves below a node: those of most rows."""


@allocating
def common_classes(table, splits, worth, node):
    """The classes that cost the rows at a node least, those of most rows first: at most `PAIRED` of them."""
    n_classes = table.cost.shape[1]
    weight = np.zeros(n_classes)
    for i in range(table.XT.shape[1]):
        if walk_to(splits.right, i, node, len(splits.leaf_classes)) != node:
            continue
        best, least, second = 0, HUGE, HUGE
        for k in range(n_classes):
            price = price_of(table, worth, i, k)
            if price < least:
                best, least, second = k, price, least
            elif price < second:
                second = price
        weight[best] += second - least
    order = in_order(-weight)
    return order[: min(PAIRED, n_classes)].copy()


@allocating
def pair_floors(table, splits, worth, node, classes):
    """What all rows pay at least if those at a node end in one of two classes, for each pair of some classes."""
    size, n_leaves = len(classes), len(splits.leaf_classes)
    floors = np.zeros((size, size))
    elsewhere = 0.0
    price = np.empty(size)
    for i in range(table.XT.shape[1]):
        at = walk_to(splits.right, i, node, n_leaves)
        if at != node:
            elsewhere += price_of(table, worth, i, splits.leaf_classes[at - n_leaves])
            continue
        for a in range(size):
            price[a] = price_of(table, worth, i, classes[a])
        for a in range(size):
            for c in range(size):
                floors[a, c] += min(price[a], price[c])
    for a in range(size):
        for c in range(size):
            floors[a, c] += elsewhere
    return floors
