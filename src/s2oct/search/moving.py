"""Hyperplanes on their way down: their position, how strongly each row pulls at them, and the rows that matter next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from s2oct._core import descend
from s2oct.arrays import FloatArray, IntArray
from s2oct.search.evaluation import own_leaf_errors
from s2oct.search.instance import Instance
from s2oct.search.starts import to_grid
from s2oct.stopping import Deadline

BOOST, FADING = 2.0, 0.9
"""By how much the strength of a row grows if it still pays; and what is left of earlier growth if it does not."""

STRETCH, STRETCH_VALUES = 25, 1e7
"""Steps between two choices of the rows that are near; and the most values of rows at nodes in these steps, so that the
clock is looked at often enough."""

MOST_NEAR = 1000
"""Most unlabeled rows in a step. If more are near, a random sample stands for them."""

STEPS_AHEAD = 5.0
"""Steps in all coefficients, in one direction, that a row is expected to come nearer at most in a stretch."""


class WorkingSet(NamedTuple):
    """A working set of rows with standardised features: n labeled ones, then k unlabeled ones."""

    Z: FloatArray  # (p, n + k) features by rows
    labels: IntArray  # (n,) class of each labeled row
    sizes: FloatArray  # (n + k,) what each row counts
    strength: FloatArray  # (n + k,) how strongly each row pulls
    first: IntArray  # (n_margins, k) cell of class 0 in the domain of each unlabeled row
    weight: float  # how many rows an unlabeled row stands for, where they are a sample


class Motion(NamedTuple):
    """The hyperplanes over standardised features, what Adam remembers of them, and the prices of the cells."""

    normals: FloatArray  # (n_branches, p)
    offsets: FloatArray  # (n_branches,)
    mean: FloatArray  # (n_branches, p + 1) of the gradient, the offset last
    square: FloatArray  # (n_branches, p + 1) of the squared gradient
    prices: FloatArray  # (n_cells,)


class Fall(NamedTuple):
    """Values at the first and the last step; between them they change geometrically."""

    n_steps: int
    width: tuple[float, float]  # of the margins
    margin: tuple[float, float]  # pull of an unlabeled row within them
    step: tuple[float, float]  # length of a step in every coefficient


@dataclass(eq=False)
class Moving:
    """Hyperplanes over standardised features, and how strongly each row pulls at them.

    ``center`` and ``scale`` are those of the features. ``Z`` (p, n + m) are the standardised rows. ``box``
    (2, n_branches, p) bounds the coefficients.
    """

    instance: Instance
    center: FloatArray
    scale: FloatArray
    Z: FloatArray
    box: FloatArray
    motion: Motion
    strength: FloatArray
    on_grid: bool
    rng: np.random.Generator

    @classmethod
    def at(
        cls,
        instance: Instance,
        start: tuple[FloatArray, FloatArray],
        rng: np.random.Generator,
        *,
        on_grid: bool,
    ) -> Moving:
        """Begin at given hyperplanes."""
        center, scale = instance.XT.mean(axis=1), instance.XT.std(axis=1)
        # A constant feature does not distinguish rows.
        scale[scale == 0] = 1.0
        usable = (instance.quanta > 0) if on_grid else np.ones(len(scale), dtype=bool)
        omega, gamma = start
        largest = np.tile(np.where(usable, instance.s * scale, 0.0), (len(gamma), 1))
        normals, offsets = np.clip(omega * scale, -largest, largest), gamma - omega @ center
        memory = np.zeros((len(gamma), len(scale) + 1))
        Z = (instance.XT - center[:, None]) / scale[:, None]
        return cls(
            instance,
            center,
            scale,
            Z,
            np.array([-largest, largest]),
            Motion(normals, offsets, memory, memory.copy(), np.zeros(instance.targets.n_cells)),
            np.ones(instance.n_rows),
            on_grid,
            rng,
        )

    @property
    def spread(self) -> float:
        """The standard deviation of rows along a normal, if features were independent; in the middle of the nodes."""
        return float(np.median(np.linalg.norm(self.motion.normals, axis=1)))

    def planes(self) -> tuple[FloatArray, FloatArray]:
        """The hyperplanes in model units, rounded if they are to be on the grid."""
        omega = self.motion.normals / self.scale
        gamma = self.motion.offsets + omega @ self.center
        if self.on_grid:
            for b in range(len(gamma)):
                omega[b], gamma[b] = to_grid(self.instance, omega[b], gamma[b], lengthen=False)
        return omega, gamma

    def round(self, share: float) -> None:
        """Round the coefficients of a share of the features for good: those with the longest steps."""
        step = self.instance.quanta * self.scale
        coarse = np.argsort(-step, kind="stable")[: int(share * np.count_nonzero(step))]
        most = np.floor(self.instance.s * (1 + 1e-9) / self.instance.quanta[coarse])
        times = np.clip(np.round(self.motion.normals[:, coarse] / step[coarse]), -most, most)
        self.motion.normals[:, coarse] = times * step[coarse]
        self.box[:, :, coarse] = self.motion.normals[:, coarse]

    def values(self) -> FloatArray:
        """Values of all rows at all nodes."""
        H = self.motion.normals @ self.Z
        H -= self.motion.offsets[:, None]
        return np.asarray(H)

    def shake(self) -> None:
        """Let rows pull with random strengths, 1 in the mean."""
        self.strength = self.rng.exponential(size=len(self.strength))

    def strengthen(self, H: FloatArray) -> None:
        """Let rows that pay, or are too near, pull more strongly, and the others again as they did."""
        pays = own_leaf_errors(self.instance, H).min(axis=1) > 0
        is_near = (np.abs(H[:, self.instance.n_labeled :]) < 1).any(axis=0)
        is_wrong = np.concatenate([pays, is_near])
        self.strength = np.where(is_wrong, BOOST * self.strength, 1 + FADING * (self.strength - 1))

    def fall(self, fall: Fall, deadline: Deadline) -> None:
        """Take the steps of a fall, in stretches."""
        self.motion.mean[:], self.motion.square[:] = 0.0, 0.0
        n_values = min(self.instance.n_rows, self.instance.n_labeled + MOST_NEAR) * len(self.motion.offsets)
        stretch = int(np.clip(STRETCH_VALUES / n_values, 1, STRETCH))
        for begin in range(0, fall.n_steps, stretch):
            if deadline.passed:
                return
            rows, outside = self.working_set(fall, begin)
            targets, topology = self.instance.targets, self.instance.topology
            aims = topology.leaf_classes, np.array([targets.low, targets.high]), outside, self.box
            descend(rows, aims, self.motion, fall, begin, min(begin + stretch, fall.n_steps))

    def working_set(self, fall: Fall, begin: int) -> tuple[WorkingSet, FloatArray]:
        """The rows that may be within the margins before the next choice, and how many others each cell has."""
        instance, n = self.instance, self.instance.n_labeled
        H = self.values()[:, n:]
        is_near = (np.abs(H) < self.reach(fall, begin)).any(axis=0)
        near, far = np.flatnonzero(is_near), np.flatnonzero(~is_near)
        weight = max(len(near) / MOST_NEAR, 1.0)
        if weight > 1:
            near = np.sort(self.rng.choice(near, MOST_NEAR, replace=False))
        first = instance.targets.first_cells
        cells = first[:, far] + self.classes(H[:, far])
        counted = np.tile(instance.sizes[n + far], len(cells))
        outside = np.bincount(cells.ravel(), counted, instance.targets.n_cells).astype(float)
        chosen = np.concatenate([np.arange(n), n + near])
        return WorkingSet(
            np.ascontiguousarray(self.Z[:, chosen]), instance.labels, instance.sizes[chosen],
            self.pull(chosen), np.ascontiguousarray(first[:, near]), weight,
        ), outside  # fmt: skip

    def reach(self, fall: Fall, begin: int) -> float:
        """How near a row must be to matter in the next stretch."""
        progress = begin / max(fall.n_steps - 1, 1)
        width, step = (float(ends[0] * (ends[1] / ends[0]) ** progress) for ends in (fall.width, fall.step))
        return width + STEPS_AHEAD * step * float(np.sqrt(len(self.Z)))

    def pull(self, chosen: IntArray) -> FloatArray:
        """How strongly rows pull: a labeled one as often as it counts."""
        return self.strength[chosen] * np.where(chosen < self.instance.n_labeled, self.instance.sizes[chosen], 1.0)

    def classes(self, H: FloatArray) -> IntArray:
        """The class in which each row ends."""
        topology = self.instance.topology
        node, row = np.ones(H.shape[1], dtype=np.int64), np.arange(H.shape[1])
        for _ in range(topology.depth):
            node = 2 * node + (H[node - 1, row] > 0)
        return np.asarray(topology.leaf_classes[node - topology.n_leaves])
