"""What a tree costs in the search, from the values of all rows at its nodes; margins apart."""

from __future__ import annotations

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.model.assignment import leaf_errors, sum_of_errors
from s2oct.model.tree import ObliqueTree
from s2oct.search.instance import Instance


def values_at_nodes(instance: Instance, omega: FloatArray, gamma: FloatArray) -> FloatArray:
    """omega_b . x - gamma_b of all rows at all nodes, shape (n_branches, n + m)."""
    H = omega @ instance.XT
    H -= gamma[:, None]
    return np.asarray(H)


def own_leaf_errors(instance: Instance, H: FloatArray) -> FloatArray:
    """What each labeled row pays on the way to each leaf (n, n_leaves); infinity where a leaf has another class."""
    topology = instance.topology
    own_class = topology.leaf_classes[None, :] == instance.labels[:, None]
    return np.where(own_class, leaf_errors(topology, H[:, : instance.n_labeled].T), np.inf)


def tree_cost(instance: Instance, H: FloatArray) -> float:
    """Labeled errors, the price of rows off the totals, and the guide's charges, for any number of classes."""
    n, topology = instance.n_labeled, instance.topology
    labeled = sum_of_errors(instance.sizes[:n], own_leaf_errors(instance, H).min(axis=1)) if n else 0.0
    right, row = H[:, n:] > 0, np.arange(H.shape[1] - n)
    node = np.ones(len(row), dtype=np.int64)
    for _ in range(topology.depth):
        node = 2 * node + right[node - 1, row]
    classes = topology.leaf_classes[node - topology.n_leaves]
    sizes = instance.sizes[n:]
    rows_off = instance.targets.rows_off(classes, sizes)
    return labeled + instance.row_off * rows_off + float(sizes @ instance.charges[row, classes])


def cost_of_tree(instance: Instance, tree: ObliqueTree) -> float:
    """What a tree with the classes of its own leaves costs, margins apart."""
    if instance.targets.n_classes > 2:
        instance = instance.with_leaf_classes(tuple(int(k) for k in tree.leaf_classes))
    return tree_cost(instance, values_at_nodes(instance, tree.omega, tree.gamma))


def margin_violation(instance: Instance, H: FloatArray) -> float:
    """By how much unlabeled rows are too near hyperplanes, added up over rows and nodes."""
    return float(np.maximum(1 - np.abs(H[:, instance.n_labeled :]), 0).sum())
