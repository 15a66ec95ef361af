"""Descents: what they reach, that they keep coefficients within bounds, repeat themselves and end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from s2oct.p2.descent import DEFAULTS, Descent, descend, may_descend, repaired, steps_within
from s2oct.p2.instance import Instance, margin_violation, tree_cost, values_at_nodes
from s2oct.p2.node_fits import alternating_start
from s2oct.problem.problem import Problem
from s2oct.stopping import NO_DEADLINE, Deadline
from s2oct.trees.tree import Topology
from tests.preparing import prepared_as_is


def crowd(seed: int, *, whole: bool = False, n_rows: int = 600, p: int = 6) -> Instance:
    """Two overlapping clouds, a tenth of the rows labeled; rows of whole numbers are on a grid."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(2, size=n_rows)
    X = rng.normal(size=(n_rows, p)) + 0.9 * truth[:, None]
    X = np.round(2 * X) if whole else X
    y = np.array(["A", "B"], dtype=object)[truth]
    y[n_rows // 10 :] = None
    problem = Problem.from_arrays(X, y, totals={"A": int((truth[n_rows // 10 :] == 0).sum())})
    return Instance.of(prepared_as_is(problem, 2, 40.0), 0.0)


def cost_with_margins(instance: Instance, planes: tuple[np.ndarray, np.ndarray]) -> float:
    H = values_at_nodes(instance, *planes)
    return tree_cost(instance, H) + float(np.maximum(1 - np.abs(H[:, instance.n_labeled :]), 0).sum())


def descended(instance: Instance, descent: Descent, deadline: Deadline = NO_DEADLINE) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return descend(instance, alternating_start(instance, rng, NO_DEADLINE), descent, rng, deadline)[1]


def test_a_descent_leaves_little_of_what_node_fits_cost():
    """Node fits know no margins; a descent clears them and keeps the labels."""
    for seed in range(2):
        instance = crowd(seed)
        start = alternating_start(instance, np.random.default_rng(0), NO_DEADLINE)
        found = descended(instance, Descent(600, width=0.3, step=0.3))
        assert cost_with_margins(instance, found) < 0.2 * cost_with_margins(instance, start)


@pytest.mark.parametrize("whole", [False, True])
def test_coefficients_stay_within_the_bound(whole):
    instance = crowd(1, whole=whole)
    omega, _ = descended(instance, Descent(200, on_grid=whole))
    assert np.abs(omega).max() <= instance.s * (1 + 1e-9)


def test_on_the_grid_every_row_is_at_an_odd_distance():
    instance = crowd(2, whole=True)
    H = values_at_nodes(instance, *descended(instance, Descent(200, on_grid=True)))
    assert np.abs((H - 1) / 2 - np.round((H - 1) / 2)).max() < 1e-6


def test_the_same_seed_gives_the_same_hyperplanes():
    instance = crowd(3, n_rows=1500)
    once, again = (descended(instance, Descent(100)) for _ in range(2))
    assert np.array_equal(once[0], again[0])
    assert np.array_equal(once[1], again[1])


def test_shaken_descents_from_one_start_differ_and_the_cost_is_that_of_the_hyperplanes():
    instance = crowd(7, n_rows=400)
    start = alternating_start(instance, np.random.default_rng(0), NO_DEADLINE)
    descent = Descent(50, width=0.02, is_shaken=True)
    found = [descend(instance, start, descent, np.random.default_rng(seed), NO_DEADLINE) for seed in (0, 1)]
    assert not np.allclose(found[0][1][0], found[1][1][0])
    for cost, planes in found:
        H = values_at_nodes(instance, *planes)
        assert cost == pytest.approx(tree_cost(instance, H) + DEFAULTS.margin_price * margin_violation(instance, H))


def test_a_passed_deadline_leaves_the_start_as_it_is():
    instance = crowd(4)
    start = alternating_start(instance, np.random.default_rng(0), NO_DEADLINE)
    _, found = descend(instance, start, Descent(1000), np.random.default_rng(0), Deadline.after(0.0))
    assert np.allclose(found[0], start[0])
    assert np.allclose(found[1], start[1])


def test_more_features_and_rows_get_fewer_steps():
    small = crowd(5)
    wide = replace(small, XT=np.tile(small.XT, (2000, 1)), quanta=np.tile(small.quanta, 2000))
    assert steps_within(small, 1000) == 1000
    assert steps_within(wide, 1000) < 100


def test_where_a_step_takes_long_there_are_no_descents():
    """A stage of few steps leads nowhere, and a single step must not outlast a time limit."""
    small = crowd(5)
    many = replace(small, XT=np.tile(small.XT, 1000), labels=np.tile(small.labels, 10000))
    deep = replace(small, topology=Topology(12))
    assert [may_descend(instance) for instance in (small, many, deep)] == [True, False, False]


def test_a_repair_clears_margins_and_leaves_other_rows_on_their_sides():
    """Node fits leave some rows too near; a program moves the hyperplanes, and no row that kept its distance."""
    instance = crowd(6)
    planes = alternating_start(instance, np.random.default_rng(0), NO_DEADLINE)
    before, after = (values_at_nodes(instance, *p) for p in (planes, repaired(instance, *planes, NO_DEADLINE)))
    n = instance.n_labeled
    assert margin_violation(instance, before) > 0
    assert margin_violation(instance, after) < 0.9 * margin_violation(instance, before)
    clear = np.abs(before[:, n:]) >= 1
    assert ((before[:, n:] > 0) == (after[:, n:] > 0))[clear].all()
    assert (np.abs(after[:, n:])[clear] >= 1 - 1e-9).all()
