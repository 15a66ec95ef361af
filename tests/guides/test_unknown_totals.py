"""Totals that nobody knows: estimated under the assumption that labeling depends on the class alone."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp, softmax
from sklearn.linear_model import LogisticRegression

from s2oct import S2OCTClassifier, stopping
from s2oct.errors import InvalidProblem
from s2oct.guides.unknown_totals import ShareParams, calibrate, maximise_shares, with_estimated_totals
from s2oct.problem.known import read_known
from s2oct.stopping import Deadline
from tests.messages import names, naming

CENTRES = np.array([[0.0, 0.0], [2.5, 0.0], [0.0, 2.5]])


def shifted_table(labeled_by_class, unlabeled_by_class, seed=0):
    """Normal clouds, one for each class: rows, labels with gaps, and true classes."""
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.repeat(np.arange(len(n)), n) for n in (labeled_by_class, unlabeled_by_class)])
    X = CENTRES[codes] + rng.normal(size=(len(codes), 2))
    y = np.array(["a", "b", "c"], dtype=object)[codes]
    y[sum(labeled_by_class) :] = None
    return X, y, codes


def estimated(X, y, totals="estimate", seed=0, **more):
    return with_estimated_totals(read_known(X, y, totals, more.pop("population_totals", None), **more), X, seed)


def shares_and_errors(known):
    margin = known.targets.margins[0]
    return margin.value, margin.se


def random_likelihoods(seed, n_rows=80, n_classes=3):
    rng = np.random.default_rng(seed)
    return rng.normal(scale=1.5, size=(n_rows, n_classes)), rng.uniform(0.5, 2, size=n_rows)


@pytest.mark.parametrize("seed", range(5))
def test_shares_are_those_of_a_direct_maximisation_of_the_likelihood(seed):
    """Oracle: a general optimiser over all shares, without expectation-maximisation."""
    (logs_of_rows, sizes), prior = random_likelihoods(seed), np.array([1.0, 2.0, 0.5])

    def against(free):
        logs = log_softmax(np.append(free, 0.0))
        return -sizes @ logsumexp(logs_of_rows + logs, axis=1) - prior @ logs

    best = softmax(np.append(minimize(against, np.zeros(2), tol=1e-10).x, 0.0))
    one_domain = np.zeros(len(sizes), dtype=np.int64)
    found = maximise_shares(logs_of_rows, sizes, one_domain, prior[None], np.full((1, 3), np.nan))
    assert found[0] == pytest.approx(best, abs=1e-3)


def test_known_shares_stay_and_the_others_are_the_best_beside_them():
    """Oracle: all values of the one share that is left, tried."""
    (logs_of_rows, sizes), prior = random_likelihoods(1), np.ones(3)
    one_domain = np.zeros(len(sizes), dtype=np.int64)
    found = maximise_shares(logs_of_rows, sizes, one_domain, prior[None], np.array([[0.4, np.nan, np.nan]]))[0]
    values = np.linspace(0.0005, 0.5995, 1200)

    def worth(share):
        shares = np.array([0.4, share, 0.6 - share])
        return sizes @ np.log(np.exp(logs_of_rows) @ shares) + prior @ np.log(shares)

    assert found[0] == 0.4
    assert found[1] == pytest.approx(values[np.argmax([worth(value) for value in values])], abs=2e-3)


def test_domains_are_maximised_apart():
    (logs_of_rows, sizes), rng = random_likelihoods(2), np.random.default_rng(3)
    codes, free = rng.integers(3, size=len(sizes)), np.full((3, 3), np.nan)
    together = maximise_shares(logs_of_rows, sizes, codes, np.ones((3, 3)), free)
    for domain in range(3):
        here = codes == domain
        part = logs_of_rows[here], sizes[here]
        alone = maximise_shares(*part, np.zeros(here.sum(), dtype=np.int64), np.ones((1, 3)), free[:1])
        assert together[domain] == pytest.approx(alone[0], abs=1e-3)


def test_calibration_is_a_logistic_regression_when_its_slope_is_free():
    """Oracle: scikit-learn's logistic regression without a penalty."""
    rng = np.random.default_rng(0)
    codes, weights = rng.integers(2, size=200), rng.uniform(0.5, 2, size=200)
    scores = np.column_stack([np.zeros(200), 1.5 * codes - 0.7 + rng.normal(size=200)])
    slope, offsets = calibrate(scores, codes, weights, ShareParams(slope_sd=1e4))
    peer = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(scores[:, 1:], codes, weights)
    share = weights[codes == 1].sum() / weights.sum()
    assert slope == pytest.approx(peer.coef_[0, 0], rel=1e-3)
    assert offsets[1] - offsets[0] + np.log(share / (1 - share)) == pytest.approx(peer.intercept_[0], abs=1e-3)


