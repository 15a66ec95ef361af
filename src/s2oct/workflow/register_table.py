"""Registers in files: one pass learns the encoding and draws the sample; the fit makes further passes.

A pass reads the file in batches, in this process or, by row group, on the workers of a Dask cluster.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.errors import ClusterError, InvalidProblem
from s2oct.fit.register import Register, sample_size, scaled_margin, sizes_of_domains, without_rows
from s2oct.guides.unknown_totals import with_estimated_totals
from s2oct.problem.batches import Batch, T, added_up, first_domains, row_keys, rows_of_batch
from s2oct.problem.labels import Labels
from s2oct.problem.targets import Targets
from s2oct.stopping import NO_DEADLINE, Deadline
from s2oct.tables.columns import encode_rows, gaps_of, is_text, read_label_cells, read_numbers, read_texts
from s2oct.tables.csv_file import read_ahead
from s2oct.tables.dialect import Dialect
from s2oct.tables.encoding import Encoding, Unseen
from s2oct.tables.partly_labeled import PartlyLabeledTable, Roles, distinct_domains, weights_of_part
from s2oct.tables.source import Source
from s2oct.workflow.encoded_table import EncodedTable, FitRequest, encode_read, encode_table

_SECONDS_TO_CONNECT = 30.0

_POLL_SECONDS = 0.2
"""Seconds between two checks whether a worker of a cluster is done."""

_MOST_SHOWN = 1000
"""Maximum number of distinct texts collected per column: beyond 30, rare ones are merged anyway."""


def encode_register(request: FitRequest, client: Any = None, most: int | None = None) -> EncodedTable:
    """Learn the encoding of a register and draw its sample; refuse what `encode_table` refuses.

    Categories, missing values and infinite numbers are found in all rows. The sample determines the values that replace
    missing values, and which categories are rare.

    Parameters
    ----------
    request : FitRequest
        The file, its dialect and its roles.
    client : dask.distributed.Client, optional
        Cluster whose workers read the file; see `cluster_client`. By default, this process reads it.
    most : int, optional
        Maximum number of unlabeled rows in the sample; by default, the number that a fit uses at once.
    """
    try:
        return _encoded(request, client, most)
    except InvalidProblem:
        # Read all rows again, so that the message has the table's row numbers.
        encode_table(request)
        raise


def _encoded(request: FitRequest, client: Any, most: int | None) -> EncodedTable:
    source, roles = request.source, request.roles
    columns = roles.feature_columns(source)
    most = sample_size(len(columns), is_weighted=roles.weight is not None) if most is None else most
    seed = int(request.parameters.get("random_state") or 0)
    look = LookAtRows(roles, columns, source.dialect, seed, most)
    found: Learning = FilePass(source, source.columns, rows_of_batch(len(columns)), look).total(client, NO_DEADLINE)
    rows = found.labeled + found.sampled + found.shown
    _, kept = np.unique(rows.positions, return_index=True)
    seen = rows.some(kept)
    labels = read_label_cells(seen.cells[roles.label], source.dialect)
    n_unseen = found.n_rows - len(labels)
    table = PartlyLabeledTable(source, roles, seen.cells, labels, columns, n_unseen, _unseen(found, seen.cells))
    encoded = encode_read(request, table)
    n_gaps = dict(zip(columns, found.n_gaps, strict=True))
    uses = tuple(replace(use, n_missing=n_gaps[use.name]) if use.n_missing else use for use in encoded.uses)
    is_sampled = np.isin(seen.positions, np.concatenate([found.labeled.positions, found.sampled.positions]))
    n_unlabeled = sum(number for number, _ in found.groups.values())
    known = encoded.known
    unseen = known.of_counted(table.unseen)
    known = with_estimated_totals(known, known.of_counted(encoded.rows), seed, unseen=unseen)
    register = _register(replace(encoded, known=known), seen.positions, is_sampled, n_unlabeled, client)
    return replace(encoded, known=known, uses=uses, rows=register.rows, register=register)


def _unseen(found: Learning, cells: Any) -> FloatArray:
    """Return the number or weight of rows not in memory, assigned to the first unlabeled row of their domains."""
    unseen = np.zeros(cells.num_rows)
    for key, (number, weight, first) in found.look.grouped(cells).items():
        in_all = found.groups[key]
        unseen[first] = in_all[0] - number if found.look.roles.weight is None else max(in_all[1] - weight, 0.0)
    return unseen


def _register(
    encoded: EncodedTable, positions: IntArray, is_sampled: BoolArray, n_unlabeled: int, client: Any
) -> Register:
    """Return the register of a table, given some of its rows that include the sample."""
    known = encoded.known
    positions, is_sampled, rows, unseen = map(
        known.of_counted, (positions, is_sampled, encoded.rows, encoded.table.unseen)
    )
    targets, weights, own, unlabeled = known.targets, known.weights, known.sizes, ~known.is_labeled
    unit = 1.0 if weights is None else float((own + unseen)[unlabeled].sum()) / n_unlabeled
    chosen = is_sampled[unlabeled]
    margins = tuple(
        scaled_margin(
            margin,
            margin.codes[chosen],
            sizes_of_domains(margin, margin.codes, (own + unseen)[unlabeled]),
            sizes_of_domains(margin, margin.codes[chosen], own[unlabeled][chosen]),
            is_weighted=weights is not None,
        )
        for margin in targets.margins
    )
    return Register(
        batches=FileBatches(encoded.request.source, _encode_batch(encoded, targets, unit), client),
        rows=np.ascontiguousarray(rows[is_sampled]),
        positions=positions[is_sampled],
        known=replace(
            known,
            labels=Labels(known.classes, known.labels.codes[is_sampled]),
            targets=Targets(margins),
            weights=None if weights is None else weights[is_sampled],
            domains=tuple((name, cells[is_sampled]) for name, cells in known.domains),
            counted=None,
            given=None,
        ),
        doubts=replace(known, n_unseen=n_unlabeled - int(unlabeled.sum())).doubts,
        targets=without_rows(targets.over(unit)),
        n_unlabeled=n_unlabeled,
        unit=unit,
        is_weighted=weights is not None and bool((own != own[0]).any()),
    )


def _encode_batch(encoded: EncodedTable, targets: Targets, unit: float) -> EncodeBatch:
    """Return the function that turns a part of the file into a batch."""
    roles = encoded.table.roles
    places = [
        {domain: begin + k for k, domain in enumerate(margin.domains.tolist())}
        for begin, margin in zip(first_domains(targets), targets.margins, strict=True)
    ]
    # Without margins, the whole table is the only domain.
    by_margin = tuple(places) if roles.margins else ()
    return EncodeBatch(roles, encoded.encoding, encoded.request.source.dialect, by_margin, unit)


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
        """Select some of them."""
        return SeenRows(self.cells.take(pa.array(rows)), self.positions[rows], self.keys[rows])


@dataclass(frozen=True, eq=False)
class Learning:
    """Results of looking at parts of a register.

    Attributes
    ----------
    look : LookAtRows
        The function that looks at rows.
    n_rows : int
        Number of rows seen.
    n_gaps : tuple of int
        Number of missing values in each column.
    groups : mapping of tuple to (int, float)
        Number and weight of the unlabeled rows that count, by their domains, one from each margin.
    labeled : SeenRows
        All labeled rows that count: those of positive weight.
    sampled : SeenRows
        The unlabeled rows with the smallest keys.
    shown : SeenRows
        Rows with examples of what columns contain: each text, a missing value, a number that is not finite; and an
        unlabeled row of each group.
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
    roles : Roles
        Columns of labels, domains and weights.
    columns : tuple of str
        Columns that may become features.
    dialect : Dialect
        How cells are written.
    seed : int
        Seed of the sample.
    most : int
        Unlabeled rows in the sample.
    """

    roles: Roles
    columns: tuple[str, ...]
    dialect: Dialect
    seed: int
    most: int

    def __call__(self, cells: Any, first: int) -> Learning:
        """Look at some rows; ``first`` is the position of the first one in the table."""
        rows = SeenRows(cells, np.arange(first, first + cells.num_rows), row_keys(self.seed, first, cells.num_rows))
        unlabeled = gaps_of(cells[self.roles.label], self.dialect)
        counts = _weights(cells, self.roles, self.dialect) > 0
        return Learning(
            self,
            cells.num_rows,
            tuple(int(gaps_of(cells[name], self.dialect).sum()) for name in self.columns),
            {key: facts[:2] for key, facts in self.grouped(cells).items()},
            rows.some(np.flatnonzero(~unlabeled & counts)),
            self.least(rows, unlabeled & counts),
            rows.some(self.telling(cells)),
        )

    def least(self, rows: SeenRows, among: BoolArray | None = None) -> SeenRows:
        """Return the rows with the smallest keys among some, in table order."""
        chosen = np.arange(len(rows.keys)) if among is None else np.flatnonzero(among)
        if len(chosen) > self.most:
            chosen = chosen[np.sort(np.argpartition(rows.keys[chosen], self.most - 1)[: self.most])]
        return rows.some(chosen)

    def telling(self, cells: Any) -> IntArray:
        """Return the first row with each text, with a missing or infinite value, and of each group."""
        found = {first for _, _, first in self.grouped(cells).values()}
        for name in self.columns:
            found.update(_telling_cells(cells[name], self.dialect))
        return np.array(sorted(found), dtype=np.int64)

    def grouped(self, cells: Any) -> dict[tuple[Any, ...], tuple[int, float, int]]:
        """Return number, weight and first position of the unlabeled rows that count, by their domains."""
        weights = _weights(cells, self.roles, self.dialect)
        rows = np.flatnonzero(gaps_of(cells[self.roles.label], self.dialect) & (weights > 0))
        weights = weights[rows]
        divided = [distinct_domains(cells, columns, self.dialect) for columns in self.roles.margins]
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
        # For columns with neither numbers nor text, the first cell is enough.
        return [0] if len(column) else []
    first: dict[Any, int] = {}
    for row, text in enumerate(texts):
        if text not in first and len(first) <= _MOST_SHOWN:
            first[text] = row
    return list(first.values())


@dataclass(frozen=True, eq=False)
class EncodeBatch:
    """Encodes a part of a table: its unlabeled rows of positive weight become a batch.

    Attributes
    ----------
    roles : Roles
        Columns of labels, domains and weights.
    encoding : Encoding
        How columns become features.
    dialect : Dialect
        How cells are written.
    places : tuple of mapping
        For each margin, its domains, numbered across all margins.
    unit : float
        Mean survey weight of an unlabeled row.
    """

    roles: Roles
    encoding: Encoding
    dialect: Dialect
    places: tuple[Mapping[Any, int], ...]
    unit: float

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns to read."""
        weight = () if self.roles.weight is None else (self.roles.weight,)
        return tuple(dict.fromkeys([self.roles.label, *self.roles.domain_columns, *weight, *self.encoding.names]))

    def __call__(self, cells: Any, first: int) -> Batch:
        """Encode some rows; ``first`` is the position of the first one in the table."""
        sizes = _weights(cells, self.roles, self.dialect) / self.unit
        unlabeled = gaps_of(cells[self.roles.label], self.dialect) & (sizes > 0)
        # The first pass saw all rows, so a level that is not listed for a column is rare.
        rows = encode_rows(cells, self.encoding, self.dialect, first + 1, Unseen())
        X = np.ascontiguousarray(rows[unlabeled])
        sizes, domains = sizes[unlabeled], np.zeros((max(len(self.roles.margins), 1), len(X)), dtype=np.int64)
        for k, (columns, places) in enumerate(zip(self.roles.margins, self.places, strict=True)):
            found, place = distinct_domains(cells, columns, self.dialect)
            # Domains without unlabeled rows have no totals and no rows in the batch.
            domains[k] = np.array([places.get(domain, -1) for domain in found], dtype=np.int64)[place[unlabeled]]
        return Batch(X, sizes, domains)


