"""A problem made ready: scaled, merged, with its constants, and changed only by copies."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2oct.errors import InvalidProblem
from s2oct.p2.costs import Assignment
from s2oct.p2.prepared import LARGE, LARGEST_M, TINY, ModelSpec, Prepared, prepare
from s2oct.problem.problem import Guide, Problem
from tests.messages import naming
from tests.preparing import score_of
from tests.strategies import problems, problems_with_trees

AS_IS = ModelSpec(depth=2, scaled=False)


def charges_of(problem: Problem, seed: int) -> np.ndarray:
    """Another charge for every row and class."""
    return np.random.default_rng(seed).uniform(size=(problem.n_unlabeled, problem.n_classes))


@pytest.fixture
def guided() -> Prepared:
    """Two equal unlabeled rows and a single one, with a guide."""
    problem = Problem.from_arrays([[0.0], [3.0], [1.0], [1.0], [2.0]], ["a", "b", None, None, None], totals={"a": 1})
    return prepare(problem, AS_IS).guided_by(Guide(np.array([[0.0, 0.5], [1.0, 0.0], [0.25, 0.0]]), 2.0))


@given(problems(), st.integers(0, 10**6), st.booleans(), st.booleans())
def test_a_guide_that_comes_later_is_merged_as_with_the_whole_problem(problem, seed, counted, scaled):
    """In any units, and where equal rows as given stand for several rows each: 3 and 1 of them, say."""
    if counted:
        multiplicity = np.random.default_rng(seed).integers(1, 4, problem.n_unlabeled).astype(float)
        problem = replace(problem, unlabeled_multiplicity=multiplicity)
    spec = replace(AS_IS, scaled=scaled)
    guide = Guide(charges_of(problem, seed), 0.7)
    whole = prepare(replace(problem, guide=guide), spec)
    later = prepare(problem, spec).guided_by(guide)
    assert later.problem.guide.charges.tolist() == whole.problem.guide.charges.tolist()
    assert later.problem.guide.weight == whole.problem.guide.weight == 0.7
    assert later.problem.X.tolist() == whole.problem.X.tolist()
    assert later.given.guide is guide


@given(problems_with_trees(), st.integers(0, 10**6))
def test_a_guide_charges_the_same_for_merged_rows_as_for_the_rows_as_given(drawn, seed):
    problem, tree = drawn
    prepared = prepare(problem, AS_IS).guided_by(Guide(charges_of(problem, seed), 0.7))
    merged, as_given = score_of(prepared.problem, tree), score_of(prepared.given, tree)
    assert merged.guide_cost == pytest.approx(as_given.guide_cost)


@given(problems(), st.booleans())
def test_every_row_as_given_has_its_place_among_the_merged_ones(problem, scaled):
    prepared = prepare(problem, replace(AS_IS, scaled=scaled))
    scaled_rows = prepared.scaling.transform(problem.X_unlabeled)
    assert prepared.given is problem
    assert prepared.problem.X_unlabeled[prepared.groups].tolist() == scaled_rows.tolist()
    sizes = np.bincount(prepared.groups, minlength=prepared.problem.n_unlabeled)
    assert sizes.tolist() == prepared.problem.unlabeled_multiplicity.tolist()


def test_rows_can_be_left_unmerged():
    problem = Problem.from_arrays([[0.0], [1.0], [1.0]], ["a", None, None], totals={"a": 1, "b": 1})
    assert prepare(problem, AS_IS).problem.n_unlabeled == 1
    assert prepare(problem, AS_IS, merge=False).problem.n_unlabeled == 2


def test_features_are_scaled_as_in_the_paper_unless_the_user_does_not_want_it():
    problem = Problem.from_arrays([[0.0], [900.0], [500.0]], ["a", "b", None], totals={"a": 1})
    assert np.abs(prepare(problem, ModelSpec(depth=1)).problem.X).max() == LARGE
    assert prepare(problem, ModelSpec(depth=1, scaled=False)).problem.X.tolist() == problem.X.tolist()


@pytest.mark.parametrize("size", [1e-4, 1e-6, 1e-12, 1e-150])
@pytest.mark.parametrize("coefficient_bound", [None, 20.0])
def test_tiny_features_are_enlarged_and_p2_stays_the_same(size, coefficient_bound):
    """By a power of 2, which is exact, so that eta is between 1 and 2; s shrinks by as much, and M stays."""
    rng = np.random.default_rng(1)
    X = size * rng.uniform(-1, 1, size=(9, 2))
    problem = Problem.from_arrays(X, ["a", "b", "a", *[None] * 6], totals={"a": 2})
    prepared = prepare(problem, replace(AS_IS, coefficient_bound=coefficient_bound))
    factor = float(prepared.scaling.scale[0])
    eta = max(math.dist(x, y) for x in X.tolist() for y in X.tolist())
    assert eta < TINY
    assert math.log2(factor) == round(math.log2(factor))
    assert 1 <= prepared.bounds.eta < 2
    assert prepared.bounds.eta == pytest.approx(factor * eta)
    s = coefficient_bound or 499 / (eta * math.sqrt(2))
    assert prepared.bounds.s == pytest.approx(s / factor)
    assert pytest.approx(max(eta * s * math.sqrt(2) + 1, 2)) == prepared.bounds.M
    assert prepared.problem.X.tolist() == (factor * problem.X).tolist()


def test_features_that_are_only_small_are_left_as_they_are():
    X = 2 * TINY * np.array([[0.0], [1.0], [0.5]])
    prepared = prepare(Problem.from_arrays(X, ["a", "b", None], totals={"a": 1}), AS_IS)
    assert prepared.scaling.scale.tolist() == [1.0]


@pytest.mark.parametrize("scaled", [True, False])
def test_rows_that_are_all_equal_are_not_enlarged(scaled):
    problem = Problem.from_arrays(np.full((3, 1), 1e-9), ["a", "b", None], totals={"a": 1})
    prepared = prepare(problem, replace(AS_IS, scaled=scaled))
    assert prepared.bounds.eta == 0.0
    assert prepared.scaling.scale.tolist() == [1.0]


def test_constants_beyond_what_doubles_resolve_are_refused():
    problem = Problem.from_arrays([[0.0], [1e9], [5e8]], ["a", "b", None], totals={"a": 1})
    with pytest.raises(InvalidProblem, match=naming("4e+10", "1e+10", 1)):
        prepare(problem, replace(AS_IS, coefficient_bound=40.0))
    assert prepare(problem, replace(AS_IS, coefficient_bound=1.0)).bounds.M <= LARGEST_M


def test_a_problem_without_its_guide_is_a_copy(guided):
    alone = guided.without_guide()
    assert (alone.given.guide, alone.problem.guide) == (None, None)
    assert guided.given.guide is not None
    assert guided.problem.guide is not None


def test_a_guide_is_given_to_a_copy(guided):
    alone = guided.without_guide()
    alone.guided_by(guided.given.guide)
    assert (alone.given.guide, alone.problem.guide) == (None, None)


def test_another_coefficient_bound_is_that_of_a_copy_with_constants_of_its_own(guided):
    """The constants of single rows are computed once per object; a copy must not inherit them."""
    M_rows, B_rows, s = guided.M_unlabeled, guided.B_labeled, guided.bounds.s
    other = guided.with_coefficient_bound(s / 2)
    assert (other.bounds.s, guided.bounds.s) == (s / 2, s)
    assert other.bounds.eta == guided.bounds.eta
    assert other.M_unlabeled == pytest.approx(other.bounds.M_of_rows(other.problem.X)[2:])
    assert (other.M_unlabeled < M_rows).all()
    assert (other.B_labeled < B_rows).all()
    assert other.problem is guided.problem


@given(problems_with_trees(), st.booleans())
def test_a_tree_costs_the_same_on_the_rows_as_given_and_on_the_prepared_ones(drawn, scaled):
    problem, tree = drawn
    prepared = prepare(problem, replace(AS_IS, scaled=scaled))
    model = Assignment.of(prepared.problem, tree)
    user = Assignment.of(problem, prepared.scaling.to_user(tree))
    assert model.label_errors @ model.problem.labeled_size == pytest.approx(user.label_errors.sum())
    assert user.unlabeled_leaves.tolist() == model.unlabeled_leaves[prepared.groups].tolist()
