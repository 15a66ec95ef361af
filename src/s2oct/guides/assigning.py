"""Classes that meet the totals, from scores: a row gets the class of its highest score plus the class's multiplier.

There is one multiplier for each class of each domain; with several margins, those of all margins add up. They are
settled softly first. The last rows are then moved one by one. With one margin and rows that count alike, the result is
the best one there is and meets all totals that can be met.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.guides.augmenting import ClassBounds, settled_domain
from s2oct.guides.last_rows import settle_last_rows
from s2oct.guides.soft_multipliers import farthest_multiplier, multipliers_of_rows, soft_multipliers
from s2oct.guides.whole_rows import meetable
from s2oct.model.targets import Margin, Targets

_AHEAD = 1e-9
"""Score by which the class of a row leads where multipliers leave it equal to another one, or behind."""


@dataclass(frozen=True, eq=False)
class Assigned:
    """Classes that meet the totals, and the scores that lead to them.

    Attributes
    ----------
    classes : ndarray of shape (m,)
        Class of each row.
    multipliers : tuple of ndarray of shape (n_domains, n_classes)
        What is added to the scores of each class in each domain, for each margin.
    shifted : ndarray of shape (m, n_classes)
        Scores plus multipliers; each row's class has the highest.
    """

    classes: IntArray
    multipliers: tuple[FloatArray, ...]
    shifted: FloatArray


def meet_totals(scores: FloatArray, sizes: FloatArray, targets: Targets) -> Assigned:
    """Assign the classes that maximise the sum of size times score and meet the totals as nearly as possible.

    Parameters
    ----------
    scores : ndarray of shape (m, n_classes)
        Log probabilities, or any finite scores.
    sizes : ndarray of shape (m,)
        What each row counts towards the totals.
    targets : Targets
        The totals.

    Returns
    -------
    Assigned
        The classes. Among rows with equal scores the order of the rows decides.
    """
    if not len(scores):
        return Assigned(np.empty(0, dtype=np.int64), tuple(np.zeros_like(part.low) for part in targets.margins), scores)
    scores = scores - scores.max(axis=1, keepdims=True)
    count_alike = bool(np.ptp(sizes) == 0) and sizes[0] > 0
    if count_alike:
        sizes, targets = np.ones(len(sizes)), targets.over(float(sizes[0]))
    can_be_met = meetable(targets, sizes, whole=count_alike)
    multipliers = soft_multipliers(scores, sizes, can_be_met)
    shifted = scores + multipliers_of_rows(multipliers, can_be_met)
    classes = shifted.argmax(axis=1)
    if count_alike and len(targets.margins) == 1:
        multipliers = (_settle_domains(scores, classes, can_be_met.margins[0]),)
        shifted = scores + multipliers_of_rows(multipliers, can_be_met)
    elif targets.rows_off(classes, sizes) > 0:
        classes = settle_last_rows(shifted, sizes, can_be_met, classes)
    return Assigned(classes, multipliers, _with_lead(shifted, classes))


def overall(targets: Targets) -> Targets:
    """The totals of the classes over all domains of the first margin: what is known about a row of unknown domain."""
    margin = targets.margins[0]
    low, high, value = (part.sum(axis=0, keepdims=True) for part in (margin.low, margin.high, margin.value))
    se = np.sqrt((margin.se**2).sum(axis=0, keepdims=True))
    everything = np.array([""], dtype=object)
    codes = np.zeros_like(margin.codes)
    return replace(targets, margins=(Margin("", everything, codes, low, high, value, se),))


def _settle_domains(scores: FloatArray, classes: IntArray, margin: Margin) -> FloatArray:
    """Settle the classes of each domain, in place, and return its multipliers, shape (n_domains, n_classes)."""
    farthest = farthest_multiplier(scores)
    multipliers = np.zeros_like(margin.low)
    order = np.argsort(margin.codes, kind="stable")
    ends = np.cumsum(np.bincount(margin.codes, minlength=margin.n_domains))
    for domain, rows in enumerate(np.split(order, ends[:-1])):
        if len(rows):
            bounds = ClassBounds(margin.low[domain], margin.high[domain], farthest)
            classes[rows], multipliers[domain] = settled_domain(scores[rows], classes[rows], bounds)
    return multipliers


def _with_lead(shifted: FloatArray, classes: IntArray) -> FloatArray:
    """The scores, with the class of each row just ahead where it is equal to another one, or behind."""
    rows = np.arange(len(classes))
    others = shifted.copy()
    others[rows, classes] = -np.inf
    lead = others.max(axis=1, initial=-np.inf) + _AHEAD
    shifted[rows, classes] = np.maximum(shifted[rows, classes], lead)
    return shifted
