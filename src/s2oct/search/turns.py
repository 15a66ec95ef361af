"""Which method has the next turn, a round of annealing or descents; and from where, how and how often to descend."""

from __future__ import annotations

import numpy as np

from s2oct.search.alternating import alternating_start
from s2oct.search.annealing import State
from s2oct.search.descent import FALLS, Descent, Hyperplanes, may_descend, step_work, steps_within
from s2oct.search.instance import Instance
from s2oct.search.starts import axis_start
from s2oct.stopping import Deadline

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
