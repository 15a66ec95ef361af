"""Descent of all hyperplanes at once: from a start to a tree that nearly keeps its margins; see `cpp/descent.h`.

Single moves are exact, but slow where hyperplanes have many coefficients and thousands of rows are near. A gradient
sees all rows at once. A descent has several falls. Rows that still pay after a fall, or are too near a hyperplane, pull
more strongly in the next one. Where features are on a grid, coefficients are rounded from fall to fall, coarse ones
first, so that the others can make up for it. The best tree so far is mended after its fall: linear programs move
rows out of the margins, and the last offsets are combined so that the totals are met.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.search.evaluation import margin_violation, tree_cost, values_at_nodes
from s2oct.search.instance import Instance
from s2oct.search.moving import MOST_NEAR, Fall, Moving
from s2oct.search.offsets import combine_offsets
from s2oct.search.repair import repaired
from s2oct.stopping import Deadline

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