def test_scores_that_contradict_the_labels_count_for_nothing():
    codes = np.repeat([0, 1], 50)
    scores = np.column_stack([codes, 1 - codes]).astype(float)
    slope, offsets = calibrate(scores, codes, np.ones(100))
    assert slope == 0.0
    assert not offsets.any()


@pytest.mark.parametrize("seed", range(4))
def test_a_biased_sample_does_not_bias_the_estimate(seed):
    """Half of the labels are of each class, and a fifth of the other rows are of the second class."""
    X, y, codes = shifted_table((60, 60), (400, 100), seed)
    (value,), (se,) = shares_and_errors(estimated(X, y))
    assert value.sum() == pytest.approx(500)
    assert abs(value[1] - 100) < min(3 * se[1], 60)
    assert abs(value[1] - 100) < 150 - 60  # labels alone are 150 rows off
    assert codes[120:].sum() == 100


def test_more_labels_make_estimates_more_certain():
    errors = [shares_and_errors(estimated(*shifted_table((n, n), (300, 200))[:2]))[1][0, 0] for n in (10, 40, 300)]
    assert errors[0] > errors[1] > errors[2] > 0


def test_features_that_say_nothing_give_equal_shares_and_a_large_error():
    X, y, _ = shifted_table((100, 20), (100, 100))
    noise = np.random.default_rng(5).normal(size=X.shape)
    (value,), (se,) = shares_and_errors(estimated(noise, y))
    assert value[0] == pytest.approx(100, abs=2 * se[0])
    assert se[0] > 15


def test_a_known_total_is_kept_and_the_others_are_estimated_beside_it():
    X, y, codes = shifted_table((40, 40, 40), (300, 60, 140))
    known = estimated(X, y, {"a": 300, "b": "estimate", "c": "estimate"})
    (value,), (se,) = shares_and_errors(known)
    assert value[0] == 300
    assert se[0] == 0
    assert value.sum() == pytest.approx(500)
    assert abs(value[1] - (codes[120:] == 1).sum()) < 3 * se[1]


def test_the_last_open_class_follows_from_the_others():
    X, y, _ = shifted_table((20, 20), (60, 40))
    known = estimated(X, y, {"a": 60, "b": "estimate"})
    assert known.targets.is_plain
    assert known.targets.low.tolist() == [60, 40]
    assert known.stated.tables == ({"": {"a": 60}},)


def test_domains_have_estimates_of_their_own_and_known_ones_are_kept():
    X, y, codes = shifted_table((60, 60), (400, 400))
    rng = np.random.default_rng(1)
    chance = np.where(codes == 0, 0.8, 0.2)
    domains = np.where(rng.random(len(codes)) < chance, "north", "south").astype(object)
    domains[-100:] = "west"
    totals = {"north": "estimate", "south": "estimate", "west": {"a": 0, "b": 100}}
    known = estimated(X, y, totals, domains=domains)
    value, se = shares_and_errors(known)
    assert known.targets.margins[0].domains.tolist() == ["north", "south", "west"]
    assert value[2].tolist() == [0, 100]
    for place, name in enumerate(("north", "south")):
        here = (domains == name) & (np.arange(len(codes)) >= 120)
        assert value[place].sum() == pytest.approx(here.sum())
        assert abs(value[place, 0] - (codes[here] == 0).sum()) < 3 * se[place, 0]
    assert value[0, 0] / value[0].sum() > value[1, 0] / value[1].sum()


def test_the_units_of_totals_do_not_change_an_estimate():
    X, y, _ = shifted_table((30, 30, 30), (100, 60, 40))
    share = {"a": 0.5, "b": "estimate", "c": "estimate"}
    all_rows = {"a": 130, "b": "estimate", "c": "estimate"}
    counts = estimated(X, y, {"a": 100, "b": "estimate", "c": "estimate"})
    shares = estimated(X, y, share, as_shares=True)
    population = estimated(X, y, None, population_totals=all_rows)
    for other in (shares, population):
        for own, its in zip(shares_and_errors(counts), shares_and_errors(other), strict=True):
            assert its == pytest.approx(own)


