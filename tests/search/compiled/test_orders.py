"""The order of values against numpy's."""

from __future__ import annotations

import numpy as np
import pytest

from s2oct.search.compiled.orders import in_order


@pytest.mark.parametrize("n", [0, 1, 2, 15, 16, 17, 100, 3000])
@pytest.mark.parametrize("n_values", [1, 3, 10**9])
def test_values_are_put_in_order_however_many_are_equal(n, n_values):
    """Rising, falling and random values, and such that rise and fall."""
    values = np.random.default_rng(n).integers(0, n_values, n).astype(float)
    rising = np.sort(values)
    for given in (values, rising, rising[::-1].copy(), np.concatenate([rising, rising[::-1]])):
        order = in_order(given)
        assert sorted(order) == list(range(len(given)))
        assert np.array_equal(given[order], np.sort(given))
