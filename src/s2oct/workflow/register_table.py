"""Registers in files: one pass learns the encoding and draws the sample; the fit makes further passes.

A pass reads the file in batches, in this process or, by row group, on the workers of a Dask cluster.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from operator import call
from typing import Any

import numpy as np
import pyarrow as pa

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.errors import ClusterError, InvalidProblem
from s2oct.fit.register import Register, sample_known, sample_size, sampled_targets, without_rows
from s2oct.guides.unknown_totals import with_estimated_totals
from s2oct.problem.batches import Batch, added_up, first_domains, row_keys, rows_of_batch
from s2oct.problem.totals import Targets
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
    looks = FileBatches(source, source.columns, rows_of_batch(len(columns)), look, client)
    found: Learning = looks.total(unchanged, NO_DEADLINE)
    rows = pa.concat_tables([found.labeled, found.sampled, found.shown])
    positions, kept = np.unique(_positions(rows), return_index=True)
    cells = rows.take(pa.array(kept)).drop_columns([_POSITION])
    labels = read_label_cells(cells[roles.label], source.dialect)
    table = PartlyLabeledTable(
        source, roles, cells, labels, columns, found.n_rows - len(labels), _unseen(look, found, cells)
    )
    encoded = encode_read(request, table)
    n_gaps = dict(zip(columns, found.n_gaps.tolist(), strict=True))
    uses = tuple(replace(use, n_missing=n_gaps[use.name]) if use.n_missing else use for use in encoded.uses)
    is_sampled = np.isin(positions, np.concatenate([_positions(found.labeled), _positions(found.sampled)]))
    n_unlabeled = int(sum(number for number, _ in found.groups.values()))
    known = encoded.known
    unseen = known.of_counted(table.unseen)
    known = with_estimated_totals(known, known.of_counted(encoded.rows), seed, unseen=unseen)
    register = _register(replace(encoded, known=known), positions, is_sampled, n_unlabeled, client)
    return replace(encoded, known=known, uses=uses, rows=register.rows, register=register)


def _unseen(look: LookAtRows, found: Learning, cells: Any) -> FloatArray:
    """Return the number or weight of rows not in memory, assigned to the first unlabeled row of their domains."""
    unseen = np.zeros(cells.num_rows)
    for key, (number, weight, first) in look.grouped(cells).items():
        in_all = found.groups[key]
        unseen[first] = in_all[0] - number if look.roles.weight is None else max(in_all[1] - weight, 0.0)
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
    sizes, all_sizes = own[unlabeled], (own + unseen)[unlabeled]
    sampled = sampled_targets(known, is_sampled[unlabeled], sizes, all_sizes)
    unit = 1.0 if weights is None else float(all_sizes.sum()) / n_unlabeled
    return Register(
        batches=_batches(encoded, targets, unit, client),
        rows=np.ascontiguousarray(rows[is_sampled]),
        positions=positions[is_sampled],
        known=sample_known(known, is_sampled, sampled),
        doubts=replace(known, n_unseen=n_unlabeled - int(unlabeled.sum())).doubts,
        targets=without_rows(targets.over(unit)),
        n_unlabeled=n_unlabeled,
        unit=unit,
        is_weighted=weights is not None and bool((own != own[0]).any()),
    )


def _batches(encoded: EncodedTable, targets: Targets, unit: float, client: Any) -> FileBatches:
    """Return the unlabeled rows of the file; ``unit`` is the mean survey weight of one of them."""
    roles, encoding, source = encoded.table.roles, encoded.encoding, encoded.request.source
    places = [
        {domain: begin + k for k, domain in enumerate(margin.domains.tolist())}
        for begin, margin in zip(first_domains(targets), targets.margins, strict=True)
    ]
    encode = partial(
        _encode_batch,
        roles=roles,
        encoding=encoding,
        dialect=source.dialect,
        # Without margins, the whole table is the only domain.
        places=tuple(places) if roles.margins else (),
        unit=unit,
    )
    weight = () if roles.weight is None else (roles.weight,)
    columns = tuple(dict.fromkeys([roles.label, *roles.domain_columns, *weight, *encoding.names]))
    return FileBatches(source, columns, rows_of_batch(len(encoding.features)), encode, client)


def _encode_batch(
    cells: Any,
    first: int,
    *,
    roles: Roles,
    encoding: Encoding,
    dialect: Dialect,
    places: Sequence[Mapping[Any, int]],
    unit: float,
) -> Batch:
    """Encode the unlabeled rows of positive weight in a part of the file.

    ``first`` is the position of its first row in the table, and ``places`` has for each margin its domains, numbered
    across all margins.
    """
    sizes = _weights(cells, roles, dialect) / unit
    unlabeled = gaps_of(cells[roles.label], dialect) & (sizes > 0)
    # The first pass saw all rows, so a level that is not listed for a column is rare.
    rows = encode_rows(cells, encoding, dialect, first + 1, Unseen())
    X = np.ascontiguousarray(rows[unlabeled])
    sizes, domains = sizes[unlabeled], np.zeros((max(len(roles.margins), 1), len(X)), dtype=np.int64)
    for k, (columns, numbers) in enumerate(zip(roles.margins, places, strict=True)):
        found, place = distinct_domains(cells, columns, dialect)
        # Domains without unlabeled rows have no totals and no rows in the batch.
        domains[k] = np.array([numbers.get(domain, -1) for domain in found], dtype=np.int64)[place[unlabeled]]
    return Batch(X, sizes, domains)


_POSITION = ""
"""Column of the positions of rows in the table, next to their cells; no column of a file has this name."""


def _positions(rows: Any) -> IntArray:
    return np.asarray(rows[_POSITION], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Learning:
    """Results of looking at parts of a register.

    Attributes
    ----------
    look : LookAtRows
        The function that looked at the rows.
    n_rows : int
        Number of rows seen.
    n_gaps : ndarray of shape (n_columns,)
        Number of missing values in each column.
    groups : mapping of tuple to ndarray of shape (2,)
        Number and weight of the unlabeled rows that count, by their domains, one from each margin.
    labeled : Arrow table
        All labeled rows that count: those of positive weight. Like the other rows, with their positions.
    sampled : Arrow table
        The unlabeled rows with the smallest keys.
    shown : Arrow table
        Rows with examples of what columns contain: each text, a missing value, a number that is not finite; and an
        unlabeled row of each group.
    """

    look: LookAtRows
    n_rows: int
    n_gaps: IntArray
    groups: Mapping[tuple[Any, ...], FloatArray]
    labeled: Any
    sampled: Any
    shown: Any

    def __add__(self, other: Learning) -> Learning:
        shown = pa.concat_tables([self.shown, other.shown])
        groups = dict(self.groups)
        for key, sums in other.groups.items():
            groups[key] = groups[key] + sums if key in groups else sums
        return Learning(
            self.look,
            self.n_rows + other.n_rows,
            self.n_gaps + other.n_gaps,
            groups,
            pa.concat_tables([self.labeled, other.labeled]),
            self.look.sampled(pa.concat_tables([self.sampled, other.sampled])),
            shown.take(pa.array(self.look.examples(shown))),
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
        Maximum number of unlabeled rows in the sample.
    """

    roles: Roles
    columns: tuple[str, ...]
    dialect: Dialect
    seed: int
    most: int

    def __call__(self, cells: Any, first: int) -> Learning:
        """Look at some rows; ``first`` is the position of the first one in the table."""
        rows = cells.append_column(_POSITION, pa.array(np.arange(first, first + cells.num_rows)))
        unlabeled = gaps_of(cells[self.roles.label], self.dialect)
        counts = _weights(cells, self.roles, self.dialect) > 0
        return Learning(
            self,
            cells.num_rows,
            np.array([gaps_of(cells[name], self.dialect).sum() for name in self.columns], dtype=np.int64),
            {key: np.array([number, weight]) for key, (number, weight, _) in self.grouped(cells).items()},
            rows.take(pa.array(np.flatnonzero(~unlabeled & counts))),
            self.sampled(rows.take(pa.array(np.flatnonzero(unlabeled & counts)))),
            rows.take(pa.array(self.examples(cells))),
        )

    def sampled(self, rows: Any) -> Any:
        """Return the rows with the smallest keys, in table order."""
        if rows.num_rows <= self.most:
            return rows
        keys = row_keys(self.seed, _positions(rows))
        return rows.take(pa.array(np.sort(np.argpartition(keys, self.most - 1)[: self.most])))

    def examples(self, cells: Any) -> IntArray:
        """Return the first row with each text, with a missing or infinite value, and of each group."""
        found = {first for _, _, first in self.grouped(cells).values()}
        for name in self.columns:
            found.update(_example_rows(cells[name], self.dialect))
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


