"""The search for P2 in rounds: each leads from a start to trees, by annealing or by descents.

A round is a pure function of the instance, a seed, its number and the best tree so far, so any order and any number of
threads give the same trees. `RECIPES` and `DESCENTS` list the kinds of rounds, their turns and the reasons.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from s2oct._core import Annealer
from s2oct.arrays import FloatArray, IntArray
from s2oct.p2.descent import DEFAULTS as DESCENT_DEFAULTS
from s2oct.p2.descent import Descent, descend, may_descend, step_work, steps_within
from s2oct.p2.instance import (
    FAR,
    USUAL_MOVES,
    Hyperplanes,
    Instance,
    cost_of_tree,
    lengthen,
    margin_violation,
    to_grid,
    tree_cost,
    values_at_nodes,
)
from s2oct.p2.node_fits import alternating_start
from s2oct.p2.node_programs import DEFAULTS as NODE_PROGRAM_DEFAULTS
from s2oct.p2.offsets import combine_offsets
from s2oct.solvers.program import LinearProgram
from s2oct.stopping import Deadline
from s2oct.trees.tree import ObliqueTree

_CLOSE = 1e-9


@dataclass(frozen=True)
class RoundParams:
    """Tuning of the rounds.

    Attributes
    ----------
    turns : tuple of str
        Turns by number. The method that found the best tree so far has four turns of five, the other method has one.
        Five has no common divisor with the periods of the recipes (2, 3, 4, 6 and 8), so every recipe gets its turn.
    shortest, longest : int
        Visits of the first round of a small problem, and of the longest rounds.
    first_work : float
        Limit on visits times rows of a first round: it takes seconds, not minutes, for a million rows.
    many_rows : int
        From this number of rows on there is time for few rounds, so node fits and descents come early.
    early_rounds : int
        With fewer rows, descents wait for this number of rounds, which are quick and often sufficient.
    hot : tuple of float
        First temperatures, drawn for every round: a hot one forgets the start, a warm one keeps the good parts of it.
    n_directions, direction_work : int, float
        Random directions tried at a node when its offset is cleared, and limit on directions times rows.
    n_peelings : int
        Number of times that every node is cut again before annealing: later nodes change the best cut of earlier ones.
    labeled_tries : int
        Maximum number of fits of the labeled rows until one reaches the floor.
    descent_steps : int
        Steps of every stage in the first descent.
    fitted_starts : float
        Share of new descents that start from node fits rather than random splits.
    widths, steps : tuple of float
        First widths and steps of a new descent, see `Descent`.
    narrow_widths, short_steps : tuple of float
        The same for a descent from the best tree, which should keep most of that tree.
    rounded_share : float
        Share of descents on the grid if all features are on one.
    round_work : float
        Work of all annealings of a round per row and visit, in the unit of `step_work`: a turn of descents takes about
        as long as a round.
    most_descents : int
        Maximum number of descents in one turn.
    n_continuations : int
        Narrow descents in a row without a better tree after which a turn of descents ends.
    norm_price : float
        Price of the longest normal in the separating linear program, where the error of a labeled row costs 1.
    nearby_share : float
        Share of draws of leaf classes that change only those below one node of the best tree so far.
    """

    turns: tuple[str, ...] = ("leader", "descents", "leader", "round", "leader")
    shortest: int = 150
    longest: int = 20_000
    first_work: float = 2e7
    many_rows: int = 1000
    early_rounds: int = 6
    hot: tuple[float, ...] = (1.0, 0.4)
    n_directions: int = 30
    direction_work: float = 1e6
    n_peelings: int = 3
    labeled_tries: int = 4
    descent_steps: int = 1500
    fitted_starts: float = 0.7
    widths: tuple[float, ...] = (0.1, 0.3, 0.3)
    steps: tuple[float, ...] = (0.3, 1.0, 1.0, 3.0)
    narrow_widths: tuple[float, ...] = (0.005, 0.02, 0.06)
    short_steps: tuple[float, ...] = (0.3, 1.0)
    rounded_share: float = 0.5
    round_work: float = 1150
    most_descents: int = 10
    n_continuations: int = 3
    norm_price: float = 1e-3
    nearby_share: float = 0.5


DEFAULTS = RoundParams()


def descends(instance: Instance, number: int, *, descents_lead: bool, parameters: RoundParams = DEFAULTS) -> bool:
    """Whether it is the turn of descents; ``descents_lead`` if they found the best tree so far."""
    if not may_descend(instance) or (instance.n_rows < parameters.many_rows and number < parameters.early_rounds):
        return False
    turn = parameters.turns[number % len(parameters.turns)]
    return descents_lead if turn == "leader" else turn == "descents"


def run_round(
    instance: Instance,
    seed: int,
    number: int,
    deadline: Deadline,
    best: ObliqueTree | None = None,
    *,
    by_descents: bool = False,
    parameters: RoundParams = DEFAULTS,
) -> list[ObliqueTree]:
    """The trees that a round finds. With ``by_descents`` it is a turn of descents."""
    # 1. A step cannot be interrupted, so none starts that might overrun the limit.
    deadline = deadline.sooner(instance.step_seconds)
    if deadline.passed:
        return []
    # 2. The number decides everything that is not random: length and recipe.
    rng = np.random.default_rng([seed, number])
    run = _Round(instance, number, round_length(instance, number, parameters), rng, deadline, parameters, best)
    recipe = next(recipe for recipe in (DESCENTS if by_descents else RECIPES) if recipe.has_turn(run))
    # 3. With more than two classes, the classes of the leaves are drawn: moves do not change them.
    if instance.targets.n_classes > 2:
        known = None if best is None else best.leaf_classes
        run.instance = instance.with_leaf_classes(
            drawn_leaf_classes(instance, known, rng, keep=recipe.from_best, nearby_share=parameters.nearby_share)
        )
    # 4. Follow the recipe, which ends early once a tree reaches the floor.
    recipe.follow(run)
    return run.found


def round_length(instance: Instance, number: int, parameters: RoundParams = DEFAULTS) -> int:
    """Visits of a round: mostly short rounds and sometimes long ones, all growing slowly.

    Rounds are longer for many rows, where short ones find nothing.
    """
    shortest = max(parameters.shortest, instance.n_rows // 5)
    shortest = min(shortest, int(parameters.first_work / instance.n_rows) + 1)
    return int(min(shortest * luby(number + 1) * 2 ** min(number / 8, 10), parameters.longest))


def round_work(instance: Instance, number: int) -> float:
    """Approximate rows times moves of a round: it has several annealings, most of them as long as the round."""
    return 3.0 * round_length(instance, number) * Schedule(1).moves_per_visit * instance.n_rows


def luby(k: int) -> int:
    """The k-th of 1, 1, 2, 1, 1, 2, 4, 1, 1, 2, ...: restarts that are never far from the best fixed length."""
    size = 1
    while size < k + 1:
        size *= 2
    return size // 2 if size == k + 1 else luby(k - size // 2 + 1)


@dataclass(frozen=True)
class Schedule:
    """Length, temperatures and prices of an annealing.

    Attributes
    ----------
    n_visits, moves_per_visit : int
        Every visit tries ``moves_per_visit`` moves at one node.
    hot, cold : float
        Temperatures at the first and the last visit.
    row_off : float
        Price of a row off the totals.
    margin_prices : tuple of float
        Price of a unit of margin violation at the first and the last visit; it grows geometrically.
    cap : float
        Maximum price of one labeled row.
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


