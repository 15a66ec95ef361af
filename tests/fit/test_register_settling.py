"""Passes over batches find offsets with which a tree meets the totals of all rows."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s2oct.fit.register_passes import LastSplit, last_splits, values_at
from s2oct.problem.batches import ArrayBatches
from s2oct.stopping import Deadline
from s2oct.trees.tree import ObliqueTree, Topology
from tests.fit.register_tables import Reordered, counts_by_hand, settle, table, tree_for


def test_a_total_over_all_rows_is_met_exactly_and_counted_as_the_tree_predicts() -> None:
    register = table().register()
    before = counts_by_hand(register, tree_for(register))
    settled, found = settle(register)
    assert found is not None
    assert abs(before - register.targets.low).max() > 20
    assert found.by_class.tolist() == [register.targets.low.tolist()]
    assert found.by_class.tolist() == counts_by_hand(register, settled).tolist()


def test_only_last_offsets_move_and_they_are_short() -> None:
    register = table().register()
    before, after = tree_for(register), settle(register)[0]
    assert np.array_equal(before.omega, after.omega)
    assert before.gamma[0] == after.gamma[0]
    assert all(len(repr(float(offset))) <= 8 for offset in after.gamma[1:])


@settings(max_examples=15)
@given(batch_rows=st.integers(1, 2500), data=st.data())
def test_batches_of_any_size_and_order_give_the_same_tree(batch_rows: int, data: st.DataObject) -> None:
    small = table(600)
    register = small.register(most=60, batch_rows=600)
    one = settle(register)[0]
    assert isinstance(register.batches, ArrayBatches)
    batches = list(replace(register.batches, batch_rows=max(batch_rows, 20)))
    order = data.draw(st.permutations(range(len(batches))))
    other = settle(replace(register, batches=Reordered(batches, order)))[0]
    assert one.gamma.tolist() == other.gamma.tolist()


def test_rows_of_equal_value_stay_together_and_the_total_is_met_as_nearly_as_they_allow() -> None:
    register = table(900, whole_numbers=True).register()
    tree = tree_for(register)
    _, found = settle(register, tree)
    assert found is not None
    assert isinstance(register.batches, ArrayBatches)
    X = np.concatenate([batch.X for batch in register.batches])
    parent = tree.apply(X) >> 1
    left = []
    for node in (2, 3):
        values = values_at(tree, node, X[parent == node])
        left.append([0, *np.cumsum(np.unique(values, return_counts=True)[1]).tolist()])
    nearest = min(abs(one + two - register.targets.low[0]) for one, two in product(*left))
    assert abs(found.by_class[0, 0] - register.targets.low[0]) == nearest


def test_labeled_rows_may_all_be_in_the_last_batch_and_a_batch_may_have_no_unlabeled_row() -> None:
    register = table(labeled_last=True).register(batch_rows=40)
    assert isinstance(register.batches, ArrayBatches)
    assert [len(batch.X) for batch in register.batches][-1] == 0
    _, found = settle(register)
    assert found is not None
    assert found.by_class.tolist() == [register.targets.low.tolist()]


def test_domains_come_nearer_to_their_totals() -> None:
    small = table()
    region = np.where(small.X[:, 2] > 0.3, "north", "south")
    is_a = small.X[:, 0] + small.X[:, 1] > small.X.mean() * 2 + 0.3
    unlabeled = np.array([label is None for label in small.y])
    totals = {name: {"A": int((is_a & unlabeled & (region == name)).sum())} for name in ("north", "south")}
    register = replace(small, totals=totals, options={"domains": region}).register()
    settled, found = settle(register)
    assert found is not None
    counts = counts_by_hand(register, settled)
    margin = register.targets.margins[0]
    assert found.by_class.tolist() == counts.tolist()
    assert margin.rows_off(counts).sum() < 0.5 * margin.rows_off(counts_by_hand(register, tree_for(register))).sum()


def test_weights_are_added_up_to_the_total_within_half_a_row() -> None:
    small = table()
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=len(small.X))
    totals = {"A": 0.5 * float(weights[40:].sum())}
    register = replace(small, totals=totals, options={"sample_weight": weights}).register()
    settled, found = settle(register)
    assert found is not None
    assert found.by_class == pytest.approx(counts_by_hand(register, settled))
    assert abs(found.by_class[0, 0] - register.targets.low[0]) <= 0.5


def test_bounds_on_a_total_are_enough() -> None:
    small = table()
    low = small.totals["A"] - 60
    register = replace(small, totals={"A": (low, low + 5)}).register()
    _, found = settle(register)
    assert found is not None
    assert low <= found.by_class[0, 0] <= low + 5


def test_a_tree_is_kept_as_it_is_and_not_counted_when_the_time_is_over() -> None:
    register = table().register()
    settled, found = settle(register, deadline=Deadline(0.0))
    assert found is None
    assert np.array_equal(settled.gamma, tree_for(register).gamma)


def test_a_split_above_nodes_without_splits_moves_as_well() -> None:
    register = table().register()
    omega = np.zeros((3, 3))
    omega[0] = [-1.0, -1.0, 0.0]
    # The left child sends all rows to its right leaf, the right one to its left leaf: classes B and A.
    tree = ObliqueTree.of(Topology(2), omega, np.array([0.4, -1.0, 1.0]))
    assert last_splits(tree) == [LastSplit(1, 1, 0)]
    _, found = settle(register, tree)
    assert found is not None
    assert found.by_class.tolist() == [register.targets.low.tolist()]


def test_a_tree_without_splits_stays_as_it_is_and_is_counted() -> None:
    register = table().register()
    _, found = settle(register, ObliqueTree.constant(Topology(2), 3, right=True))
    assert found is not None
    assert found.by_class.tolist() == [[0, 1960]]


def test_rows_reach_a_class_through_a_third_one_where_no_split_has_both() -> None:
    """The splits divide A from B and B from C; there are rows too many of A, and rows of C are missing."""
    small = table()
    y = np.where(np.arange(2000) < 40, np.array(["A", "B", "C"])[np.arange(2000) % 3], None)
    tree = ObliqueTree(
        Topology(2, 3), np.array([[0, 0, 1.0], [1.0, 0, 0], [1.0, 0, 0]]), np.zeros(3), np.array([0, 1, 1, 2])
    )
    put = np.bincount(tree.predict(small.X[40:]), minlength=3)
    totals = {"A": int(put[0]) - 70, "B": int(put[1]), "C": int(put[2]) + 70}
    register = replace(small, y=y, totals=totals).register()
    _, found = settle(register, tree)
    assert found is not None
    assert found.by_class.tolist() == [list(totals.values())]
