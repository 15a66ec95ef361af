"""A fit from end to end: scale, bound, search, solve, certify. The only module that knows all rooms."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

from s2oct.arrays import FloatArray
from s2oct.bounds import compute_bounds, lower_bound, paper_depth
from s2oct.certificate import Certificate, OCTHCertificate, certify, certify_octh
from s2oct.errors import ModelTooLarge, S2OCTWarning, SolverLicenceError
from s2oct.feasibility import feasible_cost, mend
from s2oct.memory import require_memory
from s2oct.milp.encode import decode_tree, encode_tree
from s2oct.milp.lean import build_lean
from s2oct.milp.model import Milp
from s2oct.milp.octh import OcthSettings, build_octh, decode_octh, encode_octh, with_majority_classes
from s2oct.milp.size import ModelSize, octh_size, p2_size
from s2oct.problem import Problem
from s2oct.race import Bound, Race
from s2oct.scaling import Scaling
from s2oct.solvers import Limits, Solver, Termination, load_solver, solve_in_worker
from s2oct.topology import Topology
from s2oct.tree import ObliqueTree

FINISH_SECONDS = 0.05
"""Kept back from the solver for the way from its last tree to the certificate."""


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
    race = Race(lambda tree: None, Bound(0.0, "nothing yet"), settings.time_limit, settings.verbose)
    scaling = Scaling.paper(problem.X) if scale else Scaling.identity(problem.n_features)
    scaled = scaling.scale_problem(problem)
    merged = scaled.merged()
    topology = Topology(settings.depth or paper_depth(problem.n_rows), problem.n_classes)
    bounds = compute_bounds(merged, topology.depth, weight_bound)
    race.bound = Bound(lower_bound(merged), "a bound that needs no solver")
    race.cost = lambda tree: feasible_cost(merged, tree, bounds)
    for right in (False, True):
        race.offer(ObliqueTree.constant(topology, problem.n_features, right=right))
    if solver is not None:
        _solve(
            race,
            solver,
            settings,
            size=p2_size(merged.n_labeled, merged.n_unlabeled, merged.n_features, topology.depth),
            build=lambda: build_lean(merged, topology, bounds),
            encode=lambda milp, tree: encode_tree(milp, merged, tree),
            decode=lambda milp, x: mend(merged, decode_tree(milp, x, topology), bounds),
        )
    tree = scaling.to_user(_winner(race))
    return Trained(
        tree,
        certify(scaled, scaling.to_model(tree), bounds, race.bound, seconds=race.elapsed, history=tuple(race.history)),
    )


def train_octh(problem: Problem, settings: Settings, octh: OcthSettings) -> TrainedOcth:
    """Fit a tree to OCT-H over the labeled rows; scaling sees all rows."""
    solver = load_solver(settings.solver) if settings.solver is not None else None
    scaling = Scaling.unit(problem.X)
    scaled = scaling.scale_problem(problem)
    topology = Topology(settings.depth or paper_depth(problem.n_rows), min(problem.n_classes, 2))

    def cost(tree: ObliqueTree) -> float | None:
        claim = certify_octh(scaled, tree, octh, Bound(0.0, ""), seconds=0.0)
        return claim.objective if claim.feasible else None

    race = Race(cost, Bound(0.0, "no tree errs less than never"), settings.time_limit, settings.verbose)
    constant = ObliqueTree.constant(topology, problem.n_features, right=True)
    race.offer(with_majority_classes(scaled, constant))
    if solver is not None and not race.is_over:
        _solve(
            race,
            solver,
            settings,
            size=octh_size(problem.n_labeled, problem.n_features, problem.n_classes, topology.depth),
            build=lambda: build_octh(scaled, topology, octh),
            encode=lambda milp, tree: encode_octh(milp, scaled, tree, octh),
            decode=lambda milp, x: decode_octh(milp, x, scaled, topology, octh),
        )
    tree = scaling.to_user(_winner(race))
    return TrainedOcth(
        tree,
        certify_octh(
            scaled, scaling.to_model(tree), octh, race.bound, seconds=race.elapsed, history=tuple(race.history)
        ),
    )


def _winner(race: Race) -> ObliqueTree:
    if race.best is None:
        raise AssertionError("a constant tree is feasible, so the race cannot end without one")
    return race.best


def _solve(
    race: Race,
    solver: Solver,
    settings: Settings,
    *,
    size: ModelSize,
    build: Callable[[], Milp],
    encode: Callable[[Milp, ObliqueTree], FloatArray],
    decode: Callable[[Milp, FloatArray], ObliqueTree],
) -> None:
    """Let a solver improve on the best tree and raise the bound, for the time that is left."""
    if race.is_over:
        return
    try:
        require_memory(size.n_bytes, f"The model for {solver.name}")
        milp = build()
        limits = Limits(max(race.seconds_left - FINISH_SECONDS, 0.01), settings.n_jobs, settings.seed)
        listener = _Listener(race, solver.name, milp, encode, decode)
        result = solve_in_worker(solver, milp, limits=limits, listener=listener, start=encode(milp, _winner(race)))
    except (SolverLicenceError, ModelTooLarge, MemoryError) as error:
        reason = str(error) or "There is no memory for the model."
        warnings.warn(f"{reason} The tree is the best that was found without it.", S2OCTWarning, stacklevel=4)
        return
    except KeyboardInterrupt:
        _warn_interrupted(race)
        return
    if result.x is not None:
        listener.incumbent(result.x)
    listener.bound(result.dual_bound)
    if result.termination is Termination.INTERRUPTED and not race.is_decided:
        _warn_interrupted(race)


def _warn_interrupted(race: Race) -> None:
    warnings.warn(
        f"The fit was interrupted after {race.elapsed:.1f} s: the tree is the best found so far, of cost "
        f"{race.best_cost:.6g}; the lower bound is {race.bound.value:.6g}.",
        S2OCTWarning,
        stacklevel=5,
    )


class _Listener:
    """Hands a solver's trees and bounds to the race, and the race's better trees to the solver."""

    def __init__(
        self,
        race: Race,
        name: str,
        milp: Milp,
        encode: Callable[[Milp, ObliqueTree], FloatArray],
        decode: Callable[[Milp, FloatArray], ObliqueTree],
    ) -> None:
        self._race, self._name, self._milp, self._encode, self._decode = race, name, milp, encode, decode
        self._known = race.best

    def incumbent(self, x: FloatArray) -> None:
        tree = self._decode(self._milp, x)
        if self._race.offer(tree):
            self._known = tree

    def bound(self, value: float) -> None:
        self._race.raise_bound(value, f"the bound of {self._name}")

    def should_stop(self) -> bool:
        return self._race.is_over

    def suggestion(self) -> FloatArray | None:
        best = self._race.best
        if best is None or best is self._known:
            return None
        self._known = best
        return self._encode(self._milp, best)
