"""Last-level offsets as a knapsack, against brute force over all gaps."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2oct.p2.instance import Instance, tree_cost, values_at_nodes
from s2oct.p2.offsets import OffsetParams, combine_offsets, last_level_errors
from s2oct.p2.rounds import clear_offsets
from s2oct.problem.problem import Problem
from s2oct.stopping import NO_DEADLINE
from s2oct.trees.tree import ObliqueTree
from tests.preparing import prepared_as_is, score_of
from tests.stopwatch import processor_seconds

C = 0.7


def feasible_case(seed: int, depth: int, n: int = 6, m: int = 9) -> tuple[Problem, Instance, np.ndarray, np.ndarray]:
    """A random problem with merged rows and a guide, and random hyperplanes clear of its unlabeled rows."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, (n + m, 2)).astype(float)
    y = ["A", "B", *rng.choice(["A", "B"], n - 2).tolist(), *[None] * m]
    problem = Problem.from_arrays(X, y, totals={"A": int(rng.integers(0, m + 1))}).merged()
    instance = Instance.of(prepared_as_is(problem, depth, C=C), 0.0)
    if seed % 2:
        instance = instance.charged(rng.normal(size=(problem.n_unlabeled, 2)))
    omega = rng.integers(-3, 4, (2**depth - 1, 2)).astype(float)
    planes = clear_offsets(instance, (omega, rng.normal(size=2**depth - 1)), seed, NO_DEADLINE)
    return problem, instance, *planes


def cost_of(problem: Problem, instance: Instance, omega: np.ndarray, gamma: np.ndarray) -> float:
    """The objective and the guide's costs, by the plain numpy functions."""
    tree = ObliqueTree.of(instance.topology, omega, gamma)
    classes = tree.predict(problem.X_unlabeled)
    guide = problem.unlabeled_multiplicity @ instance.charges[np.arange(len(classes)), classes]
    return score_of(problem, tree, C).objective + float(guide)


@given(seed=st.integers(0, 10_000), depth=st.integers(1, 4))
def test_a_combination_keeps_margins_and_never_costs_more(seed, depth):
    problem, instance, omega, gamma = feasible_case(seed, depth)
    before = cost_of(problem, instance, omega, gamma)
    assert tree_cost(instance, values_at_nodes(instance, omega, gamma)) == pytest.approx(before, abs=1e-7)
    new_omega, new_gamma = combine_offsets(instance, omega, gamma, NO_DEADLINE)
    after = cost_of(problem, instance, new_omega, new_gamma)
    assert after <= before + 1e-9
    assert score_of(problem, ObliqueTree.of(instance.topology, new_omega, new_gamma)).n_margin_violations == 0
    upper = slice(0, instance.topology.n_leaves // 2 - 1)
    np.testing.assert_array_equal(new_omega[upper], omega[upper])
    np.testing.assert_array_equal(new_gamma[upper], gamma[upper])


@pytest.mark.slow
@given(seed=st.integers(0, 10_000), depth=st.integers(1, 2))
def test_no_other_offsets_are_cheaper_for_the_labeled_rows_as_they_chose(seed, depth):
    """All pairs of points that can be best in a gap: its ends, and the bends of the labeled rows' errors in it."""
    problem, instance, omega, gamma = feasible_case(seed, depth)
    nodes = [node - 1 for node in instance.topology.last_level]
    _, errors = last_level_errors(instance, values_at_nodes(instance, omega, gamma))
    chosen = errors.argmin(axis=0)

    def price(new_omega, new_gamma) -> float:
        """The cost of the tree if the labeled rows stay below the nodes that they chose."""
        H = values_at_nodes(instance, new_omega, new_gamma)
        _, moved = last_level_errors(instance, H)
        stay = moved[chosen, np.arange(len(chosen))]
        return tree_cost(instance, H) + float(problem.labeled_multiplicity @ (stay - moved.min(axis=0)))

    def moved_to(offsets) -> tuple[np.ndarray, np.ndarray]:
        new_omega, new_gamma = omega.copy(), gamma.copy()
        for b, (sign, offset) in zip(nodes, offsets, strict=True):
            new_omega[b], new_gamma[b] = sign * omega[b], offset
        return new_omega, new_gamma

    choices = itertools.product(*[candidates(problem, omega[b]) for b in nodes])
    expected = min(price(*moved_to(offsets)) for offsets in choices)
    once = OffsetParams(repeats=1)
    assert price(*combine_offsets(instance, omega, gamma, NO_DEADLINE, once)) == pytest.approx(expected, abs=1e-7)


def candidates(problem: Problem, direction: np.ndarray) -> list[tuple[float, float]]:
    points = []
    for sign in (1.0, -1.0):
        line = sign * problem.X_unlabeled @ direction
        bends = sign * problem.X_labeled @ direction + np.where(problem.labels == 0, 1.0, -1.0)
        for offset in np.unique([*(line + 1), *(line - 1), *bends, line.min() - 50, line.max() + 50]):
            if np.abs(line - offset).min() >= 1 - 1e-9:
                points.append((sign, float(offset)))
    return points


def test_the_cost_of_a_tree_of_three_classes_is_that_of_its_score():
    """The search counts rows off the totals and charges for any number of classes."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(30, 2))
    y = ["A", "B", "C"] * 3 + [None] * 21
    problem = Problem.from_arrays(X, y, totals={"A": 9, "B": 5, "C": 7})
    instance = Instance.of(prepared_as_is(problem, 2, C=C), 0.0)
    for _ in range(20):
        omega, gamma = rng.normal(size=(3, 2)), rng.normal(size=3)
        found = tree_cost(instance, values_at_nodes(instance, omega, gamma))
        assert found == pytest.approx(cost_of(problem, instance, omega, gamma))


def test_three_classes_are_left_alone():
    problem = Problem.from_arrays([[0.0], [4.0], [8.0], [2.0]], ["A", "B", "C", None], totals={"A": 1, "B": 0, "C": 0})
    instance = Instance.of(prepared_as_is(problem, 2), 0.0)
    omega, gamma = np.ones((3, 1)), np.zeros(3)
    assert combine_offsets(instance, omega, gamma, NO_DEADLINE) == (omega, gamma)


def test_many_rows_take_seconds():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5000, (40_000, 3)).astype(float)
    problem = Problem.from_arrays(X, [*rng.choice(["A", "B"], 400), *[None] * 39_600], totals={"A": 20_000}).merged()
    instance = Instance.of(prepared_as_is(problem, 3), 0.0)
    planes = np.eye(3)[rng.integers(3, size=7)] * instance.s, np.full(7, 2500.5 * instance.s)
    seconds = processor_seconds(lambda: combine_offsets(instance, *planes, NO_DEADLINE), enough=5)
    assert seconds <= 5
