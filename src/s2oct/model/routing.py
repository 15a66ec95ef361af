"""The sums behind every decision, compiled, and added up in one fixed order.

omega . x is the products of the features in their order, added from the left, each product and each sum rounded once to
a double; then gamma is taken off. Nothing else about a dot product is defined: BLAS adds in whatever order suits the
machine and fuses products with sums, so that a row in the rounding of a hyperplane could change sides with the number
of rows beside it. In this order plain Python, SQL and ONNX come to the same double as we do.

One file on purpose: the cache on disk notices a change in a function's own file only.
"""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np


# Without fastmath, LLVM may neither reorder these sums nor fuse them with the products.
@nb.njit(cache=True, nogil=True)
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


@nb.njit(cache=True, nogil=True)
def leaves(X: Any, omega: Any, gamma: Any, depth: int) -> Any:
    """Id of the leaf of every row: the nodes on its way are evaluated as in `values`, the others not at all."""
    n_rows, n_features = X.shape
    found = np.empty(n_rows, dtype=np.int64)
    for i in range(n_rows):
        node = 1
        for _ in range(depth):
            value = 0.0
            for j in range(n_features):
                value += omega[node - 1, j] * X[i, j]
            value -= gamma[node - 1]
            node = 2 * node + (1 if value > 0 else 0)
        found[i] = node
    return found
