"""Fits with several classes, domains and weights: against brute force, and solvers against each other."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from s2oct.fit.context import Budget
from s2oct.fit.training import train, train_plain
from s2oct.p2.prepared import ModelSpec
from s2oct.problem.labels import Labels
from s2oct.problem.problem import Problem
from s2oct.problem.totals import Margin, Targets
from s2oct.solvers import SOLVERS
from tests.oracles import brute_force_p2, paths, rows_off_by_loops
from tests.preparing import prepared_as_is


def random_problem(seed: int, n_classes: int, n: int, m: int, p: int, *, n_domains: int = 1) -> Problem:
    """Rows on a small grid, every class labeled, totals of classes drawn at random for each domain."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, size=(n + m, p)).astype(float)
    codes = np.r_[np.arange(n_classes), rng.integers(n_classes, size=n - n_classes), np.full(m, -1)]
    domain = rng.integers(n_domains, size=m)
    totals = np.zeros((n_domains, n_classes))
    np.add.at(totals, (domain, rng.integers(n_classes, size=m)), 1)
    margin = Margin("region", np.arange(n_domains).astype(object), domain, totals, totals, totals, 0 * totals)
    return Problem.from_labels(X, Labels(np.arange(n_classes).astype(object), codes), Targets((margin,)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2, 7])  # every number of classes with every number of domains
def test_all_solvers_find_the_same_least_cost_with_three_and_four_classes(seed):
    problem = random_problem(seed, 3 + seed % 2, n=6, m=6, p=2, n_domains=1 + seed % 4)
    spec = ModelSpec(depth=2)
    costs = {}
    for solver in SOLVERS:
        found = train_plain(problem, spec, Budget(solver, time_limit=120.0)).certificate
        assert found.proved, solver
        costs[solver] = found.objective
    engine = train(problem, spec, Budget("highs", time_limit=600.0)).certificate
    assert engine.proved
    assert list(costs.values()) == pytest.approx([engine.objective] * len(costs), abs=1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_depth_1_with_domains_costs_as_much_as_brute_force_finds(seed):
    problem = random_problem(seed, 2, n=3, m=5, p=1 + seed % 2, n_domains=1 + seed % 4)
    prepared = prepared_as_is(problem, 1, 10.0)
    spec = ModelSpec(depth=1, coefficient_bound=10.0, scaled=False)
    found = train(problem, spec, Budget("highs", time_limit=600.0)).certificate
    assert found.proved
    assert found.objective == pytest.approx(brute_force_p2(prepared), abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 2])
def test_three_classes_on_a_line_cost_as_much_as_brute_force_finds(seed):
    problem = random_problem(seed, 3, n=3, m=3, p=1, n_domains=1 + seed % 2)
    spec = ModelSpec(depth=2, coefficient_bound=10.0, scaled=False)
    found = train(problem, spec, Budget("highs", time_limit=600.0)).certificate
    assert found.proved
    assert found.objective == pytest.approx(least_cost_on_a_line(problem, 10.0), abs=1e-5)


def least_cost_on_a_line(problem: Problem, s: float) -> float:
    """Depth 2, one feature: every way to cut the unlabeled rows at three nodes, every class of every leaf, one LP each.

    With sides and leaf classes fixed, every labeled row chooses a leaf: all choices are tried.
    """
    x = problem.X_unlabeled[:, 0]
    cuts = {tuple((sign * x > sign * c).tolist()) for c in [-99.0, *x.tolist()] for sign in (1, -1)}
    cuts |= {tuple([False] * len(x)), tuple([True] * len(x))}
    # The two leaves below a node may have any classes; equal ones are never better than different ones.
    pairs = [(a, b) for a in range(3) for b in range(3) if a < b]
    cases = []
    for sides, below in product(product(sorted(cuts), repeat=3), product(pairs, repeat=2)):
        leaf_class = dict(zip((4, 5, 6, 7), (*below[0], *below[1]), strict=True))
        classes = []
        for i in range(len(x)):
            node = 1
            while node < 4:
                node = 2 * node + int(sides[node - 1][i])
            classes.append(leaf_class[node])
        cases.append((rows_off_by_loops(problem, classes), sides, leaf_class))
    best = np.inf
    for off, sides, leaf_class in sorted(cases, key=lambda case: case[0]):
        if off >= best - 1e-9:
            break
        own = [[t for t in leaf_class if leaf_class[t] == label] for label in problem.labels]
        if all(own):
            for chosen in product(*own):
                best = min(best, off + hinge_cost(problem, np.array(sides), chosen, s))
    return float(best)


def hinge_cost(problem: Problem, sides: np.ndarray, chosen: tuple[int, ...], s: float) -> float:
    """Three independent LPs over (omega, gamma, errors), one for each node; infinite if a cut is not possible."""
    cost = 0.0
    for b in (1, 2, 3):
        signs = {i: +1.0 if (b, "R") in paths(2)[t] else -1.0 for i, t in enumerate(chosen) if b in dict(paths(2)[t])}
        rows, limits = [], []
        for e, (i, sign) in enumerate(signs.items()):  # error >= 1 - sign * (omega x - gamma)
            row = np.zeros(2 + len(signs))
            row[0], row[1], row[2 + e] = -sign * problem.X_labeled[i, 0], sign, -1.0
            rows.append(row)
            limits.append(-1.0)
        for x, right in zip(problem.X_unlabeled[:, 0], sides[b - 1], strict=True):
            sign = 1.0 if right else -1.0
            rows.append(np.r_[-sign * x, sign, np.zeros(len(signs))])
            limits.append(-1.0)
        bounds = [(-s, s), (None, None), *[(0, None)] * len(signs)]
        answer = linprog(np.r_[0.0, 0.0, np.ones(len(signs))], A_ub=np.array(rows), b_ub=limits, bounds=bounds)
        if answer.status != 0:
            return np.inf
        cost += float(answer.fun)
    return cost
