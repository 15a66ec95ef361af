"""Node fits of the evidence model against brute force."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s2oct._core import Table, classes_of, evidence_of, refit_split
from s2oct.model.evidence import Sparsity
from s2oct.search.evidence import Effort, EvidenceSearch, Splits, Worth, refit
from s2oct.stopping import NO_DEADLINE, never
from tests.evidence import KINDS, random_evidence
from tests.strategies import quarters

seeds = st.integers(0, 10**6)
kinds = st.sampled_from(KINDS)


@st.composite
def one_feature_tables(draw):
    """A table of one feature, over which a tree sends every row to the right; equal values are common."""
    n = draw(st.integers(2, 40))

    def numbers(elements):
        return np.array(draw(st.lists(elements, min_size=n, max_size=n)))

    x = numbers(st.integers(-6, 6).map(lambda k: k / 2))
    sizes = numbers(st.integers(0, 2)).astype(float)
    total = draw(st.integers(0, int(sizes.sum())))
    cost = np.column_stack([numbers(quarters), np.zeros(n)])
    singles = draw(st.booleans())
    table = Table(
        XT=x[None],
        order=np.argsort(x, kind="stable")[None] if singles else np.empty((1, 0), dtype=np.int64),
        cost=cost,
        sizes=sizes,
        first=np.zeros((1, n), dtype=np.int64),
        bounds=np.array([[total, sizes.sum() - total]] * 2),
        n_classes=2,
    )
    return table, Splits(np.zeros((1, 1)), -np.ones(1), np.ones((1, n), dtype=bool), np.array([0, 1]))


@settings(max_examples=200)
@given(drawn=one_feature_tables(), row_off=st.sampled_from([0.0, 0.5, 1000.0]))
def test_a_refit_finds_the_best_of_all_cuts_of_a_feature_in_both_directions(drawn, row_off):
    """Or no split. Of equally good cuts it takes the one in the widest gap, and there the middle."""
    table, splits = drawn
    x = table.XT[0]
    worth, state = Worth(1, 0.0, row_off, np.zeros(2)), np.array([7], dtype=np.uint64)

    def cost(right: np.ndarray) -> float:
        classes = right.astype(int)
        counts = np.bincount(classes, table.sizes, minlength=2)
        paid = table.cost[np.arange(len(x)), classes].sum()
        return float(paid + row_off * 0.5 * np.abs(counts - table.bounds[0]).sum())

    everywhere = [cost(np.full(len(x), side)) for side in (True, False)]
    cuts = [(cost(right), high - low) for low, high in pairwise(np.unique(x)) for right in (x >= high, x <= low)]
    least = min([*everywhere, *(found for found, _ in cuts)])
    saved = refit_split(table, splits, worth, 1, np.array([0]), Effort(True, 0), state, never)
    paid, off = evidence_of(table, splits)
    assert paid + row_off * off == pytest.approx(least)
    assert saved == pytest.approx(everywhere[0] - least)
    if splits.omega.any():
        widest = max(gap for found, gap in cuts if found <= least + 1e-9)
        assert np.abs(x * splits.omega[0, 0] - splits.gamma[0]).min() == pytest.approx(
            widest / 2 * abs(splits.omega[0, 0])
        )


@pytest.mark.parametrize("seed", range(4))
def test_a_refit_finds_the_features_that_decide(seed):
    """Of 60 features, more than are looked at closely, two decide."""
    rng = np.random.default_rng(seed)
    XT = rng.normal(size=(60, 500))
    score = XT[17] - XT[41]
    table = Table(
        XT=XT,
        order=np.argsort(XT, axis=1, kind="stable"),
        cost=np.column_stack([score, -score]),
        sizes=np.zeros(500),
        first=np.zeros((1, 500), dtype=np.int64),
        bounds=np.zeros((2, 2)),
        n_classes=2,
    )
    splits = Splits(np.zeros((1, 60)), np.ones(1), np.zeros((1, 500), dtype=bool), np.array([0, 1]))
    worth, state = Worth(2, 1.0, 0.0, np.zeros(2)), np.array([7], dtype=np.uint64)
    refit_split(table, splits, worth, 1, np.arange(60), Effort(True, 5), state, never)
    assert np.flatnonzero(splits.omega[0]).tolist() == [17, 41]
    assert splits.omega[0, 17] / splits.omega[0, 41] == pytest.approx(-1.0, abs=0.3)


def test_a_refit_that_is_asked_to_stop_changes_nothing():
    """It asks after a million rows, so a table of some ten thousand rows asks while it tries changes."""
    n = 20_000
    x = np.linspace(-1, 1, n)
    table = Table(
        XT=x[None],
        order=np.empty((1, 0), dtype=np.int64),
        cost=np.column_stack([x, -x]),
        sizes=np.zeros(n),
        first=np.zeros((1, n), dtype=np.int64),
        bounds=np.zeros((2, 2)),
        n_classes=2,
    )
    splits = Splits(np.zeros((1, 1)), np.ones(1), np.zeros((1, n), dtype=bool), np.array([0, 1]))
    given = Worth(1, 0.0, 0.0, np.zeros(2)), 1, np.array([0]), Effort(True, 200), np.array([7], dtype=np.uint64)
    assert refit_split(table, splits, *given, lambda: True) == 0.0
    assert not splits.omega.any()
    assert refit_split(table, splits, *given, never) > 0.0


class Case:
    """A random problem with a random tree over it, as the search sees them."""

    def __init__(self, seed: int, kind: str, depth: int = 2, **parameters) -> None:
        self.evidence = random_evidence(seed, kind, depth=depth, **parameters)
        self.search = EvidenceSearch(self.evidence, Sparsity(), seed, NO_DEADLINE)
        self.table, self.rng = self.search.table, np.random.default_rng(seed + 1)
        n_branches = self.evidence.topology.n_branches
        p, n = self.table.XT.shape
        self.splits = Splits(
            np.zeros((n_branches, p)),
            np.ones(n_branches),
            np.zeros((n_branches, n), bool),
            self.evidence.topology.leaf_classes.copy(),
        )
        for node in self.evidence.topology.branches:
            self.search._place_at_random(self.table, self.splits, node)
        self.node = int(self.rng.integers(1, n_branches + 1))

    def worth(self, row_off: float, *, term: float = 0.0, most: int = 3) -> Worth:
        return Worth(most, term, row_off, self.rng.integers(-2, 3, 2) / 4)

    def cost(self, classes: np.ndarray, worth: Worth) -> tuple[float, float]:
        """What rows pay for their classes with the class prices, and rows off, by loops."""
        paid, counts = 0.0, np.zeros(2)
        for i, k in enumerate(classes):
            paid += self.table.cost[i, k] + self.table.sizes[i] * worth.cell_prices[k]
            counts[k] += self.table.sizes[i]
        return paid, 0.5 * np.abs(counts - self.table.bounds[0]).sum()


@given(
    seed=seeds,
    kind=kinds,
    depth=st.integers(1, 3),
    row_off=st.sampled_from([0.0, 1.0, 1000.0]),
    term=st.sampled_from([0.0, 0.5, 5.0]),
    most=st.integers(1, 4),
    effort=st.sampled_from([(False, 0), (True, 0), (False, 5), (True, 5)]),
)
def test_a_refit_saves_exactly_what_it_says_and_never_costs(seed, kind, depth, row_off, term, most, effort):
    case = Case(seed, kind, depth)
    worth = case.worth(row_off, term=term, most=most)

    def total():
        paid, off = case.cost(classes_of(case.table, case.splits), worth)
        return paid + row_off * off + term * np.count_nonzero(case.splits.omega)

    before, old = total(), case.splits.omega[case.node - 1].copy()
    effort = Effort(*effort)
    saved = refit(case.table, case.splits, worth, case.node, case.search.allowed, effort, case.search.state, never)
    assert saved >= 0
    assert before - total() == pytest.approx(saved, abs=1e-6)
    new = case.splits.omega[case.node - 1]
    assert saved > 0 or np.array_equal(new, old)
    assert np.count_nonzero(new) <= max(most, np.count_nonzero(old) * (saved == 0))
    for omega, gamma, right in zip(*case.splits[:3], strict=True):
        np.testing.assert_array_equal(_values(case.table.XT, omega) > gamma, right)


def _values(XT, omega):
    """Sums in the order of the features, as the kernels add them up."""
    values = np.zeros(XT.shape[1])
    for j in np.flatnonzero(omega):
        values += omega[j] * XT[j]
    return values
