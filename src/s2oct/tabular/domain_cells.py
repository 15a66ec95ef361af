"""The domain of each row of a table, as text: from one column, or from several that divide the rows together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from s2oct.arrays import ObjectArray
from s2oct.model.total_tables import text_of
from s2oct.tabular.cells import as_values, read_texts
from s2oct.tabular.dialect import Dialect

_BETWEEN = ", "


def margin_name(columns: Sequence[str]) -> str:
    """Name the margin that columns divide the rows into."""
    return _BETWEEN.join(columns)


def domain_of_rows(table: Any, columns: Sequence[str], dialect: Dialect) -> ObjectArray:
    """The domain of each row as text, None where a cell is a gap.

    Files of different kinds write one domain in different ways: 3, 3.0 or '3'. As text they are equal.
    """
    parts = [_texts(table[name], dialect) for name in columns]
    domains = np.empty(len(parts[0]), dtype=object)
    for row, names in enumerate(zip(*parts, strict=True)):
        domains[row] = None if None in names else _BETWEEN.join(names)
    return domains


def _texts(column: Any, dialect: Dialect) -> list[str | None]:
    texts = read_texts(column, dialect)
    cells = as_values(column).to_pylist() if texts is None else texts.tolist()
    return [None if cell is None or cell != cell else text_of(cell).strip() for cell in cells]
