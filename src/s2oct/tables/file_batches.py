"""Tables that are read in batches, and what is learned about their columns in a first pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.problem.batches import Batch, T, added_up, row_keys, rows_of_batch
from s2oct.stopping import Deadline
from s2oct.tables.columns import as_values, encode_rows, is_text, read_numbers, read_texts, without_gaps
from s2oct.tables.csv_file import read_ahead
from s2oct.tables.dialect import Dialect
from s2oct.tables.encoding import Encoding, Unseen
from s2oct.tables.partly_labeled import distinct_domains, weights_of_part
from s2oct.tables.source import Source

# Batches of the rows of a file: read, encoded and left again, as often as passes over them are made.


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


# What must be known of all rows of a register before its fit: which rows are the sample, and what columns hold.

MOST_SHOWN = 1000
"""Different texts of a column that are looked for: of more than 30, the rare ones are joined anyway."""


@dataclass(frozen=True, eq=False)
class SeenRows:
    """Some rows of a table with their positions in it, and the keys by which a sample is drawn."""

    cells: Any
    positions: IntArray
    keys: Any

    def __add__(self, other: SeenRows) -> SeenRows:
        return SeenRows(
            pa.concat_tables([self.cells, other.cells]),
            np.concatenate([self.positions, other.positions]),
            np.concatenate([self.keys, other.keys]),
        )

    def some(self, rows: IntArray) -> SeenRows:
        """Some of them."""
        return SeenRows(self.cells.take(pa.array(rows)), self.positions[rows], self.keys[rows])


@dataclass(frozen=True, eq=False)
class Learning:
    """What was seen of a register.

    Attributes
    ----------
    look : LookAtRows
        What to look for.
    n_rows : int
        How many rows were seen.
    n_gaps : tuple of int
        Gaps of each column.
    groups : mapping of tuple to (int, float)
        Unlabeled rows that count with these domains, one of each margin: how many they are, and their weight.
    labeled : SeenRows
        All labeled rows that count: those of positive weight.
    sampled : SeenRows
        The unlabeled rows of least keys.
    shown : SeenRows
        Rows that show what a column holds: each text that it has, a gap, a number that is not finite; and an unlabeled
        row of each group.
    """

    look: LookAtRows
    n_rows: int
    n_gaps: tuple[int, ...]
    groups: Mapping[tuple[Any, ...], tuple[int, float]]
    labeled: SeenRows
    sampled: SeenRows
    shown: SeenRows

    def __add__(self, other: Learning) -> Learning:
        shown = self.shown + other.shown
        groups = dict(self.groups)
        for key, (number, weight) in other.groups.items():
            before = groups.get(key, (0, 0.0))
            groups[key] = before[0] + number, before[1] + weight
        return Learning(
            self.look,
            self.n_rows + other.n_rows,
            tuple(one + two for one, two in zip(self.n_gaps, other.n_gaps, strict=True)),
            groups,
            self.labeled + other.labeled,
            self.look.least(self.sampled + other.sampled),
            shown.some(self.look.telling(shown.cells)),
        )


@dataclass(frozen=True, eq=False)
class LookAtRows:
    """Looks at a part of a table.

    Attributes
    ----------
    label : str
        The column of the labels.
    columns : tuple of str
        The columns that may become features.
    dialect : Dialect
        How cells are written.
    seed : int
        Seed of the sample.
    most : int
        Unlabeled rows in the sample.
    margins : tuple of tuple of str
        For each margin the columns that divide the rows into domains.
    weight : str or None
        The column of the survey weights.
    """

    label: str
    columns: tuple[str, ...]
    dialect: Dialect
    seed: int
    most: int
    margins: tuple[tuple[str, ...], ...] = ()
    weight: str | None = None

    @property
    def batch_rows(self) -> int:
        """How many rows are looked at together."""
        return rows_of_batch(len(self.columns))

    def __call__(self, cells: Any, first: int) -> Learning:
        """Look at some rows, the first of which has this position in the table."""
        rows = SeenRows(cells, np.arange(first, first + cells.num_rows), row_keys(self.seed, first, cells.num_rows))
        unlabeled, counts = gaps_of(cells[self.label], self.dialect), self._weights(cells) > 0
        return Learning(
            self,
            cells.num_rows,
            tuple(int(gaps_of(cells[name], self.dialect).sum()) for name in self.columns),
            {key: facts[:2] for key, facts in self.grouped(cells, unlabeled).items()},
            rows.some(np.flatnonzero(~unlabeled & counts)),
            self.least(rows, unlabeled & counts),
            rows.some(self.telling(cells)),
        )

    def _weights(self, cells: Any) -> FloatArray:
        """The weight of each row; 1 each if there are none."""
        if self.weight is None:
            return np.ones(cells.num_rows)
        return weights_of_part(cells[self.weight], self.weight, self.dialect)

    def least(self, rows: SeenRows, among: BoolArray | None = None) -> SeenRows:
        """The rows of least keys among some, in the order of the table."""
        chosen = np.arange(len(rows.keys)) if among is None else np.flatnonzero(among)
        if len(chosen) > self.most:
            chosen = chosen[np.sort(np.argpartition(rows.keys[chosen], self.most - 1)[: self.most])]
        return rows.some(chosen)

    def telling(self, cells: Any) -> IntArray:
        """Rows that show what columns hold: the first of each text, that is no finite number, and of each group."""
        unlabeled = gaps_of(cells[self.label], self.dialect)
        found = {first for _, _, first in self.grouped(cells, unlabeled).values()}
        for name in self.columns:
            found.update(_telling_cells(cells[name], self.dialect))
        return np.array(sorted(found), dtype=np.int64)

    def grouped(self, cells: Any, unlabeled: BoolArray) -> dict[tuple[Any, ...], tuple[int, float, int]]:
        """Unlabeled rows that count by their domains: how many they are, their weight, and the first of them."""
        weights = self._weights(cells)
        rows = np.flatnonzero(unlabeled & (weights > 0))
        weights = weights[rows]
        divided = [distinct_domains(cells, columns, self.dialect) for columns in self.margins]
        joint = np.zeros(len(rows), dtype=np.int64)
        for _, place in divided:
            joint = np.unique(joint * cells.num_rows + place[rows], return_inverse=True)[1]
        _, first, group = np.unique(joint, return_index=True, return_inverse=True)
        numbers, sums = np.bincount(group), np.bincount(group, weights=weights)
        found: dict[tuple[Any, ...], tuple[int, float, int]] = {}
        for row, number, weight in zip(rows[first].tolist(), numbers.tolist(), sums.tolist(), strict=True):
            key = tuple(domains[place[row]] for domains, place in divided)
            before = found.get(key, (0, 0.0, row))
            found[key] = before[0] + number, before[1] + weight, min(before[2], row)
        return found


def _telling_cells(column: Any, dialect: Dialect) -> list[int]:
    has_levels = pa.types.is_dictionary(column.type) or (dialect.typed and is_text(column.type))
    numbers = None if has_levels else read_numbers(column, dialect)
    if numbers is not None:
        strange = [np.isnan(numbers), np.isinf(numbers)]
        return [int(np.argmax(is_so)) for is_so in strange if is_so.any()]
    texts = read_texts(column, dialect) if has_levels or is_text(column.type) else None
    if texts is None:
        # Neither numbers nor text: the first cell shows it.
        return [0] if len(column) else []
    first: dict[Any, int] = {}
    for row, text in enumerate(texts):
        if text not in first and len(first) <= MOST_SHOWN:
            first[text] = row
    return list(first.values())