def test_weights_count_rows_as_often_as_they_weigh():
    X, y, _ = shifted_table((40, 40), (200, 200))
    weights = np.where(np.arange(480) < 280, 1.0, 3.0)  # unlabeled rows of the second class weigh three times as much
    (plain,), _ = shares_and_errors(estimated(X, y))
    (value,), _ = shares_and_errors(estimated(X, y, sample_weight=weights))
    assert value.sum() == pytest.approx(800)
    assert value[1] / 800 > plain[1] / 400 + 0.1


def test_minus_one_still_marks_unlabeled_rows():
    X, y, _ = shifted_table((20, 20), (30, 30))
    marked = np.array([{"a": 0, "b": 1, None: -1}[label] for label in y])
    known = estimated(X, marked)
    assert known.classes.tolist() == [0, 1]


def test_a_class_without_labels_is_refused():
    X, y, _ = shifted_table((20, 20), (30, 30))
    with pytest.raises(InvalidProblem, match=naming("'z'", "class", "label")):
        estimated(X, y, {"a": "estimate", "b": "estimate", "z": 5})


def test_totals_stay_open_when_there_is_no_time_to_estimate_them():
    X, y, _ = shifted_table((20, 20), (30, 30))
    known = with_estimated_totals(read_known(X, y, "estimate", None), X, 0, Deadline.after(-1))
    assert known.stated.wants_estimates
    assert known.targets.low.tolist() == [0, 0]
    assert known.targets.high.tolist() == [60, 60]


def test_the_shares_of_the_labels_stay_when_no_total_is_given_and_there_is_no_time():
    X, y, _ = shifted_table((30, 10), (30, 30))
    known = read_known(X, y, None, None)
    assert with_estimated_totals(known, X, 0, Deadline.after(-1)) is known
    assert known.targets.low.tolist() == [45, 15]
    assert with_estimated_totals(known, X, 0).targets.low[1] > 20


def test_the_same_seed_gives_the_same_estimate():
    X, y, _ = shifted_table((20, 20), (60, 40))
    assert (
        shares_and_errors(estimated(X, y, seed=3))[0].tolist() == shares_and_errors(estimated(X, y, seed=3))[0].tolist()
    )