def _weights(cells: Any, roles: Roles, dialect: Dialect) -> FloatArray:
    """Return the weight of each row; 1 without weights."""
    if roles.weight is None:
        return np.ones(cells.num_rows)
    return weights_of_part(cells[roles.weight], roles.weight, dialect)


@dataclass(frozen=True, eq=False)
class FileBatches:
    """The unlabeled rows of a file.

    Attributes
    ----------
    source : Source
        The file.
    encode : EncodeBatch
        Turns a part of it into a batch.
    client : dask.distributed.Client or None
        Cluster whose workers read the file; None if this process reads it.
    """

    source: Source
    encode: EncodeBatch
    client: Any

    @property
    def n_readers(self) -> int:
        """Number of batches read at the same time: the threads of all workers, or 1."""
        return 1 if self.client is None else max(int(sum(self.client.nthreads().values())), 1)

    def total(self, part: Callable[[Batch], T], deadline: Deadline) -> T | None:
        """Sum the results of a function over all batches; None if the deadline passes first."""
        found: T | None = self.file_pass(part).total(self.client, deadline)
        return found

    def file_pass(self, part: Callable[[Batch], Any]) -> FilePass:
        """Return the pass that sums the results of a function over all batches."""
        batch_rows = rows_of_batch(len(self.encode.encoding.features))
        return FilePass(self.source, self.encode.columns, batch_rows, partial(_find_in_batch, self.encode, part))


