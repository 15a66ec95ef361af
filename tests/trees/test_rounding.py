"""A rounded tree keeps every row in its leaf and has the shortest decimals that do so."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from s2oct import ObliqueTree, Topology
from s2oct.trees.rules import as_rules, shortest_between
from tests.stopwatch import processor_seconds

finite = st.floats(allow_nan=False, allow_infinity=False)
whole = st.integers(-5, 5).map(float)


@st.composite
def trees_and_rows(draw, numbers):
    """A tree and rows of any numbers; offsets are often the sum of some row, so that sides are close."""
    depth, p, n = draw(st.integers(1, 3)), draw(st.integers(1, 4)), draw(st.integers(0, 12))
    topology = Topology(depth)
    omega = draw(arrays(float, (topology.n_branches, p), elements=numbers))
    X = draw(arrays(float, (n, p), elements=numbers))
    gamma = draw(arrays(float, topology.n_branches, elements=numbers))
    if n and draw(st.booleans()):
        with np.errstate(all="ignore"):
            gamma = (omega * X[0]).cumsum(axis=1)[:, -1]
    return ObliqueTree.of(topology, omega, np.nan_to_num(gamma)), X


@pytest.mark.parametrize("numbers", [finite, whole, finite | whole], ids=["any floats", "small whole numbers", "both"])
def test_every_row_keeps_its_leaf(numbers):
    """Also twice: rounding a rounded tree moves nothing."""

    @given(trees_and_rows(numbers))
    @settings(max_examples=300, deadline=None)
    def check(case):
        tree, X = case
        leaf, before = tree.apply(X), (tree.omega.copy(), tree.gamma.copy())
        rounded = as_rules(tree, X)
        assert rounded.apply(X).tolist() == leaf.tolist()
        assert as_rules(rounded, X).apply(X).tolist() == leaf.tolist()
        assert np.isfinite(rounded.omega).all()
        assert np.isfinite(rounded.gamma).all()
        np.testing.assert_array_equal(tree.omega, before[0])
        np.testing.assert_array_equal(tree.gamma, before[1])

    check()


@given(seed=st.integers(0, 10**6), p=st.integers(1, 6), depth=st.integers(1, 3))
@settings(max_examples=100, deadline=None)
def test_ordinary_trees_become_shorter_in_every_node(seed, p, depth):
    """Each node is constant, or has a coefficient of 1 or -1 and no coefficient and no offset of all digits."""
    rng = np.random.default_rng(seed)
    topology = Topology(depth)
    X = rng.normal(size=(80, p)) * 10.0 ** rng.integers(-3, 4, size=p)
    omega = rng.normal(size=(topology.n_branches, p)) / X.std(axis=0)
    tree = ObliqueTree.of(topology, omega, rng.normal(size=topology.n_branches))
    rounded = as_rules(tree, X)
    for w, offset in zip(rounded.omega, rounded.gamma, strict=True):
        assert (abs(w) == 1).any() or (not w.any() and abs(offset) == 1)
        assert max(n_digits(number) for number in [*w, offset]) < 12


def n_digits(number):
    """Significant digits of a float."""
    return len(f"{Fraction(repr(float(abs(number)))) * 10**400}".split("/")[0].strip("0"))


def rule(omega, gamma, X):
    """The rounded hyperplane of a tree with one."""
    tree = ObliqueTree.of(Topology(1), np.array([omega], dtype=float), np.array([float(gamma)]))
    rounded = as_rules(tree, np.asarray(X, dtype=float))
    return rounded.omega[0].tolist(), float(rounded.gamma[0])


AGES = [[20], [26], [27], [60]]


def test_whole_numbers_get_whole_thresholds_between_them():
    assert rule([0.37], 0.37 * 26.3, AGES) == ([1.0], 26.0)
    assert rule([-2.0], -53, AGES) == ([-1.0], -27.0)


def test_noise_becomes_zero():
    """The finding of a user: `-2 * Alter - 8e-15 * Haushalt <= -53` should read `Alter >= 27`."""
    X = [[age, household, 1e6 * household] for (age,) in AGES for household in (1, 2, 9)]
    assert rule([-2.0, -8e-15, 1e-18], -53, X) == ([-1.0, 0.0, 0.0], -27.0)


def test_a_feature_that_is_constant_moves_into_the_offset():
    assert rule([1.0, 5.0], 41.5, [[26, 3], [27, 3]]) == ([1.0, 0.0], 26.0)


def test_the_feature_of_largest_influence_has_coefficient_one_and_the_others_as_few_digits_as_rows_allow():
    grid = np.array([(a, b) for a in range(100) for b in range(10)], dtype=float)
    # Feature 0 moves the value by 2 * 99, feature 1 by 6.4 * 9.
    omega, gamma = rule([2.0, -6.4], 40.0, grid)
    expected = (2 * grid[:, 0] - 6.4 * grid[:, 1] <= 40).tolist()
    assert (omega, gamma) == ([1.0, -3.2], 20.0)
    assert (grid @ omega <= gamma).tolist() == expected
    # One digit is not enough, whatever the offset.
    left = np.array(expected)
    assert (grid @ [1.0, -3.0])[left].max() >= (grid @ [1.0, -3.0])[~left].min()


def test_sides_are_not_told_apart_by_the_rounding_of_sums():
    """With one digit, 0.1 + 0.2 is above 0.3 as a float, but not for a reader who adds up by hand."""
    X = np.array([[-10, 0, 0, 0], [0, 0, 0, 1], [0, 1, 1, 0], [10, 0, 0, 0]], dtype=float)
    tree = ObliqueTree.of(Topology(1), np.array([[1, 0.101, 0.201, 0.301]]), np.array([0.3015]))
    rounded = as_rules(tree, X)
    decimals = [Fraction(repr(c)) for c in rounded.omega[0].tolist()]
    by_hand = [sum(c * Fraction(x) for c, x in zip(decimals, row, strict=True)) for row in X.tolist()]
    offset = Fraction(repr(float(rounded.gamma[0])))
    assert [value > offset for value in by_hand] == [False, False, True, True]
    assert (rounded.omega.tolist(), rounded.gamma.tolist()) == ([[1.0, 0.101, 0.201, 0.301]], [0.301])


def test_one_digit_is_enough_where_rows_are_far_from_the_hyperplane():
    assert rule([0.5234, -1.3456], 17.2345, [[100, 1], [0, 1], [100, 40], [90, 20]]) == ([0.4, -1.0], 0.0)


def test_a_node_that_splits_no_row_becomes_constant():
    """Node 2 sends all its rows right, and no row reaches node 3."""
    tree = ObliqueTree.of(Topology(2), np.array([[2.0], [3.0], [4.0]]), np.array([100.0, -7.0, 5.0]))
    rounded = as_rules(tree, np.array([[1.0], [2.0]]))
    assert rounded.omega.ravel().tolist() == [0, 0, 0]
    assert rounded.gamma.tolist() == [1, -1, 1]
    assert rounded.apply(np.array([[1.0], [2.0]])).tolist() == [5, 5]


def test_one_row_leaves_no_split():
    assert rule([2.0, 1.0], 3.0, [[0, 0]]) == ([0.0, 0.0], 1.0)
    assert rule([2.0, 1.0], 3.0, [[5, 0]]) == ([0.0, 0.0], -1.0)


def test_without_rows_the_tree_stays_as_it_is():
    assert rule([2.123, 1.0], 3.456, np.empty((0, 2))) == ([2.123, 1.0], 3.456)


def test_classes_of_leaves_stay():
    leaf_classes = np.array([1, 0])
    tree = ObliqueTree(Topology(1), np.array([[2.0]]), np.array([3.3]), leaf_classes)
    assert as_rules(tree, np.array([[1.0], [2.0]])).leaf_classes is leaf_classes


def test_a_node_that_no_rounding_leaves_as_it_splits_stays_as_it_is():
    """Sums of the two sides differ by one unit in the last place, and lose it in other units."""
    rng = np.random.default_rng(0)
    kept = 0
    for _ in range(200):
        w, X = rng.normal(size=3), rng.normal(size=(60, 3))
        values = (w * X).cumsum(axis=1)[:, -1]
        offset = np.sort(values)[30]
        # Rows that lie within rounding of the hyperplane, on both sides.
        near = np.array([x * (1 + k * 2**-52) for x in X[np.argsort(values)[29:32]] for k in range(-3, 4)])
        found = rule(w, offset, np.vstack([X, near]))
        kept += found == (w.tolist(), float(offset))
    assert kept


def test_rows_of_whole_numbers_and_lists_are_read():
    tree = ObliqueTree.of(Topology(1), np.array([[2.0]]), np.array([53.0]))
    assert as_rules(tree, np.array(AGES)).gamma.tolist() == [26.0]


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (26, 27, 26),
        (-27, -26, -27),
        (26.2, 29, 28),
        (26, 30.5, 30),
        (95, 105, 100),
        (998, 1003, 1000),
        (-3, 5, 0),
        (-5, 0, -2),
        (-1, 0, -1),
        (0, 1, 0),
        (12, 950, 500),
        (0.1, 0.2, 0.1),
        (0.3, 0.30000000000000004, 0.3),
        (1.23, 1.27, 1.25),
        (1.5, 1.5000001, 1.5),
        (1.2e-7, 1.8e-7, 1.5e-7),
        (-1.8e-7, -1.2e-7, -1.5e-7),
        (1_234_567, 1_234_999, 1_234_800),
        (1_234_567, 1_235_111, 1_235_000),
        (2.187e4, 2.188e4, 21870),
        (1e300, 2e300, 1e300),
        (1.01e300, 2e300, 1.5e300),
        (5e-324, 1e-323, 5e-324),
        (1.0, np.nextafter(1.0, 2), 1.0),
        (np.nextafter(1.0, 0), 1.0, np.nextafter(1.0, 0)),
        (-1.7976931348623157e308, 1.7976931348623157e308, 0),
        (1.7976931348623155e308, 1.7976931348623157e308, 1.7976931348623155e308),
    ],
)
def test_the_shortest_decimal_between(low, high, expected):
    """Of several decimals of equal length the one nearest the middle."""
    assert shortest_between(float(low), float(high)) == expected


@given(finite, finite)
@settings(max_examples=500, deadline=None)
def test_the_shortest_decimal_lies_between_and_no_coarser_power_of_ten_has_one_there(one, other):
    low, high = min(one, other), max(one, other)
    if low == high:
        return
    found = shortest_between(low, high)
    assert low <= found < high
    if found:
        # A decimal has the power of its last digit. With one power more there is nothing between.
        exact = Fraction(repr(found))
        power = next(k for k in range(310, -400, -1) if (exact / Fraction(10) ** k).denominator == 1)
        coarser = Fraction(10) ** (power + 1)
        assert -(-Fraction(repr(low)) // coarser) * coarser >= Fraction(repr(high))
    else:
        assert low <= 0 < high


def test_many_rows_are_quick():
    """Well under the second of the processor that this test allows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50_000, 15))
    tree = ObliqueTree.of(Topology(3), rng.normal(size=(7, 15)), rng.normal(size=7))
    np.testing.assert_array_equal(as_rules(tree, X).apply(X), tree.apply(X))
    assert processor_seconds(lambda: as_rules(tree, X), enough=1) <= 1


def test_what_levels_and_missing_values_are_worth_is_said_in_units_of_a_number():
    """The indicator has more influence than age, and yet age has the coefficient 1."""
    age, north = np.meshgrid(np.arange(20.0, 80.0), [0.0, 1.0])
    X = np.column_stack([age.ravel(), north.ravel()])
    tree = ObliqueTree.of(Topology(1), np.array([[-0.1, -30.0]]), np.array([-4.98]))
    rounded = as_rules(tree, X)
    assert rounded.omega[0].tolist() == [-1.0, -300.0]
    assert rounded.gamma.tolist() == [-50.0]
