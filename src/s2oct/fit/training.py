"""From a problem to a certified tree, of P2 or of OCT-H: what the estimators and the study call."""

from __future__ import annotations

from dataclasses import dataclass, replace

from s2oct.certificate import Certificate, OCTHCertificate, certify, certify_octh
from s2oct.fit.fitting import LARGEST_M, Fit, Guidance, Settings, Trained, certified, prepare
from s2oct.fit.incumbent import Race
from s2oct.fit.portfolio import Contender, compete, solve_alone
from s2oct.milp.encode import decode_tree, encode_tree
from s2oct.milp.octh import OcthSettings, attainable_cost, build_octh, decode_octh, encode_octh, with_majority_classes
from s2oct.milp.p2 import build_p2
from s2oct.milp.size import octh_size, p2_size
from s2oct.model.bounds import lower_bound, paper_depth
from s2oct.model.feasibility import feasible_cost, mend
from s2oct.model.problem import Problem
from s2oct.model.proof import NOT_NEGATIVE, Bound
from s2oct.model.scaling import Scaling
from s2oct.model.topology import Topology
from s2oct.model.tree import ObliqueTree
from s2oct.search import compile_kernels, search_octh
from s2oct.solvers import load_solver


@dataclass(frozen=True, eq=False)
class TrainedOcth:
    """An OCT-H tree in the user's units and what is proved of it."""

    tree: ObliqueTree
    certificate: OCTHCertificate
    scaling: Scaling


def train(
    problem: Problem,
    settings: Settings,
    *,
    weight_bound: float | None = None,
    scale: bool = True,
    guidance: Guidance | None = None,
) -> Trained:
    """Fit a tree to P2, guided or not.

    Ctrl-C ends the fit early; the best tree so far is returned with a warning.

    Parameters
    ----------
    weight_bound : float, optional
        s; the paper's rule if None, raised where a guide has weight and the rows are too dense.
    scale : bool
        Scale the features as the paper does.
    """
    solver = load_solver(settings.solver) if settings.solver is not None else None
    compile_kernels()
    race = Race(settings.time_limit, settings.verbose)
    topology = Topology(settings.depth or paper_depth(problem.n_rows), problem.n_classes)
    scaling, bounds = prepare(problem, topology.depth, weight_bound, scale)
    fit = Fit(problem, settings, solver, race, topology, scaling, bounds)
    if guidance is None or not problem.n_unlabeled:
        return fit.without_guide()
    if guidance.weight == 0:
        return fit.breaking_ties(guidance)
    return fit.guided(guidance, may_raise_s=weight_bound is None)


def recertify(
    problem: Problem, tree: ObliqueTree, claimed: Certificate, *, scale: bool = True
) -> tuple[Certificate, float]:
    """The certificate of a tree in the user's units for P2, recomputed, and the lower bound that needs no solver.

    Taken from what is claimed are s, which says what P2 was solved, the lower bound and who said so, and the time and
    history of the fit. The guide is no part of P2.
    """
    scaling, bounds = prepare(problem, tree.topology.depth, None, scale)
    bounds = replace(bounds, s=min(claimed.weight_bound, LARGEST_M))
    found = certify(
        problem,
        tree,
        bounds,
        Bound(claimed.lower_bound, claimed.bound_source),
        seconds=claimed.seconds,
        history=claimed.history,
        scale=scaling.scale,
    )
    return found, lower_bound(bounds.problem)


def train_plain(problem: Problem, settings: Settings) -> Trained:
    """Hand the literal P2 to a solver alone, as the paper does; trees and costs are still checked here."""
    solver = load_solver(settings.solver or "highs")
    race = Race(settings.time_limit, settings.verbose)
    topology = Topology(settings.depth or paper_depth(problem.n_rows), problem.n_classes)
    scaling, bounds = prepare(problem, topology.depth, None, scale=True)
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
    return certified(race, problem, scaling, bounds, race.winner, [], p2_bound=race.bound, seconds=race.elapsed)


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
    return TrainedOcth(tree, certificate, scaling)
