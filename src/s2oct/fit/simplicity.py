"""The path of trees from the simplest to the richest: what each further feature saves in rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import overload

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.model.columns import Columns, widened_tree
from s2oct.model.evidence import AUTO_TERM_SHARE, Evidence, Sparsity
from s2oct.model.rounding import as_rules
from s2oct.model.scaling import Scaling
from s2oct.model.tree import ObliqueTree
from s2oct.search import EvidenceSearch
from s2oct.stopping import NO_DEADLINE, Deadline

PRICES = (64.0, 32.0, 16.0, 8.0, 4.0, 2.0, 1.0, 0.5, 0.25, 0.0)
"""Prices of a term at which trees are fitted, where 1 is the automatic price."""


@dataclass(frozen=True, eq=False)
class SimplicityStep:
    """One tree of the path.

    Attributes
    ----------
    tree : ObliqueTree
        The tree, in the user's units.
    n_terms : int
        Features over all its splits.
    n_splits : int
        Splits that have features.
    rows_lost : float
        Evidence against it beyond that of the best tree of the path, in rows.
    rows_off : float
        Rows by which it misses the totals.
    """

    tree: ObliqueTree
    n_terms: int
    n_splits: int
    rows_lost: float
    rows_off: float


class SimplicityPath(Sequence[SimplicityStep]):
    """Trees from the simplest to the richest; printed, a table of what each loses.

    Parameters
    ----------
    steps : sequence of SimplicityStep
        The trees, each with more terms and less evidence against it than the one before.
    """

    def __init__(self, steps: Sequence[SimplicityStep]) -> None:
        self._steps = tuple(steps)

    @overload
    def __getitem__(self, index: int) -> SimplicityStep: ...
    @overload
    def __getitem__(self, index: slice) -> SimplicityPath: ...
    def __getitem__(self, index: int | slice) -> SimplicityStep | SimplicityPath:
        found = self._steps[index]
        return SimplicityPath(found) if isinstance(found, tuple) else found

    def __len__(self) -> int:
        return len(self._steps)

    def __iter__(self) -> Iterator[SimplicityStep]:
        return iter(self._steps)

    def __str__(self) -> str:
        lines = ["terms  splits  rows lost  rows off"]
        lines += [
            f"{step.n_terms:5d}  {step.n_splits:6d}  {step.rows_lost:9.1f}  {step.rows_off:8g}" for step in self._steps
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<SimplicityPath of {len(self)} trees with {self[0].n_terms} to {self[-1].n_terms} terms>"


@dataclass(frozen=True, eq=False)
class Simplification:
    """What is needed to fit the trees of a path after the fit.

    Attributes
    ----------
    evidence : Evidence
        What classes cost rows, in model units.
    scaling : Scaling
        The map from the user's units to those of the model.
    rows : ndarray of shape (n + m, p)
        The rows in the user's units.
    columns : tuple of int or None
        The columns that the tree may use; the rows have these alone.
    n_features : int
        Number of all columns.
    sparsity : Sparsity
        As in the fit; its price is replaced.
    seed : int
        Seed of the fit.
    """

    evidence: Evidence
    scaling: Scaling
    rows: FloatArray
    columns: Columns
    n_features: int
    sparsity: Sparsity
    seed: int

    def path(self, deadline: Deadline = NO_DEADLINE) -> SimplicityPath:
        """Fit trees at several prices of a term, and keep those that no simpler tree matches."""
        found: list[tuple[int, float, ObliqueTree]] = []
        for factor in PRICES:
            price = factor * AUTO_TERM_SHARE * self.evidence.n_given
            search = EvidenceSearch(self.evidence, replace(self.sparsity, term_price=price), self.seed, deadline)
            tree = as_rules(self.scaling.to_user(search.run()[0]), self.rows)
            cost = self.evidence.cost_of(self.scaling.to_model(tree))
            # To be off the totals counts as much as evidence here: a path shows what simplicity costs.
            found.append((cost.terms, cost.rows + cost.off, tree))
            if deadline.passed:
                break
        steps: list[SimplicityStep] = []
        least = min(rows for _, rows, _ in found)
        for terms, rows, tree in sorted(found, key=lambda entry: entry[:2]):
            if not steps or rows < steps[-1].rows_lost + least - 0.5:
                off = self.evidence.cost_of(self.scaling.to_model(tree)).off
                steps.append(
                    SimplicityStep(
                        widened_tree(tree, self.columns, self.n_features),
                        terms,
                        int(np.count_nonzero(tree.omega.any(axis=1))),
                        rows - least,
                        off,
                    )
                )
        return SimplicityPath(steps)
