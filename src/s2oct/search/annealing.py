"""Annealing a tree in short compiled stretches; the deadline is checked between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from s2oct.arrays import FloatArray
from s2oct.search.compiled.annealing_room import new_room
from s2oct.search.compiled.gaps import clear_node
from s2oct.search.compiled.node_views import Planes
from s2oct.search.compiled.stretches import Course, anneal_stretch
from s2oct.search.compiled.walks import FAR
from s2oct.search.instance import USUAL_MOVES, Instance
from s2oct.search.lengths import length_factors
from s2oct.stopping import Deadline

DIRECTIONS, DIRECTION_WORK = 30, 1e6
"""Random directions tried at a node when its offset is cleared; and the most directions times rows."""


@dataclass(frozen=True)
class Schedule:
    """How long and how hot to anneal, and the prices during the annealing.

    Attributes
    ----------
    n_visits, moves_per_visit : int
        A visit tries that many moves at one node.
    hot, cold : float
        Temperatures at the first and the last visit.
    row_off : float
        Price of a row off the totals.
    margin_prices : tuple of float
        Price of a unit of margin violation at the first and the last visit; it grows geometrically.
    cap : float
        Most that one labeled row can cost.
    on_grid : bool
        Take grid steps only.
    """

    n_visits: int
    moves_per_visit: int = USUAL_MOVES
    hot: float = 1.0
    cold: float = 0.1
    row_off: float = 0.1
    margin_prices: tuple[float, float] = (2.0, 2.0)
    cap: float = 4.0
    on_grid: bool = False

    def course(self, visit_from: int, visit_to: int) -> Course:
        """A stretch of the schedule, for the kernels."""
        return Course(
            visit_from, visit_to, self.n_visits, self.moves_per_visit, self.hot, self.cold, self.row_off,
            *self.margin_prices, self.cap, self.on_grid,
        )  # fmt: skip


@dataclass(eq=False)
class State:
    """The present hyperplanes, and the best ones so far with their cost as the search counts it."""

    omega: FloatArray
    gamma: FloatArray
    best_omega: FloatArray
    best_gamma: FloatArray
    best_cost: float

    def lengthen(self, s: float) -> None:
        """Scale every hyperplane up to the bound on its coefficients: rows keep their sides and gain distance."""
        factor = length_factors(self.omega, s)
        self.omega *= factor[:, None]
        self.gamma *= factor

    @classmethod
    def at(cls, omega: FloatArray, gamma: FloatArray) -> State:
        """Start from given hyperplanes."""
        return cls(omega.copy(), gamma.copy(), omega.copy(), gamma.copy(), FAR)


def clear_offsets(instance: Instance, state: State, seed: int, deadline: Deadline) -> None:
    """Give every node of ``state`` in turn its best offset clear of all unlabeled rows; try random directions."""
    random_state = _random_state(seed)
    room = new_room(instance.data)
    n_directions = min(DIRECTIONS, int(DIRECTION_WORK / instance.n_rows))
    planes = Planes(state.omega, state.gamma)
    for b in range(instance.topology.n_branches):
        if deadline.passed:
            return
        clear_node(instance.data, planes, b, n_directions, random_state, room)


def anneal(instance: Instance, state: State, schedule: Schedule, seed: int, deadline: Deadline) -> None:
    """Anneal ``state`` in place until the schedule, the deadline or the floor is reached."""
    random_state = _random_state(seed)
    room = new_room(instance.data)
    stretch = instance.stretch(schedule.moves_per_visit)
    state.best_cost = FAR
    planes = Planes(state.omega, state.gamma)
    best_planes = Planes(state.best_omega, state.best_gamma)
    for begin in range(0, schedule.n_visits, stretch):
        if deadline.passed:
            return
        course = schedule.course(begin, min(begin + stretch, schedule.n_visits))
        state.best_cost = anneal_stretch(
            instance.data, planes, best_planes, state.best_cost, instance.floor, random_state, course, room
        )
        if state.best_cost <= instance.floor + 1e-9:
            return


def _random_state(seed: int) -> NDArray[np.uint64]:
    """The kernels' random state: one word that must not be 0."""
    return np.array([seed * 2654435761 % 2**63 + 88172645463325252], dtype=np.uint64)
