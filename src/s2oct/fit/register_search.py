"""The best tree of a register, from histograms that add up over batches of all its rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from s2oct._core import Pairs
from s2oct._core import values as sums_of
from s2oct.arrays import FloatArray, IntArray
from s2oct.evidence.evidence import LEVEL_PRICE, split_price
from s2oct.evidence.exact import Candidate, CellPrices, ExactSearch, TotalPrices, best_cut_cost, two_classes
from s2oct.evidence.questions import LevelSets, Question, Threshold, names_left
from s2oct.fit.register_passes import Cells, Ladder, Pricing, Sums, grained, moved_near, moving_cost
from s2oct.p2.prepared import Columns
from s2oct.problem.batches import Batch
from s2oct.problem.targets import rows_beyond_bounds
from s2oct.stopping import Deadline
from s2oct.trees.rounding import shortest_between
from s2oct.trees.topology import Topology
from s2oct.trees.tree import ObliqueTree
from s2oct.wording import plural

# Questions that can be put to any row: where it lies on a line, and the splits that cuts of the line stand for.

NOTHING_MISSING = float(np.finfo(float).max)
"""A cut with all known numbers on its left, and missing ones on its right."""


class LineSplit(NamedTuple):
    """The split of a cut: omega . x is at most ``low`` on the left, and at least ``high`` on the right."""

    omega: FloatArray
    low: float
    high: float


class QuestionLine(Protocol):
    """Where rows lie, and the splits of cuts: rows up to a cut go left."""

    def of(self, X: FloatArray) -> FloatArray:
        """The place of each row."""

    def split(self, cut: float) -> LineSplit:
        """The split of a cut."""


@dataclass(frozen=True, eq=False)
class SumLine:
    """The value of a feature, or of a sum of several."""

    omega: FloatArray

    def of(self, X: FloatArray) -> FloatArray:
        """The sums that a tree compares with its offsets."""
        return np.asarray(sums_of(X, self.omega[None, :], np.zeros(1)))[:, 0]

    def split(self, cut: float) -> LineSplit:
        """Compare with the cut."""
        return LineSplit(self.omega, cut, float(np.nextafter(cut, np.inf)))


@dataclass(frozen=True, eq=False)
class GapLine:
    """The value of a feature, or its negative; missing values lie below or above all others.

    Attributes
    ----------
    feature, gap : int
        The feature and the indicator of its missing values.
    sign : float
        1 or -1.
    is_lowest : bool
        Whether missing values lie below all others.
    filled : float
        What stands for them in the feature.
    reach : float
        More than any value of the sample.
    n_features : int
        All features.
    """

    feature: int
    gap: int
    sign: float
    is_lowest: bool
    filled: float
    reach: float
    n_features: int

    def of(self, X: FloatArray) -> FloatArray:
        """Known values, and infinities."""
        return np.where(X[:, self.gap] > 0.5, -np.inf if self.is_lowest else np.inf, self.sign * X[:, self.feature])

    def split(self, cut: float) -> LineSplit:
        """Compare with the cut; a large coefficient of the indicator moves missing values to their side."""
        omega = np.zeros(self.n_features)
        if cut in (-np.inf, NOTHING_MISSING):
            omega[self.gap] = -1.0 if self.is_lowest else 1.0
            return LineSplit(omega, *((-0.5, -0.5) if self.is_lowest else (0.5, 0.5)))
        omega[self.feature] = self.sign
        if self.is_lowest != (self.filled <= cut):
            power = 10.0 ** np.ceil(np.log10(2 * max(self.reach, abs(cut), 1.0) + 1))
            omega[self.gap] = -power if self.is_lowest else power
        return LineSplit(omega, cut, float(np.nextafter(cut, np.inf)))


@dataclass(frozen=True, eq=False)
class LevelLine:
    """The position of a level in an order of those that the sample has; no rule names the levels that it lacks."""

    indicators: tuple[int, ...]
    order: tuple[int, ...]
    n_features: int

    def of(self, X: FloatArray) -> FloatArray:
        """The position of each row's level."""
        # A rule names the levels of its left or of its right side. A level that is in neither goes with the one that
        # has no indicator, and if that is missing as well, to the side with more levels.
        other = self.order.index(-1) if -1 in self.order else len(self.order) // 2
        place = np.full(len(self.indicators) + 1, float(other))
        place[list(self.order)] = np.arange(len(self.order))
        shown = X[:, list(self.indicators)] > 0.5
        return np.asarray(place[np.where(shown.any(axis=1), shown.argmax(axis=1), -1)])

    def split(self, cut: float) -> LineSplit:
        """Name the levels of one side."""
        number = int(np.ceil(cut))
        left, right = self.order[:number], self.order[number:]
        omega = np.zeros(self.n_features)
        if names_left(left, right):
            omega[[self.indicators[level] for level in left]] = -1.0
            return LineSplit(omega, -0.5, -0.5)
        omega[[self.indicators[level] for level in right]] = 1.0
        return LineSplit(omega, 0.5, 0.5)


