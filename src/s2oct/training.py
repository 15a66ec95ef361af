"""A fit from end to end: scale, bound, search and solve, certify. The only module that knows all rooms."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from s2oct.bounds import Bounds, compute_bounds, lower_bound, paper_depth
from s2oct.certificate import Certificate, OCTHCertificate, certify, certify_octh
from s2oct.contest import Contender, compete, solve_alone
from s2oct.errors import InvalidProblem
from s2oct.feasibility import feasible_cost, mend
from s2oct.milp.encode import decode_tree, encode_tree
from s2oct.milp.lean import build_lean
from s2oct.milp.octh import OcthSettings, attainable_cost, build_octh, decode_octh, encode_octh, with_majority_classes
from s2oct.milp.p2 import build_p2
from s2oct.milp.size import octh_size, p2_size
from s2oct.problem import Problem
from s2oct.race import NOT_NEGATIVE, Bound, Race
from s2oct.scaling import Scaling
from s2oct.search import Instance, compile_kernels, polish, search, search_octh
from s2oct.solvers import load_solver
from s2oct.topology import Topology
from s2oct.tree import ObliqueTree

TINY = 1e-3
"""Rows that differ by less than this in all are enlarged for the solvers' sake."""

LARGEST_M = 1e10
"""Beyond this M a double cannot tell a distance of 1 from one of 1 - 1e-6."""


@dataclass(frozen=True)
class Settings:
    """How to fit, whatever the model."""

    depth: int | None
    solver: str | None
    time_limit: float
    n_jobs: int
    seed: int
    verbose: int


@dataclass(frozen=True, eq=False)
class Trained:
    """A tree in the user's units and what is proved of it."""

    tree: ObliqueTree
    certificate: Certificate


@dataclass(frozen=True, eq=False)
class TrainedOcth:
    """An OCT-H tree in the user's units and what is proved of it."""

    tree: ObliqueTree
    certificate: OCTHCertificate


def train(problem: Problem, settings: Settings, *, weight_bound: float | None = None, scale: bool = True) -> Trained:
    """Fit a tree to P2. Ctrl-C ends the fit early; the best tree so far is returned with a warning."""
    solver = load_solver(settings.solver) if settings.solver is not None else None
    compile_kernels()
    race = Race(settings.time_limit, settings.verbose)
    topology = Topology(settings.depth or paper_depth(problem.n_rows), problem.n_classes)
    scaling, bounds = _prepare(problem, topology.depth, weight_bound, scale)
    merged = bounds.problem
    race.open(
        lambda tree: feasible_cost(merged, tree, bounds), Bound(lower_bound(merged), "a bound that needs no solver")
    )
    for right in (False, True):
        race.offer(ObliqueTree.constant(topology, problem.n_features, right=right))
    instance = Instance.of(merged, topology, bounds, race.bound.value)

    def explore(first_round: int, seconds: float) -> int:
        return search(
            instance,
            race,
            lambda tree: race.offer(mend(merged, tree, bounds)),
            lambda tree, until: polish(merged, tree, bounds, until),
            seed=settings.seed,
            n_jobs=settings.n_jobs,
            first_round=first_round,
            seconds=seconds,
        )

    contender = (
        None
        if solver is None
        else Contender(
            solver,
            threads=settings.n_jobs,
            seed=settings.seed,
            size=p2_size(merged.n_labeled, merged.n_unlabeled, merged.n_features, topology.depth),
            build=lambda: build_lean(merged, topology, bounds),
            encode=lambda milp, tree: encode_tree(milp, merged, tree),
            decode=lambda milp, x: mend(merged, decode_tree(milp, x, topology), bounds),
        )
    )
    compete(race, explore, contender)
    return _finish(race, problem, scaling, bounds)


