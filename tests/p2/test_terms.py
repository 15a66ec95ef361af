"""Both parts of the cost in three places: the score, the mixed-integer model and the compiled search.

Plain loops over the rows as given decide. The three places see merged rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from s2oct._core import NodeView
from s2oct.p2.costs import Assignment, Score
from s2oct.p2.instance import FAR, Instance, cost_of_tree
from s2oct.p2.milp import build_lean, build_p2, encode_tree
from s2oct.p2.prepared import Prepared
from s2oct.problem.problem import Guide, Problem
from s2oct.problem.totals import Targets
from s2oct.solvers.model import Milp
from s2oct.trees.tree import ObliqueTree, Topology
from tests.oracles import naive_cost, walk
from tests.preparing import cost_of, feasible_cost, merged, prepared_as_is, score_of
from tests.solvers.watchers import violations
from tests.strategies import feasible_trees, quarters


@dataclass(frozen=True)
class Case:
    """The plain formula of a part of the cost, its value in a score, its variables, and what the kernels tally.

    ``parts`` are errors of labeled rows, rows off, margin violation and charges of the guide.
    """

    plain: Callable[[Prepared, ObliqueTree], float]
    scored: Callable[[Prepared, Score], float]
    block: str
    tallied: Callable[[Prepared, np.ndarray], float]


CASES = {
    "labels": Case(
        lambda prepared, tree: naive_cost(prepared.problem, tree)[0],
        lambda prepared, score: score.leaf_error,
        "beta",
        lambda prepared, parts: parts[0],
    ),
    "totals": Case(
        lambda prepared, tree: prepared.spec.C * naive_cost(prepared.problem, tree)[1],
        lambda prepared, score: prepared.spec.C * score.xi,
        "xi",
        lambda prepared, parts: prepared.spec.C * parts[1],
    ),
}


@st.composite
def guided_trees(draw) -> tuple[Prepared, ObliqueTree]:
    """A problem with a guide and a tree that P2 admits; most rows occur several times, charged differently."""
    prepared, tree = draw(feasible_trees())
    problem = prepared.problem
    more = draw(arrays(float, (8, problem.n_features), elements=quarters, fill=st.nothing()))
    more = np.vstack([problem.X_unlabeled, more[(np.abs(tree.values(more)) >= 1).all(axis=1)]])
    labeled = np.repeat(np.arange(problem.n_labeled), draw(copies(problem.n_labeled)))
    unlabeled = np.repeat(more, draw(copies(len(more))), axis=0)
    m = len(unlabeled)
    total = draw(st.integers(0, m))
    problem = replace(
        problem,
        X_labeled=problem.X_labeled[labeled],
        labels=problem.labels[labeled],
        labeled_multiplicity=np.ones(len(labeled)),
        X_unlabeled=unlabeled,
        unlabeled_multiplicity=np.ones(m),
        targets=Targets.exact([total, m - total], m),
    )
    charges = draw(arrays(float, (m, 2), elements=st.integers(0, 8).map(lambda k: k / 8), fill=st.nothing()))
    prepared = prepared_as_is(problem, prepared.topology.depth, prepared.bounds.s, prepared.spec.C)
    prepared = prepared.guided_by(Guide(charges))
    assume(cost_of(prepared, tree) is not None)
    return prepared, tree


def copies(n_rows: int) -> st.SearchStrategy[list[int]]:
    """How often each row occurs."""
    return st.lists(st.integers(1, 3), min_size=n_rows, max_size=n_rows)


def paid_in_model(block: str, milp: Milp, x: np.ndarray) -> float:
    """The cost of a block's variables in a solution vector."""
    columns = milp.blocks[block].columns
    return float(milp.c[columns] @ x[columns])


