import threading

import numpy as np
import pytest

from s2oct.fit.context import Incumbent, Listeners
from s2oct.p2.proof import CONVERGED, INTERRUPTED, NOT_NEGATIVE, PROVED, TIME_LIMIT, Bound, Moment
from s2oct.stopping import Clock, now
from s2oct.trees.tree import ObliqueTree, Topology
from tests.messages import naming


def tree_of_cost(cost: float) -> ObliqueTree:
    """A tree that `assess` prices at its offset; a negative one is not feasible."""
    return ObliqueTree.of(Topology(1), np.zeros((1, 1)), np.array([cost]))


def assess(tree: ObliqueTree) -> tuple[ObliqueTree, float] | None:
    cost = float(tree.gamma[0])
    return (tree, cost) if cost >= 0 else None


class Notes:
    """A listener that writes down what it hears."""

    def __init__(self) -> None:
        self.stages: list[str] = []
        self.moments: list[Moment] = []

    def stage(self, name: str) -> None:
        self.stages.append(name)

    def progress(self, moment: Moment) -> None:
        self.moments.append(moment)


@pytest.fixture
def incumbent():
    return Incumbent(Clock(60.0), assess, Bound(0.0, "the start"))


def test_only_cheaper_trees_win(incumbent):
    first, second = tree_of_cost(5.0), tree_of_cost(3.0)
    assert incumbent.offer(first)
    assert incumbent.offer(second)
    assert not incumbent.offer(tree_of_cost(3.0))
    assert not incumbent.offer(tree_of_cost(4.0))
    assert incumbent.best is second
    assert incumbent.winner is second
    assert incumbent.best_cost == 3.0


def test_a_tree_that_is_not_feasible_never_wins(incumbent):
    assert not incumbent.offer(tree_of_cost(-1.0))
    assert incumbent.best is None
    assert incumbent.history == []


def test_the_tree_that_is_kept_is_the_one_that_was_assessed():
    """Assessing mends a tree: its cost is that of the mended tree, and so the mended tree must be kept."""
    mended = tree_of_cost(2.0)
    incumbent = Incumbent(Clock(60.0), lambda tree: (mended, 2.0))
    assert incumbent.offer(tree_of_cost(7.0))
    assert incumbent.winner is mended
    assert incumbent.best_cost == 2.0


def test_a_bound_that_meets_the_best_cost_decides(incumbent):
    incumbent.offer(tree_of_cost(3.0))
    assert not incumbent.is_over
    incumbent.raise_bound(2.0, "a solver")
    assert not incumbent.is_decided
    incumbent.raise_bound(3.0, "a solver")
    assert incumbent.is_decided
    assert incumbent.is_over
    assert incumbent.bound == Bound(3.0, "a solver")


def test_a_bound_never_falls(incumbent):
    incumbent.offer(tree_of_cost(3.0))
    incumbent.raise_bound(2.0, "a solver")
    incumbent.raise_bound(1.0, "another solver")
    assert incumbent.bound == Bound(2.0, "a solver")


@pytest.mark.parametrize("value", [3.1, 1e30, float("inf"), float("nan")])
def test_a_bound_above_a_checked_trees_cost_is_ignored(incumbent, value):
    """The tree was evaluated here, so it is the bound that is false."""
    incumbent.offer(tree_of_cost(3.0))
    incumbent.raise_bound(value, "a solver with tolerances")
    assert incumbent.bound == Bound(0.0, "the start")
    assert not incumbent.is_decided


def test_a_bound_above_the_cost_by_rounding_is_taken_as_the_cost(incumbent):
    incumbent.offer(tree_of_cost(3.0))
    incumbent.raise_bound(3.0 + 5e-7, "a solver")
    assert incumbent.bound.value == 3.0


def test_a_bound_that_a_cheaper_tree_refutes_is_withdrawn(incumbent):
    """A checked tree of cost 3 shows that the bound 5 was false: it proves nothing about any tree."""
    incumbent.offer(tree_of_cost(10.0))
    incumbent.raise_bound(5.0, "a solver with tolerances")
    incumbent.offer(tree_of_cost(3.0))
    assert incumbent.bound == Bound(0.0, "the start")
    assert not incumbent.is_decided


