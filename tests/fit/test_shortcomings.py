"""Notices name what a fit did not reach, with numbers, classes and remedies."""

from __future__ import annotations

from dataclasses import replace

import pytest

from s2oct import S2OCTClassifier
from s2oct.errors import ChanceLevelWarning, FewLabelsWarning, Notice, OpenTotalsWarning, Remedy, S2OCTWarning
from s2oct.fit.certificate import Cell, Certificate
from s2oct.p2.proof import CONVERGED, EVIDENCE, INTERRUPTED, PROVED, TIME_LIMIT
from tests.messages import names, naming

CLASSES = ["no", "yes"]
MISSED = {"xi": 1728.0, "totals": (17355, 2645), "assigned": (15627, 4373), "n_unlabeled": 20000}


@pytest.fixture(scope="module")
def paper() -> Certificate:
    """A fit to P2 alone that has nothing to be ashamed of."""
    return Certificate(
        objective=0.0,
        lower_bound=0.0,
        feasible=True,
        bound_source="a bound",
        min_margin=1.0,
        seconds=15.2,
        history=(),
        leaf_error=0.0,
        xi=0.0,
        n_margin_violations=0,
        ended=PROVED,
        labels=(20, 20),
        n_labeled=40,
        n_unlabeled=360,
        n_contradicted=0,
        n_splits=3,
        n_terms=7,
        totals=(175, 185),
        assigned=(175, 185),
    )


@pytest.fixture(scope="module")
def guided(paper) -> Certificate:
    return replace(
        paper,
        model=EVIDENCE,
        guide_weight=1 / 3,
        guide_cost=5.0,
        ended=CONVERGED,
        evidence_cost=5.0,
        evidence_bound=0.0,
    )


def test_a_fit_that_reached_everything_has_none(paper, guided):
    assert paper.shortcomings(CLASSES) == guided.shortcomings(CLASSES) == ()


def test_a_missed_total_is_named_with_its_class_and_numbers(paper, guided):
    for certificate, price in ((guided, Remedy.ANY_PRICE), (paper, Remedy.HIGHER_PRICE)):
        (found,) = replace(certificate, **MISSED).shortcomings(CLASSES)
        assert names(found.problem, "total", "1,728", "8.6 %", "4,373", "20,000", "'yes'", "2,645")
        assert found.remedies == (price, Remedy.DEEPER_TREE)


def test_a_missed_total_may_need_more_features_than_are_allowed(guided):
    (found,) = replace(guided, **MISSED, max_features_per_split=1).shortcomings(CLASSES)
    assert found.remedies == (Remedy.ANY_PRICE, Remedy.DEEPER_TREE, Remedy.MORE_FEATURES)


def test_a_total_that_equal_rows_forbid_is_said_to_be_out_of_reach(paper):
    forced = replace(paper, xi=2.0, least_xi=2.0, assigned=(173, 187))
    (found,) = forced.shortcomings(CLASSES)
    assert names(str(found), 2, "0.56 %", 187, 360, "'yes'", 185)
    assert not found.remedies


@pytest.mark.parametrize(
    ("rows_off", "n_unlabeled", "is_said"),
    [(1, 20, False), (2, 399, True), (2, 400, False), (50, 9000, True), (50, 10000, False)],
)
def test_a_miss_is_said_if_it_is_more_than_a_row_and_half_a_percent(guided, rows_off, n_unlabeled, is_said):
    half = n_unlabeled // 2
    known, put = (n_unlabeled - half, half), (n_unlabeled - half - rows_off, half + rows_off)
    missed = replace(guided, xi=float(rows_off), n_unlabeled=n_unlabeled, totals=known, assigned=put)
    assert missed.share_off == rows_off / n_unlabeled
    assert missed.miss_matters is is_said
    assert len(missed.shortcomings(CLASSES)) == is_said


def test_a_total_that_is_missed_by_more_than_equal_rows_force_says_both(paper):
    (found,) = replace(paper, xi=3.0, least_xi=1.0, assigned=(172, 188)).shortcomings(CLASSES)
    assert names(found.problem, 3, "total")
    assert names(found.problem, 1, "equal")
    assert found.remedies


def test_a_guided_fit_that_the_clock_cut_off_says_so(guided):
    (found,) = replace(guided, ended=TIME_LIMIT).shortcomings(CLASSES)
    assert names(str(found), "15.2 s", "time limit")
    assert found.remedies == (Remedy.MORE_TIME,)


@pytest.mark.parametrize(
    ("changes", "may_be_better"),
    [
        ({"lower_bound": -1.0}, True),
        ({"lower_bound": -1.0, **MISSED}, True),
        ({"lower_bound": -1.0, "n_splits": 0, "n_terms": 0}, True),
        ({}, False),
    ],
    ids=["good", "total missed", "no split", "proved"],
)
def test_a_fit_to_p2_that_the_clock_cut_off_says_what_a_longer_one_may_find(paper, changes, may_be_better):
    found = replace(paper, ended=TIME_LIMIT, **changes).shortcomings(CLASSES)
    (cut_off,) = (one for one in found if Remedy.MORE_TIME in one.remedies)
    assert names(cut_off.problem, "time limit", "15.2 s")
    assert names(cut_off.problem, "better tree may exist") is may_be_better
    assert names(cut_off.problem, "no split") is ("n_splits" in changes)