def tallies(
    prepared: Prepared, tree: ObliqueTree, shift: float, charges: np.ndarray | None = None
) -> list[tuple[float, np.ndarray]]:
    """Cost and parts as the kernels evaluate them at every node, after a move that brings the node in place."""
    instance = Instance.of(prepared, 0.0)
    data = (instance if charges is None else instance.charged(charges)).data
    prices = instance.row_off, 0.0, FAR
    found = []
    for b in range(tree.topology.n_branches):
        H = np.ascontiguousarray(tree.values(prepared.problem.X).T)
        H[b] += shift
        cost, *parts = NodeView(data, H, b).evaluate(instance.XT[0], 1.0, 0.0, shift, prices, FAR)
        found.append((cost, np.array(parts)))
    return found


@pytest.mark.parametrize("name", CASES)
@given(drawn=guided_trees(), shift=st.sampled_from([0.0, 3.0, -5.5]))
def test_each_part_is_the_same_in_loops_in_the_models_and_in_the_search(name, drawn, shift):
    case, (as_given, tree) = CASES[name], drawn
    prepared = merged(as_given)
    expected = pytest.approx(case.plain(as_given, tree))
    for rows in (as_given, prepared):
        assert case.scored(rows, score_of(rows.problem, tree, rows.spec.C)) == expected
    for rows, build in ((as_given, build_p2), (prepared, build_p2), (prepared, build_lean)):
        milp = build(rows)
        x = encode_tree(milp, rows.problem, tree)
        assert paid_in_model(case.block, milp, x) == expected
    for _, parts in tallies(prepared, tree, shift):
        assert case.tallied(prepared, parts) == expected
        assert parts[2] == 0.0


@given(drawn=guided_trees(), shift=st.sampled_from([0.0, 3.0, -5.5]))
def test_the_parts_add_up_to_the_cost_everywhere(drawn, shift):
    """A guide changes nothing of it."""
    as_given, tree = drawn
    prepared = merged(as_given)
    expected = pytest.approx(sum(case.plain(as_given, tree) for case in CASES.values()))
    assert feasible_cost(as_given, Assignment.of(as_given.problem, tree)) == expected
    assert feasible_cost(prepared, Assignment.of(prepared.problem, tree)) == expected
    for rows, build in ((as_given, build_p2), (prepared, build_p2), (prepared, build_lean)):
        milp = build(rows)
        x = encode_tree(milp, rows.problem, tree)
        assert violations(milp, x) == {}
        assert float(milp.c @ x) == expected
    for cost, _ in tallies(prepared, tree, shift):
        assert cost == expected


@given(drawn=guided_trees(), shift=st.sampled_from([0.0, 3.0, -5.5]), price=st.sampled_from([5.0, 0.3]))
def test_where_a_guide_breaks_ties_the_search_charges_row_by_row_what_the_guide_does(drawn, shift, price):
    as_given, tree = drawn
    prepared = merged(as_given)
    problem = as_given.problem
    rows = zip(problem.X_unlabeled, problem.guide.charges, strict=True)
    charged = price * sum(float(charges[walk(tree, x) % 2]) for x, charges in rows)
    cost = sum(case.plain(as_given, tree) for case in CASES.values())
    for found, parts in tallies(prepared, tree, shift, price * prepared.problem.guide.charges):
        assert parts[3] == pytest.approx(charged)
        assert found == pytest.approx(cost + charged)


def test_a_labeled_row_without_weight_costs_nothing_even_if_no_leaf_has_its_class():
    """Its error is infinite, and 0 times infinity is not a number: the tree could not be compared with any other."""
    X, y = [[0.0], [4.0], [8.0], [2.0], [6.0]], ["A", "B", "C", None, None]
    problem = Problem.from_arrays(X, y, totals={"A": 1, "B": 1, "C": 0})
    problem = replace(problem, labeled_weight=np.array([1.0, 1.0, 0.0]), unlabeled_weight=np.ones(2))
    tree = ObliqueTree(
        Topology(2, 3), np.array([[1.0], [0.0], [0.0]]), np.array([3.0, 1.0, 1.0]), np.array([0, 0, 1, 1])
    )
    assert score_of(problem, tree).leaf_error == 0.0
    assert cost_of_tree(Instance.of(prepared_as_is(problem, 2), 0.0), tree) == 0.0
