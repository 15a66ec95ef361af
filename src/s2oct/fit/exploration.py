"""Rounds of search until a deadline. Every tree that becomes the best is refitted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from joblib import Parallel, delayed

from s2oct.fit.incumbent import Incumbent
from s2oct.model.tree import ObliqueTree
from s2oct.search import Instance, Neighbourhoods, descends, run_round
from s2oct.stopping import Deadline

IMPROVEMENT_SHARE = 0.05
"""Share of the time limit (and at least a second) that refitting one leading tree may take."""

LATE_SHARE, NEIGHBOURHOOD_LIMIT = 0.1, 0.02
"""The last share of the time limit, in which neighbourhoods are searched; and the share (or a second) for each of them.

They are not searched earlier, because then they took time from the rounds and gained less than the rounds did.
"""

WORTH_SHARE = 0.01
"""A search that ends by itself goes on only if a tree is cheaper by at least this share."""


@dataclass(eq=False)
class Exploration:
    """A search for trees that beat the incumbent.

    Parameters
    ----------
    instance : Instance
        The problem as the search sees it.
    incumbent : Incumbent
        Receives every tree found.
    improve : callable
        Refits a leading tree that is not yet proved optimal, until a deadline.
    seed : int
        Seed of all rounds.
    n_jobs : int
        Rounds to run at a time through joblib, on the configured backend.
    neighbourhoods : Neighbourhoods, optional
        Searched between rounds shortly before the time limit.
    patience : int, optional
        Rounds without a better tree after which to stop.
    worth : float
        By how much a tree must be cheaper to count as better for `patience`; at least by `WORTH_SHARE` of its cost.
    """

    instance: Instance
    incumbent: Incumbent
    improve: Callable[[ObliqueTree, Deadline], ObliqueTree]
    seed: int
    n_jobs: int = 1
    neighbourhoods: Neighbourhoods | None = None
    patience: int | None = None
    worth: float = 0.0
    descents_lead: bool = field(default=False, init=False)
    """Whether the last round that found a better tree was one of descents: then most turns are theirs."""

    def run(self, first_round: int = 0, seconds: float = float("inf"), max_rounds: int | None = None) -> int:
        """Run rounds until nothing is left to do, the seconds are spent or enough rounds are run.

        Returns the number of the next round.
        """
        incumbent, until = self.incumbent, self.incumbent.clock.deadline(seconds)
        number = led = first_round
        to_beat = incumbent.best_cost
        while True:
            # The clock comes last: a search that is done was not cut.
            if max_rounds is not None and number - first_round >= max_rounds:
                break
            if self.patience is not None and number - led >= self.patience:
                break
            if incumbent.is_over or until.passed or not self._deadline(until).allows(self.instance.step_seconds):
                break
            numbers = range(number, number + self.n_jobs)
            turns = [descends(self.instance, k, descents_lead=self.descents_lead) for k in numbers]
            for by_descents, trees in zip(turns, self._rounds(number, turns, until), strict=True):
                for tree in trees:
                    if self._enter(tree, until):
                        self.descents_lead = by_descents
            number += len(turns)
            self._search_neighbourhoods(until)
            if incumbent.best_cost < to_beat - max(self.worth, WORTH_SHARE * incumbent.best_cost):
                led, to_beat = number, incumbent.best_cost
        return number

    def _rounds(self, number: int, turns: list[bool], until: Deadline) -> list[list[ObliqueTree]]:
        """The trees of one round for each turn."""
        deadline, best = self._deadline(until), self.incumbent.best
        if self.n_jobs == 1:
            return [run_round(self.instance, self.seed, number, deadline, best, by_descents=turns[0])]
        run_all = Parallel(n_jobs=self.n_jobs, prefer="threads")
        found: list[list[ObliqueTree]] = run_all(
            delayed(run_round)(self.instance, self.seed, number + k, deadline, best, by_descents=by_descents)
            for k, by_descents in enumerate(turns)
        )
        # Rounds in other processes cannot tell this one that they were cut.
        deadline.sooner(self.instance.step_seconds).allows(0.0)
        return found

    def _deadline(self, until: Deadline) -> Deadline:
        """When a round ends: in time for the neighbourhoods, unless nothing would end by then."""
        clock = self.incumbent.clock
        if self.neighbourhoods is None or self._is_late:
            return until
        early = until.within(clock.seconds_left - LATE_SHARE * clock.limit)
        return early if early.seconds_left >= self.instance.step_seconds else until

    @property
    def _is_late(self) -> bool:
        return self.incumbent.clock.seconds_left <= LATE_SHARE * self.incumbent.clock.limit

    def _enter(self, tree: ObliqueTree, until: Deadline) -> bool:
        """Offer a tree, and refit it while that makes a better one. Returns whether it was the best."""
        leads = False
        while self.incumbent.offer(tree):
            leads = True
            if self.incumbent.is_over:
                break
            # A linear program with many features can take longer than all rounds together.
            allowed = max(1.0, IMPROVEMENT_SHARE * self.incumbent.clock.limit)
            tree = self.improve(tree, until.within(allowed))
        return leads

    def _search_neighbourhoods(self, until: Deadline) -> None:
        """Search around the best tree, late in the fit, until nothing around it is left."""
        while self.neighbourhoods is not None and self.incumbent.best is not None and not self.incumbent.is_over:
            best = self.incumbent.best
            if until.passed or not self._is_late or self.neighbourhoods.visited(best):
                return
            allowed = max(1.0, NEIGHBOURHOOD_LIMIT * self.incumbent.clock.limit)
            found = self.neighbourhoods.step(best, until.within(allowed))
            if found is not None:
                self._enter(found, until)