def _find_in_batch(encode: EncodeBatch, part: Callable[[Batch], T], cells: Any, first: int) -> T:
    return part(encode(cells, first))


@dataclass(frozen=True, eq=False)
class FilePass:
    """A pass over a file that sums the results of a function over its parts; it can be sent to another process.

    Attributes
    ----------
    source : Source
        The file.
    columns : tuple of str
        The columns to read.
    batch_rows : int
        Number of rows to read at a time.
    find : callable
        Takes some rows and the position of the first one in the table. Its results can be added.
    """

    source: Source
    columns: tuple[str, ...]
    batch_rows: int
    find: Callable[[Any, int], Any]

    def total(self, client: Any, deadline: Deadline) -> Any:
        """Sum over all rows, in this process or on a client's cluster; None if the deadline passes first."""
        if client is None:
            return added_up(read_ahead(self._parts()), self._find_in, deadline)
        if not self.source.is_parquet:
            raise InvalidProblem(f"Expected a Parquet file for a scheduler, got {self.source.name!r}.")
        sizes = self.source.row_groups
        firsts = [sum(sizes[:group]) for group in range(len(sizes))]
        # Sent once, not with every task, because it may contain thousands of offsets.
        sent = client.scatter(self, broadcast=True)
        futures = [client.submit(FilePass.of_group, sent, *part, pure=False) for part in enumerate(firsts)]
        try:
            return _added_results(futures, deadline)
        finally:
            client.cancel(futures)

    def of_group(self, group: int, first: int) -> Any:
        """Sum over a row group; ``first`` is the position of its first row in the table."""
        return added_up(self._parts(group, first), self._find_in, NO_DEADLINE)

    def _parts(self, group: int | None = None, first: int = 0) -> Iterator[tuple[Any, int]]:
        for cells in self.source.batches(self.columns, self.batch_rows, group=group):
            yield cells, first
            first += cells.num_rows

    def _find_in(self, part: tuple[Any, int]) -> Any:
        return self.find(*part)


def _added_results(futures: Sequence[Any], deadline: Deadline) -> Any:
    """Sum the results of tasks in order; None if the deadline passes first."""
    total = None
    for future in futures:
        while not future.done():
            if deadline.passed:
                return None
            time.sleep(_POLL_SECONDS)
        if future.status == "cancelled":
            raise ClusterError("The Dask scheduler dropped a task; it was shut down or restarted. Run again.")
        found = future.result()
        total = found if total is None else total + found
    return total


@contextmanager
def cluster_client(address: str | None) -> Iterator[Any]:
    """Yield a client of the Dask scheduler at an address; None without an address."""
    if address is None:
        yield None
        return
    client = connected(address)
    try:
        yield client
    finally:
        client.close()


def connected(address: str) -> Any:
    """Connect to the Dask scheduler at an address; the caller closes the client."""
    try:
        import distributed
    except ModuleNotFoundError as error:
        raise ClusterError("A scheduler needs dask.distributed: run pip install distributed.") from error
    try:
        return distributed.Client(address, timeout=_SECONDS_TO_CONNECT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(f"Expected a Dask scheduler at {address}, got no answer: {error}") from error
