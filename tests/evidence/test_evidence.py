"""The evidence model: prices, and bounds that no tree falls below."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2oct.evidence.evidence import (
    ANY_PRICE,
    ANY_PRICE_FRACTION,
    AUTO_GUIDE_WEIGHT,
    Evidence,
    EvidenceCost,
    EvidenceSpec,
    split_price,
)
from s2oct.problem.problem import Guide, Problem
from s2oct.trees.features import ONEHOT, Feature
from s2oct.trees.tree import ObliqueTree, Topology
from tests.strategies import problems_with_trees

weights = st.sampled_from([0.1, 1 / 3, 1.0, 10.0])


def guided(problem: Problem, seed: int) -> Problem:
    """With a guide that finds the classes of some rows equally likely."""
    second = np.random.default_rng(seed).choice([0.0, 0.3, 0.5, 0.9, 1.0], size=problem.n_unlabeled)
    return replace(problem, guide=Guide.from_probabilities(np.column_stack([1 - second, second])))


@given(problems_with_trees(), st.integers(0, 10**6), weights)
def test_no_tree_is_below_the_bounds(drawn, seed, weight):
    problem, tree = guided(drawn[0], seed), drawn[1]
    evidence = Evidence.of(problem, tree.topology, weight)
    cost = evidence.cost_of(tree)
    assert cost.rows >= evidence.bound - 1e-9
    assert cost.off >= evidence.least_off


def test_the_bounds_are_those_of_equal_rows():
    """Two labels contradict each other, and three equal rows cannot be parted by a total of 1."""
    X = [[0.0], [0.0], [5.0], [5.0], [5.0]]
    problem = Problem.from_arrays(X, ["a", "b", None, None, None], totals={"a": 1})
    sure = Guide.from_probabilities(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]))
    evidence = Evidence.of(replace(problem, guide=sure), Topology(1), 0.5)
    assert evidence.bound == 2.0 + 1.0  # one label at 1 / 0.5, one row of which the guide is sure
    assert evidence.least_off == 1.0
    split = ObliqueTree.of(Topology(1), [[1.0]], [2.0])
    cost = evidence.cost_of(split)
    assert (cost.rows, cost.off) == (evidence.bound, evidence.least_off)


def test_as_good_are_1_percent_of_the_rows_more_where_a_row_off_counts_at_its_price():
    X = np.arange(200.0).reshape(-1, 1)
    problem = Problem.from_arrays(X, ["a", "b", *[None] * 198], totals={"a": 99})
    evidence = Evidence.of(guided(problem, 0), Topology(1), 1.0, total_price=1.5)
    best = EvidenceCost(10.0, 1.0, 1, 1.0)
    assert evidence.is_as_good(EvidenceCost(12.0, 1.0, 9, 9.0), best)
    assert not evidence.is_as_good(EvidenceCost(12.1, 1.0, 1, 1.0), best)
    assert evidence.is_as_good(EvidenceCost(10.5, 2.0, 1, 1.0), best)
    assert not evidence.is_as_good(EvidenceCost(10.6, 2.0, 1, 1.0), best)


@pytest.mark.parametrize(
    ("spec", "n_features", "most"),
    [
        (EvidenceSpec(), 9, 3),
        (EvidenceSpec(), 2, 2),
        (EvidenceSpec(None), 9, 9),
        (EvidenceSpec(5), 9, 5),
        (EvidenceSpec(), 0, 1),
    ],
)
def test_a_split_has_as_many_features_as_there_are_at_most(spec, n_features, most):
    assert spec.most_of(n_features) == most


def test_a_term_costs_3_rows_of_1000_and_more_than_a_label_unless_the_user_says_otherwise():
    assert EvidenceSpec().price_of(1000) == pytest.approx(3.0)
    assert EvidenceSpec().price_of(10) > 1 / AUTO_GUIDE_WEIGHT
    assert EvidenceSpec(term_price=0.0).price_of(1000) == 0.0


def test_prices_in_rows_of_the_table_are_those_of_a_sample_in_proportion():
    assert EvidenceSpec(term_price=10.0, min_rows=30).of_sample(0.25) == EvidenceSpec(term_price=2.5, min_rows=8)
    assert EvidenceSpec().of_sample(0.25) == EvidenceSpec()


def test_terms_that_are_added_up_cost_more_than_as_many_splits():
    assert [split_price(n) for n in (1, 2, 3)] == pytest.approx([1.0, 2.6, 3.9])


@pytest.mark.parametrize(
    ("totals", "total_price", "price"),
    [
        ({"a": 1}, 1.5, 1.5),
        ({"a": 1}, 0.0, 0.0),
        ({"a": 1}, np.inf, ANY_PRICE),
        ({"a": (1, 1.5)}, np.inf, ANY_PRICE_FRACTION),
    ],
)
def test_a_row_off_costs_what_the_user_says(totals, total_price, price):
    problem = Problem.from_arrays([[0.0], [1.0], [2.0], [3.0]], ["a", "b", None, None], totals=totals)
    evidence = Evidence.of(guided(problem, 0), Topology(1), 1.0, total_price)
    assert evidence.row_off == price
    cost = EvidenceCost(rows=3.0, off=2.0, terms=2, price=2.6)
    assert evidence.total_cost(cost, term_price=10.0) == pytest.approx(3.0 + 2.0 * price + 26.0)


def test_a_term_is_a_column_and_further_levels_of_a_rule_cost_a_quarter_of_one():
    """Four levels, of which three have an indicator: a rule names the fewer ones."""
    names = [Feature(f"c=l{k}", "c", kind=ONEHOT, level=f"l{k}", rest="l0") for k in (1, 2, 3)]
    X = np.vstack([np.zeros((1, 3)), np.eye(3)])
    problem = Problem.from_arrays(X, ["a", "b", None, None], totals={"a": 1}, feature_names=names)
    evidence = Evidence.of(guided(problem, 0), Topology(1), 1.0)
    for omega, price in (([1.0, 0.0, 0.0], 1.0), ([1.0, 1.0, 0.0], 1.25), ([1.0, 1.0, 1.0], 1.0)):
        cost = evidence.cost_of(ObliqueTree.of(Topology(1), [omega], [0.5]))
        assert (cost.terms, cost.price) == (1, price)
