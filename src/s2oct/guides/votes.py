"""Votes on classes, their scores, and the probabilities under which the totals are met.

Votes on two classes have one column, the probability of the second class. Votes on more classes have a column for each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, softmax

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.guides.assigning import meet_totals, overall
from s2oct.model.known import Known


def log_odds(probability: FloatArray | float, least: float) -> FloatArray:
    """Log odds, finite because probabilities are clipped to ``least`` and 1 - ``least``."""
    return np.asarray(logit(np.clip(probability, least, 1 - least)))


def top_rows(scores: FloatArray, n_above: int, rng: np.random.RandomState | None = None) -> IntArray:
    """1 for the ``n_above`` rows with the highest scores, 0 for the others; ties at random, or else by row order."""
    order = np.arange(len(scores)) if rng is None else rng.permutation(len(scores))
    codes = np.zeros(len(scores), dtype=np.int64)
    codes[order[np.argsort(-scores[order], kind="stable")[:n_above]]] = 1
    return codes


_LEAST_PROBABILITY = 1e-3
_BEYOND = float(log_odds(1 - _LEAST_PROBABILITY, _LEAST_PROBABILITY)) + 1
"""Log odds that are higher than those of any row."""


@dataclass(frozen=True, eq=False)
class Settled:
    """Votes on the unlabeled rows, settled so that the totals are met.

    Attributes
    ----------
    classes : ndarray of shape (m,)
        Classes that meet the totals.
    probabilities : ndarray of shape (m, n_classes)
        Probabilities shifted so that the likeliest classes meet the totals.
    sure : ndarray of shape (m,)
        By how much the likeliest class leads.
    multipliers : ndarray of shape (n_domains, n_classes)
        What the scores were shifted by in the domains of all margins, one after the other.
    """

    classes: IntArray
    probabilities: FloatArray
    sure: FloatArray
    multipliers: FloatArray


def as_votes(codes: IntArray, n_classes: int) -> FloatArray:
    """All votes for the given classes."""
    return codes.astype(float)[:, None] if n_classes == 2 else np.eye(n_classes)[codes]


def settled(votes: FloatArray, known: Known) -> Settled:
    """Settle votes: shift their scores by multipliers of the classes until the totals are met."""
    scores = scores_of(votes)
    if known.n_second is not None:
        threshold = score_threshold(scores[:, 0], known.n_second)
        second = expit(scores[:, 0] - threshold)
        classes, multipliers = top_rows(votes[:, 0], known.n_second), np.array([[threshold, 0.0]])
        return Settled(classes, np.column_stack([1 - second, second]), np.abs(2 * second - 1), multipliers)
    assigned = meet_totals(_of_all_classes(scores), known.unlabeled_sizes, known.targets)
    probabilities = np.asarray(softmax(assigned.shifted, axis=1))
    ascending = np.sort(probabilities, axis=1)
    sure = ascending[:, -1] - ascending[:, -2]
    return Settled(assigned.classes, probabilities, sure, np.concatenate(assigned.multipliers))


def multipliers_for_new_rows(votes: FloatArray, known: Known) -> FloatArray:
    """One multiplier for each class, shape (n_classes,), that meets the totals over all domains together."""
    scores = scores_of(votes)
    if known.n_second is not None:
        return np.array([score_threshold(scores[:, 0], known.n_second), 0.0])
    together = meet_totals(_of_all_classes(scores), known.unlabeled_sizes, overall(known.targets))
    return np.asarray(together.multipliers[0][0])


def shifted_probabilities(votes: FloatArray, multipliers: FloatArray) -> FloatArray:
    """Probabilities of all classes, shape (n_rows, n_classes), with the multipliers added to the scores.

    There is one multiplier for each class, or one for each row and class.
    """
    scores = scores_of(votes)
    if scores.shape[1] > 1:
        return np.asarray(softmax(scores + multipliers, axis=1))
    second = expit(scores[:, 0] - (multipliers[..., 0] - multipliers[..., 1]))
    return np.column_stack([1 - second, second])


def with_missing_classes(votes: FloatArray, missing: BoolArray) -> FloatArray:
    """Give classes without labeled rows the votes of rows that resemble no labeled class.

    They share one minus the largest probability; then all is scaled to 1. Without missing classes, or with two classes,
    votes stay as they are.
    """
    if not missing.any() or votes.shape[1] == 1:
        return votes
    filled = votes.copy()
    filled[:, missing] = (1 - votes.max(axis=1, keepdims=True)) / missing.sum()
    return np.asarray(filled / filled.sum(axis=1, keepdims=True))


def scores_of(votes: FloatArray) -> FloatArray:
    """Log odds of the second of two classes, or log probabilities, in the order of the votes and always finite."""
    n_columns = votes.shape[1]
    if n_columns > 1:
        return np.asarray(np.log(_LEAST_PROBABILITY + (1 - n_columns * _LEAST_PROBABILITY) * votes))
    return log_odds(_LEAST_PROBABILITY + (1 - 2 * _LEAST_PROBABILITY) * votes, _LEAST_PROBABILITY)


def score_threshold(scores: FloatArray, n_above: int) -> float:
    """The middle between the ``n_above``-th highest score and the next one; 0 if there are no scores.

    Above the highest and below the lowest score is one that no row has. So a total of 0, or of all rows, is met too.
    """
    descending = np.concatenate([[_BEYOND], np.sort(scores)[::-1], [-_BEYOND]])
    return float(descending[n_above : n_above + 2].mean())


def _of_all_classes(scores: FloatArray) -> FloatArray:
    """Scores with a column for each class: log odds of two classes are those of the second against 0."""
    return scores if scores.shape[1] > 1 else np.column_stack([np.zeros(len(scores)), scores])
