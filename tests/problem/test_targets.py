"""Margins and targets against plain loops over rows and cells."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2oct.problem.totals import Margin, Targets


@st.composite
def problems(draw):
    """Targets with one to three margins, classes of the rows, and sizes of the rows."""
    n_classes, m = draw(st.integers(2, 4)), draw(st.integers(0, 12))
    margins = tuple(draw(margins_of(f"margin {k}", n_classes, m)) for k in range(draw(st.integers(1, 3))))
    classes = np.array(draw(st.lists(st.integers(0, n_classes - 1), min_size=m, max_size=m)), dtype=np.int64)
    sizes = np.array(draw(st.lists(st.integers(0, 8), min_size=m, max_size=m)), dtype=float) / 4
    return Targets(margins), classes, sizes


@st.composite
def margins_of(draw, name, n_classes, m):
    n_domains = draw(st.integers(1, 3))
    codes = np.array(draw(st.lists(st.integers(0, n_domains - 1), min_size=m, max_size=m)), dtype=np.int64)
    n_cells = n_domains * n_classes
    ends = draw(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=n_cells, max_size=n_cells))
    low, high = np.sort(np.array(ends, dtype=float), axis=1).T.reshape(2, n_domains, n_classes) / 2
    domains = np.array([f"domain {k}" for k in range(n_domains)], dtype=object)
    return Margin(name, domains, codes, low, high, np.where(low == high, low, np.nan), np.zeros_like(low))


def counted(margin, classes, sizes, domain, label):
    return sum(s for d, c, s in zip(margin.codes, classes, sizes, strict=True) if d == domain and c == label)


@given(problems())
def test_counts_are_those_of_a_loop(problem):
    targets, classes, sizes = problem
    for margin in targets.margins:
        found = margin.counts(classes, sizes)
        assert found.shape == (margin.n_domains, targets.n_classes)
        for d, k in np.ndindex(*found.shape):
            assert found[d, k] == counted(margin, classes, sizes, d, k)


@given(problems())
def test_rows_off_are_the_larger_of_too_many_and_too_few_in_each_domain(problem):
    targets, classes, sizes = problem
    off = 0.0
    for margin in targets.margins:
        for d in range(margin.n_domains):
            over = under = 0.0
            for k in range(targets.n_classes):
                n = counted(margin, classes, sizes, d, k)
                over += max(n - margin.high[d, k], 0)
                under += max(margin.low[d, k] - n, 0)
            off += max(over, under)
    assert targets.rows_off(classes, sizes) == pytest.approx(off)


@given(problems())
def test_the_excess_of_a_cell_is_0_within_its_bounds_only(problem):
    targets, classes, sizes = problem
    for margin in targets.margins:
        counts = margin.counts(classes, sizes)
        excess = margin.excess(counts)
        within = (margin.low <= counts) & (counts <= margin.high)
        assert ((excess == 0) == within).all()
        assert (np.clip(counts, margin.low, margin.high) == counts - excess).all()


@given(problems())
def test_a_cell_is_the_first_cell_of_the_domain_and_the_class(problem):
    targets, classes, sizes = problem
    tally = np.zeros(targets.n_cells)
    for cells in targets.first_cells:
        np.add.at(tally, cells + classes, sizes)
    counts = np.concatenate([margin.counts(classes, sizes).ravel() for margin in targets.margins])
    assert tally == pytest.approx(counts)
    assert len(targets.low) == len(targets.high) == targets.n_cells


@given(problems(), st.randoms(use_true_random=False))
def test_the_targets_of_some_rows_have_the_domains_of_these_rows(problem, random):
    targets, classes, sizes = problem
    rows = np.array([row for row in range(len(classes)) if random.random() < 0.5], dtype=np.int64)
    kept = np.zeros(len(classes))
    kept[rows] = sizes[rows]
    assert targets.of_rows(rows).rows_off(classes[rows], sizes[rows]) == pytest.approx(targets.rows_off(classes, kept))


@given(problems(), st.sampled_from([0.5, 2.0, 8.0]))
def test_another_unit_divides_rows_off(problem, unit):
    targets, classes, sizes = problem
    assert targets.over(unit).rows_off(classes, sizes / unit) == pytest.approx(targets.rows_off(classes, sizes) / unit)


def test_one_domain_with_known_totals_is_plain():
    plain = Targets.exact([4, 2], 6)
    assert plain.is_plain
    assert plain.class_totals().tolist() == [4, 2]
    assert plain.rows_off(np.array([0, 0, 0, 1, 1, 1]), np.ones(6)) == 1
    assert not Targets(plain.margins * 2).is_plain


def test_class_totals_of_bounds_are_their_middle():
    low, high = np.array([[1.0, 3.0], [0.0, 2.0]]), np.array([[3.0, 3.0], [0.0, 4.0]])
    value = np.array([[math.nan, 3.0], [0.0, math.nan]])
    margin = Margin("", np.array(["a", "b"], dtype=object), np.zeros(3, dtype=np.int64), low, high, value, 0 * low)
    assert Targets((margin,)).class_totals().tolist() == [2, 6]
    assert not Targets((margin,)).is_plain
