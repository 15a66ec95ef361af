"""Alternating node fits: how well they copy given classes, what they make of totals, and that they end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2oct.p2.instance import Instance
from s2oct.p2.node_fits import _best_offset, alternating_start, class_prices
from s2oct.problem.problem import Problem
from s2oct.stopping import NO_DEADLINE, Deadline
from s2oct.trees.tree import ObliqueTree, Topology
from tests.preparing import prepared_as_is
from tests.stopwatch import processor_seconds


def instance_of(seed: int, n_rows: int, p: int, depth: int, labeled: int = 20) -> tuple[Instance, np.ndarray]:
    """Rows, labels and totals by a random oblique tree of some depth, and the true classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, p))
    omega = rng.normal(size=(2**depth - 1, p))
    truth = ObliqueTree.of(Topology(depth), omega, np.zeros(2**depth - 1)).predict(X)
    y = np.array(["A", "B"], dtype=object)[truth]
    y[labeled:] = None
    y[:2] = ["A", "B"]
    problem = Problem.from_arrays(X, y, totals={"A": int((truth[labeled:] == 0).sum())})
    return Instance.of(prepared_as_is(problem, depth), 0.0), truth


def guided(instance: Instance, classes: np.ndarray) -> Instance:
    """The instance with a guide that charges 1 for any other than the given classes of the unlabeled rows."""
    return instance.charged(np.where(classes[:, None] == np.arange(len(instance.totals)), 0.0, 1.0))


def classes_given_by(instance: Instance, start: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    return ObliqueTree.of(instance.topology, *start).predict(instance.XT.T)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_the_classes_of_a_guide_are_copied_where_a_tree_can(depth):
    instance, truth = instance_of(depth, 600, 4, depth)
    instance = guided(instance, truth[20:])
    found = classes_given_by(instance, alternating_start(instance, np.random.default_rng(0), NO_DEADLINE))
    assert (found[20:] == truth[20:]).mean() >= 0.94


def test_without_a_guide_a_linear_classifier_that_meets_the_total_stands_in():
    instance, truth = instance_of(3, 500, 4, 1, labeled=60)
    found = classes_given_by(instance, alternating_start(instance, np.random.default_rng(0), NO_DEADLINE))
    assert (found[60:] == truth[60:]).mean() >= 0.9
    assert abs((found[60:] == 0).sum() - instance.totals[0]) <= 0.05 * 440


@given(seed=st.integers(0, 1000), total=st.integers(0, 40))
def test_the_cheapest_classes_meet_the_total(seed, total):
    """Whatever the guide charges, the prices are shifted so that the total comes out."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 2))
    problem = Problem.from_arrays(X, ["A", "B"] * 5 + [None] * 40, totals={"A": total})
    instance = Instance.of(prepared_as_is(problem, 2), 0.0)
    instance = instance.charged(rng.normal(size=(40, 2)) + np.array([3.0, 0.0]))
    prices = class_prices(instance, X, rng)
    assert prices.min() == 0
    assert (prices[10:].argmin(axis=1) == 0).sum() == total
    np.testing.assert_array_equal(prices[:10].argmin(axis=1), problem.labels)


@given(seed=st.integers(0, 1000), n_rows=st.integers(1, 12))
def test_the_best_offset_is_the_best_of_all_ways_to_cut_a_line(seed, n_rows):
    """Brute force over all cuts, in both directions and with all rows on one side."""
    rng = np.random.default_rng(seed)
    values, gain = rng.integers(0, 6, n_rows).astype(float), rng.integers(-3, 4, n_rows).astype(float)
    cuts = [-1.0, *(np.unique(values) + 0.5)]
    expected = min(min(gain[values <= cut].sum(), gain[values > cut].sum()) for cut in cuts)
    forgone, sign, offset = _best_offset(values, gain)
    assert forgone == pytest.approx(expected)
    assert gain[sign * values <= offset].sum() == pytest.approx(expected)


def test_a_start_repeats_itself_for_a_seed_and_every_normal_has_length_s():
    instance, _ = instance_of(5, 300, 3, 2)
    first, second = (alternating_start(instance, np.random.default_rng(7), NO_DEADLINE) for _ in range(2))
    np.testing.assert_array_equal(first[0], second[0])
    np.testing.assert_array_equal(first[1], second[1])
    largest = np.abs(first[0]).max(axis=1)
    np.testing.assert_allclose(largest[largest > 0], instance.s)


def test_labels_of_one_class_constant_features_and_three_classes_are_no_obstacle():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=(90, 2)), np.full(90, 5.0)])
    one = Problem.from_arrays(X, ["A"] * 9 + [None] * 81, totals={"A": 30, "B": 51})
    three = Problem.from_arrays(X, ["A", "B", "C"] * 5 + [None] * 75, totals={"A": 25, "B": 20, "C": 30})
    for problem in (one, three):
        instance = Instance.of(prepared_as_is(problem, 2), 0.0)
        omega, gamma = alternating_start(instance, rng, NO_DEADLINE)
        assert np.isfinite(omega).all()
        assert np.isfinite(gamma).all()
        assert (omega[:, 2] == 0).all()


@pytest.mark.slow
@pytest.mark.parametrize(("n_rows", "p"), [(50_000, 14), (1000, 1000)])
def test_many_rows_or_features_take_seconds_and_a_deadline_less(n_rows, p, stepping_clock):
    """Once the deadline has passed, the clock is read a few times more, and nothing is computed in between."""
    instance, _ = instance_of(2, n_rows, p, 3, labeled=n_rows // 10)

    def start(deadline: Deadline) -> float:
        return processor_seconds(lambda: alternating_start(instance, np.random.default_rng(0), deadline), enough=30)

    assert start(NO_DEADLINE) <= 30
    stepping_clock.step, before = 0.1, stepping_clock.reads
    start(Deadline.after(0.5))
    assert stepping_clock.reads - before <= 20
