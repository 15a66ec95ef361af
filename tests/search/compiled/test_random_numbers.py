"""The generators of random numbers."""

from __future__ import annotations

import numpy as np
import pytest

from s2oct.search.compiled.random_numbers import next_below, next_unit, random_below, random_unit


@pytest.mark.parametrize("draw", [random_unit, next_unit])
def test_random_numbers_are_spread_over_the_unit_interval(draw):
    state = np.array([88172645463325252], dtype=np.uint64)
    drawn = np.array([draw(state) for _ in range(4000)])
    assert 0 <= drawn.min() < 0.01
    assert 0.99 < drawn.max() < 1
    assert np.abs(np.histogram(drawn, 10, (0, 1))[0] - 400).max() < 100


@pytest.mark.parametrize("draw", [random_below, next_below])
def test_every_whole_number_below_another_is_drawn(draw):
    state = np.array([88172645463325252], dtype=np.uint64)
    assert {draw(state, 5) for _ in range(200)} == set(range(5))
