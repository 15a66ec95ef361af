"""Estimates as a table to write: one row for each domain and class."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from s2oct.estimates.table import COLUMNS, Estimates
from s2oct.tables.added_columns import number_column

TEXTS = ("domain", "class", "by")
"""Columns that are no numbers."""


def estimates_table(estimates: Estimates) -> Any:
    """The estimates as a table of Arrow, with gaps where a number is not known."""
    return pa.table({name: _column(name, [row[name] for row in estimates]) for name in COLUMNS})


def _column(name: str, cells: list[Any]) -> Any:
    return pa.array(cells) if name in TEXTS else number_column(np.array(cells, dtype=float))