def line_of(question: Question) -> QuestionLine:
    """The line of a question."""
    if isinstance(question, Threshold):
        return SumLine(question.omega)
    if isinstance(question, LevelSets):
        return LevelLine(question.indicators, question.order, question.n_features)
    gaps = question.is_gap
    return GapLine(
        question.feature,
        question.gap,
        question.sign,
        bool((question.answers[gaps] == 0).all()),
        float(question.values[gaps][0]),
        float(np.abs(question.values).max()),
        question.n_features,
    )


@dataclass(frozen=True, eq=False)
class Asked:
    """A line with cuts.

    Attributes
    ----------
    line : QuestionLine
        Where rows lie.
    cuts : ndarray of shape (k,)
        Ascending: rows of at most this value go left.
    price : float
        What a split costs at least, in prices of one term.
    extra : ndarray of shape (k,)
        What each cut costs more because its rule names several levels.
    n_places : ndarray of shape (k + 1,)
        Places between the cuts, by the sample: rows of one place cannot be divided.
    """

    line: QuestionLine
    cuts: FloatArray
    price: float
    extra: FloatArray
    n_places: IntArray

    def answers(self, X: FloatArray) -> IntArray:
        """How many cuts each row lies above."""
        return np.searchsorted(self.cuts, self.line.of(X))


def cuts_between(question: Question, places: FloatArray, first: IntArray, last: IntArray) -> FloatArray:
    """The shortest cuts after answers of ``first`` at least and ``last`` at most, ascending and distinct.

    ``places`` are those of the rows of the sample.
    """
    if isinstance(question, LevelSets):
        return np.asarray(first + 0.5)
    order = np.argsort(question.answers, kind="stable")
    begins = np.flatnonzero(np.diff(question.answers[order], prepend=-1))
    lowest, highest = (part.reduceat(places[order], begins) for part in (np.minimum, np.maximum))
    return np.unique([_between(*ends) for ends in zip(highest[first].tolist(), lowest[last + 1].tolist(), strict=True)])


def _between(low: float, high: float) -> float:
    if low == -np.inf:
        return -np.inf
    return NOTHING_MISSING if high == np.inf else shortest_between(low, high)


# The tree of a register, exact over all rows: histograms of pairs of questions add up, and trees are found from them.

MOST_NUMBERS = 2**23
"""Numbers of all histograms, at most: 64 MiB, which workers of a cluster send for each part of a file."""

CUTS, ENOUGH = (63, 31, 15), 24
"""Cuts of a line: as many as all questions have room for, or at least so many of them."""

NEAR_CUTS, NEAR_TREES = 16, 8
"""How many of the cuts lie near those of the sample's best trees, and how many trees these are."""

ROOM = 0.25
"""How far a cut may be from a quantile to be a short number, as a share of the rows between two of them."""

N_STEPS = 60
"""Prices of totals at which a tree is found, at most."""

MOST_TREES, MOST_COUNTS = 1_000_000, 2**24
"""Trees near the bound that are looked at; and these times the cells of the totals."""

N_NEAR, N_SLACKS = 32, 8
"""Of these, how many are moved to the totals; and how often fewer are wanted, if they are too many."""

CLOSE = 1e-3
"""Bounds that differ by fewer rows are the same."""

PARTS = 16
"""Parts of a bin, at most, between which the cost of a tree near the totals is interpolated."""


