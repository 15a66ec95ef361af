"""The path from the simplest to the richest tree: what is on it, and that its numbers are those of its trees."""

from __future__ import annotations

import pickle
import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from s2oct import S2OCTClassifier, TopTotalClassifier, load, save
from s2oct.datasets import make_labour_force
from s2oct.errors import InvalidProblem, S2OCTWarning
from s2oct.evidence.evidence import AUTO_GUIDE_WEIGHT, AUTO_TOTAL_PRICE
from s2oct.stopping import now
from tests.fitted import Fit
from tests.messages import naming
from tests.oracles import walk

GUIDE_WEIGHT = AUTO_GUIDE_WEIGHT
NO_PATH = naming("guide", "session")


def guide():
    return make_pipeline(StandardScaler(), LogisticRegression())


def fitted(seed: int = 2, **parameters) -> Fit:
    """A survey with named features, which no two people share."""
    survey = make_labour_force(n_people=200, n_labeled=30, seed=seed)
    X = pd.DataFrame(survey.X, columns=survey.feature_names)
    assert len(X.drop_duplicates()) == len(X)
    clf = S2OCTClassifier(**{"depth": 2, "guide": guide(), "random_state": 0, **parameters})
    return Fit(clf.fit(X, survey.y, totals=survey.totals), X, survey.y, survey.totals)


@pytest.fixture(scope="module", params=[2, 5])
def fit(request) -> Fit:
    return fitted(request.param)


@pytest.fixture(scope="module")
def path(fit):
    return fit.clf.simplicity_path()


@pytest.fixture(scope="module")
def answer(fit) -> np.ndarray:
    """What the guide says of the unlabeled rows."""
    return TopTotalClassifier(guide()).fit(fit.X, fit.y, totals=fit.totals).predict_proba(fit.X[~fit.is_labeled])


def evidence_by_loops(fit: Fit, answer: np.ndarray, tree) -> tuple[float, float]:
    """What labels, guide and totals have against a tree, and rows off the totals, row by row."""
    says = iter(answer)
    against, counts = 0.0, dict.fromkeys(fit.totals, 0)
    for x, label in zip(fit.rows, fit.y, strict=True):
        k = tree.leaf_classes[walk(tree, x) - tree.topology.n_leaves]
        if label is not None:
            against += (fit.clf.classes_[k] != label) / GUIDE_WEIGHT
            continue
        probability = next(says)
        counts[fit.clf.classes_[k]] += 1
        lead = max(probability) - probability[k]
        against += lead / 2 + (lead > 0) / 2
    off = abs(counts["yes"] - fit.totals["yes"])
    return against + AUTO_TOTAL_PRICE * off, off


def test_each_tree_has_more_terms_and_less_evidence_against_it(path):
    assert len(path) > 2, "a path of fewer trees tests nothing"
    assert path[-1].evidence_gap == 0
    for simple, rich in pairwise(path):
        assert simple.n_terms < rich.n_terms
        assert simple.evidence_gap > rich.evidence_gap + 0.5


def test_numbers_are_those_of_the_trees_in_the_units_of_the_rows(fit, answer, path):
    against = [evidence_by_loops(fit, answer, step.tree) for step in path]
    best, _ = against[-1]
    for step, (rows, off) in zip(path, against, strict=True):
        assert step.rows_off == off
        assert step.evidence_gap == pytest.approx(rows - best, abs=1e-6)
        assert step.gap_bound <= step.evidence_gap + 1e-6
        assert step.n_splits == len(re.findall(r"\bif ", step.rules))
        assert step.n_terms == sum(step.rules.count(name) for name in fit.X.columns)


def test_fitted_tree_is_on_the_path_or_matched_by_a_simpler_one(fit, answer, path):
    clf, found = fit.clf, path.fitted
    assert found.tree.omega.tolist() == clf.tree_.omega.tolist()
    assert found.tree.gamma.tolist() == clf.tree_.gamma.tolist()
    assert found.rules == clf.rules_
    simpler = any(step.n_terms < found.n_terms and step.evidence_gap <= found.evidence_gap + 0.5 for step in path)
    better = any(step.n_terms == found.n_terms and step.evidence_gap < found.evidence_gap - 0.5 for step in path)
    assert found in path or simpler or better
    best, _ = evidence_by_loops(fit, answer, path[-1].tree)
    assert found.evidence_gap == pytest.approx(evidence_by_loops(fit, answer, clf.tree_)[0] - best, abs=1e-6)


