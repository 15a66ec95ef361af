"""Distances between rows against all pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist, pdist

from s2oct.p2 import prepared as geometry
from s2oct.p2.prepared import diameter, farthest_l1
from tests.strategies import tables

CLOUDS = {
    "normal": lambda rng: rng.normal(size=(5000, 4)),
    "uniform": lambda rng: rng.uniform(-100, 100, size=(2500, 2)),
    # No row is nearer to the centre than any other: nothing can be left out.
    "sphere": lambda rng: (lambda X: X / np.linalg.norm(X, axis=1)[:, None])(rng.normal(size=(2500, 3))),
    "line": lambda rng: rng.normal(size=(4100, 1)),
    "few distinct rows": lambda rng: rng.integers(0, 3, size=(5000, 3)).astype(float),
    "far from the origin": lambda rng: rng.normal(size=(2500, 2)) + 1e6,
    "one row far away": lambda rng: np.vstack([rng.normal(size=(3000, 2)), [[1e5, -1e5]]]),
    "one wide column": lambda rng: rng.normal(size=(2500, 3)) * [1e-6, 1.0, 1e4],
}


@given(tables(st.integers(2, 40), 3))
def test_the_diameter_is_the_largest_distance_of_a_pair(X):
    assert diameter(X)[1] == pytest.approx(pdist(X).max())


@pytest.mark.parametrize("cloud", CLOUDS)
def test_the_diameter_of_more_rows_than_a_block_is_exact(cloud):
    """The blocks and the pruning leave out no pair that matters."""
    X = CLOUDS[cloud](np.random.default_rng(1))
    assert len(X) > geometry._BLOCK
    largest = max(cdist(X[start : start + 1000], X).max() for start in range(0, len(X), 1000))
    assert diameter(X)[1] == pytest.approx(largest, rel=1e-9)


@pytest.mark.parametrize("rows", [1, 2, 7, 5000])
def test_equal_rows_have_diameter_0(rows):
    assert diameter(np.full((rows, 3), 1 / 3)) == (0.0, 0.0)


@given(tables(st.integers(1, 30), 2))
def test_the_farthest_row_in_the_1_norm_is_found(X):
    assert farthest_l1(X) == pytest.approx(cdist(X, X, "cityblock").max(axis=1))


def test_the_corner_of_the_box_bounds_the_farthest_row_where_pairs_are_too_many(monkeypatch):
    X = np.random.default_rng(2).normal(size=(60, 3))
    exact = farthest_l1(X)
    monkeypatch.setattr(geometry, "_EXACT_L1_WORK", 0)
    box = farthest_l1(X)
    assert (box >= exact).all()
    assert (box <= np.ptp(X, axis=0).sum()).all()
