"""Every cost term in its three homes: the value on an assignment, the mixed-integer model and the compiled search.

Plain loops over the rows as given decide. The homes see merged rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from s2oct.linear.model import Milp
from s2oct.milp.encode import encode_tree
from s2oct.milp.lean import build_lean
from s2oct.milp.p2 import build_p2, objective_constant
from s2oct.model.assignment import Assignment
from s2oct.model.feasibility import feasible_cost
from s2oct.model.guide import Guide
from s2oct.model.prepared import Prepared
from s2oct.model.problem import Problem
from s2oct.model.terms import CostTerm, GuideCharges, LabelErrors, TotalMiss
from s2oct.model.terms.base import P2Variables
from s2oct.model.tree import ObliqueTree
from s2oct.search.instance import Instance
from s2oct.search.kernels import FAR, Move, Prices, evaluate, new_tally, new_view, node_view
from tests.oracles import naive_cost, walk
from tests.preparing import cost_of, merged, prepared_as_is
from tests.strategies import feasible_trees, quarters

guide_prices = st.sampled_from([5.0, 2.5, 0.3, 0.0])


@dataclass(frozen=True)
class Case:
    """How to find a term, its plain formula, and its part of what the kernels tally.

    ``parts`` are errors of labeled rows, rows off, margin violation and charges of the guide, all but the second in
    the search's unit.
    """

    kind: type[CostTerm]
    plain: Callable[[Prepared, ObliqueTree], float]
    tallied: Callable[[Prepared, np.ndarray, float], float]


def charged_row_by_row(problem: Problem, tree: ObliqueTree) -> float:
    """What the guide charges for the classes in which the rows end, and 1 for each row off the totals."""
    rows = zip(problem.X_unlabeled, problem.unlabeled_multiplicity, problem.guide.charges, strict=True)
    return sum(float(count * charges[walk(tree, x) % 2]) for x, count, charges in rows) + naive_cost(problem, tree)[1]


CASES = {
    "labels": Case(
        LabelErrors,
        lambda prepared, tree: naive_cost(prepared.problem, tree)[0],
        lambda prepared, parts, unit: unit * parts[0],
    ),
    "totals": Case(
        TotalMiss,
        lambda prepared, tree: prepared.spec.C * naive_cost(prepared.problem, tree)[1],
        lambda prepared, parts, unit: prepared.spec.C * parts[1],
    ),
    "guide": Case(
        GuideCharges,
        lambda prepared, tree: prepared.problem.guide.price * charged_row_by_row(prepared.problem, tree),
        lambda prepared, parts, unit: prepared.problem.guide.price * parts[1] + unit * parts[3],
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
        totals=np.array([total, m - total]),
    )
    charges = draw(arrays(float, (m, 2), elements=st.integers(0, 8).map(lambda k: k / 8), fill=st.nothing()))
    guide = Guide(charges, draw(guide_prices))
    prepared = prepared_as_is(problem, prepared.topology.depth, prepared.bounds.s, prepared.spec.C).guided_by(guide)
    assume(cost_of(prepared, tree) is not None)
    return prepared, tree


def copies(n_rows: int) -> st.SearchStrategy[list[int]]:
    """How often each row occurs."""
    return st.lists(st.integers(1, 3), min_size=n_rows, max_size=n_rows)


def term_of(prepared: Prepared, kind: type[CostTerm]) -> CostTerm:
    (term,) = (term for term in prepared.terms if isinstance(term, kind))
    return term


def paid_in_model(term: CostTerm, milp: Milp, problem: Problem, x: np.ndarray) -> float:
    """What a term's variables cost in a solution vector, and its constant."""
    costs = term.milp_costs(P2Variables(**milp.blocks), problem)
    return sum(float((cost * block.read(x)).sum()) for block, cost in costs) + term.milp_constant(problem)


def tallies(prepared: Prepared, tree: ObliqueTree, shift: float) -> list[tuple[float, np.ndarray, float]]:
    """Cost, parts and unit as the kernels evaluate them at every node, after a move that brings the node in place."""
    guide = prepared.problem.guide
    unit = 1.0 if guide is None else max(guide.price, 1.0)
    data = Instance.of(prepared, 0.0).data
    found = []
    for b in range(tree.topology.n_branches):
        H = np.ascontiguousarray(tree.values(prepared.problem.X).T)
        H[b] += shift
        view, tally = new_view(data), new_tally(prepared.problem.n_classes)
        node_view(data, H, b, view)
        move = Move(data.space.XT[0], 1.0, 0.0, shift)
        cost = evaluate(H[b], move, data.counts, view, Prices(data.row_off, 0.0, FAR), FAR, tally)
        found.append((float(cost), tally.parts, unit))
    return found


