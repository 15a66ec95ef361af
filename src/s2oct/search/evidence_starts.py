"""Starts of the search of the evidence model: trees by alternating node fits, on a sample of the rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.model.evidence import Evidence, Sparsity
from s2oct.search.compiled.cells import Counts
from s2oct.search.compiled.evidence_trees import Splits, Table, Worth, classes_of, evidence_of, set_hyperplane
from s2oct.search.compiled.node_fits import Effort
from s2oct.search.refits import refit, refit_classes
from s2oct.search.sampling import sampled
from s2oct.stopping import Deadline, Foresight

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
            XT,
            order,
            evidence.cost[rows] * weight[:, None],
            Counts(
                evidence.size[rows] * weight,
                np.ascontiguousarray(self.first[:, rows]),
                self.bounds,
                evidence.topology.n_classes,
            ),
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
        copied = Splits(*(part.copy() for part in splits))
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
        (low, high), first = self.bounds, table.counts.first
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
            counts = np.bincount(cells, weights=np.tile(table.counts.sizes, len(first)), minlength=len(low))
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
            return fit(table, splits, worth, node, self.allowed, effort, self.state)

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
