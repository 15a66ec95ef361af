"""What a fitted tree remembers of its data."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.model.batches import mixed
from s2oct.model.problem import Problem
from s2oct.model.targets import Targets

MOST_HASHED = 100_000
"""Rows up to which all of them are hashed in their order. More of them come in batches, perhaps on several machines,
and are marked one by one."""

_DECIMALS = 4
"""Decimals of weights in mean weights that are marked: the mean depends on the order in which weights are added up."""

_ROUNDING = 1e-12
"""Sums of weights may miss a whole number by this part."""


@dataclass(frozen=True)
class DataSummary:
    """What a fitted tree remembers of its data: enough to recognise them, not to reconstruct them.

    Attributes
    ----------
    sha256 : str
        Hash of rows, labels, classes and totals as the fit saw them.
    n_labeled, n_unlabeled : int
        Numbers of rows.
    totals : tuple of float
        Known number of unlabeled rows of each class, with weights their known weight; whole numbers where it is whole.
    """

    sha256: str
    n_labeled: int
    n_unlabeled: int
    totals: tuple[float, ...]

    @classmethod
    def of(cls, problem: Problem) -> DataSummary:
        """Summarise the data of a problem, so that they can be recognised later.

        Parameters
        ----------
        problem : Problem
            Rows, labels, totals and weights.

        Returns
        -------
        DataSummary
            Hash, numbers of rows and totals.
        """
        if problem.n_rows > MOST_HASHED:
            sizes, domains = problem.unlabeled_size, problem.targets.first_cells // problem.n_classes
            mark, m = rows_mark(problem.X_unlabeled, sizes, domains), problem.n_unlabeled
            totals = whole_if_whole(problem.unit * problem.totals)
            return cls(register_hash(problem, problem.targets, mark, m), problem.n_labeled, m, totals)
        shapes = (problem.X_labeled.shape, problem.X_unlabeled.shape, problem.classes.tolist())
        digest = hashlib.sha256(repr(shapes).encode())
        for array, kind in (
            (problem.X_labeled, "<f8"),
            (problem.X_unlabeled, "<f8"),
            (problem.labels, "<i8"),
            *_known_numbers(problem),
        ):
            digest.update(np.ascontiguousarray(array, dtype=kind).tobytes())
        totals = whole_if_whole(problem.unit * problem.totals)
        return cls(digest.hexdigest(), problem.n_labeled, problem.n_unlabeled, totals)


def rows_mark(X: FloatArray, sizes: FloatArray, domains: IntArray) -> int:
    """A number that other rows hardly have. Marks of parts of the rows, in any order, add up to it modulo 2^64."""
    key = np.zeros(len(X), dtype=np.uint64)
    for column in (*X.T, np.round(sizes, _DECIMALS), *domains):
        # Adding 0.0 makes one zero of the two.
        key = mixed(key ^ np.ascontiguousarray(column + 0.0, dtype="<f8").view(np.uint64))
    return int(key.sum(dtype=np.uint64))


def register_hash(problem: Problem, targets: Targets, mark: int, n_unlabeled: int) -> str:
    """Hash of the labeled rows of a problem, and of unlabeled ones that have this mark and these totals."""
    told = (problem.X_labeled.shape, n_unlabeled, problem.classes.tolist(), mark, problem.labels.tolist())
    digest = hashlib.sha256(repr(told).encode())
    known = (np.round(part, _DECIMALS) for part in (targets.low, targets.high))
    for array in (problem.X_labeled, *known):
        digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    return digest.hexdigest()


def _known_numbers(problem: Problem) -> list[tuple[FloatArray | IntArray, str]]:
    """Totals, domains and weights with the kinds in which they are hashed."""
    targets = problem.targets
    if targets.is_plain and not problem.is_weighted and problem.unit == 1:
        return [(problem.totals, "<i8")]
    numbers = (targets.low, targets.high, problem.labeled_size, problem.unlabeled_size, np.array([problem.unit]))
    return [*((part, "<f8") for part in numbers), (targets.first_cells, "<i8")]


def whole_if_whole(values: FloatArray) -> tuple[float, ...]:
    """Numbers, as integers where they are whole; sums of weights may miss that by a rounding error."""
    nearest = np.round(values)
    is_whole = np.abs(values - nearest) <= _ROUNDING * np.abs(nearest)
    return tuple(int(n) if whole else float(value) for value, n, whole in zip(values, nearest, is_whole, strict=True))
