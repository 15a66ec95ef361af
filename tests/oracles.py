"""Answers found by other means than the package's: plain loops, and enumeration with one linear program each."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
from scipy.optimize import linprog

from s2oct.p2.octh_milp import OcthSpec
from s2oct.p2.prepared import Bounds, Prepared
from s2oct.problem.problem import Problem
from s2oct.trees.tree import ObliqueTree


def walk(tree: ObliqueTree, x: np.ndarray) -> int:
    """Id of the leaf of one row, decision by decision."""
    node = 1
    while node < 2**tree.topology.depth:
        value = sum(float(w) * float(v) for w, v in zip(tree.omega[node - 1], x, strict=True)) - float(
            tree.gamma[node - 1]
        )
        node = 2 * node if value <= 0 else 2 * node + 1
    return node


def paths(depth: int) -> dict[int, list[tuple[int, str]]]:
    """Leaf id -> (branch node, side) from the root down, spelled out from the words of left and right turns."""
    found = {}
    for turns in product("LR", repeat=depth):
        node, path = 1, []
        for side in turns:
            path.append((node, side))
            node = 2 * node + (side == "R")
        found[node] = path
    return found


def naive_cost(problem: Problem, tree: ObliqueTree) -> tuple[float, float, int]:
    """Leaf error, xi and the number of unlabeled rows nearer than 1 to a hyperplane, by the paper's formulas."""
    ways = paths(tree.topology.depth)
    leaf_error = 0.0
    for x, label, count in zip(problem.X_labeled, problem.labels, problem.labeled_multiplicity, strict=True):
        errors = []
        for leaf, path in ways.items():
            if leaf % 2 != label:  # even leaves are A (0), odd ones B (1)
                continue
            error = 0.0
            for b, side in path:
                value = float(tree.omega[b - 1] @ x - tree.gamma[b - 1])
                error += max(0.0, 1 - value) if side == "R" else max(0.0, 1 + value)
            errors.append(error)
        leaf_error += count * min(errors)
    in_a, too_near = 0.0, 0
    for x, count in zip(problem.X_unlabeled, problem.unlabeled_multiplicity, strict=True):
        in_a += count * (walk(tree, x) % 2 == 0)
        near = any(abs(float(w @ x - g)) < 1 - 1e-6 for w, g in zip(tree.omega, tree.gamma, strict=True))
        too_near += int(count) * near
    return leaf_error, abs(in_a - float(problem.totals[0])), too_near


def brute_force_p2(prepared: Prepared) -> float:
    """Optimum of P2: every side of every distinct unlabeled row, every leaf of every labeled row, one LP each.

    If the number of features in a split is limited: also every choice of that many features at every node.
    """
    most = prepared.spec.max_features_per_split
    p, n_nodes = prepared.problem.n_features, 2**prepared.topology.depth - 1
    if most is None or most >= p:
        return _brute_force(prepared, np.ones((n_nodes, p), dtype=bool))
    choices = [[j in chosen for j in range(p)] for chosen in combinations(range(p), most)]
    return min(_brute_force(prepared, np.array(used)) for used in product(choices, repeat=n_nodes))


def _brute_force(prepared: Prepared, used: np.ndarray) -> float:
    problem, depth, C, bounds = prepared.problem.merged(), prepared.topology.depth, prepared.spec.C, prepared.bounds
    leaves = paths(depth)
    own = [[t for t in leaves if t % 2 == label] for label in problem.labels]
    n_nodes = 2**depth - 1
    best = np.inf
    for sides in product((0, 1), repeat=n_nodes * problem.n_unlabeled):
        z = np.array(sides, dtype=int).reshape(n_nodes, problem.n_unlabeled)
        off = rows_off_by_loops(problem, _classes(z, problem, depth))
        for chosen in product(*own):
            if C * off >= best - 1e-9:
                break
            found = _least_error(problem, bounds, used, z, chosen)
            best = min(best, found + C * off)
    return float(best)


def _classes(z: np.ndarray, problem: Problem, depth: int) -> list[int]:
    found = []
    for i in range(problem.n_unlabeled):
        node = 1
        while node < 2**depth:
            node = 2 * node + int(z[node - 1, i])
        found.append(node % 2)
    return found


def rows_off_by_loops(problem: Problem, classes: list[int]) -> float:
    """Of every domain the larger of the rows beyond upper bounds and the rows that lower bounds lack, added up."""
    off = 0.0
    for margin in problem.targets.margins:
        for domain in range(margin.n_domains):
            over = under = 0.0
            for k in range(problem.n_classes):
                rows = sum(
                    float(size)
                    for d, chosen, size in zip(margin.codes, classes, problem.unlabeled_size, strict=True)
                    if d == domain and chosen == k
                )
                over += max(0.0, rows - float(margin.high[domain, k]))
                under += max(0.0, float(margin.low[domain, k]) - rows)
            off += max(over, under)
    return off