def _example_rows(column: Any, dialect: Dialect) -> list[int]:
    has_levels = pa.types.is_dictionary(column.type) or (dialect.typed and is_text(column.type))
    numbers = None if has_levels else read_numbers(column, dialect)
    if numbers is not None:
        nonfinite = [np.isnan(numbers), np.isinf(numbers)]
        return [int(np.argmax(is_so)) for is_so in nonfinite if is_so.any()]
    texts = read_texts(column, dialect) if has_levels or is_text(column.type) else None
    if texts is None:
        # For columns with neither numbers nor text, the first cell is enough.
        return [0] if len(column) else []
    first: dict[Any, int] = {}
    for row, text in enumerate(texts):
        if text not in first and len(first) <= _MOST_SHOWN:
            first[text] = row
    return list(first.values())


def _weights(cells: Any, roles: Roles, dialect: Dialect) -> FloatArray:
    """Return the weight of each row; 1 without weights."""
    if roles.weight is None:
        return np.ones(cells.num_rows)
    return weights_of_part(cells[roles.weight], roles.weight, dialect)


@dataclass(frozen=True, eq=False)
class FileBatches:
    """A file in batches, each of which is encoded as soon as it is read.

    Attributes
    ----------
    source : Source
        The file.
    columns : tuple of str
        The columns to read.
    batch_rows : int
        Number of rows to read at a time.
    encode : callable
        Takes some rows and the position of the first one in the table, and returns a batch.
    client : dask.distributed.Client or None
        Cluster whose workers read the file; None if this process reads it.
    """

    source: Source
    columns: tuple[str, ...]
    batch_rows: int
    encode: Callable[[Any, int], Any]
    client: Any = None

    @property
    def n_readers(self) -> int:
        """Number of batches read at the same time: the threads of all workers, or 1."""
        return 1 if self.client is None else max(int(sum(self.client.nthreads().values())), 1)

    def total(self, part: Callable[[Any], Any], deadline: Deadline) -> Any:
        """Sum the results of a function over all batches; None if the deadline passes first."""
        if self.client is None:
            return self.total_here(part, deadline=deadline)
        if not self.source.is_parquet:
            raise InvalidProblem(f"Expected a Parquet file for a scheduler, got {self.source.name!r}.")
        # Sent once, not with every task, because it may contain thousands of offsets.
        of_group = partial(replace(self, client=None).total_here, part)
        sent = self.client.scatter(of_group, broadcast=True)
        *firsts, _ = accumulate(self.source.row_groups, initial=0)
        futures = [self.client.submit(call, sent, *group, pure=False) for group in enumerate(firsts)]
        try:
            return _added_results(futures, deadline)
        finally:
            self.client.cancel(futures)

    def total_here(
        self, part: Callable[[Any], Any], group: int | None = None, first: int = 0, deadline: Deadline = NO_DEADLINE
    ) -> Any:
        """Sum in this process over the file, or over a row group whose first row has this position in the table."""

        def parts() -> Iterator[tuple[Any, int]]:
            before = first
            for cells in self.source.batches(self.columns, self.batch_rows, group=group):
                yield cells, before
                before += cells.num_rows

        return added_up(read_ahead(parts()), lambda rows: part(self.encode(*rows)), deadline)


def unchanged(batch: Any) -> Any:
    """Return a batch, to sum the batches themselves."""
    return batch


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


def cluster_client(address: str | None) -> Any:
    """Connect to the Dask scheduler at an address, until the end of a ``with`` block; None without an address."""
    if address is None:
        return nullcontext()
    try:
        import distributed
    except ModuleNotFoundError as error:
        raise ClusterError("A scheduler needs dask.distributed: run pip install distributed.") from error
    try:
        return distributed.Client(address, timeout=_SECONDS_TO_CONNECT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(f"Expected a Dask scheduler at {address}, got no answer: {error}") from error