def test_agreement_is_the_share_of_rows_with_the_likeliest_class_of_the_guide(fit, answer, path):
    rows = fit.rows[~fit.is_labeled]
    for step in path:
        given = answer[np.arange(len(rows)), step.tree.predict(rows)]
        assert step.agreement == pytest.approx(np.mean(given >= answer.max(axis=1)))


def test_each_tree_is_assessed_by_trees_as_simple_and_the_fitted_one_by_the_fit(fit, path):
    found = fit.clf.assess()
    assert (path.fitted.accuracy, path.fitted.accuracy_se) == (found.accuracy, found.accuracy_se)
    cross_fitted, known = fit.clf._cross_fitted(), fit.clf._session.fit.known
    for step in path:
        if step is path.fitted:
            continue
        trees = []
        for trained in cross_fitted.trained:
            trees.append([tree for terms, tree in trained.evidence_fit.frontier() if terms <= step.n_terms][-1])
        assert step.accuracy == pytest.approx(accuracy_by_hand(fit, cross_fitted.folds, trees, known.labels.codes))


def accuracy_by_hand(fit: Fit, folds, trees, codes) -> float:
    """Recall of each class from the rows of the folds, weighted to the known shares.

    A class that cannot be held out has as many right rows as trees put into it beyond those of the other class.
    """
    n_unlabeled, classes = int((~fit.is_labeled).sum()), fit.clf.classes_.tolist()
    share_of_yes = fit.totals["yes"] / n_unlabeled
    shares = [share_of_yes if label == "yes" else 1 - share_of_yes for label in classes]
    held = {k: [(tree.predict(fit.rows[[row]])[0]) for rows, tree in zip(folds, trees, strict=True) for row in rows
                if codes[row] == k] for k in (0, 1)}  # fmt: skip
    accuracy = 0.0
    for k in (0, 1):
        if held[k]:
            accuracy += shares[k] * float(np.mean(np.array(held[k]) == k))
            continue
        placed = float(np.mean([tree.predict(fit.rows[~fit.is_labeled]) == k for tree in trees]))
        of_other = shares[1 - k] * float(np.mean(np.array(held[1 - k]) == k))
        accuracy += shares[k] * min(max((placed - of_other) / shares[k], 0.0), 1.0)
    return accuracy


def test_the_recommended_tree_is_the_simplest_that_is_about_as_accurate_as_the_best(fit, path):
    nearly = path.fitted.rows_off + 0.02 * (~fit.is_labeled).sum()
    near = [step for step in path.with_fitted if step.rows_off <= nearly]
    assert path.recommended in near
    best = max(step.accuracy for step in near)
    simpler = [step for step in near if step.n_terms < path.recommended.n_terms]
    # What is simpler is worse by some standard errors of a difference, each of which is at least one of 30 labels'.
    assert all(step.accuracy < best for step in simpler)
    assert path.recommended.accuracy <= best


def test_trees_are_rules_that_predict_what_they_say(fit, path):
    """The text of each tree, executed as a program by a reader that knows nothing of trees."""
    for step in path:
        program = re.sub(r"^( *)(yes|no)$", r"\1said = '\2'", step.rules, flags=re.MULTILINE)
        program = program.replace("otherwise:", "else:")
        for i in range(0, len(fit.X), 7):
            space = dict(zip(fit.X.columns, fit.rows[i].tolist(), strict=True))
            exec(program, space)
            assert space["said"] == fit.clf.classes_[step.tree.predict(fit.rows[i : i + 1])[0]]


def test_it_prints_a_table_and_slices_are_paths(path):
    lines = str(path).splitlines()
    n_shown = len(path) + (path.fitted not in path)
    assert lines[0].split("  ")[0] == "terms"
    assert len(lines) == 1 + n_shown
    assert [int(line.split()[0]) for line in lines[1:]] == [step.n_terms for step in path.with_fitted]
    (marked,) = [line for line in lines if "the fitted tree" in line]
    assert int(marked.split()[0]) == path.fitted.n_terms
    assert list(path[1:]) == list(path)[1:]
    assert path[:0].fitted is path.fitted
    assert repr(path[:1]) == f"<SimplicityPath of trees with {path[0].n_terms} terms>"
    assert repr(path[:0]) == "<SimplicityPath of no trees>"