@dataclass(frozen=True, eq=False)
class CountPairs:
    """Adds up histograms of pairs of lines.

    Attributes
    ----------
    asked : tuple of Asked
        The lines.
    tree : ObliqueTree
        The sample's tree; the nodes two levels above its leaves are the regions.
    columns : tuple of int, optional
        The features that the lines are about; all if None.
    pricing : Pricing
        What classes cost unlabeled rows.
    n_domains : int
        Domains of all margins.
    """

    asked: tuple[Asked, ...]
    tree: ObliqueTree
    columns: Columns
    pricing: Pricing
    n_domains: int

    def __call__(self, batch: Batch) -> Sums:
        """The histograms of a batch."""
        batch = batch._replace(sizes=grained(batch.sizes))
        costs = self.pricing.costs(batch) if len(batch.X) else np.empty((0, self.tree.topology.n_classes))
        return Sums((self.added(batch.X, costs, np.ones(len(batch.X)), batch.sizes, batch.domains),))

    def added(
        self, X: FloatArray, costs: FloatArray, rows: FloatArray, sizes: FloatArray, domains: IntArray
    ) -> FloatArray:
        """The histograms of rows with these costs, shape (n_regions * n_cells, width)."""
        histograms = np.zeros((self.n_regions * self.layout.n_cells, self.layout.width))
        if len(X):
            regions = (self.tree.apply(X) >> self.depth) - self.n_regions
            narrow = X if self.columns is None else np.ascontiguousarray(X[:, list(self.columns)])
            answers = np.array([asked.answers(narrow) for asked in self.asked], dtype=np.uint8)
            self.layout.add(answers, regions, costs, rows, sizes, np.ascontiguousarray(domains), histograms)
        return histograms

    @property
    def depth(self) -> int:
        """Levels that the histograms are about."""
        return min(self.tree.topology.depth, 2)

    @property
    def n_regions(self) -> int:
        """Nodes that have a histogram each."""
        return 1 << (self.tree.topology.depth - self.depth)

    @property
    def layout(self) -> Pairs:
        """Where the cells of each pair are."""
        n_answers = np.array([len(asked.cuts) + 1 for asked in self.asked])
        return Pairs(n_answers, self.tree.topology.n_classes, self.n_domains, self.depth)


@dataclass(frozen=True, eq=False)
class SampleTrees:
    """The best trees of the sample, over the questions that are asked of all rows.

    Attributes
    ----------
    search : ExactSearch
        The search on the sample.
    chosen : tuple of int
        The questions that are asked of all rows.
    asked : tuple of Asked
        Their lines.
    """

    search: ExactSearch
    chosen: tuple[int, ...]
    asked: tuple[Asked, ...]

    def below(self, counting: CountPairs) -> Iterator[tuple[IntArray, IntArray]]:
        """Splits and classes of trees, region by region, with the nearest cuts; only those with the regions' splits."""
        depth, n_regions, best = counting.tree.topology.depth, counting.n_regions, self.search.best
        branches = np.arange(2**counting.depth - 1)
        levels = np.array([int(b + 1).bit_length() - 1 for b in branches])
        nodes = ((n_regions + np.arange(n_regions)[:, None]) << levels) + branches + 1 - (1 << levels)
        for tree in sorted(self.search.pool, key=lambda tree: tree.total)[:NEAR_TREES]:
            above = slice(n_regions - 1)
            is_like = (tree.questions[above] == best.questions[above]) & (tree.cuts[above] == best.cuts[above])
            questions = tree.questions[nodes - 1]
            is_plain = ((questions[:, 0] >= 0) | (questions < 0).all(axis=1)).all()
            if tree.depth > depth or not is_like.all() or not is_plain:
                continue
            if set(questions.ravel().tolist()) <= {-1, *self.chosen}:
                splits = [
                    self._split(*split) for split in zip(questions.ravel(), tree.cuts[nodes - 1].ravel(), strict=True)
                ]
                classes = self.search.order.classes[tree.leaf_classes[:: len(tree.leaf_classes) >> depth]]
                yield np.array(splits).reshape(*nodes.shape, 2), classes.reshape(n_regions, -1)

    def _split(self, q: int, rank: int) -> tuple[int, int]:
        """The place of a question and of the cut after a rank, or of the next one."""
        if q < 0:
            return -1, 0
        place, question = self.chosen.index(q), self.search.questions[q]
        last = self.asked[place].line.of(self.search.evidence.X[question.answers <= rank]).max()
        cuts = self.asked[place].cuts
        return place, min(int(np.searchsorted(cuts, last)), len(cuts) - 1)


