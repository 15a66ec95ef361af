"""Batches of the rows of a file: read, encoded and left again, as often as passes over them are made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from s2oct.arrays import BoolArray
from s2oct.model.batches import Batch, T, added_up, rows_of_batch
from s2oct.stopping import Deadline
from s2oct.tables.cells import as_values, encode_rows, is_text, without_gaps
from s2oct.tables.csv_file import read_ahead
from s2oct.tables.dialect import Dialect
from s2oct.tables.encoding import Encoding, Unseen
from s2oct.tables.partly_labeled import distinct_domains, weights_of_part
from s2oct.tables.source import Source


@dataclass(frozen=True, eq=False)
class EncodeBatch:
    """Encodes a part of a table: its unlabeled rows become a batch, without those of weight 0.

    Attributes
    ----------
    label : str
        The column of the labels; its gaps are the unlabeled rows.
    encoding : Encoding
        How columns become features.
    dialect : Dialect
        How cells are written.
    margins : tuple of tuple of str
        For each margin the columns that divide the rows into domains.
    places : tuple of mapping
        For each margin the domains, counted over those of all margins.
    weight : str or None
        The column of the survey weights.
    unit : float
        Mean survey weight of an unlabeled row.
    """

    label: str
    encoding: Encoding
    dialect: Dialect
    margins: tuple[tuple[str, ...], ...] = ()
    places: tuple[Mapping[Any, int], ...] = ()
    weight: str | None = None
    unit: float = 1.0

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""
        others = [name for margin in self.margins for name in margin] + ([] if self.weight is None else [self.weight])
        return tuple(dict.fromkeys([self.label, *others, *self.encoding.names]))

    @property
    def batch_rows(self) -> int:
        """How many rows are read together."""
        return rows_of_batch(len(self.encoding.features))

    def __call__(self, cells: Any, first_row: int) -> Batch:
        """Encode some rows; ``first_row`` is the number of the first one in errors."""
        unlabeled, sizes = gaps_of(cells[self.label], self.dialect), np.ones(cells.num_rows)
        if self.weight is not None:
            sizes = weights_of_part(cells[self.weight], self.weight, self.dialect) / self.unit
            unlabeled = unlabeled & (sizes > 0)
        # The fit has looked at all rows: what its columns do not list is a rare level.
        rows = encode_rows(cells, self.encoding, self.dialect, first_row, Unseen())
        X = np.ascontiguousarray(rows[unlabeled])
        sizes, domains = sizes[unlabeled], np.zeros((max(len(self.margins), 1), len(X)), dtype=np.int64)
        for k, (columns, places) in enumerate(zip(self.margins, self.places, strict=True)):
            found, place = distinct_domains(cells, columns, self.dialect)
            # Domains of labeled rows alone have no totals, and none of their rows is in the batch.
            domains[k] = np.array([places.get(domain, -1) for domain in found], dtype=np.int64)[place[unlabeled]]
        return Batch(X, sizes, domains)


@dataclass(frozen=True, eq=False)
class FileBatches:
    """The unlabeled rows of a file.

    Attributes
    ----------
    source : Source
        The file.
    encode : EncodeBatch
        How a part of it becomes a batch.
    """

    source: Source
    encode: EncodeBatch

    def __iter__(self) -> Iterator[Batch]:
        first_row = 1
        for cells in read_ahead(self.source.batches(self.encode.columns, self.encode.batch_rows)):
            yield self.encode(cells, first_row)
            first_row += cells.num_rows

    @property
    def n_readers(self) -> int:
        """One batch after the other."""
        return 1

    def total(self, part: Callable[[Batch], T], deadline: Deadline) -> T | None:
        """Add up what a function finds in every batch; None if the deadline passes first."""
        return added_up(self, part, deadline)


def gaps_of(column: Any, dialect: Dialect) -> BoolArray:
    """Which cells of a column are gaps: those without a value, NaN, and marks of gaps."""
    column = as_values(column)
    if is_text(column.type):
        found = pc.is_null(without_gaps(column, dialect))
    else:
        found = pc.is_null(column, nan_is_null=pa.types.is_floating(column.type))
    whole = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
    # Arrow has one bit for a boolean, and imports pandas for its own conversion.
    flags = whole.cast(pa.uint8())
    if not len(flags):
        return np.zeros(0, dtype=bool)
    return np.asarray(np.frombuffer(flags.buffers()[1], np.uint8)[flags.offset : flags.offset + len(flags)] == 1)
