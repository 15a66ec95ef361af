"""One fit of P2 on its way: as the paper has it, guided, or with a guide that breaks ties."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.certificate import Certificate, certify
from s2oct.errors import InvalidProblem
from s2oct.fit.incumbent import Race
from s2oct.fit.portfolio import Contender, compete, solve_small, warn_interrupted
from s2oct.milp.encode import decode_tree, encode_tree
from s2oct.milp.lean import build_lean
from s2oct.milp.p2 import guide_constant
from s2oct.milp.size import p2_size
from s2oct.model.bounds import Bounds, compute_bounds, lower_bound
from s2oct.model.feasibility import feasible_cost, feasible_score, mend
from s2oct.model.objective import least_leaf_errors, score
from s2oct.model.problem import Guide, Problem
from s2oct.model.proof import DECIDED_TOLERANCE, NOT_NEGATIVE, Bound
from s2oct.model.scaling import Scaling
from s2oct.model.topology import Topology
from s2oct.model.tree import ObliqueTree
from s2oct.search import Instance, Neighbourhoods, alternating_start, nearby_gaps, polish, run_round, search
from s2oct.solvers import Solver

TINY = 1e-3
"""Rows that differ by less than this in all are enlarged for the solvers' sake."""

LARGEST_M = 1e10
"""Beyond this M a double cannot tell a distance of 1 from one of 1 - 1e-6."""

PATIENCE, WORTH = 6, 0.25
"""Rounds of guided search without a better tree after which it ends; and by how much of what the guide charges for a
row of which it is sure a tree must be better to count."""

AUTO_WEIGHT = 1.0
"""Least weight of a guide where none is given, with the paper's s."""

MOST_ROOM = 10
"""How often s may be doubled."""

ROOM_SHARE = 0.3
"""Share of the time that is left for the search for hyperplanes that may need room."""

GUIDE_SHARE = 0.25
"""Share of the time limit that a guide is asked to keep to."""

LAST_SHARE = 0.05
"""Share of the time limit at its end in which a guide that only breaks ties is not asked any more."""

TIE_PRICE = 0.05
"""What the guide's charges weigh while it chooses: little against a labeled row's error or a row off the total."""

POOL, POOL_ROUNDS, LEAST_POOL = 20, 100, 5
"""Trees of equal cost to look for, in at most how many rounds, and how few say nothing."""

POOL_SECONDS = 0.05, 2.0
"""Time for the pool where the fit took less, without and with a guide; else as long as the fit."""


@dataclass(frozen=True)
class Settings:
    """How to fit, whatever the model."""

    depth: int | None
    solver: str | None
    time_limit: float
    n_jobs: int
    seed: int
    verbose: int


@dataclass(frozen=True, eq=False)
class Trained:
    """A tree in the user's units and what is proved of it.

    ``stability`` has for every unlabeled row the share of trees no dearer than this one that agree with it on the
    row's class; NaN where too few such trees were found.
    """

    tree: ObliqueTree
    certificate: Certificate
    stability: FloatArray
    scaling: Scaling


@dataclass(frozen=True, eq=False)
class Guidance:
    """Whom to ask about the unlabeled rows, and how much the answer counts.

    Attributes
    ----------
    ask : callable
        From the seconds it should keep to, to the probability of each class for each unlabeled row.
    weight : float or None
        See `Guide`; None leaves it to the fit.
    """

    ask: Callable[[float], FloatArray]
    weight: float | None


