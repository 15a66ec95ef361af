"""Test whether features predict the labels better than chance, on labels that forests have not seen."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr
from scipy.stats import rankdata

from s2oct.arrays import FloatArray, IntArray
from s2oct.guides.forest import GuideStopped, SelfTrainedForest
from s2oct.problem.known import Known
from s2oct.problem.labels import FEW_LABELS, Labels
from s2oct.stopping import Deadline

N_TREES = 30
"""Number of trees in each of the four forests: more would take time and hardly change the votes."""

MOST_ROWS = 500
"""Maximum number of labeled rows used: more would take time and not change the verdict."""


def chance_of_votes(votes: FloatArray, codes: IntArray) -> float | None:
    """Test the hypothesis that held-out votes are unrelated to the classes of the rows.

    The statistic is the sum over the classes of the mean rank of their rows, where all rows are ranked by the votes for
    the class. It therefore does not depend on the number of labels of each class, which a biased sample determines. Its
    mean and variance over all permutations of the labels are exact (Hoeffding's combinatorial central limit theorem),
    and the p-value is that of a normal distribution. With two classes, this is the rank-sum test.

    Parameters
    ----------
    votes : ndarray of shape (n, 1) or (n, n_classes)
        Votes on each row from models that were not fitted to it: for the second of two classes, or for every class.
    codes : ndarray of shape (n,)
        Class of each row.

    Returns
    -------
    float or None
        The p-value, near 0 if the votes recognise the classes. None if fewer than two classes have `FEW_LABELS` rows.
        Rows of smaller classes are ignored.
    """
    large = _classes_with_enough(codes)
    if len(large) < 2:
        return None
    columns = np.column_stack([1 - votes, votes]) if votes.shape[1] == 1 else votes
    taking_part = np.isin(codes, large)
    columns, place = columns[taking_part][:, large], np.searchsorted(large, codes[taking_part])
    n, sizes = len(place), np.bincount(place)
    scores = rankdata(columns, axis=0) / sizes
    statistic = scores[np.arange(n), place].sum()
    of_row, of_class = scores @ sizes / n, scores.mean(axis=0)
    mean = float(of_class @ sizes)
    variance = float((((scores - of_row[:, None] - of_class + mean / n) ** 2) @ sizes).sum()) / (n - 1)
    return float(ndtr((mean - statistic) / np.sqrt(variance))) if variance > 0 else 1.0


def chance_of_rows(rows: FloatArray, codes: IntArray, seed: int, deadline: Deadline) -> float | None:
    """Test held-out votes of the default guide's first forests on labeled rows, shape (n, p); see `chance_of_votes`.

    The result is also None after the deadline. If there are more than `MOST_ROWS` rows, a random sample is used.
    """
    chosen = np.flatnonzero(np.isin(codes, _classes_with_enough(codes)))
    if len(chosen) > MOST_ROWS:
        chosen = np.sort(np.random.default_rng(seed).permutation(chosen)[:MOST_ROWS])
    classes, codes = np.unique(codes[chosen], return_inverse=True)
    if len(classes) < 2:
        return None
    forest = SelfTrainedForest(n_estimators=N_TREES, n_rounds=0, random_state=seed)
    try:
        forest._fit_known(rows[chosen], Known.complete(Labels(classes.astype(object), codes)), deadline)
    except GuideStopped:
        return None
    assert forest._held_out is not None  # there are two classes
    return chance_of_votes(forest._held_out, codes)


def _classes_with_enough(codes: IntArray) -> IntArray:
    return np.flatnonzero(np.bincount(codes) >= FEW_LABELS)