def asked_of(search: ExactSearch, n_numbers: int) -> SampleTrees:
    """The most promising questions of a search with as many cuts as there is room for.

    ``n_numbers`` is what a cell of one pair has, over all regions. There are none if there is no room for any.
    """
    trees = sorted(search.pool, key=lambda candidate: candidate.total)
    order = _by_promise(search, trees)
    n_answers = np.array([int(search.questions[q].answers.max()) + 1 for q in order], dtype=float)
    chosen, n_cuts = 0, 0
    for most in CUTS:
        sizes = np.minimum(n_answers, most + 1)
        # All pairs of the first k: half of the square of their sum and of the sum of their squares.
        room = n_numbers * 0.5 * (np.cumsum(sizes) ** 2 + np.cumsum(sizes**2))
        fitting = int(np.count_nonzero(room <= MOST_NUMBERS))
        if fitting > chosen:
            chosen, n_cuts = fitting, most
        if chosen >= min(len(order), ENOUGH):
            break
    kept = tuple(sorted(order[:chosen]))
    return SampleTrees(search, kept, tuple(_asked(search, q, trees[:NEAR_TREES], n_cuts) for q in kept))


def _by_promise(search: ExactSearch, trees: Sequence[Candidate]) -> list[int]:
    """The questions of the cheapest trees first, then those whose best cut costs least."""
    in_tree = {q: place for place, tree in reversed(list(enumerate(trees))) for q in tree.questions.tolist()}
    alone = [best_cut_cost(question, search.evidence.cost) for question in search.questions]
    return sorted(range(len(search.questions)), key=lambda q: (in_tree.get(q, len(trees)), alone[q]))


def _asked(search: ExactSearch, q: int, trees: Sequence[Candidate], n_cuts: int) -> Asked:
    question, line = search.questions[q], line_of(search.questions[q])
    near = [int(cut) for tree in trees for own, cut in zip(tree.questions, tree.cuts, strict=True) if own == q]
    first, last = _ranks(question, search.evidence.given, near, n_cuts)
    places = line.of(search.evidence.X)
    cuts = cuts_between(question, places, first, last)
    n_places = np.bincount(np.searchsorted(cuts, np.unique(places)), minlength=len(cuts) + 1)
    named = np.array(question.named, dtype=float)
    extra = LEVEL_PRICE * named[first] if len(named) else np.zeros(len(cuts))
    return Asked(line, cuts, split_price(question.n_terms), extra, n_places)