@dataclass(eq=False)
class Fit:
    """One fit on its way: the user's problem, and in ``bounds`` the same scaled and with equal rows merged."""

    problem: Problem
    settings: Settings
    solver: Solver | None
    race: Race
    topology: Topology
    scaling: Scaling
    bounds: Bounds
    _laid_out: tuple[Bounds, Instance] | None = None
    _neighbourhoods: Neighbourhoods | None = None

    def without_guide(self) -> Trained:
        """The paper's P2 and nothing else."""
        self.open()
        finished = compete(self.race, self.explore, self.contender())
        return self.finish(self.race.winner, self.race.bound, finished)

    def guided(self, guidance: Guidance, *, may_raise_s: bool) -> Trained:
        """P2 plus the guide's charges; nothing proves that optimal as a rule, so the search says when it is done."""
        try:
            self.take_advice(guidance)
            first = self.make_room(may_raise_s=may_raise_s, auto_weight=guidance.weight is None)
        except KeyboardInterrupt:
            return self.interrupted()
        opening = self.open()
        self.race.offer(mend(self.bounds.problem, first, self.bounds))
        finished = compete(self.race, self.explore, self.contender(), converging=True)
        return self.finish(self.race.winner, opening, finished)

    def breaking_ties(self, guidance: Guidance) -> Trained:
        """P2 as without a guide, which then chooses between trees that cost no more than the best.

        It is asked where P2 was decided before the time limit. Elsewhere the search for cheaper trees goes on to the
        end: an undecided P2 has no ties yet.
        """
        self.open()
        race = self.race
        finished = compete(race, self.explore, self.contender())
        if not finished or not race.is_decided or race.seconds_left < LAST_SHARE * self.settings.time_limit:
            return self.finish(race.winner, race.bound, finished)
        # What this race calls a cost is the guide's charge: nothing to tell whoever watches the fit.
        ties = Race(self.settings.time_limit, began=race.began, watcher=None)

        def charge(tree: ObliqueTree) -> float | None:
            found = feasible_score(self.bounds.problem, tree, self.bounds)
            return None if found is None or found.objective > race.best_cost + DECIDED_TOLERANCE else found.guide_cost

        def hand_in(tree: ObliqueTree) -> bool:
            return ties.offer(mend(self.bounds.problem, tree, self.bounds))

        ties.open(charge, NOT_NEGATIVE)
        try:
            self.take_advice(guidance)
            ties.offer(race.winner)
            instance, guide = self.instance(), self.bounds.problem.guide
            if guide is not None:
                instance = instance.guided(TIE_PRICE * guide.costs)
            self.search(instance, ties, hand_in, patience=PATIENCE, worth=WORTH)
        except KeyboardInterrupt:
            warn_interrupted(race)
            finished = False
        return self.finish(ties.winner if ties.best is not None else race.winner, race.bound, finished)

    def take_advice(self, guidance: Guidance) -> None:
        """Ask the guide, and put what it says into the problem."""
        probabilities = guidance.ask(min(GUIDE_SHARE * self.settings.time_limit, self.race.seconds_left))
        guide = Guide.from_probabilities(probabilities, AUTO_WEIGHT if guidance.weight is None else guidance.weight)
        self.problem = replace(self.problem, guide=guide)
        merged = self.scaling.scale_problem(self.problem).merged()
        self.bounds = replace(self.bounds, problem=merged)

    def make_room(self, *, may_raise_s: bool, auto_weight: bool) -> ObliqueTree:
        """Raise s, by a power of 2, where the rows are too dense for the hyperplanes that the guide would have.

        Branch errors grow with s; a weight that is left to the fit grows with it, so that the guide keeps its say. An
        unlabeled row of which the guide is sure is to count as much as a labeled one that the tree gets wrong.
        Returns the tree for which there is room now, if s could be raised: on many rows the search may not come by a
        better one in time.
        """
        instance, bounds = self.instance(), self.bounds
        deadline = time.monotonic() + ROOM_SHARE * self.race.seconds_left
        omega, gamma = alternating_start(instance, np.random.default_rng(self.settings.seed), deadline)
        needed, offsets = nearby_gaps(instance, omega, gamma)
        factor = 1.0
        if may_raise_s and needed > bounds.s:
            most = min(np.floor(np.log2(LARGEST_M / bounds.M)), MOST_ROOM)
            factor = float(2.0 ** min(np.ceil(np.log2(needed / bounds.s)), most))
        tree = ObliqueTree.of(self.topology, factor * omega, factor * offsets)
        problem = bounds.problem
        if auto_weight:
            weight = max(AUTO_WEIGHT * factor, _price_of_a_wrong_row(problem, tree))
            self.problem = self.problem.with_guide_weight(weight)
            problem = problem.with_guide_weight(weight)
        self.bounds = replace(bounds, problem=problem, s=bounds.s * factor)
        return tree

    def open(self) -> Bound:
        """Open the race with the two trees that need no search; returns the bound of P2 that needs no solver."""
        opening = Bound(lower_bound(self.bounds.problem), "a bound that needs no solver")
        self.race.open(lambda tree: feasible_cost(self.bounds.problem, tree, self.bounds), opening)
        for right in (False, True):
            self.race.offer(ObliqueTree.constant(self.topology, self.problem.n_features, right=right))
        return opening

    def instance(self) -> Instance:
        """The problem as the search wants it, laid out once."""
        if self._laid_out is None or self._laid_out[0] is not self.bounds:
            floor = self.race.bound.value
            self._laid_out = self.bounds, Instance.of(self.bounds.problem, self.topology, self.bounds, floor)
        return self._laid_out[1]

    def explore(self, first_round: int, seconds: float) -> int:
        """Search for what the race is about; with a guide, until nothing better turns up."""
        guide = self.bounds.problem.guide
        return self.search(
            self.instance(),
            self.race,
            lambda tree: self.race.offer(mend(self.bounds.problem, tree, self.bounds)),
            # A search that converges is to give the same tree every time: nothing in it may end by the clock.
            neighbourhoods=self.neighbourhoods() if guide is None else None,
            first_round=first_round,
            seconds=seconds,
            patience=None if guide is None else PATIENCE,
            worth=0.0 if guide is None else WORTH * guide.weight,
        )

    def neighbourhoods(self) -> Neighbourhoods:
        """The walk around the best tree, which goes on where the last search left it."""
        if self._neighbourhoods is None:
            self._neighbourhoods = Neighbourhoods(self.instance(), partial(solve_small, self.race))
        return self._neighbourhoods

    def search(self, instance: Instance, race: Race, hand_in: Callable[[ObliqueTree], bool], **options: Any) -> int:
        """Rounds of search; every tree that leads is refitted."""
        return search(
            instance,
            race,
            hand_in,
            lambda tree, until: polish(self.bounds.problem, tree, self.bounds, until),
            seed=self.settings.seed,
            n_jobs=self.settings.n_jobs,
            **options,
        )

    def contender(self) -> Contender | None:
        """The solver and its model, if one is wanted."""
        if self.solver is None:
            return None
        merged = self.bounds.problem
        return Contender(
            self.solver,
            threads=self.settings.n_jobs,
            seed=self.settings.seed,
            size=p2_size(merged.n_labeled, merged.n_unlabeled, merged.n_features, self.topology.depth),
            build=lambda: build_lean(merged, self.topology, self.bounds),
            encode=lambda milp, tree: encode_tree(milp, merged, tree),
            decode=lambda milp, x: mend(merged, decode_tree(milp, x, self.topology), self.bounds),
            attainable=lambda bound: bound + guide_constant(merged),
        )

    def interrupted(self) -> Trained:
        """What there is when Ctrl-C comes before the guide has answered."""
        if self.race.best is None:
            self.open()
        warn_interrupted(self.race)
        return self.finish(self.race.winner, self.race.bound, finished=False)

    def finish(self, winner: ObliqueTree, p2_bound: Bound, finished: bool) -> Trained:
        """Certify the winner, and where there is time, look for others to compare it with."""
        seconds = self.race.elapsed
        others = self.equally_good(winner) if finished else []
        return certified(
            self.race, self.problem, self.scaling, self.bounds, winner, others, p2_bound=p2_bound, seconds=seconds
        )

    def equally_good(self, tree: ObliqueTree) -> list[ObliqueTree]:
        """Trees that cost no more than this one in P2, each from a start of its own and without the guide."""
        merged, race, seed = self.bounds.problem, self.race, self.settings.seed + 1
        cost = score(merged, tree).objective + DECIDED_TOLERANCE
        instance = Instance.of(replace(merged, guide=None), self.topology, self.bounds, cost)
        allowed = max(race.elapsed, POOL_SECONDS[merged.guide is not None])
        until = race.began + min(self.settings.time_limit, race.elapsed + allowed)
        found: list[ObliqueTree] = []
        try:
            for number in range(POOL_ROUNDS):
                left = until - time.monotonic()
                if left <= 0 or len(found) >= POOL:
                    break
                for candidate in reversed(run_round(instance, seed, number, left)):
                    mended = mend(merged, candidate, self.bounds)
                    worth = feasible_score(merged, mended, self.bounds)
                    if worth is not None and worth.objective <= cost:
                        found.append(mended)
                        break
        except KeyboardInterrupt:
            warn_interrupted(race)
        return found


