"""One row of a table, found by its number or by its id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.errors import InvalidProblem
from s2oct.tables.cells import encode_rows, read_cells
from s2oct.tables.dialect import Dialect
from s2oct.tables.encoding import Encoding, Unseen
from s2oct.tables.source import Source


@dataclass(frozen=True, eq=False)
class TableRow:
    """One row of a table.

    Attributes
    ----------
    number : int
        Number of the row, from 1.
    cells : Arrow table
        The row.
    dialect : Dialect
        How its cells are written.
    """

    number: int
    cells: Any
    dialect: Dialect

    @classmethod
    def by_number(cls, source: Source, columns: Sequence[str], number: int) -> TableRow:
        """Find a row by its number, from 1."""
        before = 0
        for batch in source.batches(columns):
            if before < number <= before + batch.num_rows:
                return cls(number, batch.slice(number - before - 1, 1), source.dialect)
            before += batch.num_rows
        raise InvalidProblem(f"Expected the number of a row between 1 and {before}, got {number}.")

    @classmethod
    def by_id(cls, source: Source, columns: Sequence[str], column: str, value: str) -> TableRow:
        """Find the one row with a value in a column of ids."""
        found: list[TableRow] = []
        before = 0
        for batch in source.batches(list(dict.fromkeys([*columns, column]))):
            here = [i for i, cell in enumerate(batch[column].to_pylist()) if str(cell) == value]
            found += [cls(before + i + 1, batch.slice(i, 1), source.dialect) for i in here]
            before += batch.num_rows
        if len(found) != 1:
            got = f"rows {found[0].number} and {found[1].number}" if found else "none"
            raise InvalidProblem(f"Expected one row with {value!r} in column {column!r}, got {got}.")
        return found[0]

    def text(self, column: str) -> str:
        """Write a cell."""
        [cell] = self.cells[column].to_pylist()
        return "" if cell is None else str(cell)

    def features(self, encoding: Encoding) -> FloatArray:
        """Encode the row, shape (p,)."""
        return np.asarray(encode_rows(self.cells, encoding, self.dialect, self.number, Unseen())[0])

    def texts(self, encoding: Encoding) -> dict[str, str | None]:
        """Write the cells of all columns: known levels as the fit knows them, and None for a missing value."""
        return {
            column.name: column.text(read_cells(self.cells[column.name], column.name, column.kind, self.dialect)[0])
            for column in encoding.columns
        }
