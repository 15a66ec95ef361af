"""Cross-validation for partly labeled tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from s2oct.arrays import IntArray
from s2oct.model.labels import read_labels


class LabeledKFold:
    """Folds over the labeled rows; unlabeled rows are in every training set, so known totals stay true.

    Parameters
    ----------
    n_splits : int
        Number of folds.
    random_state : int or None
        Shuffles the labeled rows before they are divided into folds; None keeps their order.

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
        """Number of folds.

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
        """Row numbers of each training and test set.

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
