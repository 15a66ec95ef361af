"""The difference estimator: the sum of the predictions of all rows, corrected by the errors on held-out labels.

For domain d and class k it is the sum of p_k(x_i) over the unlabeled rows, plus the rows of the domain times the mean
error of its labeled rows, each weighted by the rows that it represents and shrunk by `domain_effects`, raked to the
totals. `Estimation` computes it if fits hold rows out in folds, or if no label took part in the fit. Its variance is
a formula, so 200 fits are not needed. If the guide was fitted with a sample of the unlabeled rows, it predicts only
these, and each represents others with the same leaf and domains: a register of any size becomes a short table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.errors import InvalidProblem
from s2oct.estimates.estimating import Estimation
from s2oct.estimates.replicates import Replicate
from s2oct.problem.known import Known
from s2oct.problem.labels import Labels
from s2oct.problem.totals import ERRORS_EACH_WAY, Targets

N_FOLDS = 10
"""Number of folds in which labels are held out: each fit still uses nine of ten labels."""


def represented_rows(
    known: Known, leaves: IntArray, codes: IntArray, sampled: IntArray
) -> tuple[Known, IntArray, FloatArray]:
    """Let sampled rows represent the unlabeled rows of a table with the same leaf and domains.

    If none of them is sampled, one row represents all.

    Parameters
    ----------
    known : Known
        Labels, totals and weights of the table.
    leaves, codes : ndarray of shape (n_rows,)
        Leaf and domain of each row.
    sampled : ndarray of int
        Positions of the sampled rows.

    Returns
    -------
    known : Known
        The labeled rows, followed by unlabeled rows that have the total weight of the rows that they represent.
    rows : ndarray of int
        Positions of these rows in the table.
    squares : ndarray of shape (n_unlabeled,)
        For each unlabeled row, the sum of the squared weights of the rows that it represents.
    """
    labeled, unlabeled = np.flatnonzero(known.is_labeled), np.flatnonzero(~known.is_labeled)
    keys = _joint(leaves[unlabeled], codes[unlabeled], *(margin.codes for margin in known.targets.margins))
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    sizes, n_groups = known.sizes[unlabeled], len(first)
    chosen = np.searchsorted(unlabeled, sampled)
    has_sampled = np.bincount(group[chosen], minlength=n_groups) > 0
    chosen = np.sort(np.concatenate([chosen, first[~has_sampled]]))
    own, here = sizes[chosen], group[chosen]
    factor, square = (
        np.bincount(group, weights=sizes**power, minlength=n_groups)
        / np.bincount(here, weights=own**power, minlength=n_groups)
        for power in (1, 2)
    )
    rows = np.concatenate([labeled, unlabeled[chosen]])
    representing = known.with_rows(
        Labels(known.classes, known.labels.codes[rows]),
        known.targets.of_rows(chosen),
        np.concatenate([known.sizes[labeled], own * factor[here]]),
        (),
    )
    return representing, rows, own**2 * square[here]


def _joint(*codes: IntArray) -> IntArray:
    """Return one number for each combination of codes."""
    joint = np.zeros(len(codes[0]), dtype=np.int64)
    for part in codes:
        # Consecutive numbers keep products far from integer overflow.
        joint = np.unique(joint * (int(part.max(initial=0)) + 1) + part, return_inverse=True)[1]
    return joint


def difference_estimation(
    known: Known,
    predicted: IntArray,
    probabilities: FloatArray | None,
    folds: Sequence[Replicate],
    *,
    others: tuple[IntArray, ...] = (),
    squares: FloatArray | None = None,
    design_weights: FloatArray | None = None,
) -> Estimation:
    """Estimate from fits that held rows out; without folds, no label took part in the fit.

    ``design_weights`` of the labeled rows are inverse probabilities of being labeled. If they are given and totals are
    not, totals are also estimated. Everything else is as in `Estimation`.
    """
    weights = None if design_weights is None else _stands_for(design_weights, known.sizes[known.is_labeled])

    def estimation(known: Known) -> Estimation:
        return Estimation(
            known,
            predicted,
            probabilities,
            folds,
            others=others,
            squares=squares,
            label_weights=weights,
        )

    if weights is None or known.stated.tables:
        return estimation(known)
    first = estimation(replace(known, targets=weighted_totals(known, weights)))
    return estimation(replace(known, targets=_estimated_totals(first)))


def weighted_totals(known: Known, weights: FloatArray) -> Targets:
    """Return totals of the unlabeled rows from the weights of the labeled rows of each class alone."""
    sizes = known.unlabeled_sizes
    shares = np.bincount(known.labeled_codes, weights=weights, minlength=len(known.classes)) / weights.sum()
    return Targets.exact(sizes.sum() * shares, len(sizes))


def _stands_for(design_weights: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return the number of unlabeled rows that each labeled row represents: its design weight minus itself."""
    others = np.maximum(design_weights - sizes, 0.0)
    if not others.any():
        raise InvalidProblem(
            "No design weight is above 1: pass inverse probabilities of being labeled, and weights of the rows only as "
            "sample_weight."
        )
    return others


def _estimated_totals(estimation: Estimation) -> Targets:
    """Return totals of the unlabeled rows by the difference estimator, with standard errors from held-out residuals.

    A probability sample of labels needs no known totals: the mean residual estimates the error of the sum.
    """
    weights, rows = estimation.label_weights, float(estimation.sizes.sum())
    residuals = np.eye(estimation.n_classes)[estimation.labels] - estimation.labeled
    mean = weights @ residuals / weights.sum()
    se = rows * np.sqrt(weights**2 @ (residuals - mean) ** 2) / weights.sum()
    value = np.clip(estimation.sizes @ estimation.corrected + rows * mean, 0.0, rows)
    value, reach = value * rows / value.sum(), ERRORS_EACH_WAY * se
    margin = replace(
        estimation.known.targets.margins[0],
        low=np.maximum(value - reach, 0.0)[None],
        high=np.minimum(value + reach, rows)[None],
        value=value[None],
        se=se[None],
    )
    return Targets((margin,))
