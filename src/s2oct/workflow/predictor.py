"""A tree that predicts tables of any size, a batch of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from s2oct.errors import InvalidProblem, InvalidTable, Remedy
from s2oct.model.tree import ObliqueTree
from s2oct.tables.added_columns import AddedColumns, class_column, leaf_column
from s2oct.tables.cells import encode_rows, read_cells
from s2oct.tables.encoding import Encoding
from s2oct.tables.read_ahead import read_ahead
from s2oct.tables.source import Source


@dataclass(frozen=True, eq=False)
class TablePredictor:
    """A tree, and how it reads a table.

    Parameters
    ----------
    tree : ObliqueTree
        The tree over features.
    classes : sequence
        The class labels.
    encoding : Encoding
        How the columns of a table become features.
    added : AddedColumns
        Names of the columns for class and leaf.
    """

    tree: ObliqueTree
    classes: Sequence[Any]
    encoding: Encoding
    added: AddedColumns

    def batches(self, source: Source, kept: Sequence[str]) -> Iterator[Any]:
        """Yield the kept columns of a table with class and leaf of each row, in the order of the rows."""
        wanted = list(dict.fromkeys([*kept, *self.encoding.names]))
        n_rows = 0
        for batch in read_ahead(source.batches(wanted)):
            try:
                rows = encode_rows(batch, self.encoding, source.dialect, first_row=n_rows + 1)
            except InvalidTable as error:
                raise self._in_all_rows(error, source) from error
            leaf = self.tree.apply(rows)
            codes = self.tree.leaf_classes[leaf - self.tree.topology.n_leaves]
            added = {
                self.added.predicted: class_column(codes, self.classes),
                self.added.leaf: leaf_column(leaf),
            }
            yield pa.table({name: batch[name] for name in kept} | added)
            n_rows += len(rows)
        if not n_rows:
            raise InvalidProblem(f"Expected rows in {str(source.path)!r}, got column names only.")

    def _in_all_rows(self, error: InvalidTable, source: Source) -> InvalidTable:
        """The same error; about an unknown level, it counts the rows of all batches."""
        column = next((column for column in self.encoding.columns if column.name == error.column), None)
        if column is None or Remedy.KNOWN_LEVEL not in error.remedies:
            return error
        cells = [
            read_cells(batch[column.name], column.name, column.kind, source.dialect)
            for batch in source.batches([column.name])
        ]
        found = np.flatnonzero(np.concatenate(cells) == error.message.value)
        return column.unknown_level(error.message.value, len(found), int(found[0]) + 1)
