"""The assessment of held-out predictions beside direct formulas and draws from the distributions it assumes."""

from __future__ import annotations

import numpy as np
import pytest

from s2oct.errors import ChanceLevelWarning, FewLabelsWarning, InvalidProblem
from s2oct.estimates.assessment import HeldOut, held_out_folds
from s2oct.problem.known import read_known
from s2oct.problem.totals import Estimate
from tests.messages import names, naming


def known_with(labels, totals, weights=None, n_unlabeled=100):
    y = [*labels, *[None] * n_unlabeled]
    sizes = None if weights is None else np.array([*weights, *[1.0] * n_unlabeled])
    return read_known(np.zeros((len(y), 1)), y, totals, None, sample_weight=sizes)


def held_out(labels, totals, **more):
    known = known_with(labels, totals, **more)
    return HeldOut(known, np.flatnonzero(known.is_labeled), 10)


def assigned(found, n_unlabeled=100):
    return np.array([*found, *[-1] * n_unlabeled])


LABELS = ["a"] * 20 + ["b"] * 10
GIVEN = [0] * 15 + [1] * 5 + [1] * 8 + [0] * 2
"""15 of 20 rows of a are right, and 8 of 10 rows of b."""


def test_accuracy_is_the_recall_of_the_classes_weighted_by_their_shares():
    found = held_out(LABELS, {"a": 10, "b": 90}).assess(assigned(GIVEN))
    assert found.accuracy == pytest.approx(0.1 * 15 / 20 + 0.9 * 8 / 10)
    assert found.chance == pytest.approx(0.1**2 + 0.9**2)
    first, second = found.per_class
    assert (first.label, first.n_labels, first.share, first.recall) == ("a", 20, pytest.approx(0.1), 0.75)
    assert (second.label, second.n_labels, second.share, second.recall) == ("b", 10, pytest.approx(0.9), 0.8)
    assert first.precision == pytest.approx(0.1 * 0.75 / (0.1 * 0.75 + 0.9 * 0.2))
    assert second.precision == pytest.approx(0.9 * 0.8 / (0.9 * 0.8 + 0.1 * 0.25))


def test_errors_and_the_interval_are_those_of_recalls_drawn_from_their_posteriors():
    rng = np.random.default_rng(0)
    found = held_out(LABELS, {"a": 40, "b": 60}).assess(assigned(GIVEN))
    recall_a, recall_b = rng.beta(15.5, 5.5, 200_000), rng.beta(8.5, 2.5, 200_000)
    accuracy = 0.4 * recall_a + 0.6 * recall_b
    assert found.accuracy_se == pytest.approx(accuracy.std(), rel=0.02)
    assert found.interval == pytest.approx(np.quantile(accuracy, [0.025, 0.975]), abs=0.01)
    assert [line.recall_se for line in found.per_class] == pytest.approx([recall_a.std(), recall_b.std()], rel=0.02)
    precision = 0.4 * recall_a / (0.4 * recall_a + 0.6 * (1 - recall_b))
    assert found.per_class[0].precision_se == pytest.approx(precision.std(), rel=0.15)


def test_few_labels_without_an_error_leave_some_doubt():
    found = held_out(["a"] * 8 + ["b"] * 8, {"a": 50, "b": 50}).assess(assigned([0] * 8 + [1] * 8))
    assert found.accuracy == 1
    assert found.interval[1] == 1
    assert 0.75 < found.interval[0] < 0.95
    assert all(line.recall_se > 0.03 and line.precision_se > 0.02 for line in found.per_class)


def test_weights_count_within_a_class_only():
    weights = [3.0] * 5 + [1.0] * 15 + [100.0] * 10
    found = held_out(LABELS, {"a": 40, "b": 60}, weights=weights).assess(assigned([1] * 5 + [0] * 15 + [1] * 10))
    assert [line.recall for line in found.per_class] == pytest.approx([15 / 30, 1])
    assert found.accuracy == pytest.approx(0.4 * 0.5 + 0.6)
    plain = held_out(LABELS, {"a": 40, "b": 60}).assess(assigned([0] * 10 + [1] * 10 + [1] * 10))
    # Unequal weights are worth fewer rows (Kish): 30 squared over 60.
    assert found.per_class[0].recall_se > plain.per_class[0].recall_se
    assert found.per_class[0].recall_se == pytest.approx(np.sqrt(0.25 / (30**2 / 60 + 2)))


