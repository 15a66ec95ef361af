"""The search of the evidence model: exact trees over questions, and directions proposed in the regions of the best one.

1. Ask every column by itself.
2. Find the best tree over the questions so far. A row off the totals has a price, so the prices of the cells, which
   are multipliers of their totals, are bounded by it. At fixed prices the best tree is exact, and its cost is a lower
   bound. The prices that give the largest bound are found by cutting planes. Trees met on the way are candidates.
3. Where the best candidate costs more than the bound, look at all trees in between.
4. Propose sums of few columns in the regions of the best tree, and return to 2 until nothing improves.

All of this is counted work: the clock is only a limit.
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
from s2oct.evidence.questions import Question, Threshold, offset_between, single_questions
from s2oct.problem.batches import ContentOrder, content_order, marks
from s2oct.problem.targets import rows_beyond_bounds
from s2oct.solvers.program import LinearProgram
from s2oct.stopping import Deadline
from s2oct.trees.features import columns_of
from s2oct.trees.tree import ObliqueTree
from s2oct.wording import plural

EASY_DEPTH = 2
"""Trees up to this depth are found from histograms of pairs of questions."""

FEW_ROWS, MOST_CUTS = 1024, 31
"""Rows up to which all cuts of every question are tried at once; with more rows, so many of them, and later those
beside the best ones."""

ANY_PRICE_SHARE = 0.1
"""Share of the work that looks for deep trees which meet the totals at any price."""

MOST_QUESTIONS = 400
"""Questions about single columns that are asked at most: those whose best cut costs least."""

TIE = 1e-7
"""Costs that differ by less are equal: sums of many rows are rounded."""


@dataclass(frozen=True)
class SearchParams:
    """How hard a search tries.

    Attributes
    ----------
    n_rounds : int
        How often directions are proposed, at most.
    n_steps : int
        Prices of totals at which a tree is found in a round, at most.
    most_work : float
        Rows that may be looked at in a round, about: for one tree, and for all trees between bound and best tree.
    proof_work : float
        The same where every split has one column, so that a proof is about all such trees.
    n_deep_steps, deep_work : int, float
        The same for trees that are deeper than `EASY_DEPTH`, unless a proof is wanted, which takes much longer.
    n_kept : int
        Directions kept of those that a region proposes.
    most_rows : int
        Rows of a region that propose directions.
    """

    n_rounds: int = 3
    n_steps: int = 30
    most_work: float = 1e9
    proof_work: float = 4e9
    n_deep_steps: int = 3
    deep_work: float = 0.0
    n_kept: int = 4
    most_rows: int = 4000


@dataclass(frozen=True, eq=False)
class Candidate:
    """A tree over questions."""

    questions: IntArray  # (n_branches,) question of each node, -1 for none
    cuts: IntArray  # (n_branches,) last answer that goes left
    leaf_classes: IntArray  # (n_leaves,)
    classes: IntArray  # (N,) class of each row
    fixed: float  # rows against it and the price of its splits
    counts: FloatArray  # (n_cells,)
    total: float  # the same and the price of rows off
    depth: int

    def at(self, prices: FloatArray) -> float:
        """What it costs with prices of cells in place of the price of rows off."""
        return self.fixed + float(prices @ self.counts)


@dataclass(frozen=True, eq=False)
class Found:
    """What a search found.

    Attributes
    ----------
    tree : ObliqueTree
        The best tree, its offsets at short decimals.
    middle : ObliqueTree
        The same with offsets half way between the rows.
    cost, bound : float
        What it costs in all, and what every tree over the questions costs at least.
    single_cost, single_bound : float
        The same for trees with one column per split.
    n_questions : int
        Questions that were considered.
    is_complete : bool
        Whether the bound is about all trees with so few columns per split.
    single_is_complete : bool
        Whether the bound of trees with one column per split is about all of them.
    is_binned : bool
        Whether the bound is about some cuts of the questions only.
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
    is_binned: bool

    @property
    def among(self) -> str:
        """The trees that the bound is about."""
        depth = f"trees of depth {self.tree.topology.depth}"
        if self.is_complete:
            return f"{depth} with one feature per split"
        cuts = f", at {MOST_CUTS} cuts each" if self.is_binned else ""
        asked = f"{depth} over {plural(self.n_questions, 'question')} about the features{cuts}"
        if not self.n_questions:
            return f"{depth}, where no column splits the rows"
        behind = self.single_cost - self.cost
        if not self.single_is_complete or self.single_cost > self.single_bound + 4 * TIE or behind < 0.05:
            return asked
        return (
            f"{asked} (the best one with one feature per split has {plural(round(behind, 1), 'row')} more against it)"
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
        What classes cost rows, in the user's units.
    spec : EvidenceSpec
        What the user chose about trees.
    deadline : Deadline
        When to end with the best tree so far.
    params : SearchParams
        How hard to try.
    """

    def __init__(
        self, evidence: Evidence, spec: EvidenceSpec, deadline: Deadline, params: SearchParams | None = None
    ) -> None:
        self.order = _order_of(evidence, deadline)
        # How the user arranged the table must not decide between trees of equal cost.
        self.evidence = evidence = evidence.arranged(self.order.rows, self.order.classes)
        self.spec, self.deadline = spec, deadline
        self.params = params or SearchParams()
        self.term_price = spec.price_of(evidence.n_given)
        self.most = spec.most_of(len(columns_of(evidence.features)))
        self.first, self.bounds = _cells(evidence)
        self.questions, self.many_levels = single_questions(
            evidence.X, evidence.features, self.order.columns, self.order.signs
        )
        self.seen: set[tuple[object, ...]] = set()
        self.pool: list[Candidate] = []
        self.prices = np.zeros(len(self.bounds[0]))
        self.is_thorough = self.most == 1
        self.is_screened = len(self.questions) > MOST_QUESTIONS
        if self.is_screened:
            self.questions = self._promising(self.questions)
        self.n_settled = 0
        self._binned: list[IntArray] = []
        self._last: list[IntArray] = []

    # ---- the loop ----

    def run(self, report: Callable[[ObliqueTree], object] | None = None, *, propose: bool = True) -> Found:
        """The best tree found; ``report`` is called with trees on the way, and ``propose`` allows further questions."""
        everyone = np.arange(self.evidence.n_rows)
        for extra in self._leanings(everyone):
            self._ask_levels(everyone, extra)
        bound = self._settle()
        single_cost, single_bound = self.best.total, bound
        for number in range(self.params.n_rounds if propose else 0):
            if report is not None:
                report(self.tree(self.best))
            before = self.best.total
            if not self._propose(fresh=number == 0) or self.deadline.passed:
                break
            bound = self._settle()
            if number and self.best.total > before - TIE:
                break
        is_binned = not self.is_thorough and self.evidence.n_rows > FEW_ROWS
        asks_all = not self.many_levels and not self.is_screened
        least = self.evidence.bound + self.evidence.row_off * self.evidence.least_off
        return Found(
            self.tree(self.best),
            self.tree(self.best, middle=True),
            self.best.total,
            min(max(bound, least), self.best.total),
            single_cost,
            min(max(single_bound, least), single_cost),
            self.n_settled,
            self.most == 1 and asks_all,
            asks_all and not is_binned,
            is_binned,
        )

    def at_price(self, term_price: float, deadline: Deadline) -> ExactSearch:
        """A search over the same questions with another price of a term."""
        search = copy(self)
        search.spec, search.term_price = replace(self.spec, term_price=term_price), term_price
        search.deadline, search.many_levels, search.pool = deadline, [], []
        search._binned, search._last = [*self._binned], [*self._last]
        return search

    def frontier(self) -> Iterator[ObliqueTree]:
        """For each price of splits, the cheapest tree that was met on the way."""
        cheapest: dict[float, Candidate] = {}
        for candidate in self.pool:
            price = round(self._split_prices(candidate.questions, candidate.cuts), 6)
            known = cheapest.get(price)
            if known is None or candidate.total < known.total:
                cheapest[price] = candidate
        yield from map(self.tree, cheapest.values())

    def others(self) -> Iterator[ObliqueTree]:
        """Other trees that were met on the way, the cheapest first."""
        for candidate in sorted(self.pool, key=lambda candidate: candidate.total):
            yield self.tree(candidate)

    @property
    def best(self) -> Candidate:
        """The cheapest tree so far."""
        return min(self.pool, key=lambda candidate: candidate.total)

    # ---- the best tree over the questions so far ----

    def _settle(self) -> float:
        """Find the best tree and a lower bound for all trees over the questions.

        Prices that are right for trees of depth 2 are nearly right for deeper ones, which take much longer to find.
        """
        evidence, depth = self.evidence, self.evidence.topology.depth
        self.n_settled = len(self.questions)  # proposals may be cut off after the last bound
        self._widen_bins()
        core = Questions(
            np.array(self._binned, dtype=np.int32).reshape(-1, evidence.n_rows),
            self._question_prices,
            self._level_prices,
            evidence.given,
            float(self.spec.min_rows),
        )
        if not self.pool:
            self.pool.append(self._one_class())
        if depth > EASY_DEPTH:
            self._settle_at(core, EASY_DEPTH)
        return self._settle_at(core, depth)

    def _settle_at(self, core: Questions, depth: int) -> float:
        """The same for trees of one depth, which may be less than that of the topology."""
        is_easy = depth <= EASY_DEPTH
        work = self.params.most_work if is_easy else self.params.deep_work
        if self.is_thorough:
            work = self.params.proof_work
        master = TotalPrices(self.bounds, self.evidence.targets.n_classes, self.evidence.row_off)
        known = [candidate for candidate in self.pool if candidate.depth <= depth]
        for candidate in known:
            master.add(candidate.fixed, candidate.counts)
        least, best_prices, prices = -np.inf, self.prices, master.as_prices(self.prices)
        for _ in range(self.params.n_steps if is_easy or self.is_thorough else self.params.n_deep_steps):
            cost = self._priced(prices.cells)
            upper = min((known_tree.at(prices.cells) for known_tree in known), default=np.inf)
            found = exact_tree(core, cost, depth, upper - TIE, work, self._stop)
            at_prices = min(found[1], upper) - prices.constant
            if at_prices > least:
                least, best_prices = at_prices, prices.cells
            if np.isfinite(found[0]):
                candidate = self._candidate(found[2], self._fine(found[2], found[3]), found[4])
                master.add(candidate.fixed, candidate.counts)
                known.append(candidate)
                self.pool += [candidate, *self._nudged(candidate)]
            if self.best.total - least < 4 * TIE or self.deadline.passed:
                break
            better = master.solve(self.deadline)
            if better is None or better.bound - least < 4 * TIE:
                break
            prices = better
        self.prices = best_prices
        may_close = self.best.total - least > 4 * TIE and not self.deadline.passed
        is_last = depth == self.evidence.topology.depth and (is_easy or self.is_thorough)
        # Prices alone seldom lead to trees that meet totals at any price.
        if may_close and (is_last or self.evidence.row_off >= ANY_PRICE):
            least = max(
                least, self._between(core, best_prices, depth, max(work, ANY_PRICE_SHARE * self.params.most_work))
            )
        return least

    def _between(self, core: Questions, prices: FloatArray, depth: int, work: float) -> float:
        """Look at all trees of a depth that may cost less than the best; returns what the others cost at least."""
        evidence = self.evidence
        found = cheapest_tree(
            core,
            evidence.cost,
            evidence.size,
            self.first,
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
        """Put the answers to new questions into bins with about as many rows each, unless a proof is wanted."""
        most = self.evidence.n_rows if self.is_thorough or self.evidence.n_rows <= FEW_ROWS else MOST_CUTS + 1
        for question in self.questions[len(self._binned) :]:
            n_answers = int(question.answers.max()) + 1
            last = np.arange(n_answers)
            if n_answers > most:
                below = np.cumsum(np.bincount(question.answers, weights=self.evidence.given, minlength=n_answers))
                ends = np.searchsorted(below, below[-1] * np.arange(1, most + 1) / most - 1e-9)
                last = np.unique(np.minimum(ends, n_answers - 1))
            self._binned.append(np.searchsorted(last, question.answers))
            self._last.append(last)

    def _fine(self, questions: IntArray, cuts: IntArray) -> IntArray:
        """The last answers of bins."""
        return np.array([self._last[q][cut] if q >= 0 else 0 for q, cut in zip(questions, cuts, strict=True)])

    def _stop(self) -> bool:
        return self.deadline.passed

    @property
    def _question_prices(self) -> FloatArray:
        return np.array([self.term_price * split_price(question.n_terms) for question in self.questions])

    @property
    def _level_prices(self) -> FloatArray:
        """What cuts between bins cost more because their rules name several levels."""
        prices = [self._named_prices(question) for question in self.questions]
        found = np.zeros((len(prices), max(map(len, prices), default=0)))
        for row, price, last in zip(found, prices, self._last, strict=True):
            if len(price):
                row[: len(last) - 1] = price[last[:-1]]
        return found

    def _named_prices(self, question: Question) -> FloatArray:
        """What each cut of a question costs more because its rule names several levels."""
        return self.term_price * LEVEL_PRICE * np.array(question.named, dtype=float)

    def _split_prices(self, questions: IntArray, cuts: IntArray) -> float:
        """What the splits of a tree cost."""
        prices = self._question_prices
        price = 0.0
        for q, cut in zip(questions, cuts, strict=True):
            if q >= 0:
                named = self._named_prices(self.questions[q])
                price += float(prices[q]) + (float(named[cut]) if len(named) else 0.0)
        return price

    def _priced(self, prices: FloatArray) -> FloatArray:
        """What classes cost rows with the prices of their cells."""
        cost = self.evidence.cost.copy()
        for first in self.first:
            cost += self.evidence.size[:, None] * prices[first[:, None] + np.arange(cost.shape[1])]
        return cost

    def _candidate(self, questions: IntArray, cuts: IntArray, leaf_classes: IntArray) -> Candidate:
        depth = len(leaf_classes).bit_length() - 1
        while len(leaf_classes) < self.evidence.topology.n_leaves:
            more = np.full(len(leaf_classes), -1)
            questions, cuts = np.concatenate([questions, more]), np.concatenate([cuts, more])
            leaf_classes = np.repeat(leaf_classes, 2)
        questions, leaf_classes = self._without_idle_splits(questions, cuts, leaf_classes)
        node = np.ones(self.evidence.n_rows, dtype=np.int64)
        for _ in range(self.evidence.topology.depth):
            node = 2 * node + self._goes_right(questions, cuts, node)
        classes = np.asarray(leaf_classes)[node - len(leaf_classes)]
        fixed = float(self.evidence.cost[np.arange(len(classes)), classes].sum()) + self._split_prices(questions, cuts)
        counts = self._counts(classes)
        total = fixed + self.evidence.row_off * float(self._off(counts))
        return Candidate(questions, cuts, leaf_classes, classes, fixed, counts, total, depth)

    def _without_idle_splits(
        self, questions: IntArray, cuts: IntArray, leaf_classes: IntArray
    ) -> tuple[IntArray, IntArray]:
        """A split with all rows on one side becomes none, and the other side is forgotten."""
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
        """All rows in the class that costs least."""
        topology = self.evidence.topology
        none, k = np.full(topology.n_branches, -1), self.evidence.cost.sum(axis=0).argmin()
        return self._candidate(none, np.zeros(topology.n_branches, dtype=int), np.full(topology.n_leaves, k))

    def _goes_right(self, questions: IntArray, cuts: IntArray, node: IntArray) -> BoolArray:
        right = np.zeros(len(node), dtype=bool)
        for b in np.unique(node) - 1:
            if questions[b] >= 0:
                here = node == b + 1
                right[here] = self.questions[questions[b]].answers[here] > cuts[b]
        return right

    def _counts(self, classes: IntArray) -> FloatArray:
        size = np.tile(self.evidence.size, len(self.first))
        return np.bincount((self.first + classes).ravel(), weights=size, minlength=self.bounds.shape[1]).astype(float)

    def _off(self, counts: FloatArray) -> Any:
        """Rows off of one or several counts of all cells."""
        shape = (*counts.shape[:-1], -1, self.evidence.targets.n_classes)
        low, high = self.bounds.reshape(2, *shape[-2:])
        return rows_beyond_bounds(counts.reshape(shape), low, high).sum(axis=-1)

    # ---- cuts moved towards the totals ----

    def _nudged(self, candidate: Candidate) -> list[Candidate]:
        """The same tree with cuts moved, one node at a time, as long as that lowers its cost."""
        best = candidate
        for _ in range(4):
            splits = np.flatnonzero(best.questions >= 0).tolist()
            moved = min((self._moved(best, b) for b in splits), key=lambda c: c.total, default=best)
            if moved.total > best.total - TIE or self.deadline.passed:
                break
            best = moved
        return [] if best is candidate else [best]

    def _moved(self, candidate: Candidate, b: int) -> Candidate:
        """The candidate with the best cut of one node; leaves that would become too small are kept."""
        evidence, topology = self.evidence, self.evidence.topology
        reaching = self._reaching(candidate, b + 1)
        ends = [self._ends(candidate, 2 * (b + 1) + side, reaching) for side in (0, 1)]
        answers = self.questions[candidate.questions[b]].answers[reaching]
        order = np.argsort(answers, kind="stable")
        rows, left, right = reaching[order], ends[0][order], ends[1][order]
        steps = np.flatnonzero(np.diff(answers[order]))
        if not len(steps) or len(rows) * self.bounds.shape[1] > 2e7:
            return candidate
        extra = np.cumsum(evidence.cost[rows, left] - evidence.cost[rows, right])[steps]
        counts = np.zeros((len(rows), self.bounds.shape[1]))
        for first in self.first:
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
        if fewest > 1 and self._smallest_leaf(moved, topology.depth) < fewest:
            return candidate
        return moved

    def _smallest_leaf(self, candidate: Candidate, depth: int) -> float:
        node = np.ones(self.evidence.n_rows, dtype=np.int64)
        for _ in range(depth):
            node = 2 * node + self._goes_right(candidate.questions, candidate.cuts, node)
        rows = np.bincount(node, weights=self.evidence.given)
        return float(rows[np.unique(node)].min())

    def _reaching(self, candidate: Candidate, node: int) -> IntArray:
        """The rows that reach a node."""
        at = np.ones(self.evidence.n_rows, dtype=np.int64)
        for _ in range(node.bit_length() - 1):
            at = 2 * at + self._goes_right(candidate.questions, candidate.cuts, at)
        return np.flatnonzero(at == node)

    def _ends(self, candidate: Candidate, node: int, rows: IntArray) -> IntArray:
        """The classes in which some rows end if they are put at a node."""
        n_leaves = len(candidate.leaf_classes)
        at = np.full(len(rows), node)
        while node < n_leaves:
            right = np.zeros(len(rows), dtype=bool)
            for b in np.unique(at) - 1:
                if candidate.questions[b] >= 0:
                    here = at == b + 1
                    right[here] = self.questions[candidate.questions[b]].answers[rows[here]] > candidate.cuts[b]
            at, node = 2 * at + right, 2 * node
        return np.asarray(candidate.leaf_classes[at - n_leaves])

    # ---- further questions ----

    def _propose(self, *, fresh: bool) -> bool:
        """Ask about sums of few columns and orders of many levels in the regions of the best tree."""
        before = len(self.questions)
        for rows, extra in self._views(self.best, fresh=fresh):
            if self.deadline.passed:
                break
            self._ask_levels(rows, extra)
            self._ask_directions(rows, extra)
        return len(self.questions) > before

    def _views(self, best: Candidate, *, fresh: bool) -> Iterator[tuple[IntArray, FloatArray]]:
        """Rows, and what the left costs them more than the right, for every node of a tree."""
        everyone, cost = np.arange(self.evidence.n_rows), self._priced(self.prices)
        if fresh:
            for extra in self._leanings(everyone):
                yield everyone, extra
        for b in range(self.evidence.topology.n_branches):
            rows = self._reaching(best, b + 1)
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
        """For each of the commonest classes, by how much it costs rows more than the cheapest other one."""
        cost = self._priced(self.prices)[rows]
        n_classes = cost.shape[1]
        if n_classes == 2:
            return [cost[:, 0] - cost[:, 1]]
        common = np.argsort(-np.bincount(cost.argmin(axis=1), minlength=n_classes), kind="stable")[:3]
        return [cost[:, k] - np.delete(cost, k, axis=1).min(axis=1) for k in common]

    def _promising(self, questions: list[Question]) -> list[Question]:
        """The questions whose best single cut costs least: pairs of all would not fit into memory."""
        costs = np.array([best_cut_cost(question, self.evidence.cost) for question in questions])
        return [questions[q] for q in np.sort(np.argsort(costs, kind="stable")[:MOST_QUESTIONS])]

    def _ask_levels(self, rows: IntArray, extra: FloatArray) -> None:
        for column in self.many_levels:
            order = column.by_evidence(rows, extra)
            if ("levels", column.indicators, order) not in self.seen:
                self.seen.add(("levels", column.indicators, order))
                self.questions.append(column.asked(order))

    def _ask_directions(self, rows: IntArray, extra: FloatArray) -> None:
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
                    self.questions.append(Threshold.of(self.evidence.X, found[d], int(np.count_nonzero(found[d]))))

    @property
    def _n_kept(self) -> int:
        """Directions kept of a view: deep trees have many nodes, and many classes several views of each."""
        is_easy = self.evidence.topology.depth <= EASY_DEPTH
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
        """The features that sums may have: numbers, and indicators of columns with two levels.

        A sum with levels of a larger column, or with missing values, is hard to read.
        """
        features = [self.evidence.features[j] for j in self.order.columns]
        indicators = Counter(feature.column for feature in features)
        is_plain = [f.level is None or indicators[f.column] == 1 for f in features]
        return np.flatnonzero((self._standardised[1] > 0) & is_plain)

    # ---- trees ----

    def tree(self, candidate: Candidate, *, middle: bool = False) -> ObliqueTree:
        """A tree in the units of the evidence; offsets are half way between rows, or the shortest decimals there."""
        topology, X = self.evidence.topology, self.evidence.X
        classes = self.order.classes[candidate.leaf_classes]
        omega, gamma = np.zeros((topology.n_branches, X.shape[1])), np.ones(topology.n_branches)
        leaf_classes = topology.leaf_classes.copy()
        node = np.ones(len(X), dtype=np.int64)
        source = np.arange(topology.n_leaves)  # of each node, the one of the candidate
        for b in range(topology.n_branches):
            reaching, first, at = node == b + 1, 2 * (b + 1) - topology.n_leaves, int(source[b + 1])
            question, is_turned = candidate.questions[at - 1], False
            pair = [] if first < 0 else classes[2 * at - topology.n_leaves :][:2].tolist()
            if first >= 0:
                is_turned = pair[0] > pair[1]
                if topology.n_classes > 2 or pair[0] != pair[1]:
                    leaf_classes[first : first + 2] = two_classes(pair, topology.n_classes)
            right = np.zeros(len(X), dtype=bool)
            if question < 0:
                if first >= 0 and leaf_classes[first] != pair[0]:
                    gamma[b], right[:] = -1.0, True
            else:
                right = self.questions[question].answers > candidate.cuts[at - 1]
                direction, (low, high) = self.questions[question].split(int(candidate.cuts[at - 1]), reaching)
                # Above the last level the sides are free, and "at most" reads better than "not at least".
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
        """Whether a split is about the negative of one number."""
        used = np.flatnonzero(direction)
        numbers = [j for j in used.tolist() if self.evidence.features[j].level is None]
        return len(columns_of([self.evidence.features[j] for j in used])) == 1 and bool((direction[numbers] < 0).any())


def _order_of(evidence: Evidence, deadline: Deadline) -> ContentOrder:
    """The order of rows, labeled ones first, columns and classes by what they contain; as they are without time."""
    n, domains = evidence.n_labeled, np.full((evidence.n_rows, len(evidence.targets.margins)), -1.0)
    domains[n:] = evidence.targets.first_cells.T
    of_rows = marks(np.sort(evidence.cost, axis=1), evidence.size, evidence.given, domains)
    bounds = np.array([evidence.targets.low, evidence.targets.high]).reshape(-1, evidence.targets.n_classes)
    order = content_order(evidence.X, of_rows, marks(bounds.T), evidence.cost, deadline)
    if order is None:
        rows, columns, classes = (np.arange(n) for n in (*evidence.X.shape, evidence.targets.n_classes))
        return ContentOrder(rows, columns, np.ones(len(columns)), classes)
    is_labeled = order.rows < n
    return replace(order, rows=np.concatenate([order.rows[is_labeled], order.rows[~is_labeled]]))


def best_cut_cost(question: Question, cost: FloatArray) -> float:
    """What rows cost if the best cut of a question is the only split; ``cost`` is that of each class for each row."""
    by_answer = [np.bincount(question.answers, weights=part) for part in cost.T]
    left = np.cumsum(by_answer, axis=1)
    return float((left.min(axis=0) + (left[:, -1:] - left).min(axis=0)).min())


def two_classes(pair: list[int], n_classes: int) -> list[int]:
    """The classes of two leaves in ascending order; where both have one class, another one beside it."""
    return sorted(pair if pair[0] != pair[1] else [pair[0], (pair[0] + 1) % n_classes])


def _cells(evidence: Evidence) -> tuple[IntArray, FloatArray]:
    """Cell of class 0 of every row, which means nothing for labeled rows, and the bounds of all cells."""
    targets, n = evidence.targets, evidence.n_labeled
    first = np.zeros((len(targets.margins), evidence.n_rows), dtype=np.int64)
    first[:, n:] = targets.first_cells
    return first, np.array([targets.low, targets.high])


@dataclass(frozen=True, eq=False)
class CellPrices:
    """Prices of the cells, and what they are good for.

    Attributes
    ----------
    cells : ndarray of shape (n_cells,)
        What a row of the cell costs more.
    constant : float
        What the totals themselves cost at these prices.
    bound : float
        No prices give a larger bound than this.
    """

    cells: FloatArray
    constant: float
    bound: float = np.inf


class TotalPrices:
    """The prices of cells that give the largest bound, for the trees so far: a linear program that grows by trees.

    In each domain either upper bounds are exceeded or lower bounds lack rows, whichever is more. A row off costs
    ``row_off``, so a share of it is the most that the price of an upper bound can be, and the rest the most for lower
    bounds.
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
        """Add a tree, given by its cost without prices and its rows in each cell: it limits the bound of all prices."""
        row = np.zeros((1, self.size))
        row[0, 0] = -1.0
        row[0, 1 : 1 + self.n_cells] = counts - self.high
        row[0, 1 + self.n_cells : 1 + 2 * self.n_cells] = self.low - counts
        self._program.add_rows(row, np.array([-fixed]))

    def as_prices(self, cells: FloatArray) -> CellPrices:
        """Prices from an earlier round."""
        return CellPrices(cells, float(np.maximum(cells, 0) @ self.high - np.maximum(-cells, 0) @ self.low))

    def solve(self, deadline: Deadline) -> CellPrices | None:
        """The prices that are best for the trees so far; None if there was no time."""
        found = self._program.solve(deadline)
        if found is None:
            return None
        more, less = found[1 : 1 + self.n_cells], found[1 + self.n_cells : 1 + 2 * self.n_cells]
        return CellPrices(more - less, float(more @ self.high - less @ self.low), float(found[0]))
