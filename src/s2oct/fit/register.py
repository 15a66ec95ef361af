"""A register: a table with too many rows to fit at once, and the totals of its sample."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.problem.batches import ArrayBatches, Batches, row_keys
from s2oct.problem.known import Known
from s2oct.problem.labels import Labels
from s2oct.problem.totals import Targets, largest_remainder


@dataclass(frozen=True)
class SampleParams:
    """Size of a sample.

    Attributes
    ----------
    rows : int
        Unlabeled rows in a sample. Its shares have an error of 0.2 percentage points, which the passes correct.
    weighted_rows : int
        The same for rows with weights: the guide meets weighted totals by a linear program, whose time grows faster
        than the number of rows. With 50,000 rows and three classes, the guide takes most of a one-minute limit on a
        shared core.
    numbers : int
        Maximum number of features times unlabeled rows: the time of guide and search grows with both.
    """

    rows: int = 50_000
    weighted_rows: int = 15_000
    numbers: int = 10_000_000


PARAMS = SampleParams()


@dataclass(frozen=True, eq=False)
class Register:
    """A table with a sample in memory; all unlabeled rows come in batches.

    Attributes
    ----------
    batches : Batches
        All unlabeled rows.
    rows : ndarray of shape (n_sampled, p)
        The sample in table order: all labeled rows and some of the others.
    positions : ndarray of shape (n_sampled,)
        Positions of these rows in the table.
    known : Known
        Labels, totals and weights of the sample; its totals are scaled down.
    doubts : tuple of str
        Doubts about labels and totals of all rows, in sentences.
    targets : Targets
        The totals of all unlabeled rows, in units of ``unit``, without the domains of the rows.
    n_unlabeled : int
        Number of unlabeled rows.
    unit : float
        Mean survey weight of an unlabeled row; 1 without weights.
    is_weighted : bool
        Whether rows have different survey weights.
    """

    batches: Batches
    rows: FloatArray
    positions: IntArray
    known: Known
    doubts: tuple[str, ...]
    targets: Targets
    n_unlabeled: int
    unit: float
    is_weighted: bool

    @classmethod
    def of_arrays(cls, rows: FloatArray, known: Known, seed: int, most: int | None = None) -> Register:
        """Turn a table in memory into a register; ``most`` is the sample's unlabeled rows, `sample_size` if None."""
        is_labeled, weights = known.is_labeled, known.weights
        most = sample_size(rows.shape[1], is_weighted=weights is not None) if most is None else most
        positions = sampled_rows(is_labeled, seed, most)
        # The rank among the unlabeled rows, which indexes the domains of the totals.
        ranks = np.searchsorted(np.flatnonzero(~is_labeled), positions[~is_labeled[positions]])
        sizes = known.sizes[~is_labeled]
        unit = 1.0 if weights is None else float(weights[~is_labeled].mean())
        relative = None if weights is None else weights / unit
        targets = known.targets.over(unit)
        return cls(
            batches=ArrayBatches(rows, is_labeled, targets, relative),
            rows=np.ascontiguousarray(rows[positions], dtype=float),
            positions=positions,
            known=sample_known(known, positions, sampled_targets(known, ranks, sizes, sizes)),
            doubts=known.doubts,
            targets=without_rows(targets),
            n_unlabeled=int((~is_labeled).sum()),
            unit=unit,
            is_weighted=weights is not None and bool((weights != weights[0]).any()),
        )

    @property
    def n_labeled(self) -> int:
        """Number of labeled rows; all of them are in the sample."""
        return int(self.known.is_labeled.sum())

    @property
    def n_rows(self) -> int:
        """Number of all rows."""
        return self.n_labeled + self.n_unlabeled

    @property
    def share(self) -> float:
        """Share of the unlabeled rows that are in the sample."""
        return (len(self.rows) - self.n_labeled) / self.n_unlabeled


def sample_size(n_features: int, *, is_weighted: bool = False) -> int:
    """Maximum number of unlabeled rows in a sample."""
    return min(PARAMS.weighted_rows if is_weighted else PARAMS.rows, PARAMS.numbers // n_features)


def sampled_rows(is_labeled: BoolArray, seed: int, most: int) -> IntArray:
    """Positions of all labeled rows and of a random sample of the others, in ascending order."""
    keys = row_keys(seed, np.arange(len(is_labeled)))
    keys[is_labeled] = 0
    number = min(int(is_labeled.sum()) + most, len(keys))
    return np.sort(np.argpartition(keys, number - 1)[:number]).astype(np.int64)


def without_rows(targets: Targets) -> Targets:
    """Return the totals without the domains of single rows."""
    none = np.empty(0, dtype=np.int64)
    return Targets(tuple(replace(margin, codes=none) for margin in targets.margins))


def sampled_targets(known: Known, rows: IntArray | BoolArray, sizes: FloatArray, all_sizes: FloatArray) -> Targets:
    """Scale the totals to some of the unlabeled rows: each domain keeps the shares of its classes.

    Parameters
    ----------
    known : Known
        Totals and weights. Without weights, totals are rounded to whole rows, and bounds are rounded outwards.
    rows : ndarray
        The rows of the sample among the unlabeled rows.
    sizes : ndarray of shape (m,)
        Contribution of each unlabeled row to the totals.
    all_sizes : ndarray of shape (m,)
        The same, with the rows of the table that are not in memory.
    """
    margins = []
    for margin in known.targets.margins:
        codes = margin.codes[rows]
        of_all = np.bincount(margin.codes, weights=all_sizes, minlength=margin.n_domains)
        of_sample = np.bincount(codes, weights=sizes[rows], minlength=margin.n_domains)
        factor = (of_sample / np.maximum(of_all, np.finfo(float).tiny))[:, None]
        low, high, value, se = (part * factor for part in (margin.low, margin.high, margin.value, margin.se))
        for d in range(margin.n_domains if known.weights is None else 0):
            if (margin.low[d] == margin.high[d]).all():
                low[d] = high[d] = value[d] = largest_remainder(low[d], round(of_sample[d]))
            else:
                low[d], high[d] = np.floor(low[d]), np.ceil(high[d])
        margins.append(replace(margin, codes=codes, low=low, high=high, value=value, se=se))
    return Targets(tuple(margins))


def sample_known(known: Known, rows: IntArray | BoolArray, targets: Targets) -> Known:
    """Labels, weights and domains of some rows, with their own totals."""
    return known.with_rows(
        Labels(known.classes, known.labels.codes[rows]),
        targets,
        None if known.weights is None else known.weights[rows],
        tuple((name, cells[rows]) for name, cells in known.domains),
    )
