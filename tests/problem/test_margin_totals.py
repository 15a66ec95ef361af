"""Totals by domain: populations, domains that do not fit, margins that disagree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2oct import Estimate
from s2oct.errors import InvalidProblem
from s2oct.problem.labels import read_labels
from tests.messages import naming
from tests.totals import read_targets

Y = ["a", "b", "c", *[None] * 12]
LABELS = read_labels(Y)
REGION = np.array(["n", "s", "n", *["n"] * 5, *["s"] * 7], dtype=object)
SEX = np.array([1, 2, 1, *[1, 2] * 6], dtype=object)
NORTH, SOUTH = {"a": 2, "b": 3, "c": 0}, {"a": 1, "b": 2, "c": 4}
BY_SEX = {1: {"a": 2, "b": 2, "c": 2}, 2: {"a": 1, "b": 3, "c": 2}}


def read(totals=None, population_totals=None, domains=(("region", REGION),), labels=LABELS, **options):
    return read_targets(labels, totals, population_totals, domains=domains, **options)


@st.composite
def populations(draw):
    """Classes, domains and weights of all rows, and which rows are labeled."""
    n, n_classes, n_domains = draw(st.integers(4, 25)), draw(st.integers(2, 4)), draw(st.integers(1, 3))
    classes = [*range(n_classes), *draw(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n))]
    size = len(classes)
    domains = draw(st.lists(st.integers(1, n_domains), min_size=size, max_size=size))
    weights = draw(st.lists(st.integers(1, 16), min_size=size, max_size=size))
    labeled = [True] * n_classes + draw(st.lists(st.booleans(), min_size=n, max_size=n))
    labeled[-1] = False
    return np.array(classes), np.array(domains, dtype=object), np.array(weights) / 8, np.array(labeled)


def cells(classes, domains, weights, chosen):
    return {
        d: {f"class {k}": weights[chosen & (domains == d) & (classes == k)].sum() for k in set(classes.tolist())}
        for d in set(domains.tolist())
    }


@given(populations(), st.booleans())
def test_population_totals_are_totals_plus_labeled_rows(population, is_weighted):
    """True totals are read as they are, in both forms, and the truth is within them."""
    classes, domains, weights, is_labeled = population
    sizes = weights if is_weighted else np.ones(len(classes))
    labels = read_labels([f"class {k}" if known else None for k, known in zip(classes, is_labeled, strict=True)])
    options = {"domains": [("d", domains)], "weights": weights if is_weighted else None}
    of_unlabeled = read_targets(labels, cells(classes, domains, sizes, ~is_labeled), None, **options)
    of_all = read_targets(labels, None, cells(classes, domains, sizes, np.full(len(classes), True)), **options)
    np.testing.assert_allclose(of_all.low, of_unlabeled.low, atol=1e-9)
    np.testing.assert_allclose(of_all.high, of_unlabeled.high, atol=1e-9)
    assert of_unlabeled.rows_off(classes[~is_labeled], sizes[~is_labeled]) == 0


@given(populations(), st.floats(0, 3))
def test_bounds_and_estimates_of_populations_keep_the_truth(population, width):
    classes, domains, _, is_labeled = population
    labels = read_labels([f"class {k}" if known else None for k, known in zip(classes, is_labeled, strict=True)])
    ones, everyone = np.ones(len(classes)), np.full(len(classes), True)
    for wrap in (lambda n: (max(n - width, 0), n + width), lambda n: Estimate(n, width)):
        totals = {d: {k: wrap(n) for k, n in row.items()} for d, row in cells(classes, domains, ones, everyone).items()}
        targets = read_targets(labels, None, totals, domains=[("d", domains)])
        assert targets.rows_off(classes[~is_labeled], ones[~is_labeled]) == 0
        assert (targets.low <= targets.high).all()


def test_classes_may_be_left_out_in_some_domains():
    (margin,) = read({"n": {"a": 2, "b": 3}, "s": {"a": (0, 1)}}).margins
    assert margin.low.tolist() == [[2, 3, 0], [0, 0, 0]]
    assert margin.high.tolist() == [[2, 3, 0], [1, 7, 7]]


def test_estimates_below_one_row_are_no_shares_where_other_domains_have_more():
    (margin,) = read({"n": {"a": Estimate(0.4, 0.1)}, "s": SOUTH}).margins
    assert margin.value[0, 0] == 0.4


def test_a_domain_that_no_row_has_is_ignored_if_its_totals_are_0():
    assert read({"n": NORTH, "s": SOUTH, "w": {"a": 0, "b": (0, 3)}}).margins[0].domains.tolist() == ["n", "s"]


def test_a_domain_with_labeled_rows_only_needs_no_totals():
    region = np.array(["w", "s", "n", *REGION[3:]], dtype=object)
    expected = read({"n": NORTH, "s": SOUTH}).margins[0]
    for totals in ({"n": NORTH, "s": SOUTH}, {"n": NORTH, "s": SOUTH, "w": {"a": 0}}):
        margin = read(totals, domains=[("region", region)]).margins[0]
        assert margin.domains.tolist() == ["n", "s"]
        assert margin.codes.tolist() == expected.codes.tolist()
        assert margin.low.tolist() == expected.low.tolist()


def test_a_labeled_row_needs_a_domain_only_if_all_rows_are_counted():
    region = np.array([None, *REGION[1:]], dtype=object)
    assert read({"n": NORTH, "s": SOUTH}, domains=[("", region)]).margins[0].low.tolist() == [[2, 3, 0], [1, 2, 4]]
    with pytest.raises(InvalidProblem, match=naming(1, "domain")):
        read(None, {"n": NORTH, "s": SOUTH}, domains=[("", region)])


def test_a_fully_labeled_table_has_totals_of_0_in_each_domain():
    labels = read_labels(["a", "b", "a"])
    domains = [("", np.array(["n", "s", "s"], dtype=object))]
    targets = read(None, {"n": {"a": 1}, "s": {"a": 1, "b": 1}}, domains, labels)
    assert targets.low.tolist() == targets.high.tolist() == [0, 0, 0, 0]


def test_shares_by_domain_of_the_population_are_shares_of_all_its_rows():
    """North has 7 rows, of which a and c are labeled; south has 8, of which b is."""
    shares = {"n": {"a": 3 / 7, "b": 3 / 7, "c": 1 / 7}, "s": {"a": 1 / 8, "b": 3 / 8}}
    assert read(None, shares, as_shares=True).low.tolist() == [2, 3, 0, 1, 2, 4]


def test_margins_of_shares_may_differ_by_rounding():
    shares = {"n": {"a": 0.5, "b": 0.5, "c": 0}, "s": {"a": 0.5, "b": 0.5, "c": 0}}
    by_sex = {1: {"a": 0.5, "b": 0.5, "c": 0}, 2: {"a": 0.5, "b": 0.5, "c": 0}}
    first, second = read([shares, by_sex], domains=[("", REGION), ("", SEX)], as_shares=True).margins
    assert first.low.sum(axis=0).tolist() != second.low.sum(axis=0).tolist()
    assert first.low.sum() == second.low.sum() == 12


BOTH = {"n": NORTH, "s": SOUTH}
REFUSED = {
    "a total above the rows of the domain": (
        {"totals": {"n": {"a": 6}, "s": SOUTH}},
        ("'a'", "'n'", 0, 5, 6),
    ),
    "totals of a domain that do not add up": (
        {"totals": {"n": NORTH, "s": {"a": 1, "b": 2, "c": 5}}},
        (7, "'s'", "{'a': 1, 'b': 2, 'c': 5}", 8),
    ),
    "shares of a domain that do not add up": (
        {"totals": {"n": {"a": 0.5, "b": 0.5}, "s": {"a": 0.5, "b": 0.4, "c": 0}}, "as_shares": True},
        (1, "'s'", "0.9"),
    ),
    "bounds of a domain": (
        {"totals": {"n": {"a": (3, 4), "b": (3, 4)}, "s": SOUTH}},
        (5, "'n'"),
    ),
    "a population total below the labeled rows": (
        {"population_totals": {"n": {"a": 0, "b": 6, "c": 1}, "s": {"a": 1, "b": 3}}},
        ("'a'", "'n'", 1, 0),
    ),
    "bounds of the population below the labeled rows": (
        {"population_totals": {"n": {"a": (0, 0.5)}, "s": {"a": 1, "b": 3}}},
        ("'a'", "'n'", 1, "0.5"),
    ),
    "bounds of the population above all unlabeled rows": (
        {"population_totals": {"n": {"b": (6, 7)}, "s": {"a": 1, "b": 3}}},
        ("'b'", "'n'", 5, 6),
    ),
    "bounds of the population that leave too many": (
        {"population_totals": {"n": {"a": (0, 7), "b": (4, 5), "c": (3, 7)}, "s": {"a": 1, "b": 3}}},
        (5, "'n'", 6),
    ),
    "an empty domain with a positive total": (
        {"totals": {**BOTH, "w": {"a": 0, "b": 1}}},
        (1, "'b'", "'w'"),
    ),
    "an empty domain with an estimate": (
        {"totals": {**BOTH, "w": {"a": Estimate(4, 1)}}},
        (4, "'a'", "'w'"),
    ),
    "a misspelled domain": ({"totals": {"n": NORTH, "S": SOUTH}}, ("'S'", "'s'")),
    "a domain without totals": ({"totals": {"n": NORTH}}, ("'s'", "domain", "unlabel")),
    "many domains without totals": (
        {"totals": {"1": {"a": 1}}, "domains": [("", np.arange(15).astype(object))]},
        (3, 4, 5, 6, 7),
    ),
    "a domain whose text is not clear": (
        {"totals": {"1": {"a": 1}}, "domains": [("", np.array([1, "1 ", 1.0, *["1", 1] * 6], dtype=object))]},
        (1,),
    ),
    "a domain twice": (
        {"totals": {1: BY_SEX[1], "1": BY_SEX[1], 2: BY_SEX[2]}, "domains": [("", SEX)]},
        ("'1'", "domain"),
    ),
    "rows without a domain": (
        {"totals": BOTH, "domains": [("region", np.array([*REGION[:-2], None, np.nan], dtype=object))]},
        ("'region'", 2),
    ),
    "margins that disagree": (
        {"totals": [{"n": {**NORTH, "b": 2, "c": 1}, "s": SOUTH}, BY_SEX], "domains": [("region", REGION), ("", SEX)]},
        ("'c'", 5, "'region'", 4, 2),
    ),
    "bounds that disagree": (
        {
            "totals": [{d: {"a": (0, 1)} for d in "ns"}, {1: {"a": (2, 3)}, 2: {"a": (1, 3)}}],
            "domains": [("region", REGION), ("sex", SEX)],
        },
        ("'a'", 3, 6, "'sex'", 0, 2, "'region'"),
    ),
    "a misspelled class in one domain": (
        {"totals": {"n": NORTH, "s": {"A": 1, "b": 2, "c": 4}}},
        ("['a', 'b', 'c']", "'A'", "'a'"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "named"), REFUSED.values(), ids=REFUSED)
def test_totals_that_cannot_be_name_their_cell(arguments, named):
    with pytest.raises(InvalidProblem, match=naming(*named)):
        read(**arguments)
