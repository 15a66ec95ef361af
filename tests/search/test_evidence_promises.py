"""The search of the evidence model: totals are met, limits hold, and odd tables and no time still give a tree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from s2oct import S2OCTClassifier
from s2oct.model.evidence import Evidence, Sparsity
from s2oct.model.targets import Targets
from s2oct.model.tree import ObliqueTree
from s2oct.search.evidence import SAMPLE, EvidenceSearch
from s2oct.stopping import NO_DEADLINE, Deadline
from s2oct.study.generate import generate
from tests.evidence import KINDS, random_evidence, weighed

ONE, TWO = (Sparsity(most, may_exceed=False) for most in (1, 2))


def best_tree(evidence: Evidence, sparsity: Sparsity | None = None, seed: int = 0) -> ObliqueTree:
    return EvidenceSearch(evidence, sparsity or Sparsity(), seed, NO_DEADLINE).run()


def generated(name: str, seed: int = 0) -> Evidence:
    """An instance of the study with a tenth of its rows labeled."""
    data, rng = generate(name), np.random.default_rng(seed)
    order = rng.permutation(len(data.X))
    return weighed(data.X[order], data.is_a[order], len(order) // 10, 2, rng)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", KINDS)
def test_totals_are_met_as_well_as_equal_rows_allow(kind, seed):
    evidence = random_evidence(seed, kind, depth=1 + seed % 3)
    assert evidence.cost_of(best_tree(evidence)).off == evidence.least_off


@pytest.mark.parametrize("name", ["monk1", "monk2", "mux6", "xd6", "balance_scale", "tic_tac_toe", "parity5"])
def test_totals_of_generated_instances_are_met(name):
    evidence = generated(name)
    assert evidence.cost_of(best_tree(evidence)).off == evidence.least_off == 0


@pytest.mark.parametrize("seed", range(3))
def test_totals_are_met_where_the_evidence_is_for_no_split(seed):
    """Nodes without a split are split then: no feature says anything about a parity of many bits."""
    evidence = generated("parity5+5", seed)
    assert evidence.cost_of(best_tree(evidence)).off == evidence.least_off == 0


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", KINDS)
def test_trees_send_rows_where_the_search_had_them(kind, seed):
    """Also trees that were fitted to a sample: their sides are then those of all rows."""
    evidence = random_evidence(seed, kind, depth=2, n_rows=200)
    search = EvidenceSearch(evidence, Sparsity(), seed, NO_DEADLINE)
    starts = search.starts(search._sample())
    for splits in (*starts, search.finished(search.settled(search.table, starts[0]))):
        tree = search.tree(splits)
        np.testing.assert_array_equal(tree.goes_right(evidence.X).T, splits.right)
        cost, terms = evidence.cost_of(tree), np.count_nonzero(splits.omega)
        assert search.full_cost(splits) == pytest.approx(cost.rows + 1000 * cost.off + search.term_price * terms)


def test_other_trees_meet_the_totals_and_lead_to_the_best_one_again():
    evidence = random_evidence(5, n_rows=150)
    search = EvidenceSearch(evidence, Sparsity(), 0, NO_DEADLINE)
    best, others = search.run(), list(search.others())
    assert len(others) >= 4
    assert {evidence.cost_of(tree).off for tree in others} == {0.0}
    assert any(np.array_equal(tree.predict(evidence.X), best.predict(evidence.X)) for tree in others)
    assert any(not np.array_equal(tree.predict(evidence.X), best.predict(evidence.X)) for tree in others)


@pytest.mark.parametrize("seed", range(3))
def test_a_line_between_the_classes_is_found(seed):
    """Where guide and labels follow one split on two features, nothing else is as good."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(120, 6))
    evidence = weighed(X, X[:, 1] + X[:, 4] > 1.1, 20, 2, rng, doubt=0.0)
    tree = best_tree(evidence)
    assert evidence.is_least(evidence.cost_of(tree))
    assert tree.omega[:, [1, 4]].any(axis=0).all()
    assert np.count_nonzero(tree.omega) <= 5


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sparsity", [ONE, TWO], ids=["one", "two"])
def test_a_limit_on_the_features_of_a_split_is_never_exceeded(kind, seed, sparsity):
    evidence = random_evidence(seed, kind, p=5)
    search = EvidenceSearch(evidence, sparsity, seed, NO_DEADLINE)
    for tree in (search.run(), *search.others()):
        assert np.count_nonzero(tree.omega, axis=1).max() <= sparsity.most


def test_more_features_than_wanted_are_used_only_where_totals_need_them():
    """On rows of few values, one feature a split leaves rows off, unless the limit may be exceeded."""
    evidence = random_evidence(3, "boolean", p=6, n_rows=90)
    strict, lax = (best_tree(evidence, Sparsity(1, may_exceed=may)) for may in (False, True))
    assert evidence.cost_of(strict).off > evidence.least_off
    assert evidence.cost_of(lax).off == evidence.least_off
    assert np.count_nonzero(lax.omega, axis=1).max() > 1


