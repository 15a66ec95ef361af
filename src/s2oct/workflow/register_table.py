"""Registers in files: read in batches here or by the workers of a Dask cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.errors import ClusterError, InvalidProblem
from s2oct.fit.register import Register, sample_size, scaled_margin, sizes_of_domains, without_rows
from s2oct.guides.unknown_totals import with_estimated_totals
from s2oct.problem.batches import Batch, Batches, T, added_up, first_domains
from s2oct.problem.labels import Labels
from s2oct.problem.targets import Targets
from s2oct.stopping import NO_DEADLINE, Deadline
from s2oct.tables.columns import read_label_cells
from s2oct.tables.csv_file import read_ahead
from s2oct.tables.file_batches import EncodeBatch, FileBatches, Learning, LookAtRows, gaps_of
from s2oct.tables.partly_labeled import PartlyLabeledTable
from s2oct.tables.source import Source
from s2oct.workflow.encoded_table import EncodedTable, FitRequest, encode_read, encode_table

# A register in a file: one pass learns its encoding and takes the sample, and the fit makes the others.


class Reader(Protocol):
    """Reads a file in batches, here or elsewhere."""

    def look(self, source: Source, look: LookAtRows) -> Learning:
        """Look at all rows."""

    def batches(self, source: Source, encode: EncodeBatch) -> Batches:
        """All unlabeled rows, encoded."""


class ReadHere:
    """Reads a file in this process."""

    def look(self, source: Source, look: LookAtRows) -> Learning:
        """Look at all rows."""
        found: Learning | None = None
        first = 0
        for cells in read_ahead(source.batches(source.columns, look.batch_rows)):
            part = look(cells, first)
            found = part if found is None else found + part
            first += cells.num_rows
        assert found is not None  # nobody asks for a register of no rows
        return found

    def batches(self, source: Source, encode: EncodeBatch) -> Batches:
        """All unlabeled rows, encoded."""
        return FileBatches(source, encode)


def encode_register(request: FitRequest, reader: Reader, most: int | None = None) -> EncodedTable:
    """Learn the encoding of a register and take its sample; refuse what `encode_table` refuses.

    Categories, gaps and numbers that are not finite are looked for in all rows. What fills gaps, and which categories
    are rare, comes from the sample. ``most`` unlabeled rows are in the sample, as many as a fit looks at if None.
    """
    try:
        return _encoded(request, reader, most)
    except InvalidProblem:
        # The same again by all rows, whose numbers the message then names.
        encode_table(request)
        raise


def _encoded(request: FitRequest, reader: Reader, most: int | None) -> EncodedTable:
    source, roles = request.source, request.roles
    columns = roles.feature_columns(source)
    most = sample_size(len(columns), is_weighted=roles.weight is not None) if most is None else most
    seed = int(request.parameters.get("random_state") or 0)
    look = LookAtRows(roles.label, columns, source.dialect, seed, most, roles.margins, roles.weight)
    found = reader.look(source, look)
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
    encoded = _with_estimates(encoded, seed)
    register = _register(encoded, seen.positions, is_sampled, n_unlabeled, reader)
    return replace(encoded, uses=uses, rows=register.rows, register=register)


def _with_estimates(encoded: EncodedTable, seed: int) -> EncodedTable:
    """The table with estimates in the place of totals that are to be estimated, from the rows that were seen."""
    known = encoded.known
    rows, unseen = known.of_counted(encoded.rows), known.of_counted(encoded.table.unseen)
    return replace(encoded, known=with_estimated_totals(known, rows, seed, unseen=unseen))


def _unseen(found: Learning, cells: Any) -> FloatArray:
    """What the rows that are not in memory count, beside the first unlabeled row that has their domains."""
    unseen = np.zeros(cells.num_rows)
    unlabeled = gaps_of(cells[found.look.label], found.look.dialect)
    for key, (number, weight, first) in found.look.grouped(cells, unlabeled).items():
        in_all = found.groups[key]
        unseen[first] = in_all[0] - number if found.look.weight is None else max(in_all[1] - weight, 0.0)
    return unseen


def _register(
    encoded: EncodedTable, positions: IntArray, is_sampled: BoolArray, n_unlabeled: int, reader: Reader
) -> Register:
    """The register of a table of which some rows were seen, the sample among them."""
    known = encoded.known
    positions, is_sampled, rows, unseen = map(
        known.of_counted, (positions, is_sampled, encoded.rows, encoded.table.unseen)
    )
    labels, targets, weights, own, unlabeled = (
        known.labels,
        known.targets,
        known.weights,
        known.sizes,
        ~known.is_labeled,
    )
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
        batches=reader.batches(encoded.request.source, _encode_batch(encoded, targets, unit)),
        rows=np.ascontiguousarray(rows[is_sampled]),
        positions=positions[is_sampled],
        known=replace(
            known,
            labels=Labels(labels.classes, labels.codes[is_sampled]),
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
    """How a part of the file becomes a batch."""
    roles = encoded.table.roles
    places = [
        {domain: begin + k for k, domain in enumerate(margin.domains.tolist())}
        for begin, margin in zip(first_domains(targets), targets.margins, strict=True)
    ]
    return EncodeBatch(
        label=roles.label,
        encoding=encoded.encoding,
        dialect=encoded.request.source.dialect,
        margins=roles.margins,
        # Without margins the whole table is the only domain.
        places=tuple(places) if roles.margins else (),
        weight=roles.weight,
        unit=unit,
    )


# The way to a Dask cluster.

SECONDS_TO_ANSWER = 30.0


def connected(address: str) -> Any:
    """A client of the scheduler at an address; its caller closes it."""
    try:
        import distributed
    except ModuleNotFoundError as error:
        raise ClusterError("A scheduler needs dask.distributed: run pip install distributed.") from error
    try:
        return distributed.Client(address, timeout=SECONDS_TO_ANSWER, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(f"Expected a Dask scheduler at {address}, got no answer: {error}") from error


# Registers that the workers of a Dask cluster read: each row group of a Parquet file is a task of its own.

_POLL_SECONDS = 0.2


@contextmanager
def reader_at(address: str | None) -> Iterator[Reader]:
    """Somebody who reads files: this process, or the workers of the scheduler at an address."""
    if address is None:
        yield ReadHere()
        return
    client = connected(address)
    try:
        yield ReadOnCluster(client)
    finally:
        client.close()


@dataclass(frozen=True, eq=False)
class ReadOnCluster:
    """Has a Parquet file read by the workers of a cluster, who find it under the same path."""

    client: Any

    def look(self, source: Source, look: LookAtRows) -> Learning:
        """Look at all rows."""
        found = self.total(source, _LookAtGroup(source, look), NO_DEADLINE)
        assert isinstance(found, Learning)
        return found

    def batches(self, source: Source, encode: EncodeBatch) -> Batches:
        """All unlabeled rows, encoded."""
        return ClusterBatches(self, source, encode)

    def total(self, source: Source, task: Callable[[int, int], Any], deadline: Deadline) -> Any:
        """Add up what a task finds in every row group, in their order; None if the deadline passes first."""
        if not source.is_parquet:
            raise InvalidProblem(f"Expected a Parquet file for a scheduler, got {source.name!r}.")
        sizes = source.row_groups
        firsts = [sum(sizes[:group]) for group in range(len(sizes))]
        # Sent once, not with every task: it may hold thousands of offsets.
        sent = self.client.scatter(task, broadcast=True)
        futures = [self.client.submit(_run, sent, *part, pure=False) for part in enumerate(firsts)]
        try:
            return self._added_up(futures, deadline)
        finally:
            self.client.cancel(futures)

    def _added_up(self, futures: Sequence[Any], deadline: Deadline) -> Any:
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


@dataclass(frozen=True, eq=False)
class ClusterBatches:
    """The unlabeled rows of a Parquet file, where the workers of a cluster read them."""

    reader: ReadOnCluster
    source: Source
    encode: EncodeBatch

    @property
    def n_readers(self) -> int:
        """The threads of all workers."""
        return max(int(sum(self.reader.client.nthreads().values())), 1)

    def total(self, part: Callable[[Batch], T], deadline: Deadline) -> T | None:
        """Add up what a function finds in every batch; None if the deadline passes first."""
        found: T | None = self.reader.total(self.source, _TotalOfGroup(self.source, self.encode, part), deadline)
        return found


def _run(task: Callable[[int, int], Any], group: int, first: int) -> Any:
    return task(group, first)


@dataclass(frozen=True, eq=False)
class _LookAtGroup:
    """What is seen in a row group, whose first row has a position in the table."""

    source: Source
    look: LookAtRows

    def __call__(self, group: int, first: int) -> Learning:
        found: Learning | None = None
        for cells in self.source.batches(self.source.columns, self.look.batch_rows, group=group):
            part = self.look(cells, first)
            found = part if found is None else found + part
            first += cells.num_rows
        assert found is not None
        return found


@dataclass(frozen=True, eq=False)
class _TotalOfGroup:
    """What a function finds in the batches of a row group, added up."""

    source: Source
    encode: EncodeBatch
    part: Callable[[Batch], Any]

    def __call__(self, group: int, first: int) -> Any:
        return added_up(self._batches(group, first), self.part, NO_DEADLINE)

    def _batches(self, group: int, first: int) -> Iterator[Batch]:
        for cells in self.source.batches(self.encode.columns, self.encode.batch_rows, group=group):
            yield self.encode(cells, first + 1)
            first += cells.num_rows
