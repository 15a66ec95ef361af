"""The order of a table by its content: what it does not depend on, and what it takes."""

from __future__ import annotations

import numpy as np
import pytest

from s2oct.problem.batches import content_order, marks


@pytest.mark.filterwarnings("error")
def test_numbers_of_any_size_have_marks():
    found = marks(np.array([0.0, 1.0, -1.0, 1e30, -1e30, np.inf, 1e308]))
    assert len(np.unique(found[:5])) == 5
    assert found[3] == found[5] == found[6]


@pytest.mark.parametrize("seed", range(20))
def test_a_table_comes_to_the_same_order_however_it_is_arranged(seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=30), rng.integers(0, 3, 30), rng.exponential(size=30)])
    by_class = np.eye(3)[rng.integers(0, 3, 30)]
    rows, columns, classes = (rng.permutation(n) for n in (30, 3, 3))
    signs = rng.choice([-1.0, 1.0], 3)

    def ordered(X, by_class):
        found = content_order(X, marks(np.ones(len(X))), marks(np.ones(3)), by_class)
        assert found is not None
        return found.arranged(X[found.rows]), by_class[found.rows][:, found.classes]

    one, other = ordered(X, by_class), ordered((signs * X)[rows][:, columns], by_class[rows][:, classes])
    # Only equal rows may change places, and there are none.
    assert all(np.array_equal(*pair) for pair in zip(one, other, strict=True))
