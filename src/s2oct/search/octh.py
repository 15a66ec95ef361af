"""The search for OCT-H: the same annealing on the labeled rows alone, and trees in the form that OCT-H needs."""

from __future__ import annotations

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.milp.octh import OcthSpec, with_majority_classes
from s2oct.model.problem import Problem
from s2oct.model.targets import Targets
from s2oct.model.topology import Topology
from s2oct.model.tree import ObliqueTree
from s2oct.search.annealing import Schedule, State, anneal
from s2oct.search.instance import Instance
from s2oct.search.rounds import round_length
from s2oct.search.starts import axis_start
from s2oct.stopping import Deadline


def run_octh_round(
    problem: Problem, topology: Topology, spec: OcthSpec, seed: int, number: int, deadline: Deadline
) -> ObliqueTree:
    """Anneal once from random splits.

    A margin of 1 with |omega|_1 <= 2 / mu is OCT-H's gap once omega is divided by its 1-norm. A labeled row costs at
    most the cap, so that errors are counted rather than measured.
    """
    rng = np.random.default_rng([seed, number])
    # The box that fits into the 1-norm ball is safe; larger boxes are tried as well, and checked afterwards.
    s = 2 / spec.mu / problem.n_features ** rng.choice([0.5, 0.75, 1.0])
    instance = _labeled_instance(problem, topology, s)
    state = State.at(*axis_start(instance, rng))
    cap = float(rng.choice([2.2, 4.0]))
    deadline = deadline.sooner(instance.step_seconds)
    anneal(instance, state, Schedule(round_length(instance, number), cap=cap), int(rng.integers(2**31)), deadline)
    return standard_form(problem, topology, spec, state.best_omega, state.best_gamma)


def _labeled_instance(problem: Problem, topology: Topology, s: float) -> Instance:
    return Instance(
        topology=topology,
        XT=np.ascontiguousarray(problem.X_labeled.T),
        labels=problem.labels,
        sizes=problem.labeled_multiplicity,
        targets=Targets.exact(np.zeros(problem.n_classes), 0),
        charges=np.zeros((0, problem.n_classes)),
        row_off=1.0,
        s=s,
        quanta=np.zeros(problem.n_features),
        floor=0.0,
    )


def standard_form(
    problem: Problem, topology: Topology, spec: OcthSpec, omega: FloatArray, gamma: FloatArray
) -> ObliqueTree:
    """A tree in OCT-H's form: |a|_1 = 1 where a node splits, and no node splits below a node that does not.

    From the top down, every offset moves into the nearest gap of width mu between the labeled rows that reach the node,
    with enough of them on both sides. A node without such a gap is removed. Its child on the side of most rows takes
    its place and gets all its rows.
    """
    new_omega = np.zeros_like(omega)
    new_gamma = np.full_like(gamma, -spec.mu / 2)

    def place(source: int, target: int, rows: IntArray) -> None:
        if source >= topology.n_leaves or target >= topology.n_leaves:
            return
        size = float(np.abs(omega[source - 1]).sum())
        values = problem.X_labeled[rows] @ omega[source - 1]
        sizes = problem.labeled_multiplicity[rows]
        offset = _nearest_gap(values / size, sizes, gamma[source - 1] / size, spec) if size > 0 else None
        if offset is None:
            to_the_right = float(sizes[values > gamma[source - 1]].sum()) > 0.5 * float(sizes.sum())
            place(2 * source + int(to_the_right), target, rows)
            return
        new_omega[target - 1], new_gamma[target - 1] = omega[source - 1] / size, offset
        right = values / size > offset
        place(2 * source, 2 * target, rows[~right])
        place(2 * source + 1, 2 * target + 1, rows[right])

    place(1, 1, np.arange(problem.n_labeled))
    return with_majority_classes(problem, ObliqueTree(topology, new_omega, new_gamma, topology.leaf_classes))


def _nearest_gap(values: FloatArray, sizes: FloatArray, offset: float, spec: OcthSpec) -> float | None:
    """The nearest offset in a gap that is mu wide and has enough rows on both sides; None without such a gap."""
    order = np.argsort(values, kind="stable")
    ordered, below = values[order], np.cumsum(sizes[order])[:-1]
    enough = max(spec.min_leaf, 1)
    # Slightly more than mu, so that rounding does not undo it.
    wide = np.diff(ordered) >= spec.mu * (1 + 1e-9)
    usable = np.flatnonzero(wide & (below >= enough) & (float(sizes.sum()) - below >= enough))
    if not len(usable):
        return None
    low, high = ordered[usable], ordered[usable + 1]
    # Within a gap the offset stays where it is, as far as the rows beside it allow.
    nearest = np.clip(offset, low + spec.mu / 2, high - spec.mu / 2)
    return float(nearest[np.abs(nearest - offset).argmin()])
