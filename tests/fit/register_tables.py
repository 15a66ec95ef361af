"""Registers that are small enough to count by hand: the sample has few rows, and so have the batches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from s2oct.evidence.evidence import Evidence
from s2oct.fit.register import Register
from s2oct.fit.register_passes import TreeCounts, settle_totals
from s2oct.problem.batches import ArrayBatches, added_up
from s2oct.problem.known import Known, read_known
from s2oct.problem.problem import Problem
from s2oct.stopping import NO_DEADLINE, Deadline
from s2oct.tables.encoding import plain_encoding
from s2oct.trees.tree import ObliqueTree, Topology

N_LABELED = 40

PLAIN = plain_encoding(["x0", "x1", "x2"])
"""How the columns of these tables become features."""


@dataclass(frozen=True)
class Table:
    """Rows, of which the first ones are labeled by default, and what is known about the others."""

    X: Any
    y: Any
    totals: Any
    options: dict[str, Any]

    @property
    def known(self) -> Known:
        return read_known(self.X, self.y, self.totals, None, **self.options)

    def register(self, most: int = 150, batch_rows: int = 400) -> Register:
        known = self.known
        found = Register.of_arrays(known.of_counted(self.X), known, seed=3, most=most)
        assert isinstance(found.batches, ArrayBatches)
        return replace(found, batches=replace(found.batches, batch_rows=batch_rows))


def table(n_rows: int = 2000, *, whole_numbers: bool = False, labeled_last: bool = False, **options: Any) -> Table:
    """Two classes, three features; the total is the number of unlabeled rows of class A."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 8, size=(n_rows, 3)).astype(float) if whole_numbers else rng.normal(size=(n_rows, 3))
    truth = np.where(X[:, 0] + X[:, 1] > X.mean() * 2 + 0.3, "A", "B").astype(object)
    known = slice(-N_LABELED, None) if labeled_last else slice(N_LABELED)
    y = np.full(n_rows, None, dtype=object)
    y[known] = truth[known]
    return Table(X, y, {"A": int((truth[[label is None for label in y]] == "A").sum())}, options)


def sample_of(register: Register) -> Problem:
    """The sample of a register as a problem."""
    return Problem.from_known(register.rows, register.known)


def tree_for(register: Register) -> ObliqueTree:
    """A tree of two last-level splits that was not fitted: it misses the total."""
    middle = float(np.median(register.rows[:, 2]))
    omega = np.array([[0.0, 0.0, 1.0], [-1.0, -1.0, 0.0], [-1.0, -0.5, 0.0]])
    center = register.rows.mean(axis=0)
    return ObliqueTree.of(Topology(2), omega, np.array([middle, omega[1] @ center, omega[2] @ center]))


def settle(
    register: Register, tree: ObliqueTree | None = None, deadline: Deadline = NO_DEADLINE
) -> tuple[ObliqueTree, TreeCounts | None]:
    """Settle a tree on a register without a guide, at any price of a row off; the tree and its counts."""
    tree = tree_for(register) if tree is None else tree
    evidence = Evidence.of(sample_of(register), tree.topology, 0.25, total_price=np.inf)
    settled, counts, _ = settle_totals(register, tree, evidence, deadline, 0.0)
    return settled, counts


def counts_by_hand(register: Register, tree: ObliqueTree) -> Any:
    """Rows of each domain and class, one by one."""
    assert isinstance(register.batches, ArrayBatches)
    counts = np.zeros((len(register.targets.low) // register.targets.n_classes, register.targets.n_classes))
    for batch in register.batches:
        for row, size, domains in zip(batch.X, batch.sizes, batch.domains.T, strict=True):
            for domain in domains:
                counts[domain, int(tree.predict(row[None, :])[0])] += size
    return counts


class Reordered:
    """The batches of another source in another order."""

    n_readers = 1

    def __init__(self, batches: Any, order: list[int]) -> None:
        self._batches, self._order = list(batches), order

    def total(self, part: Any, deadline: Deadline) -> Any:
        return added_up([self._batches[k] for k in self._order], part, deadline)
