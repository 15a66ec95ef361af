"""The evidence model against plain loops, and its bounds against every way to class the distinct rows."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2oct.evidence.evidence import Evidence
from s2oct.problem.problem import Guide, Problem
from s2oct.problem.totals import Targets
from s2oct.trees.rules import pruned
from s2oct.trees.tree import Topology
from tests.oracles import walk
from tests.strategies import problems, trees

eighths = st.integers(0, 8).map(lambda k: k / 8)


@st.composite
def guided_problems(draw) -> Problem:
    """Problems with a guide, merged or not, and with multiplicities."""
    problem = draw(problems(max_labeled=4, max_unlabeled=5))
    shares = np.array(draw(st.lists(eighths, min_size=problem.n_unlabeled, max_size=problem.n_unlabeled)))
    copies = draw(st.lists(st.integers(1, 3), min_size=len(problem.X), max_size=len(problem.X)))
    n, m = np.array(copies[: problem.n_labeled], dtype=float), np.array(copies[problem.n_labeled :], dtype=float)
    total = draw(st.integers(0, int(m.sum())))
    return replace(
        problem,
        guide=Guide.from_probabilities(np.column_stack([1 - shares, shares]).reshape(-1, 2)),
        labeled_multiplicity=n,
        unlabeled_multiplicity=m,
        targets=Targets.exact([total, int(m.sum()) - total], len(m)),
    )


def prices(problem: Problem, weight: float) -> list[list[float]]:
    """What each class costs each row, by the words of the model: a labeled row 1/weight, a sure one 1, others less."""
    found = []
    for label, count in zip(problem.labels, problem.labeled_multiplicity, strict=True):
        found.append([0.0 if k == label else count / weight for k in range(2)])
    for charges, count in zip(problem.guide.charges, problem.unlabeled_multiplicity, strict=True):
        lead = [float(charge - min(charges)) for charge in charges]
        found.append([count * (0.5 * by + (0.5 if by > 0 else 0.0)) for by in lead])
    return found


@given(problem=guided_problems(), weight=st.sampled_from([1 / 3, 1.0, 2.0]), data=st.data())
def test_cost_of_a_tree_is_what_its_rows_pay_one_by_one(problem, weight, data):
    tree = data.draw(trees(problem.n_features))
    price = prices(problem, weight)
    rows, counts = 0.0, [0.0, 0.0]
    for i, x in enumerate(problem.X):
        k = int(tree.leaf_classes[walk(tree, x) - tree.topology.n_leaves])
        rows += price[i][k]
        if i >= problem.n_labeled:
            counts[k] += problem.unlabeled_multiplicity[i - problem.n_labeled]
    found = Evidence.of(problem, tree.topology, weight).cost_of(tree)
    assert found.rows == pytest.approx(rows)
    assert found.off == abs(counts[0] - problem.totals[0])
    splits = pruned(tree).splits
    assert found.terms == sum(w != 0 for split in splits for w in tree.omega[split.node - 1])


@given(problem=guided_problems(), weight=st.sampled_from([1 / 3, 2.0]))
def test_bounds_are_the_least_over_all_ways_to_class_the_distinct_rows(problem, weight):
    evidence = Evidence.of(problem, Topology(1), weight)
    price, sizes = prices(problem, weight), [*[0.0] * problem.n_labeled, *problem.unlabeled_multiplicity]
    places = sorted({tuple(x + 0.0) for x in problem.X})
    least_rows = least_off = np.inf
    for chosen in product((0, 1), repeat=len(places)):
        classes = [chosen[places.index(tuple(x + 0.0))] for x in problem.X]
        in_a = sum(size for size, k in zip(sizes, classes, strict=True) if k == 0)
        least_rows = min(least_rows, sum(price[i][k] for i, k in enumerate(classes)))
        least_off = min(least_off, abs(in_a - problem.totals[0]))
    assert evidence.bound == pytest.approx(least_rows)
    assert evidence.least_off == least_off


def test_merged_rows_cost_what_the_mean_charge_says():
    """Two equal rows on which the guide is of two minds cost nothing in the likelier class."""
    problem = Problem.from_arrays(np.array([[0.0], [1.0], [2.0], [2.0]]), ["A", "B", None, None], totals={"A": 1})
    merged = replace(problem.merged(), guide=Guide(np.array([[0.1, 0.3]])))
    evidence = Evidence.of(merged, Topology(1), 0.5)
    np.testing.assert_allclose(evidence.cost, [[0, 2], [2, 0], [0, 2 * (0.1 + 0.5)]])
    assert evidence.size.tolist() == [0, 0, 2]
    assert evidence.least_off == 1
    assert evidence.total_size == 4
