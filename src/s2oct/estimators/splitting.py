"""Cross-validation for partly labeled tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing

from s2oct.arrays import IntArray
from s2oct.errors import InvalidProblem, MisfitTotalsWarning
from s2oct.problem.known import warn_caller, warn_of_unlabeled
from s2oct.problem.labels import read_labels
from s2oct.problem.totals import Estimate, is_number, mapping_of
from s2oct.wording import brief, listed


class LabeledKFold:
    """Folds over the labeled rows; unlabeled rows are in every training set, so known totals stay valid.

    Parameters
    ----------
    n_splits : int
        Number of folds.
    random_state : int or None
        Seed for shuffling the labeled rows before they are divided into folds; None keeps their order.

    Examples
    --------
    >>> from s2oct import LabeledKFold
    >>> y = ["a", "b", "a", "b", None, None]
    >>> for train, test in LabeledKFold(n_splits=2).split(None, y):
    ...     print(train.tolist(), test.tolist())
    [2, 3, 4, 5] [0, 1]
    [0, 1, 4, 5] [2, 3]
    """

    def __init__(self, n_splits: int = 5, random_state: int | None = None) -> None:
        self.n_splits = n_splits
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds.

        Parameters
        ----------
        X, y, groups : object
            Not used; present for scikit-learn.

        Returns
        -------
        int
            The parameter ``n_splits``.
        """
        return self.n_splits

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield the row numbers of each training and test set.

        Parameters
        ----------
        X : object
            Not used; present for scikit-learn.
        y : array-like of shape (n_rows,)
            Labels, with the markers for unlabeled rows.
        groups : object
            Not used.

        Yields
        ------
        train : ndarray
            Row numbers of the other folds' labeled rows and of all unlabeled rows.
        test : ndarray
            Row numbers of the fold's labeled rows.
        """
        labels = read_labels(y)
        labeled, unlabeled = np.flatnonzero(labels.is_labeled), np.flatnonzero(~labels.is_labeled)
        shuffle = self.random_state is not None
        folds = StratifiedKFold(self.n_splits, shuffle=shuffle, random_state=self.random_state)
        for train, test in folds.split(labeled, labels.codes[labeled]):
            yield np.sort(np.concatenate([labeled[train], unlabeled])), labeled[test]


_AGREE = 0.01
"""Shares that differ by more than this part of the rows disagree; a difference of one row is always allowed."""

Metric = Callable[..., float]
"""A metric of scikit-learn: true labels, predicted labels, and ``sample_weight``."""


def by_known_shares(totals: Any, metric: Metric = accuracy_score) -> Callable[..., float]:
    """Make a scorer that weights the labeled rows of a test fold so that the classes have their known shares.

    Labels of a biased sample have the wrong class shares, and a plain score rewards a tree for them: a parameter search
    then optimises for the sample instead of the rows to be classified.

    The scorer warns if a fold has unlabeled rows, which it ignores, and if the classifier was fitted to totals with
    other shares. Both happen with splitters other than `LabeledKFold`, which remove unlabeled rows from the training
    set. Totals estimated by the fit also have other shares.

    Parameters
    ----------
    totals : mapping or pandas Series
        Number or share of rows of each class; only the value of an `Estimate` is used.
    metric : callable
        Takes true labels, predicted labels and ``sample_weight``, like scikit-learn's metrics.

    Returns
    -------
    callable
        A scorer for ``scoring`` in ``cross_val_score``, ``GridSearchCV`` and similar tools.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from s2oct import by_known_shares
    >>> X, y = [[0.0]] * 5, ["no", "no", "no", "no", "yes"]
    >>> always_no = DummyClassifier().fit(X, y)
    >>> always_no.score(X, y), by_known_shares({"no": 60, "yes": 140})(always_no, X, y)
    (0.8, 0.3)
    """
    given_totals = mapping_of(totals)
    if not given_totals:
        raise InvalidProblem(f"by_known_shares needs a mapping of classes to totals or shares, got {brief(totals)}.")
    known = {label: given.value if isinstance(given, Estimate) else given for label, given in given_totals.items()}
    for label, given in known.items():
        if not is_number(given) or not np.isfinite(float(given)) or float(given) < 0:
            raise InvalidProblem(
                f"by_known_shares needs a number of at least 0 for class {brief(label)}, got {brief(given)}."
            )
    in_all = sum(map(float, known.values()))
    if in_all <= 0:
        raise InvalidProblem("by_known_shares needs a positive total of at least one class, got zeros only.")
    return partial(_score, {label: float(given) / in_all for label, given in known.items()}, metric)


def _score(
    shares: Mapping[Any, float], metric: Metric, estimator: Any, X: Any, y: Any, sample_weight: Any = None
) -> float:
    """Score a fitted classifier; see `by_known_shares`."""
    labels = read_labels(y, named=list(shares))
    rows, codes = np.flatnonzero(labels.is_labeled), labels.codes[labels.is_labeled]
    warn_of_unlabeled(labels.is_labeled)
    _warn_of_other_totals(shares, estimator)
    own = np.ones(len(rows)) if sample_weight is None else np.asarray(sample_weight, dtype=float)[rows]
    here = np.bincount(codes, weights=own, minlength=len(labels.classes))
    classes = labels.classes.tolist()
    without_total = [brief(label) for label, n in zip(classes, here, strict=True) if n and label not in shares]
    if without_total:
        raise InvalidProblem(
            f"by_known_shares needs a total of every class with labeled rows, but got none of {listed(without_total)}."
        )
    without_rows = [brief(label) for label, n in zip(classes, here, strict=True) if not n and shares[label]]
    if without_rows:
        warn_caller(
            f"No labeled row to be scored is of class {listed(without_rows)}, so the score ignores it: use fewer "
            "folds.",
            MisfitTotalsWarning,
        )
    each = np.array([shares.get(label, 0.0) for label in classes]) / np.where(here > 0, here, 1.0)
    truth, predicted = labels.classes[codes], estimator.predict(_safe_indexing(X, rows))
    return float(metric(truth, predicted, sample_weight=own * each[codes]))


def _warn_of_other_totals(shares: Mapping[Any, float], estimator: Any) -> None:
    """Warn if the totals of the fit imply shares other than the known ones."""
    fitted = estimator[-1] if hasattr(estimator, "named_steps") else estimator
    totals = getattr(getattr(fitted, "certificate_", None), "totals", None)
    if totals is None or set(fitted.classes_.tolist()) != set(shares):
        return
    in_all = float(sum(totals))
    for label, total in zip(fitted.classes_.tolist(), totals, strict=True):
        expected = shares[label] * in_all
        if abs(total - expected) > max(_AGREE * in_all, 1.0):
            remedy = (
                "The fit has estimated its totals: pass the known totals to it."
                if any(cell.is_aim for cell in fitted.certificate_.cells)
                else "In cross-validation, use LabeledKFold and pass totals, not population_totals: other "
                "splitters take unlabeled rows out of the training set."
            )
            warn_caller(
                f"The classifier was fitted to {total:.0f} of {in_all:.0f} unlabeled rows of class {brief(label)}, but "
                f"the known shares imply {expected:.0f}. {remedy}",
                MisfitTotalsWarning,
            )
            return
