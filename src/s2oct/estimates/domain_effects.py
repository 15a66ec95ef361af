"""How far the shares of classes in a domain may be from what single rows suggest.

Rows of one domain have something in common that features do not show. So the mean error of a domain does not vanish
with the number of its rows. Its spread tau over the domains is not known. A prior says that it is small if the domains
have nothing to do with the classes as far as the rows show, and may be large if they have. The labeled rows of the
domains, each predicted by fits that had not seen it, say more. They also move the estimate of their domain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from s2oct.arrays import FloatArray, IntArray

PRIOR_SPREAD, PRIOR_SLOPE = 0.06, 0.7
"""Mean of the prior of tau: a constant over the root of the number of labels, because more labels leave less to domains
that have nothing to do with the classes, and a part of the spread of the predicted shares over the domains."""

SLOPE_OF_TREE = 2.0
"""The same part where a tree predicts without a guide and without replicates: its few leaves hide more of a domain."""

LABEL_SPREAD, LABEL_SLOPE = 0.1, 3.0
"""Standard deviation of a predicted share from sample to sample, times the root of the number of labels: a constant,
and a multiple of the spread of the shares. Replicates measure it; these are about their means over many populations."""

SPREADS = np.linspace(0.0, 0.5, 51)
"""Values of tau that are weighed against each other."""

LEAST_VARIANCE = 0.02
"""Least variance of a labeled row's error: no row is as sure as a model with few labels may believe."""


@dataclass(frozen=True, eq=False)
class DomainEffects:
    """Errors of the predicted shares of one class, by domain.

    Attributes
    ----------
    shift : ndarray of shape (n_domains,)
        What to add to the predicted share of each domain.
    variance : ndarray of shape (n_domains,)
        Variance that is left after that.
    """

    shift: FloatArray
    variance: FloatArray


def domain_effects(
    errors: FloatArray, variances: FloatArray, spread: float, n_labels: int, slope: float = PRIOR_SLOPE
) -> DomainEffects:
    """Weigh all values of tau by prior and labeled rows.

    Parameters
    ----------
    errors : ndarray of shape (n_domains,)
        Mean error of the labeled rows of each domain: share observed minus share predicted.
    variances : ndarray of shape (n_domains,)
        Its variance if tau were 0; infinite for a domain without labeled rows.
    spread : float
        Spread of the predicted shares over the domains beyond chance.
    n_labels : int
        Labeled rows of the fit.
    slope : float
        Part of the spread in the mean of the prior of tau.

    Returns
    -------
    DomainEffects
        Shift and variance of each domain.
    """
    seen = np.isfinite(variances)
    total = variances[seen, None] + SPREADS**2
    fits = -0.5 * (np.log(total) + errors[seen, None] ** 2 / total).sum(axis=0)
    log_weight = fits - SPREADS / (PRIOR_SPREAD / np.sqrt(n_labels) + slope * spread)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    believed = np.zeros((len(errors), len(SPREADS)))
    believed[seen] = SPREADS**2 / np.maximum(total, 1e-300)
    left = (1 - believed) * SPREADS**2
    return DomainEffects((believed @ weight) * np.where(seen, errors, 0.0), left @ weight)


def variance_from_labels(spread: float, n_labels: int) -> float:
    """Variance of the predicted share of a domain over samples of so many labels, without replicates."""
    return (LABEL_SPREAD**2 + (LABEL_SLOPE * spread) ** 2) / n_labels


def spread_of_shares(
    probabilities: FloatArray, sizes: FloatArray, squares: FloatArray, codes: IntArray, n_domains: int
) -> float:
    """Standard deviation of the mean probability over the domains, beyond what rows dealt at random would show.

    ``sizes`` is what each row or group of equal rows counts, ``squares`` the sum of the squares of what its rows count.
    """
    rows = np.bincount(codes, weights=sizes, minlength=n_domains)
    used = rows > 0
    if used.sum() < 2:
        return 0.0
    means = np.bincount(codes, weights=sizes * probabilities, minlength=n_domains)[used] / rows[used]
    in_rows = np.bincount(codes, weights=squares, minlength=n_domains)[used] / rows[used] ** 2
    of_rows = float(np.average((probabilities - np.average(probabilities, weights=sizes)) ** 2, weights=sizes))
    return float(np.sqrt(max(means.var(ddof=1) - of_rows * float(np.mean(in_rows)), 0.0)))


def labeled_errors(
    observed: FloatArray, predicted: FloatArray, importance: FloatArray, codes: IntArray, n_domains: int
) -> tuple[FloatArray, FloatArray]:
    """Mean error of the labeled rows of each domain, and its variance; infinite where there are none.

    ``importance`` weights rows to the known shares of their classes. Errors are those beside the mean error of all
    labeled rows, which the known totals put right.
    """
    total = np.bincount(codes, weights=importance, minlength=n_domains)
    off = observed - predicted
    off = off - float(importance @ off) / max(float(importance.sum()), 1e-300)
    error = np.bincount(codes, weights=importance * off, minlength=n_domains)
    row_variance = np.maximum(predicted * (1 - predicted), LEAST_VARIANCE)
    variance = np.bincount(codes, weights=importance**2 * row_variance, minlength=n_domains)
    known = total > 0
    safe = np.where(known, total, 1.0)
    return np.where(known, error / safe, 0.0), np.where(known, variance / safe**2, np.inf)
