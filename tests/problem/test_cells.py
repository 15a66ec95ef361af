"""Several classes, domains, bounds and weights: the cost of a tree by loops, in both models and in the search."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s2oct._core import NodeView
from s2oct.evidence.evidence import Evidence
from s2oct.p2.costs import Assignment, score
from s2oct.p2.instance import FAR, Instance, tree_cost, values_at_nodes
from s2oct.p2.milp import build_lean, build_p2, decode_tree, encode_tree
from s2oct.p2.proof import lower_bound, total_bound
from s2oct.problem.problem import DataSummary, Problem
from s2oct.problem.totals import Targets
from tests.cells import cost_by_loops, problems_of_cells, trees_of_cells
from tests.oracles import rows_off_by_loops
from tests.preparing import feasible_cost, merged
from tests.solvers.watchers import violations


@given(drawn=trees_of_cells())
def test_a_tree_costs_the_same_by_loops_in_the_models_and_in_the_search(drawn):
    as_given, tree = drawn
    prepared = merged(as_given)
    leaf_error, off = cost_by_loops(as_given.problem, tree)
    expected = pytest.approx(leaf_error + as_given.spec.C * off)
    for rows in (as_given, prepared):
        assert feasible_cost(rows, Assignment.of(rows.problem, tree)) == expected
        for build in (build_p2, build_lean):
            milp = build(rows)
            x = encode_tree(milp, rows.problem, tree)
            assert violations(milp, x) == {}
            assert float(milp.c @ x) == expected
            back = decode_tree(milp, x, rows.topology)
            assert back.leaf_classes.tolist() == tree.leaf_classes.tolist()
    instance = Instance.of(replace(prepared, topology=tree.topology), 0.0)
    assert tree_cost(instance, values_at_nodes(instance, tree.omega, tree.gamma)) == expected


@given(drawn=trees_of_cells(), shift=st.sampled_from([0.0, 3.0, -5.5]))
def test_the_search_evaluates_every_move_as_loops_do(drawn, shift):
    as_given, tree = drawn
    prepared = merged(as_given)
    leaf_error, off = cost_by_loops(as_given.problem, tree)
    instance = Instance.of(replace(prepared, topology=tree.topology), 0.0)
    expected = pytest.approx((leaf_error + as_given.spec.C * off, leaf_error, off))
    for b in range(tree.topology.n_branches):
        H = np.ascontiguousarray(tree.values(prepared.problem.X).T)
        H[b] += shift
        view, free = NodeView(instance.data, H, b), (instance.row_off, 0.0, FAR)
        assert view.evaluate_near(instance.XT[0], 0.0, shift, free)[:3] == expected
        assert view.evaluate(instance.XT[0], 1.0, 0.0, shift, free, FAR)[:3] == expected


@given(drawn=trees_of_cells())
def test_the_evidence_model_counts_rows_off_as_loops_do(drawn):
    prepared, tree = drawn
    evidence = Evidence.of(prepared.problem, tree.topology, 1.0)
    classes = tree.predict(prepared.problem.X_unlabeled).tolist()
    # Weighted totals count as met half a row beside them.
    expected = pytest.approx(rows_off_by_loops(replace(prepared.problem, targets=evidence.targets), classes))
    assert evidence.cost_of(tree).off == expected


@settings(max_examples=40)
@given(drawn=trees_of_cells())
def test_no_lower_bound_exceeds_the_cost_of_a_tree(drawn):
    prepared, tree = drawn
    leaf_error, off = cost_by_loops(prepared.problem, tree)
    assert lower_bound(merged(prepared).problem, prepared.spec.C) <= leaf_error + prepared.spec.C * off + 1e-9
    assert total_bound(prepared.problem) <= off + 1e-9


@given(drawn=trees_of_cells(), data=st.data())
def test_weight_k_equals_k_copies(drawn, data):
    prepared, tree = drawn
    problem = replace(prepared.problem, labeled_weight=None, unlabeled_weight=None, unit=1.0)
    n, m = problem.n_labeled, problem.n_unlabeled
    copies = np.array(data.draw(st.lists(st.integers(1, 3), min_size=n + m, max_size=n + m)), dtype=int)
    labeled, unlabeled = np.repeat(np.arange(n), copies[:n]), np.repeat(np.arange(m), copies[n:])
    repeated = replace(
        problem,
        X_labeled=problem.X_labeled[labeled],
        labels=problem.labels[labeled],
        labeled_multiplicity=np.ones(len(labeled)),
        X_unlabeled=problem.X_unlabeled[unlabeled],
        unlabeled_multiplicity=np.ones(len(unlabeled)),
        targets=problem.targets.of_rows(unlabeled),
    )
    unit = float(copies[n:].mean()) if m else 1.0
    weighted = replace(
        problem,
        labeled_weight=copies[:n] / unit,
        unlabeled_weight=copies[n:] / unit,
        targets=problem.targets.over(unit),
        unit=unit,
    )
    by_copies, by_weight = (score(Assignment.of(rows, tree), prepared.spec) for rows in (repeated, weighted))
    assert unit * by_weight.objective == pytest.approx(by_copies.objective)
    assert unit * by_weight.xi == pytest.approx(by_copies.xi)
    assert weighted.n_rows == problem.n_rows


@given(problem=st.integers(2, 4).flatmap(lambda k: problems_of_cells(k, max_unlabeled=6)))
def test_merging_equal_rows_of_a_domain_changes_no_count(problem):
    merged_problem, groups = problem.merged_groups()
    classes = np.arange(merged_problem.n_unlabeled) % problem.n_classes
    as_given = problem.targets.rows_off(classes[groups], problem.unlabeled_size)
    assert merged_problem.targets.rows_off(classes, merged_problem.unlabeled_size) == pytest.approx(as_given)
    for margin, small in zip(problem.targets.margins, merged_problem.targets.margins, strict=True):
        assert small.codes[groups].tolist() == margin.codes.tolist()


def test_one_exact_total_is_plain_and_the_papers():
    targets = Targets.exact([3, 2], 5)
    assert targets.is_plain
    assert targets.rows_off(np.array([0, 0, 0, 0, 1]), np.ones(5)) == 1.0


def test_the_data_summary_knows_domains_and_weights():
    """Two fits that differ in them alone must not be taken for one."""
    X, y = [[0.0], [1.0], [2.0], [3.0]], ["a", "b", None, None]
    plain = Problem.from_arrays(X, y, totals={"a": 1, "b": 1})
    weighted = replace(plain, unlabeled_weight=np.array([0.5, 1.5]), labeled_weight=np.ones(2))
    assert DataSummary.of(plain).sha256 != DataSummary.of(weighted).sha256