def test_it_repeats_itself(fit, path):
    again = fit.clf._session.evidence_fit.path(fit.clf._rules_of, fit.clf._agreement_of)
    assert [(step.evidence_gap, step.agreement) for step in again] == [
        (step.evidence_gap, step.agreement) for step in path
    ]
    assert [step.rules for step in again] == [step.rules for step in path]


def test_only_the_features_that_rules_may_use_are_used():
    allowed = ["age", "education_years", "urbanity"]
    fit = fitted(features=allowed)
    path = fit.clf.simplicity_path()
    assert len(path) > 1
    for step in (*path, path.fitted):
        assert step.tree.n_features == fit.X.shape[1]
        used = fit.X.columns[step.tree.omega.any(axis=0)]
        assert set(used) <= set(allowed)


def test_limit_on_the_features_of_a_split_holds_on_the_path():
    path = fitted(max_features_per_split=2).clf.simplicity_path()
    assert len(path) > 1
    for step in path:
        assert np.count_nonzero(step.tree.omega, axis=1).max() <= 2


def test_path_has_the_time_limit_of_a_fit_and_at_least_the_fitted_tree(fit):
    clf = fitted().clf
    clf.time_limit = 1e-9
    began = now()
    path = clf.simplicity_path(assess=False)
    assert now() - began <= 0.1
    assert list(path) == [path.fitted]
    assert path.fitted.rules == clf.rules_
    assert path.fitted.evidence_gap == 0


def test_pickles_and_model_files_have_no_path(tmp_path):
    clf = fitted().clf
    save(clf, tmp_path / "model.json")
    with pytest.warns(S2OCTWarning, match="a model file does not keep"):
        loaded = load(tmp_path / "model.json")
    for copied in (pickle.loads(pickle.dumps(clf)), loaded):
        assert not copied.has_simplicity_path
        with pytest.raises(InvalidProblem, match=NO_PATH):
            copied.simplicity_path()
    assert clf.has_simplicity_path


def test_rows_are_not_in_the_pickle():
    clf = fitted().clf
    assert len(pickle.dumps(clf)) < 20_000 < len(pickle.dumps(clf._session.evidence_fit))


def test_only_a_fit_with_a_guide_has_a_path(survey):
    X, y, totals = survey
    clf = S2OCTClassifier(depth=1, guide=None, solver=None, time_limit=2, random_state=0).fit(X, y, totals=totals)
    assert not clf.has_simplicity_path
    with pytest.raises(InvalidProblem, match=NO_PATH):
        clf.simplicity_path()
    with pytest.raises(NotFittedError):
        S2OCTClassifier().simplicity_path()


def test_a_fit_without_unlabeled_rows_has_a_path_by_its_labels(survey):
    X, y, _ = survey
    with pytest.warns(S2OCTWarning, match=naming("every row", "label")):
        clf = S2OCTClassifier(depth=1, random_state=0).fit(X[:6], y[:6])
    assert any(step.tree is clf.tree_ for step in clf.simplicity_path())


def test_a_path_is_fitted_once_and_anew_after_another_fit(survey):
    X, y, totals = survey
    clf = S2OCTClassifier(depth=2, random_state=0).fit(X, y, totals=totals)
    path = clf.simplicity_path(assess=False)
    assert clf.simplicity_path(assess=False) is path
    assert path.recommended is None
    assessed = clf.simplicity_path()
    assert clf.simplicity_path() is clf.simplicity_path(assess=False) is assessed
    assert clf.fit(X, y, totals=totals).simplicity_path() is not assessed


@pytest.mark.filterwarnings("ignore:.*total.* row")
def test_a_fit_at_the_price_of_a_step_costs_what_the_step_says_at_least():
    """With one feature per split all fits have the same questions, so that their bounds are about the same trees."""
    fit = fitted(max_features_per_split=1)
    path, n_proved = fit.clf.simplicity_path(), 0
    assert path.fitted.term_price is None
    for step in path:
        if step.term_price is not None:
            at_price = fitted(max_features_per_split=1, term_price=step.term_price).clf.certificate_
            chosen = fit.clf.with_tree(step).certificate_
            assert at_price.evidence_bound == pytest.approx(step.evidence_bound, abs=1e-4)
            assert chosen.evidence_cost >= at_price.evidence_cost - 1e-4
            assert chosen.proved_best == (chosen.evidence_cost <= at_price.evidence_cost + 1e-6)
            n_proved += chosen.proved_best
    assert n_proved
