"""At most k features in a split: the models, trees as vectors, feasibility, and the optimum by enumeration."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s2oct.fit.certificate import certify
from s2oct.p2.costs import mended
from s2oct.p2.milp import build_lean, build_p2, decode_tree, encode_tree
from s2oct.p2.proof import PROVED, Bound, FitRecord
from s2oct.problem.problem import Problem
from s2oct.solvers import load_solver
from s2oct.trees.tree import ObliqueTree
from tests.conftest import backend_or_skip
from tests.oracles import brute_force_p2
from tests.preparing import cost_of, feasible_cost, merged, prepared_as_is
from tests.solvers.watchers import least_cost, solve, violations
from tests.strategies import prices, problems, problems_with_trees

BUILDERS = [build_p2, build_lean]


def with_at_most(prepared, k):
    return replace(prepared, spec=replace(prepared.spec, max_features_per_split=k))


@pytest.mark.parametrize("build", BUILDERS)
def test_without_a_limit_or_with_one_that_all_splits_keep_the_model_is_the_papers(build):
    problem = Problem.from_arrays(np.eye(4)[:, :3], ["A", "B", None, None], totals={"A": 1})
    for k in (None, 3, 5):
        milp = build(prepared_as_is(problem, 2, most_features=k))
        assert "used" not in milp.blocks
        assert not {"used1", "used2", "fewused"} & set(milp.equations)
    assert {"used1", "used2", "fewused"} <= set(build(prepared_as_is(problem, 2, most_features=2)).equations)


@given(drawn=problems_with_trees(), k=st.integers(1, 3))
def test_feasible_trees_are_those_whose_vector_satisfies_the_literal_model(drawn, k):
    problem, tree = drawn
    prepared = prepared_as_is(problem, tree.topology.depth, 3.0, most_features=k)
    milp = build_p2(prepared)
    x = encode_tree(milp, problem, tree)
    violated = violations(milp, x)
    assert (cost_of(prepared, tree) is not None) == (not violated)
    assert ("fewused" in violated) == (k < problem.n_features and np.count_nonzero(tree.omega, axis=1).max() > k)


@pytest.mark.parametrize("build", BUILDERS)
@given(drawn=problems_with_trees(), k=st.integers(1, 2))
def test_decoding_an_encoded_tree_gives_the_tree_back(build, drawn, k):
    problem, tree = drawn
    milp = build(prepared_as_is(problem, tree.topology.depth, 4.0, most_features=k))
    decoded = decode_tree(milp, encode_tree(milp, problem, tree), tree.topology)
    assert decoded.omega.tolist() == tree.omega.tolist()


def test_a_coefficient_within_the_tolerance_of_an_unused_feature_becomes_0():
    problem = Problem.from_arrays([[0.0, 0.0], [9.0, 1.0], [1.0, 5.0], [8.0, 5.0]], ["A", "B", None, None])
    prepared = prepared_as_is(problem, 1, 2.0, most_features=1)
    milp = build_p2(prepared)
    x = encode_tree(milp, problem, ObliqueTree.of(prepared.topology, [[1.0, 0.0]], [4.0]))
    x[milp.blocks["omega"].index[0, 1]], x[milp.blocks["used"].index[0, 1]] = 1e-6, 5e-7
    assert violations(milp, x, tolerance=1e-5) == {}
    assert decode_tree(milp, x, prepared.topology).omega.tolist() == [[1.0, 0.0]]


@given(drawn=problems_with_trees())
def test_mending_uses_no_feature_that_was_not_used(drawn):
    problem, tree = drawn
    after = mended(prepared_as_is(problem, tree.topology.depth, 1.0, most_features=1), tree).tree
    assert not (after.omega[tree.omega == 0]).any()


@given(
    problem=problems(max_labeled=4, max_unlabeled=4),
    C=prices,
    s=st.sampled_from([None, 0.5, 20.0]),
    k=st.integers(1, 2),
)
@settings(max_examples=25)
def test_brute_force_agrees_at_depth_1(problem, C, s, k):
    prepared = prepared_as_is(problem, 1, s, C, k)
    expected = brute_force_p2(prepared)
    highs = load_solver("highs")
    assert least_cost(highs, build_p2(prepared)) == pytest.approx(expected, abs=1e-5)
    assert least_cost(highs, build_lean(merged(prepared))) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_brute_force_agrees_in_space_where_the_limit_costs_something(seed, k):
    rng = np.random.default_rng(seed)
    X = np.round(rng.uniform(-3, 3, size=(9, 3)), 1)
    y = ["A", "B", *rng.choice(["A", "B"], 3), *[None] * 4]
    problem = Problem.from_arrays(X, y, totals={"A": int(rng.integers(0, 5))})
    prepared = prepared_as_is(problem, 1, 1.0, most_features=k)
    milp = build_lean(prepared)
    result = solve(load_solver("highs"), milp)
    found = mended(prepared, decode_tree(milp, result.x, prepared.topology))
    assert np.count_nonzero(found.tree.omega) <= k
    cost = milp.c @ result.x
    assert feasible_cost(prepared, found) == pytest.approx(cost, abs=1e-5)
    assert cost == pytest.approx(brute_force_p2(prepared), abs=1e-5)
    assert cost >= brute_force_p2(with_at_most(prepared, None)) - 1e-6


CORNERS = Problem.from_arrays(
    [[0.0, 0.0], [9.0, 0.0], [0.0, 9.0], [9.0, 9.0], [1.0, 1.0], [8.0, 1.0], [1.0, 8.0], [8.0, 8.0]],
    ["A", "A", "A", "B", *[None] * 4],
    totals={"A": 3},
)
"""One corner of a square is cut off: by one split of both features, or by two of one."""


def test_the_limit_can_cost_something_and_single_features_need_another_level():
    """At depth 1 the best split on one feature is none: 2 for the row of B, and one row off the total."""
    highs = load_solver("highs")
    optima = {
        (depth, k): least_cost(highs, build_lean(prepared_as_is(CORNERS, depth, 1.0, most_features=k)))
        for depth, k in ((1, None), (1, 1), (2, 1))
    }
    assert optima[1, None] == pytest.approx(0.0, abs=1e-6)
    assert optima[1, 1] == pytest.approx(3.0, abs=1e-6)
    assert optima[2, 1] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("backend", ["highs", "scip"])
@pytest.mark.parametrize("seed", range(3))
def test_formulations_and_backends_agree_at_depth_2(backend, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, size=(10, 3)).astype(float)
    problem = Problem.from_arrays(X, [*["A", "B", "A", "B"], *[None] * 6], totals={"A": 2})
    prepared = prepared_as_is(problem, 2, 2.0, most_features=1)
    literal, lean = (least_cost(backend_or_skip(backend), build(prepared)) for build in BUILDERS)
    assert literal == pytest.approx(lean, abs=1e-5)


def test_a_bound_of_the_limited_model_proves_nothing_of_trees_with_more_features():
    """The constant tree is the best of one feature a split, and a solver proves that; two features cost nothing."""
    prepared = prepared_as_is(CORNERS, 1, 1.0, most_features=1)
    tree = ObliqueTree.constant(prepared.topology, 2, right=False)
    found = certify(prepared, tree, FitRecord(Bound(3.0, "a solver"), 0.0, PROVED))
    assert (found.max_features_per_split, found.uncapped_lower_bound) == (1, 0.0)
    assert found.proved
    assert not found.proved_for_any_features
    assert "by a solver among trees with at most 1 features per split" in str(found)


def test_a_tree_of_few_features_that_costs_nothing_is_optimal_among_all_trees():
    problem = Problem.from_arrays([[0.0, 3.0], [9.0, 1.0], [1.0, 5.0], [8.0, 5.0]], ["A", "B", None, None])
    record = FitRecord(Bound(0.0, "a bound"), 0.0, PROVED)
    for k in (None, 1):
        prepared = prepared_as_is(problem, 1, 2.0, most_features=k)
        one, two = (
            certify(prepared, ObliqueTree.of(prepared.topology, [omega], [4.0]), record)
            for omega in ([1.0, 0.0], [1.0, 0.01])
        )
        assert one.proved
        assert one.proved_for_any_features
        assert two.proved == two.proved_for_any_features == (k is None)
        assert ("any number of features" in str(one)) == (k == 1)
