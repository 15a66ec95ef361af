import time

import numpy as np
import pytest

from s2oct.fit.incumbent import Race, watched_by
from s2oct.model.proof import Bound
from s2oct.model.topology import Topology
from s2oct.model.tree import ObliqueTree


def tree_of_cost(cost: float) -> ObliqueTree:
    """A tree that `race` below prices at its offset; a negative one is not feasible."""
    return ObliqueTree.of(Topology(1), np.zeros((1, 1)), np.array([cost]))


@pytest.fixture
def race():
    def price(tree: ObliqueTree) -> float | None:
        cost = float(tree.gamma[0])
        return cost if cost >= 0 else None

    opened = Race(seconds=60.0)
    opened.open(price, Bound(0.0, "the start"))
    return opened


def test_only_cheaper_trees_win(race):
    first, second = tree_of_cost(5.0), tree_of_cost(3.0)
    assert race.offer(first)
    assert race.offer(second)
    assert not race.offer(tree_of_cost(3.0))
    assert not race.offer(tree_of_cost(4.0))
    assert race.best is second
    assert race.best_cost == 3.0


def test_a_tree_that_is_not_feasible_never_wins(race):
    assert not race.offer(tree_of_cost(-1.0))
    assert race.best is None


def test_a_bound_that_meets_the_best_cost_decides_the_race(race):
    race.offer(tree_of_cost(3.0))
    assert not race.is_over
    race.raise_bound(2.0, "a solver")
    assert not race.is_decided
    race.raise_bound(3.0, "a solver")
    assert race.is_decided
    assert race.is_over
    assert race.bound == Bound(3.0, "a solver")


def test_a_bound_never_falls(race):
    race.offer(tree_of_cost(3.0))
    race.raise_bound(2.0, "a solver")
    race.raise_bound(1.0, "another solver")
    assert race.bound == Bound(2.0, "a solver")


@pytest.mark.parametrize("value", [3.1, 1e30, float("inf"), float("nan")])
def test_a_bound_above_a_checked_trees_cost_is_ignored(race, value):
    """The tree was evaluated here, so it is the bound that is false."""
    race.offer(tree_of_cost(3.0))
    race.raise_bound(value, "a solver with tolerances")
    assert race.bound == Bound(0.0, "the start")
    assert not race.is_decided


def test_a_bound_above_the_cost_by_rounding_is_taken_as_the_cost(race):
    race.offer(tree_of_cost(3.0))
    race.raise_bound(3.0 + 5e-7, "a solver")
    assert race.bound.value == 3.0


def test_a_bound_that_a_cheaper_tree_refutes_is_withdrawn(race):
    """A checked tree of cost 3 shows that the bound 5 was false: it proves nothing about any tree."""
    race.offer(tree_of_cost(10.0))
    race.raise_bound(5.0, "a solver with tolerances")
    race.offer(tree_of_cost(3.0))
    assert race.bound == Bound(0.0, "the start")
    assert not race.is_decided


def test_who_reported_a_false_bound_is_not_believed_again(race):
    race.offer(tree_of_cost(10.0))
    race.raise_bound(5.0, "a solver with tolerances")
    race.offer(tree_of_cost(3.0))
    race.raise_bound(3.0, "a solver with tolerances")
    assert not race.is_decided
    race.raise_bound(3.0, "an exact solver")
    assert race.is_decided


def test_a_race_that_is_not_open_admits_no_tree():
    race = Race(seconds=60.0)
    assert not race.offer(tree_of_cost(1.0))
    with pytest.raises(RuntimeError, match="no feasible tree"):
        _ = race.winner


def test_the_history_tells_every_improvement_in_order(race):
    race.offer(tree_of_cost(3.0))
    race.raise_bound(1.0, "a solver")
    race.offer(tree_of_cost(4.0))
    race.offer(tree_of_cost(2.0))
    assert [(now.objective, now.lower_bound) for now in race.history] == [(3.0, 0.0), (3.0, 1.0), (2.0, 1.0)]
    assert sorted(now.seconds for now in race.history) == [now.seconds for now in race.history]


def test_the_clock_ends_the_race(race):
    race.began = time.monotonic() - 61
    assert race.seconds_left == 0.0
    assert race.is_over
    assert not race.is_decided


def test_a_verbose_race_prints_its_progress(race, capsys):
    race.verbose = 1
    race.offer(tree_of_cost(3.0))
    assert "cost 3" in capsys.readouterr().err


def test_whoever_watches_is_told_every_improvement_of_the_races_in_the_block():
    told = []
    with watched_by(told.append):
        watched = Race(seconds=60.0)
        unwatched = Race(seconds=60.0, watcher=None)
    later = Race(seconds=60.0)
    for one in (watched, unwatched, later):
        one.open(lambda tree: float(tree.gamma[0]), Bound(0.0, "the start"))
        one.offer(tree_of_cost(5.0))
        one.raise_bound(2.0, "a solver")
    assert told == watched.history
    assert [(moment.objective, moment.lower_bound) for moment in told] == [(5.0, 0.0), (5.0, 2.0)]
