"""The sums behind every decision, compiled, and added up in one fixed order.

The products of omega . x are added in the order of the features. Each product and each sum is rounded once to a double.
Then gamma is subtracted. BLAS does not promise any order: it adds as suits the machine, and fuses products with sums.
With BLAS, a row very close to a hyperplane could change sides with the number of rows beside it. In our order plain
Python, SQL, R and ONNX get the same double as we do.

This is one file on purpose: the cache on disk only notices changes in a function's own file.
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
def leaves(X: Any, omega: Any, gamma: Any, depth: int) -> Any:
    """Id of the leaf of every row: only the nodes on its way are evaluated, as in `values`."""
    n_rows, n_features = X.shape
    found = np.empty(n_rows, dtype=np.int64)
    for i in range(n_rows):
        node = 1
        for _ in range(depth):
            value = 0.0
            for j in range(n_features):
                value += omega[node - 1, j] * X[i, j]
            value -= gamma[node - 1]
            # Left iff value <= 0, so that a sum that is not a number goes right, as in every export.
            node = 2 * node + (0 if value <= 0 else 1)
        found[i] = node
    return found
