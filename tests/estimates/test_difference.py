"""The difference estimator: its formula evaluated directly, groups of equal rows, and totals of probability samples."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2oct.errors import InvalidProblem
from s2oct.estimates.difference import N_FOLDS, difference_estimation, represented_rows
from s2oct.estimates.replicates import Drawing, run_replicates
from s2oct.problem.known import Known
from s2oct.problem.labels import UNLABELED, Labels
from s2oct.problem.totals import Margin, Targets, stated_totals
from tests.estimates.nearest_mean import NearestMean

REGIONS = np.array(["east", "north", "west"], dtype=object)
CLASSES = np.array(["no", "yes"], dtype=object)


def table(n=120, seed=0, weights=None, totals=(50, 40)):
    """Rows in four leaves, of which 30 are labeled, with a region each: known, classes by the tree, leaves, regions."""
    rng = np.random.default_rng(seed)
    leaves, regions = rng.integers(4, size=n), rng.integers(3, size=n)
    truth = (rng.random(n) < 0.15 + 0.2 * leaves).astype(np.int64)
    codes = np.where(np.arange(n) < 30, truth, UNLABELED)
    known = Known.of_rows(Labels(CLASSES, codes), Targets.exact(np.array(totals, dtype=float), n - 30), weights)
    if totals:
        known = replace(known, stated=stated_totals({"yes": totals[1]}, None, y=codes, domains=(), as_shares=False))
    return known, (leaves >= 2).astype(np.int64), leaves, regions


def in_groups(known, predicted, leaves, regions, said=None, sampled=(), **changes):
    """Estimates of regions from groups of rows."""
    representing, rows, squares = represented_rows(known, leaves, regions, np.array(sampled, dtype=np.int64))
    estimation = difference_estimation(
        representing,
        predicted[rows],
        None if said is None else said[rows[~representing.is_labeled]],
        [],
        squares=squares,
        **changes,
    )
    return estimation.rows("region", REGIONS, regions[rows], 0.95)


@given(st.integers(1, 60), st.integers(2, 12), st.integers(0, 2**31))
def test_every_label_is_held_out_once_unless_it_is_the_only_one_of_its_class(n, n_folds, seed):
    codes = np.random.default_rng(seed).integers(3, size=n)
    rng = np.random.default_rng(seed)
    drawing = Drawing.folds(codes, n_folds)
    times = np.array([drawing.times(codes, number, rng) for number in range(n_folds)])
    is_alone = np.bincount(codes, minlength=3)[codes] == 1
    assert ((times == 0).sum(axis=0) == np.where(is_alone, 0, 1)).all()
    assert all(set(codes[fold > 0]) == set(codes) for fold in times)


@pytest.mark.parametrize("is_weighted", [False, True])
def test_groups_of_equal_rows_give_the_estimates_of_single_rows(is_weighted):
    rng = np.random.default_rng(1)
    weights = rng.choice([0.5, 1.0, 2.5], size=120) if is_weighted else None
    known, predicted, leaves, regions = table(weights=weights)
    if is_weighted:
        known = replace(known, targets=Targets.exact(known.unlabeled_sizes.sum() * np.array([0.6, 0.4]), 90))
    said = np.array([[0.8, 0.2], [0.6, 0.4], [0.5, 0.5], [0.1, 0.9]])[leaves]
    found = in_groups(known, predicted, leaves, regions, said)
    alone = in_groups(known, predicted, leaves, regions, said, sampled=np.arange(30, 120))
    plain = difference_estimation(known, predicted, said[~known.is_labeled], []).rows("region", REGIONS, regions, 0.95)
    for name in ("estimate", "se", "rows", "observed", "uncorrected", "guide"):
        assert [row[name] for row in alone] == pytest.approx([row[name] for row in plain]), name
        if name != "se":
            assert [row[name] for row in found] == pytest.approx([row[name] for row in plain]), name
    assert all(one["se"] >= other["se"] - 1e-9 for one, other in zip(found, plain, strict=True))


def test_rows_that_stand_for_others_add_the_variance_of_a_sample():
    known, predicted, leaves, regions = table(n=400, totals=(230, 140))
    said = np.random.default_rng(5).dirichlet([2, 2], size=400)
    sampled = np.arange(30, 400, 3)
    representing, rows, squares = represented_rows(known, leaves, regions, sampled)
    chosen, sizes = rows[30:], representing.weights[30:]
    for d in range(3):
        for leaf in range(4):
            everyone = [i for i in range(30, 400) if regions[i] == d and leaves[i] == leaf]
            here = [n for n, i in enumerate(chosen) if regions[i] == d and leaves[i] == leaf]
            assert sum(sizes[n] for n in here) == pytest.approx(len(everyone))
            assert len(here) == max(sum(i in sampled for i in everyone), 1)
    arguments = (representing, predicted[rows], said[chosen], [])
    rough = difference_estimation(*arguments, squares=squares)
    exact = difference_estimation(*arguments, squares=sizes**2)
    q, classes = rough.unlabeled[:, 1], predicted[chosen]
    for d in range(3):
        added = 0.0
        for n in np.flatnonzero(regions[chosen] == d):
            alike = [i for i in range(len(chosen)) if classes[i] == classes[n]]
            mean = sum(sizes[i] * q[i] for i in alike) / sum(sizes[i] for i in alike)
            variance = sum(sizes[i] * (q[i] - mean) ** 2 for i in alike) / sum(sizes[i] for i in alike)
            added += (sizes[n] ** 2 - squares[n]) * variance
        assert rough._variance_of_sample(1, regions[chosen], 3)[d] == pytest.approx(added)
    assert not exact._variance_of_sample(1, regions[chosen], 3).any()


def test_estimates_of_a_class_add_up_to_labels_and_total_and_those_of_a_domain_to_its_rows():
    known, predicted, leaves, regions = table()
    rows = in_groups(known, predicted, leaves, regions)
    for k, label in enumerate(CLASSES):
        expected = (known.labels.codes == k).sum() + (50, 40)[k]
        assert sum(row["estimate"] for row in rows if row["class"] == label) == pytest.approx(expected)
    for d, region in enumerate(REGIONS):
        assert sum(row["estimate"] for row in rows if row["domain"] == region) == pytest.approx((regions == d).sum())


def test_totals_of_a_probability_sample_are_predictions_and_weighted_residuals_added_up():
    known, predicted, _, _ = table(totals=())
    known = replace(known, targets=Targets.exact(np.zeros(2), 90))
    design = np.random.default_rng(3).uniform(2, 6, size=30)
    found = difference_estimation(known, predicted, None, [], design_weights=design)
    labels, stands_for = known.labels.codes[:30], design - 1
    margin = found.known.targets.margins[0]
    # The predictions are those with which the classes have the shares of the design.
    shares = [sum(stands_for[labels == k]) / sum(stands_for) for k in range(2)]
    first = replace(table()[0], targets=Targets.exact(90 * np.array(shares), 90))
    first = difference_estimation(first, predicted, None, [], design_weights=design)
    for k in range(2):
        residuals = [float(labels[i] == k) - first.labeled[i, k] for i in range(30)]
        mean = sum(w * r for w, r in zip(stands_for, residuals, strict=True)) / sum(stands_for)
        total = sum(first.corrected[i, k] for i in range(90)) + 90 * mean
        variance = sum((w * (r - mean)) ** 2 for w, r in zip(stands_for, residuals, strict=True))
        assert margin.value[0, k] == pytest.approx(total)
        assert margin.se[0, k] == pytest.approx(90 * variance**0.5 / sum(stands_for))
    everyone = np.zeros(120, dtype=np.int64)
    rows = found.rows("", np.array(["all"], dtype=object), everyone, 0.95)
    assert [row["estimate"] for row in rows] == pytest.approx(
        [(labels == k).sum() + margin.value[0, k] for k in range(2)]
    )
    assert [row["se"] for row in rows] == pytest.approx(margin.se[0].tolist())


def test_a_known_total_goes_before_the_one_of_the_design():
    known, predicted, leaves, regions = table()
    rows = in_groups(known, predicted, leaves, regions, design_weights=np.linspace(2, 9, 30))
    assert sum(row["predicted"] for row in rows if row["class"] == "yes") == pytest.approx(40)


def test_design_weights_of_one_or_less_are_refused():
    known, predicted, _, _ = table()
    with pytest.raises(InvalidProblem, match="above 1"):
        difference_estimation(known, predicted, None, [], design_weights=np.ones(30))


def test_the_standard_error_of_an_estimated_total_is_divided_over_domains_as_raking_moves_them():
    known, predicted, _, regions = table()
    margin = known.targets.margins[0]
    se = np.array([[6.0, 6.0]])
    uncertain = replace(margin, low=margin.value - 12, high=margin.value + 12, se=se)
    exact = difference_estimation(known, predicted, None, [])
    loose = difference_estimation(replace(known, targets=Targets((uncertain,))), predicted, None, [])
    q = exact.unlabeled[:, 1]
    for d, row in enumerate(row for row in loose.rows("", REGIONS, regions, 0.95) if row["class"] == "yes"):
        sure = [r for r in exact.rows("", REGIONS, regions, 0.95) if r["class"] == "yes"][d]
        here = regions[30:] == d
        moved = sum(q[i] * (1 - q[i]) for i in range(90) if here[i]) / sum(q[i] * (1 - q[i]) for i in range(90))
        assert row["se"] ** 2 == pytest.approx(sure["se"] ** 2 + (6 * moved) ** 2, rel=1e-6)


def test_folds_judge_every_label_by_a_fit_without_it():
    fit = NearestMean.example()
    labeled = fit.codes[fit.codes != UNLABELED]
    fit = replace(fit, drawing=Drawing.folds(labeled, N_FOLDS))
    folds = run_replicates(fit, 0, N_FOLDS)
    labeled, unlabeled = np.arange(20), np.arange(20, 60)
    for fold in folds:
        kept = labeled[fold.drawn > 0]
        classes_of, _, _ = fit.refit(np.concatenate([kept, unlabeled]), None, fit.targets, 0)
        held = labeled[fold.drawn == 0]
        assert fold.held_out_classes[fold.drawn == 0].tolist() == classes_of(held).tolist()
    known = Known.of_rows(Labels(CLASSES, fit.codes), fit.targets)
    estimation = difference_estimation(known, np.zeros(60, dtype=np.int64), None, folds)
    for i in labeled:
        judge = next(fold for fold in folds if fold.drawn[i] == 0)
        assert estimation.votes[i, judge.held_out_classes[i]] == 1


def test_known_totals_of_the_very_same_domains_are_returned_with_standard_error_0():
    known, predicted, leaves, regions = table()
    rows = np.bincount(regions[30:], minlength=3).astype(float)
    exact = np.column_stack([rows - 5, np.full(3, 5.0)])
    margin = Margin("region", REGIONS, regions[30:], exact, exact, exact, np.zeros_like(exact))
    for row in in_groups(replace(known, targets=Targets((margin,))), predicted, leaves, regions):
        assert row["se"] == 0
        if row["class"] == "yes":
            assert row["predicted"] == pytest.approx(5)
