"""The optimum of P2 and OCT-H, from three solvers, two formulations, brute force and plain argument."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s2oct.fit.certificate import certify_octh
from s2oct.p2.costs import mended
from s2oct.p2.milp import build_lean, build_p2, decode_tree
from s2oct.p2.octh_milp import OcthSpec, build_octh, decode_octh
from s2oct.p2.proof import PROVED, Bound, FitRecord, lower_bound
from s2oct.problem.problem import Problem
from s2oct.problem.totals import Targets
from s2oct.solvers import SOLVERS, Termination, load_solver
from s2oct.trees.tree import Topology
from tests.conftest import backend_or_skip
from tests.instances import AT_DEPTH_1, TINY
from tests.oracles import brute_force_octh, brute_force_p2
from tests.preparing import feasible_cost, merged, prepared_as_is
from tests.solvers.watchers import least_cost, solve
from tests.strategies import prices, problems, tables

CLOSE = 1e-6


@pytest.mark.parametrize("formulation", ["literal", "lean"])
def test_every_backend_finds_and_proves_the_optimum(tiny, backend, formulation):
    """The reported cost is the bound, and the tree in the solution really costs that."""
    prepared = tiny.prepared if formulation == "literal" else tiny.merged.prepared
    milp = (build_p2 if formulation == "literal" else build_lean)(prepared)
    result = solve(backend, milp)
    assert result.termination is Termination.OPTIMAL
    cost = milp.c @ result.x
    assert cost == pytest.approx(result.dual_bound, abs=CLOSE)
    if tiny.optimum is not None:
        assert cost == pytest.approx(tiny.optimum, abs=CLOSE)
    found = mended(prepared, decode_tree(milp, result.x, prepared.topology))
    assert feasible_cost(prepared, found) == pytest.approx(cost, abs=1e-5)


def test_all_backends_and_both_formulations_agree(tiny):
    models = [build_p2(tiny.prepared), build_lean(tiny.merged.prepared)]
    optima = [least_cost(backend_or_skip(name), milp) for name in SOLVERS for milp in models]
    assert optima == pytest.approx([optima[0]] * len(optima), abs=CLOSE)
    assert optima[0] >= lower_bound(tiny.problem, tiny.C) - CLOSE


@pytest.mark.parametrize("name", [*AT_DEPTH_1, "contradictory_pair_at_depth_2", "contradiction_and_parity_at_depth_2"])
def test_brute_force_finds_the_optimum_of_a_named_problem(name):
    instance = TINY[name]
    expected = instance.optimum if instance.optimum is not None else 4.5
    assert brute_force_p2(instance.prepared) == pytest.approx(expected, abs=CLOSE)


@given(
    problem=problems(max_labeled=4, max_unlabeled=4),
    C=prices,
    coefficient_bound=st.sampled_from([None, 0.1, 1.0, 20.0]),
)
@settings(max_examples=40)
def test_brute_force_agrees_at_depth_1(problem, C, coefficient_bound):
    """In one to three dimensions, with steep and with flat hyperplanes; equal rows and contradictions included."""
    prepared = prepared_as_is(problem, 1, coefficient_bound, C)
    expected = brute_force_p2(prepared)
    highs = load_solver("highs")
    assert least_cost(highs, build_p2(prepared)) == pytest.approx(expected, abs=1e-5)
    assert least_cost(highs, build_lean(merged(prepared))) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("n_features", [1, 2])
@pytest.mark.parametrize("seed", range(8))
def test_brute_force_agrees_on_random_lines_and_planes(seed, n_features):
    """Labels without a pattern, so that errors and the total are traded off."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.uniform(-3, 3, size=(13, n_features)), 1)
    y = ["A", "B", *rng.choice(["A", "B"], 5), *[None] * 6]
    problem = Problem.from_arrays(X, y, totals={"A": int(rng.integers(0, 7))})
    C, s = float(rng.choice([0.3, 1.0, 4.0])), float(rng.choice([0.4, 1.0, 10.0]))
    prepared = prepared_as_is(problem, 1, s, C)
    found = least_cost(load_solver("highs"), build_lean(prepared))
    assert found == pytest.approx(brute_force_p2(prepared), abs=1e-5)


@given(problem=problems(max_labeled=3, max_unlabeled=4), C=prices, depth=st.integers(2, 3))
@settings(max_examples=15)
def test_literal_and_lean_agree_on_any_small_problem(problem, C, depth):
    prepared = prepared_as_is(problem, depth, C=C)
    highs = load_solver("highs")
    literal = least_cost(highs, build_p2(prepared))
    lean = least_cost(highs, build_lean(prepared_as_is(problem.merged(), depth, C=C)))
    assert lean == pytest.approx(literal, abs=1e-5)


