"""The search for OCT-H: node fits and annealing that know gaps and leaf sizes, from CART and from random splits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from s2oct._core import OcthAnnealer
from s2oct.arrays import FloatArray, IntArray
from s2oct.milp.octh import OcthSpec, with_majority_classes
from s2oct.model.problem import Problem
from s2oct.model.targets import Targets
from s2oct.model.topology import Topology
from s2oct.model.tree import ObliqueTree
from s2oct.search.alternating import alternating_start
from s2oct.search.instance import Instance
from s2oct.search.octh_form import standard_form
from s2oct.search.octh_nodes import errors_of, refitted
from s2oct.search.octh_starts import cart_start, random_start
from s2oct.stopping import Deadline

KINDS = ("cart", "random", "best", "random", "alternating", "best", "random", "best")
"""Where the rounds start, in turn."""

VISITS, FEWEST_VISITS, WORK, MOVES = 4000, 400, 1.5e6, 100
"""Visits of a round, fewer where visits times rows are more than the work; and moves of a visit."""

HEATS, SHALLOW_HEATS, COLD = (0.15, 0.3, 0.3, 0.9), (0.3, 0.9), 0.05
"""Temperatures at the start, drawn for every round, in trees of depth 1 or 2 from the second ones; and at the end.
A row in a wrong leaf costs 2. Long hot searches lose their splits, and find few splits again sooner than many."""

SETTLING, SETTLED = (0.1, 0.02), 30.0
"""Temperatures of the last part of a round, and what a row in the middle of a gap costs there: no row may stay."""

AGAIN = (0.1, 0.2)
"""Temperatures at the start from the best tree."""

REFITTING = 0.1
"""Share of the time that is left for the node fits of one tree."""

PROMISING = 1.1
"""A round's tree is refitted if it has at most this many times the errors of the best tree."""

SPARSE, DENSE, DENSE_GAP = (1.0, 2.0, 4.0), (1.0, 2.0, 4.0, 10.0, 30.0), 1.5
"""What a row in the middle of a gap costs, drawn for every round. Where rows that are spread evenly would have this
many in a gap, they are dense, and more is needed to keep gaps free."""

RESTS = 1e-9
"""A cost that is rounding errors."""

STRETCH = 2e6
"""Moves and leaves times rows between two looks at the clock."""