def test_a_class_without_labels_is_called_a_guess_even_if_the_tree_is_proved_optimal(paper, guided):
    unseen = {"classes_without_label": (1,)}
    (found,) = replace(paper, **unseen).shortcomings(CLASSES)
    assert names(found.problem, "'yes'", 185, 360)
    (found,) = replace(guided, **unseen).shortcomings(CLASSES)
    assert names(found.problem, "guide", "total")
    assert found.remedies == (Remedy.LABEL_SOME,)


def test_a_class_without_labels_is_no_matter_where_there_should_be_none_of_it(paper):
    unused = {"classes_without_label": (1,), "totals": (360, 0), "assigned": (360, 0)}
    assert replace(paper, **unused).shortcomings(CLASSES) == ()


def test_classes_with_few_labels_are_one_shortcoming_with_a_category(paper):
    assert replace(paper, labels=(10, 30)).shortcomings(CLASSES) == ()
    (found,) = replace(paper, labels=(9, 1)).shortcomings(CLASSES)
    assert names(found.problem, "'no'", 9, "'yes'", 1)
    assert (found.remedies, found.category) == ((Remedy.LABEL_MORE,), FewLabelsWarning)


def test_of_many_classes_with_few_labels_the_first_are_named(paper):
    many = replace(paper, labels=(1,) * 9, totals=(40,) * 9, assigned=(40,) * 9)
    (found,) = many.shortcomings(list("abcdefghi"))
    assert names(found.problem, "'e'", 1, 4)
    assert "'f'" not in found.problem


def test_few_labels_are_no_matter_of_a_class_that_no_row_has(paper):
    unused = {"labels": (40, 3), "totals": (360, 0), "assigned": (360, 0)}
    assert replace(paper, **unused).shortcomings(CLASSES) == ()


def test_a_class_without_labels_is_said_once(paper):
    (found,) = replace(paper, labels=(40, 0), classes_without_label=(1,)).shortcomings(CLASSES)
    assert found.remedies == (Remedy.LABEL_SOME,)


@pytest.mark.parametrize(("p", "is_said"), [(None, False), (0.001, False), (0.149, False), (0.15, True), (0.8, True)])
def test_a_tree_that_may_be_no_better_than_chance_says_so(paper, p, is_said):
    found = replace(paper, chance=p).shortcomings(CLASSES)
    assert [one.category for one in found] == [ChanceLevelWarning] * is_said
    assert not is_said or f"p = {p:.2f}" in found[0].problem


def test_a_class_that_bounds_leave_without_rows_is_named(paper):
    cells = (Cell("", "", 0, 200, 360, 360), Cell("", "", 1, 0, 160, 0))
    (found,) = replace(paper, cells=cells, assigned=(360, 0), totals=(280, 80)).shortcomings(CLASSES)
    assert names(found.problem, "'yes'", "unlabel", "total")
    assert found.category is OpenTotalsWarning


def test_an_interruption_comes_first(guided):
    found = replace(guided, ended=INTERRUPTED, **MISSED).shortcomings(CLASSES)
    first, second = found
    assert names(first, "15.2 s", "interrupt")
    assert names(second, "total", "1,728")


@pytest.mark.parametrize("ended", [PROVED, CONVERGED, TIME_LIMIT, INTERRUPTED])
@pytest.mark.parametrize("n_splits", [0, 1])
def test_only_an_interrupted_fit_without_a_split_is_not_worth_keeping(paper, guided, ended, n_splits):
    """A tree without splits is a result if the fit was not interrupted."""
    for certificate in (paper, guided):
        found = replace(certificate, ended=ended, n_splits=n_splits)
        assert found.is_worth_keeping == (ended != INTERRUPTED or n_splits != 0)


def test_an_interruption_without_a_tree_says_so(guided):
    found = replace(guided, ended=INTERRUPTED, n_splits=0, n_terms=0).shortcomings(CLASSES)
    assert names(found[0], "15.2 s", "interrupt", "before")


def test_remedies_are_worded_by_those_who_know_the_options():
    found = Notice("It is late", Remedy.MORE_TIME, Remedy.DEEPER_TREE)
    phrases = {Remedy.MORE_TIME: "wait", Remedy.DEEPER_TREE: "dig"}
    assert found.worded(phrases) == "It is late. What may help: wait, or dig."


def test_a_total_that_no_price_meets_is_not_answered_with_a_price():
    sizes = {(0, 0): 10, (0, 1): 20, (1, 0): 30, (1, 1): 40}
    X = [list(cell) for cell, size in sizes.items() for _ in range(size)] + [[0, 0], [1, 1]]
    y = [None] * 100 + ["a", "b"]
    clf = S2OCTClassifier(depth=1, max_features_per_split=1, total_price=float("inf"), random_state=0)
    with pytest.warns(S2OCTWarning, match=naming(10, "total")) as caught:
        clf.fit(X, y, totals={"a": 10})
    assert not any("total_price" in str(warning.message) for warning in caught)
    assert names(str(clf.certificate_), "total", "first")
    assert "10,0" not in str(clf.certificate_), "a thousand rows for each row off mean nothing to a reader"
