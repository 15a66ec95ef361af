"""The annealing of OCT-H against a plain evaluation."""

from __future__ import annotations

from dataclasses import astuple, dataclass

import numpy as np
import pytest
from sklearn.datasets import load_wine

from s2oct import OCTHClassifier
from s2oct._core import OcthAnnealer
from s2oct.p2.instance import FAR
from s2oct.stopping import never

IN_GAP, TOO_FEW, MOST = 1.5, 0.7, 2.0


@dataclass
class Rows:
    """What the annealer gets, in its order."""

    XT: np.ndarray
    labels: np.ndarray
    sizes: np.ndarray
    leaf_classes: np.ndarray
    min_leaf: float
    half_gap: float


def plain_cost(data: Rows, omega: np.ndarray, gamma: np.ndarray) -> float:
    """What hyperplanes cost: every row on its best way to a leaf of its class, gaps on its own way, small leaves."""
    n_leaves = len(data.leaf_classes)
    norm = np.abs(omega).sum(axis=1)
    h = np.where(norm > 0, (data.XT.T @ omega.T - gamma) / np.where(norm > 0, data.half_gap * norm, 1.0), FAR)
    cost, counts = 0.0, np.zeros(n_leaves)
    for i, label in enumerate(data.labels):
        ways = [MOST]
        for leaf in range(n_leaves, 2 * n_leaves):
            nodes = [(leaf >> up + 1, (leaf >> up) & 1) for up in range(n_leaves.bit_length() - 1)]
            pays = sum(max(1 - h[i, at - 1] if right else 1 + h[i, at - 1], 0.0) for at, right in nodes)
            ways.append(pays + (0.0 if data.leaf_classes[leaf - n_leaves] == label else MOST))
        at = 1
        while at < n_leaves:
            cost += data.sizes[i] * IN_GAP * max(1 - abs(h[i, at - 1]), 0.0)
            at = 2 * at + int(h[i, at - 1] > 0)
        cost += data.sizes[i] * min(ways)
        counts[at - n_leaves] += data.sizes[i]
    small = [min(count, data.min_leaf - count) for count in counts if 0 < count < data.min_leaf]
    return cost + TOO_FEW * sum(small)


@pytest.mark.parametrize("seed", range(4))
def test_the_cost_of_the_best_hyperplanes_is_the_plain_one(seed):
    rng = np.random.default_rng(seed)
    depth, n, p = 2 + seed % 2, 40, 3
    n_leaves = 2**depth
    data = Rows(
        rng.uniform(size=(p, n)),
        rng.integers(0, 3, n),
        rng.integers(1, 3, n).astype(float),
        np.arange(n_leaves) % 3,
        6.0,
        0.02,
    )
    omega = rng.normal(size=(n_leaves - 1, p)) * (rng.random((n_leaves - 1, 1)) < 0.8)
    gamma = np.where(omega.any(axis=1), rng.normal(size=n_leaves - 1) * 0.3, 0.0)
    before = plain_cost(data, omega, gamma)
    cost = OcthAnnealer(*astuple(data), 2**40 + 977 * seed).anneal(
        omega,
        gamma,
        n_visits=60,
        moves_per_visit=20,
        heats=(0.5, 0.05),
        in_gap=IN_GAP,
        too_few=TOO_FEW,
        stretch=7,
        stop=never,
    )
    assert cost == pytest.approx(plain_cost(data, omega, gamma), abs=1e-6)
    assert cost < before - 1


@pytest.mark.parametrize("seed", [3, 4, 5])
def test_normals_that_moves_double_again_and_again_stay_finite(seed):
    """Wine in 13 features has many trees without errors, so the annealing moves freely for a long time."""
    X, y = load_wine(return_X_y=True)
    rows = np.random.default_rng(seed).choice(len(y), 30, replace=False)
    clf = OCTHClassifier(depth=2, complexity=0.01, solver=None, random_state=0).fit(X[rows], y[rows])
    assert clf.certificate_.n_errors == 0
    assert np.isfinite(clf.tree_.omega).all()
