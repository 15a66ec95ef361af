"""Estimates of made-up fits by domain: sums, bounds, weights and what is known exactly."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2oct.estimates.estimating import Estimation
from s2oct.estimates.replicates import Drawing, run_replicates
from s2oct.estimates.table import COLUMNS
from s2oct.problem.known import Known
from s2oct.problem.labels import UNLABELED, Labels
from s2oct.problem.totals import Margin, Targets
from tests.estimates.nearest_mean import NearestMean
from tests.messages import names

REGIONS = np.array(["east", "north", "west"], dtype=object)


@pytest.fixture(scope="module")
def line():
    """60 rows on a line, 20 of them labeled, 12 replicates, and a region for each row."""
    fit = NearestMean.example()
    return fit, run_replicates(fit, 0, 12), np.arange(60) % 3


def completed(fit, *, codes=None, weights=None, targets=None, classes=("no", "yes"), **changes):
    """The fit itself, as replicates have it: the arguments of `Estimation` but its replicates."""
    labeled = np.flatnonzero(fit.codes != UNLABELED)
    unlabeled = np.flatnonzero(fit.codes == UNLABELED)
    classes_of, _, probabilities_of = fit.refit(np.concatenate([labeled, unlabeled]), None, fit.targets, 0)
    everyone = np.arange(len(fit.codes))
    codes = fit.codes if codes is None else codes
    labels = Labels(np.array(classes, dtype=object), codes)
    return {
        "known": Known.of_rows(labels, fit.targets if targets is None else targets, weights),
        "predicted": classes_of(everyone),
        "probabilities": probabilities_of(everyone)[codes == UNLABELED],
        "drawing": Drawing(),
        **changes,
    }


def rows_of(fit, replicates, codes, domains=REGIONS, confidence=0.95):
    return Estimation(**fit, replicates=replicates).rows("region", domains, codes, confidence)


def test_there_is_a_row_for_each_domain_and_class_with_all_columns(line):
    fit, replicates, regions = line
    rows = rows_of(completed(fit), replicates, regions)
    assert [(row["domain"], row["class"]) for row in rows] == [(r, c) for r in REGIONS for c in ("no", "yes")]
    assert all(list(row) == list(COLUMNS) for row in rows)
    assert {row["by"] for row in rows} == {"region"}


def test_what_is_counted_is_counted_by_a_loop(line):
    fit, replicates, regions = line
    whole = completed(fit)
    for row in rows_of(whole, replicates, regions):
        k, d = ["no", "yes"].index(row["class"]), REGIONS.tolist().index(row["domain"])
        here = [i for i in range(60) if regions[i] == d]
        labeled = [i for i in here if fit.codes[i] != UNLABELED]
        others = [i for i in here if fit.codes[i] == UNLABELED]
        observed = sum(fit.codes[i] == k for i in labeled)
        assert row["rows"] == len(here)
        assert row["observed"] == observed
        assert row["uncorrected"] == observed + sum(whole["predicted"][i] == k for i in others)
        assert row["guide"] == pytest.approx(observed + sum(whole["probabilities"][i - 20, k] for i in others))
        assert row["labeled_alone"] == pytest.approx(observed / len(labeled) * len(here))
        assert row["estimate"] == pytest.approx(observed + row["predicted"])
        assert row["share"] == pytest.approx(row["estimate"] / len(here))


def test_estimates_stay_within_what_is_possible_and_within_their_intervals(line):
    fit, replicates, regions = line
    for row in rows_of(completed(fit), replicates, regions):
        assert row["observed"] <= row["low"] <= row["estimate"] <= row["high"] <= row["rows"]
        assert row["se"] > 0


def test_estimates_of_a_class_add_up_to_the_known_total(line):
    """Shifts of domains are centred, so only an estimate at 0 or at all rows of a domain could miss; none is here."""
    fit, replicates, regions = line
    rows = rows_of(completed(fit), replicates, regions)
    for k, label in enumerate(("no", "yes")):
        known = fit.targets.low[k] + (fit.codes == k).sum()
        assert sum(row["estimate"] for row in rows if row["class"] == label) == pytest.approx(known, abs=1e-3)


def test_estimates_of_all_classes_of_a_domain_add_up_to_its_rows_with_two_classes(line):
    fit, replicates, regions = line
    rows = rows_of(completed(fit), replicates, regions)
    for region in REGIONS:
        assert sum(row["estimate"] for row in rows if row["domain"] == region) == pytest.approx(20, abs=1e-3)


def test_known_totals_of_the_very_same_domains_are_returned_with_standard_error_0(line):
    _, _, regions = line
    known = np.array([[6.0, 7.0], [9.0, 5.0], [3.0, 10.0]])
    of_unlabeled = regions[20:]
    known[:, 1] = np.bincount(of_unlabeled) - known[:, 0]
    margin = Margin("region", REGIONS, of_unlabeled, known, known, known, np.zeros_like(known))
    told = NearestMean.example(targets=Targets((margin,)))
    # Codes of estimates may be in another order than those of the totals.
    mirrored = 2 - regions
    rows = rows_of(completed(told), run_replicates(told, 0, 5), mirrored, REGIONS[::-1])
    for row in rows:
        place = REGIONS.tolist().index(row["domain"]), ["no", "yes"].index(row["class"])
        assert row["predicted"] == known[place]
        assert row["se"] == 0
        assert row["low"] == row["estimate"] == row["high"]


def test_the_whole_table_with_one_exact_total_is_known(line):
    fit, replicates, _ = line
    rows = rows_of(completed(fit), replicates, np.zeros(60, dtype=np.int64), np.array(["all"], dtype=object))
    assert [row["predicted"] for row in rows] == fit.targets.low.tolist()
    assert [row["se"] for row in rows] == [0, 0]


def test_a_weight_of_k_counts_as_k_rows(line):
    """Weights and copies agree in what is counted: rows, observed, uncorrected, guide and labeled rows alone."""
    fit, replicates, regions = line
    weights = np.where(np.arange(60) % 2 == 0, 3, 1)
    weighted_totals = fit.targets.over(1.0)
    heavy = completed(fit, weights=weights.astype(float), targets=weighted_totals)
    copies = np.repeat(np.arange(60), weights)
    totals = replace(fit.targets.margins[0], codes=np.zeros(int(weights[20:].sum()), dtype=np.int64))
    whole = completed(fit)
    copied = {
        "known": Known.of_rows(Labels(whole["known"].classes, fit.codes[copies]), Targets((totals,))),
        "predicted": whole["predicted"][copies],
        "probabilities": np.repeat(whole["probabilities"], weights[20:], axis=0),
    }
    one, other = rows_of(heavy, replicates, regions), rows_of(copied, _copied(replicates, weights), regions[copies])
    for name in ("rows", "observed", "uncorrected", "guide", "labeled_alone"):
        assert [row[name] for row in one] == pytest.approx([row[name] for row in other]), name


def _copied(replicates, weights):
    """Replicates as they would be if copies of a row were always drawn together."""
    labeled, unlabeled = np.repeat(np.arange(20), weights[:20]), np.repeat(np.arange(40), weights[20:])
    return [
        replace(
            found,
            drawn=found.drawn[labeled],
            classes=found.classes[unlabeled],
            probabilities=found.probabilities[unlabeled],
            held_out_classes=found.held_out_classes[labeled],
            held_out_probabilities=found.held_out_probabilities[labeled],
        )
        for found in replicates
    ]


@given(st.integers(2, 1000))
def test_weights_in_another_unit_give_estimates_in_that_unit(factor):
    fit = NearestMean.example()
    replicates, regions = run_replicates(fit, 0, 3), np.arange(60) % 3
    one = rows_of(completed(fit), replicates, regions)
    scaled = completed(fit, weights=np.full(60, float(factor)), targets=fit.targets.over(1 / factor))
    for row, other in zip(one, rows_of(scaled, replicates, regions), strict=True):
        for name in ("observed", "uncorrected", "rows"):
            assert other[name] == pytest.approx(factor * row[name])


def test_the_range_contains_the_uncorrected_count_and_those_of_all_other_trees(line):
    fit, replicates, regions = line
    whole = completed(fit)
    others = (1 - whole["predicted"], np.zeros(60, dtype=np.int64))
    for row in rows_of(whole | {"others": others}, replicates, regions):
        k, here = ["no", "yes"].index(row["class"]), regions == REGIONS.tolist().index(row["domain"])
        free = here & (fit.codes == UNLABELED)
        counts = [row["observed"] + (classes[free] == k).sum() for classes in (whole["predicted"], *others)]
        assert (row["least"], row["most"]) == (min(counts), max(counts))
        assert row["least"] <= row["uncorrected"] <= row["most"]


def test_a_higher_confidence_makes_wider_intervals_around_the_same_estimate(line):
    fit, replicates, regions = line
    for narrow, wide in zip(
        rows_of(completed(fit), replicates, regions, confidence=0.5),
        rows_of(completed(fit), replicates, regions, confidence=0.99),
        strict=True,
    ):
        assert (narrow["estimate"], narrow["se"]) == (wide["estimate"], wide["se"])
        assert wide["low"] <= narrow["low"]
        assert narrow["high"] <= wide["high"]


def test_a_row_that_every_replicate_has_drawn_has_the_vote_of_the_fit(line):
    fit, _, regions = line

    def always_drawn(seed):
        found = fit.replicate(0, seed)
        nothing = np.full_like(found.held_out_probabilities, np.nan)
        nobody = np.full_like(found.held_out_classes, UNLABELED)
        return replace(found, held_out_classes=nobody, held_out_probabilities=nothing)

    whole = completed(fit)
    estimation = Estimation(**whole, replicates=[always_drawn(seed) for seed in range(2)])
    assert estimation.votes.tolist() == np.eye(2)[whole["predicted"][:20]].tolist()
    assert all(np.isfinite(row["estimate"]) for row in estimation.rows("", REGIONS, regions, 0.95))


def test_a_domain_without_rows_of_one_kind_is_estimated_all_the_same(line):
    """One domain has labeled rows only, one has unlabeled rows only."""
    fit, replicates, _ = line
    domains = np.where(np.arange(60) < 10, 0, np.where(np.arange(60) < 30, 1, 2))
    rows = rows_of(completed(fit), replicates, domains)
    assert all(row["estimate"] == row["observed"] == row["high"] for row in rows[:2])
    assert all(np.isnan(row["labeled_alone"]) for row in rows[4:])
    assert all(np.isfinite([row["estimate"], row["se"], row["low"], row["high"]]).all() for row in rows)


def test_few_labels_of_a_class_are_noted(line):
    fit, replicates, _ = line
    few = fit.codes.copy()
    few[np.flatnonzero(few == 1)[5:]] = 0
    notes = Estimation(**completed(fit, codes=few), replicates=replicates).notes
    assert "power" not in notes[0]
    assert names(notes[1], 10, "label")


def test_an_estimated_total_leaves_its_standard_error_in_the_estimate_of_the_whole_table(line):
    fit, _, _ = line
    exact = fit.targets.margins[0]
    estimated = replace(exact, low=exact.low - 10, high=exact.high + 10, se=np.full((1, 2), 5.0))
    told = NearestMean.example(targets=Targets((estimated,)))
    whole = np.zeros(60, dtype=np.int64), np.array(["all"], dtype=object)
    rows = rows_of(completed(told), run_replicates(told, 0, 50), *whole)
    assert [row["se"] for row in rows] == pytest.approx([5.0, 5.0], rel=0.4)


def test_a_known_total_is_returned_for_its_domain_also_where_other_domains_are_joined(line):
    """East and north together are a domain; the total of west is still known, and so is the sum of the others."""
    _, _, regions = line
    free = np.bincount(regions[20:]).astype(float)
    known = np.column_stack([[6.0, 9.0, 3.0], free - [6.0, 9.0, 3.0]])
    margin = Margin("region", REGIONS, regions[20:], known, known, known, np.zeros_like(known))
    told = NearestMean.example(targets=Targets((margin,)))
    joined = np.where(regions == 2, 1, 0)
    rows = rows_of(
        completed(told), run_replicates(told, 0, 5), joined, np.array(["east or north", "west"], dtype=object)
    )
    assert [row["predicted"] for row in rows] == [15.0, free[:2].sum() - 15, 3.0, free[2] - 3]


def test_estimates_of_three_classes_of_a_domain_add_up_to_its_rows():
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 3, size=90)
    codes = np.where(np.arange(90) < 30, truth, UNLABELED)
    fit = NearestMean(truth + 0.7 * rng.normal(size=90), codes, Targets.exact(np.bincount(truth[30:]), 60))
    whole = completed(fit, classes=np.array(["a", "b", "c"], dtype=object))
    # Domains differ in their classes, so that labeled rows shift them.
    domains = np.where(rng.random(90) < 0.7, truth, rng.integers(0, 3, size=90))
    rows = rows_of(whole, run_replicates(fit, 0, 10), domains)
    for d, region in enumerate(REGIONS):
        found = sum(row["estimate"] for row in rows if row["domain"] == region)
        assert found == pytest.approx((domains == d).sum(), abs=0.05)
