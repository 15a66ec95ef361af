"""The search of the evidence model: exact trees over questions, and directions proposed in the regions of the best one.

1. Start with questions about single columns.
2. Find the best tree over the questions so far. The prices of the cells are multipliers of their totals, bounded by
   the price of a row off. At fixed prices the best tree is exact, and its cost is a lower bound. Cutting planes find
   the prices with the largest bound. All trees found on the way are candidates.
3. If the best candidate costs more than the bound, search all trees in between.
4. Propose sums of few columns in the regions of the best tree, and return to 2 until nothing improves.

Work is counted, so results do not depend on the machine's speed: the clock is only a limit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from s2oct._core import Questions, cheapest_tree, exact_tree, sparse_directions
from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.evidence.evidence import ANY_PRICE, LEVEL_PRICE, Evidence, EvidenceSpec, split_price
from s2oct.evidence.questions import Question, Sum, offset_between, single_questions
from s2oct.problem.batches import ContentOrder, content_order, marks
from s2oct.problem.totals import rows_beyond_bounds
from s2oct.solvers.program import LinearProgram
from s2oct.stopping import Deadline
from s2oct.trees.features import columns_of
from s2oct.trees.tree import ObliqueTree
from s2oct.wording import plural

TIE = 1e-7
"""Costs that differ by less count as equal, because sums over many rows have rounding errors."""


@dataclass(frozen=True)
class SearchParams:
    """Effort of a search.

    Attributes
    ----------
    n_rounds : int
        Maximum number of rounds that propose directions.
    n_steps : int
        Maximum number of price vectors per round at which a tree is found.
    most_work : float
        Approximate maximum of rows read per round: for one tree, and for all trees between bound and best tree.
    proof_work : float
        The same if every split has one column, so that a proof covers all such trees.
    easy_depth : int
        Up to this depth, trees are found from histograms of pairs of questions.
    n_deep_steps, deep_work : int, float
        Steps and work for deeper trees, unless a proof is wanted, which takes much longer.
    any_price_share : float
        Share of ``most_work`` for deep trees that must meet the totals at any price: prices alone seldom lead to them.
    few_rows, most_cuts : int
        Up to this number of rows, all cuts of every question are tried; with more rows, this number of cuts per
        question, and later the cuts next to the best ones.
    most_questions : int
        Maximum number of questions about single columns, those whose best cut costs least: all pairs of more questions
        would not fit into memory.
    n_kept : int
        Number of proposed directions kept per region.
    most_rows : int
        Approximate maximum of rows per region used to propose directions.
    n_nudges, nudge_work : int, float
        Maximum number of cuts of a tree that are moved towards the totals, and of rows times cells for one of them.
    """

    n_rounds: int = 3
    n_steps: int = 30
    most_work: float = 1e9
    proof_work: float = 4e9
    easy_depth: int = 2
    n_deep_steps: int = 3
    deep_work: float = 0.0
    any_price_share: float = 0.1
    few_rows: int = 1024
    most_cuts: int = 31
    most_questions: int = 400
    n_kept: int = 4
    most_rows: int = 4000
    n_nudges: int = 4
    nudge_work: float = 2e7


@dataclass(frozen=True, eq=False)
class Candidate:
    """A tree over questions."""

    questions: IntArray  # (n_branches,) question of each node, -1 for none
    cuts: IntArray  # (n_branches,) last answer that goes left
    leaf_classes: IntArray  # (n_leaves,)
    leaves: IntArray  # (N,) node id of the leaf of each row
    fixed: float  # rows against the tree plus the price of its splits
    counts: FloatArray  # (n_cells,)
    total: float  # fixed plus the price of rows off
    depth: int

    @property
    def classes(self) -> IntArray:
        """Class of each row, shape (N,)."""
        return np.asarray(self.leaf_classes[self.leaves - len(self.leaf_classes)])

    def reaching(self, node: int) -> IntArray:
        """The rows that reach a node."""
        levels_below = len(self.leaf_classes).bit_length() - node.bit_length()
        return np.flatnonzero(self.leaves >> levels_below == node)

    def at(self, prices: FloatArray) -> float:
        """Cost of the tree with prices of cells instead of the price of rows off."""
        return self.fixed + float(prices @ self.counts)


@dataclass(frozen=True, eq=False)
class Found:
    """The result of a search.

    Attributes
    ----------
    tree : ObliqueTree
        The best tree, with short decimals as offsets.
    middle : ObliqueTree
        The same tree with offsets halfway between the rows.
    cost, bound : float
        Total cost of the tree, and a lower bound for all trees over the questions.
    single_cost, single_bound : float
        The same for trees with one column per split.
    n_questions : int
        Number of questions that the bound covers.
    is_complete : bool
        Whether the bound covers all trees with one column per split, the maximum that the user allows.
    single_is_complete : bool
        Whether the bound for trees with one column per split covers all of them.
    n_cuts : int or None
        Number of cuts per question that the bound covers; None for all.
    """

    tree: ObliqueTree
    middle: ObliqueTree
    cost: float
    bound: float
    single_cost: float
    single_bound: float
    n_questions: int
    is_complete: bool
    single_is_complete: bool
    n_cuts: int | None

    @property
    def among(self) -> str:
        """The trees that the bound covers, in words."""
        depth = f"trees of depth {self.tree.topology.depth}"
        if self.is_complete:
            return f"{depth} with one feature per split"
        cuts = "" if self.n_cuts is None else f", at {self.n_cuts} cuts each"
        covered = f"{depth} over {plural(self.n_questions, 'question')} about the features{cuts}"
        if not self.n_questions:
            return f"{depth}, where no column splits the rows"
        behind = self.single_cost - self.cost
        if not self.single_is_complete or self.single_cost > self.single_bound + 4 * TIE or behind < 0.05:
            return covered
        return (
            f"{covered} (the best one with one feature per split has {plural(round(behind, 1), 'row')} more against it)"
        )

    @property
    def is_proved(self) -> bool:
        """Whether no tree over the questions costs less."""
        return self.cost <= self.bound + 4 * TIE


class ExactSearch:
    """A search over trees of one problem.

    Parameters
    ----------
    evidence : Evidence
        The cost of each class for each row, in the user's units.
    spec : EvidenceSpec
        The user's choices about trees.
    deadline : Deadline
        When to end with the best tree so far.
    params : SearchParams
        Effort of the search.
    """

    def __init__(
        self, evidence: Evidence, spec: EvidenceSpec, deadline: Deadline, params: SearchParams | None = None
    ) -> None:
        self.order = _order_of(evidence, deadline)
        # The order of the user's rows and columns must not decide between trees of equal cost.
        self.evidence = evidence = evidence.arranged(self.order.rows, self.order.classes)
        self.spec, self.deadline = spec, deadline
        self.params = params or SearchParams()
        self.term_price = spec.price_of(evidence.total_size)
        self.most = spec.most_of(len(columns_of(evidence.features)))
        self.first_cells, self.bounds = _cells(evidence)
        self.questions, self.many_levels = single_questions(
            evidence.X, evidence.features, self.order.columns, self.order.signs
        )
        self.seen: set[tuple[object, ...]] = set()
        self.pool: list[Candidate] = []
        self.prices = np.zeros(len(self.bounds[0]))
        self.is_thorough = self.most == 1
        self.is_screened = len(self.questions) > self.params.most_questions
        if self.is_screened:
            costs = np.array([question.best_cut_cost(evidence.cost) for question in self.questions])
            kept = np.sort(np.argsort(costs, kind="stable")[: self.params.most_questions])
            self.questions = [self.questions[q] for q in kept]
        self.n_settled = 0
        self._binned: list[IntArray] = []
        self._last: list[IntArray] = []

    # ---- the loop ----

    def run(self, report: Callable[[ObliqueTree], object] | None = None, *, propose: bool = True) -> Found:
        """Find the best tree; ``report`` receives the best tree so far, and ``propose`` allows further questions."""
        # 1. Complete the questions about single columns. Columns with many levels are ordered by the evidence of all
        #    rows, because questions about all sets of their levels would be too many.
        all_rows = np.arange(self.evidence.n_rows)
        for extra in self._leanings(all_rows):
            self._add_level_orders(all_rows, extra)
        # 2. and 3. Find the best tree over these questions, by prices of the cells and then among all trees between
        #    bound and best tree. Keep cost and bound: they show what sums of columns gain.
        bound = self._settle()
        single_cost, single_bound = self.best.total, bound
        # 4. Propose sums of columns in the regions of the best tree, where they can improve it, and return to 2. Every
        #    round but the first ends the loop if it brings no improvement.
        for number in range(self.params.n_rounds if propose else 0):
            if report is not None:
                report(self.tree(self.best))
            before = self.best.total
            if not self._propose(fresh=number == 0) or self.deadline.passed:
                break
            bound = self._settle()
            if number and self.best.total > before - TIE:
                break
        # 5. Return the best tree, and state which trees the bounds cover: with bins, screening or many levels, not all.
        #    Identical rows give another lower bound, which may be larger.
        is_binned = not self.is_thorough and self.evidence.n_rows > self.params.few_rows
        covers_all = not self.many_levels and not self.is_screened
        least = self.evidence.bound + self.evidence.row_off * self.evidence.least_off
        return Found(
            tree=self.tree(self.best),
            middle=self.tree(self.best, middle=True),
            cost=self.best.total,
            bound=min(max(bound, least), self.best.total),
            single_cost=single_cost,
            single_bound=min(max(single_bound, least), single_cost),
            n_questions=self.n_settled,
            is_complete=self.most == 1 and covers_all,
            single_is_complete=covers_all and not is_binned,
            n_cuts=self.params.most_cuts if is_binned else None,
        )

    def at_price(self, term_price: float, deadline: Deadline) -> ExactSearch:
        """Return a search over the same questions with another term price."""
        search = copy(self)
        search.spec, search.term_price = replace(self.spec, term_price=term_price), term_price
        search.deadline, search.many_levels, search.pool = deadline, [], []
        search._binned, search._last = [*self._binned], [*self._last]
        return search

    def frontier(self) -> Iterator[ObliqueTree]:
        """Yield the cheapest tree found for each price of splits."""
        cheapest: dict[float, Candidate] = {}
        for candidate in self.pool:
            price = round(self._split_prices(candidate.questions, candidate.cuts), 6)
            known = cheapest.get(price)
            if known is None or candidate.total < known.total:
                cheapest[price] = candidate
        yield from map(self.tree, cheapest.values())

    def others(self) -> Iterator[ObliqueTree]:
        """Yield all trees found, cheapest first."""
        for candidate in sorted(self.pool, key=lambda candidate: candidate.total):
            yield self.tree(candidate)

    @property
    def best(self) -> Candidate:
        """The cheapest tree so far."""
        return min(self.pool, key=lambda candidate: candidate.total)

    # ---- the best tree over the questions so far ----

    def _settle(self) -> float:
        """Find the best tree and a lower bound for all trees over the questions.

        Deeper trees take much longer to find, and start from the prices that are best for depth 2.
        """
        evidence, depth = self.evidence, self.evidence.topology.depth
        self.n_settled = len(self.questions)  # proposals may be cut off after the last bound
        self._widen_bins()
        core = Questions(
            np.array(self._binned, dtype=np.int32).reshape(-1, evidence.n_rows),
            self._question_prices,
            self._level_prices,
            evidence.multiplicity,
            float(self.spec.min_rows),
        )
        if not self.pool:
            self.pool.append(self._one_class())
        if depth > self.params.easy_depth:
            self._settle_at(core, self.params.easy_depth)
        return self._settle_at(core, depth)

    def _settle_at(self, core: Questions, depth: int) -> float:
        """Do the same for trees of one depth, at most the depth of the topology."""
        is_easy = depth <= self.params.easy_depth
        work = self.params.most_work if is_easy else self.params.deep_work
        if self.is_thorough:
            work = self.params.proof_work
        master = TotalPrices(self.bounds, self.evidence.targets.n_classes, self.evidence.row_off)
        known = [candidate for candidate in self.pool if candidate.depth <= depth]
        for candidate in known:
            master.add(candidate.fixed, candidate.counts)
        least, best_prices, prices = -np.inf, self.prices, self.prices
        for _ in range(self.params.n_steps if is_easy or self.is_thorough else self.params.n_deep_steps):
            cost = self._priced(prices)
            upper = min((known_tree.at(prices) for known_tree in known), default=np.inf)
            found = exact_tree(core, cost, depth, upper - TIE, work, self._stop)
            at_prices = min(found[1], upper) - master.constant(prices)
            if at_prices > least:
                least, best_prices = at_prices, prices
            if np.isfinite(found[0]):
                candidate = self._candidate(found[2], self._fine(found[2], found[3]), found[4])
                master.add(candidate.fixed, candidate.counts)
                known.append(candidate)
                self.pool += [candidate, *self._nudged(candidate)]
            if self.best.total - least < 4 * TIE or self.deadline.passed:
                break
            prices, reachable = master.solve(self.deadline)
            if reachable - least < 4 * TIE:
                break
        self.prices = best_prices
        may_close = self.best.total - least > 4 * TIE and not self.deadline.passed
        is_last = depth == self.evidence.topology.depth and (is_easy or self.is_thorough)
        # Prices alone seldom lead to trees that meet the totals exactly.
        if may_close and (is_last or self.evidence.row_off >= ANY_PRICE):
            work = max(work, self.params.any_price_share * self.params.most_work)
            least = max(least, self._between(core, best_prices, depth, work))
        return least

    def _between(self, core: Questions, prices: FloatArray, depth: int, work: float) -> float:
        """Search all trees of a depth that may cost less than the best; return a lower bound for all trees."""
        evidence = self.evidence
        found = cheapest_tree(
            core,
            evidence.cost,
            evidence.size,
            self.first_cells,
            self.bounds,
            prices,
            evidence.row_off,
            depth,
            self.best.total - TIE,
            work,
            self._stop,
        )
        if len(found[2]):
            self.pool.append(self._candidate(found[2], self._fine(found[2], found[3]), found[4]))
        return float(min(found[1] + TIE, self.best.total))

    def _widen_bins(self) -> None:
        """Bin the answers to new questions, with about equal numbers of rows per bin, unless a proof is wanted."""
        takes_all = self.is_thorough or self.evidence.n_rows <= self.params.few_rows
        most = self.evidence.n_rows if takes_all else self.params.most_cuts + 1
        for question in self.questions[len(self._binned) :]:
            n_answers = question.n_answers
            last = np.arange(n_answers)
            if n_answers > most:
                below = np.cumsum(
                    np.bincount(question.answers, weights=self.evidence.multiplicity, minlength=n_answers)
                )
                ends = np.searchsorted(below, below[-1] * np.arange(1, most + 1) / most - 1e-9)
                last = np.unique(np.minimum(ends, n_answers - 1))
            self._binned.append(np.searchsorted(last, question.answers))
            self._last.append(last)

    def _fine(self, questions: IntArray, cuts: IntArray) -> IntArray:
        """Convert cuts between bins to cuts between answers."""
        return np.array([self._last[q][cut] if q >= 0 else 0 for q, cut in zip(questions, cuts, strict=True)])

    def _stop(self) -> bool:
        return self.deadline.passed

    @property
    def _question_prices(self) -> FloatArray:
        return np.array([self.term_price * split_price(question.n_terms) for question in self.questions])

    @property
    def _level_prices(self) -> FloatArray:
        """Extra price of each cut between bins whose rule names several levels."""
        prices = [self._named_prices(question) for question in self.questions]
        found = np.zeros((len(prices), max(map(len, prices), default=0)))
        for row, price, last in zip(found, prices, self._last, strict=True):
            if len(price):
                row[: len(last) - 1] = price[last[:-1]]
        return found

    def _named_prices(self, question: Question) -> FloatArray:
        """Extra price of each cut of a question whose rule names several levels."""
        return self.term_price * LEVEL_PRICE * question.n_named

    def _split_prices(self, questions: IntArray, cuts: IntArray) -> float:
        """Price of the splits of a tree."""
        prices = self._question_prices
        price = 0.0
        for q, cut in zip(questions, cuts, strict=True):
            if q >= 0:
                named = self._named_prices(self.questions[q])
                price += float(prices[q]) + (float(named[cut]) if len(named) else 0.0)
        return price

    def _priced(self, prices: FloatArray) -> FloatArray:
        """Cost of each class for each row, including the prices of the cells."""
        cost = self.evidence.cost.copy()
        for first in self.first_cells:
            cost += self.evidence.size[:, None] * prices[first[:, None] + np.arange(cost.shape[1])]
        return cost

    def _candidate(self, questions: IntArray, cuts: IntArray, leaf_classes: IntArray) -> Candidate:
        depth = len(leaf_classes).bit_length() - 1
        while len(leaf_classes) < self.evidence.topology.n_leaves:
            more = np.full(len(leaf_classes), -1)
            questions, cuts = np.concatenate([questions, more]), np.concatenate([cuts, more])
            leaf_classes = np.repeat(leaf_classes, 2)
        questions, leaf_classes = self._without_idle_splits(questions, cuts, leaf_classes)
        leaves = self._leaves(questions, cuts)
        classes = np.asarray(leaf_classes)[leaves - len(leaf_classes)]
        fixed = float(self.evidence.cost[np.arange(len(classes)), classes].sum()) + self._split_prices(questions, cuts)
        counts = self._counts(classes)
        total = fixed + self.evidence.row_off * float(self._off(counts))
        return Candidate(questions, cuts, leaf_classes, leaves, fixed, counts, total, depth)

    def _without_idle_splits(
        self, questions: IntArray, cuts: IntArray, leaf_classes: IntArray
    ) -> tuple[IntArray, IntArray]:
        """Remove splits with all rows on one side, together with their empty side."""
        questions, leaf_classes, n_leaves = questions.copy(), leaf_classes.copy(), len(leaf_classes)
        node = np.ones(self.evidence.n_rows, dtype=np.int64)
        for level in range(n_leaves.bit_length() - 1):
            for at in range(1 << level, 2 << level):
                here = node == at
                if questions[at - 1] < 0:
                    continue
                right = self.questions[questions[at - 1]].answers[here] > cuts[at - 1]
                if right.any() and not right.all():
                    continue
                questions[at - 1] = -1
                if right.any():
                    for below in range(n_leaves.bit_length() - 1 - level):
                        size = 1 << below
                        of_left, of_right = 2 * at * size, (2 * at + 1) * size
                        if of_left >= n_leaves:
                            leaf_classes[of_left - n_leaves :][:size] = leaf_classes[of_right - n_leaves :][:size]
                        else:
                            for part in (questions, cuts):
                                part[of_left - 1 :][:size] = part[of_right - 1 :][:size]
            node = 2 * node + self._goes_right(questions, cuts, node)
        return questions, leaf_classes

    def _one_class(self) -> Candidate:
        """The tree that assigns all rows to the cheapest class."""
        topology = self.evidence.topology
        none, k = np.full(topology.n_branches, -1), self.evidence.cost.sum(axis=0).argmin()
        return self._candidate(none, np.zeros(topology.n_branches, dtype=int), np.full(topology.n_leaves, k))

    def _leaves(self, questions: IntArray, cuts: IntArray, node: int = 1, rows: IntArray | None = None) -> IntArray:
        """The leaf of each row, or of some rows, if they start at a node."""
        at = np.full(self.evidence.n_rows if rows is None else len(rows), node)
        for _ in range(self.evidence.topology.depth + 1 - node.bit_length()):
            at = 2 * at + self._goes_right(questions, cuts, at, rows)
        return at

    def _goes_right(
        self, questions: IntArray, cuts: IntArray, node: IntArray, rows: IntArray | None = None
    ) -> BoolArray:
        right = np.zeros(len(node), dtype=bool)
        for b in np.unique(node) - 1:
            if questions[b] >= 0:
                here = node == b + 1
                answers = self.questions[questions[b]].answers
                right[here] = answers[here if rows is None else rows[here]] > cuts[b]
        return right

    def _counts(self, classes: IntArray) -> FloatArray:
        cells, size = (self.first_cells + classes).ravel(), np.tile(self.evidence.size, len(self.first_cells))
        return np.bincount(cells, weights=size, minlength=self.bounds.shape[1]).astype(float)

    def _off(self, counts: FloatArray) -> Any:
        """Rows off for one or several vectors of cell counts."""
        shape = (*counts.shape[:-1], -1, self.evidence.targets.n_classes)
        low, high = self.bounds.reshape(2, *shape[-2:])
        return rows_beyond_bounds(counts.reshape(shape), low, high).sum(axis=-1)

    # ---- cuts moved towards the totals ----

    def _nudged(self, candidate: Candidate) -> list[Candidate]:
        """Move the cuts of a tree, one node at a time, while this lowers its cost; empty if no move does."""
        best = candidate
        for _ in range(self.params.n_nudges):
            splits = np.flatnonzero(best.questions >= 0).tolist()
            moved = min((self._moved(best, b) for b in splits), key=lambda c: c.total, default=best)
            if moved.total > best.total - TIE or self.deadline.passed:
                break
            best = moved
        return [] if best is candidate else [best]

    def _moved(self, candidate: Candidate, b: int) -> Candidate:
        """Return the candidate with the best cut at one node; unchanged if a leaf would become too small."""
        evidence, reaching = self.evidence, candidate.reaching(b + 1)
        ends = [self._ends(candidate, 2 * (b + 1) + side, reaching) for side in (0, 1)]
        answers = self.questions[candidate.questions[b]].answers[reaching]
        order = np.argsort(answers, kind="stable")
        rows, left, right = reaching[order], ends[0][order], ends[1][order]
        steps = np.flatnonzero(np.diff(answers[order]))
        if not len(steps) or len(rows) * self.bounds.shape[1] > self.params.nudge_work:
            return candidate
        extra = np.cumsum(evidence.cost[rows, left] - evidence.cost[rows, right])[steps]
        counts = np.zeros((len(rows), self.bounds.shape[1]))
        for first in self.first_cells:
            np.add.at(counts, (np.arange(len(rows)), first[rows] + left), evidence.size[rows])
            np.add.at(counts, (np.arange(len(rows)), first[rows] + right), -evidence.size[rows])
        classes = candidate.classes.copy()
        classes[rows] = right
        base = self._counts(classes)
        off = self._off(base + np.cumsum(counts, axis=0)[steps])
        total = extra + evidence.row_off * off
        at = int(total.argmin())
        cuts = candidate.cuts.copy()
        cuts[b] = answers[order][steps[at]]
        moved = self._candidate(candidate.questions, cuts, candidate.leaf_classes)
        fewest = self.spec.min_rows
        if fewest > 1:
            rows_of_leaves = np.bincount(moved.leaves, weights=evidence.multiplicity)
            if rows_of_leaves[np.unique(moved.leaves)].min() < fewest:
                return candidate
        return moved

    def _ends(self, candidate: Candidate, node: int, rows: IntArray) -> IntArray:
        """The classes that some rows get if they start at a node."""
        leaves = self._leaves(candidate.questions, candidate.cuts, node, rows)
        return np.asarray(candidate.leaf_classes[leaves - len(candidate.leaf_classes)])

    # ---- further questions ----

    def _propose(self, *, fresh: bool) -> bool:
        """Add sums of few columns and orders of levels from the regions of the best tree; return whether any is new."""
        before = len(self.questions)
        for rows, extra in self._views(self.best, fresh=fresh):
            if self.deadline.passed:
                break
            self._add_level_orders(rows, extra)
            self._add_directions(rows, extra)
        return len(self.questions) > before

    def _views(self, best: Candidate, *, fresh: bool) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield rows, and their cost on the left minus their cost on the right, for every node of a tree."""
        all_rows, cost = np.arange(self.evidence.n_rows), self._priced(self.prices)
        if fresh:
            for extra in self._leanings(all_rows):
                yield all_rows, extra
        for b in range(self.evidence.topology.n_branches):
            rows = best.reaching(b + 1)
            if len(rows) < 2:
                continue
            if b or not fresh:
                for extra in self._leanings(rows):
                    yield rows, extra
            left, right = (self._ends(best, 2 * (b + 1) + side, rows) for side in (0, 1))
            differ = left != right
            if differ.any() and 2 * (b + 1) < len(best.leaf_classes):
                extra = cost[rows, left] - cost[rows, right]
                yield rows[differ], extra[differ]

    def _leanings(self, rows: IntArray) -> list[FloatArray]:
        """For each of the commonest classes, its cost for the rows minus that of the cheapest other class."""
        cost = self._priced(self.prices)[rows]
        n_classes = cost.shape[1]
        if n_classes == 2:
            return [cost[:, 0] - cost[:, 1]]
        common = np.argsort(-np.bincount(cost.argmin(axis=1), minlength=n_classes), kind="stable")[:3]
        return [cost[:, k] - np.delete(cost, k, axis=1).min(axis=1) for k in common]

    def _add_level_orders(self, rows: IntArray, extra: FloatArray) -> None:
        for c, column in enumerate(self.many_levels):
            order = column.order_by_evidence(rows, extra)
            if ("levels", c, order) not in self.seen:
                self.seen.add(("levels", c, order))
                self.questions.append(column.reordered(order))

    def _add_directions(self, rows: IntArray, extra: FloatArray) -> None:
        if self.most < 2 or len(self._summands) < 2:
            return
        step = max(len(rows) // self.params.most_rows, 1)
        XT, steepness = self._standardised
        rows, extra = np.ascontiguousarray(rows[::step]), np.ascontiguousarray(extra[::step])
        arranged, costs = sparse_directions(XT, steepness, rows, extra, self._summands, self.most, self._stop)
        found = np.zeros_like(arranged)
        found[:, self.order.columns] = arranged * self.order.signs
        prices = [self.term_price / step * split_price(int(np.count_nonzero(omega))) for omega in found]
        for d in np.argsort(costs + prices, kind="stable")[: self._n_kept]:
            if ("sum", found[d].tobytes()) not in self.seen:
                self.seen.add(("sum", found[d].tobytes()))
                if any(self.evidence.features[j].level is None for j in np.flatnonzero(found[d])):
                    self.questions.append(Question.of(self.evidence.X, Sum(found[d]), int(np.count_nonzero(found[d]))))

    @property
    def _n_kept(self) -> int:
        """Number of directions kept per view: deep trees have many nodes, and more classes give more views of each."""
        is_easy = self.evidence.topology.depth <= self.params.easy_depth
        return max(self.params.n_kept // (1 if is_easy else 2) // (1 if self.evidence.cost.shape[1] == 2 else 2), 1)

    @cached_property
    def _standardised(self) -> tuple[FloatArray, FloatArray]:
        X = self.order.arranged(self.evidence.X)
        varies = X.max(axis=0) > X.min(axis=0)
        largest = np.where(varies, np.abs(X).max(axis=0), 1.0)  # squares of huge numbers overflow
        parts = X / largest
        parts -= parts.mean(axis=0)
        steepness = np.where(varies, 1 / np.where(varies, parts.std(axis=0), 1.0), 0.0)
        return np.ascontiguousarray((parts * steepness).T), steepness / largest

    @cached_property
    def _summands(self) -> IntArray:
        """The features that sums may contain: numeric features, and indicators of columns with two levels.

        Sums that include levels of larger columns, or missing values, are hard to read.
        """
        features = [self.evidence.features[j] for j in self.order.columns]
        indicators = Counter(feature.column for feature in features)
        is_plain = [f.level is None or indicators[f.column] == 1 for f in features]
        return np.flatnonzero((self._standardised[1] > 0) & is_plain)

    # ---- trees ----

    def tree(self, candidate: Candidate, *, middle: bool = False) -> ObliqueTree:
        """Return the tree in the units of the evidence; offsets are halfway between rows, or short decimals there."""
        topology, X = self.evidence.topology, self.evidence.X
        classes = self.order.classes[candidate.leaf_classes]
        omega, gamma = np.zeros((topology.n_branches, X.shape[1])), np.ones(topology.n_branches)
        leaf_classes = topology.leaf_classes.copy()
        node = np.ones(len(X), dtype=np.int64)
        source = np.arange(topology.n_leaves)  # for each node, the node of the candidate
        for b in range(topology.n_branches):
            reaching, first, at = node == b + 1, 2 * (b + 1) - topology.n_leaves, int(source[b + 1])
            question, is_turned = candidate.questions[at - 1], False
            right = np.zeros(len(X), dtype=bool)
            if first >= 0:
                pair = classes[2 * at - topology.n_leaves :][:2].tolist()
                is_turned, gamma[b] = pair[0] > pair[1], place_pair(leaf_classes, first, pair, topology.n_classes)
            if question < 0:
                right[:] = gamma[b] < 0
            else:
                right = self.questions[question].answers > candidate.cuts[at - 1]
                direction, low, high = self.questions[question].split(int(candidate.cuts[at - 1]), reaching)
                # Above the last level either side may be left, and "at most" reads better than "not at least".
                is_turned = is_turned if first >= 0 else self._is_negative(direction)
                offset = 0.5 * low + 0.5 * high if middle else offset_between(low, high, turned=is_turned)
                sign = -1.0 if is_turned else 1.0
                omega[b], gamma[b] = sign * direction, sign * offset
                right = right != is_turned
            if first < 0:
                source[2 * (b + 1) :][:2] = [2 * at + is_turned, 2 * at + (not is_turned)]
            node[reaching] = 2 * node[reaching] + right[reaching]
        return ObliqueTree(topology, omega, gamma, leaf_classes)

    def _is_negative(self, direction: FloatArray) -> bool:
        """Whether a split uses the negative of a single numeric column."""
        used = np.flatnonzero(direction)
        numbers = [j for j in used.tolist() if self.evidence.features[j].level is None]
        return len(columns_of([self.evidence.features[j] for j in used])) == 1 and bool((direction[numbers] < 0).any())


def _order_of(evidence: Evidence, deadline: Deadline) -> ContentOrder:
    """Order rows (labeled ones first), columns and classes by content; keep the given order if time runs out."""
    n, domains = evidence.n_labeled, np.full((evidence.n_rows, len(evidence.targets.margins)), -1.0)
    domains[n:] = evidence.targets.first_cells.T
    of_rows = marks(np.sort(evidence.cost, axis=1), evidence.size, evidence.multiplicity, domains)
    bounds = np.array([evidence.targets.low, evidence.targets.high]).reshape(-1, evidence.targets.n_classes)
    order = content_order(evidence.X, of_rows, marks(bounds.T), evidence.cost, deadline)
    if order is None:
        rows, columns, classes = (np.arange(n) for n in (*evidence.X.shape, evidence.targets.n_classes))
        return ContentOrder(rows, columns, np.ones(len(columns)), classes)
    is_labeled = order.rows < n
    return replace(order, rows=np.concatenate([order.rows[is_labeled], order.rows[~is_labeled]]))


def place_pair(leaf_classes: IntArray, first: int, pair: list[int], n_classes: int) -> float:
    """Give two leaves the classes of a pair in ascending order, or one class of it and another one if they are equal.

    Returns the offset with which a node without coefficients sends all rows to the first class of the pair.
    """
    if n_classes > 2 or pair[0] != pair[1]:
        leaf_classes[first : first + 2] = sorted(pair if pair[0] != pair[1] else [pair[0], (pair[0] + 1) % n_classes])
    return 1.0 if leaf_classes[first] == pair[0] else -1.0


def _cells(evidence: Evidence) -> tuple[IntArray, FloatArray]:
    """The cell of class 0 for every row, which is meaningless for labeled rows, and the bounds of all cells."""
    targets, n = evidence.targets, evidence.n_labeled
    first = np.zeros((len(targets.margins), evidence.n_rows), dtype=np.int64)
    first[:, n:] = targets.first_cells
    return first, np.array([targets.low, targets.high])


class TotalPrices:
    """The prices of cells that give the largest bound, given the trees so far: a linear program that grows by trees.

    In each domain, the rows off are the rows above upper bounds or the rows missing from lower bounds, whichever is
    larger. A share of ``row_off``, the cost of a row off, limits the prices of upper bounds; the rest limits those of
    lower bounds.
    """

    def __init__(self, bounds: FloatArray, n_classes: int, row_off: float) -> None:
        self.low, self.high = bounds
        self.n_cells, n_domains = len(self.low), len(self.low) // n_classes
        size = self.size = 1 + 2 * self.n_cells + n_domains
        lower, upper = np.zeros(size), np.full(size, np.inf)
        lower[0], upper[0], upper[-n_domains:] = -1e12, 1e12, 1.0
        cost = np.zeros(size)
        cost[0] = -1.0
        self._program = LinearProgram(cost, lower, upper)
        shares = np.zeros((2 * self.n_cells, size))
        for cell in range(self.n_cells):
            share = 1 + 2 * self.n_cells + cell // n_classes
            shares[cell, 1 + cell], shares[cell, share] = -1.0, row_off
            shares[self.n_cells + cell, 1 + self.n_cells + cell], shares[self.n_cells + cell, share] = -1.0, -row_off
        self._program.add_rows(shares, np.repeat([0.0, -row_off], self.n_cells))

    def add(self, fixed: float, counts: FloatArray) -> None:
        """Add a tree, given by its cost without prices and its rows in each cell: it limits the bound at any prices."""
        row = np.zeros((1, self.size))
        row[0, 0] = -1.0
        row[0, 1 : 1 + self.n_cells] = counts - self.high
        row[0, 1 + self.n_cells : 1 + 2 * self.n_cells] = self.low - counts
        self._program.add_rows(row, np.array([-fixed]))

    def constant(self, prices: FloatArray) -> float:
        """Cost of the totals themselves at prices of the cells, shape (n_cells,)."""
        return float(np.maximum(prices, 0) @ self.high - np.maximum(-prices, 0) @ self.low)

    def solve(self, deadline: Deadline) -> tuple[FloatArray, float]:
        """Return the best prices for the trees so far, and the largest bound that any prices can give.

        If time runs out, the prices are 0 and the bound is minus infinity.
        """
        found = self._program.solve(deadline)
        if found is None:
            return np.zeros(self.n_cells), -np.inf
        more, less = found[1 : 1 + self.n_cells], found[1 + self.n_cells : 1 + 2 * self.n_cells]
        return more - less, float(found[0])
