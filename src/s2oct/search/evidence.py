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

import numpy as np

from s2oct.model.proof import DECIDED_TOLERANCE
from s2oct.model.tree import ObliqueTree
from s2oct.search.aiming import aimed_prices
from s2oct.search.compiled.evidence_trees import Splits, Table, Worth, classes_of, evidence_of, set_hyperplane
from s2oct.search.compiled.node_fits import Effort
from s2oct.search.evidence_starts import SAMPLE, EvidenceStarts

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
                table = self.table._replace(cost=prices)
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
        splits = Splits(*(part.copy() for part in splits))
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
                changed = Splits(*(part.copy() for part in splits))
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
            return Splits(*(part.copy() for part in splits))
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