@dataclass(frozen=True, eq=False)
class OcthSearch:
    """A search for trees of OCT-H over the labeled rows of a problem whose features lie in [0, 1]."""

    problem: Problem
    topology: Topology
    spec: OcthSpec
    seed: int

    def first_trees(self, deadline: Deadline) -> Iterator[ObliqueTree]:
        """CART's trees in OCT-H's form, and after node fits. The first one has the errors of CART if there are gaps."""
        for criterion in ("gini", "entropy"):
            tree = self.form(*cart_start(self.problem, self.topology, self.spec, criterion, self.seed), deadline)
            yield tree
            yield self.refitted(tree, deadline)

    @cached_property
    def cart_errors(self) -> float:
        """How many labeled rows CART misclassifies, whose splits need no gaps."""
        omega, gamma = cart_start(self.problem, self.topology, self.spec, seed=self.seed)
        tree = ObliqueTree(self.topology, omega, gamma, self.topology.leaf_classes)
        return errors_of(self.problem, with_majority_classes(self.problem, tree))

    def run_round(self, number: int, best: ObliqueTree | None, deadline: Deadline) -> ObliqueTree:
        """Anneal once from some hyperplanes; the tree in OCT-H's form."""
        rng = np.random.default_rng([self.seed, number])
        omega, gamma = self.start(number, best, rng, deadline)
        tree = self.form(*self.annealed(omega, gamma, number, rng, deadline), deadline)
        if best is not None and errors_of(self.problem, tree) <= PROMISING * errors_of(self.problem, best):
            return self.refitted(tree, deadline)
        return tree

    def refitted(self, tree: ObliqueTree, deadline: Deadline) -> ObliqueTree:
        """The tree after node fits, which get a part of the time that is left."""
        return refitted(self.problem, self.spec, tree, deadline.within(REFITTING * deadline.seconds_left))

    def form(self, omega: FloatArray, gamma: FloatArray, deadline: Deadline) -> ObliqueTree:
        """A tree of OCT-H near given hyperplanes."""
        return standard_form(self.problem, self.topology, self.spec, omega, gamma, deadline)

    def start(
        self, number: int, best: ObliqueTree | None, rng: np.random.Generator, deadline: Deadline
    ) -> tuple[FloatArray, FloatArray]:
        """The hyperplanes from which a round starts."""
        kind = KINDS[number % len(KINDS)]
        if kind == "best" and best is not None:
            return best.omega.copy(), best.gamma.copy()
        if kind == "cart":
            criterion = ("gini", "entropy")[number // len(KINDS) % 2]
            return cart_start(self.problem, self.topology, self.spec, criterion, number)
        if kind == "alternating" and self.topology.n_classes == 2:
            return alternating_start(self.instance, rng, deadline)
        return random_start(self.problem, self.topology, rng)

    def annealed(
        self, omega: FloatArray, gamma: FloatArray, number: int, rng: np.random.Generator, deadline: Deadline
    ) -> tuple[FloatArray, FloatArray]:
        """The cheapest hyperplanes of an annealing, first at a low price of rows in gaps, then at a high one."""
        leaf_classes = self.leaf_classes(omega, gamma, rng)
        n_visits = int(np.clip(WORK / self.problem.n_labeled, FEWEST_VISITS, VISITS))
        heats = HEATS if self.topology.depth > 2 else SHALLOW_HEATS
        hot = float(rng.choice(AGAIN if KINDS[number % len(KINDS)] == "best" else heats))
        is_dense = self.problem.n_labeled * self.spec.mu > DENSE_GAP
        in_gap = float(rng.choice(DENSE if is_dense else SPARSE))
        annealer = OcthAnnealer(
            self.instance.XT,
            self.problem.labels,
            self.instance.sizes,
            leaf_classes,
            float(self.spec.min_leaf),
            0.5 * self.spec.mu,
            int(rng.integers(1, 2**62)),
        )
        best = np.array(omega, order="C"), np.where(omega.any(axis=1), gamma, 0.0)
        stretch = max(int(STRETCH / ((MOVES + self.topology.n_leaves) * self.problem.n_labeled)), 1)
        for n, ends, price in ((n_visits, (hot, COLD), in_gap), (n_visits // 3, SETTLING, SETTLED)):
            cost = annealer.anneal(
                *best,
                n_visits=n,
                moves_per_visit=MOVES,
                heats=ends,
                in_gap=price,
                too_few=1.0,
                stretch=stretch,
                stop=lambda: deadline.passed,
            )
            if cost <= RESTS:
                break
        return best

    def leaf_classes(self, omega: FloatArray, gamma: FloatArray, rng: np.random.Generator) -> IntArray:
        """The most frequent class of each leaf; of two leaves below one node with one class, one gets another class."""
        tree = ObliqueTree(self.topology, omega, gamma, self.topology.leaf_classes)
        classes = with_majority_classes(self.problem, tree).leaf_classes.copy()
        for left in range(0, len(classes), 2):
            if classes[left] == classes[left + 1]:
                others = np.delete(np.arange(self.problem.n_classes), classes[left])
                classes[left + int(rng.integers(2))] = rng.choice(others)
        return classes

    @cached_property
    def instance(self) -> Instance:
        """The labeled rows for the node fits, which know neither gaps nor leaf sizes."""
        return Instance(
            topology=self.topology,
            XT=np.ascontiguousarray(self.problem.X_labeled.T),
            labels=self.problem.labels,
            sizes=self.problem.labeled_multiplicity,
            targets=Targets.exact(np.zeros(self.problem.n_classes), 0),
            charges=np.zeros((0, self.problem.n_classes)),
            row_off=1.0,
            s=1.0,
            quanta=np.zeros(self.problem.n_features),
            floor=0.0,
        )