def _prepare(problem: Problem, depth: int, weight_bound: float | None, scale: bool) -> tuple[Scaling, Bounds]:
    """The scaling to model units, and the constants of P2 there, for the problem with its equal rows merged.

    Solvers drop entries below 1e-9. Multiplying tiny features by a power of 2 and dividing s by it gives the same P2
    in numbers they keep.
    """
    scaling = Scaling.paper(problem.X) if scale else Scaling.identity(problem.n_features)
    bounds = compute_bounds(scaling.scale_problem(problem).merged(), depth, weight_bound)
    if bounds.M > LARGEST_M:
        raise InvalidProblem(
            f"Expected features and a weight bound of moderate size, got ones that make M = {bounds.M:.3g}, beyond "
            f"{LARGEST_M:.0g}, where a distance of 1 is lost in rounding. Use scaling='paper' or a smaller bound."
        )
    if 0 < bounds.eta < TINY:
        factor = 2.0 ** -math.floor(math.log2(bounds.eta))
        scaling = scaling.times(factor)
        bounds = compute_bounds(scaling.scale_problem(problem).merged(), depth, bounds.s / factor)
    return scaling, bounds


def _finish(race: Race, problem: Problem, scaling: Scaling, bounds: Bounds) -> Trained:
    """The winner in the user's units, certified on the user's rows."""
    tree = scaling.to_user(race.winner)
    certificate = certify(
        problem,
        tree,
        bounds,
        race.bound,
        seconds=race.elapsed,
        history=tuple(race.history),
        scale=scaling.scale,
    )
    return Trained(tree, certificate)


def train_plain(problem: Problem, settings: Settings) -> Trained:
    """Hand the literal P2 to a solver alone, as the paper does; trees and costs are still checked here."""
    solver = load_solver(settings.solver or "highs")
    race = Race(settings.time_limit, settings.verbose)
    topology = Topology(settings.depth or paper_depth(problem.n_rows), problem.n_classes)
    scaling, bounds = _prepare(problem, topology.depth, None, scale=True)
    scaled = scaling.scale_problem(problem)
    bounds = replace(bounds, problem=scaled)
    race.open(lambda tree: feasible_cost(scaled, tree, bounds), NOT_NEGATIVE)
    contender = Contender(
        solver,
        threads=settings.n_jobs,
        seed=settings.seed,
        size=p2_size(scaled.n_labeled, scaled.n_unlabeled, scaled.n_features, topology.depth),
        build=lambda: build_p2(scaled, topology, bounds),
        encode=lambda milp, tree: encode_tree(milp, scaled, tree),
        decode=lambda milp, x: mend(scaled, decode_tree(milp, x, topology), bounds),
    )
    solve_alone(race, contender)
    # A solver may end without any tree; the constant one is there without it.
    for right in (False, True):
        race.offer(ObliqueTree.constant(topology, problem.n_features, right=right))
    return _finish(race, problem, scaling, bounds)


def train_octh(problem: Problem, settings: Settings, octh: OcthSettings) -> TrainedOcth:
    """Fit a tree to OCT-H over the labeled rows; scaling sees all rows."""
    solver = load_solver(settings.solver) if settings.solver is not None else None
    compile_kernels()
    race = Race(settings.time_limit, settings.verbose)
    scaling = Scaling.unit(problem.X)
    scaled = scaling.scale_problem(problem)
    depth = settings.depth or paper_depth(problem.n_rows)
    topology = Topology(depth, min(problem.n_classes, 2**depth))

    def cost(tree: ObliqueTree) -> float | None:
        claim = certify_octh(scaled, tree, octh, race.bound, seconds=0.0)
        return claim.objective if claim.feasible else None

    race.open(cost, Bound(0.0, "the least number of errors there is"))
    race.offer(with_majority_classes(scaled, ObliqueTree.constant(topology, problem.n_features, right=True)))

    def explore(first_round: int, seconds: float) -> int:
        return search_octh(scaled, topology, octh, race, seed=settings.seed, first_round=first_round, seconds=seconds)

    contender = (
        None
        if solver is None
        else Contender(
            solver,
            threads=settings.n_jobs,
            seed=settings.seed,
            size=octh_size(problem.n_labeled, problem.n_features, problem.n_classes, topology.depth),
            build=lambda: build_octh(scaled, topology, octh),
            encode=lambda milp, tree: encode_octh(milp, scaled, tree, octh),
            decode=lambda milp, x: decode_octh(milp, x, scaled, topology, octh),
            attainable=lambda bound: attainable_cost(scaled, octh, bound),
        )
    )
    compete(race, explore, contender)
    tree = scaling.to_user(race.winner)
    certificate = certify_octh(
        problem, tree, octh, race.bound, seconds=race.elapsed, history=tuple(race.history), scaling=scaling
    )
    return TrainedOcth(tree, certificate)
