"""Classes that meet totals, compared with integer programs over all rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, linear_sum_assignment, milp

from s2oct.guides.meeting_totals import meet_totals, overall
from s2oct.problem.totals import Margin, Targets

SEEDS = st.integers(0, 10_000)


def margin(codes, low, high=None):
    """A margin with bounds; exact totals if there is no upper bound."""
    low = np.asarray(low, dtype=float)
    high = low if high is None else np.asarray(high, dtype=float)
    value = np.where(low == high, low, np.nan)
    domains = np.arange(len(low)).astype(str).astype(object)
    return Margin("", domains, np.asarray(codes, dtype=np.int64), low, high, value, np.zeros_like(low))


def drawn_scores(rng, m, n_classes):
    """Log probabilities; every third draw has many equal ones."""
    scores = np.log(rng.dirichlet(np.full(n_classes, rng.choice([0.2, 1.0])), m) + 1e-9)
    return np.round(scores) if rng.integers(3) == 0 else scores


def counts_of(codes, classes, n_domains, n_classes, sizes=None):
    counts = np.zeros((n_domains, n_classes))
    np.add.at(counts, (codes, classes), 1.0 if sizes is None else sizes)
    return counts


def worth(scores, classes):
    return float(scores[np.arange(len(classes)), classes].sum())


def best_worth(scores, targets):
    """The largest sum of scores within all bounds, by HiGHS; None if the bounds contradict each other."""
    m, n_classes = scores.shape
    one_class = np.kron(np.eye(m), np.ones(n_classes))
    cells = np.zeros((targets.n_cells, m * n_classes))
    for first in targets.first_cells:
        for k in range(n_classes):
            cells[first + k, np.arange(m) * n_classes + k] = 1
    solved = milp(
        -scores.ravel(),
        integrality=np.ones(scores.size),
        bounds=Bounds(0, 1),
        constraints=[LinearConstraint(one_class, 1, 1), LinearConstraint(cells, targets.low, targets.high)],
    )
    return None if solved.x is None else -float(solved.fun)


# One margin, rows that count alike


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(1, 30), st.integers(2, 6))
def test_exact_totals_are_met_by_the_best_classes_there_are(seed, m, n_classes):
    rng = np.random.default_rng(seed)
    scores = drawn_scores(rng, m, n_classes)
    totals = rng.multinomial(m, rng.dirichlet(np.ones(n_classes)))
    found = meet_totals(scores, np.ones(m), Targets.exact(totals, m))
    assert np.bincount(found.classes, minlength=n_classes).tolist() == totals.tolist()
    columns = np.repeat(np.arange(n_classes), totals)
    rows, places = linear_sum_assignment(-scores[:, columns])
    assert worth(scores, found.classes) == pytest.approx(scores[rows, columns[places]].sum(), rel=1e-6, abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(1, 40), st.integers(2, 4), st.integers(1, 4))
def test_intervals_by_domain_are_met_by_the_best_classes_there_are(seed, m, n_classes, n_domains):
    rng = np.random.default_rng(seed)
    scores = drawn_scores(rng, m, n_classes)
    codes = rng.integers(0, n_domains, m)
    some = counts_of(codes, rng.integers(0, n_classes, m), n_domains, n_classes)
    low = np.maximum(some - rng.integers(0, 4, some.shape), 0)
    high = some + rng.integers(0, 4, some.shape)
    targets = Targets((margin(codes, low, high),))
    found = meet_totals(scores, np.ones(m), targets)
    assert targets.rows_off(found.classes, np.ones(m)) == 0
    assert worth(scores, found.classes) == pytest.approx(best_worth(scores, targets), rel=1e-6, abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(1, 40), st.integers(2, 4), st.integers(1, 4))
def test_multipliers_and_scores_lead_to_the_classes(seed, m, n_classes, n_domains):
    """Under the multipliers no row prefers another class, but for rows with equal scores."""
    rng = np.random.default_rng(seed)
    scores = drawn_scores(rng, m, n_classes)
    codes = rng.integers(0, n_domains, m)
    targets = Targets((margin(codes, counts_of(codes, rng.integers(0, n_classes, m), n_domains, n_classes)),))
    found = meet_totals(scores, np.ones(m), targets)
    shifted = scores + found.multipliers[0][codes]
    assert (shifted.max(axis=1) - shifted[np.arange(m), found.classes]).max() < 1e-7
    assert (found.shifted.argmax(axis=1) == found.classes).all()


def test_bounds_that_the_likeliest_classes_meet_leave_the_scores_as_they_are():
    rng = np.random.default_rng(0)
    scores = drawn_scores(rng, 50, 3)
    counts = np.bincount(scores.argmax(axis=1), minlength=3)
    found = meet_totals(scores, np.ones(50), Targets((margin(np.zeros(50), [counts - 2], [counts + 2]),)))
    assert (found.classes == scores.argmax(axis=1)).all()
    assert found.multipliers[0].tolist() == [[0, 0, 0]]


def test_two_classes_are_cut_in_the_middle_between_the_last_row_above_and_the_next():
    scores = np.column_stack([np.zeros(5), [3.0, 1.0, 0.5, -0.5, -2.0]])
    found = meet_totals(scores, np.ones(5), Targets.exact([3, 2], 5))
    assert found.classes.tolist() == [1, 1, 0, 0, 0]
    assert np.diff(found.multipliers[0][0]) == pytest.approx(-0.75)


def test_of_two_classes_the_first_ones_of_equal_rows_get_the_higher_class():
    found = meet_totals(np.zeros((6, 2)), np.ones(6), Targets.exact([4, 2], 6))
    assert found.classes.tolist() == [1, 1, 0, 0, 0, 0]


def test_equal_rows_are_given_out_to_all_classes():
    found = meet_totals(np.zeros((6, 3)), np.ones(6), Targets.exact([3, 2, 1], 6))
    assert np.bincount(found.classes).tolist() == [3, 2, 1]
    assert found.multipliers[0].tolist() == [[0, 0, 0]]
    assert (found.shifted.argmax(axis=1) == found.classes).all()


@pytest.mark.parametrize(
    ("low", "high", "met"),
    [
        ([6, 6, 0], [6, 6, 0], [4, 4, 0]),
        ([1, 1, 1], [2, 2, 2], [3, 3, 2]),
        ([8, 0, 0], [8, 8, 8], [8, 0, 0]),
        ([2.4, 2.4, 3.2], [2.4, 2.4, 3.2], [3, 2, 3]),
        ([0, 0, 0], [0, 0, 0], [3, 3, 2]),
    ],
    ids=["too many", "too few", "all in one", "parts of rows", "nothing"],
)
def test_totals_that_the_rows_contradict_are_met_as_nearly_as_possible(low, high, met):
    scores = drawn_scores(np.random.default_rng(1), 8, 3)
    found = meet_totals(scores, np.ones(8), Targets((margin(np.zeros(8), [low], [high]),)))
    assert np.bincount(found.classes, minlength=3).tolist() == met


def test_a_domain_without_rows_does_no_harm():
    scores = drawn_scores(np.random.default_rng(1), 4, 3)
    found = meet_totals(scores, np.ones(4), Targets((margin([0, 0, 2, 2], [[1, 1, 0], [3, 0, 0], [0, 0, 2]]),)))
    assert counts_of([0, 0, 2, 2], found.classes, 3, 3).tolist() == [[1, 1, 0], [0, 0, 0], [0, 0, 2]]


def test_no_rows_get_no_classes():
    found = meet_totals(np.empty((0, 3)), np.empty(0), Targets.exact([0, 0, 0], 0))
    assert found.classes.shape == (0,)
    assert found.shifted.shape == (0, 3)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_many_rows_meet_the_totals_of_many_domains(n_classes):
    """More rows than the multipliers are settled with first; some classes are rare in some domains."""
    rng = np.random.default_rng(0)
    scores = np.log(rng.dirichlet(np.ones(n_classes), 8000) + 1e-3)
    codes = rng.integers(0, 12, 8000)
    totals = [rng.multinomial(n, rng.dirichlet(np.full(n_classes, 0.5))) for n in np.bincount(codes)]
    targets = Targets((margin(codes, totals),))
    assert targets.rows_off(meet_totals(scores, np.ones(8000), targets).classes, np.ones(8000)) == 0


# Several margins


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.integers(4, 40), st.integers(2, 4))
def test_two_margins_that_can_be_met_are_met_at_nearly_the_least_loss(seed, m, n_classes):
    rng = np.random.default_rng(seed)
    scores = drawn_scores(rng, m, n_classes)
    hidden = np.where(rng.random(m) < 0.8, scores.argmax(axis=1), rng.integers(0, n_classes, m))
    codes = [rng.integers(0, 3, m), rng.integers(0, 2, m)]
    targets = Targets(
        tuple(margin(each, counts_of(each, hidden, n, n_classes)) for each, n in zip(codes, (3, 2), strict=True))
    )
    found = meet_totals(scores, np.ones(m), targets)
    assert targets.rows_off(found.classes, np.ones(m)) == 0
    best = best_worth(scores, targets)
    assert worth(scores, found.classes) >= best - 0.1 * abs(best) - 1e-6
    assert (found.shifted.argmax(axis=1) == found.classes).all()


def test_two_margins_of_many_rows_are_met():
    rng = np.random.default_rng(2)
    m = 5000
    scores = np.log(rng.dirichlet(np.ones(3), m) + 1e-3)
    hidden = (scores + rng.gumbel(size=(m, 3)) + np.array([0.5, 0.0, -0.5])).argmax(axis=1)
    codes = [rng.integers(0, 8, m), rng.integers(0, 5, m)]
    targets = Targets(tuple(margin(each, counts_of(each, hidden, each.max() + 1, 3)) for each in codes))
    assert targets.rows_off(meet_totals(scores, np.ones(m), targets).classes, np.ones(m)) == 0


# Rows that count differently


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.integers(20, 80), st.integers(2, 4), st.integers(1, 3))
def test_weighted_counts_are_off_by_no_more_than_half_the_largest_row(seed, m, n_classes, n_domains):
    rng = np.random.default_rng(seed)
    scores = drawn_scores(rng, m, n_classes)
    sizes = rng.uniform(0.5, 3.0, m)
    codes = np.arange(m) % n_domains
    hidden = np.where(rng.random(m) < 0.7, scores.argmax(axis=1), rng.integers(0, n_classes, m))
    totals = counts_of(codes, hidden, n_domains, n_classes, sizes)
    found = meet_totals(scores, sizes, Targets((margin(codes, totals),)))
    off = np.abs(counts_of(codes, found.classes, n_domains, n_classes, sizes) - totals)
    assert off.max() <= 0.5 * sizes.max()


def test_uniform_sizes_change_nothing():
    rng = np.random.default_rng(5)
    scores = drawn_scores(rng, 60, 3)
    plain = meet_totals(scores, np.ones(60), Targets.exact([10, 20, 30], 60))
    doubled = meet_totals(scores, np.full(60, 2.5), Targets.exact([25, 50, 75], 60))
    assert (plain.classes == doubled.classes).all()


# Parts


def test_totals_of_all_domains_together_are_their_sums():
    targets = Targets((margin([0, 0, 1], [[1, 0, 1], [0, 1, 0]], [[2, 0, 1], [1, 1, 1]]),))
    together = overall(targets)
    assert together.low.tolist() == [1, 1, 1]
    assert together.high.tolist() == [3, 1, 2]
    assert together.margins[0].codes.tolist() == [0, 0, 0]
