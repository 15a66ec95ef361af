"""Rivals of a tree, and its comparison with them on a user's table, by cross-validation over the labeled rows.

A strong rival uses the same information as the tree: its labeled rows are weighted by the known shares of the classes,
and its threshold is moved until the total is met.

The labeled rows of a fold join the unlabeled ones, and the totals grow accordingly. Every method is fitted to all rows
and judged by the classes that it assigns to the held-out rows.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import matthews_corrcoef
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from s2oct.arrays import FloatArray, IntArray
from s2oct.errors import ChanceLevelWarning, FewLabelsWarning, Notice
from s2oct.estimates.assessment import HeldOut, held_out_folds, mean_shares
from s2oct.estimators import S2OCTClassifier
from s2oct.estimators.fitted import tree_size
from s2oct.guides.known_total import PriorCorrectedClassifier, TopTotalClassifier, WrappedClassifier
from s2oct.guides.unknown_totals import with_estimated_totals
from s2oct.p2.prepared import paper_depth
from s2oct.p2.proof import INTERRUPTED
from s2oct.problem.known import Known
from s2oct.problem.labels import UNLABELED, Labels
from s2oct.tables.encoding import Features
from s2oct.trees.rules import TreeSize
from s2oct.workflow.encoded_table import EncodedTable

Announce = Callable[[str], None]
"""Called with a short message before every fit."""


@dataclass(frozen=True)
class HeldOutScore:
    """Scores of a method on held-out labels.

    Attributes
    ----------
    name : str
        The method.
    accuracy, mcc : float
        Scores in which every labeled row counts once; they hold for rows like the labeled ones.
    weighted_accuracy, weighted_mcc : float
        Scores in which labeled rows are weighted so that the classes have the shares of the known totals.
    standard_error : float
        Standard error of the weighted accuracy.
    difference, difference_error : float
        Weighted accuracy minus that of the tree, and its standard error, from paired rows.
    features_per_split, n_terms : float or None
        Means over the folds; None for a method that is not one tree.
    seconds : float
        Mean wall-clock time of a fit.
    """

    name: str
    accuracy: float
    mcc: float
    weighted_accuracy: float
    weighted_mcc: float
    standard_error: float
    difference: float
    difference_error: float
    features_per_split: float | None
    n_terms: float | None
    seconds: float


@dataclass(frozen=True)
class TableComparison:
    """Scores of the tree, first, and of its rivals on one table; ``n_rarer`` labels are of the rarest class."""

    scores: tuple[HeldOutScore, ...]
    n_labeled: int
    n_rarer: int
    n_folds: int
    notes: tuple[str, ...]
    chance: float
    n_classes: int = 2

    def findings(self) -> tuple[str, ...]:
        """Return sentences about the method and how conclusive it is."""
        tree, *rivals = self.scores
        best = max(rivals, key=lambda score: score.weighted_accuracy)
        errors = [score.standard_error for score in self.scores]
        clear = abs(best.difference) > 2 * best.difference_error
        side = "above" if best.difference > 0 else "below"
        rarer = "rarer" if self.n_classes == 2 else "rarest"
        apart = f"{abs(best.difference):.3f} {side} that" if round(best.difference, 3) else "that"
        return (
            f"Each of {self.n_labeled} labeled rows was held back once, in {self.n_folds} folds. Every method knew "
            "the totals of the rows without a label, the rows held back included.",
            "As sampled, every labeled row counts once. By known shares, they are weighted so that the classes have "
            "the shares of the totals. This corrects the shares of a biased sample, but no bias within a class. Chance "
            f"with the same totals has an accuracy of {self.chance:.3f}.",
            f"With {self.n_labeled} labels, {self.n_rarer} of them of the {rarer} class, the standard error (±) of an "
            f"accuracy by known shares is {min(errors):.3f} to {max(errors):.3f}. "
            f"The accuracy of the best rival, {best.name}, is {apart} of the {tree.name}, "
            f"with a standard error of {best.difference_error:.3f}: "
            + ("more than two standard errors." if clear else "these labels do not decide which of them is better."),
        )


def compare_encoded(encoded: EncodedTable, *, n_folds: int = 5, announce: Announce = lambda _: None) -> TableComparison:
    """Compare the tree of a request with strong rivals, by cross-validation over the labeled rows.

    Parameters
    ----------
    encoded : EncodedTable
        The table, with labels, totals and the parameters of the tree.
    n_folds : int
        Number of folds; a class with fewer labeled rows is only in some of them.
    announce : callable
        Is called with a few words before every fit.

    Returns
    -------
    TableComparison
        Scores on the held-out rows, the tree first.
    """
    rows = encoded.known.of_counted(encoded.rows)
    # Every method gets the same totals, even if they have to be estimated.
    counted = with_estimated_totals(encoded.known, rows, encoded.request.parameters.get("random_state") or 0)
    features = Features(rows, encoded.encoding, rows)
    # Classes are given by index: scores do not depend on the user's class names.
    labels = Labels(np.arange(len(counted.classes)), counted.labels.codes)
    # Notices about all rows need not be repeated for every fold.
    stated = replace(counted.stated, is_default=False)
    known = replace(counted, stated=stated).with_rows(labels, counted.targets, counted.weights, counted.domains)
    methods, seed = _methods(encoded, len(labels.classes))
    folds = held_out_folds(labels.codes, n_folds, seed)
    held = HeldOut.of_folds(replace(known, labels=Labels(counted.classes, labels.codes)), folds)
    trials = cross_fit(methods, features, known, folds, announce)
    tree = held.assess(trials[0].assigned, assigned_shares=trials[0].placed)
    notices = dict.fromkeys(notice for trial in trials for notice in trial.notices)
    return TableComparison(
        scores=tuple(_score(trial, trials[0], held) for trial in trials),
        n_labeled=len(held.rows),
        n_rarer=int(labels.counts().min()),
        n_folds=len(folds),
        notes=(*counted.doubts, *tree.cautions, *notices),
        chance=tree.chance,
        n_classes=len(labels.classes),
    )


def _methods(encoded: EncodedTable, n_classes: int) -> tuple[dict[str, Any], int]:
    """Return the unfitted tree and its rivals by name, and their seed."""
    request = encoded.request
    tree = S2OCTClassifier(**request.parameters)
    if request.rule_columns:
        tree.set_params(features=list(request.rule_columns))
    depth = paper_depth(len(encoded.rows), n_classes) if tree.depth == "auto" else int(tree.depth)
    seed = tree.random_state or 0
    rivals = {name: strong(rival, seed) for name, rival in light_rivals(depth, seed).items()}
    return {f"s2oct tree of depth {depth}": tree, **rivals}, seed


@dataclass(frozen=True, eq=False)
class Trial:
    """Result of a method in all folds.

    Attributes
    ----------
    assigned : ndarray of shape (n_rows,)
        Class index assigned to each labeled row while it was held out; -1 for unlabeled rows.
    placed : ndarray of shape (n_classes,) or None
        Share of the unlabeled rows assigned to each class, averaged over the folds; None without unlabeled rows.
    """

    name: str
    assigned: IntArray
    placed: FloatArray | None
    sizes: tuple[TreeSize, ...]
    seconds: float
    notices: tuple[str, ...]


def cross_fit(
    methods: Mapping[str, Any],
    features: Features,
    known: Known,
    folds: Sequence[IntArray],
    announce: Announce = lambda _: None,
) -> list[Trial]:
    """Fit every method once for each fold, with the rows of the fold unlabeled and added to the totals.

    Parameters
    ----------
    methods : mapping of str to classifier
        Classifiers that take totals and have ``transduction_`` after a fit.
    features : Features
        All rows. The tree gets their columns, its rivals get numbers.
    known : Known
        Labels, whose classes are called 0, 1, 2, ..., totals, domains and weights; all rows count.
    folds : sequence of ndarray
        Row numbers to hold out.
    announce : callable
        Is called with a few words before every fit.

    Returns
    -------
    list of Trial
        One per method, in their order.
    """
    trials = []
    for name, method in methods.items():
        assigned = np.full(len(features), UNLABELED)
        fitted = []
        began = time.perf_counter()
        for number, held in enumerate(folds, 1):
            announce(f"fold {number} of {len(folds)}: {name}")
            fitted.append(_fit_without(method, features, known, held))
            assigned[held] = fitted[-1].transduction_[held]
        seconds = (time.perf_counter() - began) / len(folds)
        sizes = tuple(size for clf in fitted if (size := tree_size(clf)) is not None)
        notices = tuple(notice for clf in fitted for notice in _notices(clf))
        of_unlabeled = [clf.transduction_[~known.is_labeled].astype(np.int64) for clf in fitted]
        placed = mean_shares(of_unlabeled, known.unlabeled_sizes, len(known.classes))
        trials.append(Trial(name, assigned, placed, sizes, seconds, notices))
    return trials


def _notices(clf: Any) -> list[str]:
    """Return the notices of a fit, except those about labels: a fold has fewer labels than the user's table."""
    if not isinstance(clf, S2OCTClassifier):
        return []
    of_fold = (FewLabelsWarning, ChanceLevelWarning)
    return [found for found in clf.notices_ if not (isinstance(found, Notice) and found.category in of_fold)]


