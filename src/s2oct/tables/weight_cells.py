"""Survey weights in a column of a table, and replicate weights in several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.errors import InvalidProblem
from s2oct.tables.cells import read_numbers
from s2oct.tables.content import odd_one_out
from s2oct.tables.dialect import Dialect
from s2oct.wording import plural


def weights_of_rows(column: Any, name: str, dialect: Dialect) -> FloatArray:
    """Read a weight for each row: numbers of at least 0 without gaps, and some above."""
    weights = weights_of_part(column, name, dialect)
    if not weights.any():
        raise InvalidProblem(f"Expected weights of which some are positive, got only zeros in column {name!r}.")
    return weights


def weights_of_part(column: Any, name: str, dialect: Dialect) -> FloatArray:
    """Read a weight for each row of a part of a table, which may have zeros alone."""
    weights = _numbers(column, name, dialect)
    strange = ~np.isfinite(weights) | (weights < 0)
    if strange.any():
        row = int(np.argmax(strange))
        got = "none" if np.isnan(weights[row]) else f"{weights[row]:g}"
        raise InvalidProblem(
            f"Expected a weight of at least 0 for every row in column {name!r}, got {got} in row {row + 1}, and "
            f"{plural(int(strange.sum()), 'such row')} in all."
        )
    return weights


def replicate_weights_of_rows(table: Any, columns: Sequence[str], dialect: Dialect) -> dict[str, FloatArray]:
    """Read columns of replicate weights; gaps stay, because unlabeled rows need none."""
    return {name: _numbers(table[name], name, dialect) for name in columns}


def _numbers(column: Any, name: str, dialect: Dialect) -> FloatArray:
    numbers = read_numbers(column, dialect)
    if numbers is None:
        odd = odd_one_out(column, dialect)
        got = f"{column.type} values" if odd is None else f"{odd[1][:50]!r} in row {odd[0]}"
        raise InvalidProblem(f"Expected weights in column {name!r}, got {got}.")
    return numbers