@pytest.mark.parametrize("name", CASES)
@given(drawn=guided_trees(), shift=st.sampled_from([0.0, 3.0, -5.5]))
def test_a_term_is_worth_the_same_in_loops_in_the_models_and_in_the_search(name, drawn, shift):
    case, (as_given, tree) = CASES[name], drawn
    prepared = merged(as_given)
    expected = pytest.approx(case.plain(as_given, tree))
    term = term_of(prepared, case.kind)
    assert term.value(Assignment.of(prepared.problem, tree)) == expected
    assert term_of(as_given, case.kind).value(Assignment.of(as_given.problem, tree)) == expected
    for rows, build in ((as_given, build_p2), (prepared, build_p2), (prepared, build_lean)):
        milp = build(rows)
        x = encode_tree(milp, rows.problem, tree)
        assert paid_in_model(term_of(rows, case.kind), milp, rows.problem, x) == expected
    for _, parts, unit in tallies(prepared, tree, shift):
        assert case.tallied(prepared, parts, unit) == expected
        assert parts[2] == 0.0


@pytest.mark.parametrize("with_guide", [True, False], ids=["with a guide", "without"])
@given(drawn=guided_trees(), shift=st.sampled_from([0.0, 3.0, -5.5]))
def test_the_terms_add_up_to_the_cost_everywhere(with_guide, drawn, shift):
    as_given, tree = drawn
    as_given = as_given if with_guide else as_given.without_guide()
    prepared = merged(as_given)
    assert len(prepared.terms) == (3 if with_guide else 2)
    kinds = {type(term) for term in prepared.terms}
    expected = pytest.approx(sum(case.plain(as_given, tree) for case in CASES.values() if case.kind in kinds))
    assert feasible_cost(as_given, Assignment.of(as_given.problem, tree)) == expected
    assert feasible_cost(prepared, Assignment.of(prepared.problem, tree)) == expected
    for rows, build in ((as_given, build_p2), (prepared, build_p2), (prepared, build_lean)):
        milp = build(rows)
        x = encode_tree(milp, rows.problem, tree)
        assert milp.violations(x) == {}
        assert float(milp.c @ x) + objective_constant(rows) == expected
    for cost, _, unit in tallies(prepared, tree, shift):
        assert unit * cost == expected


@pytest.fixture
def single() -> Prepared:
    """One labeled row, one unlabeled row, and a guide that charges a half for class B."""
    problem = Problem.from_arrays([[0.0], [1.0]], ["A", None], totals={"A": 1, "B": 0})
    return prepared_as_is(problem, 1).guided_by(Guide(np.array([[0.0, 0.5]]), 4.0))


def test_every_term_of_a_problem_is_tested_above(single):
    assert [case.kind for case in CASES.values()] == [type(term) for term in single.terms]


def test_the_search_counts_costs_in_units_of_a_guides_price_above_1(single):
    """C = 1 and the guide's price of 4 for a row off, the charge of a half times 4, all in units of 4."""
    instance = Instance.of(single, 8.0)
    assert instance.row_off == (1.0 + 4.0) / 4
    assert instance.charges.tolist() == [[0.0, 0.5]]
    assert instance.sizes.tolist() == [0.25, 1.0]
    assert instance.floor == 2.0


def test_the_search_counts_costs_as_they_are_where_the_price_is_at_most_1(single):
    instance = Instance.of(single.with_guide_price(0.5), 8.0)
    assert instance.row_off == 1.5
    assert instance.charges.tolist() == [[0.0, 0.25]]
    assert instance.sizes.tolist() == [1.0, 1.0]
    assert instance.floor == 8.0


def test_a_guide_without_a_price_adds_nothing_to_the_model(single):
    free = single.with_guide_price(0.0)
    assert build_lean(free).c.tolist() == build_lean(single.without_guide()).c.tolist()
    assert objective_constant(free) == 0.0
