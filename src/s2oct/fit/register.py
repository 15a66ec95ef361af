"""A register: a table with too many rows to fit at once, and the totals of its sample."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.problem.batches import MOST_WHOLE, ArrayBatches, Batches, row_keys
from s2oct.problem.known import Known
from s2oct.problem.labels import Labels
from s2oct.problem.problem import Problem
from s2oct.problem.targets import Margin, Targets
from s2oct.problem.totals import largest_remainder


def sampled_targets(targets: Targets, rows: IntArray, sizes: FloatArray, *, is_weighted: bool) -> Targets:
    """Scale the totals to some of the unlabeled rows: each domain keeps the shares of its classes.

    Parameters
    ----------
    targets : Targets
        Totals of all unlabeled rows.
    rows : ndarray of int
        The rows of the sample among the unlabeled rows.
    sizes : ndarray of shape (m,)
        Contribution of each unlabeled row to the totals.
    is_weighted : bool
        Whether sizes are weights. Otherwise totals are rounded to whole rows, and bounds are rounded outwards.
    """
    return Targets(
        tuple(
            scaled_margin(
                margin,
                margin.codes[rows],
                sizes_of_domains(margin, margin.codes, sizes),
                sizes_of_domains(margin, margin.codes[rows], sizes[rows]),
                is_weighted=is_weighted,
            )
            for margin in targets.margins
        )
    )


def scaled_margin(
    margin: Margin, codes: IntArray, of_all: FloatArray, of_sample: FloatArray, *, is_weighted: bool
) -> Margin:
    """Scale a margin to a sample with these domains, by the ratio of the two sizes of each domain."""
    factor = (of_sample / np.maximum(of_all, np.finfo(float).tiny))[:, None]
    low, high, value, se = (part * factor for part in (margin.low, margin.high, margin.value, margin.se))
    if not is_weighted:
        for d in range(margin.n_domains):
            if (margin.low[d] == margin.high[d]).all():
                low[d] = high[d] = value[d] = largest_remainder(low[d], round(of_sample[d]))
            else:
                low[d], high[d] = np.floor(low[d]), np.ceil(high[d])
    return replace(margin, codes=codes, low=low, high=high, value=value, se=se)


def sizes_of_domains(margin: Margin, codes: IntArray, sizes: FloatArray) -> FloatArray:
    """Total size of the rows in each domain."""
    return np.bincount(codes, weights=sizes, minlength=margin.n_domains).astype(float)


SAMPLE = 50_000
"""Unlabeled rows in a sample. Its shares have an error of 0.2 percentage points, which the passes correct."""

SAMPLE_WEIGHTED = 15_000
"""The same for rows with weights: the guide meets weighted totals by a linear program, whose time grows faster than the
number of rows. With 50,000 rows and three classes, the guide takes most of a one-minute limit on a shared core."""

SAMPLE_CELLS = 10_000_000
"""Maximum of features times unlabeled rows in a sample: the time of guide and search grows with both."""


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
        labels, is_labeled, weights = known.labels, known.is_labeled, known.weights
        most = sample_size(rows.shape[1], is_weighted=weights is not None) if most is None else most
        positions = sampled_rows(is_labeled, seed, most)
        # The rank among the unlabeled rows, which indexes the domains of the totals.
        ranks = np.searchsorted(np.flatnonzero(~is_labeled), positions[~is_labeled[positions]])
        sample = replace(
            known,
            labels=Labels(labels.classes, labels.codes[positions]),
            targets=sampled_targets(known.targets, ranks, known.sizes[~is_labeled], is_weighted=weights is not None),
            weights=None if weights is None else weights[positions],
            domains=tuple((name, cells[positions]) for name, cells in known.domains),
            counted=None,
            given=None,
        )
        unit = 1.0 if weights is None else float(weights[~is_labeled].mean())
        relative = None if weights is None else weights / unit
        targets = known.targets.over(unit)
        return cls(
            batches=ArrayBatches(rows, is_labeled, targets, relative),
            rows=np.ascontiguousarray(rows[positions], dtype=float),
            positions=positions,
            known=sample,
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

    def problem(self, feature_names: list[str] | None = None) -> Problem:
        """Return the sample as a problem."""
        return Problem.from_known(self.rows, self.known, feature_names)


def sample_size(n_features: int, *, is_weighted: bool = False) -> int:
    """Maximum number of unlabeled rows in a sample."""
    return min(SAMPLE_WEIGHTED if is_weighted else SAMPLE, SAMPLE_CELLS // n_features)


def is_large(X: Any) -> bool:
    """Whether a user's table has too many rows to fit at once; False for objects without rows."""
    shape = getattr(X, "shape", None)
    if isinstance(shape, tuple) and shape:
        return bool(shape[0] > MOST_WHOLE)
    return isinstance(X, Sized) and len(X) > MOST_WHOLE


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
