"""Trees to start from."""

from __future__ import annotations

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.search.instance import Instance


def constant_start(instance: Instance, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """No splits; every node sends all rows to one random side, at distance 1."""
    n_nodes = instance.topology.n_branches
    return np.zeros((n_nodes, instance.n_features)), rng.choice([-1.0, 1.0], n_nodes)


def axis_start(instance: Instance, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """A random feature at every node, split in the middle of a random gap and steep enough for it if s allows."""
    omega, gamma = constant_start(instance, rng)
    for b in range(len(gamma)):
        j = int(rng.integers(instance.n_features))
        values = np.unique(instance.XT[j])
        if len(values) < 2:
            continue
        k = int(rng.integers(len(values) - 1))
        steep = 2 * (1 + 1e-9) / (values[k + 1] - values[k])
        omega[b, j] = min(steep, instance.s) * rng.choice([-1.0, 1.0])
        gamma[b] = omega[b, j] * 0.5 * (values[k] + values[k + 1])
    return omega, gamma
