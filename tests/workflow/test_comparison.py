"""The tree beside rivals on one table: which rows are held back, what the scores are, and what they can say."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

from s2oct import S2OCTClassifier
from s2oct.errors import InvalidProblem
from s2oct.problem.known import Known
from s2oct.problem.labels import Labels
from s2oct.problem.totals import Targets
from s2oct.tables.encoding import Features, plain_encoding
from s2oct.tables.partly_labeled import Roles
from s2oct.tables.totals import TableTotals
from s2oct.workflow import comparison
from s2oct.workflow.comparison import HeldOutScore, TableComparison, compare_encoded, cross_fit
from s2oct.workflow.encoded_table import FitRequest, encode_table
from tests.messages import names, naming

QUICK = {"depth": 1, "guide": LogisticRegression(), "time_limit": 20, "random_state": 0}
FITS = []


@pytest.fixture(autouse=True)
def small_forests(monkeypatch):
    monkeypatch.setattr(comparison, "N_TREES", 10)


class Noted(ClassifierMixin, BaseEstimator):
    """Keeps what it was fitted to, and gives every row without a label class 1."""

    def fit(self, X, known):
        FITS.append(known)
        self.transduction_ = np.where(known.is_labeled, known.labels.codes, 1)
        return self


@pytest.fixture
def request_for(table):
    """``request_for(labels)`` asks for a comparison on rows 0, 1, 2, ... of which the first have these labels."""

    def ask(labels, total=10):
        lines = [f"{i % 10 + (5 if label == 'b' else 0)},{i % 3},{label}" for i, label in enumerate(labels)]
        lines += [f"{i},{i % 3}," for i in range(20)]
        totals = TableTotals([("b", str(total))])
        return FitRequest(table("x,z,c\n" + "\n".join(lines)), Roles("c"), totals=totals, parameters=QUICK)

    return ask


def test_rows_held_back_are_unlabeled_and_counted_in_the_totals():
    FITS.clear()
    labels = Labels(np.array([0, 1]), np.array([0, 1, 0, 1, 1, *[-1] * 30]))
    folds = [np.array([0, 1]), np.array([2, 3, 4])]
    known = Known.of_rows(labels, Targets.exact([20, 10], 30))
    (trial,) = cross_fit({"noted": Noted()}, Features(None, plain_encoding("x"), np.zeros((35, 1))), known, folds)
    assert [np.flatnonzero(~found.is_labeled).tolist() for found in FITS] == [
        [0, 1, *range(5, 35)],
        [2, 3, 4, *range(5, 35)],
    ]
    assert [found.targets.class_totals().tolist() for found in FITS] == [[21, 11], [21, 12]]
    # Rows without a label are judged by nobody.
    assert trial.assigned.tolist() == [1, 1, 1, 1, 1, *[-1] * 30]
    assert trial.placed.tolist() == [0, 1]


def test_weighted_scores_are_means_of_the_classes_by_their_known_shares(request_for):
    """15 of 20 labels are of class a, but 16 of 20 unlabeled rows are of class b."""
    comparison = compare_encoded(encode_table(request_for(["a"] * 15 + ["b"] * 5, total=16)), n_folds=5)
    assert (comparison.n_labeled, comparison.n_rarer, comparison.n_folds) == (20, 5, 5)
    for score in comparison.scores:
        # Both accuracies follow from the shares that are right in each class, and the other way round.
        equations = [[15 / 20, 5 / 20], [4 / 20, 16 / 20]]
        right_a, right_b = np.linalg.solve(equations, [score.accuracy, score.weighted_accuracy])
        assert right_a * 15 == pytest.approx(round(right_a * 15))
        assert right_b * 5 == pytest.approx(round(right_b * 5))
        rates = [((right_a * 15 + 0.5) / 16, 15, 0.2), ((right_b * 5 + 0.5) / 6, 5, 0.8)]
        variance = sum(share**2 * rate * (1 - rate) / (n + 2) for rate, n, share in rates)
        assert score.standard_error == pytest.approx(math.sqrt(variance))


def test_the_tree_comes_first_and_only_trees_have_a_size(request_for):
    comparison = compare_encoded(encode_table(request_for(["a", "b"] * 6)), n_folds=3)
    tree, *others = comparison.scores
    assert tree.name == "s2oct tree of depth 1"
    assert [rival.name for rival in others] == [
        "logistic regression",
        "random forest",
        "extremely randomised trees",
        "decision tree of depth 1",
    ]
    assert [score.n_terms is None for score in comparison.scores] == [False, True, True, True, False]
    assert others[-1].features_per_split == 1
    assert (tree.difference, tree.seconds > 0) == (0, True)


def test_the_same_seed_gives_the_same_scores(request_for):
    first, second = (
        compare_encoded(encode_table(request_for(["a", "b", "b"] * 4)), n_folds=3).scores for _ in range(2)
    )
    assert [dataclasses.replace(score, seconds=0) for score in first] == [
        dataclasses.replace(score, seconds=0) for score in second
    ]


def test_a_class_with_fewer_labels_than_folds_is_held_out_in_some_of_them(request_for):
    comparison = compare_encoded(encode_table(request_for(["a"] * 6 + ["b"] * 3)), n_folds=5)
    assert (comparison.n_folds, comparison.n_labeled) == (5, 9)
    assert any(names(note, "'a'", 6, "'b'", 3) for note in comparison.notes)


def test_a_single_label_of_a_class_is_not_held_out_and_the_notes_say_so(request_for):
    comparison = compare_encoded(encode_table(request_for(["a"] * 6 + ["b"])), n_folds=3)
    assert comparison.n_labeled == 6
    assert any(names(note, "'b'", 1, "held out") for note in comparison.notes)


def test_labels_none_of_which_can_be_held_out_are_refused(request_for):
    with pytest.raises(InvalidProblem, match=naming("class", "label")):
        compare_encoded(encode_table(request_for(["a", "b"])))


def test_an_interrupted_fit_ends_the_comparison(request_for, monkeypatch):
    """Its tree is unfinished, and the user wants to stop."""
    fit = S2OCTClassifier.fit

    def interrupted(self, *args, **kwargs):
        fit(self, *args, **kwargs)
        self.certificate_ = dataclasses.replace(self.certificate_, ended="interrupted")
        return self

    monkeypatch.setattr(S2OCTClassifier, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compare_encoded(encode_table(request_for(["a", "b"] * 4)), n_folds=2)


def score(name, difference, error):
    return HeldOutScore(name, 0.8, 0.6, 0.8 + difference, 0.6, 0.05, difference, error, None, None, 1.0)


@pytest.mark.parametrize(
    ("difference", "error", "words"),
    [
        (0.1, 0.04, ("forest", "0.100", "0.040", "more than two")),
        (0.1, 0.06, ("forest", "0.100", "0.060", "not")),
        (-0.1, 0.04, ("forest", "0.100", "below")),
        (1e-17, 0.04, ("forest",)),
    ],
)
def test_the_last_sentence_says_how_much_the_labels_can_say(difference, error, words):
    scores = (score("tree", 0.0, 0.0), score("worse", -0.2, 0.01), score("forest", difference, error))
    assert names(TableComparison(scores, 40, 9, 5, (), 0.5).findings()[-1], *words)
