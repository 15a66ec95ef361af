"""Probabilities of true classes against plain loops, and totals that they add up to."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from s2oct.estimates.estimating import (
    DEFAULTS,
    chosen_powers,
    combined,
    raked,
    true_given_predicted,
)
from s2oct.problem.totals import Margin, Targets


@st.composite
def labeled_rows(draw):
    """Votes, guide, labels, weights and known shares of a few labeled rows."""
    n_classes, n = draw(st.integers(2, 4)), draw(st.integers(1, 12))
    votes = draw(probabilities(n, n_classes))
    said = draw(probabilities(n, n_classes))
    labels = np.array(draw(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n)), dtype=np.int64)
    weights = draw(arrays(float, n, elements=st.integers(0, 8))) / 4
    shares = draw(arrays(float, n_classes, elements=st.integers(1, 9)))
    return votes, said, labels, weights, shares / shares.sum()


def probabilities(n, n_classes):
    return arrays(float, (n, n_classes), elements=st.integers(1, 20)).map(lambda p: p / p.sum(axis=1, keepdims=True))


@given(labeled_rows())
def test_a_confusion_is_that_of_a_loop_over_rows(rows):
    votes, _, labels, weights, shares = rows
    n_classes = len(shares)
    found = true_given_predicted(votes, labels, weights, shares)
    for predicted in range(n_classes):
        column = []
        for true in range(n_classes):
            of_class = [(w, v) for w, v, k in zip(weights, votes, labels, strict=True) if k == true]
            total = sum(w for w, _ in of_class)
            rate = sum(w * v[predicted] for w, v in of_class) / total if total else 0.0
            column.append(shares[true] * rate * weights.sum() + DEFAULTS.prior_rows * shares[true])
        assert found[:, predicted] == pytest.approx(np.array(column) / sum(column))


def test_a_confusion_of_many_sure_labels_is_the_tree_itself():
    labels = np.repeat([0, 1], 5000)
    found = true_given_predicted(np.eye(2)[labels], labels, np.ones(10000), np.array([0.3, 0.7]))
    assert found == pytest.approx(np.eye(2), abs=1e-3)


def test_without_labels_the_known_shares_are_all_that_is_known():
    shares = np.array([0.2, 0.3, 0.5])
    found = true_given_predicted(np.empty((0, 3)), np.empty(0, dtype=np.int64), np.empty(0), shares)
    assert found == pytest.approx(np.repeat(shares[:, None], 3, axis=1))


@given(labeled_rows())
def test_corrected_probabilities_are_positive_and_add_up_to_1(rows):
    votes, said, labels, weights, shares = rows
    confusion = true_given_predicted(votes, labels, weights, shares)
    powers = chosen_powers(votes @ confusion.T, said, labels, weights, shares)
    found = combined(confusion[:, votes.argmax(axis=1)].T, said, *powers)
    assert (found > 0).all()
    assert found.sum(axis=1) == pytest.approx(1.0)
    assert confusion.sum(axis=0) == pytest.approx(1.0)


@given(labeled_rows())
def test_no_other_powers_make_the_labels_likelier(rows):
    votes, said, labels, weights, shares = rows
    confusion = true_given_predicted(votes, labels, weights, shares)
    powers = chosen_powers(votes @ confusion.T, said, labels, weights, shares)
    of_class = [weights[labels == k].sum() for k in range(len(shares))]

    def loss(guide_power, tree_power):
        total, least = 0.0, DEFAULTS.least_probability
        for i, k in enumerate(labels):
            if weights[i] == 0:
                continue
            by_tree = confusion @ votes[i]
            row = np.maximum(said[i], least) ** guide_power * np.maximum(by_tree, least) ** tree_power
            total -= weights[i] * shares[k] / of_class[k] * np.log(row[k] / row.sum())
        return total

    chosen = loss(*powers)
    assert all(chosen <= loss(g, t) + 1e-9 for g in DEFAULTS.powers for t in DEFAULTS.powers if g or t)


def test_a_guide_that_is_always_right_counts_more_than_a_tree_that_guesses():
    labels = np.tile([0, 1], 30)
    guessed = np.full((60, 2), 0.5)
    said = np.where(np.eye(2)[labels] > 0, 0.95, 0.05)
    shares = np.array([0.5, 0.5])
    for tree, guide, place in ((guessed, said, 0), (said, guessed, 1)):
        by_tree = tree @ true_given_predicted(tree, labels, np.ones(60), shares).T
        assert chosen_powers(by_tree, guide, labels, np.ones(60), shares)[place] == 1


@given(labeled_rows(), st.sampled_from(DEFAULTS.powers), st.sampled_from(DEFAULTS.powers))
def test_combined_probabilities_add_up_to_1(rows, guide_power, tree_power):
    votes, said, *_ = rows
    assert combined(votes, said, guide_power, tree_power).sum(axis=1) == pytest.approx(1.0)


@st.composite
def rows_with_totals(draw, n_margins):
    """Probabilities and sizes of rows, and totals that some other positive probabilities of the rows have."""
    n_classes, m = draw(st.integers(2, 3)), draw(st.integers(4, 15))
    sizes = draw(arrays(float, m, elements=st.integers(1, 8))) / 4
    truth = draw(probabilities(m, n_classes))
    margins = []
    for name in ("region", "sex")[:n_margins]:
        n_domains = draw(st.integers(1, 3))
        codes = np.array(draw(st.lists(st.integers(0, n_domains - 1), min_size=m, max_size=m)), dtype=np.int64)
        known = np.zeros((n_domains, n_classes))
        for i in range(m):
            known[codes[i]] += sizes[i] * truth[i]
        domains = np.arange(n_domains).astype(object)
        margins.append(Margin(name, domains, codes, known, known, known, np.zeros_like(known)))
    return draw(probabilities(m, n_classes)), sizes, Targets(tuple(margins))


def added_up(margin, found, sizes):
    counts = np.zeros_like(margin.low)
    for code, row, size in zip(margin.codes, found, sizes, strict=True):
        counts[code] += size * row
    return counts


@pytest.mark.parametrize("n_margins", [1, 2])
@given(data=st.data())
def test_raked_probabilities_add_up_to_the_totals_of_every_margin(n_margins, data):
    start, sizes, targets = data.draw(rows_with_totals(n_margins))
    found = raked(start, sizes, targets)
    assert (found >= 0).all()
    assert found.sum(axis=1) == pytest.approx(1.0)
    for margin in targets.margins:
        # Two margins may need more passes than there are; what is left is a small part of the rows.
        assert added_up(margin, found, sizes) == pytest.approx(margin.low, abs=2e-2 * sizes.sum() / len(sizes))


@given(rows_with_totals(1))
def test_probabilities_that_meet_the_totals_stay_as_they_are(problem):
    start, sizes, targets = problem
    once = raked(start, sizes, targets)
    assert raked(once, sizes, targets) == pytest.approx(once, abs=1e-5)


@given(rows_with_totals(1), st.floats(0, 2))
def test_probabilities_within_bounds_stay_and_others_end_on_the_bounds(problem, width):
    start, sizes, targets = problem
    margin = targets.margins[0]
    low, high = np.maximum(margin.low - width, 0), margin.high + width
    nothing = np.full_like(low, np.nan)
    bounded = Targets((Margin("", margin.domains, margin.codes, low, high, nothing, np.zeros_like(low)),))
    found = raked(start, sizes, bounded)
    counts = added_up(margin, found, sizes)
    assert (counts >= low - 1e-3).all()
    assert (counts <= high + 1e-3).all()
    before = added_up(margin, start, sizes)
    if ((before >= low) & (before <= high)).all():
        assert found == pytest.approx(start)


def test_an_estimated_total_counts_as_its_value():
    low, high, value, se = (np.array([[part, 10 - part]]) for part in (1.0, 5.0, 3.0, 1.0))
    low, high = np.minimum(low, high), np.maximum(low, high)
    margin = Margin("", np.array([""], dtype=object), np.zeros(10, dtype=np.int64), low, high, value, np.abs(se))
    found = raked(np.full((10, 2), 0.5), np.ones(10), Targets((margin,)))
    assert found.sum(axis=0) == pytest.approx([3.0, 7.0])
