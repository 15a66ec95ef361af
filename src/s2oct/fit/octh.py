"""From labeled rows to a certified tree of OCT-H, the supervised baseline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from s2oct.certificate import OCTHCertificate, certify_octh
from s2oct.fit.context import Budget, FitContext
from s2oct.fit.incumbent import Incumbent
from s2oct.fit.listening import Listener
from s2oct.fit.portfolio import Formulation, Portfolio
from s2oct.fit.training import open_context, with_reserve
from s2oct.milp.octh import OcthSpec, attainable_cost, build_octh, decode_octh, encode_octh, with_majority_classes
from s2oct.milp.octh_bounds import NO_ERRORS, counting_bound
from s2oct.milp.size import octh_size
from s2oct.model.bounds import paper_depth
from s2oct.model.problem import Problem
from s2oct.model.proof import NOT_NEGATIVE, Bound, FitRecord
from s2oct.model.scaling import Scaling
from s2oct.model.topology import MAX_DEPTH, Topology
from s2oct.model.tree import ObliqueTree
from s2oct.search import OcthSearch
from s2oct.stopping import Stop, never

PRICED_ROUNDS = 30
"""Rounds of search where coefficients have a price: the annealing ignores this price, and only provides starts."""


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
    context = open_context(budget, stop, listener, spent)
    scaling = Scaling.unit(problem.X)
    scaled = scaling.scale_problem(problem)
    context = with_reserve(context)
    depth = paper_depth(problem.n_rows) if depth is None else depth
    # The topology refuses a depth beyond reason; 2 to its power would not end before.
    topology = Topology(depth, min(problem.n_classes, 2 ** min(depth, MAX_DEPTH)))

    def assess(tree: ObliqueTree) -> tuple[ObliqueTree, float] | None:
        claim = certify_octh(scaled, tree, spec, FitRecord(NOT_NEGATIVE, 0.0, ""))
        return (tree, claim.objective) if claim.feasible else None

    incumbent = Incumbent(context.clock, assess, Bound(0.0, NO_ERRORS), context.listener)
    incumbent.offer(with_majority_classes(scaled, ObliqueTree.constant(topology, problem.n_features, right=True)))
    bound = counting_bound(scaled, topology, spec)
    incumbent.raise_bound(bound.value, bound.source)
    search = OcthSearch(scaled, topology, spec, budget.seed)

    def explore(first_round: int, seconds: float) -> int:
        until = context.clock.deadline(seconds)
        if first_round == 0 and not incumbent.is_over:
            for tree in search.first_trees(until):
                incumbent.offer(tree)
                if incumbent.is_over:
                    return first_round
        number = first_round
        last = np.inf if spec.complexity == 0 else PRICED_ROUNDS
        while not incumbent.is_over and not until.passed and number < last:
            incumbent.offer(search.run_round(number, incumbent.best, until))
            number += 1
        return number

    Portfolio(context, incumbent, explore, _formulation(scaled, topology, spec)).run()
    return _trained(problem, spec, scaling, incumbent, context)


def _formulation(scaled: Problem, topology: Topology, spec: OcthSpec) -> Formulation:
    return Formulation(
        size=octh_size(scaled.n_labeled, scaled.n_features, scaled.n_classes, topology.depth),
        build=lambda: build_octh(scaled, topology, spec),
        encode=lambda milp, tree: encode_octh(milp, scaled, tree, spec),
        decode=lambda milp, x: decode_octh(milp, x, scaled, topology, spec),
        attainable=lambda bound: attainable_cost(scaled, spec, bound),
    )


def _trained(
    problem: Problem, spec: OcthSpec, scaling: Scaling, incumbent: Incumbent, context: FitContext
) -> TrainedOcth:
    tree = scaling.to_user(incumbent.winner)
    record = FitRecord(incumbent.bound, context.clock.elapsed, incumbent.ending, tuple(incumbent.history))
    certificate = certify_octh(problem, tree, spec, record, scaling=scaling)
    return TrainedOcth(tree, certificate, scaling, tuple(context.notices))
