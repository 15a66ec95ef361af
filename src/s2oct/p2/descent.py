"""Descents: all hyperplanes move at once along the gradient of a cost with wide margins, which shrink.

A descent has several stages. In each stage the margins shrink from wide to those of P2, and the hyperplanes take the
steps of Adam (`cpp/descent.h`). Between stages, rows that still have a cost gain strength.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from s2oct._core import descend as take_steps
from s2oct.arrays import FloatArray, IntArray
from s2oct.p2.instance import (
    Hyperplanes,
    Instance,
    ends,
    margin_violation,
    own_leaf_errors,
    to_grid,
    tree_cost,
    values_at_nodes,
)
from s2oct.p2.node_programs import CLEAR, cheapest_hyperplane, path_rows
from s2oct.p2.offsets import combine_offsets
from s2oct.stopping import Deadline


@dataclass(frozen=True)
class DescentParams:
    """Tuning of descents.

    Attributes
    ----------
    n_stages, n_stages_on_grid : int
        Maximum number of stages. Rounding ends descents on the grid earlier.
    narrower : float
        Initial width of a stage, relative to the previous stage: later stages keep more of the tree.
    last_width, last_step : float
        Width and step at the end of a stage: slightly wider than the margins of P2, with small steps compared to them.
    last_width_on_grid : float
        The last width on the grid, where rounding may still move rows that are nearer than this to the other side.
    margins, margins_on_grid : tuple of float
        Pull of an unlabeled row within the margins, at the first and the last step; a labeled row pulls with 1. On the
        grid it stays small, because rounding creates the margins there.
    free_stages : int
        Stages on the grid before the first coefficients are rounded.
    boost, fading : float
        After each stage, the strength of a row that still has a cost grows by ``boost``. For other rows, ``fading`` is
        the share that remains of earlier growth.
    stretch : int
        Steps between two selections of nearby rows: selecting takes as long as several steps.
    steps_ahead : float
        How far a row can approach in one stretch, in steps of all coefficients in one direction.
    most_near : int
        Maximum number of unlabeled rows per step. Beyond it, a random sample represents the nearby rows.
    margin_price : float
        Price of a unit of margin violation when stages are compared.
    nearly_clear : float
        Margin violation per row up to which linear programs can repair a tree.
    mend_seconds : float
        Time limit for the margins of one tree: a linear program can take longer than all stages together.
    stretch_values : float
        Limit on the values of rows at nodes between two looks at the clock.
    stage_work, fewest_steps : float, int
        Limit on the work of a stage, about half a second, in the unit of `step_work`. A stage with fewer steps is not
        worthwhile.
    most_features : int
        With more features, the limit leaves too few steps.
    step_overhead : int
        Work per row, node and step besides the features. The unit is the work for one feature.
    """

    n_stages: int = 12
    n_stages_on_grid: int = 6
    narrower: float = 0.8
    last_width: float = 1.05
    last_step: float = 0.02
    last_width_on_grid: float = 4.0
    margins: tuple[float, float] = (0.002, 2.0)
    margins_on_grid: tuple[float, float] = (0.002, 0.002)
    free_stages: int = 2
    boost: float = 2.0
    fading: float = 0.9
    stretch: int = 25
    steps_ahead: float = 5.0
    most_near: int = 1000
    margin_price: float = 4.0
    nearly_clear: float = 0.005
    mend_seconds: float = 1.0
    stretch_values: float = 1e7
    stage_work: float = 1.5e9
    fewest_steps: int = 50
    most_features: int = 200
    step_overhead: int = 15


DEFAULTS = DescentParams()

WorkingSet = tuple[FloatArray, IntArray, FloatArray, FloatArray, IntArray, float]
"""The rows of some steps, the labeled ones first: standardised features (p, n + k), classes of the labeled rows (n,),
sizes (n + k,), strengths (n + k,), the cell of class 0 in the domain of each unlabeled row (n_margins, k), and the
number of rows that an unlabeled row represents."""


@dataclass(frozen=True)
class Descent:
    """Initial widths and steps of one descent.

    Attributes
    ----------
    n_steps : int
        Steps of every stage.
    width : float
        First width of the margins, in standard deviations of the rows along a normal.
    step : float
        First step of every coefficient, in widths.
    on_grid : bool
        Use only features on a grid, and leave the margins to rounding.
    is_shaken : bool
        Give rows random strengths in the first stage, so that descents from one start differ.
    """

    n_steps: int
    width: float = 0.1
    step: float = 0.1
    on_grid: bool = False
    is_shaken: bool = False


def may_descend(instance: Instance, parameters: DescentParams = DEFAULTS) -> bool:
    """Whether descents can help: no guide, no limit on features, some labels, and steps that are quick enough."""
    return (
        not instance.is_guided
        and instance.most_features is None
        and instance.n_features <= parameters.most_features
        and instance.n_labeled > 0
        and step_work(instance, parameters) * parameters.fewest_steps <= parameters.stage_work
    )


def step_work(instance: Instance, parameters: DescentParams = DEFAULTS) -> float:
    """Work of one step."""
    n_near = min(instance.n_rows, instance.n_labeled + parameters.most_near)
    return float(n_near * instance.topology.n_branches * (instance.n_features + parameters.step_overhead))


def steps_within(instance: Instance, n_steps: float, parameters: DescentParams = DEFAULTS) -> int:
    """The number of steps, reduced if they would take too long."""
    return max(1, int(min(n_steps, parameters.stage_work / step_work(instance, parameters))))


def descend(
    instance: Instance,
    start: Hyperplanes,
    descent: Descent,
    rng: np.random.Generator,
    deadline: Deadline,
    parameters: DescentParams = DEFAULTS,
) -> tuple[float, Hyperplanes]:
    """The lowest cost of all stages from ``start``, including the price of margin violations, and its hyperplanes.

    Stages that the deadline cuts short also count.
    """
    # 1. Standardise the features, so that one step length suits all coefficients.
    moving = _MovingPlanes(instance, start, rng, parameters, on_grid=descent.on_grid)
    if descent.is_shaken:
        moving.strength = rng.exponential(size=instance.n_rows)
    found: list[tuple[float, Hyperplanes]] = []
    least = np.inf
    n_stages = parameters.n_stages_on_grid if descent.on_grid else parameters.n_stages
    for number in range(n_stages):
        # 2. On the grid, round more coefficients in every stage: the others then compensate.
        if descent.on_grid and number >= parameters.free_stages:
            moving.round((number - parameters.free_stages + 1) / (n_stages - parameters.free_stages + 1))
        # 3. Shrink the margins from wide ones, which include distant rows, to those of P2.
        moving.run_stage(descent, number, deadline)
        planes = moving.planes()
        H = values_at_nodes(instance, *planes)
        cost = _cost(instance, H, parameters)
        # 4. Repair the margins of the best stage so far: the gradient leaves some rows slightly too near.
        if cost < least and not descent.on_grid and not deadline.passed:
            found.append(_mended(instance, planes, parameters, deadline.within(parameters.mend_seconds)))
        else:
            found.append((cost, planes))
        least = min(least, cost)
        if instance.is_at_floor(found[-1][0]) or deadline.passed:
            break
        # 5. Strengthen rows that still have a cost, as boosting does, so that the next stage focuses on them.
        moving.strengthen(H)
    return min(found, key=lambda stage: stage[0])


class _MovingPlanes:
    """Hyperplanes over standardised features, and how strongly each row pulls at them.

    ``Z`` (p, n + m) are the standardised rows, ``box`` (2, n_branches, p) bounds the coefficients, and ``prices``
    (n_cells,) are those of the cells, which the steps adapt to the totals.
    """

    def __init__(
        self,
        instance: Instance,
        start: Hyperplanes,
        rng: np.random.Generator,
        parameters: DescentParams,
        *,
        on_grid: bool,
    ) -> None:
        self.instance, self.rng, self.parameters, self.on_grid = instance, rng, parameters, on_grid
        self.center, self.scale = instance.XT.mean(axis=1), instance.XT.std(axis=1)
        # A constant feature does not distinguish rows.
        self.scale[self.scale == 0] = 1.0
        self.Z = (instance.XT - self.center[:, None]) / self.scale[:, None]
        usable = (instance.quanta > 0) if on_grid else np.ones(len(self.scale), dtype=bool)
        omega, gamma = start
        largest = np.tile(np.where(usable, instance.s * self.scale, 0.0), (len(gamma), 1))
        self.box = np.array([-largest, largest])
        self.normals, self.offsets = np.clip(omega * self.scale, -largest, largest), gamma - omega @ self.center
        self.prices = np.zeros(instance.targets.n_cells)
        self.strength = np.ones(instance.n_rows)

    def planes(self) -> Hyperplanes:
        """The hyperplanes in model units, rounded to the grid if required."""
        omega = self.normals / self.scale
        gamma = self.offsets + omega @ self.center
        if self.on_grid:
            for b in range(len(gamma)):
                omega[b], gamma[b] = to_grid(self.instance, omega[b], gamma[b], lengthen=False)
        return omega, gamma

    def round(self, share: float) -> None:
        """Round and fix the coefficients of a share of the features, those with the longest steps first."""
        step = self.instance.quanta * self.scale
        coarse = np.argsort(-step, kind="stable")[: int(share * np.count_nonzero(step))]
        most = np.floor(self.instance.s * (1 + 1e-9) / self.instance.quanta[coarse])
        times = np.clip(np.round(self.normals[:, coarse] / step[coarse]), -most, most)
        self.normals[:, coarse] = times * step[coarse]
        self.box[:, :, coarse] = self.normals[:, coarse]

    def strengthen(self, H: FloatArray) -> None:
        """Increase the strength of rows that pay or are too near, and let that of the others fade."""
        pays = own_leaf_errors(self.instance, H).min(axis=1) > 0
        is_near = (np.abs(H[:, self.instance.n_labeled :]) < 1).any(axis=0)
        boosted, faded = self.parameters.boost * self.strength, 1 + self.parameters.fading * (self.strength - 1)
        self.strength = np.where(np.concatenate([pays, is_near]), boosted, faded)

    def run_stage(self, descent: Descent, number: int, deadline: Deadline) -> None:
        """Take the steps of a stage, in stretches with a fixed working set."""
        instance, parameters, n_steps = self.instance, self.parameters, descent.n_steps
        # 1. Width of the margins, length of a step, and pull of an unlabeled row within the margins: values at the
        #    first and the last step, which change geometrically in between. The spread is the median over the nodes of
        #    the standard deviation of rows along the normal, for independent features.
        spread = float(np.median(np.linalg.norm(self.normals, axis=1)))
        last_width = parameters.last_width_on_grid if self.on_grid else parameters.last_width
        first_width = max(descent.width * parameters.narrower**number * spread, 2 * last_width)
        widths, steps = (first_width, last_width), (descent.step * first_width, parameters.last_step)
        margins = parameters.margins_on_grid if self.on_grid else parameters.margins
        # 2. Adam's averages of the gradient and of its square, the offset last.
        mean = np.zeros((len(self.offsets), len(self.scale) + 1))
        motion = self.normals, self.offsets, mean, np.zeros_like(mean), self.prices
        # 3. Take the steps, which stop only between two stretches.
        n_values = min(instance.n_rows, instance.n_labeled + parameters.most_near) * len(self.offsets)
        stretch = int(np.clip(parameters.stretch_values / n_values, 1, parameters.stretch))
        bounds = np.array([instance.targets.low, instance.targets.high])
        for begin in range(0, n_steps, stretch):
            if deadline.passed:
                return
            progress = begin / max(n_steps - 1, 1)
            width, step = (float(first * (last / first) ** progress) for first, last in (widths, steps))
            reach = width + parameters.steps_ahead * step * float(np.sqrt(len(self.Z)))
            rows, outside = self.working_set(reach)
            aims = instance.topology.leaf_classes, bounds, outside, self.box
            stage = n_steps, widths, margins, steps
            take_steps(rows, aims, motion, stage, begin, min(begin + stretch, n_steps))

    def working_set(self, reach: float) -> tuple[WorkingSet, FloatArray]:
        """The labeled rows and the unlabeled rows within reach of a hyperplane, and the number of others per cell."""
        instance, n = self.instance, self.instance.n_labeled
        H = self.normals @ self.Z
        H -= self.offsets[:, None]
        H = H[:, n:]
        is_near = (np.abs(H) < reach).any(axis=0)
        near, far = np.flatnonzero(is_near), np.flatnonzero(~is_near)
        weight = max(len(near) / self.parameters.most_near, 1.0)
        if weight > 1:
            near = np.sort(self.rng.choice(near, self.parameters.most_near, replace=False))
        first = instance.targets.first_cells
        cells = first[:, far] + ends(instance.topology.leaf_classes, H[:, far] > 0)
        counted = np.tile(instance.sizes[n + far], len(cells))
        outside = np.bincount(cells.ravel(), counted, instance.targets.n_cells).astype(float)
        chosen = np.concatenate([np.arange(n), n + near])
        # A labeled row of size 2 pulls like two rows; unlabeled rows of any size keep the same distance.
        pull = self.strength[chosen] * np.where(chosen < n, instance.sizes[chosen], 1.0)
        Z, first_near = np.ascontiguousarray(self.Z[:, chosen]), np.ascontiguousarray(first[:, near])
        return (Z, instance.labels, instance.sizes[chosen], pull, first_near, weight), outside


def _cost(instance: Instance, H: FloatArray, parameters: DescentParams) -> float:
    """The cost of a tree, including the price of its margin violations."""
    return tree_cost(instance, H) + parameters.margin_price * margin_violation(instance, H)


def _mended(
    instance: Instance, planes: Hyperplanes, parameters: DescentParams, deadline: Deadline
) -> tuple[float, Hyperplanes]:
    """The cheapest of the hyperplanes as they are, with margins repaired, and with last-level offsets combined."""
    tried = [planes]
    if margin_violation(instance, values_at_nodes(instance, *planes)) <= parameters.nearly_clear * instance.n_rows:
        tried.append(repaired(instance, *planes, deadline))
        tried.append(combine_offsets(instance, *tried[-1], deadline))
    costs = [_cost(instance, values_at_nodes(instance, *each), parameters) for each in tried]
    cheapest = int(np.argmin(costs))
    return costs[cheapest], tried[cheapest]


def repaired(instance: Instance, omega: FloatArray, gamma: FloatArray, deadline: Deadline) -> Hyperplanes:
    """The hyperplanes, with one linear program for each node where unlabeled rows are too near.

    First these rows are moved out of the margins on their sides. Then the remaining ones are moved to the other side,
    where that reduces the violation.
    """
    omega, gamma = omega.copy(), gamma.copy()
    n, topology, s = instance.n_labeled, instance.topology, instance.s
    X = instance.XT[:, n:]

    def violation(h: FloatArray) -> float:
        return float(np.maximum(1 - np.abs(h), 0).sum())

    for near_side in (1.0, -1.0):
        H = values_at_nodes(instance, omega, gamma)
        leaf = own_leaf_errors(instance, H).argmin(axis=1)
        for b in np.flatnonzero((np.abs(H[:, n:]) < CLEAR).any(axis=1)):
            if deadline.passed:
                break
            rows, sign = path_rows(topology, leaf, int(b))
            h = H[b, n:]
            too_near = np.abs(h) < CLEAR
            fitted = cheapest_hyperplane(
                (instance.XT[:, rows].T, sign, instance.sizes[rows]),
                (X.T, h, np.where(h > 0, 1.0, -1.0) * np.where(too_near, near_side, 1.0)),
                np.full(instance.n_features, s),
                deadline,
                may_pay=too_near,
            )
            if fitted is not None and violation(fitted[0] @ X - fitted[1]) < violation(h):
                omega[b], gamma[b] = fitted
    return omega, gamma