OCTH = {
    # One split parts A from B.
    "separable": ([0.1, 0.2, 0.8, 0.9], "AABB", OcthSpec(1), 0.0),
    # A B A B: one split gets three of four.
    "alternating": ([0.1, 0.3, 0.6, 0.9], "ABAB", OcthSpec(1), 0.5),
    # The split that would help leaves one row alone, and two are asked for.
    "small_leaf": ([0.0, 0.5, 0.6, 0.7], "ABBB", OcthSpec(2), 1.0),
    # The rows at 0.50 and 0.55 are nearer than mu to each other.
    "too_close_for_mu": ([0.0, 0.5, 0.55, 1.0], "AABB", OcthSpec(1, mu=0.1), 0.5),
    # The split saves all errors (1), and costs 1.5.
    "split_not_worth_its_price": ([0.1, 0.2, 0.8, 0.9], "AABB", OcthSpec(1, complexity=1.5), 1.0),
    "split_worth_its_price": ([0.1, 0.2, 0.8, 0.9], "AABB", OcthSpec(1, complexity=0.25), 0.25),
    "contradiction": ([0.4, 0.4, 0.4, 0.9], "AABB", OcthSpec(1), 0.5),
    "three_classes": ([0.1, 0.2, 0.5, 0.6, 0.9], "AABBC", OcthSpec(1), 1 / 3),
}


def octh_problem(X, labels) -> Problem:
    X = np.asarray(X, dtype=float).reshape(len(labels), -1)
    return Problem.from_arrays(X, list(labels), totals=dict.fromkeys(labels, 0))


@pytest.mark.parametrize("name", OCTH)
def test_every_backend_finds_the_optimum_of_octh(name, backend):
    x, labels, octh, optimum = OCTH[name]
    problem = octh_problem(x, labels)
    milp = build_octh(problem, Topology(1), octh)
    result = solve(backend, milp)
    assert milp.c @ result.x == pytest.approx(optimum, abs=CLOSE)
    assert brute_force_octh(problem, octh) == pytest.approx(optimum, abs=CLOSE)
    tree = decode_octh(milp, result.x, problem, Topology(1), octh)
    claim = certify_octh(problem, tree, octh, FitRecord(Bound(result.dual_bound, backend.name), 0.0, PROVED))
    assert claim.feasible
    assert claim.objective == pytest.approx(optimum, abs=CLOSE)
    assert claim.proved


@given(
    X=st.integers(1, 2).flatmap(lambda p: tables(st.integers(3, 6), p)),
    min_leaf=st.integers(1, 2),
    complexity=st.sampled_from([0.0, 0.2]),
    mu=st.sampled_from([0.005, 0.15]),
    data=st.data(),
)
@settings(max_examples=25)
def test_brute_force_agrees_with_octh_at_depth_1(X, min_leaf, complexity, mu, data):
    labels = ["A", "B", *data.draw(st.lists(st.sampled_from("AB"), min_size=len(X) - 2, max_size=len(X) - 2))]
    problem = octh_problem((X + 4) / 8, labels)
    octh = OcthSpec(min_leaf, complexity, mu)
    found = least_cost(load_solver("highs"), build_octh(problem, Topology(1), octh))
    assert found == pytest.approx(brute_force_octh(problem, octh), abs=CLOSE)


def test_a_deeper_octh_tree_is_never_worse():
    """Depth 2 separates A B A B without an error, one split cannot."""
    x, labels, octh, _ = OCTH["alternating"]
    optima = [
        least_cost(load_solver("highs"), build_octh(octh_problem(x, labels), Topology(depth), octh)) for depth in (1, 2)
    ]
    assert optima == pytest.approx([0.5, 0.0], abs=CLOSE)


def test_swapping_the_classes_swaps_nothing_but_their_names(corners):
    """Mirrored leaves and the other total: the optimum stays."""
    problem = corners.problem
    other = Targets.exact(problem.totals[::-1], problem.n_unlabeled)
    swapped = replace(problem, labels=1 - problem.labels, targets=other)
    optima = [least_cost(load_solver("highs"), build_lean(prepared_as_is(each, 1))) for each in (problem, swapped)]
    assert optima[0] == pytest.approx(optima[1], abs=CLOSE)
    assert optima[0] > 1
