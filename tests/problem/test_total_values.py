"""Counts, intervals, estimates and shares of one domain."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2oct import Estimate
from s2oct.errors import InvalidProblem
from s2oct.problem.labels import read_labels
from s2oct.problem.totals import largest_remainder
from tests.messages import naming
from tests.totals import read_targets

LABELS = read_labels(["a", "b", "c", *[None] * 12])
WEIGHTS = np.array([1.0, 1.0, 1.0, *[0.5, 2.0, 1.5] * 4])


def bounds(totals, **options):
    (margin,) = read_targets(LABELS, totals, None, **options).margins
    return list(zip(margin.low[0].tolist(), margin.high[0].tolist(), strict=True))


def values(totals, **options):
    return read_targets(LABELS, totals, None, **options).margins[0].value[0].tolist()


@pytest.mark.parametrize(
    ("totals", "expected"),
    [
        ({"a": 3, "b": 5}, [(3, 3), (5, 5), (4, 4)]),
        ({"a": 3}, [(3, 3), (0, 12), (0, 12)]),
        ({"a": (3, 4), "b": 5}, [(3, 4), (5, 5), (3, 4)]),
        ({"a": (3, 4), "b": (8, 10)}, [(3, 4), (8, 10), (0, 1)]),
        ({"a": (3.5, 40), "b": [0, None]}, [(3.5, 12), (0, 12), (0, 8.5)]),
        ({"a": (None, 4), "b": (0, math.inf), "c": (2, 2)}, [(0, 4), (0, 12), (2, 2)]),
        ({"a": Estimate(3, 1), "b": 5}, [(1.04, 4.96), (5, 5), (2.04, 5.96)]),
        ({"a": Estimate(1, 1)}, [(0, 2.96), (0, 12), (0, 12)]),
        ({"a": Estimate(11, 1)}, [(9.04, 12), (0, 12), (0, 12)]),
        ({"a": Estimate(2.5, 0), "b": 0}, [(2.5, 2.5), (0, 0), (9.5, 9.5)]),
    ],
    ids=str,
)
def test_bounds_follow_from_what_is_given(totals, expected):
    assert bounds(totals) == [pytest.approx(pair) for pair in expected]


def test_values_are_known_for_counts_and_estimates_and_what_follows_from_counts():
    assert values({"a": 3, "b": 5}) == [3, 5, 4]
    assert values({"a": Estimate(3, 1), "b": (1, 2)}) == pytest.approx([3, math.nan, math.nan], nan_ok=True)
    assert read_targets(LABELS, {"a": Estimate(3, 1)}, None).margins[0].se.tolist() == [[1, 0, 0]]


def test_with_weights_totals_are_weighted_counts():
    """The unlabeled rows weigh 16."""
    assert bounds({"a": 3.25, "b": 5}, weights=WEIGHTS) == [(3.25, 3.25), (5, 5), (7.75, 7.75)]
    assert bounds({"a": 3, "b": 5, "c": 8 + 1e-6}, weights=WEIGHTS)[2][0] == 8 + 1e-6
    assert bounds({"a": 0.25}, weights=WEIGHTS, as_shares=True)[0] == (4, 4)
    assert bounds({"a": (0.1, 0.2)}, weights=WEIGHTS, as_shares=True)[0] == pytest.approx((1.6, 3.2))


def test_without_totals_weighted_shares_of_the_labeled_rows_are_used():
    weights = np.array([1.0, 2.0, 5.0, *[0.5] * 12])
    assert bounds(None, weights=weights) == [pytest.approx((n, n)) for n in (0.75, 1.5, 3.75)]


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ({"a": 0.25, "b": 0.25, "c": 0.5}, [(3, 3), (3, 3), (6, 6)]),
        ({"a": 0.34, "b": 0.33, "c": 0.33}, [(4, 4), (4, 4), (4, 4)]),
        ({"a": 0.29, "b": 0.29}, [(4, 4), (3, 3), (5, 5)]),
        ({"a": 0.3}, [(4, 4), (0, 12), (0, 12)]),
        ({"a": (0.3, 0.34), "b": 0}, [(3, 5), (0, 0), (7, 9)]),
        ({"a": (0.25, 0.5)}, [(3, 6), (0, 12), (0, 12)]),
        ({"a": Estimate(0.25, 0.01)}, [(3 - 0.2352, 3 + 0.2352), (0, 12), (0, 12)]),
    ],
    ids=str,
)
def test_shares_become_rows(shares, expected):
    """Exact ones whole numbers, bounds outwards to whole numbers; 0.3 of 12 rows is 3.6, 0.34 is 4.08."""
    assert bounds(shares, as_shares=True) == [pytest.approx(pair) for pair in expected]


@given(st.lists(st.integers(0, 1000), min_size=2, max_size=6).filter(any), st.integers(0, 300))
def test_largest_remainders_add_up_and_are_less_than_one_row_off(weights, total):
    parts = np.array(weights) / sum(weights) * total
    rounded = largest_remainder(parts, total)
    assert rounded.sum() == total
    assert (rounded >= 0).all()
    assert (np.abs(rounded - parts) < 1 + 1e-6).all()


@given(st.lists(st.integers(0, 1000), min_size=3, max_size=3).filter(any), st.integers(1, 60), st.booleans())
def test_shares_that_add_up_to_1_become_counts_that_add_up_to_the_rows(weights, m, leaves_out):
    labels = read_labels(["a", "b", "c", *[None] * m])
    shares = dict(zip("abc", (weight / sum(weights) for weight in weights), strict=True))
    if leaves_out:
        del shares["c"]
    targets = read_targets(labels, shares, None, as_shares=True)
    assert targets.is_plain
    assert targets.low.sum() == m
    assert (targets.low == np.round(targets.low)).all()


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted), min_size=3, max_size=3), st.integers(1, 60))
def test_bounds_of_shares_that_can_add_up_can_do_so_in_whole_rows(pairs, m):
    labels = read_labels(["a", "b", "c", *[None] * m])
    if (
        sum(low for low, _ in pairs) > 1
        or sum(high for _, high in pairs) < 1
        or any(low == high for low, high in pairs)
    ):
        return
    targets = read_targets(labels, dict(zip("abc", map(tuple, pairs), strict=True)), None, as_shares=True)
    assert (targets.low == np.round(targets.low)).all()
    assert (targets.high == np.round(targets.high)).all()
    assert targets.low.sum() <= m <= targets.high.sum()


S = {"as_shares": True}
W = {"weights": WEIGHTS}
REFUSED = {
    "above the rows": ({"a": 13}, {}, ("'a'", 0, 12, 13)),
    "above the weighted rows": ({"a": 16.5}, W, ("'a'", 0, 16, "16.5")),
    "NaN with weights": ({"a": math.nan}, W, ("'a'", 0, 16, "nan")),
    "text in bounds": ({"a": ("1", 2)}, {}, ("'a'", "('1', 2)")),
    "NaN in bounds": ({"a": (1, math.nan)}, {}, ("(1, nan)",)),
    "bounds the wrong way": ({"a": (4, 3)}, {}, ("(4, 3)",)),
    "three bounds": ({"a": (1, 2, 3)}, {}, (0, 12, "(1, 2, 3)")),
    "negative bound": ({"a": (-1, 3)}, {}, (0, 12, "(-1, 3)")),
    "lower bound above the rows": ({"a": (13, 20)}, {}, (0, 12, "(13, 20)")),
    "estimate above the rows": ({"a": Estimate(20, 1)}, {}, (0, 12, "Estimate(value=20, se=1)")),
    "estimate below 0": ({"a": Estimate(-20, 1)}, {}, (0, 12, "Estimate(value=-20, se=1)")),
    "too many": ({"a": 7, "b": 6}, {}, (12, "{'a': 7, 'b': 6}", 13)),
    "too few": ({"a": 1, "b": 2, "c": 3}, {}, (12, 6)),
    "too few with weights": ({"a": 1, "b": 2, "c": 12.99}, W, (16, "15.99")),
    "lower bounds": ({"a": (7, 8), "b": (6, 9)}, {}, (12, 13)),
    "upper bounds": ({"a": (1, 2), "b": (3, 4), "c": 5}, {}, (12, 11)),
    "shares": ({"a": 0.3, "b": 0.7}, {}, ("'a'", "0.3", "as_shares=True")),
    "shares with weights": ({"a": 0.3, "b": 0.7}, W, ("0.3", "as_shares=True")),
    "shares as bounds": ({"a": (0.3, 0.4)}, {}, ("'a'", "(0.3, 0.4)", "as_shares=True")),
    "shares as estimates": ({"a": Estimate(0.3, 0.1)}, {}, ("'a'", "as_shares=True")),
    "percentages as shares": ({"a": 34}, S, ("'a'", 0, 1, 34)),
    "bounds in percent": ({"a": (0, 34)}, S, ("'a'", "(0, 34)", 100)),
    "estimates in percent": ({"a": Estimate(34, 2)}, S, ("'a'", 100)),
    "percentages of few rows": ({"a": 34, "b": 66}, {}, ("'b'", 66, 100)),
    "equal percentages": ({"a": 50, "b": 25, "c": 25}, {}, ("'a'", 50, 100)),
    "negative share": ({"a": -0.1}, S, ("'a'", 0, 1, "-0.1")),
    "shares below 1": ({"a": 0.3, "b": 0.3, "c": 0.3}, S, (1, "0.9")),
    "shares above 1": ({"a": 0.6, "b": 0.6}, S, (1, "1.2")),
    "text for a share": ({"a": "0.3"}, S, ("'a'", 0, 1, "'0.3'")),
}  # fmt: skip


@pytest.mark.parametrize(("totals", "options", "named"), REFUSED.values(), ids=REFUSED)
def test_totals_that_cannot_be_name_class_and_number(totals, options, named):
    with pytest.raises(InvalidProblem, match=naming(*named)):
        read_targets(LABELS, totals, None, **options)


def test_percentages_of_many_rows_do_not_add_up_and_the_message_says_why():
    labels = read_labels(["a", "b", *[None] * 200])
    with pytest.raises(InvalidProblem, match=naming(200, 100)):
        read_targets(labels, {"a": 34, "b": 66}, None)
