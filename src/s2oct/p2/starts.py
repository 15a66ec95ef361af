"""Starts of rounds: hyperplanes drawn from rows, and classes of the leaves."""

from __future__ import annotations

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.p2.instance import Hyperplanes, Instance
from s2oct.p2.node_programs import DEFAULTS
from s2oct.solvers.program import LinearProgram
from s2oct.stopping import Deadline


def constant_start(instance: Instance, rng: np.random.Generator) -> Hyperplanes:
    """No splits; every node sends all rows to one random side, at distance 1."""
    n_nodes = instance.topology.n_branches
    return np.zeros((n_nodes, instance.n_features)), rng.choice([-1.0, 1.0], n_nodes)


def axis_start(instance: Instance, rng: np.random.Generator) -> Hyperplanes:
    """A random feature at every node, split in the middle of a random gap; the margins fill the gap if s allows."""
    omega, gamma = constant_start(instance, rng)
    distinct: dict[int, FloatArray] = {}
    for b in range(len(gamma)):
        j = int(rng.integers(instance.n_features))
        if j not in distinct:
            distinct[j] = np.unique(instance.XT[j])
        values = distinct[j]
        if len(values) < 2:
            continue
        k = int(rng.integers(len(values) - 1))
        steep = 2 * (1 + 1e-9) / (values[k + 1] - values[k])
        omega[b, j] = min(steep, instance.s) * rng.choice([-1.0, 1.0])
        gamma[b] = omega[b, j] * 0.5 * (values[k] + values[k + 1])
    return omega, gamma


def separating_start(
    instance: Instance, rng: np.random.Generator, deadline: Deadline, norm_price: float
) -> Hyperplanes:
    """The hyperplane that best separates the labeled classes at the root, on the grid; the other nodes do not split.

    A linear program minimises hinge errors, then the normal, so that lengthening it leaves space for rounding: the
    longest normal costs ``norm_price``, which is small compared with the error of a labeled row. Random prices of the
    features give a different hyperplane each time. If none is found by the deadline, the constant start is returned.
    """
    omega, gamma = constant_start(instance, rng)
    hyperplane = _least_hinge_errors(instance, rng, deadline, norm_price)
    if hyperplane is None:
        return omega, gamma
    topology = instance.topology
    for b in topology.last_level:
        # Left of the root rows end in class 0, right of it in class 1.
        right_of_root = b > 1 and (b >> (b.bit_length() - 2)) & 1
        gamma[b - 1] = -1.0 if right_of_root else 1.0
    omega[0], gamma[0] = to_grid(instance, hyperplane[:-1], float(hyperplane[-1]))
    return omega, gamma


def _least_hinge_errors(
    instance: Instance, rng: np.random.Generator, deadline: Deadline, norm_price: float
) -> FloatArray | None:
    """(omega, gamma) of minimum hinge error between two classes, then of minimum 1-norm; None if the LP fails."""
    n, p = instance.n_labeled, instance.n_features
    if not deadline.allows(n * (n + 2 * p) / DEFAULTS.entries_per_second):
        return None
    sign = np.where(instance.labels == 1, 1.0, -1.0)
    X = sign[:, None] * instance.XT[:, :n].T
    usable = np.where(instance.quanta > 0, instance.s, 0.0)
    # omega is the difference of two nonnegative parts, so that their sum is its 1-norm.
    price = norm_price / (p * instance.s) * rng.uniform(0.5, 1.5, p)
    program = LinearProgram(
        cost=np.concatenate([price, price, [0.0], instance.sizes[:n]]),
        lower=np.concatenate([np.zeros(2 * p), [-np.inf], np.zeros(n)]),
        upper=np.concatenate([usable, usable, np.full(1 + n, np.inf)]),
    )
    program.add_rows(np.column_stack([X, -X, -sign, np.eye(n)]), np.ones(n))
    solution = program.solve(deadline)
    return None if solution is None else np.append(solution[:p] - solution[p : 2 * p], solution[2 * p])


def to_grid(instance: Instance, omega: FloatArray, gamma: float, *, lengthen: bool = True) -> tuple[FloatArray, float]:
    """The nearest hyperplane with every row at an odd distance; lengthened first, so that rounding changes little."""
    quanta = instance.quanta
    largest = float(np.abs(omega).max())
    if largest == 0.0:
        return omega, 1.0 if gamma >= 0 else -1.0
    length = instance.s / largest if lengthen else 1.0
    on_grid = quanta > 0
    steps = np.zeros_like(omega)
    steps[on_grid] = np.round(np.abs(omega[on_grid]) * length / quanta[on_grid])
    steps[on_grid] = np.minimum(steps[on_grid], np.floor(instance.s * (1 + 1e-9) / quanta[on_grid]))
    rounded = np.sign(omega) * steps * quanta
    value = float(rounded @ instance.XT[:, 0])
    odd = 2 * np.round((value - gamma * length - 1) / 2) + 1
    return rounded, value - odd


def drawn_leaf_classes(
    instance: Instance, best: IntArray | None, rng: np.random.Generator, *, keep: bool, nearby_share: float
) -> tuple[int, ...]:
    """Two classes for every last-level node, in ascending order; those of the best tree so far if ``keep``.

    In a share of the draws, they differ from those of the best tree only below one node.
    """
    if best is not None and keep:
        return tuple(best.tolist())
    n_classes, n_nodes = instance.targets.n_classes, len(instance.topology.last_level)
    if best is not None and rng.random() < nearby_share:
        pairs = best.reshape(n_nodes, 2).copy()
        pairs[int(rng.integers(n_nodes))] = rng.choice(n_classes, size=2, replace=False)
    else:
        pairs = _covering_pairs(np.flatnonzero(instance.totals > 0), n_classes, n_nodes, rng)
    return tuple(np.sort(pairs, axis=1).ravel().tolist())


def _covering_pairs(needed: IntArray, n_classes: int, n_nodes: int, rng: np.random.Generator) -> IntArray:
    """Random pairs of distinct classes that include all needed classes, if there are enough leaves."""
    classes = rng.integers(n_classes, size=2 * n_nodes)
    places = rng.permutation(2 * n_nodes)[: len(needed)]
    classes[places] = rng.permutation(needed)[: len(places)]
    is_needed = np.zeros(2 * n_nodes, dtype=bool)
    is_needed[places] = True
    pairs, fixed = classes.reshape(n_nodes, 2), is_needed.reshape(n_nodes, 2)
    for pair, known in zip(pairs, fixed, strict=True):
        if pair[0] == pair[1]:
            # Needed classes are distinct, so at least one of two equal classes is free.
            pair[0 if not known[0] else 1] = (pair[0] + rng.integers(1, n_classes)) % n_classes
    return np.asarray(pairs)
