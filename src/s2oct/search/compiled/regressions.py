"""Directions on few features: a weighted logistic regression, its features selected forward by the score test."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from s2oct.search.compiled.options import allocating, inlined, plain
from s2oct.search.compiled.orders import WAITING, in_order

SCREENED = 48
"""Features that a node fit looks at more closely: those with the largest score statistics."""

NEWTON_STEPS = 3
RIDGE = 1e-3
LOGISTIC_ROWS = 2000
"""Most rows, about, of a logistic regression; of more rows every second, third, ... is taken."""


class FitRoom(NamedTuple):
    """Arrays to work in."""

    gradient: Any  # (most + 2,) first derivatives, then a step
    x: Any  # (most + 2,) features of a row
    values: Any  # (n,) rows along a direction
    order: Any  # (n,) the rows in the order of these values
    waiting: Any  # (2, WAITING) for sorting


class Fit(NamedTuple):
    """A direction on few features, as a logistic regression fits it."""

    size: Any  # (2,) number of features; a feature that must not be added, or -1
    support: Any  # (most + 1,) features
    beta: Any  # (most + 2,) coefficients, then the intercept
    slopes: Any  # (2, n) first and second derivatives of the loss at every row that was looked at
    stride: int  # every so many rows are looked at
    looked: int  # how many these are
    room: FitRoom


@allocating
def new_fit(choice, most):
    """A direction on no features."""
    n = len(choice.rows)
    stride = max(n // LOGISTIC_ROWS, 1)
    size = np.zeros(2, dtype=np.int64)
    size[1] = -1
    return Fit(
        size,
        np.zeros(most + 1, dtype=np.int64),
        np.zeros(most + 2),
        np.empty((2, n)),
        stride,
        (n + stride - 1) // stride,
        FitRoom(
            np.empty(most + 2),
            np.empty(most + 2),
            np.empty(n),
            np.empty(n, dtype=np.int64),
            np.empty((2, WAITING), dtype=np.int64),
        ),
    )


@inlined
def forget(fit):
    """Set all coefficients to 0."""
    for a in range(len(fit.beta)):
        fit.beta[a] = 0.0


@inlined
def project(XT, choice, fit, values):
    """Fill in the values of the chosen rows along a direction."""
    n = len(choice.rows)
    for t in range(n):
        values[t] = 0.0
    for a in range(fit.size[0]):
        j = fit.support[a]
        slope = fit.beta[a]
        for t in range(n):
            values[t] += slope * XT[j, choice.rows[t]]


@inlined
def new_system(fit):
    """Room for the second derivatives of a fit, also with one feature more; they may be too many to keep room for."""
    return np.empty((fit.size[0] + 2, fit.size[0] + 2))


@plain
def newton(XT, choice, fit, H):
    """Newton steps of a weighted logistic regression on the support of a fit.

    A row that should go right is a 1, and counts as much as the other side would cost it. ``H`` is a `new_system`.
    """
    size, stride = fit.size[0], fit.stride
    beta, slopes = fit.beta, fit.slopes
    g, x = fit.room.gradient, fit.room.x
    x[size] = 1.0
    total = 0.0
    for u in range(fit.looked):
        total += abs(choice.extra[u * stride])
    for step in range(NEWTON_STEPS + 1):
        for a in range(size):
            for b in range(size + 1):
                H[a, b] = 0.0
                H[b, a] = 0.0
            H[a, a] = RIDGE * total
            g[a] = RIDGE * total * beta[a]
        g[size] = 0.0
        H[size, size] = 1e-9 * total + 1e-300
        for u in range(fit.looked):
            t = u * stride
            i = choice.rows[t]
            value = beta[size]
            for a in range(size):
                x[a] = XT[fit.support[a], i]
                value += beta[a] * x[a]
            probability = 1.0 / (1.0 + math.exp(-value)) if value > -30 else 0.0
            importance = abs(choice.extra[t])
            slope = importance * (probability - (1.0 if choice.extra[t] > 0 else 0.0))
            bend = importance * max(probability * (1.0 - probability), 1e-3)
            slopes[0, u] = slope
            slopes[1, u] = bend
            for a in range(size + 1):
                g[a] += slope * x[a]
                for b in range(a + 1):
                    H[a, b] += bend * x[a] * x[b]
        if step == NEWTON_STEPS:
            return
        for a in range(size + 1):
            for b in range(a):
                H[b, a] = H[a, b]
        solve_positive(H, g, size + 1)
        for a in range(size + 1):
            beta[a] -= g[a]


@inlined
def solve_positive(H, g, size):
    """Solve H x = g by elimination, in place, for so many unknowns; H is positive definite."""
    for a in range(size):
        pivot = H[a, a]
        for b in range(a + 1, size):
            factor = H[b, a] / pivot
            if factor != 0.0:
                for c in range(a, size):
                    H[b, c] -= factor * H[a, c]
                g[b] -= factor * g[a]
    for a in range(size - 1, -1, -1):
        for c in range(a + 1, size):
            g[a] -= H[a, c] * g[c]
        g[a] /= H[a, a]


@plain
def score_statistic(XT, choice, j, fit):
    """How much feature j would lower the loss of a logistic regression, to second order."""
    slopes = fit.slopes
    slope = 0.0
    first = 0.0
    second = 0.0
    weight = 0.0
    for u in range(fit.looked):
        x = XT[j, choice.rows[u * fit.stride]]
        slope += slopes[0, u] * x
        first += slopes[1, u] * x
        second += slopes[1, u] * x * x
        weight += slopes[1, u]
    spread = second - first * first / max(weight, 1e-300)
    return slope * slope / spread if spread > 1e-9 * max(weight, 1e-300) else 0.0


@plain
def extended(XT, choice, features, fit, H):
    """Add the feature with the largest score statistic to a fit and refit; returns whether there was one."""
    size = fit.size[0]
    best, largest = -1, 0.0
    for j in features:
        used = j == fit.size[1]
        for a in range(size):
            used = used or fit.support[a] == j
        if not used:
            statistic = score_statistic(XT, choice, j, fit)
            if statistic > largest:
                best, largest = j, statistic
    if best < 0:
        return False
    fit.support[size] = best
    fit.beta[size + 1] = fit.beta[size]
    fit.beta[size] = 0.0
    fit.size[0] = size + 1
    newton(XT, choice, fit, H)
    return True


@inlined
def screened(XT, choice, allowed, fit):
    """The features with the largest score statistics, best first; the fit is lost."""
    fit.size[0] = 0
    forget(fit)
    newton(XT, choice, fit, new_system(fit))
    loss = np.empty(len(allowed))
    for f in range(len(allowed)):
        loss[f] = -score_statistic(XT, choice, allowed[f], fit)
    order = in_order(loss)
    best = np.empty(min(SCREENED, len(allowed)), dtype=np.int64)
    for f in range(len(best)):
        best[f] = allowed[order[f]]
    return best
