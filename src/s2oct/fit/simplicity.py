"""Other trees than the fitted one: the simplicity path, and trees that cost no more."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.evidence.evidence import Evidence, EvidenceCost
from s2oct.evidence.exact import ExactSearch, Found
from s2oct.fit.context import COMPARING, FitContext
from s2oct.p2.costs import Assignment, feasible_score, mended, score
from s2oct.p2.instance import Instance
from s2oct.p2.prepared import Columns, Prepared, widened_tree
from s2oct.p2.proof import DECIDED_TOLERANCE, INTERRUPTED, TIME_LIMIT
from s2oct.p2.rounds import descends, run_round
from s2oct.stopping import NO_DEADLINE, Deadline
from s2oct.trees.rules import as_rules, pruned
from s2oct.trees.tree import ObliqueTree
from s2oct.wording import percentage, plural


@dataclass(frozen=True)
class PathParams:
    """Effort of a simplicity path.

    Attributes
    ----------
    prices : tuple of float
        Term prices at which trees are found, as multiples of the term price of the fit: each halves the one before.
    few_prices : tuple of float
        The same for one of many fits: the path should not take much longer than the fit itself.
    worth : float
        Minimum number of rows of evidence that a richer tree must save to be on the path.
    """

    prices: tuple[float, ...] = (32.0, 16.0, 8.0, 4.0, 2.0, 1.0, 0.5, 0.25, 0.0)
    few_prices: tuple[float, ...] = (16.0, 4.0, 1.0, 0.25)
    worth: float = 0.5


PARAMS = PathParams()


@dataclass(frozen=True, eq=False)
class SimplicityStep:
    """One tree of the path.

    Attributes
    ----------
    tree : ObliqueTree
        The tree, in the user's units.
    n_terms : int
        Number of columns in the splits, summed over the splits.
    n_splits : int
        Number of splits that separate rows.
    agreement : float
        Share of the unlabeled rows on which the tree agrees with the guide's preferred class.
    accuracy, accuracy_se : float
        Expected share of correctly classified unlabeled rows, from labels held out of guide and tree, and its standard
        error; NaN if the tree was not assessed.
    evidence_gap : float
        Evidence against the tree minus that against the richest tree of the path, in rows: contradicted labels and
        guide, and rows off the totals, at their prices.
    rows_off : float
        Rows by which the tree misses the totals.
    rules : str
        The tree as text.
    gap_bound : float
        Lower bound on the gap of every tree that is as simple, over the questions of the fit.
    term_price : float, optional
        The term price at which this tree was found; None for the tree of the fit itself.
    evidence_bound : float
        Lower bound on the cost of every tree over the questions of the fit at this price.
    """

    tree: ObliqueTree
    n_terms: int
    n_splits: int
    agreement: float
    evidence_gap: float
    rows_off: float
    rules: str
    gap_bound: float
    accuracy: float = math.nan
    accuracy_se: float = math.nan
    term_price: float | None = None
    evidence_bound: float = 0.0


class SimplicityPath(Sequence[SimplicityStep]):
    """Trees from the simplest to the richest; prints as a table.

    Parameters
    ----------
    steps : sequence of SimplicityStep
        The trees, each with more terms and less evidence against it than the one before.
    fitted : SimplicityStep
        The tree of the fit. It is one of the steps, unless a simpler tree has no more evidence against it.
    recommended : SimplicityStep, optional
        The simplest tree whose accuracy is within one standard error of the best; None if no tree was assessed.
    """

    def __init__(
        self, steps: Sequence[SimplicityStep], fitted: SimplicityStep, recommended: SimplicityStep | None = None
    ) -> None:
        self._steps = tuple(steps)
        self.fitted, self.recommended = fitted, recommended

    @property
    def with_fitted(self) -> tuple[SimplicityStep, ...]:
        """All trees by their number of terms, including the fitted one."""
        fitted = () if self.fitted in self._steps else (self.fitted,)
        return tuple(sorted((*self._steps, *fitted), key=lambda step: step.n_terms))

    @overload
    def __getitem__(self, index: int) -> SimplicityStep: ...
    @overload
    def __getitem__(self, index: slice) -> SimplicityPath: ...
    def __getitem__(self, index: int | slice) -> SimplicityStep | SimplicityPath:
        found = self._steps[index]
        return SimplicityPath(found, self.fitted, self.recommended) if isinstance(found, tuple) else found

    def __len__(self) -> int:
        return len(self._steps)

    def __iter__(self) -> Iterator[SimplicityStep]:
        return iter(self._steps)

    def __str__(self) -> str:
        lines = ["terms  splits          accuracy  agreement  rows off"]
        for step in self.with_fitted:
            accuracy = (
                "-"
                if math.isnan(step.accuracy)
                else f"{percentage(step.accuracy, 1)} ± {percentage(step.accuracy_se, 1)}"
            )
            marks = ("the fitted tree", step is self.fitted), ("recommended", step is self.recommended)
            agreement = "-" if math.isnan(step.agreement) else percentage(step.agreement, 1)
            numbers = f"{step.n_terms:5d}  {step.n_splits:6d}  {accuracy:>16s}  {agreement:>9s}  {step.rows_off:8g}"
            lines.append(f"{numbers}  {', '.join(name for name, is_marked in marks if is_marked)}".rstrip())
        return "\n".join(lines)

    def __repr__(self) -> str:
        terms = ", ".join(str(step.n_terms) for step in self._steps)
        return f"<SimplicityPath of {f'trees with {terms} terms' if terms else 'no trees'}>"


@dataclass(frozen=True, eq=False)
class EvidenceFit:
    """A fit of the evidence model, which can also find simpler and richer trees.

    Attributes
    ----------
    evidence : Evidence
        The cost of each class for each row, in the user's units.
    search : ExactSearch
        The search of the fit; the trees of the path use its questions.
    found : Found
        The result of the search: the fitted tree, over the columns that it may use, and what is proved.
    is_complete : bool
        Whether the evidence is complete: the guide answered, or there are no unlabeled rows to ask about.
    columns : tuple of int or None
        The columns that trees may use; the rows have only these columns.
    n_features : int
        Number of all columns.
    """

    evidence: Evidence
    search: ExactSearch
    found: Found
    is_complete: bool
    columns: Columns
    n_features: int

    @cached_property
    def cost(self) -> EvidenceCost:
        """Cost of the fitted tree."""
        return self.evidence.cost_of(self.found.tree)

    @cached_property
    def others(self) -> list[ObliqueTree]:
        """Other trees that are as good as the fitted one and differ on some row, up to a maximum number."""
        rows, others = self.evidence.X, []
        for tree in self.search.others():
            if not self.evidence.is_as_good(self.evidence.cost_of(tree), self.cost):
                break
            if not np.array_equal(tree.predict(rows), self.found.tree.predict(rows)):
                others.append(tree)
            if len(others) == POOL.enough:
                break
        return others

    def path(
        self,
        write_rules: Callable[[ObliqueTree], str],
        agreement: Callable[[ObliqueTree], float],
        deadline: Deadline = NO_DEADLINE,
    ) -> SimplicityPath:
        """Find the best tree for each number of terms.

        At each term price, the search finds the best tree and a lower bound. This bound minus the price of n terms is a
        lower bound for trees with n terms, and the largest over all prices is used. Trees that save nothing compared
        with simpler ones are left out.

        Parameters
        ----------
        write_rules : callable
            Returns the text of a tree over all columns.
        agreement : callable
            Returns the share of unlabeled rows on which a tree over all columns agrees with the guide.
        deadline : Deadline
            When to end with the trees so far.

        Returns
        -------
        SimplicityPath
            The trees, the fitted one among them unless a simpler one matches it.
        """
        fitted, kept, bounds = self._trees(PARAMS.prices, deadline)
        least = kept[-1].against

        def as_step(step: _Tree) -> SimplicityStep:
            bound = max((total - price * step.cost.price for price, total in bounds), default=0.0)
            widened = self._widened(step.tree)
            return SimplicityStep(
                tree=widened,
                n_terms=step.cost.terms,
                n_splits=len(pruned(step.tree).splits),
                agreement=agreement(widened),
                evidence_gap=step.against - least,
                rows_off=step.cost.off,
                rules=write_rules(widened),
                gap_bound=max(min(bound, step.against) - least, 0.0),
                term_price=step.price,
                evidence_bound=step.bound,
            )

        shown = {id(step): as_step(step) for step in (*kept, fitted)}
        return SimplicityPath([shown[id(step)] for step in kept], shown[id(fitted)])

    def frontier(self, deadline: Deadline = NO_DEADLINE) -> list[tuple[int, ObliqueTree]]:
        """Terms and trees of a path, simplest first, found at fewer prices: for one of many fits."""
        _, kept, _ = self._trees(PARAMS.few_prices, deadline)
        return [(step.cost.terms, self._widened(step.tree)) for step in kept]

    def _trees(
        self, factors: Sequence[float], deadline: Deadline
    ) -> tuple[_Tree, list[_Tree], list[tuple[float, float]]]:
        """The fitted tree, the trees of the path, and each term price with the bound at this price."""
        steps = [self._step(self.found.tree, self.cost, None, 0.0)]
        bounds: list[tuple[float, float]] = []
        for factor in factors:
            if deadline.passed:
                break
            price = factor * self.search.term_price
            search = self.search.at_price(price, deadline)
            found = search.run(propose=False)
            bounds.append((price, found.bound))
            steps += [self._step(tree, self.evidence.cost_of(tree), price, found.bound) for tree in search.frontier()]
        kept: list[_Tree] = []
        # Among trees with equal numbers of terms, the fitted one comes first unless another saves enough.
        for step in sorted(steps, key=lambda step: (step.cost.terms, step.against - PARAMS.worth * (step is steps[0]))):
            if not kept or step.against < kept[-1].against - PARAMS.worth:
                kept.append(step)
        return steps[0], kept, bounds

    def _widened(self, tree: ObliqueTree) -> ObliqueTree:
        return widened_tree(tree, self.columns, self.n_features)

    def _step(self, tree: ObliqueTree, cost: EvidenceCost, price: float | None, bound: float) -> _Tree:
        return _Tree(tree, cost, self.evidence.against(cost), price, bound)


@dataclass(frozen=True, eq=False)
class _Tree:
    """A tree, its cost, the evidence against it in rows, the term price at which it was found, and the bound."""

    tree: ObliqueTree
    cost: EvidenceCost
    against: float
    price: float | None
    bound: float


@dataclass(frozen=True)
class PoolParams:
    """Effort of the search for other trees that cost no more. The user is waiting for the tree, which is final.

    Attributes
    ----------
    most, enough : int
        Maximum number of trees, and minimum number for a meaningful stability.
    most_rounds, fruitless_rounds : int
        Maximum number of rounds, and of fruitless rounds in a row.
    least_seconds, least_seconds_guided : float
        Seconds without and with a guide, whose P2 is harder to search; if the fit took longer, the seconds of the fit.
    longest_seconds : float
        Maximum seconds.
    """

    most: int = 20
    enough: int = 5
    most_rounds: int = 100
    fruitless_rounds: int = 10
    least_seconds: float = 0.05
    least_seconds_guided: float = 2.0
    longest_seconds: float = 5.0


POOL = PoolParams()


def equally_good(prepared: Prepared, tree: ObliqueTree, context: FitContext) -> list[ObliqueTree]:
    """Find trees that cost no more than this one in P2, each from its own start and without the guide."""
    clock, seed = context.clock, context.budget.seed + 1
    if clock.is_over:
        return []
    context.listener.stage(COMPARING)
    cost = score(Assignment.of(prepared.problem, tree), prepared.spec).objective + DECIDED_TOLERANCE
    instance = Instance.of(prepared.without_guide(), cost)
    least = POOL.least_seconds if prepared.problem.guide is None else POOL.least_seconds_guided
    until = clock.deadline(min(max(clock.elapsed, least), POOL.longest_seconds))
    found: list[ObliqueTree] = []
    last = -1
    for number in range(POOL.most_rounds):
        if len(found) >= POOL.most or number - last > POOL.fruitless_rounds or until.passed:
            break
        by_descents = descends(instance, number, descents_lead=False)
        for candidate in reversed(run_round(instance, seed, number, until, by_descents=by_descents)):
            assignment = mended(prepared, candidate)
            scored = feasible_score(prepared, assignment)
            if scored is not None and scored.objective <= cost:
                found.append(assignment.tree)
                last = number
                break
    return found


def distinct(trees: Iterable[ObliqueTree], rows: FloatArray, fitted: ObliqueTree) -> tuple[ObliqueTree, ...]:
    """The trees whose predictions differ from those of the fitted tree and of all trees before them, as rules."""
    seen: list[IntArray] = [fitted.predict(rows)]
    kept = []
    for tree in trees:
        classes = tree.predict(rows)
        if not any(np.array_equal(classes, known) for known in seen):
            seen.append(classes)
            kept.append(as_rules(tree, rows))
    return tuple(kept)


def all_starts_agree(ended: str, *, weighed: bool) -> bool:
    """Whether finding no other tree means that there is none: the search of the evidence model ran to its end."""
    return weighed and ended not in (INTERRUPTED, TIME_LIMIT)


def too_few_others(n_found: int, ended: str, *, weighed: bool) -> str:
    """Explain why the stability is uncertain or unknown; empty if enough other trees were found."""
    if n_found >= POOL.enough:
        return ""
    which = "as good" if weighed else "of no higher cost"
    if not n_found and ended == INTERRUPTED:
        return "The stability of rows is not known: the fit was interrupted before it looked for other trees."
    if not n_found and all_starts_agree(ended, weighed=weighed):
        return (
            "The search led to no other tree as good from any of its starts: every row counts as stable, though trees "
            "that were not found may differ."
        )
    if not n_found:
        return f"The stability of rows is not known: the fit found no other tree {which}."
    return (
        f"The stability of rows comes from {plural(n_found, 'other tree')} {which}, and at least {POOL.enough} are "
        "wanted: trees that were not found may differ on further rows."
    )


def agreement(prepared: Prepared, tree: ObliqueTree, others: list[ObliqueTree]) -> FloatArray:
    """Share of other trees that agree with a tree in the user's units, per unlabeled row; NaN without other trees."""
    rows = prepared.given.X_unlabeled
    if not others:
        return np.full(len(rows), np.nan)
    chosen = tree.predict(rows)
    return np.asarray(np.mean([prepared.scaling.to_user(other).predict(rows) == chosen for other in others], axis=0))
