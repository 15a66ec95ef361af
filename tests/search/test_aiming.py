"""Classes that meet a total exactly, as an aim where few rows differ."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s2oct import S2OCTClassifier
from s2oct.search.aiming import MOST_STEPS, cheapest_classes


def brute_force(cost, size, total):
    """The least cost over all choices of classes that meet the total; None if there is no such choice."""
    found = [
        sum(cost[i, k] for i, k in enumerate(classes))
        for classes in product((0, 1), repeat=len(size))
        if sum(n for n, k in zip(size, classes, strict=True) if k == 0) == total
    ]
    return min(found, default=None)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 6), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=8),
    st.integers(0, 30),
)
def test_the_classes_meet_the_total_at_least_cost(rows, total):
    size, cost = np.array([row[0] for row in rows], float), np.array([row[1:] for row in rows], float)
    found, least = cheapest_classes(cost, size, total), brute_force(cost, size, total)
    assert (found is None) == (least is None)
    if found is not None:
        assert size[found == 0].sum() == total
        assert cost[np.arange(len(size)), found].sum() == least


def test_a_table_of_too_many_sums_is_not_made():
    assert cheapest_classes(np.zeros((2, 2)), np.ones(2), MOST_STEPS) is None


@pytest.mark.parametrize("seed", range(6))
def test_a_total_is_met_where_many_rows_are_equal(seed):
    """Twelve different rows of very different numbers: moving one split at a time misses most totals."""
    rng = np.random.default_rng(seed)
    kinds = np.array(list(product((0.0, 1.0, 2.0), (0.0, 1.0), (0.0, 1.0))))
    of_kind = rng.choice(len(kinds), size=1200, p=rng.dirichlet(np.ones(len(kinds))))
    works = rng.random(1200) < np.array([0.2, 0.9])[(kinds[of_kind].sum(axis=1) > 2).astype(int)]
    y = np.where(works, "yes", "no").astype(object)
    y[120:] = None
    # What a tree gives to rows, so that one can meet it.
    root, left, right = (kinds[:, j] > 0 for j in rng.permutation(3))
    total = int(np.where(root, right, left)[of_kind[120:]].sum())
    found = S2OCTClassifier(random_state=0).fit(kinds[of_kind], y, totals={"yes": total}).certificate_
    assert found.xi == found.least_xi == 0