def test_an_uncertain_total_adds_its_variance():
    labels, given = ["a"] * 400 + ["b"] * 400, [0] * 360 + [1] * 40 + [1] * 200 + [0] * 200
    sure = held_out(labels, {"a": 50}).assess(assigned(given))
    unsure = held_out(labels, {"a": Estimate(50, se=10)}).assess(assigned(given))
    share = np.random.default_rng(0).normal(0.5, 0.1, 200_000)
    added = (share * 0.9 + (1 - share) * 0.5).std()
    assert unsure.accuracy == pytest.approx(sure.accuracy)
    assert unsure.accuracy_se**2 - sure.accuracy_se**2 == pytest.approx(added**2, rel=0.05)
    bounds = held_out(labels, {"a": (30, 70)}).assess(assigned(given))
    added = np.random.default_rng(0).uniform(0.3, 0.7, 200_000).std() * 0.4
    assert bounds.accuracy_se**2 - sure.accuracy_se**2 == pytest.approx(added**2, rel=0.05)


def test_without_totals_the_shares_are_those_of_the_labels_and_as_uncertain():
    labels, given = ["a"] * 60 + ["b"] * 40, [0] * 60 + [1] * 20 + [0] * 20
    found = held_out(labels, None).assess(assigned(given))
    exact = held_out(labels, {"a": 60}).assess(assigned(given))
    assert found.accuracy == pytest.approx(0.8)
    added = found.accuracy_se**2 - exact.accuracy_se**2
    assert added == pytest.approx(0.6 * 0.4 / 100 * (60.5 / 61 - 0.5) ** 2)


def test_rows_on_which_all_near_optimal_trees_agree_have_an_accuracy_of_their_own():
    agreed = np.zeros(130)
    agreed[[*range(12), *range(15, 17), *range(20, 26), 28]] = 1
    found = held_out(LABELS, {"a": 40, "b": 60}).assess(assigned(GIVEN), agreed)
    hits, misses = 0.4 * 12 / 20 + 0.6 * 6 / 10, 0.4 * 2 / 20 + 0.6 * 1 / 10
    assert found.agreed == pytest.approx(hits + misses)
    assert found.agreed_accuracy == pytest.approx(hits / (hits + misses))
    assert 0.05 < found.agreed_accuracy_se < 0.15
    assert np.isnan(held_out(LABELS, {"a": 40}).assess(assigned(GIVEN)).agreed_accuracy)


def test_a_difference_is_that_of_the_weighted_accuracies_with_an_error_row_by_row():
    rows = held_out(LABELS, {"a": 10, "b": 90})
    truth = np.array([0] * 20 + [1] * 10)
    one, other = np.array(GIVEN) == truth, np.arange(30) % 3 > 0
    gain, error = rows.difference(one, other)
    assert gain == pytest.approx(rows.score(one) - rows.score(other))
    steps = one.astype(float) - other
    parts = [np.var([*steps[truth == k], -1, 0, 1]) / n for k, n in ((0, 20), (1, 10))]
    assert error == pytest.approx(np.sqrt(0.1**2 * parts[0] + 0.9**2 * parts[1]))


def test_a_single_label_of_a_class_is_never_held_out_and_leaves_its_class_unknown():
    known = known_with(["a"] * 20 + ["b"] * 10 + ["c"], {"a": 40, "b": 30, "c": 30})
    folds = held_out_folds(known.labels.codes)
    assert 30 not in np.concatenate(folds)
    given = [0] * 15 + [2] * 5 + [1] * 8 + [2] * 2
    found = HeldOut.of_folds(known, folds).assess(assigned([*given, -1]))
    # As many rows of c are missed as rows of a and b are put there, or the total of c would not be met.
    into_c = 0.4 * 5 / 20 + 0.3 * 2 / 10
    assert found.accuracy == pytest.approx(0.4 * 15 / 20 + 0.3 * 8 / 10 + (0.3 - into_c))
    assert np.isnan(found.per_class[2].recall)
    assert np.isnan(found.per_class[2].precision)
    assert found.interval[0] <= found.accuracy <= found.interval[1]
    (caution,) = [said for said in found.cautions if said.category is FewLabelsWarning]
    assert "'c' (1 label)" in caution
    assert "30.0 %" in caution


@pytest.mark.parametrize(("n_a", "n_b"), [(2, 2), (3, 40), (25, 31), (2, 11)])
def test_folds_hold_every_label_out_once_and_leave_some_of_every_class(n_a, n_b):
    codes = np.array([0, 1] * min(n_a, n_b) + [0] * (n_a - min(n_a, n_b)) + [1] * (n_b - min(n_a, n_b)) + [-1] * 5)
    folds = held_out_folds(codes, 10, seed=3)
    assert sorted(np.concatenate(folds).tolist()) == np.flatnonzero(codes >= 0).tolist()
    assert len(folds) == min(10, n_a + n_b)
    for held in folds:
        assert 0 < (codes[held] == 0).sum() <= np.ceil(n_a / 10) or (codes[held] == 0).sum() == 0
        assert all((codes[held] == k).sum() < (codes == k).sum() for k in (0, 1))


