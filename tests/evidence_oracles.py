"""Tiny problems of the evidence model, whose best tree with one column per split is found by looking at all of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from s2oct.evidence.evidence import LEVEL_PRICE, Evidence, EvidenceSpec
from s2oct.evidence.exact import ExactSearch, Found, SearchParams
from s2oct.problem.totals import Targets
from s2oct.stopping import Deadline
from s2oct.trees.features import MISSING_INDICATOR, ONEHOT, Feature
from s2oct.trees.tree import Topology

ENDLESS = Deadline(np.inf)


@dataclass(frozen=True)
class Column:
    """A column: numbers, of which some are missing, or levels, of which number 0 has no indicator."""

    name: str
    values: np.ndarray
    gaps: np.ndarray | None = None
    n_levels: int = 0

    def features(self) -> list[Feature]:
        if self.n_levels:
            return [
                Feature(f"{self.name}=l{level}", self.name, kind=ONEHOT, level=f"l{level}", rest="l0")
                for level in range(1, self.n_levels)
            ]
        if self.gaps is None:
            return [Feature(self.name, self.name)]
        gap = Feature(f"{self.name}=missing", self.name, kind=MISSING_INDICATOR, level="missing")
        return [Feature(self.name, self.name, fill=float(self.values[self.gaps][0])), gap]

    def matrix(self) -> np.ndarray:
        if self.n_levels:
            return np.array([self.values == level for level in range(1, self.n_levels)], dtype=float).T
        return np.column_stack([self.values] if self.gaps is None else [self.values, self.gaps]).astype(float)

    def ways(self) -> list[tuple[float, np.ndarray]]:
        """The price, in prices of one term, and the rows on one side of everything that may be asked."""
        if self.n_levels:
            return [
                (1 + LEVEL_PRICE * (min(size, self.n_levels - size) - 1), np.isin(self.values, chosen))
                for size in range(1, self.n_levels)
                for chosen in combinations(range(self.n_levels), size)
            ]
        if self.gaps is None:
            return [(1.0, self.values <= value) for value in np.unique(self.values)[:-1]]
        known = [(self.values <= value) & ~self.gaps for value in np.unique(self.values[~self.gaps])]
        return [(1.0, side) for below in known for side in (below, below | self.gaps)]


@dataclass(frozen=True)
class Case:
    """Rows, labeled ones first, with what classes cost them and how they count towards totals."""

    columns: list[Column]
    cost: np.ndarray
    size: np.ndarray
    given: np.ndarray
    targets: Targets
    depth: int
    row_off: float
    spec: EvidenceSpec

    @property
    def evidence(self) -> Evidence:
        return Evidence(
            np.hstack([column.matrix() for column in self.columns]),
            self.cost,
            self.size,
            self.targets,
            Topology(self.depth, self.cost.shape[1]),
            0.0,
            float(self.given.sum()),
            self.given,
            self.row_off,
            tuple(feature for column in self.columns for feature in column.features()),
        )

    def search(self, deadline: Deadline = ENDLESS) -> Found:
        return ExactSearch(self.evidence, self.spec, deadline, SearchParams(most_work=1e7, proof_work=1e7)).run()

    def least(self) -> float:
        """The cost of the best tree, found by looking at all of them."""
        everyone = np.ones(len(self.cost), dtype=bool)
        found = [self._costs(self._leaves(everyone)).min()]
        for price, side in self._ways(everyone):
            found.append(
                self._costs(self._joined(price, *(self._trees(part) for part in (side, ~side)))).min(initial=np.inf)
            )
        return float(min(found))

    def _ways(self, rows: np.ndarray) -> Iterable[tuple[float, np.ndarray]]:
        """The least price of everything that divides some rows."""
        found: dict[bytes, tuple[float, np.ndarray]] = {}
        for column in self.columns:
            for price, side in column.ways():
                left = rows & (side if side[rows.argmax()] else ~side)
                if (left != rows).any():
                    known = found.get(left.tobytes(), (np.inf, left))
                    found[left.tobytes()] = min((self.spec.term_price or 0.0) * price, known[0]), left
        return found.values()

    def _trees(self, rows: np.ndarray) -> Parts:
        """All trees for the rows of one side of the root."""
        found = [self._leaves(rows)]
        for price, side in self._ways(rows) if self.depth == 2 else []:
            joined = self._joined(price, self._leaves(side), self._leaves(rows & ~side))
            found.append(Parts(joined.cost.ravel(), joined.counts.reshape(-1, self.targets.n_cells)))
        return Parts(np.concatenate([part.cost for part in found]), np.concatenate([part.counts for part in found]))

    @staticmethod
    def _joined(price: float, left: Parts, right: Parts) -> Parts:
        return Parts(price + left.cost[:, None] + right.cost, left.counts[:, None] + right.counts)

    def _leaves(self, rows: np.ndarray) -> Parts:
        """A leaf of each class."""
        n_classes, m = self.cost.shape[1], len(self.targets.margins[0].codes)
        if self.given[rows].sum() < self.spec.min_rows:
            return Parts(np.zeros(0), np.zeros((0, self.targets.n_cells)))
        free = np.flatnonzero(rows[-m:])
        counts = np.zeros((n_classes, self.targets.n_cells))
        for k in range(n_classes):
            for first in self.targets.first_cells[:, free]:
                np.add.at(counts[k], first + k, self.size[-m:][free])
        return Parts(self.cost[rows].sum(axis=0), counts)

    def _costs(self, parts: Parts) -> np.ndarray:
        excess = np.maximum(parts.counts - self.targets.high, 0), np.maximum(self.targets.low - parts.counts, 0)
        n_classes = self.cost.shape[1]
        shape = (*parts.cost.shape, self.targets.n_cells // n_classes, n_classes)
        over, under = (part.reshape(shape).sum(axis=-1) for part in excess)
        return parts.cost + self.row_off * np.maximum(over, under).sum(axis=-1)


@dataclass(frozen=True)
class Parts:
    """What trees for some rows cost, and their rows of each cell."""

    cost: np.ndarray
    counts: np.ndarray
