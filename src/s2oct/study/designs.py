"""Sampling designs of Sec. 4.1 and Appendix B: which rows are labeled."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, ObjectArray
from s2oct.problem.problem import Problem
from s2oct.study.instances import StudyData

LABELED_SHARE = 0.1
ODDS_A, ODDS_B = 0.85, 0.15
"""Odds of being labeled in the biased design, for rows of class A and for other rows."""


@dataclass(frozen=True, eq=False)
class Draw:
    """An instance with some of its rows labeled; the class totals of the other rows are known."""

    data: StudyData
    is_labeled: BoolArray

    @property
    def y(self) -> ObjectArray:
        """Labels "A", "B" and so on, None for unlabeled rows."""
        labels = self.data.classes[self.data.codes]
        labels[~self.is_labeled] = None
        return labels

    @property
    def totals(self) -> dict[str, int]:
        """Number of unlabeled rows per class."""
        counts = np.bincount(self.data.codes[~self.is_labeled], minlength=self.data.n_classes)
        return {name: int(count) for name, count in zip(self.data.classes, counts, strict=True)}

    def problem(self) -> Problem:
        """Return the problem that a method solves."""
        return Problem.from_arrays(self.data.X, self.y, totals=self.totals)


def biased_draw(data: StudyData, seed: int, share: float = LABELED_SHARE) -> Draw:
    """Draw labeled rows without replacement, with odds of .85 for rows of class A and .15 for other rows."""
    return _draw(data, seed, share, np.where(data.is_a, ODDS_A, ODDS_B))


def simple_draw(data: StudyData, seed: int, share: float = LABELED_SHARE) -> Draw:
    """Draw a simple random sample of labeled rows."""
    return _draw(data, seed, share, np.ones(len(data.X)))


DESIGNS: dict[str, Callable[[StudyData, int, float], Draw]] = {"biased": biased_draw, "simple": simple_draw}


def n_labeled_rows(n_rows: int, share: float = LABELED_SHARE) -> int:
    """Number of rows in a share of the table: at least one, but not all rows."""
    return min(max(1, round(share * n_rows)), n_rows - 1)


def _draw(data: StudyData, seed: int, share: float, odds: FloatArray) -> Draw:
    # Seeded by instance and sample, so that a draw does not depend on earlier draws.
    rng = np.random.default_rng([seed, zlib.crc32(data.name.encode())])
    n_rows = len(data.X)
    n_labeled = n_labeled_rows(n_rows, share)
    chosen = rng.choice(n_rows, n_labeled, replace=False, p=odds / odds.sum())
    is_labeled = np.zeros(n_rows, dtype=bool)
    is_labeled[chosen] = True
    return Draw(data, is_labeled)