def test_labels_none_of_which_can_be_held_out_are_refused():
    with pytest.raises(InvalidProblem, match=naming("class", "label")):
        held_out_folds(np.array([0, 1, 2, -1, -1]))


def test_the_cautions_tell_chance_from_too_few_labels():
    worse = held_out(["a"] * 50 + ["b"] * 50, {"a": 50}).assess(assigned([1] * 40 + [0] * 10 + [1] * 25 + [0] * 25))
    assert worse.cautions[0].category is ChanceLevelWarning
    assert names(worse.cautions[0], "chance")
    unclear = held_out(["a"] * 10 + ["b"] * 10, {"a": 50}).assess(assigned([0] * 6 + [1] * 4 + [1] * 6 + [0] * 4))
    assert names(unclear.cautions[0], "too few labels")
    good = held_out(["a"] * 50 + ["b"] * 50, {"a": 50}).assess(assigned([0] * 45 + [1] * 55))
    assert good.cautions == ()
    few = held_out(["a"] * 50 + ["b"] * 9, {"a": 50}).assess(assigned([0] * 50 + [1] * 9))
    assert names(few.cautions[0], "'b'", 9)
    assert few.cautions[0].category is FewLabelsWarning


def test_it_prints_the_accuracy_chance_and_a_line_for_each_class():
    text = str(held_out(LABELS, {"a": 20, "b": 80}).assess(assigned(GIVEN)))
    assert names(text, "79 %", "unlabeled rows")
    assert names(text, "chance", "68 %")
    lines = [line.split("  ") for line in text.splitlines()]
    assert ["a", "20", "20.0 %", "75.0 % ± 9.4 %"] in [
        [cell.strip() for cell in line if cell.strip()][:4] for line in lines
    ]


def test_a_class_without_held_out_labels_has_the_recall_that_the_rows_put_into_it_leave():
    known = known_with(["a"] * 20 + ["b"], {"a": 40, "b": 60})
    rows = HeldOut.of_folds(known, held_out_folds(known.labels.codes))
    everything_is_a, half = assigned([0] * 20 + [-1]), assigned([0] * 15 + [1] * 5 + [-1])
    found = rows.assess(everything_is_a, assigned_shares=np.array([1.0, 0.0]))
    assert found.accuracy == pytest.approx(0.4), "no row is put into b, so none of b is right"
    # 50 % of the rows are put into b, and a quarter of a is among them: 40 % of all rows are of b and right.
    assert rows.assess(half, assigned_shares=np.array([0.5, 0.5])).accuracy == pytest.approx(0.4 * 0.75 + 0.4)


def test_no_precision_is_known_if_a_class_has_no_held_out_row():
    known = known_with(["a"] * 20 + ["b"] * 10 + ["c"], {"a": 40, "b": 30, "c": 30})
    rows = HeldOut.of_folds(known, held_out_folds(known.labels.codes))
    found = rows.assess(assigned([*GIVEN, -1]))
    assert all(np.isnan(line.precision) and np.isnan(line.precision_se) for line in found.per_class)
    assert str(found).count("not known") == 4
    absent = known_with(["a"] * 20 + ["b"] * 10 + ["c"], {"a": 60, "b": 40, "c": 0})
    found = HeldOut.of_folds(absent, held_out_folds(absent.labels.codes)).assess(assigned([*GIVEN, -1]))
    assert not np.isnan(found.per_class[0].precision), "no unlabeled row is of c"


def test_chance_that_is_always_right_is_no_reason_for_a_caution():
    found = held_out(LABELS, {"a": 0, "b": 100}).assess(assigned([1] * 30))
    assert found.chance == 1
    assert found.cautions == ()


def test_the_words_tell_estimated_shares_from_known_ones_and_from_those_of_the_labels():
    assert names(held_out(LABELS, {"a": 20}).assess(assigned(GIVEN)).method, "known")
    assert names(held_out(LABELS, {"a": Estimate(20, se=4)}).assess(assigned(GIVEN)).method, "estimated")
    complete = str(held_out(LABELS, None, n_unlabeled=0).assess(assigned(GIVEN, n_unlabeled=0)))
    assert names(complete, "77 %", "label")
    assert "unlabeled" not in complete
    assert "totals" not in complete
