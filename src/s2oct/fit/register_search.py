"""The best tree of a register, from histograms summed over batches of all its rows.

1. Choose questions of the sample's search and turn them into lines with cuts, which apply to any row (`choose_lines`).
2. Sum histograms of all pairs of lines over all rows (`CountPairs`).
3. Find the best tree below the sample's upper splits from the histograms alone (`RegisterSearch`). As in
   `s2oct.evidence.exact`, prices of the totals give a lower bound, and all trees near the bound are compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from s2oct._core import Pairs
from s2oct.arrays import FloatArray, IntArray
from s2oct.evidence.evidence import LEVEL_PRICE, split_price
from s2oct.evidence.exact import Candidate, ExactSearch, TotalPrices, place_pair
from s2oct.evidence.questions import Levels, Line, LineSplit, Question
from s2oct.fit.register_passes import (
    Cells,
    Ladder,
    LastSplit,
    Probabilities,
    grained,
    moved_near,
    moving_cost,
    row_costs,
)
from s2oct.p2.prepared import Columns
from s2oct.problem.batches import Batch
from s2oct.problem.totals import rows_beyond_bounds
from s2oct.stopping import Deadline
from s2oct.trees.rules import shortest_between
from s2oct.trees.tree import ObliqueTree, Topology
from s2oct.wording import plural

NOTHING_MISSING = float(np.finfo(float).max)
"""A cut with all known numbers on its left, and missing values on its right."""


@dataclass(frozen=True, eq=False)
class CutLine:
    """A line with cuts.

    Attributes
    ----------
    line : Line
        The line.
    cuts : ndarray of shape (k,)
        Ascending: rows of at most this value go left.
    price : float
        Minimum price of a split, as a multiple of the term price.
    extra : ndarray of shape (k,)
        Extra price of each cut whose rule names several levels.
    n_places : ndarray of shape (k + 1,)
        Number of distinct values between the cuts, in the sample: rows of equal value cannot be separated.
    """

    line: Line
    cuts: FloatArray
    price: float
    extra: FloatArray
    n_places: IntArray

    def answers(self, X: FloatArray) -> IntArray:
        """Number of cuts below each row."""
        return np.searchsorted(self.cuts, self.line.of(X))

    def split(self, cut: int) -> LineSplit:
        """The split of a cut: its coefficients, the maximum value on the left, and the minimum on the right."""
        value = float(self.cuts[cut])
        omega, low, high = self.line.split(value, math.nextafter(value, math.inf))
        if math.nextafter(low, high) < high:
            low = high = 0.5 * low + 0.5 * high  # indicators are 0 or 1
        return omega, low, high


def cuts_between(question: Question, first: IntArray, last: IntArray) -> FloatArray:
    """The shortest cuts after answers between ``first`` and ``last``, ascending and distinct."""
    if isinstance(question.line, Levels):
        return np.asarray(first + 0.5)
    order = np.argsort(question.answers, kind="stable")
    begins = np.flatnonzero(np.diff(question.answers[order], prepend=-1))
    lowest, highest = (part.reduceat(question.places[order], begins) for part in (np.minimum, np.maximum))
    return np.unique([_between(*ends) for ends in zip(highest[first].tolist(), lowest[last + 1].tolist(), strict=True)])


def _between(low: float, high: float) -> float:
    if low == -np.inf:
        return -np.inf
    return NOTHING_MISSING if high == np.inf else shortest_between(low, high)


@dataclass(frozen=True)
class HistogramParams:
    """Size of the histograms and effort of the search.

    Attributes
    ----------
    most_numbers : int
        Maximum number of entries in all histograms: 64 MiB, which workers of a cluster send for each part of a file.
    cuts, enough : tuple of int, int
        Cuts per line, the finest that fits: with fewer cuts, more questions fit, and this many are enough.
    near_cuts, near_trees : int
        Cuts per line placed near the cuts of the sample's best trees, and the number of these trees.
    leeway : float
        How far a cut may be from a quantile to be a short decimal, as a share of the rows between two quantiles.
    n_steps : int
        Maximum number of prices of the totals at which a tree is found.
    most_trees, most_counts : int
        Maximum number of trees near the bound, and of these times the number of totals. Both bound the memory.
    n_near, n_slacks : int
        Number of trees near the bound that are moved to the totals, and how often the slack is divided by 4 if there
        are too many of them.
    close : float
        Bounds that differ by fewer rows count as equal.
    parts : int
        Maximum number of parts of a bin: within a bin, the cost of a tree near the totals is interpolated.
    """

    most_numbers: int = 2**23
    cuts: tuple[int, ...] = (63, 31, 15)
    enough: int = 24
    near_cuts: int = 16
    near_trees: int = 8
    leeway: float = 0.25
    n_steps: int = 60
    most_trees: int = 1_000_000
    most_counts: int = 2**24
    n_near: int = 32
    n_slacks: int = 8
    close: float = 1e-3
    parts: int = 16


PARAMS = HistogramParams()


@dataclass(frozen=True, eq=False)
class CountPairs:
    """A pass that sums histograms of pairs of lines.

    Attributes
    ----------
    lines : tuple of CutLine
        The lines.
    tree : ObliqueTree
        The sample's tree; the nodes two levels above its leaves are the regions.
    columns : tuple of int, optional
        The features that the lines use; all if None.
    guide : callable
        Prices the unlabeled rows.
    n_domains : int
        Number of domains of all margins.
    """

    lines: tuple[CutLine, ...]
    tree: ObliqueTree
    columns: Columns
    guide: Probabilities
    n_domains: int

    def __call__(self, batch: Batch) -> FloatArray:
        """The histograms of a batch."""
        batch = batch._replace(sizes=grained(batch.sizes))
        costs = row_costs(self.guide, batch) if len(batch.X) else np.empty((0, self.tree.topology.n_classes))
        return self.added(batch.X, costs, np.ones(len(batch.X)), batch.sizes, batch.domains)

    def added(
        self, X: FloatArray, costs: FloatArray, rows: FloatArray, sizes: FloatArray, domains: IntArray
    ) -> FloatArray:
        """The histograms of rows with these costs, shape (n_regions * n_cells, width)."""
        histograms = np.zeros((self.n_regions * self.layout.n_cells, self.layout.width))
        if len(X):
            regions = (self.tree.apply(X) >> self.depth) - self.n_regions
            narrow = X if self.columns is None else np.ascontiguousarray(X[:, list(self.columns)])
            answers = np.array([line.answers(narrow) for line in self.lines], dtype=np.uint8)
            self.layout.add(answers, regions, costs, rows, sizes, np.ascontiguousarray(domains), histograms)
        return histograms

    @property
    def depth(self) -> int:
        """Number of levels that the histograms cover."""
        return min(self.tree.topology.depth, 2)

    @property
    def n_regions(self) -> int:
        """Number of regions, each with its own histogram."""
        return 1 << (self.tree.topology.depth - self.depth)

    @property
    def nodes(self) -> IntArray:
        """The nodes of each region that may split, shape (n_regions, n_branches_below)."""
        below = np.arange(1, 2**self.depth)
        levels = np.array([int(node).bit_length() - 1 for node in below])
        regions = self.n_regions + np.arange(self.n_regions)[:, None]
        return np.asarray((regions << levels) + below - (1 << levels))

    @property
    def layout(self) -> Pairs:
        """Positions of the cells of each pair."""
        n_answers = np.array([len(line.cuts) + 1 for line in self.lines])
        return Pairs(n_answers, self.tree.topology.n_classes, self.n_domains, self.depth)


def choose_lines(search: ExactSearch, n_numbers: int) -> dict[int, CutLine]:
    """The most promising questions of a search, with as many cuts as fit into memory; empty if none fits.

    ``n_numbers`` is the number of entries per cell of one pair, over all regions.
    """
    trees = sorted(search.pool, key=lambda candidate: candidate.total)
    order = _by_promise(search, trees)
    n_answers = np.array([search.questions[q].n_answers for q in order], dtype=float)
    chosen, n_cuts = 0, 0
    for most in PARAMS.cuts:
        sizes = np.minimum(n_answers, most + 1)
        # All pairs of the first k: half of the square of their sum and of the sum of their squares.
        numbers = n_numbers * 0.5 * (np.cumsum(sizes) ** 2 + np.cumsum(sizes**2))
        fitting = int(np.count_nonzero(numbers <= PARAMS.most_numbers))
        if fitting > chosen:
            chosen, n_cuts = fitting, most
        if chosen >= min(len(order), PARAMS.enough):
            break
    return {q: _line_with_cuts(search, q, trees[: PARAMS.near_trees], n_cuts) for q in sorted(order[:chosen])}


def _by_promise(search: ExactSearch, trees: Sequence[Candidate]) -> list[int]:
    """The questions of the cheapest trees first, then those whose best cut costs least."""
    in_tree = {q: place for place, tree in reversed(list(enumerate(trees))) for q in tree.questions.tolist()}
    alone = [question.best_cut_cost(search.evidence.cost) for question in search.questions]
    return sorted(range(len(search.questions)), key=lambda q: (in_tree.get(q, len(trees)), alone[q]))


def _line_with_cuts(search: ExactSearch, q: int, trees: Sequence[Candidate], n_cuts: int) -> CutLine:
    question = search.questions[q]
    near = [int(cut) for tree in trees for own, cut in zip(tree.questions, tree.cuts, strict=True) if own == q]
    first, last = _ranks(question, search.evidence.multiplicity, near, n_cuts)
    cuts = cuts_between(question, first, last)
    n_places = np.bincount(np.searchsorted(cuts, np.unique(question.places)), minlength=len(cuts) + 1)
    extra = LEVEL_PRICE * question.n_named[first] if len(question.n_named) else np.zeros(len(cuts))
    return CutLine(question.line, cuts, split_price(question.n_terms), extra, n_places)


def _ranks(question: Question, given: FloatArray, near: Sequence[int], n_cuts: int) -> tuple[IntArray, IntArray]:
    """First and last answer after which each cut may be: near quantiles, and finer near the cuts of good trees."""
    n_answers = question.n_answers
    if n_answers - 1 <= n_cuts or len(question.n_named):
        ranks = np.unique(np.linspace(0, n_answers - 2, min(n_answers - 1, n_cuts)).astype(int))
        return ranks, ranks
    below = np.cumsum(np.bincount(question.answers, weights=given, minlength=n_answers))
    n_even = n_cuts - (min(PARAMS.near_cuts, n_cuts // 3) if near else 0)
    step = below[-1] / (n_even + 1)

    def at(rows: FloatArray) -> IntArray:
        return np.clip(np.searchsorted(below, rows - 1e-9), 0, n_answers - 2)

    even = step * np.arange(1, n_even + 1)
    found = list(zip(at(even - PARAMS.leeway * step).tolist(), at(even + PARAMS.leeway * step).tolist(), strict=True))
    for cut in dict.fromkeys(near):
        neighbours = at(below[cut] + step * np.array([-0.5, -0.25, 0.25, 0.5])).tolist()
        found += [(rank, rank) for rank in (min(cut, n_answers - 2), *neighbours)]
    ranks = np.array(list(dict.fromkeys(found))[:n_cuts])
    return ranks[:, 0], ranks[:, 1]


def sample_trees(
    search: ExactSearch, lines: Mapping[int, CutLine], counting: CountPairs
) -> Iterator[tuple[IntArray, IntArray]]:
    """The best trees of the sample over the lines: splits, with the nearest cuts, and classes, by region.

    Trees with different splits above the regions are left out.
    """
    depth, n_regions, best = counting.tree.topology.depth, counting.n_regions, search.best
    places = {q: place for place, q in enumerate(lines)}

    def split_of(q: int, rank: int) -> tuple[int, int]:
        """The position of a question, and of the cut after a rank or the next cut."""
        if q < 0:
            return -1, 0
        last = search.questions[q].places[search.questions[q].answers <= rank].max()
        return places[q], min(int(np.searchsorted(lines[q].cuts, last)), len(lines[q].cuts) - 1)

    nodes = counting.nodes
    for tree in sorted(search.pool, key=lambda tree: tree.total)[: PARAMS.near_trees]:
        above = slice(n_regions - 1)
        is_like = (tree.questions[above] == best.questions[above]) & (tree.cuts[above] == best.cuts[above])
        questions = tree.questions[nodes - 1]
        is_plain = ((questions[:, 0] >= 0) | (questions < 0).all(axis=1)).all()
        if (
            tree.depth > depth
            or not is_like.all()
            or not is_plain
            or not set(questions.ravel().tolist()) <= {-1, *lines}
        ):
            continue
        splits = [
            split_of(*split)
            for split in zip(questions.ravel().tolist(), tree.cuts[nodes - 1].ravel().tolist(), strict=True)
        ]
        classes = search.order.classes[tree.leaf_classes[:: len(tree.leaf_classes) >> depth]]
        yield np.array(splits).reshape(*nodes.shape, 2), classes.reshape(n_regions, -1)


@dataclass(frozen=True, eq=False)
class RegisterCandidate:
    """A tree over the lines of a register.

    Attributes
    ----------
    splits : ndarray of shape (n_regions, n_branches_below, 2)
        For each region, the line of each split, -1 for none, and the position of its cut.
    classes : ndarray of shape (n_regions, n_leaves_below)
        Classes of the leaves.
    fixed : float
        Rows against the tree plus the price of its splits.
    counts : ndarray of shape (n_cells,)
        Number of rows in each cell.
    """

    splits: IntArray
    classes: IntArray
    fixed: float
    counts: FloatArray


@dataclass(frozen=True, eq=False)
class RegisterTerms:
    """Prices and totals of a register.

    Attributes
    ----------
    cells : Cells
        The totals of all rows.
    row_off, term : float
        Prices of a row off and of a term, in rows.
    above : float
        The price of the splits above the regions, as a multiple of the term price.
    min_rows : float
        Minimum number of rows per leaf.
    """

    cells: Cells
    row_off: float
    term: float
    above: float
    min_rows: float


class RegisterSearch:
    """The search for the best tree of a register, by its histograms.

    Parameters
    ----------
    counting : CountPairs
        The lines and regions.
    histograms : ndarray of shape (n_regions * n_cells, width)
        Histograms of all rows.
    terms : RegisterTerms
        Prices and totals.
    """

    def __init__(self, counting: CountPairs, histograms: FloatArray, terms: RegisterTerms) -> None:
        self.counting, self.terms = counting, terms
        self.layout, self.lines = counting.layout, counting.lines
        self.n_classes, self.n_domains = counting.tree.topology.n_classes, counting.n_domains
        self.histograms = histograms.reshape(counting.n_regions, self.layout.n_cells, self.layout.width)
        # The numbers in the linear program should be about as large as in a sample.
        self.scale = max(float(terms.cells.high.max()) / 1e4, 1.0)
        self.prices = np.zeros(terms.cells.low.size)
        self.bound = -np.inf

    def run(self, deadline: Deadline, known: Sequence[RegisterCandidate] = ()) -> tuple[RegisterCandidate, float]:
        """Find the best tree, possibly one of ``known``, and its approximate cost once its offsets are moved."""
        # 1. Raise the lower bound: find the best tree at some prices of the totals, and better prices for all trees.
        bounds = np.array([self.terms.cells.low.ravel(), self.terms.cells.high.ravel()])
        master = TotalPrices(bounds / self.scale, self.n_classes, self.terms.row_off)
        prices, found = self.prices, list(known)
        for candidate in found:
            master.add(candidate.fixed / self.scale, candidate.counts / self.scale)
        for _ in range(PARAMS.n_steps):
            candidate = self.cheapest(prices)
            found.append(candidate)
            least = candidate.fixed + float(prices @ candidate.counts) - self.scale * master.constant(prices)
            if least > self.bound:
                self.bound, self.prices = least, prices
            master.add(candidate.fixed / self.scale, candidate.counts / self.scale)
            if deadline.passed:
                break
            prices, reachable = master.solve(deadline)
            if self.scale * reachable - self.bound < PARAMS.close:
                break

        # 2. Add the cheapest of all trees between the bound and the best tree.
        costs = [self.settled_cost(candidate) for candidate in found]
        if not deadline.passed:
            found += self._cheapest_near(min(costs) - self.bound)
            costs += [self.settled_cost(candidate) for candidate in found[len(costs) :]]

        # 3. Choose the tree that costs least once its last offsets are moved to the totals.
        return found[int(np.argmin(costs))], min(costs)

    def bound_up_to(self, cost: float, deadline: Deadline) -> float:
        """A lower bound for all trees over the lines, at most ``cost``, the cost of a known tree."""
        if cost <= self.bound or deadline.passed:
            return min(self.bound, cost)
        near = self._near(cost - self.bound)
        return self.bound if near is None else max(self.bound, float(near[0].min(initial=cost)))

    def _near(self, slack: float) -> tuple[FloatArray, IntArray, list[tuple[IntArray, IntArray]]] | None:
        """All trees that cost less than the bound plus the slack at the best prices; None if there are too many.

        At these prices, up to a constant, no tree costs more than with rows off. So no other tree costs less in total.

        Returns their total costs, shape (n,); the position of each tree's part in the list of each region, shape
        (n, n_regions); and these lists of splits and classes.
        """
        above, cells = self.terms.term * self.terms.above, self.prices
        least = [self._best(histograms, cells)[0] for histograms in self.histograms]
        costs, counts, places = np.full(1, above), np.zeros((1, len(cells))), np.zeros((1, 0), dtype=np.int64)
        n_leaves, lists, most = 2**self.counting.depth, [], min(PARAMS.most_trees, PARAMS.most_counts // len(cells))
        for r, histograms in enumerate(self.histograms):
            is_complete, own, own_counts, splits, classes = self.layout.below(
                histograms, *self._split_prices, cells, self.terms.min_rows, least[r] + slack, most
            )
            order = np.argsort(own, kind="stable")
            # Combine trees of the regions so far with trees of this one; the other regions have their cheapest trees.
            fitting = np.searchsorted(own[order], above + sum(least[: r + 1]) + slack - costs)
            if not is_complete or fitting.sum() > most:
                return None
            one = np.repeat(np.arange(len(costs)), fitting)
            other = order[np.arange(len(one)) - np.repeat(np.cumsum(fitting) - fitting, fitting)]
            costs = costs[one] + own[other]
            counts = counts[one] + own_counts.reshape(-1, len(cells))[other]
            places = np.column_stack([places[one], other])
            lists.append((splits.reshape(len(own), n_leaves - 1, 2), classes.reshape(len(own), n_leaves)))
        by_domain = counts.reshape(-1, self.n_domains, self.n_classes)
        off = rows_beyond_bounds(by_domain, self.terms.cells.low, self.terms.cells.high).sum(axis=-1)
        return costs - counts @ cells + self.terms.row_off * off, places, lists

    def _cheapest_near(self, slack: float) -> list[RegisterCandidate]:
        """The cheapest trees near the bound; if there are too many trees, those with a smaller slack."""
        for _ in range(PARAMS.n_slacks):
            near = self._near(slack)
            if near is not None:
                totals, places, lists = near
                best = np.argsort(totals, kind="stable")[: PARAMS.n_near]
                parts = [
                    [(splits[p], classes[p]) for (splits, classes), p in zip(lists, places[t], strict=True)]
                    for t in best
                ]
                return [self.candidate(*map(np.array, zip(*part, strict=True))) for part in parts]
            slack /= 4
        return []

    # ---- trees at prices ----

    def cheapest(self, cell_prices: FloatArray) -> RegisterCandidate:
        """The cheapest tree at these prices of the cells."""
        splits, leaves = [], []
        for histograms in self.histograms:
            _, questions, cuts = self._best(histograms, cell_prices)
            splits.append(np.column_stack([questions, cuts]))
            leaves.append(self._leaves(histograms, splits[-1]))
        return self._candidate(np.array(splits), np.array(leaves), self._cheapest_classes(splits, leaves, cell_prices))

    def candidate(self, splits: IntArray, classes: IntArray) -> RegisterCandidate:
        """A tree with these splits and classes."""
        leaves = [self._leaves(histograms, own) for histograms, own in zip(self.histograms, splits, strict=True)]
        return self._candidate(splits, np.array(leaves), self._without_idle_classes(splits, classes))

    def _best(self, histograms: FloatArray, cell_prices: FloatArray) -> tuple[float, IntArray, IntArray]:
        """The cheapest tree of a region: its cost, questions and cuts."""
        return self.layout.best(histograms, *self._split_prices, cell_prices, self.terms.min_rows)

    @cached_property
    def _split_prices(self) -> tuple[FloatArray, FloatArray]:
        extra = np.zeros((len(self.lines), max(len(line.cuts) for line in self.lines)))
        for row, line in zip(extra, self.lines, strict=True):
            row[: len(line.extra)] = self.terms.term * line.extra
        return self.terms.term * np.array([line.price for line in self.lines]), extra

    def _cheapest_classes(
        self, all_splits: Sequence[IntArray], all_leaves: Sequence[FloatArray], cell_prices: FloatArray
    ) -> IntArray:
        """The cheapest classes of the leaves of each region, shape (n_regions, n_leaves_below)."""
        splits, leaves = np.array(all_splits), np.array(all_leaves)
        of_cells = leaves[..., self.n_classes + 1 :] @ cell_prices.reshape(self.n_domains, self.n_classes)
        return self._without_idle_classes(splits, (leaves[..., : self.n_classes] + of_cells).argmin(axis=-1))

    def _without_idle_classes(self, splits: IntArray, classes: IntArray) -> IntArray:
        """One class for both leaves of a node that does not split: its rows are counted on its left."""
        classes = classes.copy()
        if self.counting.depth == 2:
            for below in (1, 2):
                unsplit = splits[:, below, 0] < 0
                classes[unsplit, 2 * below - 1] = classes[unsplit, 2 * below - 2]
        classes[splits[:, 0, 0] < 0] = classes[splits[:, 0, 0] < 0, :1]
        return classes

    def _candidate(self, splits: IntArray, leaves: FloatArray, classes: IntArray) -> RegisterCandidate:
        """A tree from the sums over its leaves, shape (n_regions, n_leaves_below, width)."""
        prices, extra = self._split_prices
        price = self.terms.term * self.terms.above
        price += float(sum(prices[q] + extra[q, cut] for q, cut in splits.reshape(-1, 2) if q >= 0))
        charged = np.take_along_axis(leaves[..., : self.n_classes], classes[..., None], axis=-1)
        counts = np.zeros((self.n_domains, self.n_classes))
        np.add.at(counts.T, classes.ravel(), leaves[..., self.n_classes + 1 :].reshape(-1, self.n_domains))
        return RegisterCandidate(splits, classes, float(charged.sum()) + price, counts.ravel())

    def _leaves(self, histograms: FloatArray, splits: IntArray) -> FloatArray:
        """Sums over the rows of each leaf of a region, shape (n_leaves_below, width)."""
        leaves = []
        for below in range(len(splits) // 2, len(splits)):
            q, cut = splits[below].tolist()
            along = self._along(histograms, splits, below)
            # A node that does not split sends all rows to the left.
            n_left = cut + 1 if q >= 0 else len(along)
            leaves += [along[:n_left].sum(axis=0), along[n_left:].sum(axis=0)]
        return np.array(leaves)

    def _along(self, histograms: FloatArray, splits: IntArray, below: int) -> FloatArray:
        """Sums over each bin of a node's line of the rows that reach the node, shape (n_bins, width).

        ``below`` is the position of the node in its region, the topmost first. Any line serves a node that does not
        split.
        """
        (f, cut), q = splits[0].tolist(), max(int(splits[below, 0]), 0)
        if below and f >= 0:
            rows = slice(cut + 1) if below == 1 else slice(cut + 1, None)
            return np.asarray(self._block(histograms, f, q)[rows].sum(axis=0))
        along = self._block(histograms, q, q).sum(axis=1)
        return np.asarray(along if below < 2 else np.zeros_like(along))

    def _block(self, histograms: FloatArray, f: int, g: int) -> FloatArray:
        """The histogram of two lines, shape (answers to f, answers to g, width)."""
        n_f, n_g = (len(self.lines[q].cuts) + 1 for q in (f, g))
        begin = self.layout.begin(min(f, g), max(f, g))
        block = histograms[begin : begin + n_f * n_g]
        if f <= g:
            return block.reshape(n_f, n_g, -1)
        return block.reshape(n_g, n_f, -1).transpose(1, 0, 2)

    # ---- distance of a tree from the totals ----

    def settled_cost(self, candidate: RegisterCandidate) -> float:
        """Total cost of a tree once its last offsets are moved, if rows are spread evenly within bins."""
        before = self._ladders(candidate)
        after, cells = moved_near(before, self._cells(candidate), self.terms.row_off)
        return candidate.fixed + moving_cost(before, after) + self.terms.row_off * cells.off

    def off(self, candidate: RegisterCandidate) -> float:
        """Rows by which a tree misses the totals before its offsets move."""
        return self._cells(candidate).off

    def _cells(self, candidate: RegisterCandidate) -> Cells:
        counts = candidate.counts.reshape(self.n_domains, self.n_classes)
        return replace(self.terms.cells, counts=counts)

    def _ladders(self, candidate: RegisterCandidate) -> list[Ladder]:
        """Ladders of the last splits, with the rows of each bin in equal parts; splits by levels have none."""
        ladders, nodes = [], self.counting.nodes
        for region, (splits, classes) in enumerate(zip(candidate.splits, candidate.classes, strict=True)):
            if splits[0, 0] < 0:
                continue
            last_splits = [below for below in range(1, len(splits)) if splits[below, 0] >= 0] or [0]
            for below in last_splits:
                q, cut = splits[below].tolist()
                if not isinstance(self.lines[q].line, Levels):
                    first, last = (0, -1) if below == 0 else (2 * below - 2, 2 * below - 1)
                    split = LastSplit(int(nodes[region, below]), int(classes[first]), int(classes[last]))
                    along = self._along(self.histograms[region], splits, below)
                    ladders.append(self._ladder(split, q, along, cut))
        return ladders

    def _ladder(self, split: LastSplit, q: int, along: FloatArray, cut: int) -> Ladder:
        """A ladder whose rungs are parts of bins; ``along`` has the sums over each bin, shape (n_bins, width)."""
        n_parts = np.clip(self.lines[q].n_places, 1, PARAMS.parts)
        parts = np.repeat(along / n_parts[:, None], n_parts, axis=0)
        parts = np.concatenate([np.zeros((1, parts.shape[1])), parts])
        return Ladder(
            split=split,
            rungs=np.arange(len(parts), dtype=float),
            sizes=parts[:, self.n_classes + 1 :],
            evidence=parts[:, split.left] - parts[:, split.right],
            cut=int(n_parts[: cut + 1].sum()),
        )

    # ---- trees ----

    def tree(self, candidate: RegisterCandidate) -> ObliqueTree:
        """The tree of a candidate, below the sample's splits above the last two levels."""
        tree, columns = self.counting.tree, self.counting.columns
        topology = tree.topology
        omega, gamma, leaf_classes = tree.omega.copy(), tree.gamma.copy(), topology.leaf_classes.copy()
        wide = slice(None) if columns is None else list(columns)
        for (region, below), node in np.ndenumerate(self.counting.nodes):
            q, cut = candidate.splits[region, below].tolist()
            leaf = int(2 * node - topology.n_leaves)
            first = below + 1 - (1 << self.counting.depth - 1)  # position among the nodes above leaves
            pair = candidate.classes[region].reshape(-1, 2)[first].tolist() if leaf >= 0 else []
            omega[node - 1], gamma[node - 1] = 0.0, 1.0
            if pair:
                gamma[node - 1] = place_pair(leaf_classes, leaf, pair, topology.n_classes)
            if q < 0 or (pair and pair[0] == pair[1]):
                continue
            direction, low, high = self.lines[q].split(cut)
            is_turned = bool(pair) and pair[0] > pair[1]
            omega[node - 1, wide] = -direction if is_turned else direction
            gamma[node - 1] = -high if is_turned else low
        return ObliqueTree(topology, omega, gamma, leaf_classes)


