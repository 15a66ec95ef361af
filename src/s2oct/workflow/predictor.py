"""A tree that predicts tables of any size, a batch of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from s2oct.errors import InvalidProblem
from s2oct.model.tree import ObliqueTree
from s2oct.tables.cells import encode_rows
from s2oct.tables.csv_file import read_ahead
from s2oct.tables.encoding import Encoding, Unseen
from s2oct.tables.source import Source
from s2oct.tables.target import AddedColumns, class_column, leaf_column


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

    def batches(self, source: Source, kept: Sequence[str], unseen: Unseen) -> Iterator[Any]:
        """Yield the kept columns of a table with class and leaf of each row, in the order of the rows.

        Levels and missing values that the fit did not see are counted in ``unseen``.
        """
        wanted = list(dict.fromkeys([*kept, *self.encoding.names]))
        n_rows = 0
        for batch in read_ahead(source.batches(wanted)):
            rows = encode_rows(batch, self.encoding, source.dialect, n_rows + 1, unseen)
            leaf = self.tree.apply(rows)
            codes = self.tree.leaf_classes[leaf - self.tree.topology.n_leaves]
            added = {
                self.added.predicted: class_column(codes, self.classes),
                self.added.leaf: leaf_column(leaf),
            }
            yield pa.table({name: batch[name] for name in kept} | added)
            n_rows += len(rows)
        if not n_rows:
            raise InvalidProblem(f"Expected rows in {source.name!r}, got column names only.")
