"""Compile the kernels before the clock of a fit starts."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.caching import folder_of
from s2oct.milp.octh import OcthSpec
from s2oct.model import routing
from s2oct.model.evidence import Evidence, Sparsity
from s2oct.model.problem import Problem
from s2oct.model.targets import Targets
from s2oct.model.topology import Topology
from s2oct.model.tree import ObliqueTree
from s2oct.search.annealing import Schedule, State, anneal, clear_offsets
from s2oct.search.compiled.stretches import anneal_stretch
from s2oct.search.descent import Descent, descend
from s2oct.search.evidence import EvidenceSearch
from s2oct.search.instance import Instance
from s2oct.search.octh import OcthSearch
from s2oct.stopping import NO_DEADLINE


@cache
def compile_kernels() -> None:
    """Compile the kernels, or load them from the cache on disk, once per process.

    The first fit on a machine takes about half a minute for this. The user's time limit does not pay for it: a fit
    that spent its limit on compiling would return the constant tree.
    """
    try:
        _run_kernels_once()
    except Exception:
        # The cache stores names of the kernels' types. numba cannot read what another version of this package has
        # written, and does not look at the version before it tries.
        _forget_compiled_kernels()
        _run_kernels_once()


def kernels_are_ready() -> bool:
    """Whether this process has compiled or loaded the kernels."""
    return compile_kernels.cache_info().currsize > 0


def kernels_are_kept() -> bool:
    """Whether the next process finds the compiled kernels on disk."""
    return folder_of(anneal_stretch) is not None


def _forget_compiled_kernels() -> None:
    """Delete the indexes of the cache on disk, so that everything is compiled anew."""
    for folder in filter(None, (folder_of(anneal_stretch), folder_of(routing.leaves))):
        for index in Path(folder).glob("*.nbi"):
            with suppress(OSError):
                index.unlink()


def _run_kernels_once() -> None:
    rows = np.array([[0.0, 1.0, 2.0, 3.0]])
    tiny = Instance(
        topology=Topology(1),
        XT=rows,
        labels=np.array([0, 1]),
        sizes=np.ones(4),
        targets=Targets.exact([1, 1], 2),
        charges=np.zeros((2, 2)),
        row_off=1.0,
        s=10.0,
        quanta=np.array([2.0]),
        floor=0.0,
    )
    state = State.at(np.zeros((1, 1)), np.ones(1))
    anneal(tiny, state, Schedule(1), 0, NO_DEADLINE)
    clear_offsets(tiny, state, 0, NO_DEADLINE)
    descend(tiny, (state.omega, state.gamma), Descent(1), np.random.default_rng(0), NO_DEADLINE)
    # Rows lie in memory by rows or by columns.
    for X in (rows.T, np.ascontiguousarray(np.vstack([rows, rows]))):
        wide = ObliqueTree.constant(Topology(1), X.shape[1], right=True)
        wide.path_margin(X), wide.apply(X), wide.distances(X), wide.values(X)
        wide.cheapest_leaves(X, np.zeros(len(X), dtype=np.int64))
    # Two classes, and three: then the classes below a node are chosen, too.
    for n_classes in (2, 3):
        _run_evidence_once(rows, n_classes)
    _run_octh_once()


def _run_evidence_once(rows: FloatArray, n_classes: int) -> None:
    evidence = Evidence(
        X=rows.T,
        cost=3.0 * (np.arange(4)[:, None] % n_classes != np.arange(n_classes)),
        size=np.array([0.0, 0.0, 1.0, 1.0]),
        targets=Targets.exact([1, 1, 0][:n_classes], 2),
        topology=Topology(n_classes - 1, n_classes),
        least_off=0.0,
        n_given=4.0,
    )
    EvidenceSearch(evidence, Sparsity(), 0, NO_DEADLINE).run()


def _run_octh_once() -> None:
    # With a deadline, compiling the first kernel would leave no time for the second.
    problem = Problem.from_arrays(np.array([[0.0], [0.1], [0.9], [1.0]]), ["a", "a", "b", "b"])
    OcthSearch(problem, Topology(1), OcthSpec(min_leaf=1), 0).run_round(1, None, NO_DEADLINE)