@dataclass(frozen=True, eq=False)
class ExactFit:
    """The best tree by the histograms of a register, and the searches that prove it.

    Attributes
    ----------
    tree : ObliqueTree
        The best tree, in the user's units.
    fixed : float
        Cost from labels and guide, over all rows, plus the price of its splits.
    off : float
        Rows by which it misses the totals before its last offsets move.
    searches : tuple of RegisterSearch
        The search below the sample's splits and, for deeper trees, the search over all trees of depth 2.
    """

    tree: ObliqueTree
    fixed: float
    off: float
    searches: tuple[RegisterSearch, ...]

    @classmethod
    def of(
        cls,
        counting: CountPairs,
        histograms: FloatArray,
        terms: RegisterTerms,
        sample: Callable[[CountPairs], Iterable[tuple[IntArray, IntArray]]],
        deadline: Deadline,
    ) -> ExactFit:
        """Search below the sample's splits; the sum over the regions also covers all trees of depth 2.

        ``sample`` returns the sample's trees, see `sample_trees`.
        """
        searches = [RegisterSearch(counting, histograms, terms)]
        topology = counting.tree.topology
        if counting.n_regions > 1 and topology.n_classes <= 4:
            shallow = Topology(2, topology.n_classes)
            nothing = np.zeros((shallow.n_branches, counting.tree.omega.shape[1]))
            tree = ObliqueTree(shallow, nothing, np.ones(shallow.n_branches), shallow.leaf_classes)
            together = histograms.reshape(counting.n_regions, -1, histograms.shape[1]).sum(axis=0)
            searches.append(RegisterSearch(replace(counting, tree=tree), together, replace(terms, above=0.0)))
        found = [
            (search, *search.run(deadline, [search.candidate(*tree) for tree in sample(search.counting)]))
            for search in searches
        ]
        search, best, _ = min(found, key=lambda one: one[2])
        tree = deepened(search.tree(best), topology)
        return cls(tree, best.fixed, search.off(best), tuple(searches))

    def bound_up_to(self, cost: float, deadline: Deadline) -> float:
        """A lower bound for all these trees, at most ``cost``, the cost of a known tree."""
        return min(search.bound_up_to(cost, deadline) for search in self.searches)

    @property
    def guide(self) -> Probabilities:
        """The guide that priced the unlabeled rows."""
        return self.searches[0].counting.guide

    @property
    def among(self) -> str:
        """The trees that the bound covers, in words."""
        first, *others = self.searches
        n_cuts = max(len(line.cuts) for line in first.lines)
        above = "" if first.counting.n_regions == 1 else " with the sample's splits above the last two levels,"
        any_split = " and of depth 2 with any splits," if others else ""
        return (
            f"trees of depth {first.counting.tree.topology.depth}{above}{any_split} over "
            f"{plural(len(first.lines), 'question')} about the features, at up to {plural(n_cuts, 'cut')} each, with "
            "the guide's answers about all rows"
        )


def deepened(tree: ObliqueTree, topology: Topology) -> ObliqueTree:
    """Extend a tree by levels that split nothing."""
    more = topology.depth - tree.topology.depth
    if not more:
        return tree
    omega = np.zeros((topology.n_branches, tree.omega.shape[1]))
    gamma, leaf_classes = np.ones(topology.n_branches), topology.leaf_classes.copy()
    omega[: len(tree.omega)], gamma[: len(tree.gamma)] = tree.omega, tree.gamma
    for leaf, k in enumerate(tree.leaf_classes.tolist()):
        # Rows go left down to the last node, which sends them to a leaf of their class.
        node = (tree.topology.n_leaves + leaf) << (more - 1)
        place = 2 * node - topology.n_leaves
        gamma[node - 1] = place_pair(leaf_classes, place, [k, k], topology.n_classes)
    return ObliqueTree(topology, omega, gamma, leaf_classes)
