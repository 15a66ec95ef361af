"""Whose turn it is: a round of annealing or descents; and from where, how and how often to descend."""

from __future__ import annotations

import numpy as np

from s2oct.search.alternating import alternating_start
from s2oct.search.annealing import State
from s2oct.search.descent import FALLS, Descent, Planes, may_descend, steps_within
from s2oct.search.instance import Instance
from s2oct.search.moving import MOST_NEAR
from s2oct.search.starts import axis_start
from s2oct.stopping import Deadline

MANY_ROWS, EARLY_ROUNDS = 1000, 5
"""Below this number of rows the first rounds are quick and often enough, so descents wait for them."""

TURNS = 8
"""Turns after which the pattern of rounds and descents repeats."""

ROUNDS_BEHIND = (0, 3)
"""Turns of rounds while a descent leads: one from a new start and one from the best tree."""

DESCENTS_BEHIND = (1, 5)
"""Turns of descents while a round leads."""

FROM_BEST = (2, 4, 6)
"""Turns of descents from the best tree; while a round leads, they are none of the descents' turns."""

DESCENT_STEPS, FITTED_STARTS = 1500, 0.7
"""Steps of every fall in the first descent; and how many descents begin at node fits, the others at random splits."""

NARROW, SHORT = (0.005, 0.02, 0.06), (0.3, 1.0)
"""First widths and steps of a descent from the best tree, which is to keep most of it."""

WIDTHS, STEPS, ROUNDED = (0.1, 0.3, 0.3), (0.3, 1.0, 1.0, 3.0), 0.5
"""First widths and steps of a descent, see `Descent`; and the share of rounded ones if all features are on a grid."""

STEP_WORK = 15
"""What a row at a node takes in a step of a descent besides its features, in features."""

VISIT_WORK = 1150
"""What all annealings of a round take for a visit and a row, in features of a row at a node of a descent."""

MOST_DESCENTS = 10
"""Most descents in one turn."""


def descends(instance: Instance, number: int, *, descents_lead: bool) -> bool:
    """Whether a turn is one of descents. Who found the best tree so far has most turns, the other one a quarter.

    The second turn of many rows and the sixth of few is the first one of descents; the next belongs to them as well.
    """
    if not may_descend(instance):
        return False
    first = 1 if instance.n_rows >= MANY_ROWS else EARLY_ROUNDS
    if number < first:
        return False
    if number <= first + 1:
        return True
    return number % TURNS not in ROUNDS_BEHIND if descents_lead else number % TURNS in DESCENTS_BEHIND


def n_descents(instance: Instance, number: int, n_visits: int) -> int:
    """How many descents take as long as a round of so many visits; at least one."""
    n_near = min(instance.n_rows, instance.n_labeled + MOST_NEAR)
    cells = n_near * instance.topology.n_branches * (instance.n_features + STEP_WORK)
    work = FALLS * _n_steps(instance, number) * cells
    return int(np.clip(VISIT_WORK * n_visits * instance.n_rows / work, 1, MOST_DESCENTS))


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


def drawn_start(instance: Instance, rng: np.random.Generator, deadline: Deadline) -> Planes:
    """A new start of a descent: node fits or random splits."""
    if rng.random() < FITTED_STARTS:
        return alternating_start(instance, rng, deadline)
    start = State.at(*axis_start(instance, rng))
    start.lengthen(instance.s)
    return start.omega, start.gamma


def _n_steps(instance: Instance, number: int) -> int:
    """Steps of a fall: more in later turns."""
    return steps_within(instance, DESCENT_STEPS * 2 ** min(number / 16, 3))
