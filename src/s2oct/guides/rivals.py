"""Other classifiers to compare a tree with: fitted to the same rows and labels, and made to meet the same totals."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from s2oct.arrays import FloatArray, IntArray
from s2oct.guides.top_total import TopTotalClassifier
from s2oct.model.labels import UNLABELED


def usual_rivals() -> dict[str, Any]:
    """Classifiers that most readers know, by name and not fitted."""
    return {
        "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
        "random forest": RandomForestClassifier(n_estimators=300, random_state=0),
    }


def assign_classes(rivals: Mapping[str, Any], X: FloatArray, codes: IntArray, totals: IntArray) -> dict[str, IntArray]:
    """Fit rivals and let each assign a class to every unlabeled row, so that the totals are met.

    Parameters
    ----------
    rivals : mapping of str to classifier
        Classifiers by name; they are cloned before they are fitted.
    X : ndarray of shape (n_rows, n_features)
        Labeled and unlabeled rows.
    codes : ndarray of shape (n_rows,)
        Class index of each labeled row, 0 or 1, and -1 for an unlabeled row.
    totals : ndarray of shape (2,)
        Known number of unlabeled rows of each class.

    Returns
    -------
    dict of str to ndarray of shape (n_unlabeled,)
        By name, the class index of each unlabeled row.
    """
    return {name: _assigned(rival, X, codes, totals) for name, rival in rivals.items()}


def _assigned(rival: Any, X: FloatArray, codes: IntArray, totals: IntArray) -> IntArray:
    unlabeled = codes == UNLABELED
    y = np.where(unlabeled, np.nan, codes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # readers of a comparison cannot act on a rival's warnings
        fitted = TopTotalClassifier(rival).fit(X, y, totals={c: int(n) for c, n in enumerate(totals)})
    return np.asarray(fitted.transduction_[unlabeled], dtype=np.int64)
