"""Lower bounds of OCT-H by counting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s2oct.p2.octh_milp import (
    NO_ERRORS,
    PRICED,
    TOO_CLOSE,
    TOO_FEW,
    OcthSpec,
    baseline_errors,
    build_octh,
    counting_bound,
    inseparable_rows,
)
from s2oct.problem.problem import Problem
from s2oct.solvers import load_solver
from s2oct.trees.tree import Topology
from tests.oracles import brute_force_octh
from tests.solvers.watchers import least_cost


def labeled(X, labels) -> Problem:
    return Problem.from_arrays(np.reshape(X, (len(labels), -1)).astype(float), list(labels))


def errors(problem: Problem, topology: Topology, spec: OcthSpec) -> float:
    return counting_bound(problem, topology, spec).value * baseline_errors(problem)


def test_a_class_with_fewer_rows_than_half_the_minimum_leaf_owns_no_leaf():
    problem = labeled(np.linspace(0, 1, 20), "A" * 18 + "BB")
    bound = counting_bound(problem, Topology(2), OcthSpec(min_leaf=5))
    assert bound.value == pytest.approx(1.0)
    assert bound.source == TOO_FEW


def test_a_small_class_fills_its_leaf_with_errors():
    """Of 5 rows in a leaf of B at most 3 are B, so that 2 are wrong; without such a leaf 3 are."""
    problem = labeled(np.linspace(0, 1, 20), "A" * 17 + "BBB")
    assert errors(problem, Topology(2), OcthSpec(min_leaf=5)) == pytest.approx(2.0)


def test_classes_beyond_the_leaves_are_errors():
    problem = labeled(np.linspace(0, 1, 9), "AAAABBBCC")
    assert errors(problem, Topology(1, 2), OcthSpec(min_leaf=1)) == pytest.approx(2.0)


def test_equal_rows_and_chains_of_near_rows_end_in_one_leaf():
    problem = labeled([0.0, 0.0, 0.1, 0.104, 0.108, 0.5], "ABABAA")
    assert inseparable_rows(problem, 0.005).tolist() == [0, 0, 1, 1, 1, 2]
    bound = counting_bound(problem, Topology(3), OcthSpec(min_leaf=1))
    assert bound.value * baseline_errors(problem) == pytest.approx(2.0)
    assert bound.source == TOO_CLOSE


def test_rows_that_differ_by_mu_can_be_told_apart():
    problem = labeled([0.0, 0.005, 1.0], "ABB")
    assert len(set(inseparable_rows(problem, 0.005).tolist())) == 3
    assert counting_bound(problem, Topology(1), OcthSpec(min_leaf=1)).source == NO_ERRORS


def test_a_tree_that_saves_errors_pays_for_a_coefficient():
    problem = labeled([0.0, 0.1, 0.9, 1.0], "AABB")
    assert counting_bound(problem, Topology(1), OcthSpec(1, complexity=0.25)).value == pytest.approx(0.25)
    assert counting_bound(problem, Topology(1), OcthSpec(1, complexity=2.0)).value == pytest.approx(1.0)
    assert counting_bound(problem, Topology(1), OcthSpec(1, complexity=2.0)).source == PRICED


ROWS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), min_size=3, max_size=5)


@settings(max_examples=15)
@given(rows=ROWS, min_leaf=st.integers(1, 5), complexity=st.sampled_from([0.0, 0.2]), data=st.data())
def test_no_bound_exceeds_the_optimum_at_depth_1(rows, min_leaf, complexity, data):
    labels = data.draw(st.lists(st.sampled_from("ABC"), min_size=len(rows), max_size=len(rows)))
    problem = labeled(np.array(rows) / 4, labels)
    spec = OcthSpec(min(min_leaf, len(rows)), complexity, data.draw(st.sampled_from([0.005, 0.3])))
    topology = Topology(1, min(problem.n_classes, 2))
    assert counting_bound(problem, topology, spec).value <= brute_force_octh(problem, spec) + 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_no_bound_exceeds_the_optimum_at_depth_2(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 10))
    problem = labeled(rng.integers(0, 4, (n, 2)) / 3, rng.choice(["A", "B", "C"], n, p=[0.6, 0.3, 0.1]))
    spec = OcthSpec(int(rng.integers(1, 5)), mu=float(rng.choice([0.005, 0.34])))
    topology = Topology(2, problem.n_classes)
    optimum = least_cost(load_solver("highs"), build_octh(problem, topology, spec))
    assert counting_bound(problem, topology, spec).value <= optimum + 1e-6
