"""The evidence model: costs in rows against plain loops, and its bounds against all trees."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2oct.model.evidence import Evidence, EvidenceCost, Sparsity
from s2oct.model.problem import Guide, Problem
from s2oct.model.topology import Topology
from s2oct.model.tree import ObliqueTree
from tests.oracles import walk
from tests.strategies import problems_with_trees

weights = st.sampled_from([0.1, 1 / 3, 1.0, 10.0])


def guided(problem: Problem, seed: int) -> Problem:
    """With a guide that finds the classes of some rows equally likely."""
    second = np.random.default_rng(seed).choice([0.0, 0.3, 0.5, 0.9, 1.0], size=problem.n_unlabeled)
    return replace(problem, guide=Guide.from_probabilities(np.column_stack([1 - second, second])))


def in_plain_loops(problem: Problem, tree: ObliqueTree, weight: float) -> EvidenceCost:
    """A labeled row costs 1 / weight in the other class; an unlabeled row half of the lead, and a half."""
    rows, counts = 0.0, [0.0, 0.0]
    for x, label, count in zip(problem.X_labeled, problem.labels, problem.labeled_multiplicity, strict=True):
        rows += count / weight * (walk(tree, x) % 2 != label)
    charges = problem.guide.charges
    for x, charge, count in zip(problem.X_unlabeled, charges, problem.unlabeled_multiplicity, strict=True):
        ended = walk(tree, x) % 2
        counts[ended] += count
        lead = charge[ended] - min(charge)
        rows += count * (0.5 * lead + 0.5) if lead > 0 else 0.0
    return EvidenceCost(rows, abs(counts[0] - problem.totals[0]), int((tree.omega != 0).sum()))


@given(problems_with_trees(), st.integers(0, 10**6), weights)
def test_a_tree_costs_its_formula_in_plain_loops(drawn, seed, weight):
    problem, tree = guided(drawn[0], seed), drawn[1]
    found = Evidence.of(problem, tree.topology, weight).cost_of(tree)
    expected = in_plain_loops(problem, tree, weight)
    assert found.rows == pytest.approx(expected.rows)
    assert (found.off, found.terms) == (expected.off, expected.terms)


@given(problems_with_trees(), st.integers(0, 10**6), weights)
def test_no_tree_is_below_the_bounds(drawn, seed, weight):
    problem, tree = guided(drawn[0], seed), drawn[1]
    evidence = Evidence.of(problem, tree.topology, weight)
    cost = evidence.cost_of(tree)
    assert cost.rows >= evidence.bound - 1e-9
    assert cost.off >= evidence.least_off
    assert evidence.is_least(cost) == (cost.rows <= evidence.bound + 1e-6 and cost.off == evidence.least_off)


def test_the_bounds_are_those_of_equal_rows():
    """Two labels contradict each other, and three equal rows cannot be parted by a total of 1."""
    X = [[0.0], [0.0], [5.0], [5.0], [5.0]]
    problem = Problem.from_arrays(X, ["a", "b", None, None, None], totals={"a": 1})
    sure = Guide.from_probabilities(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]))
    evidence = Evidence.of(replace(problem, guide=sure), Topology(1), 0.5)
    assert evidence.bound == 2.0 + 1.0  # one label at 1 / 0.5, one row of which the guide is sure
    assert evidence.least_off == 1.0
    split = ObliqueTree.of(Topology(1), [[1.0]], [2.0])
    assert evidence.is_least(evidence.cost_of(split))
    assert not evidence.is_least(evidence.cost_of(ObliqueTree.constant(Topology(1), 1, right=False)))


def test_as_good_are_1_percent_of_the_rows_more_and_totals_met_as_well():
    X = np.arange(200.0).reshape(-1, 1)
    problem = Problem.from_arrays(X, ["a", "b", *[None] * 198], totals={"a": 99})
    evidence = Evidence.of(guided(problem, 0), Topology(1), 1.0)
    best = EvidenceCost(10.0, 1.0, 1)
    assert evidence.is_as_good(EvidenceCost(12.0, 1.0, 9), best)
    assert not evidence.is_as_good(EvidenceCost(12.1, 1.0, 1), best)
    assert not evidence.is_as_good(EvidenceCost(9.0, 2.0, 1), best)


@pytest.mark.parametrize(
    ("sparsity", "n_features", "most"),
    [(Sparsity(), 9, 4), (Sparsity(), 2, 2), (Sparsity(None), 9, 9), (Sparsity(5), 9, 5), (Sparsity(), 0, 1)],
)
def test_a_split_has_as_many_features_as_there_are_at_most(sparsity, n_features, most):
    assert sparsity.most_of(n_features) == most


def test_a_term_costs_2_rows_of_1000_unless_the_user_says_otherwise():
    assert Sparsity().price_of(1000) == 2.0
    assert Sparsity(term_price=0.0).price_of(1000) == 0.0
