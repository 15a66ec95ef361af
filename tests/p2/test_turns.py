"""Turns of rounds and descents: who has how many, and that the search follows who leads."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from s2oct.fit.context import Incumbent
from s2oct.fit.portfolio import Exploration
from s2oct.fit.training import price_tree
from s2oct.p2.instance import Instance
from s2oct.p2.node_programs import polish
from s2oct.p2.proof import Bound
from s2oct.p2.rounds import descends, drawn_descent, n_descents, round_length, run_round
from s2oct.problem.problem import Problem
from s2oct.stopping import Clock, Deadline
from tests.preparing import cost_of, prepared_as_is


def clouds(n_rows: int = 300, p: int = 5, apart: float = 0.9) -> Problem:
    """Two overlapping clouds, a tenth of the rows labeled."""
    rng = np.random.default_rng(1)
    truth = rng.integers(2, size=n_rows)
    y = np.array(["A", "B"], dtype=object)[truth]
    y[n_rows // 10 :] = None
    X = rng.normal(size=(n_rows, p)) + apart * truth[:, None]
    return Problem.from_arrays(X, y, totals={"A": int((truth[n_rows // 10 :] == 0).sum())})


def instance_of(problem: Problem, most_features: int | None = None) -> Instance:
    return Instance.of(prepared_as_is(problem, 2, 40.0, most_features=most_features), 0.0)


@pytest.mark.parametrize(("descents_lead", "share"), [(True, 0.8), (False, 0.2)])
def test_who_leads_has_four_turns_of_five(descents_lead, share):
    instance = instance_of(clouds())
    turns = [descends(instance, number, descents_lead=descents_lead) for number in range(10, 60)]
    assert np.mean(turns) == share


@pytest.mark.parametrize("descents_lead", [True, False])
def test_no_kind_of_round_loses_all_its_turns_to_descents(descents_lead):
    """Kinds of rounds repeat after two, three, four or eight numbers."""
    instance = instance_of(clouds(1200))
    numbers = [n for n in range(120) if not descends(instance, n, descents_lead=descents_lead)]
    for period in (2, 3, 4, 8):
        assert {n % period for n in numbers} == set(range(period))


@pytest.mark.parametrize(("n_rows", "first"), [(300, 6), (1200, 1)])
def test_descents_begin_later_where_the_first_rounds_are_quick(n_rows, first):
    instance = instance_of(clouds(n_rows))
    turns = [descends(instance, number, descents_lead=False) for number in range(first + 1)]
    assert turns == [False] * first + [True]


def test_with_few_features_a_split_or_a_guide_there_are_no_descents():
    few = instance_of(clouds(), most_features=2)
    guided = instance_of(clouds())
    guided = guided.charged(np.ones_like(guided.charges))
    for instance in (few, guided):
        assert not any(descends(instance, number, descents_lead=True) for number in range(40))


def test_longer_rounds_give_time_to_more_descents():
    instance = instance_of(clouds())
    counts = [n_descents(instance, number, round_length(instance, number)) for number in (6, 61)]
    assert counts[0] == 1
    assert counts[1] > counts[0]


def test_descents_are_rounded_only_where_features_are_on_a_grid():
    instance = instance_of(clouds())
    on_grid = replace(instance, quanta=np.ones(instance.n_features))
    for case, rounded in ((instance, {False}), (on_grid, {False, True})):
        drawn = {drawn_descent(case, 5, np.random.default_rng(seed)).on_grid for seed in range(40)}
        assert drawn == rounded


def test_the_search_knows_who_found_its_best_tree():
    """Turn by turn: who lowers the cost leads from then on."""
    prepared = prepared_as_is(clouds(1200, p=12, apart=0.4), 2, 40.0)
    incumbent = Incumbent(Clock(60.0), partial(price_tree, prepared), Bound(0.0, "test"))
    exploration = Exploration(Instance.of(prepared, 0.0), incumbent, partial(polish, prepared), seed=0)
    leaders = [exploration.descents_lead]
    for number in range(3):
        is_descent = descends(exploration.instance, number, descents_lead=leaders[-1])
        before = incumbent.best_cost
        exploration.run(number, max_rounds=1)
        assert exploration.descents_lead == (is_descent if incumbent.best_cost < before else leaders[-1])
        leaders.append(exploration.descents_lead)
    assert leaders[-1]


@pytest.mark.parametrize("number", [10, 12])
def test_descents_with_three_classes_keep_the_leaves_of_the_tree_they_begin_at(number):
    """These turns of descents begin at the best tree. A round of the same number draws other classes."""
    rng = np.random.default_rng(2)
    truth = rng.integers(3, size=300)
    y = np.array(["A", "B", "C"], dtype=object)[truth]
    y[40:] = None
    X = rng.normal(size=(300, 4)) + truth[:, None]
    totals = dict(zip("ABC", np.bincount(truth[40:], minlength=3).tolist(), strict=True))
    prepared = prepared_as_is(Problem.from_arrays(X, y, totals=totals), 2, 40.0)
    instance = Instance.of(prepared, 0.0)
    best = min(
        (tree for seed in range(3) for tree in run_round(instance, seed, 0, Deadline.after(20.0))),
        key=lambda tree: cost_of(prepared, tree),
    )
    found = run_round(instance, 0, number, Deadline.after(20.0), best, by_descents=True)
    assert found
    for tree in found:
        assert np.abs(tree.omega).max() <= prepared.bounds.s * (1 + 1e-9)
        assert np.array_equal(tree.leaf_classes, best.leaf_classes)
        assert cost_of(prepared, tree) <= cost_of(prepared, best) + 1e-6


def test_what_descents_found_on_the_way_is_kept():
    """Each continuation that is clear of rows is a tree of its own: the clock may cut the next one short."""
    prepared = prepared_as_is(clouds(1200, p=12, apart=0.4), 2, 40.0)
    found = run_round(Instance.of(prepared, -1.0), 0, 1, Deadline.after(60.0), by_descents=True)
    costs = [cost_of(prepared, tree) for tree in found]
    assert len(costs) > 1
    assert None not in costs
