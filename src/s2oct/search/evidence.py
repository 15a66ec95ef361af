"""The search of the evidence model: alternating node fits with few features a split, until nothing is gained.

1. On a sample of the rows, several trees are fitted by alternation. A price per class is settled on the way, so that
   the trees meet the totals nearly.
2. The best of them are made to meet the totals: the price of a row off rises in steps, and each time the nodes are
   refitted.
3. On all rows, the last rows off are moved where that costs least evidence.

All of this is counted work: the clock is only looked at as a limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from s2oct._core import (
    Table,
    classes_of,
    common_classes,
    cost_at,
    evidence_of,
    pair_floors,
    refit_split,
    set_hyperplane,
)
from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.model.evidence import Evidence, Sparsity
from s2oct.model.proof import DECIDED_TOLERANCE
from s2oct.model.tree import ObliqueTree
from s2oct.search.aiming import aimed_prices
from s2oct.search.sampling import sampled
from s2oct.stopping import Deadline, Foresight, Stop

WORTHWHILE = 1e-9
"""What costs less by no more than this is no better."""

PAIRED = 4
"""Classes of which pairs are tried in the leaves below a node: those of most rows."""


class Splits(NamedTuple):
    """A tree that changes node by node."""

    omega: FloatArray  # (n_branches, p)
    gamma: FloatArray  # (n_branches,)
    right: BoolArray  # (n_branches, N) on which side of each hyperplane each row lies
    leaf_classes: IntArray  # (n_leaves,) class of each leaf from the left

    def copy(self) -> Splits:
        """A tree that changes by itself."""
        return Splits(self.omega.copy(), self.gamma.copy(), self.right.copy(), self.leaf_classes.copy())


class Worth(NamedTuple):
    """By what a split is judged."""

    most: int  # features of a split
    term: float  # price of a feature in a split
    row_off: float  # price of a row by which the totals are missed
    cell_prices: FloatArray  # (n_cells,) added to what the class of a cell costs an unlabeled row of its domain


class Effort(NamedTuple):
    """How hard a node fit tries."""

    fresh: bool  # whether other features than the present ones are tried
    tries: int  # random changes of a coefficient


def refit(
    table: Table, splits: Splits, worth: Worth, node: int, allowed: IntArray, effort: Effort, state: Any, stop: Stop
) -> float:
    """Give a node the best split found for the rows it decides about, if that is better; returns what it saves.

    With more than two classes, a last-level node also gets the two classes below it with which that is best.
    """
    several = table.n_classes > 2 and effort.fresh and 2 * node >= len(splits.leaf_classes)
    return (refit_classes if several else refit_split)(table, splits, worth, node, allowed, effort, state, stop)


def refit_classes(
    table: Table, splits: Splits, worth: Worth, node: int, allowed: IntArray, effort: Effort, state: Any, stop: Stop
) -> float:
    """Refit a node with each pair of common classes in its outer leaves, and keep the best; returns what that saves."""
    below = list(_outer_leaves(node, len(splits.leaf_classes)))
    before = cost_at(table, splits, worth, node)
    best = before - refit_split(table, splits, worth, node, allowed, effort, state, stop)
    started, found = sorted(splits.leaf_classes[below]), _NodeState(splits, node, below)
    classes = common_classes(table, splits, worth, node, PAIRED)
    floors = pair_floors(table, splits, worth, node, classes)
    for a, c in product(range(len(classes)), repeat=2):
        if stop():
            break
        pair = [classes[a], classes[c]]
        if pair[0] >= pair[1] or pair == started or floors[a, c] >= best - WORTHWHILE:
            continue
        splits.leaf_classes[below] = pair
        refit_split(table, splits, worth, node, allowed, effort, state, stop)
        cost = cost_at(table, splits, worth, node)
        if cost < best - WORTHWHILE:
            best, found = cost, _NodeState(splits, node, below)
    found.restore(splits)
    return float(max(before - best, 0.0))


def _outer_leaves(node: int, n_leaves: int) -> tuple[int, int]:
    """The leftmost leaf on the left of a node and the rightmost one on its right, from the left of the tree."""
    left, right = 2 * node, 2 * node + 1
    while left < n_leaves:
        left, right = 2 * left, 2 * right + 1
    return left - n_leaves, right - n_leaves


class _NodeState:
    """The split of a node and the classes of the outer leaves below it, to return to."""

    def __init__(self, splits: Splits, node: int, below: list[int]) -> None:
        self._b, self._below, self._classes = node - 1, below, splits.leaf_classes[below]
        self._split = [part[node - 1].copy() for part in splits[:3]]

    def restore(self, splits: Splits) -> None:
        """Give the node this state."""
        splits.leaf_classes[self._below] = self._classes
        for part, value in zip(splits[:3], self._split, strict=True):
            part[self._b] = value


SAMPLE = 2500
"""Rows to which directions are fitted first."""

WORK = 3e6
"""Rows times features, summed over the starts: large problems have fewer."""

FEWEST_STARTS, MOST_STARTS = 4, 24
FRESH_STARTS = 4
"""Starts, at least and at most; and how many of them do not begin from the best tree so far."""

SWEEPS = 6
"""How often the nodes of one tree are refitted, at most."""


class EvidenceStarts:
    """What a search of the evidence model begins with: tables for the kernels, and trees that cost little.

    Parameters
    ----------
    evidence : Evidence
        What classes cost rows.
    sparsity : Sparsity
        How sparse splits should be.
    seed : int
        Seed of everything random.
    deadline : Deadline
        When to end with the best tree so far.
    """

    def __init__(self, evidence: Evidence, sparsity: Sparsity, seed: int, deadline: Deadline) -> None:
        self.evidence, self.sparsity, self._ends = evidence, sparsity, Foresight(deadline)
        self.rng = np.random.default_rng(seed)
        self.state = self.rng.integers(1, 2**63, size=1, dtype=np.uint64)
        X = evidence.X
        self.center, spread = X.mean(axis=0), X.std(axis=0)
        self.steep = np.where(spread > 0, 1 / np.where(spread > 0, spread, 1.0), 0.0)
        self.allowed = np.flatnonzero(spread > 0)
        self.most = sparsity.most_of(len(self.allowed))
        self.term_price = sparsity.price_of(evidence.n_given)
        self.first, self.bounds = _cells(evidence)
        self.XT = np.ascontiguousarray(((X - self.center) * self.steep).T)
        self.table = self._table(np.arange(evidence.n_rows), np.ones(evidence.n_rows))

    def _table(self, rows: IntArray, weight: FloatArray) -> Table:
        evidence = self.evidence
        XT = self.XT if len(rows) == self.XT.shape[1] else np.ascontiguousarray(self.XT[:, rows])
        order = np.argsort(XT, axis=1, kind="stable") if len(rows) <= SAMPLE else np.empty((len(XT), 0), dtype=np.int64)
        return Table(
            XT=XT,
            order=order,
            cost=evidence.cost[rows] * weight[:, None],
            sizes=evidence.size[rows] * weight,
            first=np.ascontiguousarray(self.first[:, rows]),
            bounds=self.bounds,
            n_classes=evidence.topology.n_classes,
        )

    def _sample(self) -> Table:
        """All rows, or at most `SAMPLE` of them, labeled rows first; their weights make up for the others."""
        if self.evidence.n_rows <= SAMPLE:
            return self.table
        return self._table(*sampled(np.arange(self.evidence.n_rows) < self.evidence.n_labeled, SAMPLE, self.rng))

    def starts(self, table: Table) -> list[Splits]:
        """Trees by alternation, the best ones first."""
        work = table.XT.shape[1] * (len(self.allowed) + 10)
        number = int(np.clip(WORK / work, FEWEST_STARTS, MOST_STARTS))
        found: list[tuple[float, int, Splits]] = []
        for k in range(number):
            if k < FRESH_STARTS:
                splits = self._grown(table, at_random=k > 0)
            else:
                splits = self._perturbed(table, min(found, key=lambda start: start[:2])[2])
            self._alternate_with_class_prices(table, splits)
            found.append((self.cost(table, splits, 1.0), k, splits))
            if self._ends.now:
                break
        return [splits for _, _, splits in sorted(found, key=lambda start: start[:2])]

    def _grown(self, table: Table, *, at_random: bool) -> Splits:
        """A tree grown from the root: each node split as if its children were leaves; the root at random if asked."""
        topology = self.evidence.topology
        n, (p, n_rows) = topology.n_branches, table.XT.shape
        splits = Splits(np.zeros((n, p)), np.ones(n), np.zeros((n, n_rows), dtype=bool), topology.leaf_classes.copy())
        for node in topology.branches:
            # Until it is split, a node sends all rows to the side on which it hangs.
            if node > 1 and node % 2:
                splits.right[node - 1], splits.gamma[node - 1] = True, -1.0
        worth = self._worth(0.0)
        for node in topology.branches:
            if self._ends.now:
                break
            if node == 1 and at_random:
                self._place_at_random(table, splits, node)
            else:
                # Of two classes, every node has both below it.
                fit = refit if topology.n_classes == 2 else refit_classes
                self._refit(table, splits, worth, node, Effort(True, 0), fit)
        return splits

    def _perturbed(self, table: Table, splits: Splits) -> Splits:
        copied = splits.copy()
        self._place_at_random(table, copied, int(self.rng.integers(1, len(splits.gamma) + 1)))
        return copied

    def _place_at_random(self, table: Table, splits: Splits, node: int) -> None:
        direction = np.zeros(len(table.XT))
        if len(self.allowed):
            chosen = self.rng.permutation(self.allowed)[: min(self.most, 2)]
            direction[chosen] = self.rng.normal(size=len(chosen))
        row = int(self.rng.integers(table.XT.shape[1]))
        set_hyperplane(table, splits, node, direction, float(table.XT[:, row] @ direction))

    def _alternate_with_class_prices(self, table: Table, splits: Splits) -> None:
        """Refit the nodes; between sweeps, cells with too many rows become more expensive."""
        (low, high), first = self.bounds, table.first
        prices = np.zeros(len(low))
        step = 0.5
        n_classes = self.evidence.topology.n_classes
        rarest = np.maximum(0.5 * (low + high), 1.0).reshape(-1, n_classes).min(axis=1)
        scale = np.repeat(rarest, n_classes)
        for number in range(SWEEPS):
            gained = self._sweep(table, splits, self._worth(0.0, prices), Effort(True, 0))
            if self._ends.now:
                return
            cells = (first + classes_of(table, splits)).ravel()
            counts = np.bincount(cells, weights=np.tile(table.sizes, len(first)), minlength=len(low))
            excess = np.maximum(counts - high, 0.0) - np.maximum(low - counts, 0.0)
            if gained <= 0 and (np.abs(excess).max() < 1 or number >= SWEEPS - 2):
                return
            prices += step * np.clip(excess / scale, -1.0, 1.0)
            step *= 0.7

    def _sweep(self, table: Table, splits: Splits, worth: Worth, effort: Effort) -> float:
        """Refit all nodes from the bottom up; returns what that saves."""
        saved = 0.0
        for node in reversed(self.evidence.topology.branches):
            if self._ends.now:
                return 0.0
            saved += self._refit(table, splits, worth, node, effort)
        return saved

    def _refit(
        self, table: Table, splits: Splits, worth: Worth, node: int, effort: Effort, fit: Callable[..., float] = refit
    ) -> float:
        """Refit a node; returns what that saves."""
        with self._ends.step():
            return fit(table, splits, worth, node, self.allowed, effort, self.state, self._ends.stop)

    def _worth(self, row_off: float, cell_prices: FloatArray | None = None, most: int | None = None) -> Worth:
        prices = np.zeros(self.bounds.shape[1]) if cell_prices is None else cell_prices
        return Worth(self.most if most is None else most, self.term_price, row_off, prices)

    def cost(self, table: Table, splits: Splits, row_off: float) -> float:
        """What a tree costs, its terms included."""
        rows, off = evidence_of(table, splits)
        return float(rows + row_off * off + self.term_price * np.count_nonzero(splits.omega))


def _cells(evidence: Evidence) -> tuple[IntArray, FloatArray]:
    """Cell of class 0 of every row, which means nothing for labeled rows, and the bounds of all cells."""
    targets, n = evidence.targets, evidence.n_labeled
    first = np.zeros((len(targets.margins), evidence.n_rows), dtype=np.int64)
    first[:, n:] = targets.first_cells
    return first, np.array([targets.low, targets.high])


RISING = (0.5, 1.0, 2.0)
"""Prices of a row off the totals while trees learn to meet them."""

REPAIR_PRICES = (4.0, 16.0)
"""Prices of a row off while the last rows are repaired, before its full price: cheap repairs come first."""

FINALISTS, MORE_FINALISTS, AIMS, TRIES, REPAIRS, REPAIR_TRIES = 3, 6, 10, 6, 40, 30

OTHERS = 12
"""Starts that are made to meet the totals to see which other trees are as good: more would take longer than the fit."""


class EvidenceSearch(EvidenceStarts):
    """A search in progress; its parameters are those of `EvidenceStarts`."""

    _report: Callable[[ObliqueTree], object] | None = None

    def run(self, report: Callable[[ObliqueTree], object] | None = None) -> ObliqueTree:
        """The best tree found; ``report`` is called with trees on the way that may be the best so far."""
        sample = self._sample()
        self._begun = sample, self.starts(sample)
        self._report = report
        best = self.tree(self._further(self._best_finished(*self._begun)))
        self._report = None
        return best

    def others(self) -> Iterator[ObliqueTree]:
        """Trees from the starts of `run`, each made to meet the totals, the best starts first.

        Starts that agree on all rows lead to one tree and count once.
        """
        sample, starts = self._begun
        distinct = {classes_of(sample, splits).tobytes(): splits for splits in reversed(starts)}
        for splits in list(reversed(distinct.values()))[:OTHERS]:
            if self._ends.now:
                return
            yield self.tree(self.finished(self._onto_all(self.settled(sample, splits))))

    def _further(self, best: Splits) -> Splits:
        """The best tree. If it misses the totals, others are tried: from a random root, or aimed at exact classes.

        Totals of several domains are missed as a rule, because the tree does not see the domains.
        """
        for number in range(AIMS if self.evidence.targets.has_one_domain else 0):
            if self._ends.now or not self._misses_totals(best):
                break
            tried = [best, self.finished(self._grown(self.table, at_random=True))]
            # Perhaps no tree has the classes of least cost: the next aims are nearly as good.
            prices = aimed_prices(self.evidence, self.rng if number else None)
            if prices is not None:
                table = self.table.with_cost(prices)
                tried.append(self._best_finished(table, self.starts(table)))
            best = min(tried, key=self.full_cost)
        return best

    def _best_finished(self, sample: Table, starts: list[Splits]) -> Splits:
        """The best of some starts that are made to meet the totals; of all starts, if none of these does."""
        by_domain = not self.evidence.targets.has_one_domain
        n_finalists = (MORE_FINALISTS if by_domain else FINALISTS) if self.evidence.n_rows <= SAMPLE else 1
        finished: list[Splits] = []
        for splits in starts:
            if len(finished) >= n_finalists and (
                by_domain or not self._misses_totals(min(finished, key=self.full_cost))
            ):
                break
            finished.append(self.finished(self._onto_all(self.settled(sample, splits))))
            if self._report is not None:
                self._report(self.tree(finished[-1]))
        return min(finished, key=self.full_cost)

    def settled(self, table: Table, splits: Splits) -> Splits:
        """The same tree, made to meet the totals in steps."""
        splits = splits.copy()
        for price in RISING:
            for _ in range(2):
                if not self._sweep(table, splits, self._worth(price), Effort(True, 0)):
                    break
        return splits

    def finished(self, splits: Splits) -> Splits:
        """A tree over all rows, polished, with its last rows off repaired where that costs least."""
        table, full = self.table, self.evidence.row_off
        if self.evidence.n_rows <= SAMPLE:
            self._sweep(table, splits, self._worth(RISING[-1]), Effort(True, TRIES))
        for wider in self._widths():
            if not splits.omega.any() and self._misses_totals(splits):
                # Repairs move splits. A rare class needs one though it saves less evidence than its terms cost.
                self._sweep(table, splits, self._worth(full, most=wider), Effort(True, 0))
            for price in sorted({*REPAIR_PRICES, full}):
                for effort in (Effort(False, 0), Effort(False, REPAIR_TRIES)):
                    splits = self._repaired(table, splits, self._worth(price, most=wider), effort)
        # Where no change of the splits that are there meets the totals, fresh ones may, also in nodes without a split.
        if self.evidence.n_rows <= SAMPLE:
            for wider in self._widths():
                splits = self._repaired(table, splits, self._worth(full, most=wider), Effort(True, REPAIR_TRIES))
        self._sweep(table, splits, self._worth(full), Effort(False, TRIES))
        return splits

    def _widths(self) -> list[int]:
        """How many features a split may have while the last rows are repaired."""
        if not self.sparsity.may_exceed:
            return [self.most]
        return sorted({min(self.most + extra, len(self.allowed)) for extra in (0, 1, 3, len(self.allowed))} - {0})

    def _misses_totals(self, splits: Splits) -> bool:
        """Whether some tree may be nearer to the totals: a miss of less than a row counts, too."""
        return bool(evidence_of(self.table, splits)[1] > self.evidence.least_off + DECIDED_TOLERANCE)

    def _repaired(self, table: Table, splits: Splits, worth: Worth, effort: Effort) -> Splits:
        """Refit the node whose refit saves most, as long as rows are off."""
        for _ in range(REPAIRS):
            if self._ends.now or not self._misses_totals(splits):
                break
            best, most = splits, 0.0
            for node in self.evidence.topology.branches:
                if self._ends.now:
                    return best
                changed = splits.copy()
                saved = self._refit(table, changed, worth, node, effort)
                if saved > most:
                    best, most = changed, saved
            if best is splits:
                break
            splits = best
        return splits

    def full_cost(self, splits: Splits) -> float:
        """What a tree costs on all rows, at the full price of a row off."""
        return self.cost(self.table, splits, self.evidence.row_off)

    def _onto_all(self, splits: Splits) -> Splits:
        """A tree over a sample as a tree over all rows; a copy."""
        if splits.right.shape[1] == self.XT.shape[1]:
            return splits.copy()
        n_branches = len(splits.gamma)
        moved = Splits(
            splits.omega.copy(),
            splits.gamma.copy(),
            np.zeros((n_branches, self.XT.shape[1]), dtype=bool),
            splits.leaf_classes.copy(),
        )
        # A node without coefficients sends all rows to one side.
        moved.right[splits.gamma < 0] = True
        for b in np.flatnonzero(splits.omega.any(axis=1)).tolist():
            set_hyperplane(self.table, moved, b + 1, splits.omega[b].copy(), float(splits.gamma[b]))
        return moved

    def tree(self, splits: Splits) -> ObliqueTree:
        """A tree in the units of the evidence, every offset in the middle of its gap."""
        omega, gamma = splits.omega * self.steep, splits.gamma.copy()
        for b in np.flatnonzero(omega.any(axis=1)):
            values, right = splits.omega[b] @ self.XT, splits.right[b]
            if right.any() and not right.all():
                gamma[b] = 0.5 * values[~right].max() + 0.5 * values[right].min()
        return ObliqueTree(self.evidence.topology, omega, gamma + omega @ self.center, splits.leaf_classes.copy())
