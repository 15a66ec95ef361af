"""The fit of OCT-H."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.errors import SolverFailed
from s2oct.fit.certificate import OCTHCertificate, certify_octh
from s2oct.fit.context import Budget, Incumbent, Listener, open_context, with_reserve
from s2oct.fit.portfolio import PARAMS as PORTFOLIO
from s2oct.fit.portfolio import Formulation, bound_small, search_and_solve
from s2oct.p2.milp import octh_size
from s2oct.p2.octh_milp import (
    NO_ERRORS,
    OcthSpec,
    attainable_cost,
    baseline_errors,
    build_octh,
    class_counts,
    counting_bound,
    decode_octh,
    encode_octh,
    inseparable_rows,
    separable_width,
    with_majority_classes,
)
from s2oct.p2.octh_search import OcthSearch
from s2oct.p2.prepared import Scaling, paper_depth
from s2oct.p2.proof import CONVERGED, NOT_NEGATIVE, PROVED, Bound, FitRecord
from s2oct.problem.problem import Problem
from s2oct.stopping import Deadline, Stop, never
from s2oct.trees.tree import MAX_DEPTH, ObliqueTree, Topology

# Lower bounds of OCT-H from small parts of the rows, each solved by HiGHS.

SMALL_PARTS = "small parts of the rows that HiGHS solved"


@dataclass(frozen=True)
class OcthParams:
    """How a fit of OCT-H divides its time.

    Attributes
    ----------
    part_rows : int
        Maximum number of rows per part that HiGHS solves; with more, it takes too long.
    parts_share : float
        Seconds for bounds from parts of the rows, per second of the head start.
    few_rows, head_start : int, float
        With more labeled rows than this, the search runs alone for this share of the time limit: HiGHS then proves
        little that counting does not.
    priced_rounds : int
        Rounds of search if coefficients have a price: annealing ignores this price, and only provides starts.
    """

    part_rows: int = 24
    parts_share: float = 0.3
    few_rows: int = 50
    head_start: float = 0.5
    priced_rounds: int = 30


PARAMS = OcthParams()

_WHOLE = 1e-4
"""A solver's bound that exceeds a whole number of errors by at most this much counts as that number."""


def raise_bound_by_parts(
    problem: Problem, topology: Topology, spec: OcthSpec, incumbent: Incumbent, deadline: Deadline
) -> None:
    """Sum the minimum errors of disjoint parts, and report the sum after each part."""
    n_part = part_size(problem.n_features, topology)
    if n_part > PARAMS.part_rows or separable_width(spec.mu) <= 0:
        return
    group = inseparable_rows(problem, spec.mu)
    counts = class_counts(problem, group)
    merged = _merged(problem, group, counts)
    errors = float((counts.sum(axis=1) - counts.max(axis=1)).sum())
    for part in _parts(merged, n_part):
        if deadline.passed or incumbent.is_over:
            return
        errors += _least_errors(merged, part, topology, spec, incumbent, deadline)
        incumbent.raise_bound(errors / baseline_errors(problem), SMALL_PARTS)


def part_size(n_features: int, topology: Topology) -> int:
    """Rows per part. In smaller parts, in general position, every split gets few enough rows to separate any labels."""
    return (n_features + 1) * topology.n_branches + 2


def _merged(problem: Problem, group: IntArray, counts: FloatArray) -> Problem:
    """One row for each group with a unique largest class, whose lead is the multiplicity."""
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
    """Yield disjoint sets of rows: a row, the nearest rows of its class, and about as many nearest rows of others."""
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
    # A certificate allows rows slightly nearer than mu, so the bound must allow them as well.
    relaxed = OcthSpec(min_leaf=1, mu=separable_width(spec.mu))
    try:
        bound = bound_small(incumbent, build_octh(some, topology, relaxed), deadline)
    except (SolverFailed, MemoryError):
        return 0.0
    return max(float(np.ceil(bound * baseline_errors(some) - _WHOLE)), 0.0)


# From labeled rows to a certified tree of OCT-H, the supervised baseline.


@dataclass(frozen=True, eq=False)
class TrainedOcth:
    """An OCT-H tree in the user's units and what is proved about it."""

    tree: ObliqueTree
    certificate: OCTHCertificate
    scaling: Scaling
    notices: tuple[str, ...] = ()