def _price_of_a_wrong_row(problem: Problem, tree: ObliqueTree) -> float:
    """What a labeled row that a tree puts into another class costs on average; 0 if there is none."""
    errors = least_leaf_errors(problem, tree)
    # A row on its own side of all hyperplanes, but too close to one, costs less than 1.
    weights = np.where(errors > 1, problem.labeled_weights, 0.0)
    return float(weights @ errors / weights.sum()) if weights.any() else 0.0


def prepare(problem: Problem, depth: int, weight_bound: float | None, scale: bool) -> tuple[Scaling, Bounds]:
    """The scaling to model units, and the constants of P2 there, for the problem with its equal rows merged.

    Solvers drop entries below 1e-9. Multiplying tiny features by a power of 2 and dividing s by it gives the same P2
    in numbers they keep.
    """
    scaling = Scaling.paper(problem.X) if scale else Scaling.identity(problem.n_features)
    bounds = compute_bounds(scaling.scale_problem(problem).merged(), depth, weight_bound)
    if bounds.M > LARGEST_M:
        raise InvalidProblem(
            f"Expected features and a weight bound of moderate size, got ones that make M = {bounds.M:.3g}, beyond "
            f"{LARGEST_M:.0g}, where a distance of 1 is lost in rounding. Use scaling='paper' or a smaller bound."
        )
    if 0 < bounds.eta < TINY:
        factor = 2.0 ** -math.floor(math.log2(bounds.eta))
        scaling = scaling.times(factor)
        bounds = compute_bounds(scaling.scale_problem(problem).merged(), depth, bounds.s / factor)
    return scaling, bounds


def certified(
    race: Race,
    problem: Problem,
    scaling: Scaling,
    bounds: Bounds,
    winner: ObliqueTree,
    others: list[ObliqueTree],
    p2_bound: Bound,
    seconds: float,
) -> Trained:
    """The winner in the user's units, certified on the user's rows."""
    tree = scaling.to_user(winner)
    certificate = certify(
        problem,
        tree,
        bounds,
        p2_bound,
        seconds=seconds,
        history=tuple(race.history),
        scale=scaling.scale,
        guided_bound=race.bound.value if problem.guide is not None and problem.guide.weight > 0 else None,
    )
    stability = np.full(problem.n_unlabeled, np.nan)
    if len(others) >= LEAST_POOL:
        chosen = tree.predict(problem.X_unlabeled)
        stability = np.mean([scaling.to_user(other).predict(problem.X_unlabeled) == chosen for other in others], axis=0)
    return Trained(tree, certificate, stability, scaling)
