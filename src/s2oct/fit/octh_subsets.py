"""Lower bounds of OCT-H from small parts of the rows, each solved by HiGHS.

What a tree does with some of the rows, it does with all: its errors among them are at least those of the best tree for
them alone. Parts without common rows add up. The minimum leaf is left out, because a part of the rows need not fill the
leaves. Rows that no split tells apart are one row here, which counts by how much its largest class is ahead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.errors import SolverFailed
from s2oct.fit.incumbent import Incumbent
from s2oct.fit.portfolio import bound_small
from s2oct.milp.octh import OcthSpec, baseline_errors, build_octh
from s2oct.milp.octh_bounds import class_counts, inseparable_rows, separable_width
from s2oct.model.problem import Problem
from s2oct.model.topology import Topology
from s2oct.stopping import Deadline

SMALL_PARTS = "small parts of the rows that HiGHS solved"

MOST_ROWS = 24
"""Rows of a part beyond which HiGHS takes too long."""

_WHOLE = 1e-4
"""A solver's bound this much above a whole number of errors counts as that number."""


def raise_bound_by_parts(
    problem: Problem, topology: Topology, spec: OcthSpec, incumbent: Incumbent, deadline: Deadline
) -> None:
    """Add up the least errors of disjoint parts, and report the sum after each part."""
    n_part = part_size(problem.n_features, topology)
    if n_part > MOST_ROWS or separable_width(spec.mu) <= 0:
        return
    counts = class_counts(problem, inseparable_rows(problem, spec.mu))
    merged = _merged(problem, spec, counts)
    errors = float((counts.sum(axis=1) - counts.max(axis=1)).sum())
    for part in _parts(merged, n_part):
        if deadline.passed or incumbent.is_over:
            return
        errors += _least_errors(merged, part, topology, spec, incumbent, deadline)
        cost = errors / baseline_errors(problem)
        incumbent.raise_bound(cost, SMALL_PARTS)


def part_size(n_features: int, topology: Topology) -> int:
    """Rows of a part. With fewer, in general position, every split can be given as many rows as it can always part."""
    return (n_features + 1) * topology.n_branches + 2


def _merged(problem: Problem, spec: OcthSpec, counts: FloatArray) -> Problem:
    """One row for each group that has a largest class, with its lead as multiplicity."""
    group = inseparable_rows(problem, spec.mu)
    _, first = np.unique(group, return_index=True)
    ordered = np.sort(counts, axis=1)
    lead = ordered[:, -1] - ordered[:, -2]
    kept = np.flatnonzero(lead > 0)
    return replace(
        problem,
        X_labeled=problem.X_labeled[first[kept]],
        labels=counts[kept].argmax(axis=1),
        labeled_multiplicity=lead[kept],
        labeled_weight=None,
    )


def _parts(problem: Problem, n_part: int) -> Iterator[IntArray]:
    """Disjoint sets of rows: a row, the nearest ones of its class and as many of the others."""
    free = np.ones(problem.n_labeled, dtype=bool)
    distance_to_others = [
        np.abs(problem.X_labeled[problem.labels != label] - row).max(axis=1).min(initial=np.inf)
        for row, label in zip(problem.X_labeled, problem.labels, strict=True)
    ]
    for centre in np.argsort(distance_to_others, kind="stable"):
        if not free[centre]:
            continue
        distance = np.abs(problem.X_labeled - problem.X_labeled[centre]).max(axis=1)
        order = np.argsort(distance, kind="stable")
        order = order[free[order]]
        own = order[problem.labels[order] == problem.labels[centre]][: (n_part + 1) // 2]
        others = order[problem.labels[order] != problem.labels[centre]][: n_part // 2]
        if len(own) + len(others) < n_part:
            return
        part = np.concatenate([own, others])
        free[part] = False
        yield part


def _least_errors(
    problem: Problem, part: IntArray, topology: Topology, spec: OcthSpec, incumbent: Incumbent, deadline: Deadline
) -> float:
    """A lower bound on the errors of every tree among some rows."""
    some = replace(
        problem,
        X_labeled=problem.X_labeled[part],
        labels=problem.labels[part],
        labeled_multiplicity=problem.labeled_multiplicity[part],
    )
    # A certificate lets rows be a little nearer than mu, so the bound must, too.
    relaxed = OcthSpec(min_leaf=1, mu=separable_width(spec.mu))
    try:
        bound = bound_small(incumbent, build_octh(some, topology, relaxed), deadline)
    except (SolverFailed, MemoryError):
        return 0.0
    return max(float(np.ceil(bound * baseline_errors(some) - _WHOLE)), 0.0)
