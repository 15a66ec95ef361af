"""The path of trees from the simplest to the richest: what each further feature saves in rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

from s2oct.model.evidence import Evidence, EvidenceCost
from s2oct.model.prepared import Columns, widened_tree
from s2oct.model.rules import pruned
from s2oct.model.tree import ObliqueTree
from s2oct.search import ExactSearch
from s2oct.stopping import NO_DEADLINE, Deadline

PRICES = (32.0, 16.0, 8.0, 4.0, 2.0, 1.0, 0.5, 0.25, 0.0)
"""Prices of a term at which trees are found, where 1 is that of the fit."""

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
        Evidence against it beyond that of the richest tree of the path, in rows; rows off the totals count at their
        price.
    rows_off : float
        Rows by which it misses the totals.
    rules : str
        The tree as text.
    bound : float
        No tree as simple as this one, over the questions of the fit, loses fewer rows.
    term_price : float, optional
        Rows that a term had to save when this tree was found; None for the tree of the fit itself.
    evidence_bound : float
        What every tree over the questions of the fit costs at least at this price.
    """

    tree: ObliqueTree
    n_terms: int
    n_splits: int
    rows_lost: float
    rows_off: float
    rules: str
    bound: float
    term_price: float | None = None
    evidence_bound: float = 0.0


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
        lines = ["terms  splits  rows lost  at least  rows off"]
        lines += [
            f"{step.n_terms:5d}  {step.n_splits:6d}  {step.rows_lost:9.1f}  {step.bound:8.1f}  {step.rows_off:8g}"
            f"{'  the fitted tree' if step is self.fitted else ''}"
            for step in shown
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        terms = ", ".join(str(step.n_terms) for step in self._steps)
        return f"<SimplicityPath of {f'trees with {terms} terms' if terms else 'no trees'}>"


@dataclass(frozen=True, eq=False)
class Simplification:
    """What is needed to find the trees of a path after the fit.

    Attributes
    ----------
    evidence : Evidence
        What classes cost rows, in the user's units.
    search : ExactSearch
        The search of the fit, whose questions the trees of the path have.
    fitted : ObliqueTree
        The tree of the fit, over the columns that it may use.
    fitted_cost : EvidenceCost
        What it costs.
    columns : tuple of int or None
        The columns that the tree may use; the rows have these alone.
    n_features : int
        Number of all columns.
    """

    evidence: Evidence
    search: ExactSearch
    fitted: ObliqueTree
    fitted_cost: EvidenceCost
    columns: Columns
    n_features: int

    def path(self, write_rules: Callable[[ObliqueTree], str], deadline: Deadline = NO_DEADLINE) -> SimplicityPath:
        """The best tree for each number of terms.

        At a price per term the search finds the best tree and a bound. With n terms, no tree costs less than that bound
        without the price of n terms: the largest such bound over all prices holds. Trees that save nothing against
        simpler ones are left out.

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
        steps = [self._step(self.fitted, self.fitted_cost, None, 0.0)]
        bounds: list[tuple[float, float]] = []
        for factor in PRICES:
            if deadline.passed:
                break
            price = factor * self.search.term_price
            search = self.search.at_price(price, deadline)
            found = search.run(propose=False)
            bounds.append((price, found.bound))
            steps += [self._step(tree, self.evidence.cost_of(tree), price, found.bound) for tree in search.frontier()]
        kept: list[_Tree] = []
        # Of trees with as many terms, the fitted one comes first unless another is better by more than it is worth.
        for step in sorted(steps, key=lambda step: (step.cost.terms, step.lost - WORTH * (step is steps[0]))):
            if not kept or step.lost < kept[-1].lost - WORTH:
                kept.append(step)
        least = kept[-1].lost

        def as_step(step: _Tree) -> SimplicityStep:
            bound = max((total - price * step.cost.price for price, total in bounds), default=0.0)
            widened = widened_tree(step.tree, self.columns, self.n_features)
            return SimplicityStep(
                tree=widened,
                n_terms=step.cost.terms,
                n_splits=len(pruned(step.tree).splits),
                rows_lost=step.lost - least,
                rows_off=step.cost.off,
                rules=write_rules(widened),
                bound=max(min(bound, step.lost) - least, 0.0),
                term_price=step.price,
                evidence_bound=step.bound,
            )

        shown = {id(step): as_step(step) for step in (*kept, steps[0])}
        return SimplicityPath([shown[id(step)] for step in kept], shown[id(steps[0])])

    def _step(self, tree: ObliqueTree, cost: EvidenceCost, price: float | None, bound: float) -> _Tree:
        return _Tree(tree, cost, cost.rows + self.evidence.row_off * cost.off, price, bound)


@dataclass(frozen=True, eq=False)
class _Tree:
    """A tree, what it costs, what it loses in rows, the price of a term at which it was found, and the bound there."""

    tree: ObliqueTree
    cost: EvidenceCost
    lost: float
    price: float | None
    bound: float