def _fit_without(method: Any, features: Features, known: Known, held: IntArray) -> Any:
    X = features if isinstance(method, S2OCTClassifier) else features.rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the tree's notices are kept, and users cannot act on rivals' warnings
        clf = clone(method).fit(X, known.without(held))
    if isinstance(clf, S2OCTClassifier) and clf.certificate_.ended == INTERRUPTED:
        # A fit keeps its best tree on Ctrl-C, but unfinished trees must not be compared with finished rivals.
        raise KeyboardInterrupt
    return clf


def _score(trial: Trial, tree: Trial, held: HeldOut) -> HeldOutScore:
    truth, assigned = held.truth, trial.assigned[held.rows]
    found = held.assess(trial.assigned, assigned_shares=trial.placed)
    right = assigned == truth
    difference, error = held.difference(right, tree.assigned[held.rows] == truth)
    return HeldOutScore(
        name=trial.name,
        accuracy=float(right.mean()),
        mcc=_mcc(truth, assigned),
        weighted_accuracy=found.accuracy,
        weighted_mcc=_mcc(truth, assigned, held.weights),
        standard_error=found.accuracy_se,
        difference=difference,
        difference_error=error,
        features_per_split=_mean([size.features_per_split for size in trial.sizes]),
        n_terms=_mean([float(size.n_terms) for size in trial.sizes]),
        seconds=trial.seconds,
    )