@pytest.mark.parametrize("seed", range(4))
def test_a_higher_price_of_a_term_gives_fewer_terms(seed):
    evidence = random_evidence(seed, n_rows=150, p=6)
    free, usual, high = (best_tree(evidence, Sparsity(term_price=price)) for price in (0.0, None, 8.0))
    n_free, n_usual, n_high = (evidence.cost_of(tree).terms for tree in (free, usual, high))
    assert n_free > n_high
    assert n_usual >= n_high
    assert evidence.cost_of(free).rows <= evidence.cost_of(high).rows


def test_without_time_there_is_still_a_tree():
    evidence = random_evidence(1, n_rows=300)
    search = EvidenceSearch(evidence, Sparsity(), 0, Deadline.after(-1.0))
    tree = search.run()
    assert np.isfinite(tree.omega).all()
    assert np.isfinite(evidence.cost_of(tree).rows)
    assert list(search.others()) == []


def test_large_problems_are_searched_on_a_sample_and_finished_on_all_rows():
    evidence = random_evidence(0, n_rows=2 * SAMPLE, doubt=0.2)
    search = EvidenceSearch(evidence, Sparsity(), 0, NO_DEADLINE)
    sample = search._sample()
    assert sample.XT.shape[1] == SAMPLE
    assert sample.sizes.sum() == pytest.approx(evidence.size.sum())
    assert evidence.cost_of(search.run()).off == 0


def test_one_seed_gives_one_tree_and_others_may_give_others():
    evidence = random_evidence(7, n_rows=150)
    trees = [best_tree(evidence, seed=seed) for seed in (1, 1, 2, 3, 4)]
    assert trees[0].omega.tolist() == trees[1].omega.tolist()
    assert trees[0].gamma.tolist() == trees[1].gamma.tolist()
    assert len({tree.omega.tobytes() for tree in trees}) > 1


def odd(X, labels, totals) -> Evidence:
    """Evidence about rows without a scale; a guide that is sure of class 0 for every unlabeled row."""
    rows, n = np.asarray(X, dtype=float), len(labels)
    usual = random_evidence(0)
    cost = np.array([[0.0, 3.0], [3.0, 0.0]])[labels] if n else np.empty((0, 2))
    return replace(
        usual,
        X=rows,
        cost=np.vstack([cost, np.tile([0.0, 1.0], (len(rows) - n, 1))]),
        size=np.r_[np.zeros(n), np.ones(len(rows) - n)],
        targets=Targets.exact(totals, len(rows) - n),
        least_off=0.0,
        n_given=len(rows),
    )


@pytest.mark.parametrize("sparsity", [Sparsity(), ONE, Sparsity(None, 0.0)], ids=["auto", "one", "any"])
@pytest.mark.parametrize(
    ("evidence", "off"),
    [
        (odd([[0.0], [1.0], [2.0], [3.0], [4.0]], [0, 1], (1, 2)), 0),
        (odd([[0.0, 7.0], [1.0, 7.0], [2.0, 7.0], [3.0, 7.0]], [0, 1], (1, 1)), 0),
        (odd([[7.0, 7.0]] * 4, [0, 1], (2, 0)), 0),
        (odd([[7.0, 7.0]] * 4, [0, 1], (1, 1)), 1),
        (odd([[5.0]], [], (0, 1)), 0),
        (odd([[5.0]], [], (1, 0)), 0),
        (odd([[1.0], [2.0]], [0, 1], (0, 0)), 0),
    ],
    ids=["one feature", "a constant one", "only constants", "equal rows", "one row", "its guess", "all labeled"],
)
def test_odd_tables_have_trees(evidence, off, sparsity):
    tree = best_tree(evidence, sparsity)
    assert np.isfinite(tree.omega).all()
    assert evidence.cost_of(tree).off == off
    constant = evidence.X.std(axis=0) == 0
    assert not tree.omega[:, constant].any()


@pytest.mark.parametrize("seed", [42, 62, 149])
def test_a_miss_of_less_than_half_a_row_is_repaired_too(seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 12, size=(80, 2)), rng.normal(size=80)]).astype(float)
    truth = np.where(X[:, 0] + 3 * rng.normal(size=80) > 6, "a", "b")
    n_a = int((truth[16:] == "a").sum())
    clf = S2OCTClassifier(random_state=0, max_features_per_split=1, depth=2)
    clf.fit(X, np.where(np.arange(80) < 16, truth, None), totals={"a": (n_a + 0.3, n_a + 1.2)})
    assert clf.certificate_.xi == 0


def test_a_weighted_total_is_not_missed_by_a_little_more_than_half_a_row():
    rng = np.random.default_rng(9)
    X = rng.normal(size=(80, 3))
    truth = np.where(X[:, 0] + 0.3 * rng.normal(size=80) > 0, "a", "b")
    rng.choice([0.2, 0.3, 0.4])
    rng.choice([1, 4])
    weights = rng.integers(1, 9, 80) / 4
    total = float(weights[16:][truth[16:] == "a"].sum()) + 0.3
    clf = S2OCTClassifier(random_state=0)
    clf.fit(X, np.where(np.arange(80) < 16, truth, None), totals={"a": total}, sample_weight=weights)
    assert clf.certificate_.xi <= 0.5 * clf.certificate_.unit + 1e-9
