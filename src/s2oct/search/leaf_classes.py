"""Classes of the leaves, drawn for a round of search where there are more than two.

With two classes, the leaves below every last-level node have class A on the left and class B on the right; a node that
splits nothing makes up for every other choice. With more classes, each last-level node has two of them. Which two is
part of the tree.
"""

from __future__ import annotations

import numpy as np

from s2oct.arrays import IntArray
from s2oct.search.instance import Instance

NEARBY_SHARE = 0.5
"""Share of draws that change the classes below one node of the best tree so far."""


def drawn_leaf_classes(
    instance: Instance, best: IntArray | None, rng: np.random.Generator, *, keep: bool
) -> tuple[int, ...]:
    """Two classes for every last-level node, in ascending order; those of the best tree so far if ``keep``."""
    if best is not None and keep:
        return tuple(best.tolist())
    n_classes, n_nodes = instance.targets.n_classes, len(instance.topology.last_level)
    if best is not None and rng.random() < NEARBY_SHARE:
        pairs = best.reshape(n_nodes, 2).copy()
        pairs[int(rng.integers(n_nodes))] = rng.choice(n_classes, size=2, replace=False)
    else:
        pairs = _covering_pairs(np.flatnonzero(instance.totals > 0), n_classes, n_nodes, rng)
    return tuple(np.sort(pairs, axis=1).ravel().tolist())


def _covering_pairs(needed: IntArray, n_classes: int, n_nodes: int, rng: np.random.Generator) -> IntArray:
    """Random pairs of distinct classes that have all the needed classes, if there are leaves for all of them."""
    classes = rng.integers(n_classes, size=2 * n_nodes)
    places = rng.permutation(2 * n_nodes)[: len(needed)]
    classes[places] = rng.permutation(needed)[: len(places)]
    is_needed = np.zeros(2 * n_nodes, dtype=bool)
    is_needed[places] = True
    pairs, fixed = classes.reshape(n_nodes, 2), is_needed.reshape(n_nodes, 2)
    for pair, known in zip(pairs, fixed, strict=True):
        if pair[0] == pair[1]:
            # Needed classes are distinct, so at least one of two equal classes is free.
            pair[0 if not known[0] else 1] = (pair[0] + rng.integers(1, n_classes)) % n_classes
    return np.asarray(pairs)
