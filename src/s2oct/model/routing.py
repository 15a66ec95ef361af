"""The sums behind every decision, compiled, and added up in one fixed order.

The products of omega . x are added in the order of the features. Each product and each sum is rounded once to a double.
Then gamma is subtracted. BLAS does not promise any order: it adds as suits the machine, and fuses products with sums.
With BLAS, a row very close to a hyperplane could change sides with the number of rows beside it. In our order plain
Python, SQL, R and ONNX get the same double as we do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from s2oct.caching import kept


# Without fastmath, LLVM may neither reorder these sums nor fuse them with the products.
@kept(nogil=True)
def values(X: Any, omega: Any, gamma: Any) -> Any:
    """omega_b . x - gamma_b for every row and branch node, shape (rows, n_branches)."""
    n_rows, n_features = X.shape
    n_branches = len(gamma)
    across = omega.T.copy()
    found = np.zeros((n_rows, n_branches))
    for i in range(n_rows):
        for j in range(n_features):
            x = X[i, j]
            for b in range(n_branches):
                found[i, b] += across[j, b] * x
        for b in range(n_branches):
            found[i, b] -= gamma[b]
    return found


@kept(nogil=True)
def splitting(omega: Any) -> Any:
    """Which nodes have a coefficient other than 0."""
    found = np.zeros(len(omega), dtype=np.bool_)
    for b in range(len(omega)):
        for j in range(omega.shape[1]):
            if omega[b, j] != 0.0:
                found[b] = True
                break
    return found


@kept(nogil=True)
def value_at(X: Any, i: int, omega: Any, gamma: Any, splits: Any, b: int) -> Any:
    """omega_b . x_i - gamma_b; most nodes of a deep tree do not split, and there is nothing to add up."""
    value = 0.0
    if splits[b]:
        for j in range(X.shape[1]):
            value += omega[b, j] * X[i, j]
    return value - gamma[b]


@kept(nogil=True)
def leaves(X: Any, omega: Any, gamma: Any, depth: int) -> Any:
    """Id of the leaf of every row: only the nodes on its way are evaluated, as in `values`."""
    n_rows = len(X)
    found = np.empty(n_rows, dtype=np.int64)
    splits = splitting(omega)
    for i in range(n_rows):
        node = 1
        for _ in range(depth):
            value = value_at(X, i, omega, gamma, splits, node - 1)
            # Left iff value <= 0, so that a sum that is not a number goes right, as in every export.
            node = 2 * node + (0 if value <= 0 else 1)
        found[i] = node
    return found


@kept(nogil=True)
def distances(X: Any, omega: Any, gamma: Any) -> Any:
    """How far the rows are from hyperplanes, without an array of all values: these would fill memory in deep trees.

    Returns the least ``|value|`` of every row, then the least and the largest of every node, and how many values are
    negative and positive there. What is not a number stays so in all of them, and is neither negative nor positive.
    """
    n_rows, n_features = X.shape
    n_branches = len(gamma)
    across = omega.T.copy()
    of_rows = np.full(n_rows, np.inf)
    least, largest = np.full(n_branches, np.inf), np.zeros(n_branches)
    n_left, n_right = np.zeros(n_branches, dtype=np.int64), np.zeros(n_branches, dtype=np.int64)
    found = np.empty(n_branches)
    for i in range(n_rows):
        found[:] = 0.0
        for j in range(n_features):
            x = X[i, j]
            for b in range(n_branches):
                found[b] += across[j, b] * x
        nearest = np.inf
        for b in range(n_branches):
            value = found[b] - gamma[b]
            n_left[b] += value < 0
            n_right[b] += value > 0
            distance = abs(value)
            least[b] = least[b] if distance >= least[b] or least[b] != least[b] else distance
            largest[b] = largest[b] if distance <= largest[b] or largest[b] != largest[b] else distance
            nearest = nearest if distance >= nearest or nearest != nearest else distance
        of_rows[i] = nearest
    return of_rows, least, largest, n_left, n_right


@kept(nogil=True)
def path_distances(X: Any, omega: Any, gamma: Any, counted: Any, depth: int) -> Any:
    """The least ``|value|`` of every row at the nodes on its way that count; infinite if there are none."""
    n_rows = len(X)
    found = np.full(n_rows, np.inf)
    splits = splitting(omega)
    for i in range(n_rows):
        node = 1
        for _ in range(depth):
            value = value_at(X, i, omega, gamma, splits, node - 1)
            distance = abs(value)
            if counted[node - 1] and not (distance >= found[i] or found[i] != found[i]):
                found[i] = distance
            node = 2 * node + (0 if value <= 0 else 1)
    return found


@kept(nogil=True)
def cheapest_leaves(X: Any, labels: Any, omega: Any, gamma: Any, leaf_classes: Any) -> Any:
    """The first leaf of its class where each row has the least error, counted from the left, and that error.

    Errors only grow on the way down. So what already costs more than a leaf that is known is not looked at: in deep
    trees nearly everything. Without a leaf of its class a row gets leaf 0 and an infinite error.
    """
    n_rows = len(X)
    n_leaves = len(leaf_classes)
    splits = splitting(omega)
    leaf, error = np.zeros(n_rows, dtype=np.int64), np.full(n_rows, np.inf)
    # The path to the present node, the sibling of each node on it, and so at most one entry a level and one more.
    nodes, costs = np.empty(64, dtype=np.int64), np.empty(64)
    for i in range(n_rows):
        # First a bound: the cheaper side at every node, and at the last one the side of the class.
        for searching in range(2):
            known = False
            nodes[0], costs[0], size = 1, 0.0, 1
            while size > 0:
                size -= 1
                node, cost = nodes[size], costs[size]
                if cost > error[i] or (known and cost == error[i]):
                    continue
                if node >= n_leaves:
                    if leaf_classes[node - n_leaves] == labels[i]:
                        error[i], leaf[i], known = cost, node - n_leaves, True
                    continue
                value = value_at(X, i, omega, gamma, splits, node - 1)
                left, right = max(1.0 + value, 0.0), max(1.0 - value, 0.0)
                if searching:
                    nodes[size], costs[size] = 2 * node + 1, cost + right
                    nodes[size + 1], costs[size + 1] = 2 * node, cost + left
                    size += 2
                else:
                    goes_right = right < left
                    below = 2 * node - n_leaves
                    if below >= 0 and leaf_classes[below] != leaf_classes[below + 1]:
                        goes_right = leaf_classes[below + 1] == labels[i]
                    nodes[size], costs[size] = 2 * node + int(goes_right), cost + (right if goes_right else left)
                    size += 1
    return leaf, error
