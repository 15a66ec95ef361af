"""A register: which rows its sample has, and which totals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from s2oct.fit.register import Register
from s2oct.problem.known import read_known
from tests.fit.register_tables import N_LABELED, sample_of, table


def test_a_sample_has_all_labeled_rows_and_totals_in_proportion() -> None:
    small = table()
    register = small.register(most=150)
    labels, problem = register.known.labels, sample_of(register)
    assert labels.is_labeled.sum() == N_LABELED
    assert len(register.rows) == N_LABELED + 150
    assert np.array_equal(small.X[register.positions], register.rows)
    assert problem.totals.sum() == 150
    assert abs(problem.totals[0] / 150 - small.totals["A"] / 1960) <= 1 / 150


def test_a_sample_is_random_by_its_seed_alone() -> None:
    small = table()
    one, other = (Register.of_arrays(small.X, small.known, seed, most=100).positions for seed in (0, 1))
    again = Register.of_arrays(small.X, small.known, 0, most=100).positions
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)
    assert 800 < np.mean(one[N_LABELED:]) < 1250


def test_bounds_become_whole_rows_outwards_and_every_domain_keeps_its_share() -> None:
    small = table()
    region = np.array(["north", "south"])[(np.arange(2000) >= 500).astype(int)]
    totals = {"north": {"A": (100, 101)}, "south": {"A": 700}}
    register = replace(small, totals=totals, options={"domains": region}).register(most=150)
    margin = register.known.targets.margins[0]
    rows = np.bincount(margin.codes)
    assert (margin.low == np.round(margin.low)).all()
    assert margin.low[0, 0] <= 100 * rows[0] / 460 <= 101 * rows[0] / 460 <= margin.high[0, 0]
    assert margin.low[1].sum() == margin.high[1].sum() == rows[1]


def test_three_classes_and_weights_keep_their_sums() -> None:
    small = table()
    y = small.y.copy()
    y[:5] = "C"
    weights = np.linspace(1, 3, 2000)
    in_all = float(weights[N_LABELED:].sum())
    known = read_known(small.X, y, {"A": 0.5 * in_all, "C": 0.1 * in_all}, None, sample_weight=weights)
    problem = sample_of(Register.of_arrays(small.X, known, seed=0, most=150))
    assert np.isclose(problem.totals.sum(), problem.unlabeled_size.sum())
    assert np.allclose(problem.totals / problem.totals.sum(), [0.5, 0.4, 0.1])
