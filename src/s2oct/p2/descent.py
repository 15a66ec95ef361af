"""Descents: all hyperplanes move at once along the gradient of a cost with wide margins, which shrink."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from s2oct._core import descend as take_steps
from s2oct.arrays import FloatArray, IntArray
from s2oct.p2.instance import Instance, margin_violation, own_leaf_errors, tree_cost, values_at_nodes
from s2oct.p2.node_programs import CLEAR, NodeProgram, path_rows
from s2oct.p2.offsets import combine_offsets
from s2oct.p2.starts import to_grid
from s2oct.stopping import Deadline

# Hyperplanes on their way down: their position, how strongly each row pulls at them, and the rows that matter next.

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
            take_steps(rows, aims, self.motion, fall, begin, min(begin + stretch, fall.n_steps))

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


# Margins of a tree that nearly keeps them: one linear program for each node where unlabeled rows are too near.


def repaired(
    instance: Instance, omega: FloatArray, gamma: FloatArray, deadline: Deadline
) -> tuple[FloatArray, FloatArray]:
    """The hyperplanes, after a refit of each one that has unlabeled rows too near.

    What cannot be moved out of the margins on its side is then moved to the other side, where that leaves less.
    """
    omega, gamma = omega.copy(), gamma.copy()
    n, topology = instance.n_labeled, instance.topology
    X = instance.XT[:, n:]
    for side in (1.0, -1.0):
        H = values_at_nodes(instance, omega, gamma)
        leaf = own_leaf_errors(instance, H).argmin(axis=1)
        for b in np.flatnonzero((np.abs(H[:, n:]) < CLEAR).any(axis=1)):
            rows, sign = path_rows(topology, leaf, int(b))
            if deadline.passed:
                break
            fitted = _fit_node(instance, H[b, n:], side, rows, sign, deadline)
            if fitted is not None and _violation(fitted[:-1] @ X - fitted[-1]) < _violation(H[b, n:]):
                omega[b], gamma[b] = fitted[:-1], fitted[-1]
    return omega, gamma


def _violation(h: FloatArray) -> float:
    return float(np.maximum(1 - np.abs(h), 0).sum())


def _fit_node(
    instance: Instance, h: FloatArray, near_side: float, rows: IntArray, sign: FloatArray, deadline: Deadline
) -> FloatArray | None:
    """(omega, gamma) of least labeled error and violation; None if the program finds none in time.

    ``near_side`` is 1 if rows that are too near are to keep their sides, and -1 if they are to leave them.
    """
    too_near = np.abs(h) < CLEAR
    return NodeProgram(
        labeled=instance.XT[:, rows].T,
        sign=sign,
        prices=instance.sizes[rows],
        unlabeled=instance.XT[:, instance.n_labeled :].T,
        values=h,
        side=np.where(h > 0, 1.0, -1.0) * np.where(too_near, near_side, 1.0),
        may_pay=too_near,
        largest=np.full(instance.n_features, instance.s),
    ).solve(deadline)


# Descent of all hyperplanes at once: from a start to a tree that nearly keeps its margins; see `cpp/descent.h`.

Hyperplanes = tuple[FloatArray, FloatArray]
"""Normals and offsets of the hyperplanes of a tree."""

FALLS, FALLS_ON_GRID, NARROWER = 12, 6, 0.8
"""Falls of a descent, without and with rounding; and how much narrower each begins than the one before."""

LAST_WIDTH, LAST_STEP = 1.05, 0.02
"""Width and step at the end: a little more than the margins of P2, and little beside them."""

LAST_WIDTH_ON_GRID = 4.0
"""The same where coefficients are rounded to the grid afterwards: rows nearer than that may change sides."""

MARGINS, MARGINS_ON_GRID = (0.002, 2.0), (0.002, 0.002)
"""Pull of an unlabeled row that is too near, at first and at last; a labeled row pulls with 1. On the grid margins come
by rounding."""

FREE_FALLS = 2
"""Falls before the first coefficients are rounded."""

MOST_FEATURES = 200
"""Most features of a descent: with more of them `FALL_WORK` leaves too few steps."""

STEP_WORK = 15
"""Work for a row at a node in a step, apart from its features. The unit is the work for one feature."""

FALL_WORK, FEWEST_STEPS = 1.5e9, 50
"""Most work of a fall, in the same unit: about half a second. And the steps without which a fall is not worth it."""

MEND_SECONDS = 1.0
"""Most seconds for the margins of one tree: a linear program can take longer than all falls together."""

MISSING_PRICE, NEARLY_CLEAR = 4.0, 0.005
"""Price of a unit of margin violation when falls are compared; and the violation for each row up to which linear
programs may mend it."""


@dataclass(frozen=True)
class Descent:
    """How wide to begin and how long to take.

    Attributes
    ----------
    n_steps : int
        Steps of every fall.
    width : float
        The first width of the margins, in standard deviations of the rows along a normal.
    step : float
        The first length of a step in every coefficient, in widths.
    on_grid : bool
        Use gridded features only, and leave margins to rounding.
    is_shaken : bool
        Let rows pull with random strengths in the first fall, so that descents from one start differ.
    """

    n_steps: int
    width: float = 0.1
    step: float = 0.1
    on_grid: bool = False
    is_shaken: bool = False

    @property
    def n_falls(self) -> int:
        """How many falls a descent has, at most."""
        return FALLS_ON_GRID if self.on_grid else FALLS

    def fall(self, number: int, length: float) -> Fall:
        """Widths, pulls and steps of a fall, given how far rows are spread along a normal."""
        last = LAST_WIDTH_ON_GRID if self.on_grid else LAST_WIDTH
        width = max(self.width * NARROWER**number * length, 2 * last)
        return Fall(
            self.n_steps,
            (width, last),
            MARGINS_ON_GRID if self.on_grid else MARGINS,
            (self.step * width, LAST_STEP),
        )


def step_work(instance: Instance) -> float:
    """Work of one step."""
    n_near = min(instance.n_rows, instance.n_labeled + MOST_NEAR)
    return float(n_near * instance.topology.n_branches * (instance.n_features + STEP_WORK))


def steps_within(instance: Instance, n_steps: float) -> int:
    """A number of steps, or fewer if they would take long."""
    return max(1, int(min(n_steps, FALL_WORK / step_work(instance))))


def may_descend(instance: Instance) -> bool:
    """Whether descents may help: without a guide, with all features, with labels, and if steps are not too long."""
    return (
        not instance.is_guided
        and instance.most_features is None
        and instance.n_features <= MOST_FEATURES
        and instance.n_labeled > 0
        and step_work(instance) * FEWEST_STEPS <= FALL_WORK
    )


def descend(
    instance: Instance,
    start: Hyperplanes,
    descent: Descent,
    rng: np.random.Generator,
    deadline: Deadline,
) -> tuple[float, Hyperplanes]:
    """The best hyperplanes after one of several falls from ``start``. Falls that the deadline cuts short count, too.

    Their cost, which comes first, includes a price for margins that they do not keep.
    """
    moving = Moving.at(instance, start, rng, on_grid=descent.on_grid)
    if descent.is_shaken:
        moving.shake()
    found: list[tuple[float, FloatArray, FloatArray]] = []
    least = np.inf
    for number in range(descent.n_falls):
        if descent.on_grid and number >= FREE_FALLS:
            moving.round((number - FREE_FALLS + 1) / (descent.n_falls - FREE_FALLS + 1))
        moving.fall(descent.fall(number, moving.spread), deadline)
        omega, gamma = moving.planes()
        H = values_at_nodes(instance, omega, gamma)
        cost = _cost(instance, H)
        if cost < least and not descent.on_grid and not deadline.passed:
            found.append(_mended(instance, omega, gamma, deadline.within(MEND_SECONDS)))
        else:
            found.append((cost, omega, gamma))
        least = min(least, cost)
        if found[-1][0] <= instance.floor + 1e-9 or deadline.passed:
            break
        moving.strengthen(H)
    lowest, omega, gamma = min(found, key=lambda planes: planes[0])
    return lowest, (omega, gamma)


def _cost(instance: Instance, H: FloatArray) -> float:
    """The cost of a tree and of its margins."""
    return tree_cost(instance, H) + MISSING_PRICE * margin_violation(instance, H)


def _mended(
    instance: Instance, omega: FloatArray, gamma: FloatArray, deadline: Deadline
) -> tuple[float, FloatArray, FloatArray]:
    """The hyperplanes, with last margins kept and last offsets combined if that costs less; their cost comes first."""
    ways = [(omega, gamma)]
    if margin_violation(instance, values_at_nodes(instance, omega, gamma)) <= NEARLY_CLEAR * instance.n_rows:
        ways.append(repaired(instance, omega, gamma, deadline))
        ways.append(combine_offsets(instance, *ways[-1], deadline))
    costs = [_cost(instance, values_at_nodes(instance, *planes)) for planes in ways]
    cheapest = int(np.argmin(costs))
    return costs[cheapest], *ways[cheapest]
