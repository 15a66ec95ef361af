import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2oct.p2.prepared import compute_bounds, paper_coefficient_bound, paper_depth
from s2oct.problem.problem import Problem
from tests.preparing import prepared_as_is
from tests.strategies import problems


@pytest.mark.parametrize(("n_rows", "least"), [(1, 10), (649, 10), (650, 20), (1499, 20), (1500, 40), (67557, 40)])
def test_the_coefficient_bound_follows_the_papers_rule(n_rows, least):
    """s = max(10 or 20 or 40, 499 / (eta sqrt p)), so that M reaches 500."""
    assert paper_coefficient_bound(n_rows, 4, 1e6) == least
    assert paper_coefficient_bound(n_rows, 4, 0.5) == pytest.approx(499.0)
    assert paper_coefficient_bound(n_rows, 4, 0.0) == least


@pytest.mark.parametrize(("n_rows", "depth"), [(1, 2), (999, 2), (1000, 3), (67557, 3)])
def test_the_depth_follows_the_papers_rule(n_rows, depth):
    assert paper_depth(n_rows) == depth


@given(problems(), st.integers(1, 3), st.sampled_from([None, 0.01, 1.0, 10.0]))
def test_constants_are_those_of_propositions_1_and_2(problem, depth, coefficient_bound):
    """M = eta s sqrt(p) + 1, at least 2, and B = D M; no row's own constants exceed them."""
    prepared = prepared_as_is(problem, depth, coefficient_bound)
    found = prepared.bounds
    reach = found.eta * found.s * np.sqrt(problem.n_features)
    assert pytest.approx(max(reach + 1, 2)) == found.M
    assert pytest.approx(depth * found.M) == found.B
    assert prepared.M_unlabeled.shape == (problem.n_unlabeled,)
    assert prepared.B_labeled.shape == (problem.n_labeled,)
    assert (prepared.M_unlabeled <= found.M).all()
    assert (prepared.M_unlabeled >= 2).all()
    assert (prepared.B_labeled <= found.B).all()
    assert prepared.B_labeled == pytest.approx(depth * found.M_of_rows(problem.X)[: problem.n_labeled])


def test_the_rule_for_s_lifts_M_to_500():
    problem = Problem.from_arrays([[0.0], [1.0], [2.0]], ["A", "B", None], totals={"A": 0})
    assert pytest.approx(500.0) == compute_bounds(problem, 2).M
