"""Sentences about a tree: in rows, computed from tree, rows and guide, in plain words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from s2oct.fit.certificate import Certificate, certify
from s2oct.p2.prepared import ModelSpec, prepare
from s2oct.p2.proof import CONVERGED, EVIDENCE, INTERRUPTED, PROVED, TIME_LIMIT, Bound, FitRecord
from s2oct.problem.problem import Guide, Problem
from s2oct.trees.tree import ObliqueTree, Topology
from tests.messages import names
from tests.preparing import merged, prepared_as_is

AMONG = "trees of depth 2 with one feature per split"
RECORD = FitRecord(Bound(0.0, "a bound"), 0.84, TIME_LIMIT)


@pytest.fixture(scope="module")
def guided() -> Certificate:
    """The certificate of a guided fit, with the numbers of a survey."""
    return Certificate(
        objective=6115.62,
        lower_bound=0.0,
        feasible=True,
        bound_source="a bound that needs no solver",
        min_margin=1.0,
        seconds=0.84,
        history=(),
        leaf_error=6115.62,
        xi=0.0,
        n_margin_violations=0,
        guide_cost=30.5,
        guide_weight=1 / 3,
        ended=CONVERGED,
        labels=(20, 20),
        n_labeled=40,
        n_unlabeled=360,
        n_contradicted=2,
        n_against_guide=14,
        n_splits=3,
        n_terms=7,
        totals=(175, 185),
        assigned=(175, 185),
        model=EVIDENCE,
        evidence_cost=36.5,
        evidence_bound=20.0,
        proved_among=AMONG,
    )


@pytest.fixture(scope="module")
def paper(guided) -> Certificate:
    """The same tree as a fit to P2 alone would have it."""
    return replace(guided, model="paper", guide_cost=None, guide_weight=None, n_against_guide=None, ended=TIME_LIMIT)


def mentions(certificate: Certificate, *values: object) -> bool:
    """Whether one sentence of the certificate names all these values."""
    return any(names(sentence, *values) for sentence in certificate.sentences())


def test_a_guided_fit_is_described_in_rows_and_not_in_p2(guided):
    assert str(guided) == "; ".join(guided.sentences())
    assert mentions(guided, 2, 40, "label")
    assert mentions(guided, 0, "total")
    assert mentions(guided, 3, "split", "2.3", "feature", 7, "term")
    assert mentions(guided, "guide", 346, 360)
    assert mentions(guided, "converged", "0.8 s")
    assert mentions(guided, "36.5", "rows", AMONG, 20)
    assert not mentions(guided, "P2")
    assert names(guided.in_p2[0], "P2", "6,115.62", "xi", 0)


def test_a_fit_to_p2_alone_is_described_in_rows_first(paper):
    first, *_, cost, bound, proof = paper.sentences()
    assert names(first, 2, 40, "label")
    assert names(cost, "P2", "6,115.62", "xi", 0)
    assert names(bound, "bound", 0)
    assert names(proof, "not proved", "6,116")
    assert mentions(paper, "time limit", "0.8 s")
    assert not mentions(paper, "guide")


@pytest.mark.parametrize(
    ("changes", "values"),
    [
        ({"n_contradicted": 1, "n_labeled": 1}, ("1 of 1 label ",)),
        ({"n_contradicted": 0, "n_labeled": 1234}, ("0 of 1,234 labels ",)),
        ({"xi": 1.0}, ("total", "1 row (0.28 %)")),
        ({"xi": 359.0}, ("total", "359 rows (100 %)")),
        ({"xi": 3.0, "least_xi": 3.0}, ("total", "3 rows (0.83 %)", "identical rows")),
        ({"xi": 3.0, "least_xi": 2.0}, ("total", "3 rows (0.83 %)")),
        ({"n_against_guide": 0, "n_unlabeled": 1}, ("guide", "1 of 1 unlabeled row")),
        ({"n_splits": 0, "n_terms": 0}, ("no split", "one class")),
        ({"n_splits": 1, "n_terms": 1}, ("1 split ", "1 feature")),
        ({"n_splits": 1, "n_terms": 3}, ("1 split ", "3 features")),
        ({"n_splits": 3, "n_terms": 3}, ("3 splits ", "1 feature ", "3 terms")),
        ({"classes_without_label": (1,)}, ("1 class ", "label")),
        ({"classes_without_label": (0, 1)}, ("2 classes ", "label")),
    ],
    ids=str,
)
def test_every_sentence_has_its_case(guided, changes, values):
    assert mentions(replace(guided, **changes), *values)


def test_only_a_miss_that_no_tree_avoids_is_blamed_on_identical_rows(guided):
    assert not mentions(replace(guided, xi=3.0, least_xi=2.0), "identical rows")


@pytest.mark.parametrize(
    ("changes", "values", "is_proved"),
    [
        ({"evidence_bound": 36.5}, (AMONG, "36.5 rows"), True),
        ({}, ("36.5 rows", AMONG, "at least 20 rows"), False),
        ({"evidence_bound": 0.0}, ("36.5 rows",), False),
        ({"proved_among": ""}, ("36.5 rows",), False),
    ],
    ids=["proved", "bound", "no bound", "nothing known"],
)
def test_a_proof_says_what_it_is_about(guided, changes, values, is_proved):
    certificate = replace(guided, **changes)
    assert mentions(certificate, *values, "proved")
    assert mentions(certificate, "not proved") is not is_proved
    assert mentions(certificate, AMONG) is (AMONG in values)


@pytest.mark.parametrize(
    ("ended", "why"), [(TIME_LIMIT, "time limit"), (INTERRUPTED, "interrupt"), (PROVED, "better one")]
)
def test_a_tree_that_is_not_proved_best_says_why(guided, ended, why):
    assert mentions(replace(guided, ended=ended), "not proved", why, "36.5 rows")


def test_classes_are_named_where_their_names_are_known(guided):
    unseen = replace(guided, classes_without_label=(1,))
    assert any(names(sentence, "'yes'", "label", "class") for sentence in unseen.sentences(["no", "yes"]))


def test_a_fit_without_unlabeled_rows_has_no_total_to_speak_of(paper):
    sentences = replace(paper, n_unlabeled=0).sentences()
    assert not any(sentence.startswith("total") for sentence in sentences)


@pytest.mark.parametrize(
    ("bound", "feasible", "best"), [(36.5, True, True), (36.5, False, True), (36.4, True, False), (40.0, True, False)]
)
def test_a_tree_is_proved_best_where_its_cost_in_rows_meets_the_bound(guided, bound, feasible, best):
    """P2's margins are no part of the evidence model; a bound above the cost is false and proves nothing."""
    certificate = replace(guided, evidence_bound=bound, feasible=feasible)
    assert certificate.proved_best is best
    assert certificate.minimised == (36.5, bound)
    assert certificate.proved is False