def _least_error(problem: Problem, bounds: Bounds, used: np.ndarray, z: np.ndarray, chosen: tuple[int, ...]) -> float:
    """The LP that is left once all sides, leaves and features are fixed: columns omega, gamma, y^L, y^R."""
    n_nodes, n, p, depth = len(z), problem.n_labeled, problem.n_features, bounds.depth
    omega = np.arange(n_nodes * p).reshape(n_nodes, p)
    gamma = omega.size + np.arange(n_nodes)
    left = omega.size + n_nodes + np.arange(n_nodes * n).reshape(n_nodes, n)
    right = left + n_nodes * n
    n_columns = omega.size + n_nodes + 2 * n_nodes * n
    rows, limits = [], []

    def value_row(b: int, x: np.ndarray, sign: float) -> np.ndarray:
        row = np.zeros(n_columns)
        row[omega[b]], row[gamma[b]] = sign * x, -sign
        return row

    for b in range(n_nodes):
        for i, x in enumerate(problem.X_labeled):
            for y, sign in ((left, 1.0), (right, -1.0)):  # y >= 1 + sign * value
                row = value_row(b, x, sign)
                row[y[b, i]] = -1.0
                rows.append(row)
                limits.append(-1.0)
        for i, x in enumerate(problem.X_unlabeled):
            sign = -1.0 if z[b, i] else 1.0
            rows += [value_row(b, x, sign), value_row(b, x, -sign)]
            limits += [-1.0, bounds.M - 1]  # at distance 1 or more, and within (BIGM1), (BIGM2)
    cost = np.zeros(n_columns)
    for leaf, path in paths(depth).items():
        for i, label in enumerate(problem.labels):
            if leaf % 2 != label:
                continue
            error = np.zeros(n_columns)
            for b, side in path:
                error[(right if side == "R" else left)[b - 1, i]] += 1.0
            rows.append(error)
            limits.append(bounds.B)
            if chosen[i] == leaf:
                cost += problem.labeled_size[i] * error
    largest = np.where(used, bounds.s, 0.0).ravel()
    box = [*zip(-largest, largest, strict=True)] + [(None, None)] * n_nodes + [(0, None)] * (2 * n_nodes * n)
    answer = linprog(cost, A_ub=np.array(rows), b_ub=np.array(limits), bounds=box, method="highs")
    return float(answer.fun) if answer.status == 0 else np.inf


def brute_force_octh(problem: Problem, spec: OcthSpec) -> float:
    """Optimum of OCT-H at depth 1 over the labeled rows: every way to send rows left, one LP for its coefficients."""
    copies, labels = problem.labeled_multiplicity, problem.labels
    counts = np.bincount(labels, weights=copies)
    baseline = max(counts.sum() - counts.max(), 1.0)
    best = (counts.sum() - counts.max()) / baseline  # no split at all
    for sides in product((False, True), repeat=problem.n_labeled):
        is_left = np.array(sides)
        sizes = [copies[is_left].sum(), copies[~is_left].sum()]
        if any(0 < size < spec.min_leaf for size in sizes):
            continue
        errors = sum(
            copies[side].sum() - np.bincount(labels[side], weights=copies[side]).max()
            for side in (is_left, ~is_left)
            if side.any()
        )
        used = _fewest_features(problem.X_labeled, is_left, spec.mu)
        best = min(best, errors / baseline + spec.complexity * used)
    return float(best)


def _fewest_features(X: np.ndarray, is_left: np.ndarray, mu: float) -> float:
    """How many features a split with these sides needs; infinite if there is none with |a|_1 <= 1, |b| <= 1."""
    p = X.shape[1]
    for n_used in range(1, p + 1):
        for chosen in product((False, True), repeat=p):
            if sum(chosen) != n_used:
                continue
            used = X[:, np.array(chosen)]
            # Columns a+, a-, b; left rows a.x - b <= -mu, right rows b - a.x <= 0.
            sign = np.where(is_left, 1.0, -1.0)[:, None]
            rows = np.vstack([np.hstack([sign * used, -sign * used, -sign]), [1.0] * (2 * n_used) + [0.0]])
            limits = np.append(np.where(is_left, -mu, 0.0), 1.0)
            box = [(0, 1)] * (2 * n_used) + [(-1, 1)]
            if linprog(np.zeros(2 * n_used + 1), A_ub=rows, b_ub=limits, bounds=box, method="highs").status == 0:
                return n_used
    return np.inf