def test_who_reported_a_false_bound_is_not_believed_again(incumbent):
    incumbent.offer(tree_of_cost(10.0))
    incumbent.raise_bound(5.0, "a solver with tolerances")
    incumbent.offer(tree_of_cost(3.0))
    incumbent.raise_bound(3.0, "a solver with tolerances")
    assert not incumbent.is_decided
    incumbent.raise_bound(3.0, "an exact solver")
    assert incumbent.is_decided


def test_an_incumbent_without_a_feasible_tree_has_no_winner(incumbent):
    assert not incumbent.offer(tree_of_cost(-1.0))
    with pytest.raises(RuntimeError, match=naming("tree")):
        _ = incumbent.winner


def test_without_another_bound_costs_are_at_least_0():
    assert Incumbent(Clock(60.0), assess).bound == NOT_NEGATIVE


def test_the_history_has_every_improvement_in_order(incumbent):
    incumbent.offer(tree_of_cost(3.0))
    incumbent.raise_bound(1.0, "a solver")
    incumbent.offer(tree_of_cost(4.0))
    incumbent.offer(tree_of_cost(2.0))
    assert [(now.objective, now.lower_bound) for now in incumbent.history] == [(3.0, 0.0), (3.0, 1.0), (2.0, 1.0)]
    assert sorted(now.seconds for now in incumbent.history) == [now.seconds for now in incumbent.history]


def test_the_clock_ends_the_work():
    incumbent = Incumbent(Clock(60.0, began=now() - 61), assess)
    assert incumbent.clock.seconds_left == 0.0
    assert incumbent.is_over
    assert not incumbent.is_decided


@pytest.mark.parametrize("from_inside", [True, False], ids=["interrupt", "request"])
def test_a_request_to_stop_ends_the_work(from_inside):
    wish = threading.Event()
    incumbent = Incumbent(Clock(60.0, wish.is_set), assess)
    assert not incumbent.is_over
    if from_inside:
        incumbent.clock.interrupt()
    else:
        wish.set()
    assert incumbent.is_over
    assert not incumbent.is_decided


def test_the_ending_names_the_first_reason_that_holds():
    """A proof counts however late it came, and a request to stop more than the clock."""
    began = now()
    for limit, stopped, proved, ending in (
        (60.0, False, False, CONVERGED),
        (60.0, False, True, PROVED),
        (60.0, True, False, INTERRUPTED),
        (60.0, True, True, PROVED),
        (-1.0, False, False, TIME_LIMIT),
        (-1.0, True, False, INTERRUPTED),
        (-1.0, False, True, PROVED),
    ):
        incumbent = Incumbent(Clock(limit, lambda wish=stopped: wish, began), assess)
        incumbent.offer(tree_of_cost(0.0 if proved else 1.0))
        assert incumbent.is_over == (ending != CONVERGED)  # a search that looks at it ends
        assert incumbent.ending == ending


def test_a_listener_hears_every_improvement_of_its_own_incumbent_and_no_other():
    notes, others = Notes(), Notes()
    heard = Incumbent(Clock(60.0), assess, Bound(0.0, "the start"), notes)
    unheard = Incumbent(Clock(60.0), assess, Bound(0.0, "the start"))
    other = Incumbent(Clock(60.0), assess, Bound(0.0, "the start"), others)
    for one in (heard, unheard, other):
        one.offer(tree_of_cost(5.0))
        one.offer(tree_of_cost(6.0))
        one.raise_bound(2.0, "a solver")
    assert notes.moments == heard.history
    assert others.moments == other.history
    assert [(moment.objective, moment.lower_bound) for moment in notes.moments] == [(5.0, 0.0), (5.0, 2.0)]
    assert notes.stages == []


def test_several_listeners_hear_the_same():
    first, second = Notes(), Notes()
    listeners = Listeners((first, second))
    listeners.stage("searching")
    incumbent = Incumbent(Clock(60.0), assess, listener=listeners)
    incumbent.offer(tree_of_cost(5.0))
    assert first.stages == second.stages == ["searching"]
    assert first.moments == second.moments == incumbent.history


def test_trees_from_several_threads_leave_the_cheapest_and_a_falling_history(incumbent):
    costs = np.random.default_rng(0).permutation(400).astype(float) + 1
    threads = [
        threading.Thread(target=lambda part=part: [incumbent.offer(tree_of_cost(cost)) for cost in part])
        for part in costs.reshape(4, 100)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert incumbent.best_cost == 1.0
    found = [now.objective for now in incumbent.history]
    assert found == sorted(set(found), reverse=True)
