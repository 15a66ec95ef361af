"""The test of held-out votes against chance: exact moments, and what it says of noise and of signal."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import mannwhitneyu, rankdata

from s2oct.guides import asking
from s2oct.guides.asking import chance_of_rows, chance_of_votes
from s2oct.stopping import NO_DEADLINE, Deadline, now


@pytest.mark.parametrize("seed", range(5))
def test_with_two_classes_it_is_the_rank_sum_test(seed):
    rng = np.random.default_rng(seed)
    codes = np.repeat([0, 1], [12, 17])
    votes = np.round(rng.random((29, 1)) + 0.2 * codes[:, None], 1)
    ones, others = votes[codes == 1, 0], votes[codes == 0, 0]
    settings = {"use_continuity": False, "alternative": "greater", "method": "asymptotic"}
    expected = mannwhitneyu(ones, others, **settings).pvalue
    assert chance_of_votes(votes, codes) == pytest.approx(expected, rel=1e-9)


def test_mean_and_variance_are_those_of_all_permutations(monkeypatch):
    monkeypatch.setattr(asking, "FEW_LABELS", 2)
    codes, votes = np.array([0, 0, 0, 1, 1, 2, 2]), np.random.default_rng(1).random((7, 3))
    ranks = rankdata(votes, axis=0)

    def statistic(order) -> float:
        return sum(ranks[order == k, k].mean() for k in range(3))

    every = [statistic(codes[list(order)]) for order in permutations(range(7))]
    expected = ndtr((np.mean(every) - statistic(codes)) / np.std(every))
    assert chance_of_votes(votes, codes) == pytest.approx(expected)


def test_classes_with_fewer_than_ten_labels_do_not_take_part():
    rng = np.random.default_rng(2)
    codes = np.repeat([0, 1, 2], [15, 15, 9])
    votes = rng.random((39, 3))
    some = codes < 2
    assert chance_of_votes(votes, codes) == chance_of_votes(votes[some], codes[some])
    assert chance_of_votes(votes, np.repeat([0, 1], [30, 9])[:39]) is None


def test_votes_that_are_all_equal_say_nothing():
    assert chance_of_votes(np.full((30, 1), 0.5), np.repeat([0, 1], 15)) == 1.0


def test_forests_tell_signal_from_noise():
    rng = np.random.default_rng(3)
    rows, codes = rng.normal(size=(80, 4)), np.repeat([0, 1], 40)
    assert chance_of_rows(rows, codes, 0, NO_DEADLINE) > 0.15
    rows[:, 2] += 2 * codes
    assert chance_of_rows(rows, codes, 0, NO_DEADLINE) < 1e-4


def test_of_many_labels_some_are_looked_at_the_same_ones_every_time(monkeypatch):
    monkeypatch.setattr(asking, "CHANCE_ROWS", 60)
    rng = np.random.default_rng(4)
    rows, codes = rng.normal(size=(200, 2)), np.tile([0, 1], 100)
    assert chance_of_rows(rows, codes, 7, NO_DEADLINE) == chance_of_rows(rows, codes, 7, NO_DEADLINE)


def test_after_the_deadline_nothing_is_said():
    rows, codes = np.random.default_rng(5).normal(size=(40, 2)), np.tile([0, 1], 20)
    assert chance_of_rows(rows, codes, 0, Deadline(now() - 1.0)) is None
