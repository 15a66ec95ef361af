"""Rounds of search against the clock, each a pure function of the instance, a seed and its number."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from joblib import Parallel, delayed

from s2oct.race import Race
from s2oct.search.annealing import Schedule, State, anneal
from s2oct.search.instance import Instance
from s2oct.search.starts import axis_start, constant_start
from s2oct.tree import ObliqueTree

SHORTEST, LONGEST = 100, 20_000
"""Visits of the first round and of the longest ones; rounds double in length every third time."""

_CLOSE = 1e-9


def search(
    instance: Instance,
    race: Race,
    hand_in: Callable[[ObliqueTree], object],
    *,
    seed: int,
    n_jobs: int = 1,
    first_round: int = 0,
    seconds: float = float("inf"),
    max_rounds: int | None = None,
) -> int:
    """Run rounds until the race is over, the seconds are spent or enough rounds are run; returns the next number.

    Parameters
    ----------
    hand_in : callable
        Receives every tree found; it mends and checks them before they enter the race.
    n_jobs : int
        Rounds to run at a time through joblib, on whatever backend is configured.
    """
    until = time.monotonic() + min(seconds, race.seconds_left)
    number = first_round
    run_all = Parallel(n_jobs=n_jobs, prefer="threads")
    while not race.is_over and time.monotonic() < until:
        if max_rounds is not None and number - first_round >= max_rounds:
            break
        left = until - time.monotonic()
        if n_jobs == 1:
            batches = [run_round(instance, seed, number, left, race.best)]
        else:
            batches = run_all(delayed(run_round)(instance, seed, number + k, left, race.best) for k in range(n_jobs))
        for trees in batches:
            for tree in trees:
                hand_in(tree)
        number += len(batches)
    return number


def run_round(
    instance: Instance, seed: int, number: int, seconds: float, best: ObliqueTree | None = None
) -> list[ObliqueTree]:
    """One round: fit the labeled rows, then draw in the unlabeled ones and the totals, then mind the true cost.

    Every fourth round works on the best tree so far instead.
    """
    deadline = time.monotonic() + seconds
    rng = np.random.default_rng([seed, number])
    n_visits = min(int(SHORTEST * 2 ** (number / 3)), LONGEST)
    on_grid = _on_grid(instance, number)
    schedule = Schedule(n_visits, on_grid=on_grid)
    state = State.at(*(constant_start if on_grid else axis_start)(instance, rng))
    if number % 4 == 3 and best is not None:
        state = State.at(best.omega, best.gamma)
        schedule = replace(schedule, hot=0.5, on_grid=False)
    elif number % 2 == 0:
        anneal(instance.labeled_only(), state, schedule, int(rng.integers(2**31)), deadline)
        state = State.at(state.best_omega, state.best_gamma)
    anneal(instance, state, schedule, int(rng.integers(2**31)), deadline)
    found = [_best(instance, state)]
    if state.best_cost > instance.floor + _CLOSE:
        true_cost = replace(schedule, n_visits=max(n_visits // 4, 1), hot=0.3, cold=0.02, xi_weight=instance.C, cap=1e9)
        anneal(instance, state, true_cost, int(rng.integers(2**31)), deadline)
        found.append(_best(instance, state))
    return found


def _on_grid(instance: Instance, number: int) -> bool:
    """Keep to the grid where there is one: mostly if it has all features, every other time if some."""
    gridded = instance.quanta > 0
    return bool(gridded.any()) and (bool(gridded.all()) or number % 3 != 1)


def _best(instance: Instance, state: State) -> ObliqueTree:
    return ObliqueTree.of(instance.topology, state.best_omega.copy(), state.best_gamma.copy())
