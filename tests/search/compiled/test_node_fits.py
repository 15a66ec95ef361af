"""Node fits of the evidence model against brute force, routing by `ObliqueTree`, and scikit-learn."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from s2oct.model.evidence import Sparsity
from s2oct.model.tree import ObliqueTree
from s2oct.search.compiled.cells import Counts
from s2oct.search.compiled.choices import Choice, all_left, best_cut, decided, present_split
from s2oct.search.compiled.evidence_trees import Splits, Table, Worth, classes_of, set_hyperplane
from s2oct.search.compiled.node_fits import Effort
from s2oct.search.compiled.regressions import (
    RIDGE,
    extended,
    forget,
    new_fit,
    newton,
    score_statistic,
    screened,
    solve_positive,
)
from s2oct.search.evidence import EvidenceSearch, refit
from s2oct.stopping import NO_DEADLINE
from tests.evidence import KINDS, random_evidence
from tests.strategies import quarters

seeds = st.integers(0, 10**6)
kinds = st.sampled_from(KINDS)


@st.composite
def choices(draw):
    """A choice with its values along a direction; equal values, labeled rows and rows of size 2 are common."""
    n = draw(st.integers(1, 9))

    def numbers(elements):
        return np.array(draw(st.lists(elements, min_size=n, max_size=n)))

    left = numbers(st.integers(0, 1))
    size = numbers(st.integers(0, 2)).astype(float)
    counts = np.array([draw(st.integers(0, 9)) for _ in range(2)], dtype=float) + size.sum()
    totals = np.array([draw(st.integers(0, 12)), 0.0])
    totals[1] = counts.sum() - totals[0]
    # The rows of the choice are every second row of the table: positions and rows must not be mixed up.
    sizes = np.zeros(2 * n)
    sizes[::2] = size
    table = Table(
        np.zeros((1, 2 * n)),
        np.empty((1, 0), dtype=np.int64),
        np.zeros((2 * n, 2)),
        Counts(sizes, np.zeros((1, 2 * n), dtype=np.int64), np.array([totals, totals]), 2),
    )
    choice = Choice(np.arange(0, 2 * n, 2), numbers(quarters), left, 1 - left, counts, np.empty((2, 2)))
    return table, choice, numbers(st.integers(-3, 3).map(lambda k: k / 2))


def cost_of_sides(table, choice, goes_left, row_off):
    """What the chosen rows cost on given sides, beyond going right."""
    counts, cost = choice.cells.copy(), 0.0
    for t, here in enumerate(goes_left):
        if here:
            cost += choice.extra[t]
            counts[choice.left[t]] += table.counts.sizes[choice.rows[t]]
            counts[choice.right[t]] -= table.counts.sizes[choice.rows[t]]
    return cost + row_off * 0.5 * np.abs(counts - table.counts.bounds[0]).sum()


@settings(max_examples=200)
@given(drawn=choices(), row_off=st.sampled_from([0.0, 0.5, 1000.0]))
def test_best_cut_is_the_best_of_all_cuts_in_both_directions(drawn, row_off):
    table, choice, values = drawn
    cost, sign, offset = best_cut(table.counts, choice, values, np.argsort(values), row_off)
    levels = np.unique(values)
    cuts = {}
    for low, high in pairwise(levels):
        for goes_left in (values <= low, values >= high):
            cuts[low, bool(goes_left[np.argmin(values)])] = cost_of_sides(table, choice, goes_left, row_off), high - low
    if not cuts:
        assert cost >= 1e300
        return
    least = min(found for found, _ in cuts.values())
    assert cost == pytest.approx(least)
    assert cost_of_sides(table, choice, sign * values <= offset, row_off) == pytest.approx(least)
    # Of equally good cuts, the one in the widest gap, and there in the middle.
    widest = max(gap for found, gap in cuts.values() if found <= least + 1e-9)
    distance = np.abs(sign * values - offset).min()
    assert distance == pytest.approx(widest / 2)


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
            paid += self.table.cost[i, k] + self.table.counts.sizes[i] * worth.cell_prices[k]
            counts[k] += self.table.counts.sizes[i]
        return paid, 0.5 * np.abs(counts - self.table.counts.bounds[0]).sum()

    def forced(self, right: bool) -> ObliqueTree:
        """The tree with all rows of the node sent to one side."""
        omega, gamma = self.splits.omega.copy(), self.splits.gamma.copy()
        omega[self.node - 1], gamma[self.node - 1] = 0.0, -1.0 if right else 1.0
        return ObliqueTree.of(self.evidence.topology, omega, gamma)


def off_the_hyperplanes(case: Case) -> None:
    """Move offsets off the rows through which random hyperplanes go: there, sides depend on the order of sums."""
    for b, omega in enumerate(case.splits.omega):
        set_hyperplane(case.table, case.splits, b + 1, omega.copy(), float(case.splits.gamma[b]) + 1e-6)


@given(seed=seeds, kind=kinds, depth=st.integers(1, 3), row_off=st.sampled_from([0.0, 1.0, 1000.0]))
def test_a_node_decides_about_the_rows_whose_class_its_sides_change(seed, kind, depth, row_off):
    case = Case(seed, kind, depth)
    off_the_hyperplanes(case)
    worth = case.worth(row_off, term=0.5)
    tree = ObliqueTree.of(case.evidence.topology, case.splits.omega, case.splits.gamma)
    rows = np.ascontiguousarray(case.table.XT.T)
    left, right, now = (t.predict(rows) for t in (case.forced(False), case.forced(True), tree))
    choice = decided(case.table, case.splits, worth, case.node)
    expected = np.flatnonzero(left != right)
    assert choice.rows.tolist() == expected.tolist()
    assert choice.left.tolist() == left[expected].tolist()
    assert choice.right.tolist() == right[expected].tolist()
    counts = case.table.counts
    np.testing.assert_allclose(choice.cells, np.bincount(right, counts.sizes, minlength=2))
    all_left(counts, choice, choice.room[0])
    np.testing.assert_allclose(choice.room[0], np.bincount(left, counts.sizes, minlength=2))
    for t, i in enumerate(expected):
        pays = [case.table.cost[i, k[i]] + case.table.counts.sizes[i] * worth.cell_prices[k[i]] for k in (left, right)]
        assert choice.extra[t] == pytest.approx(pays[0] - pays[1])
    assert classes_of(case.table, case.splits).tolist() == now.tolist()
    cost, size = present_split(case.table, case.splits, worth, choice, case.node)
    paid, off = case.cost(now, worth)
    assert size == np.count_nonzero(case.splits.omega[case.node - 1])
    assert cost == pytest.approx(paid - case.cost(right, worth)[0] + row_off * off + 0.5 * size)


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
    saved = refit(case.table, case.splits, worth, case.node, case.search.allowed, effort, case.search.state)
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


def regression(seed: int, size: int):
    """A choice with random weights, and a fit on some features of it."""
    case = Case(seed, "continuous", 1, n_rows=120, p=5)
    choice = decided(case.table, case.splits, case.worth(0.0), 1)
    score = case.table.XT[:size].T @ case.rng.normal(size=size) + case.rng.normal(size=len(choice.rows))
    extra = score * case.rng.uniform(0.1, 2.0, len(score))
    choice = choice._replace(extra=extra)
    fit = new_fit(choice, size)
    fit.size[0] = size
    fit.support[:size] = np.arange(size)
    weights = np.abs(extra)
    model = LogisticRegression(C=1 / (RIDGE * weights.sum()), tol=1e-10, max_iter=10_000)
    model.fit(case.table.XT[:size].T, extra > 0, sample_weight=weights)
    return case, choice, fit, np.append(model.coef_[0], model.intercept_)


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("seed", range(5))
def test_newton_steps_lead_to_the_logistic_regression_of_scikit_learn(seed, size):
    case, choice, fit, expected = regression(seed, size)
    assert len(choice.rows) == case.table.XT.shape[1]
    newton(case.table.XT, choice, fit, np.empty((size + 2, size + 2)))
    after_one = fit.beta[: size + 1].copy()
    large = np.abs(expected[:size]) > 0.2 * np.abs(expected[:size]).max()
    assert np.array_equal(np.sign(after_one[:size][large]), np.sign(expected[:size][large]))
    cosine = after_one[:size] @ expected[:size] / np.linalg.norm(after_one[:size]) / np.linalg.norm(expected[:size])
    assert cosine > 0.98
    for _ in range(30):
        newton(case.table.XT, choice, fit, np.empty((size + 2, size + 2)))
    np.testing.assert_allclose(fit.beta[: size + 1], expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("seed", range(4))
def test_score_statistics_point_to_the_feature_that_decides(seed):
    """Before any feature is in the fit, and not again once it is."""
    case, choice, fit, _ = regression(seed, 1)
    fit.size[0] = 0
    choice = choice._replace(extra=case.table.XT[3, choice.rows] + 0.1 * case.rng.normal(size=len(choice.rows)))
    forget(fit)
    newton(case.table.XT, choice, fit, np.empty((2, 2)))
    features = np.arange(5)
    assert np.argmax([score_statistic(case.table.XT, choice, j, fit) for j in features]) == 3
    assert extended(case.table.XT, choice, features, fit, np.empty((2, 2)))
    assert fit.support[0] == 3
    assert fit.beta[0] > 0
    assert screened(case.table.XT, choice, features, fit)[0] == 3


@given(size=st.integers(1, 6), seed=seeds)
def test_small_systems_are_solved_as_numpy_solves_them(size, seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(size, size))
    H, g = A @ A.T + np.eye(size), rng.normal(size=size)
    expected = np.linalg.solve(H, g)
    solve_positive(H, g, size)
    np.testing.assert_allclose(g, expected, atol=1e-9)