def anneal(
    instance: Instance, start: Hyperplanes, schedule: Schedule, seed: int, deadline: Deadline
) -> tuple[Hyperplanes, Hyperplanes, float]:
    """Anneal until the schedule, the deadline or the floor is reached.

    Returns the last hyperplanes, and the best ones that keep their margins with their cost in the search; if none did,
    these are the start and `FAR`.
    """
    omega, gamma = start
    last, best = (omega.copy(), gamma.copy()), (omega.copy(), gamma.copy())
    cost = Annealer(instance.data, _random_word(seed)).anneal(
        *last,
        *best,
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
    return last, best, cost


def clear_offsets(
    instance: Instance, start: Hyperplanes, seed: int, deadline: Deadline, parameters: RoundParams = DEFAULTS
) -> Hyperplanes:
    """Give every node in turn its best offset clear of all unlabeled rows; try random directions."""
    omega, gamma = start[0].copy(), start[1].copy()
    annealer = Annealer(instance.data, _random_word(seed))
    n_directions = min(parameters.n_directions, int(parameters.direction_work / instance.n_rows))
    for b in range(instance.topology.n_branches):
        if deadline.passed:
            break
        annealer.clear_node(omega, gamma, b, n_directions, deadline.stop)
    return omega, gamma


def _random_word(seed: int) -> int:
    """The state of a generator: one word that must not be 0."""
    return seed * 2654435761 % 2**63 + 88172645463325252


@dataclass(eq=False)
class _Round:
    """A round in progress. Each recipe is a method. ``reached`` says whether the tree kept last is at the floor."""

    instance: Instance
    number: int
    n_visits: int
    rng: np.random.Generator
    deadline: Deadline
    parameters: RoundParams
    best: ObliqueTree | None
    found: list[ObliqueTree] = field(default_factory=list)
    reached: bool = False

    @property
    def may_separate(self) -> bool:
        """Whether one hyperplane can separate the classes: it uses all features."""
        return self.instance.most_features is None and self.instance.targets.n_classes == 2

    @property
    def is_early(self) -> bool:
        """Whether rounds are few and off the grid, so that node fits come early."""
        return self.instance.n_rows >= self.parameters.many_rows and self.instance.gridded < 1.0

    def around_best(self) -> None:
        """Anneal at a low temperature from the best tree."""
        last, _ = self.anneal(self.best_planes, Schedule(self.n_visits, hot=0.5))
        self.settle(last)

    def by_alternation(self) -> None:
        """Fit nodes to the presumed classes of the rows, then create margins: by grid steps or with a growing price.

        A guide rules out rounding to the grid, which would change the classes of rows about which the guide is certain.
        """
        omega, gamma = alternating_start(self.instance, self.rng, self.deadline)
        if self.instance.gridded == 1.0 and not self.instance.is_guided:
            for b in range(len(gamma)):
                omega[b], gamma[b] = to_grid(self.instance, omega[b], gamma[b])
            self.anneal_on_grid((omega, gamma), hot=0.4)
            return
        cleared = self.cleared((omega, gamma))
        self.anneal(cleared, replace(self.true_cost(), hot=0.1))
        if not self.reached:
            self.grow_margins((omega, gamma))

    def separated_on_grid(self) -> None:
        """Separate the labeled classes by a linear program, round to the grid, and take grid steps only."""
        # Unused, but it keeps the random numbers of both recipes on the grid equal, and seeded fits unchanged.
        self.draw_hot()
        self.anneal_on_grid(
            separating_start(self.instance, self.rng, self.deadline, self.parameters.norm_price), hot=0.4
        )

    def on_grid(self) -> None:
        """Take grid steps only, which keep margins by construction: first for the labeled rows, then for all rows."""
        hot = self.draw_hot()
        planes = self.fit_labeled(constant_start, Schedule(self.n_visits, hot=hot, on_grid=True))
        self.anneal_on_grid(planes, hot)

    def by_peeling(self) -> None:
        """Cut clear of all rows from the start, where rows are sparse; then anneal by the true cost."""
        planes = constant_start(self.instance, self.rng)
        for _ in range(self.parameters.n_peelings):
            planes = self.cleared(planes)
        _, best = self.anneal(planes, self.true_cost(2))
        if not self.reached:
            self.settle(best)

    def from_axis_splits(self) -> None:
        """Anneal for labels, totals and margins together, from random splits of single features."""
        start = axis_start(self.instance, self.rng)
        last, _ = self.anneal(start, Schedule(self.n_visits, hot=self.draw_hot()))
        if not self.reached:
            self.settle(last)

    def by_continuation(self) -> None:
        """Fit the labeled rows, then the totals without margins, then margins with a growing price."""
        planes = self.fit_labeled(axis_start, Schedule(self.n_visits))
        without_margins = Schedule(self.n_visits // 2 + 1, cold=0.2, row_off=0.3, margin_prices=(0.0, 0.0))
        last, _ = self.anneal(planes, without_margins)
        self.grow_margins(lengthen(last, self.instance.s))

    def descend_from_best(self) -> None:
        """Narrow descents from the best tree."""
        self.continue_from(self.cost_to_beat(), self.best_planes)

    def descend_anew(self) -> None:
        """The best of some descents from new starts. One that is as good as the best tree is continued."""
        descent = drawn_descent(self.instance, self.number, self.rng, self.parameters)
        descents = []
        for _ in range(n_descents(self.instance, self.number, self.n_visits, self.parameters)):
            descents.append(descend(self.instance, self.draw_start(), descent, self.rng, self.deadline))
            if self.instance.is_at_floor(descents[-1][0]) or self.deadline.passed:
                break
        cost, planes = min(descents, key=lambda result: result[0])
        if descent.on_grid:
            self.anneal_on_grid(planes, hot=0.2)
            return
        self.keep_if_clear(planes)
        if cost <= self.cost_to_beat():
            self.continue_from(cost, planes)

    def continue_from(self, cost: float, planes: Hyperplanes) -> None:
        """Descend from hyperplanes, and from better ones once found, until some descents in a row fail; then anneal."""
        most, fruitless, parameters = self.cost_to_beat(), 0, self.parameters
        n_steps = _n_steps(self.instance, self.number, parameters)
        while (
            fruitless < parameters.n_continuations and not self.instance.is_at_floor(cost) and not self.deadline.passed
        ):
            width, step = (float(self.rng.choice(some)) for some in (parameters.narrow_widths, parameters.short_steps))
            descent = Descent(n_steps, width, step, is_shaken=True)
            reached, found = descend(self.instance, planes, descent, self.rng, self.deadline)
            fruitless += 1
            if reached < cost - _CLOSE:
                cost, planes, fruitless = reached, found, 0
                self.keep_if_clear(planes)
        if cost <= most and not self.reached:
            self.anneal(planes, replace(self.true_cost(2), hot=0.1, margin_prices=(1.0, 4.0)))

    @property
    def best_planes(self) -> Hyperplanes:
        """The hyperplanes of the best tree so far."""
        assert self.best is not None
        return self.best.omega, self.best.gamma

    def cost_to_beat(self) -> float:
        """The cost of the best tree so far."""
        return float("inf") if self.best is None else cost_of_tree(self.instance, self.best)

    def draw_start(self) -> Hyperplanes:
        """A new start of a descent: node fits or random splits."""
        if self.rng.random() < self.parameters.fitted_starts:
            return alternating_start(self.instance, self.rng, self.deadline)
        return lengthen(axis_start(self.instance, self.rng), self.instance.s)

    def anneal_on_grid(self, start: Hyperplanes, hot: float) -> None:
        """Anneal by grid steps, then by the true cost."""
        last, _ = self.anneal(start, Schedule(self.n_visits, hot=hot, on_grid=True))
        if not self.reached:
            self.anneal(last, replace(self.true_cost(), on_grid=True))

    def grow_margins(self, start: Hyperplanes) -> None:
        """Anneal with a growing price of margin violations, then settle."""
        schedule = Schedule(2 * self.n_visits, hot=0.3, cold=0.05, row_off=0.2, margin_prices=(0.1, 4.0))
        last, _ = self.anneal(start, schedule)
        if not self.reached:
            self.settle(last)

    def settle(self, start: Hyperplanes) -> None:
        """Anneal by the true cost; then move the offsets clear of all rows and anneal again."""
        last, _ = self.anneal(start, self.true_cost())
        if not self.reached:
            cleared = combine_offsets(self.instance, *self.cleared(last), self.deadline)
            self.anneal(cleared, replace(self.true_cost(), hot=0.1))

    def cleared(self, planes: Hyperplanes) -> Hyperplanes:
        """The hyperplanes with their offsets clear of all unlabeled rows."""
        return clear_offsets(self.instance, planes, self.seed(), self.deadline, self.parameters)

    def true_cost(self, times: int = 1) -> Schedule:
        """A cool schedule with the prices of P2, for ``times`` as many visits."""
        n_visits, row_off = times * self.n_visits // 2 + 1, self.instance.row_off
        return Schedule(n_visits, hot=0.3, cold=0.02, row_off=row_off, margin_prices=(4.0, 4.0), cap=1e9)

    def fit_labeled(
        self, start: Callable[[Instance, np.random.Generator], Hyperplanes], schedule: Schedule
    ) -> Hyperplanes:
        """Anneal on the labeled rows alone, several times if needed: they are few, so this takes less time."""
        labeled = self.instance.labeled_only()
        best, least = None, np.inf
        for _ in range(self.parameters.labeled_tries):
            planes = start(self.instance, self.rng)
            _, found, cost = anneal(labeled, planes, schedule, self.seed(), self.deadline)
            if cost < least:
                best, least = found, cost
            if self.instance.is_at_floor(cost):
                break
        assert best is not None
        return best

    def anneal(self, start: Hyperplanes, schedule: Schedule) -> tuple[Hyperplanes, Hyperplanes]:
        """Anneal, and keep the best tree with its offsets combined. Returns the last and the best hyperplanes."""
        last, best, cost = anneal(self.instance, start, schedule, self.seed(), self.deadline)
        self.reached = False
        if cost < FAR and self.deadline.passed:
            self.found.append(ObliqueTree.of(self.instance.topology, *best))
        elif cost < FAR:
            is_at_floor = self.instance.is_at_floor(cost)
            self.keep(best if is_at_floor else combine_offsets(self.instance, *best, self.deadline))
        return last, best

    def keep(self, planes: Hyperplanes) -> None:
        """Keep a tree that has its margins, and note whether it reached the floor."""
        self.found.append(ObliqueTree.of(self.instance.topology, *planes))
        self.reached = self.instance.is_at_floor(tree_cost(self.instance, values_at_nodes(self.instance, *planes)))

    def keep_if_clear(self, planes: Hyperplanes) -> None:
        """Keep hyperplanes that are clear of all unlabeled rows."""
        if margin_violation(self.instance, values_at_nodes(self.instance, *planes)) < _CLOSE:
            self.keep(planes)

    def draw_hot(self) -> float:
        return float(self.rng.choice(self.parameters.hot))

    def seed(self) -> int:
        return int(self.rng.integers(2**31))


def drawn_descent(
    instance: Instance, number: int, rng: np.random.Generator, parameters: RoundParams = DEFAULTS
) -> Descent:
    """A descent from a new start, on the grid more often if more features are on one."""
    return Descent(
        _n_steps(instance, number, parameters),
        width=float(rng.choice(parameters.widths)),
        step=float(rng.choice(parameters.steps)),
        on_grid=bool(rng.random() < parameters.rounded_share * instance.gridded),
    )


def n_descents(instance: Instance, number: int, n_visits: int, parameters: RoundParams = DEFAULTS) -> int:
    """The number of descents that take about as long as a round of ``n_visits``; at least one."""
    work = DESCENT_DEFAULTS.n_stages * _n_steps(instance, number, parameters) * step_work(instance)
    return int(np.clip(parameters.round_work * n_visits * instance.n_rows / work, 1, parameters.most_descents))


def _n_steps(instance: Instance, number: int, parameters: RoundParams) -> int:
    """Steps of a stage: more in later turns."""
    return steps_within(instance, parameters.descent_steps * 2 ** min(number / 16, 3))


def _has_best(run: _Round) -> bool:
    return run.best is not None


def _always(_: _Round) -> bool:
    return True


@dataclass(frozen=True)
class Recipe:
    """A kind of round: it has the turns ``turns`` of every ``period`` rounds, if it ``suits`` the problem.

    With ``from_best``, it starts from the best tree so far.
    """

    follow: Callable[[_Round], None]
    period: int
    turns: tuple[int, ...]
    suits: Callable[[_Round], bool]
    why: str
    from_best: bool = False

    def has_turn(self, run: _Round) -> bool:
        """Whether a round follows this recipe, unless an earlier one in the table has the turn."""
        return run.number % self.period in self.turns and self.suits(run)


RECIPES = (
    Recipe(
        _Round.around_best, 4, (3,), _has_best,
        "A good tree often has a better one near it. Not more often, because new starts find other valleys.",
        from_best=True,
    ),
    Recipe(
        _Round.by_alternation, 2, (0,), lambda run: run.instance.is_guided,
        "A guide presumes a class for every row, and node fits use it directly.",
    ),
    Recipe(
        _Round.by_alternation, 8, (1,), lambda run: run.is_early,
        "With many rows there is time for few rounds, and node fits give a good tree at once.",
    ),
    Recipe(
        _Round.by_alternation, 8, (5,), lambda run: not run.is_early,
        "Quick rounds come first; node fits are another kind of start.",
    ),
    Recipe(
        _Round.separated_on_grid, 2, (1,), lambda run: run.instance.gridded == 1.0 and run.may_separate,
        "If one hyperplane separates the labels, half of the rounds start from it.",
    ),
    Recipe(
        _Round.separated_on_grid, 6, (3, 5), lambda run: 0.5 <= run.instance.gridded < 1.0 and run.may_separate,
        "The same, for the odd ones of the rounds that stay on the grid.",
    ),
    Recipe(
        _Round.on_grid, 1, (0,), lambda run: run.instance.gridded == 1.0,
        "On the grid margins hold by construction, so no round has to create them.",
    ),
    Recipe(
        _Round.on_grid, 3, (0, 2), lambda run: 0.5 <= run.instance.gridded < 1.0,
        "Features off the grid are unusable there, so some rounds leave it.",
    ),
    Recipe(
        _Round.on_grid, 4, (2,), lambda run: 0.0 < run.instance.gridded < 0.5,
        "With few features on the grid it is rarely enough.",
    ),
    Recipe(
        _Round.by_peeling, 4, (0,), _always,
        "With many rows and continuous features, nothing else reaches a feasible tree as quickly.",
    ),
    Recipe(
        _Round.from_axis_splits, 4, (1,), _always,
        "Random splits of single features are diverse and cheap.",
    ),
    Recipe(
        _Round.by_continuation, 1, (0,), _always,
        "Labels, totals and margins one after the other succeed where all at once end in a poor valley.",
    ),
)  # fmt: skip
"""The kinds of rounds of annealing. A round follows the first one that has the turn."""

DESCENTS = (
    Recipe(
        _Round.descend_from_best, 5, (0, 2), _has_best,
        "In two of the three turns that the leader has: a descent changes all hyperplanes of the best tree at once.",
        from_best=True,
    ),
    Recipe(
        _Round.descend_anew, 1, (0,), _always,
        "New starts find other valleys.",
    ),
)  # fmt: skip
"""The kinds of turns of descents, in the same form."""


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
    if not deadline.allows(n * (n + 2 * p) / NODE_PROGRAM_DEFAULTS.entries_per_second):
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