def _ranks(question: Question, given: FloatArray, near: Sequence[int], n_cuts: int) -> tuple[IntArray, IntArray]:
    """After which answers a line is cut, at least and at most: near quantiles, finer near the cuts of good trees."""
    n_answers = int(question.answers.max()) + 1
    if n_answers - 1 <= n_cuts or len(question.named):
        ranks = np.unique(np.linspace(0, n_answers - 2, min(n_answers - 1, n_cuts)).astype(int))
        return ranks, ranks
    below = np.cumsum(np.bincount(question.answers, weights=given, minlength=n_answers))
    n_even = n_cuts - (min(NEAR_CUTS, n_cuts // 3) if near else 0)
    step = below[-1] / (n_even + 1)

    def at(rows: FloatArray) -> IntArray:
        return np.clip(np.searchsorted(below, rows - 1e-9), 0, n_answers - 2)

    even = step * np.arange(1, n_even + 1)
    found = list(zip(at(even - ROOM * step).tolist(), at(even + ROOM * step).tolist(), strict=True))
    for cut in dict.fromkeys(near):
        beside = at(below[cut] + step * np.array([-0.5, -0.25, 0.25, 0.5])).tolist()
        found += [(rank, rank) for rank in (min(cut, n_answers - 2), *beside)]
    ranks = np.array(list(dict.fromkeys(found))[:n_cuts])
    return ranks[:, 0], ranks[:, 1]


@dataclass(frozen=True, eq=False)
class RegisterCandidate:
    """A tree over the lines of a register.

    Attributes
    ----------
    splits : ndarray of shape (n_regions, n_branches_below, 2)
        For each region the line of each split, -1 for none, and the place of its cut.
    classes : ndarray of shape (n_regions, n_leaves_below)
        Classes of the leaves.
    fixed : float
        Rows against it and the price of its splits.
    price : float
        The price of its splits alone.
    counts : ndarray of shape (n_cells,)
        Rows of each cell.
    """

    splits: IntArray
    classes: IntArray
    fixed: float
    price: float
    counts: FloatArray


@dataclass(frozen=True, eq=False)
class ExactTotal:
    """What histograms of all rows say.

    Attributes
    ----------
    tree : ObliqueTree
        The best tree, over the features of the lines.
    rows : float
        What labels and guide charge for it, over all rows.
    price : float
        The price of its splits.
    off : float
        Rows by which it misses the totals before its last offsets are moved.
    settled : float
        What it will cost in all then, about.
    """

    tree: ObliqueTree
    rows: float
    price: float
    off: float
    settled: float


@dataclass(frozen=True, eq=False)
class _Near:
    """Trees near the bound: what they cost in all, and of each the places of its parts in the lists of the regions."""

    totals: FloatArray  # (n,)
    places: IntArray  # (n, n_regions)
    lists: tuple[tuple[IntArray, IntArray], ...]  # splits and classes

    def tree(self, t: int) -> tuple[IntArray, IntArray]:
        """Splits and classes of a tree, region by region."""
        parts = [
            (splits[place], classes[place]) for (splits, classes), place in zip(self.lists, self.places[t], strict=True)
        ]
        return np.array([splits for splits, _ in parts]), np.array([classes for _, classes in parts])


@dataclass(frozen=True, eq=False)
class RegisterTerms:
    """Prices and totals of a register.

    Attributes
    ----------
    low, high : ndarray of shape (n_domains, n_classes)
        Bounds of the totals of all rows.
    n_first : int
        Domains of the first margin.
    row_off, term : float
        Prices of a row off and of a term, in rows.
    above : float
        The price of the splits above the regions, in prices of one term.
    min_rows : float
        Rows of a leaf at least.
    """

    low: FloatArray
    high: FloatArray
    n_first: int
    row_off: float
    term: float
    above: float
    min_rows: float


class RegisterSearch:
    """The best tree of a register by its histograms.

    Parameters
    ----------
    counting : CountPairs
        The lines and regions.
    histograms : ndarray of shape (n_regions * n_cells, width)
        What all rows add up to.
    terms : RegisterTerms
        Prices and totals.
    """

    def __init__(self, counting: CountPairs, histograms: FloatArray, terms: RegisterTerms) -> None:
        self.counting, self.terms = counting, terms
        self.layout, self.asked = counting.layout, counting.asked
        self.n_classes, self.n_domains = counting.tree.topology.n_classes, counting.n_domains
        self.histograms = histograms.reshape(counting.n_regions, self.layout.n_cells, self.layout.width)
        # A linear program in which numbers are about as large as in a sample.
        self.scale = max(float(np.abs(terms.high[np.isfinite(terms.high)]).max(initial=1.0)) / 1e4, 1.0)
        self.prices = CellPrices(np.zeros(terms.low.size), 0.0)
        self.bound = -np.inf

    def run(self, deadline: Deadline, known: Sequence[RegisterCandidate] = ()) -> ExactTotal:
        """The best tree, ``known`` ones among them, and on the way a lower bound; until nothing improves."""
        master = TotalPrices(self._bounds / self.scale, self.n_classes, self.terms.row_off)
        prices, found = self.prices, list(known)
        for candidate in found:
            master.add(_Scaled(candidate.fixed / self.scale, candidate.counts / self.scale))
        for _ in range(N_STEPS):
            candidate = self.cheapest(prices.cells)
            found.append(candidate)
            least = candidate.fixed + float(prices.cells @ candidate.counts) - self.scale * prices.constant
            if least > self.bound:
                self.bound, self.prices = least, prices
            master.add(_Scaled(candidate.fixed / self.scale, candidate.counts / self.scale))
            better = None if deadline.passed else master.solve(deadline)
            if better is None or self.scale * better.bound - self.bound < CLOSE:
                break
            prices = better
        costs = [self.settled_cost(candidate) for candidate in found]
        if not deadline.passed:
            found += self._cheapest_near(min(costs) - self.bound)
            costs += [self.settled_cost(candidate) for candidate in found[len(costs) :]]
        best = found[int(np.argmin(costs))]
        rows = best.fixed - best.price
        return ExactTotal(self.tree(best), rows, best.price, self._cells(best).off, min(costs))

    def bound_beside(self, cost: float, deadline: Deadline) -> float:
        """What every tree over the lines costs at least; no more than ``cost``, that of a tree which is known."""
        if cost <= self.bound or deadline.passed:
            return min(self.bound, cost)
        near = self._near(cost - self.bound)
        return self.bound if near is None else max(self.bound, float(near.totals.min(initial=cost)))

    def _near(self, slack: float) -> _Near | None:
        """All trees that cost less than the bound and the slack at the best prices; None if they are too many.

        At these prices no tree costs more than with rows off, but for a constant. So no other tree costs less in all.
        """
        above, cells = self.terms.term * self.terms.above, self.prices.cells
        least = [self._best(histograms, cells)[0] for histograms in self.histograms]
        costs, counts, places = np.full(1, above), np.zeros((1, len(cells))), np.zeros((1, 0), dtype=np.int64)
        n_leaves, lists, most = 2**self.counting.depth, [], min(MOST_TREES, MOST_COUNTS // len(cells))
        for r, histograms in enumerate(self.histograms):
            is_complete, own, own_counts, splits, classes = self.layout.below(
                histograms, *self._split_prices, cells, self.terms.min_rows, least[r] + slack, most
            )
            order = np.argsort(own, kind="stable")
            # Trees of the regions so far and of this one, beside the cheapest ones of the others.
            fitting = np.searchsorted(own[order], above + sum(least[: r + 1]) + slack - costs)
            if not is_complete or fitting.sum() > most:
                return None
            one = np.repeat(np.arange(len(costs)), fitting)
            other = order[np.arange(len(one)) - np.repeat(np.cumsum(fitting) - fitting, fitting)]
            costs = costs[one] + own[other]
            counts = counts[one] + own_counts.reshape(-1, len(cells))[other]
            places = np.column_stack([places[one], other])
            lists.append((splits.reshape(len(own), n_leaves - 1, 2), classes.reshape(len(own), n_leaves)))
        low, high = self._bounds.reshape(2, self.n_domains, self.n_classes)
        off = rows_beyond_bounds(counts.reshape(-1, self.n_domains, self.n_classes), low, high).sum(axis=-1)
        return _Near(costs - counts @ cells + self.terms.row_off * off, places, tuple(lists))

    def _cheapest_near(self, slack: float) -> list[RegisterCandidate]:
        """Of the trees near the bound, those that cost least in all; of as many as can be looked at."""
        near = None
        for _ in range(N_SLACKS):
            near = self._near(slack)
            if near is not None:
                break
            slack /= 4
        if near is None:
            return []
        best = np.argsort(near.totals, kind="stable")[:N_NEAR]
        return [self.candidate(*near.tree(t)) for t in best]

    @property
    def _bounds(self) -> FloatArray:
        return np.array([self.terms.low.ravel(), self.terms.high.ravel()])

    # ---- trees at prices ----

    def cheapest(self, cell_prices: FloatArray) -> RegisterCandidate:
        """The cheapest tree where a row of a cell costs its price more."""
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
        extra = np.zeros((len(self.asked), max(len(asked.cuts) for asked in self.asked)))
        for row, asked in zip(extra, self.asked, strict=True):
            row[: len(asked.extra)] = self.terms.term * asked.extra
        return self.terms.term * np.array([asked.price for asked in self.asked]), extra

    def _cheapest_classes(
        self, all_splits: Sequence[IntArray], all_leaves: Sequence[FloatArray], cell_prices: FloatArray
    ) -> IntArray:
        """The classes that cost least in the leaves of each region, shape (n_regions, n_leaves_below)."""
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
        """A tree by what lies in its leaves, shape (n_regions, n_leaves_below, width)."""
        prices, extra = self._split_prices
        price = self.terms.term * self.terms.above
        price += float(sum(prices[q] + extra[q, cut] for q, cut in splits.reshape(-1, 2) if q >= 0))
        charged = np.take_along_axis(leaves[..., : self.n_classes], classes[..., None], axis=-1)
        counts = np.zeros((self.n_domains, self.n_classes))
        np.add.at(counts.T, classes.ravel(), leaves[..., self.n_classes + 1 :].reshape(-1, self.n_domains))
        return RegisterCandidate(splits, classes, float(charged.sum()) + price, price, counts.ravel())

    def _leaves(self, histograms: FloatArray, splits: IntArray) -> FloatArray:
        """What lies in each leaf of a region, shape (n_leaves_below, width)."""
        (f, cut), *below = splits.tolist()
        n_leaves = 2**self.counting.depth
        leaves = np.zeros((n_leaves, histograms.shape[1]))
        if f < 0:
            leaves[0] = self._block(histograms, 0, 0).sum(axis=(0, 1))
            return leaves
        sides = slice(cut + 1), slice(cut + 1, None)
        if not below:
            for side, rows in enumerate(sides):
                leaves[side] = self._block(histograms, f, f)[rows].sum(axis=(0, 1))
            return leaves
        for side, (rows, (g, next_cut)) in enumerate(zip(sides, below, strict=True)):
            block = self._block(histograms, f, max(g, 0))[rows].sum(axis=0)
            leaves[2 * side] = block[: next_cut + 1].sum(axis=0) if g >= 0 else block.sum(axis=0)
            leaves[2 * side + 1] = block[next_cut + 1 :].sum(axis=0) if g >= 0 else 0.0
        return leaves

    def _block(self, histograms: FloatArray, f: int, g: int) -> FloatArray:
        """The histogram of two lines, shape (answers to f, answers to g, width)."""
        n_f, n_g = (len(self.asked[q].cuts) + 1 for q in (f, g))
        begin = self.layout.begin(min(f, g), max(f, g))
        block = histograms[begin : begin + n_f * n_g]
        if f <= g:
            return block.reshape(n_f, n_g, -1)
        return block.reshape(n_g, n_f, -1).transpose(1, 0, 2)

    # ---- how near a tree comes to the totals ----

    def settled_cost(self, candidate: RegisterCandidate) -> float:
        """What a tree costs in all once its last offsets are moved, where rows spread evenly within bins."""
        before = self._ladders(candidate)
        after, cells = moved_near(before, self._cells(candidate), self.terms.row_off)
        return candidate.fixed + moving_cost(before, after) + self.terms.row_off * cells.off

    def _cells(self, candidate: RegisterCandidate) -> Cells:
        counts = candidate.counts.reshape(self.n_domains, self.n_classes)
        return Cells(counts, self.terms.low, self.terms.high, self.terms.n_first)

    def _ladders(self, candidate: RegisterCandidate) -> list[Ladder]:
        """The last splits, with the rows of each bin in equal parts; no offset moves levels from side to side."""
        found = []
        for histograms, splits, classes in zip(self.histograms, candidate.splits, candidate.classes, strict=True):
            (f, cut), *below = splits.tolist()
            if f < 0:
                continue
            if not below or all(g < 0 for g, _ in below):
                along = self._block(histograms, f, f).sum(axis=1)
                found.append((f, self._ladder(f, along, cut, classes[[0, -1]])))
                continue
            for side, (rows, (g, next_cut)) in enumerate(
                zip((slice(cut + 1), slice(cut + 1, None)), below, strict=True)
            ):
                if g >= 0:
                    along = self._block(histograms, f, g)[rows].sum(axis=0)
                    found.append((g, self._ladder(g, along, next_cut, classes[2 * side : 2 * side + 2])))
        return [ladder for q, ladder in found if not isinstance(self.asked[q].line, LevelLine)]

    def _ladder(self, q: int, along: FloatArray, cut: int, classes: IntArray) -> Ladder:
        """A ladder whose rungs are parts of bins; ``along`` has what lies in each bin, shape (n_bins, width)."""
        left, right = (int(k) for k in classes)
        n_parts = np.clip(self.asked[q].n_places, 1, PARTS)
        parts = np.repeat(along / n_parts[:, None], n_parts, axis=0)
        parts = np.concatenate([np.zeros((1, parts.shape[1])), parts])
        return Ladder(
            node=0,
            left=left,
            right=right,
            rungs=np.arange(len(parts), dtype=float),
            sizes=parts[:, self.n_classes + 1 :],
            evidence=parts[:, left] - parts[:, right],
            cut=int(n_parts[: cut + 1].sum()),
        )

    # ---- trees ----

    def tree(self, candidate: RegisterCandidate) -> ObliqueTree:
        """The tree of a candidate, below the sample's splits above the last two levels."""
        tree, depth, n_regions = self.counting.tree, self.counting.depth, self.counting.n_regions
        topology, columns = tree.topology, self.counting.columns
        omega, gamma, leaf_classes = tree.omega.copy(), tree.gamma.copy(), topology.leaf_classes.copy()
        wide = slice(None) if columns is None else list(columns)
        for region in range(n_regions):
            for below in range(2**depth - 1):
                level = (below + 1).bit_length() - 1
                node = ((n_regions + region) << level) + below + 1 - (1 << level)
                q, cut = candidate.splits[region, below].tolist()
                leaf = 2 * node - topology.n_leaves
                pair = candidate.classes[region].reshape(-1, 2)[below + 1 - (1 << level)].tolist() if leaf >= 0 else []
                omega[node - 1], gamma[node - 1] = 0.0, 1.0
                if pair and (topology.n_classes > 2 or pair[0] != pair[1]):
                    leaf_classes[leaf : leaf + 2] = two_classes(pair, topology.n_classes)
                if q < 0 or (pair and pair[0] == pair[1]):
                    if pair and leaf_classes[leaf] != pair[0]:
                        gamma[node - 1] = -1.0
                    continue
                split = self.asked[q].line.split(float(self.asked[q].cuts[cut]))
                is_turned = bool(pair) and pair[0] > pair[1]
                omega[node - 1, wide] = -split.omega if is_turned else split.omega
                gamma[node - 1] = -split.high if is_turned else split.low
        return ObliqueTree(topology, omega, gamma, leaf_classes)


@dataclass(frozen=True, eq=False)
class ExactFit:
    """The best tree by the histograms of a register, and the searches that found it and prove it."""

    best: ExactTotal
    searches: tuple[RegisterSearch, ...]

    @classmethod
    def of(
        cls,
        counting: CountPairs,
        histograms: FloatArray,
        terms: RegisterTerms,
        sample: SampleTrees,
        deadline: Deadline,
    ) -> ExactFit:
        """Search below the sample's splits; the regions together also show all trees of depth 2."""
        searches = [RegisterSearch(counting, histograms, terms)]
        topology = counting.tree.topology
        if counting.n_regions > 1 and topology.n_classes <= 4:
            shallow = Topology(2, topology.n_classes)
            nothing = np.zeros((shallow.n_branches, counting.tree.omega.shape[1]))
            tree = ObliqueTree(shallow, nothing, np.ones(shallow.n_branches), shallow.leaf_classes)
            together = histograms.reshape(counting.n_regions, -1, histograms.shape[1]).sum(axis=0)
            searches.append(RegisterSearch(replace(counting, tree=tree), together, replace(terms, above=0.0)))
        found = [
            search.run(deadline, [search.candidate(*tree) for tree in sample.below(search.counting)])
            for search in searches
        ]
        best = min(found, key=lambda total: total.settled)
        return cls(replace(best, tree=deepened(best.tree, topology)), tuple(searches))

    def bound_beside(self, cost: float, deadline: Deadline) -> float:
        """What all these trees cost at least; no more than ``cost``, that of a tree which is known."""
        return min(search.bound_beside(cost, deadline) for search in self.searches)

    @property
    def among(self) -> str:
        """The trees that the bound is about."""
        first, *others = self.searches
        n_cuts = max(len(asked.cuts) for asked in first.asked)
        above = "" if first.counting.n_regions == 1 else " with the sample's splits above the last two levels,"
        any_split = " and of depth 2 with any splits," if others else ""
        return (
            f"trees of depth {first.counting.tree.topology.depth}{above}{any_split} over "
            f"{plural(len(first.asked), 'question')} about the features, at up to {plural(n_cuts, 'cut')} each, with "
            "the guide's answers about all rows"
        )


def deepened(tree: ObliqueTree, topology: Topology) -> ObliqueTree:
    """The same tree with a shape of more levels, which split nothing."""
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
        if topology.n_classes > 2:
            leaf_classes[place : place + 2] = two_classes([k, k], topology.n_classes)
        gamma[node - 1] = 1.0 if leaf_classes[place] == k else -1.0
    return ObliqueTree(topology, omega, gamma, leaf_classes)


@dataclass(frozen=True, eq=False)
class _Scaled:
    """A tree in other units of rows."""

    fixed: float
    counts: FloatArray