def test_a_tree_that_knows_no_total_is_better_with_an_estimate_than_with_the_shares_of_biased_labels():
    X, y, codes = shifted_table((90, 10), (150, 350), seed=2)
    clf = S2OCTClassifier(depth=1, random_state=0)
    correct = {}
    for totals, as_shares in (("estimate", False), ({"a": 0.9, "b": 0.1}, True)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = clf.fit(X, y, totals=totals, as_shares=as_shares).transduction_[100:]
        correct[as_shares] = np.mean(found == np.array(["a", "b"])[codes[100:]])
    assert correct[False] > correct[True] + 0.1


def estimated_until(X, y, n_polls):
    """The estimate if a request to stop comes when it was asked for ``n_polls`` times, and how often it was asked."""
    asked = []

    def stop():
        asked.append(len(asked))
        return len(asked) > n_polls

    return with_estimated_totals(read_known(X, y, "estimate", None), X, 0, Deadline(np.inf, stop)), len(asked)


def test_an_estimate_that_runs_out_of_time_keeps_what_it_has_and_ends_at_once():
    X, y, _ = shifted_table((40, 40), (120, 80))
    whole, n_polls = estimated_until(X, y, np.inf)
    (value,), (se,) = shares_and_errors(whole)
    n_until_late = round(0.9 * n_polls)  # the forests come before that
    late, n_asked = estimated_until(X, y, n_until_late)
    (late_value,), (late_se,) = shares_and_errors(late)
    assert n_asked <= n_until_late + 1
    assert late_value == pytest.approx(value, abs=se[0])
    assert (late_se > 0).all()


def test_an_estimate_without_replicates_is_less_certain():
    X, y, _ = shifted_table((40, 40), (120, 80))
    params = ShareParams(n_replicates=0)
    (value,), (se,) = shares_and_errors(with_estimated_totals(read_known(X, y, "estimate", None), X, 0, params=params))
    (_,), (usual,) = shares_and_errors(estimated(X, y))
    assert value.sum() == pytest.approx(200)
    assert (se > 1.5 * usual).all()


def test_sixty_classes_have_finite_totals():
    rng, n_classes = np.random.default_rng(0), 60
    codes = np.tile(np.arange(n_classes), 10)
    X = np.column_stack([codes + rng.normal(scale=0.3, size=len(codes)), rng.normal(size=len(codes))])
    y = codes.astype(str).astype(object)
    y[300:] = None
    (value,), (se,) = shares_and_errors(estimated(X, y))
    assert value.sum() == pytest.approx(300)
    assert np.isfinite(se).all()
    assert abs(value - 5).mean() < 2.5


def table_of_two_margins():
    X, y, codes = shifted_table((60, 60), (300, 131), seed=4)
    rng = np.random.default_rng(4)
    regions = np.array(["north", "south", "west"], dtype=object)[rng.integers(3, size=len(codes))]
    sexes = np.where(rng.random(len(codes)) < 0.3 + 0.4 * codes, "f", "m").astype(object)
    return X, y, {"region": regions, "sex": sexes}


def test_estimates_of_two_margins_agree_on_the_classes_up_to_rounding():
    X, y, domains = table_of_two_margins()
    known = estimated(X, y, domains=domains)
    first, second = known.targets.margins
    assert abs(first.value.sum(axis=0) - second.value.sum(axis=0)).max() <= 2.5
    weighed = estimated(X, y, domains=domains, sample_weight=np.linspace(0.5, 2, len(y)))
    first, second = weighed.targets.margins
    assert first.value.sum(axis=0) == pytest.approx(second.value.sum(axis=0))


def test_an_estimated_margin_agrees_with_a_known_one():
    X, y, domains = table_of_two_margins()
    codes = [domains["sex"][120:].tolist().count(sex) for sex in "fm"]
    totals = {"f": {"a": codes[0] - 80, "b": 80}, "m": {"a": codes[1] - 51, "b": 51}}
    known = estimated(X, y, ["estimate", totals], domains=domains)
    first, second = known.targets.margins
    assert second.value.sum(axis=0).tolist() == [300, 131]
    assert first.value.sum(axis=0) == pytest.approx([300, 131], abs=1.5)


def test_a_tree_fits_the_estimates_of_two_margins():
    X, y, domains = table_of_two_margins()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = S2OCTClassifier(depth=1, random_state=0, time_limit=20).fit(X, y, totals="estimate", domains=domains)
    assert set(clf.transduction_) == {"a", "b"}


def test_what_follows_from_an_estimate_is_as_uncertain():
    X, y, _ = shifted_table((30, 30), (60, 40))
    (value,), (se,) = shares_and_errors(estimated(X, y, {"b": "estimate"}))
    assert value.sum() == 100
    assert se[0] == se[1] > 0


def test_a_class_without_labels_can_have_a_total_when_the_other_follows():
    X, y, _ = shifted_table((20, 0), (30, 30))
    known = estimated(X, y, {"a": "estimate", "b": 25})
    assert known.targets.low.tolist() == [35, 25]


@pytest.mark.parametrize("totals", [None, "estimate"])
def test_shares_that_features_say_nothing_about_are_called_a_guess(totals):
    """Oracle: the standard deviation of a uniform number, 1 over the root of 12."""
    y = np.array(["a"] * 300 + ["b"] * 200 + [None] * 1000, dtype=object)
    known = estimated(np.ones((1500, 1)), y, totals)
    (value,), (se,) = shares_and_errors(known)
    assert value.tolist() == [500, 500]
    assert se == pytest.approx(1000 / np.sqrt(12))
    (notice,) = known.doubts
    assert names(str(notice), "feature", "class")
    assert "a guess" in str(notice)


def test_a_guess_leaves_what_is_known():
    X, y, _ = shifted_table((20, 20, 20), (300, 60, 140))
    known = estimated(np.ones_like(X), y, {"a": 300, "b": "estimate", "c": "estimate"})
    (value,), (se,) = shares_and_errors(known)
    assert value.tolist() == [300, 100, 100]
    assert se == pytest.approx([0, 200 / np.sqrt(12), 200 / np.sqrt(12)])


def test_the_warning_about_estimates_names_what_they_are_of():
    X, y, _ = shifted_table((40, 40), (100, 100))
    (rows,) = estimated(X, y, None).doubts
    (weight,) = estimated(X, y, None, sample_weight=np.tile([1.0, 2.5], 140)).doubts
    assert names(str(rows), 200, "unlabel")
    assert names(str(weight), 350, "weight")


def test_slow_forests_have_fewer_trees_and_leave_time_for_an_estimate(monkeypatch):
    """The clock goes on by one second whenever it is read, so that 200 trees would take all of the time."""
    X, y, _ = shifted_table((60, 60), (400, 100))
    seconds = itertools.count()
    monkeypatch.setattr(stopping, "_read", lambda: float(next(seconds)))
    known = with_estimated_totals(read_known(X, y, "estimate", None), X, 0, Deadline.after(300))
    (value,), (se,) = shares_and_errors(known)
    assert not known.stated.wants_estimates
    assert abs(value[1] - 100) < 3 * se[1]
    assert next(seconds) <= 305
