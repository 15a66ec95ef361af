"""The search of the evidence model: against brute force on lines, and what it promises about totals and features."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s2oct._core import evidence_of
from s2oct.model.evidence import ROW_OFF, Evidence, Sparsity
from s2oct.model.problem import Guide, Problem
from s2oct.model.topology import Topology
from s2oct.model.tree import ObliqueTree
from s2oct.search import EvidenceSearch
from s2oct.stopping import NO_DEADLINE, Deadline


def evidence_on(X: np.ndarray, labels: list[str | None], second: np.ndarray, total: int, depth: int) -> Evidence:
    """Rows with labels, and the probability of class B by a guide for the unlabeled ones."""
    problem = Problem.from_arrays(X, labels, totals={"A": len(second) - total, "B": total})
    guide = Guide.from_probabilities(np.column_stack([1 - second, second]))
    return Evidence.of(replace(problem, guide=guide).merged(), Topology(depth), 1 / 3)


def search(evidence: Evidence, deadline: Deadline = NO_DEADLINE, seed: int = 0, **sparsity) -> ObliqueTree:
    return EvidenceSearch(evidence, Sparsity(**sparsity), seed, deadline).run()


def oblique(n_rows: int, p: int, seed: int = 0, depth: int = 2, **sizes) -> Evidence:
    """Classes by three features; a guide that knows them better than by chance."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, p))
    truth = X[:, :3] @ [1.0, 0.7, 0.4] > sizes.get("threshold", 0.2)
    n = n_rows // 10
    second = np.clip(truth[n:] + rng.normal(scale=0.4, size=n_rows - n), 0.0, 1.0)
    labels = [*np.where(truth[:n], "B", "A"), *[None] * (n_rows - n)]
    labels[:2] = ["A", "B"]
    return evidence_on(X, labels, second, int(truth[n:].sum()), depth)


@given(seed=st.integers(0, 10**6), n_rows=st.integers(4, 12))
@settings(max_examples=30)
def test_on_a_line_no_cut_is_better(seed, n_rows):
    """Brute force over all cuts, in both directions and none; equal rows among them."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 8, size=(n_rows, 1)).astype(float)
    second = rng.uniform(size=n_rows - 2)
    evidence = evidence_on(X, ["A", "B", *[None] * (n_rows - 2)], second, int(rng.integers(0, n_rows - 1)), 1)
    cuts = np.arange(-0.5, 8)
    trees = [ObliqueTree.of(Topology(1), [[sign]], [sign * cut]) for cut in cuts for sign in (-1.0, 1.0)]
    trees += [ObliqueTree.constant(Topology(1), 1, right=right) for right in (False, True)]

    def worth(tree: ObliqueTree) -> float:
        cost = evidence.cost_of(tree)
        return cost.rows + ROW_OFF * cost.off

    assert worth(search(evidence, term_price=0.0)) == pytest.approx(min(map(worth, trees)))


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_kernels_count_what_the_formula_does(depth):
    evidence = oblique(300, 5, seed=depth, depth=depth)
    at_work = EvidenceSearch(evidence, Sparsity(), 0, NO_DEADLINE)
    for splits in at_work.starts(at_work.table)[:4]:
        cost = evidence.cost_of(at_work.tree(splits))
        rows, off = evidence_of(at_work.table, splits)
        assert rows == pytest.approx(cost.rows)
        assert off == cost.off
        assert int((splits.omega != 0).sum()) == cost.terms


@pytest.mark.parametrize(("n_rows", "seed"), [(200, 0), (200, 1), (1000, 2), (6000, 3)])
def test_the_total_is_met_with_three_features_a_split_and_little_evidence_lost(n_rows, seed):
    """6000 rows are more than the sample to which directions are fitted."""
    evidence = oblique(n_rows, 8, seed)
    tree = search(evidence)
    cost = evidence.cost_of(tree)
    assert cost.off == 0
    assert np.count_nonzero(tree.omega, axis=1).max() <= 4
    assert cost.rows <= 0.15 * n_rows


def test_a_limit_on_features_is_kept_even_where_a_total_is_missed_for_it():
    """Two features of two values each: with one of them only none, half or all of the rows can be B."""
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] * 10)
    truth = X.sum(axis=1) == 2
    labels = [*np.where(truth[:4], "B", "A"), *[None] * 36]
    evidence = evidence_on(X, labels, np.where(truth[4:], 0.8, 0.2), 9, 1)
    one, auto = (search(evidence, **given) for given in ({"most": 1, "may_exceed": False}, {"most": 1}))
    assert np.count_nonzero(one.omega) <= 1
    assert evidence.cost_of(one).off == 9.0
    assert (np.count_nonzero(auto.omega), evidence.cost_of(auto).off) == (2, 0.0)


@pytest.mark.parametrize("n_rows", [1000, 4000])
def test_the_total_of_a_rare_class_is_met_though_its_split_saves_less_than_it_costs(n_rows):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 3))
    rank = np.argsort(np.argsort(-X[20:, 0]))
    evidence = evidence_on(X, ["A", "B", *["A"] * 18, *[None] * (n_rows - 20)], np.where(rank < 2, 0.6, 0.0), 2, 2)
    cost = evidence.cost_of(search(evidence, term_price=50.0))
    assert (cost.off, cost.terms) == (0.0, 1)


def test_a_feature_that_saves_less_than_its_price_is_left_out():
    evidence = oblique(400, 6, seed=4)
    terms = [evidence.cost_of(search(evidence, term_price=price)).terms for price in (0.0, 2.0, 200.0)]
    assert terms[0] > terms[1] > terms[2] == 1


def test_a_search_repeats_itself_for_a_seed():
    evidence = oblique(300, 5, seed=5)
    first, second = (search(evidence, seed=7) for _ in range(2))
    assert first.omega.tolist() == second.omega.tolist()
    assert first.gamma.tolist() == second.gamma.tolist()


def test_a_deadline_that_has_passed_still_gives_a_tree():
    evidence = oblique(3000, 10, seed=6)
    tree = search(evidence, Deadline.after(0.0))
    assert np.isfinite(tree.omega).all()
    assert np.isfinite(tree.gamma).all()


def test_constant_features_leave_a_tree_without_splits():
    evidence = evidence_on(np.ones((6, 2)), ["A", "B", *[None] * 4], np.full(4, 0.2), 1, 2)
    tree = search(evidence)
    assert not tree.omega.any()
    assert evidence.is_least(evidence.cost_of(tree))
