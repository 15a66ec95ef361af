"""The path of trees from the simplest to the richest: what each further feature saves in rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import overload

from s2oct.arrays import FloatArray
from s2oct.model.evidence import AUTO_TERM_SHARE, Evidence, EvidenceCost, Sparsity
from s2oct.model.features import Feature
from s2oct.model.prepared import Columns, Scaling, widened_tree
from s2oct.model.rules import TreeSize, as_rules
from s2oct.model.tree import ObliqueTree
from s2oct.search import EvidenceSearch
from s2oct.stopping import NO_DEADLINE, Deadline

PRICES = (64.0, 32.0, 16.0, 8.0, 4.0, 2.0, 1.0, 0.5, 0.25, 0.0)
"""Prices of a term at which trees are fitted, where 1 is the automatic price."""

WORTH = 0.5
"""Rows that a richer tree must save to be on the path."""


@dataclass(frozen=True, eq=False)
class SimplicityStep:
    """One tree of the path.

    Attributes
    ----------
    tree : ObliqueTree
        The tree, in the user's units.
    n_terms : int
        Columns in its splits, added up over the splits.
    n_splits : int
        Splits that decide something.
    rows_lost : float
        Evidence against it beyond that of the best tree of the path, in rows; a row off the totals counts as one.
    rows_off : float
        Rows by which it misses the totals.
    rules : str
        The tree as text.
    term_price : float, optional
        Rows that a feature had to save when this tree was fitted; None for the tree of the fit itself.
    """

    tree: ObliqueTree
    n_terms: int
    n_splits: int
    rows_lost: float
    rows_off: float
    rules: str
    term_price: float | None = None


class SimplicityPath(Sequence[SimplicityStep]):
    """Trees from the simplest to the richest; printed, a table of what each loses.

    Parameters
    ----------
    steps : sequence of SimplicityStep
        The trees, each with more terms and less evidence against it than the one before.
    fitted : SimplicityStep
        The tree of the fit. It is one of the steps, unless a simpler tree has no more evidence against it.
    """

    def __init__(self, steps: Sequence[SimplicityStep], fitted: SimplicityStep) -> None:
        self._steps = tuple(steps)
        self.fitted = fitted

    @overload
    def __getitem__(self, index: int) -> SimplicityStep: ...
    @overload
    def __getitem__(self, index: slice) -> SimplicityPath: ...
    def __getitem__(self, index: int | slice) -> SimplicityStep | SimplicityPath:
        found = self._steps[index]
        return SimplicityPath(found, self.fitted) if isinstance(found, tuple) else found

    def __len__(self) -> int:
        return len(self._steps)

    def __iter__(self) -> Iterator[SimplicityStep]:
        return iter(self._steps)

    def __str__(self) -> str:
        shown = self._steps if self.fitted in self._steps else (*self._steps, self.fitted)
        lines = ["terms  splits  rows lost  rows off"]
        lines += [
            f"{step.n_terms:5d}  {step.n_splits:6d}  {step.rows_lost:9.1f}  {step.rows_off:8g}"
            f"{'  the fitted tree' if step is self.fitted else ''}"
            for step in shown
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        terms = ", ".join(str(step.n_terms) for step in self._steps)
        return f"<SimplicityPath of {f'trees with {terms} terms' if terms else 'no trees'}>"


@dataclass(frozen=True, eq=False)
class Simplification:
    """What is needed to fit the trees of a path after the fit.

    Attributes
    ----------
    evidence : Evidence
        What classes cost rows, in model units.
    fitted : ObliqueTree
        The tree of the fit in the user's units, over the columns that it may use.
    fitted_cost : EvidenceCost
        What it costs.
    scaling : Scaling
        The map from the user's units to those of the model.
    rows : ndarray of shape (n + m, p)
        The rows in the user's units.
    columns : tuple of int or None
        The columns that the tree may use; the rows have these alone.
    features : tuple of Feature
        The features of all columns.
    sparsity : Sparsity
        As in the fit; its price is replaced.
    seed : int
        Seed of the fit.
    """

    evidence: Evidence
    fitted: ObliqueTree
    fitted_cost: EvidenceCost
    scaling: Scaling
    rows: FloatArray
    columns: Columns
    features: tuple[Feature, ...]
    sparsity: Sparsity
    seed: int

    def path(self, write_rules: Callable[[ObliqueTree], str], deadline: Deadline = NO_DEADLINE) -> SimplicityPath:
        """Fit trees at several prices of a term, and keep those that no simpler tree matches.

        Parameters
        ----------
        write_rules : callable
            From a tree over all columns to its text.
        deadline : Deadline
            When to end with the trees so far.

        Returns
        -------
        SimplicityPath
            The trees, the fitted one among them unless a simpler one matches it.
        """
        fitted = self._step(self.fitted, self.fitted_cost, write_rules)
        found = [fitted, *self._at_all_prices(write_rules, deadline)]
        kept: list[SimplicityStep] = []
        # Of trees with as many terms, the fitted one comes first unless another is better by more than it is worth.
        for step in sorted(found, key=lambda step: (step.n_terms, step.rows_lost - WORTH * (step is fitted))):
            if not kept or step.rows_lost < kept[-1].rows_lost - WORTH:
                kept.append(step)
        least = kept[-1].rows_lost
        against_best = {id(step): replace(step, rows_lost=step.rows_lost - least) for step in (*kept, fitted)}
        return SimplicityPath([against_best[id(step)] for step in kept], against_best[id(fitted)])

    def _at_all_prices(self, write_rules: Callable[[ObliqueTree], str], deadline: Deadline) -> Iterator[SimplicityStep]:
        for factor in PRICES:
            if deadline.passed:
                return
            price = factor * AUTO_TERM_SHARE * self.evidence.n_given
            search = EvidenceSearch(self.evidence, replace(self.sparsity, term_price=price), self.seed, deadline)
            tree = search.run()
            # The rules keep every row in its leaf, so that the cost stays.
            rules = as_rules(self.scaling.to_user(tree), self.rows)
            yield replace(self._step(rules, self.evidence.cost_of(tree), write_rules), term_price=price)

    def _step(self, tree: ObliqueTree, cost: EvidenceCost, write_rules: Callable[[ObliqueTree], str]) -> SimplicityStep:
        """A tree over the columns that it may use as a step; what it costs stands for what it loses."""
        widened = widened_tree(tree, self.columns, len(self.features))
        size = TreeSize.of_tree(widened, self.features)
        return SimplicityStep(
            tree=widened,
            n_terms=size.n_terms,
            n_splits=size.n_splits,
            rows_lost=cost.rows + cost.off,
            rows_off=cost.off,
            rules=write_rules(widened),
        )
