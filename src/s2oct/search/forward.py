"""Directions of few features for a node: forward selection by the logistic loss."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from s2oct.arrays import BoolArray, FloatArray

NEWTON_STEPS, RIDGE = 4, 1e-3
"""Newton steps after each feature, and the penalty of squared coefficients per unit of importance."""


def forward_path(X: FloatArray, gain: FloatArray, most: int) -> FloatArray:
    """Directions of 1, 2, ... up to ``most`` features that separate rows by whether they gain on the right.

    Each has one feature more than the one before: the feature in which the weighted logistic loss falls fastest. Then
    all its coefficients are refitted by Newton steps. ``X`` are standardised features of the rows, ``gain`` is what
    each saves on the right.
    """
    importance, is_right = np.abs(gain), gain > 0
    penalty = RIDGE * float(importance.sum())
    chosen: list[int] = []
    beta = np.zeros(1)
    A = np.ones((len(X), 1))
    path = []
    for _ in range(min(most, X.shape[1])):
        pull = np.abs((importance * (is_right - expit(A @ beta))) @ X)
        pull[chosen] = -1.0
        chosen.append(int(pull.argmax()))
        A, beta = np.column_stack([A, X[:, chosen[-1]]]), np.append(beta, 0.0)
        beta = _refitted(A, beta, importance, is_right, penalty)
        direction = np.zeros(X.shape[1])
        direction[chosen] = beta[1:]
        path.append(direction)
    return np.array(path)


def _refitted(
    A: FloatArray, beta: FloatArray, importance: FloatArray, is_right: BoolArray, penalty: float
) -> FloatArray:
    for _ in range(NEWTON_STEPS):
        probability = expit(A @ beta)
        curvature = importance * np.maximum(probability * (1 - probability), 1e-4)
        slope = A.T @ (importance * (probability - is_right)) + penalty * beta
        step = np.linalg.solve(A.T @ (curvature[:, None] * A) + penalty * np.eye(len(beta)), slope)
        beta = beta - step
        if np.abs(step).max() < 1e-2 * np.abs(beta).max():
            break
    return beta
