"""Ask a guide; then choose its price, and raise s so that its hyperplanes fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.fit.context import FitContext
from s2oct.fit.listening import ASKING_GUIDE
from s2oct.model.assignment import Assignment
from s2oct.model.guide import Guide
from s2oct.model.prepared import LARGEST_M, Prepared
from s2oct.model.problem import Problem
from s2oct.model.tree import ObliqueTree
from s2oct.search import Instance, alternating_start, nearby_gaps
from s2oct.stopping import Deadline

AUTO_PRICE = 1.0
"""Least price of a guide if the user gives no price, with the paper's s."""

MOST_ROOM = 10
"""How often s may be doubled."""

ROOM_SHARE = 0.3
"""Share of the remaining time for finding the guide's hyperplanes, which may need a larger s."""

GUIDE_SHARE = 0.25
"""Share of the time limit that a guide should use at most."""

GUIDE_PATIENCE = 0.8
"""Share of the time that is left for which a fit waits for its guide: the rest is for a tree without it."""


@dataclass(frozen=True, eq=False)
class Guidance:
    """The guide that is asked about the unlabeled rows, and the price of its charges.

    Attributes
    ----------
    ask : callable
        Takes the seconds that the guide should use and the deadline after which the fit goes on without it. Returns the
        probability of each class for each unlabeled row, or None if there is no answer by the deadline.
    price : float or None
        See `Guide`; with None the fit chooses it.
    """

    ask: Callable[[float, Deadline], FloatArray | None]
    price: float | None


def advised(prepared: Prepared, guidance: Guidance, context: FitContext) -> Prepared | None:
    """Ask the guide and put its answer into the problem; None if the fit has to end before it answers."""
    context.listener.stage(ASKING_GUIDE)
    clock = context.clock
    patience = GUIDE_PATIENCE * clock.seconds_left
    probabilities = None
    if not clock.is_over:
        probabilities = guidance.ask(min(GUIDE_SHARE * clock.limit, patience), clock.deadline(patience))
    if probabilities is None:
        if not clock.stopped():
            context.notices.append(
                f"The guide gave no answer within {patience:.3g} s of a time limit of {clock.limit:g} s: the tree was "
                "chosen without it."
            )
        return None
    price = AUTO_PRICE if guidance.price is None else guidance.price
    return prepared.guided_by(Guide.from_probabilities(probabilities, price))


def make_room(
    prepared: Prepared, instance: Instance, context: FitContext, *, may_raise_s: bool, auto_price: bool
) -> tuple[Prepared, ObliqueTree]:
    """Raise s, by a power of 2, if the rows are too dense for the guide's hyperplanes.

    Branch errors grow with s. A price that the fit chooses grows with them, so that the guide keeps its influence: an
    unlabeled row of which the guide is sure should cost as much as a labeled row that the tree gets wrong. Also
    returns the tree of these hyperplanes: on many rows the search may not find a better one in time.
    """
    s, rng = prepared.bounds.s, np.random.default_rng(context.budget.seed)
    deadline = context.clock.deadline(ROOM_SHARE * context.clock.seconds_left)
    omega, gamma = alternating_start(instance, rng, deadline)
    needed, offsets = nearby_gaps(instance, omega, gamma)
    factor = 1.0
    if may_raise_s and needed > s:
        most = min(np.floor(np.log2(LARGEST_M / prepared.bounds.M)), MOST_ROOM)
        factor = float(2.0 ** min(np.ceil(np.log2(needed / s)), most))
    tree = ObliqueTree.of(prepared.topology, factor * omega, factor * offsets)
    if auto_price:
        prepared = prepared.with_guide_price(max(AUTO_PRICE * factor, _price_of_a_wrong_row(prepared.problem, tree)))
    return prepared.with_coefficient_bound(s * factor), tree


def _price_of_a_wrong_row(problem: Problem, tree: ObliqueTree) -> float:
    """The mean cost of the labeled rows that a tree puts into another class; 0 without such rows."""
    errors = Assignment.of(problem, tree).label_errors
    # A row on its own side of all hyperplanes, but too close to one, costs less than 1.
    wrong = np.where(errors > 1, problem.labeled_multiplicity, 0.0)
    return float(wrong @ errors / wrong.sum()) if wrong.any() else 0.0