def test_proved_speaks_of_p2_and_proved_best_of_what_was_minimised(guided, paper):
    free = {"objective": 0.0, "leaf_error": 0.0}
    assert replace(guided, **free).proved
    assert not replace(guided, **free).proved_best
    assert replace(paper, **free).proved_best


LINE = Topology(2)


@pytest.fixture
def problem() -> Problem:
    """Labels A A B B at 0 1 8 9, and unlabeled rows at 2, 3, 3, 7."""
    X = [[0.0], [1.0], [8.0], [9.0], [2.0], [3.0], [3.0], [7.0]]
    return Problem.from_arrays(X, ["A", "A", "B", "B", None, None, None, None], totals={"A": 3})


def tree(omega, gamma) -> ObliqueTree:
    return ObliqueTree.of(LINE, np.array(omega, dtype=float)[:, None], np.array(gamma, dtype=float))


def test_rows_are_counted_from_where_the_tree_puts_them(problem):
    """The tree says A up to 0.5 and B beyond: one label of A is contradicted, no unlabeled row is in A."""
    prepared = prepared_as_is(problem, 2)
    certificate = certify(prepared, tree([1, 0, 0], [0.5, 1.0, -1.0]), RECORD)
    assert (certificate.n_labeled, certificate.n_unlabeled) == (4, 4)
    assert (certificate.n_contradicted, certificate.xi, certificate.least_xi) == (1, 3.0, 0.0)
    assert (certificate.totals, certificate.assigned) == ((3, 1), (0, 4))
    assert (certificate.n_splits, certificate.n_terms, certificate.features_per_split) == (1, 1, 1.0)
    assert certificate.n_against_guide is None
    assert certificate.classes_without_label == ()


def test_merged_rows_count_with_their_multiplicity(problem):
    twice = replace(problem, labels=problem.labels, labeled_multiplicity=np.array([1.0, 5.0, 1.0, 1.0]))
    certificate = certify(merged(prepared_as_is(twice, 2)), tree([1, 0, 0], [0.5, 1.0, -1.0]), RECORD)
    assert (certificate.n_labeled, certificate.n_unlabeled, certificate.n_contradicted) == (8, 4, 5)
    assert certificate.assigned == (0, 4)


def test_rows_against_the_guide_are_those_of_which_it_finds_another_class_likelier(problem):
    """The guide is undecided about the second row, for A about the third and for B about the others."""
    probabilities = np.array([[0.2, 0.8], [0.5, 0.5], [0.9, 0.1], [0.4, 0.6]])
    prepared = prepared_as_is(problem, 2).guided_by(Guide.from_probabilities(probabilities, 1.0))
    everything_b = ObliqueTree.constant(LINE, 1, right=True)
    assert certify(prepared, everything_b, RECORD).n_against_guide == 1
    assert certify(prepared, ObliqueTree.constant(LINE, 1, right=False), RECORD).n_against_guide == 2


def test_equal_rows_force_every_tree_to_miss_some_totals():
    """Two pairs of equal rows: a total of 1 is missed by 1, whatever the tree."""
    X = [[0.0], [9.0], [3.0], [3.0], [6.0], [6.0]]
    problem = Problem.from_arrays(X, ["A", "B", *[None] * 4], totals={"A": 1})
    prepared = prepare(problem, ModelSpec(depth=2))
    forced = certify(prepared, tree([1, 0, 0], [4.5, 1.0, -1.0]), RECORD)
    assert (forced.xi, forced.least_xi) == (1.0, 1.0)
    assert certify(prepared, ObliqueTree.constant(LINE, 1, right=True), RECORD).least_xi == 1.0


def test_splits_that_decide_nothing_are_not_counted():
    """Of three splits the left one has the same class on both sides, which P2 never has but OCT-H may."""
    problem = Problem.from_arrays([[0.0, 1.0], [9.0, 1.0], [5.0, 2.0]], ["A", "B", None], totals={"A": 1})
    omega, gamma = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 2.0]]), np.array([4.0, 2.0, 3.0])
    some = ObliqueTree(LINE, omega, gamma, np.array([0, 0, 0, 1]))
    certificate = certify(prepared_as_is(problem, 2), some, RECORD)
    assert (certificate.n_splits, certificate.n_terms, certificate.features_per_split) == (2, 3, 1.5)


def test_a_class_that_no_label_shows_is_known_by_its_place():
    problem = Problem.from_arrays([[0.0], [1.0], [5.0]], ["A", "A", None], totals={"A": 0, "B": 1})
    certificate = certify(prepared_as_is(problem, 2), tree([1, 0, 0], [3.0, 1.0, -1.0]), RECORD)
    assert certificate.classes_without_label == (1,)
