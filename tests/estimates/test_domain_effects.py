"""Effects of domains: what labeled rows shift, and what is left open."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from s2oct.estimates.estimating import (
    DEFAULTS,
    domain_effects,
    labeled_errors,
    spread_of_shares,
    variance_from_labels,
)

variances_of_four = arrays(float, 4, elements=st.floats(1e-4, 1.0))
errors_of_four = arrays(float, 4, elements=st.floats(-0.5, 0.5))
spreads = st.floats(0.0, 0.3)


@given(variances_of_four, spreads)
def test_errors_of_0_shift_nothing(variances, spread):
    assert domain_effects(np.zeros(4), variances, spread, 40)[0].tolist() == [0.0] * 4


@given(errors_of_four, variances_of_four, spreads)
def test_a_shift_goes_towards_the_error_and_never_beyond_it(errors, variances, spread):
    shift = domain_effects(errors, variances, spread, 40)[0]
    assert (shift * errors >= 0).all()
    assert (np.abs(shift) <= np.abs(errors)).all()


@given(errors_of_four, variances_of_four, spreads)
def test_effects_are_those_of_a_loop_over_the_values_of_tau(errors, variances, spread):
    weights, shifts, left = [], [], []
    for tau in DEFAULTS.spreads:
        likelihood = np.exp(-tau / (DEFAULTS.prior_spread / 40**0.5 + DEFAULTS.prior_slope * spread))
        for error, variance in zip(errors, variances, strict=True):
            total = variance + tau**2
            likelihood *= np.exp(-0.5 * error**2 / total) / np.sqrt(total)
        weights.append(likelihood)
        shifts.append([e * tau**2 / (v + tau**2) for e, v in zip(errors, variances, strict=True)])
        left.append([tau**2 * v / (v + tau**2) for v in variances])
    shift, variance = domain_effects(errors, variances, spread, 40)
    assert shift == pytest.approx(np.average(shifts, axis=0, weights=weights))
    assert variance == pytest.approx(np.average(left, axis=0, weights=weights))


def test_a_domain_without_labeled_rows_is_not_shifted_and_is_less_certain():
    errors, variances = np.array([0.3, -0.3, 0.3, 0.0]), np.array([0.001, 0.001, 0.001, np.inf])
    shift, variance = domain_effects(errors, variances, 0.1, 40)
    assert shift[3] == 0
    assert variance[3] > 10 * variance[:3].max()


def test_huge_labeled_evidence_moves_an_estimate_to_it():
    errors = np.array([0.2, -0.1, 0.05])
    shift, variance = domain_effects(errors, np.full(3, 1e-9), 0.1, 40)
    assert shift == pytest.approx(errors, abs=1e-4)
    assert variance == pytest.approx(np.zeros(3), abs=1e-6)


def test_tau_grows_with_the_errors():
    """A domain without labels has the variance that tau leaves, so it shows how large tau is believed to be."""
    variances = np.array([0.01, 0.01, 0.01, np.inf])
    left = [domain_effects(size * np.array([1.0, -1.0, 1.0, 0]), variances, 0.1, 40)[1][3] for size in (0, 0.2, 0.4)]
    assert left[0] < left[1] < left[2]


def test_tau_grows_with_the_spread_of_the_domains():
    nothing = np.full(3, np.inf)
    left = [domain_effects(np.zeros(3), nothing, spread, 40)[1][0] for spread in (0.0, 0.1, 0.3)]
    assert left[0] < left[1] < left[2]


def test_more_labels_leave_less_to_domains_that_have_nothing_to_do_with_the_classes():
    nothing = np.full(3, np.inf)
    left = [domain_effects(np.zeros(3), nothing, 0.0, n_labels)[1][0] for n_labels in (1000, 100, 10)]
    assert left[0] < left[1] < left[2]


@pytest.mark.parametrize("spread", [0.0, 0.2])
def test_a_hundred_times_as_many_labels_make_the_fit_ten_times_as_exact(spread):
    assert variance_from_labels(spread, 50) == pytest.approx(100 * variance_from_labels(spread, 5000))


@st.composite
def rows_of_domains(draw):
    n_domains, n = draw(st.integers(1, 4)), draw(st.integers(0, 12))
    codes = np.array(draw(st.lists(st.integers(0, n_domains - 1), min_size=n, max_size=n)), dtype=np.int64)
    observed = draw(arrays(float, n, elements=st.integers(0, 1)))
    predicted = draw(arrays(float, n, elements=st.integers(0, 20))) / 20
    importance = draw(arrays(float, n, elements=st.integers(1, 8))) / 4
    return observed, predicted, importance, codes, n_domains


@given(rows_of_domains())
def test_errors_of_labeled_rows_are_those_of_a_loop(rows):
    observed, predicted, importance, codes, n_domains = rows
    errors, variances = labeled_errors(*rows)
    everybody = sum(w * (o - p) for w, o, p in zip(importance, observed, predicted, strict=True)) / max(
        sum(importance), 1e-300
    )
    for d in range(n_domains):
        here = [i for i in range(len(codes)) if codes[i] == d]
        if not here:
            assert errors[d] == 0
            assert variances[d] == np.inf
            continue
        total = sum(importance[i] for i in here)
        mean = sum(importance[i] * (observed[i] - predicted[i]) for i in here) / total
        assert errors[d] == pytest.approx(mean - everybody, abs=1e-12)
        noise = sum(importance[i] ** 2 * max(predicted[i] * (1 - predicted[i]), DEFAULTS.least_variance) for i in here)
        assert variances[d] == pytest.approx(noise / total**2)


def test_one_domain_has_no_spread():
    assert spread_of_shares(np.array([0.1, 0.9]), np.ones(2), np.ones(2), np.zeros(2, dtype=np.int64), 1) == 0


def test_domains_of_rows_dealt_at_random_have_hardly_any_spread_and_different_ones_have_theirs():
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(10), 100)
    dealt = rng.random(1000)
    assert spread_of_shares(dealt, np.ones(1000), np.ones(1000), codes, 10) < 0.03
    apart = np.where(codes < 5, 0.2, 0.8)
    assert spread_of_shares(apart, np.ones(1000), np.ones(1000), codes, 10) == pytest.approx(
        0.3 * np.sqrt(10 / 9), abs=0.01
    )


def test_a_domain_without_unlabeled_rows_does_not_count():
    codes = np.array([0, 0, 2, 2])
    with_gap = spread_of_shares(np.array([0.0, 0.1, 0.9, 1.0]), np.ones(4), np.ones(4), codes, 3)
    assert with_gap == spread_of_shares(np.array([0.0, 0.1, 0.9, 1.0]), np.ones(4), np.ones(4), codes // 2, 2)
