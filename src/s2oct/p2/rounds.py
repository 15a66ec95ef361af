"""One round of the search for P2: a start, moves that lower the cost, the best tree found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from s2oct._core import Annealer
from s2oct.arrays import FloatArray
from s2oct.p2.descent import FALLS, Descent, Hyperplanes, descend, may_descend, step_work, steps_within
from s2oct.p2.instance import (
    FAR,
    USUAL_MOVES,
    Instance,
    cost_of_tree,
    length_factors,
    margin_violation,
    tree_cost,
    values_at_nodes,
)
from s2oct.p2.node_fits import alternating_start
from s2oct.p2.offsets import combine_offsets
from s2oct.p2.starts import axis_start, constant_start, drawn_leaf_classes, separating_start, to_grid
from s2oct.stopping import Deadline
from s2oct.trees.tree import ObliqueTree

# Annealing a tree; the deadline is looked at between short stretches of visits.

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


# Which method has the next turn, a round of annealing or descents; and from where, how and how often to descend.

MANY_ROWS, EARLY_ROUNDS = 1000, 6
"""From this number of rows on rounds are few: node fits and descents come early. With fewer rows, descents wait for so
many rounds, which are quick and often enough."""

TURNS, DESCENT_TURN, ROUND_TURN, FROM_BEST = 5, 1, 3, (0, 2)
"""Of so many turns, one is always for descents and one for a round; the others are for the leading method. And the
turns in which descents begin at the best tree. The number has no common divisor with those after which kinds of rounds
repeat: every kind has its turn."""

DESCENT_STEPS, FITTED_STARTS = 1500, 0.7
"""Steps of every fall in the first descent; and the share of descents that begin at node fits, not at random splits."""

NARROW, SHORT = (0.005, 0.02, 0.06), (0.3, 1.0)
"""First widths and steps of a descent from the best tree, which is to keep most of it."""

WIDTHS, STEPS, ROUNDED = (0.1, 0.3, 0.3), (0.3, 1.0, 1.0, 3.0), 0.5
"""First widths and steps of a descent, see `Descent`; and the share of rounded ones if all features are on a grid."""

ROUND_WORK = 1150
"""Work for a row in all annealings of a round, for each visit, in the unit of `step_work`."""

MOST_DESCENTS = 10
"""Most descents in one turn."""


def descends(instance: Instance, number: int, *, descents_lead: bool) -> bool:
    """Whether a turn is one of descents. The method that found the best tree so far has four turns of five."""
    if not may_descend(instance) or (instance.n_rows < MANY_ROWS and number < EARLY_ROUNDS):
        return False
    if number % TURNS in (DESCENT_TURN, ROUND_TURN):
        return number % TURNS == DESCENT_TURN
    return descents_lead


def n_descents(instance: Instance, number: int, n_visits: int) -> int:
    """How many descents take as long as a round of so many visits; at least one."""
    work = FALLS * _n_steps(instance, number) * step_work(instance)
    return int(np.clip(ROUND_WORK * n_visits * instance.n_rows / work, 1, MOST_DESCENTS))


def drawn_descent(instance: Instance, number: int, rng: np.random.Generator) -> Descent:
    """How to descend from a new start: on the grid more often the more features are on one."""
    share = float((instance.quanta > 0).mean())
    return Descent(
        _n_steps(instance, number),
        width=float(rng.choice(WIDTHS)),
        step=float(rng.choice(STEPS)),
        on_grid=bool(rng.random() < ROUNDED * share),
    )


def drawn_continuation(instance: Instance, number: int, rng: np.random.Generator) -> Descent:
    """How to descend from the best tree: with narrow margins, and with other strengths of the rows every time."""
    return Descent(
        _n_steps(instance, number),
        width=float(rng.choice(NARROW)),
        step=float(rng.choice(SHORT)),
        is_shaken=True,
    )


def drawn_start(instance: Instance, rng: np.random.Generator, deadline: Deadline) -> Hyperplanes:
    """A new start of a descent: node fits or random splits."""
    if rng.random() < FITTED_STARTS:
        return alternating_start(instance, rng, deadline)
    start = State.at(*axis_start(instance, rng))
    start.lengthen(instance.s)
    return start.omega, start.gamma


def _n_steps(instance: Instance, number: int) -> int:
    """Steps of a fall: more in later turns."""
    return steps_within(instance, DESCENT_STEPS * 2 ** min(number / 16, 3))


# Rounds of search, each a pure function of the instance, a seed, its number and the best tree so far.

Start = Callable[[Instance, np.random.Generator], tuple[FloatArray, FloatArray]]
"""Draws hyperplanes to start from."""

PEELINGS = 3
"""How often every node is cut again before the annealing: later nodes change what is best for earlier ones."""

LABELED_TRIES = 4
"""How often the labeled rows are fitted, at most, until a fit reaches the floor."""

SHORTEST, LONGEST = 150, 20_000
"""Visits of the first round of a small problem, and of the longest rounds."""

WORK = 2e7
"""Most visits times rows of a first round: seconds, not minutes, for a million rows."""

CONTINUATIONS = 3
"""How many narrow descents in a row may find nothing better."""

_CLOSE = 1e-9


def run_round(
    instance: Instance,
    seed: int,
    number: int,
    deadline: Deadline,
    best: ObliqueTree | None = None,
    *,
    by_descents: bool = False,
) -> list[ObliqueTree]:
    """One round from a new start, or every fourth time from the best tree so far; returns the trees it found.

    With ``by_descents`` some descents take its place, all from new starts or all from the best tree. Steps of which
    one takes longer than the time that is left are not begun.
    """
    deadline = deadline.sooner(instance.step_seconds)
    if deadline.passed:
        return []
    rng = np.random.default_rng([seed, number])
    n_visits = round_length(instance, number)
    is_from_best = number % TURNS in FROM_BEST if by_descents else number % 4 == 3
    start = best if is_from_best else None
    most = float("inf") if best is None else cost_of_tree(instance, best)
    if instance.targets.n_classes > 2:
        known = None if best is None else best.leaf_classes
        instance = instance.with_leaf_classes(drawn_leaf_classes(instance, known, rng, keep=start is not None))
    run = _Round(instance, rng, deadline, [])
    if by_descents:
        run.by_descents(n_visits, number, start, most)
    elif start is not None:
        state = State.at(start.omega, start.gamma)
        run.anneal(state, Schedule(n_visits, hot=0.5))
        run.settle(state, n_visits)
    elif _by_alternation(instance, number):
        run.by_alternation(n_visits)
    elif _on_grid(instance, number):
        # A separating hyperplane uses all features.
        separate = number % 2 == 1 and instance.most_features is None and instance.targets.n_classes == 2
        run.from_grid(n_visits, separate=separate)
    elif number % 4 == 0:
        run.by_peeling(n_visits)
    elif number % 4 == 1:
        run.from_axis_splits(n_visits)
    else:
        run.by_continuation(n_visits)
    return run.found


@dataclass(eq=False)
class _Round:
    """One method for each way from a start to trees; each ends early once a tree reaches the floor."""

    instance: Instance
    rng: np.random.Generator
    deadline: Deadline
    found: list[ObliqueTree]
    reached: bool = False

    def from_grid(self, n_visits: int, *, separate: bool) -> None:
        """Grid steps only, which keep margins by construction: the labeled rows first, then all rows.

        ``separate`` fits the labeled rows by a linear program and keeps what it found, instead of annealing.
        """
        schedule = Schedule(n_visits, hot=self.hot(), on_grid=True)
        if separate:
            schedule = replace(schedule, hot=0.4)
            state = State.at(*separating_start(self.instance, self.rng, self.deadline))
        else:
            state = self.fit_labeled(constant_start, schedule)
        self.on_grid(state, schedule)

    def on_grid(self, state: State, schedule: Schedule) -> None:
        """Anneal by grid steps, then by the true cost."""
        if not self.anneal(state, schedule):
            self.anneal(state, self.true_cost(schedule.n_visits, on_grid=True))

    def from_axis_splits(self, n_visits: int) -> None:
        """Everything at once, from random splits of single features."""
        state = State.at(*axis_start(self.instance, self.rng))
        if not self.anneal(state, Schedule(n_visits, hot=self.hot())):
            self.settle(state, n_visits)

    def by_peeling(self, n_visits: int) -> None:
        """Cuts clear of all rows from the start, where the rows are sparse; then annealing by the true cost.

        With many rows and continuous features, no other way reaches a feasible tree as quickly.
        """
        state = State.at(*constant_start(self.instance, self.rng))
        for _ in range(PEELINGS):
            clear_offsets(self.instance, state, self.seed(), self.deadline)
        if not self.anneal(state, self.true_cost(2 * n_visits)):
            self.settle(State.at(state.best_omega, state.best_gamma), n_visits)

    def by_continuation(self, n_visits: int) -> None:
        """The labeled rows first, then the totals without margins, then margins with a growing price."""
        state = self.fit_labeled(axis_start, Schedule(n_visits))
        self.anneal(state, Schedule(n_visits // 2 + 1, cold=0.2, row_off=0.3, margin_prices=(0.0, 0.0)))
        state.lengthen(self.instance.s)
        if not self.anneal(state, Schedule(2 * n_visits, hot=0.3, cold=0.05, row_off=0.2, margin_prices=(0.1, 4.0))):
            self.settle(state, n_visits)

    def by_alternation(self, n_visits: int) -> None:
        """Node fits to the presumed classes of the rows, then margins: by grid steps, or with a growing price.

        With a guide there is no rounding to the grid, which would change the class of rows that the guide is sure of.
        """
        omega, gamma = alternating_start(self.instance, self.rng, self.deadline)
        if (self.instance.quanta > 0).all() and not self.instance.is_guided:
            for b in range(len(gamma)):
                omega[b], gamma[b] = to_grid(self.instance, omega[b], gamma[b])
            self.on_grid(State.at(omega, gamma), Schedule(n_visits, hot=0.4, on_grid=True))
            return
        cleared = State.at(omega, gamma)
        clear_offsets(self.instance, cleared, self.seed(), self.deadline)
        if self.anneal(cleared, replace(self.true_cost(n_visits), hot=0.1)):
            return
        state = State.at(omega, gamma)
        if not self.anneal(state, Schedule(2 * n_visits, hot=0.3, cold=0.05, row_off=0.2, margin_prices=(0.1, 4.0))):
            self.settle(state, n_visits)

    def by_descents(self, n_visits: int, number: int, start: ObliqueTree | None, most: float) -> None:
        """Descents of all hyperplanes at once, from a tree or from new starts; those up to a cost are continued."""
        if start is not None:
            cost, planes = most, (start.omega, start.gamma)
        else:
            descent = drawn_descent(self.instance, number, self.rng)
            cost, planes = self.descend_anew(descent, n_descents(self.instance, number, n_visits))
            if descent.on_grid:
                self.on_grid(State.at(*planes), Schedule(n_visits, hot=0.2, on_grid=True))
                return
            self.keep_if_clear(planes)
        if cost <= most:
            cost, planes = self.continue_from(cost, planes, number)
        if cost <= most and not self.reached:
            self.anneal(State.at(*planes), replace(self.true_cost(2 * n_visits), hot=0.1, margin_prices=(1.0, 4.0)))

    def descend_anew(self, descent: Descent, times: int) -> tuple[float, Hyperplanes]:
        """The cost and the hyperplanes of the best of some descents from new starts."""
        found = []
        for _ in range(times):
            start = drawn_start(self.instance, self.rng, self.deadline)
            found.append(descend(self.instance, start, descent, self.rng, self.deadline))
            if found[-1][0] <= self.instance.floor + _CLOSE or self.deadline.passed:
                break
        return min(found, key=lambda result: result[0])

    def continue_from(self, cost: float, planes: Hyperplanes, number: int) -> tuple[float, Hyperplanes]:
        """Narrow descents from hyperplanes, and from whatever is better, until some in a row are not."""
        fruitless = 0
        while fruitless < CONTINUATIONS and cost > self.instance.floor + _CLOSE and not self.deadline.passed:
            descent = drawn_continuation(self.instance, number, self.rng)
            reached, found = descend(self.instance, planes, descent, self.rng, self.deadline)
            fruitless += 1
            if reached < cost - _CLOSE:
                cost, planes, fruitless = reached, found, 0
                self.keep_if_clear(planes)
        return cost, planes

    def settle(self, state: State, n_visits: int) -> None:
        """Anneal by the true cost; then move the offsets clear of all rows and anneal again from there."""
        if not self.anneal(state, self.true_cost(n_visits)):
            clear_offsets(self.instance, state, self.seed(), self.deadline)
            state.omega, state.gamma = combine_offsets(self.instance, state.omega, state.gamma, self.deadline)
            self.anneal(state, replace(self.true_cost(n_visits), hot=0.1))

    def true_cost(self, n_visits: int, *, on_grid: bool = False) -> Schedule:
        """A cool schedule with the prices of P2."""
        return Schedule(
            n_visits // 2 + 1,
            hot=0.3,
            cold=0.02,
            row_off=self.instance.row_off,
            margin_prices=(4.0, 4.0),
            cap=1e9,
            on_grid=on_grid,
        )

    def fit_labeled(self, start: Start, schedule: Schedule) -> State:
        """Anneal on the labeled rows alone, several times if needed: they are few, so this takes less time."""
        labeled = self.instance.labeled_only()
        tries: list[State] = []
        while len(tries) < LABELED_TRIES and (not tries or tries[-1].best_cost > self.instance.floor + _CLOSE):
            tries.append(State.at(*start(self.instance, self.rng)))
            anneal(labeled, tries[-1], schedule, self.seed(), self.deadline)
        best = min(tries, key=lambda state: state.best_cost)
        return State.at(best.best_omega, best.best_gamma)

    def anneal(self, state: State, schedule: Schedule) -> bool:
        """Anneal, keep the best tree with its offsets combined again, and return whether it reached the floor."""
        anneal(self.instance, state, schedule, self.seed(), self.deadline)
        if state.best_cost == FAR:
            return False
        if self.deadline.passed:
            self.found.append(ObliqueTree.of(self.instance.topology, state.best_omega.copy(), state.best_gamma.copy()))
            return False
        omega, gamma = state.best_omega.copy(), state.best_gamma.copy()
        if state.best_cost > self.instance.floor + _CLOSE:
            omega, gamma = combine_offsets(self.instance, omega, gamma, self.deadline)
        self.keep(omega, gamma)
        return self.reached

    def keep(self, omega: FloatArray, gamma: FloatArray) -> None:
        """Keep a tree that has its margins, and note whether it reached the floor."""
        self.found.append(ObliqueTree.of(self.instance.topology, omega, gamma))
        cost = tree_cost(self.instance, values_at_nodes(self.instance, omega, gamma))
        self.reached = cost <= self.instance.floor + _CLOSE

    def keep_if_clear(self, planes: Hyperplanes) -> None:
        """Keep hyperplanes that no row is too near to."""
        if margin_violation(self.instance, values_at_nodes(self.instance, *planes)) < _CLOSE:
            self.keep(*planes)

    def hot(self) -> float:
        """A first temperature: a hot one forgets the start, a warm one keeps what is good about it."""
        return float(self.rng.choice([1.0, 0.4]))

    def seed(self) -> int:
        return int(self.rng.integers(2**31))


def round_length(instance: Instance, number: int) -> int:
    """Visits of a round: short rounds often and long ones sometimes, all growing slowly.

    Rounds are longer for many rows, where short ones find nothing.
    """
    shortest = min(max(SHORTEST, instance.n_rows // 5), int(WORK / instance.n_rows) + 1)
    return int(min(shortest * luby(number + 1) * 2 ** min(number / 8, 10), LONGEST))


def round_work(instance: Instance, number: int) -> float:
    """Rows times moves of a round, roughly: it has several annealings, and most of them are as long as the round."""
    return 3.0 * round_length(instance, number) * Schedule(1).moves_per_visit * instance.n_rows


def luby(k: int) -> int:
    """The k-th of 1, 1, 2, 1, 1, 2, 4, 1, 1, 2, ...: restarts that are never far from the best fixed length."""
    size = 1
    while size < k + 1:
        size *= 2
    return size // 2 if size == k + 1 else luby(k - size // 2 + 1)


def _on_grid(instance: Instance, number: int) -> bool:
    """Whether to take grid steps only: always if all features are on a grid, mostly if half are, else sometimes."""
    share = float((instance.quanta > 0).mean())
    if share == 1.0:
        return True
    return number % 3 != 1 if share >= 0.5 else share > 0.0 and number % 4 == 2


def _by_alternation(instance: Instance, number: int) -> bool:
    """Whether to fit nodes by alternation: often with a guide, and early where rounds are few and not on the grid."""
    if instance.is_guided and number % 2 == 0:
        return True
    return number % 8 == (1 if instance.n_rows >= MANY_ROWS and not _on_grid(instance, 1) else 5)
