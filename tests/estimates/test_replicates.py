"""Replicates: what is drawn anew, what stays, and what is held out."""

from dataclasses import replace

import numpy as np
import pytest

from s2oct.estimates.replicates import Drawing, drawn_change, replicate
from s2oct.problem.labels import UNLABELED
from s2oct.problem.totals import Margin, Targets
from tests.estimates.nearest_mean import NearestMean, same


def test_the_same_seed_and_number_give_the_same_replicate_in_any_order():
    fit = NearestMean.example()
    forwards = [fit.replicate(3, number) for number in range(4)]
    backwards = [fit.replicate(3, number) for number in reversed(range(4))][::-1]
    assert all(map(same, forwards, backwards))


def test_other_numbers_and_other_seeds_give_other_replicates():
    fit = NearestMean.example()
    drawn = {tuple(fit.replicate(seed, number).drawn) for seed in range(3) for number in range(3)}
    assert len(drawn) == 9


def test_held_out_rows_are_the_labeled_rows_that_were_not_drawn():
    fit = NearestMean.example()
    found = fit.replicate(0, 0)
    held_out = found.drawn == 0
    assert 0 < held_out.sum() < len(held_out)
    assert ((found.held_out_classes != UNLABELED) == held_out).all()
    assert (np.isfinite(found.held_out_probabilities).all(axis=1) == held_out).all()
    assert np.isnan(found.held_out_probabilities[~held_out]).all()


def test_a_replicate_is_fitted_to_the_drawn_rows_as_often_as_they_were_drawn_and_to_all_unlabeled_rows():
    fit = NearestMean.example()
    seen = []

    def refit(chosen, factors, targets, seed):
        assert factors is None
        seen.append(chosen)
        return fit.refit(chosen, factors, targets, seed)

    found = replicate(fit.codes, fit.targets, refit, Drawing(), seed=0, number=0)
    labeled, unlabeled = np.flatnonzero(fit.codes != UNLABELED), np.flatnonzero(fit.codes == UNLABELED)
    times = np.bincount(seen[0], minlength=len(fit.codes))
    assert times[labeled].tolist() == found.drawn.tolist()
    assert times[unlabeled].tolist() == [1] * len(unlabeled)
    # The codes of domains of a margin belong to the unlabeled rows in their order.
    assert seen[0][-len(unlabeled) :].tolist() == unlabeled.tolist()


def test_estimated_totals_are_drawn_anew_and_exact_ones_and_bounds_are_not():
    one, nothing = np.array([[20.0, 20.0]]), np.array([[np.nan, np.nan]])
    exact = Margin.exact([20, 20], 40)
    bounded = replace(exact, low=one - 5, high=one + 5, value=nothing)
    estimated = replace(exact, low=one - 5, high=one + 5, se=np.array([[2.0, 2.0]]))
    given = Targets((exact, bounded, estimated))
    drawn = given.shifted(drawn_change(given, np.random.default_rng(0)))
    for before, after in zip((exact, bounded), drawn.margins, strict=False):
        assert after.low.tolist() == before.low.tolist()
        assert after.high.tolist() == before.high.tolist()
    change = drawn.margins[2].value - estimated.value
    assert (change != 0).all()
    assert drawn.margins[2].low - estimated.low == pytest.approx(change)
    assert drawn.margins[2].high - estimated.high == pytest.approx(change)


def test_drawn_totals_have_the_spread_of_their_standard_errors():
    margin = replace(Margin.exact([1000, 1000], 2000), se=np.array([[30.0, 0.0]]))
    rng = np.random.default_rng(0)
    targets = Targets((margin,))
    drawn = np.array([targets.shifted(drawn_change(targets, rng)).margins[0].value[0] for _ in range(2000)])
    assert drawn[:, 0].mean() == pytest.approx(1000, abs=3)
    assert drawn[:, 0].std() == pytest.approx(30, rel=0.05)
    assert (drawn[:, 1] == 1000).all()