def train_octh(
    problem: Problem,
    spec: OcthSpec,
    budget: Budget,
    *,
    depth: int | None = None,
    stop: Stop = never,
    listener: Listener | None = None,
    spent: float = 0.0,
) -> TrainedOcth:
    """Fit a tree to OCT-H over the labeled rows; all rows are used for scaling. See `s2oct.fit.training.train`."""
    # 1. Scale the features to [0, 1], where OCT-H bounds its coefficients. Reserve time for the steps after the search.
    context = open_context(budget, stop, listener, spent)
    scaling = Scaling.unit(problem.X)
    scaled = scaling.scale_problem(problem)
    context = with_reserve(context)
    depth = paper_depth(problem.n_rows) if depth is None else depth
    # The topology rejects an excessive depth; computing 2 to that power first would not finish.
    topology = Topology(depth, min(problem.n_classes, 2 ** min(depth, MAX_DEPTH)))

    # 2. Open with a feasible tree, which has no splits, and a bound from counting: every fit then has a result.
    def assess(tree: ObliqueTree) -> tuple[ObliqueTree, float] | None:
        claim = certify_octh(scaled, tree, spec, FitRecord(NOT_NEGATIVE, 0.0, ""))
        return (tree, claim.objective) if claim.feasible else None

    incumbent = Incumbent(context.clock, assess, Bound(0.0, NO_ERRORS), context.listener)
    incumbent.offer(with_majority_classes(scaled, ObliqueTree.constant(topology, problem.n_features, right=True)))
    bound = counting_bound(scaled, topology, spec)
    incumbent.raise_bound(bound.value, bound.source)
    # 3. Define the search: starts first, then rounds of moves. Bounds from parts of the rows follow, because no tree
    #    depends on them.
    search = OcthSearch(scaled, topology, spec, budget.seed)

    def explore(first_round: int, seconds: float) -> int:
        until = context.clock.deadline(seconds)
        if first_round == 0 and not incumbent.is_over:
            for tree in search.first_trees(until):
                incumbent.offer(tree)
                if incumbent.is_over:
                    return first_round
        number = first_round
        last = np.inf if spec.complexity == 0 else PARAMS.priced_rounds
        while number < last and not incumbent.is_over and not until.passed:
            incumbent.offer(search.run_round(number, incumbent.best, until))
            number += 1
        if first_round == 0 and context.solver is not None and not incumbent.is_over:
            # These bounds usually use all of their time. That does not count as a cut: no tree depends on them.
            until = context.clock.anew().deadline(PARAMS.parts_share * seconds)
            raise_bound_by_parts(scaled, topology, spec, incumbent, until)
        return number

    # 4. Run search and solver on one incumbent. With many rows a solver proves little, so it joins later.
    head_start = PARAMS.head_start if scaled.n_labeled > PARAMS.few_rows else PORTFOLIO.head_start
    search_and_solve(context, incumbent, explore, _formulation(scaled, topology, spec), head_start)
    # 5. Certify the tree in the user's units, in which it predicts. There, sums are rounded differently.
    tree = scaling.to_user(incumbent.winner)
    record = FitRecord(incumbent.bound, context.clock.elapsed, incumbent.ending, tuple(incumbent.history))
    certificate = certify_octh(problem, tree, spec, record, scaling=scaling)
    if certificate.ended == PROVED and not certificate.proved:
        certificate = replace(certificate, ended=CONVERGED)
    # 6. Compare its errors with those of CART, which may have fewer: its splits need no minimum distance.
    may_be_worse = spec.complexity == 0 and not certificate.proved and not context.clock.stopped()
    if may_be_worse and certificate.n_errors > search.cart_errors:
        context.notices.append(
            f"CART with the same depth and minimum leaf misclassifies {search.cart_errors:g} of the labeled rows, and "
            f"this tree {certificate.n_errors}, because no row may be within {spec.mu:g} of a split; choose a smaller "
            "mu."
        )
    return TrainedOcth(tree, certificate, scaling, tuple(context.notices))


def _formulation(scaled: Problem, topology: Topology, spec: OcthSpec) -> Formulation:
    return Formulation(
        size=octh_size(scaled.n_labeled, scaled.n_features, scaled.n_classes, topology.depth),
        build=lambda: build_octh(scaled, topology, spec),
        encode=lambda milp, tree: encode_octh(milp, scaled, tree, spec),
        decode=lambda milp, x: decode_octh(milp, x, scaled, topology, spec),
        attainable=lambda bound: attainable_cost(scaled, spec, bound),
    )