def _mcc(truth: IntArray, assigned: IntArray, weights: FloatArray | None = None) -> float:
    """Return the Matthews correlation of assigned and true classes; 0 if only one class could be held out."""
    return float(matthews_corrcoef(truth, assigned, sample_weight=weights)) if np.ptp(truth) else 0.0


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


N_TREES = 200
"""Number of trees in a forest: twice scikit-learn's default."""


def usual_rivals(random_state: int = 0) -> dict[str, Any]:
    """Return well-known classifiers by name, not fitted."""
    return {
        "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
        "random forest": RandomForestClassifier(N_TREES, random_state=random_state),
    }


def light_rivals(depth: int, random_state: int = 0) -> dict[str, Any]:
    """Return the usual rivals and two more that need no other package; the decision tree has the given depth."""
    return usual_rivals(random_state) | {
        "extremely randomised trees": ExtraTreesClassifier(N_TREES, random_state=random_state),
        f"decision tree of depth {depth}": DecisionTreeClassifier(max_depth=depth, random_state=random_state),
    }


def strong(classifier: Any, random_state: Any = 0) -> TopTotalClassifier:
    """Weight a classifier by the known shares, and move its threshold until the total is met.

    Parameters
    ----------
    classifier : classifier
        Any classifier that `PriorCorrectedClassifier` accepts and that has scores. A wrapper of this package is not
        weighted again.
    random_state : int, RandomState or None
        Seed of the order of rows with equal scores.

    Returns
    -------
    TopTotalClassifier
        The classifier with both wrappers, not fitted.
    """
    knows = isinstance(classifier, WrappedClassifier)
    return TopTotalClassifier(classifier if knows else PriorCorrectedClassifier(classifier), random_state=random_state)


def assign_classes(rivals: Mapping[str, Any], X: FloatArray, known: Known) -> dict[str, IntArray]:
    """Fit the strong version of each rival, which assigns a class to every unlabeled row and meets the totals.

    Parameters
    ----------
    rivals : mapping of str to classifier
        Classifiers by name; they are cloned before they are fitted.
    X : ndarray of shape (n_rows, n_features)
        Labeled and unlabeled rows that count.
    known : Known
        Labels, whose classes are called 0, 1, 2, ..., totals and weights.

    Returns
    -------
    dict of str to ndarray of shape (n_unlabeled,)
        By name, the class index of each unlabeled row.
    """
    assigned = {}
    for name, rival in rivals.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # readers of a comparison cannot act on a rival's warnings
            fitted = strong(rival)._fit_known(X, known)
        assigned[name] = np.asarray(fitted.transduction_[~known.is_labeled], dtype=np.int64)
    return assigned
