"""The domain of each row of a table, as text: from one column, or from several that divide the rows together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from s2oct.arrays import IntArray, ObjectArray
from s2oct.model.total_tables import text_of
from s2oct.tables.cells import as_values, read_texts
from s2oct.tables.dialect import Dialect

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


def distinct_domains(table: Any, columns: Sequence[str], dialect: Dialect) -> tuple[ObjectArray, IntArray]:
    """Domains of a table, some perhaps more than once, and for each row the place of its domain among them.

    Only rows that differ are looked at: a register has many rows and few domains.
    """
    if not table.num_rows:
        return np.empty(0, dtype=object), np.empty(0, dtype=np.int64)
    joint = np.zeros(table.num_rows, dtype=np.int64)
    for name in columns:
        cells = as_values(table[name])
        whole = cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells
        codes = pc.dictionary_encode(whole, null_encoding="encode")
        codes = codes.combine_chunks() if isinstance(codes, pa.ChunkedArray) else codes
        places = np.frombuffer(codes.indices.buffers()[1], np.int32)[codes.offset : codes.offset + len(codes)]
        joint = np.unique(joint * max(len(codes.dictionary), 1) + places, return_inverse=True)[1]
    _, first, place = np.unique(joint, return_index=True, return_inverse=True)
    return domain_of_rows(table.take(pa.array(first)), columns, dialect), place.astype(np.int64)


def _texts(column: Any, dialect: Dialect) -> list[str | None]:
    texts = read_texts(column, dialect)
    cells = as_values(column).to_pylist() if texts is None else texts.tolist()
    return [None if cell is None or cell != cell else text_of(cell).strip() for cell in cells]
