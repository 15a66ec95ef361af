"""Annealing a tree; the deadline is looked at between short stretches of visits."""

from __future__ import annotations

from dataclasses import dataclass

from s2oct._core import Annealer
from s2oct.arrays import FloatArray
from s2oct.search.instance import FAR, USUAL_MOVES, Instance
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
    annealer = Annealer(instance.data, _random_word(seed))
    n_directions = min(DIRECTIONS, int(DIRECTION_WORK / instance.n_rows))
    for b in range(instance.topology.n_branches):
        if deadline.passed:
            return
        annealer.clear_node(state.omega, state.gamma, b, n_directions, deadline.stop)


def anneal(instance: Instance, state: State, schedule: Schedule, seed: int, deadline: Deadline) -> None:
    """Anneal ``state`` in place until the schedule, the deadline or the floor is reached."""
    state.best_cost = Annealer(instance.data, _random_word(seed)).anneal(
        state.omega,
        state.gamma,
        state.best_omega,
        state.best_gamma,
        n_visits=schedule.n_visits,
        moves_per_visit=schedule.moves_per_visit,
        heats=(schedule.hot, schedule.cold),
        row_off=schedule.row_off,
        margin_prices=schedule.margin_prices,
        cap=schedule.cap,
        on_grid=schedule.on_grid,
        floor=instance.floor,
        stretch=instance.stretch(schedule.moves_per_visit),
        stop=lambda: deadline.passed,
    )


def _random_word(seed: int) -> int:
    """The state of a generator: one word that must not be 0."""
    return seed * 2654435761 % 2**63 + 88172645463325252
