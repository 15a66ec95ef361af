"""Registers that the workers of a Dask cluster read: each row group of a Parquet file is a task of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from s2oct.cluster import connected
from s2oct.errors import ClusterError, InvalidProblem
from s2oct.model.batches import Batch, Batches, T, added_up
from s2oct.stopping import NO_DEADLINE, Deadline
from s2oct.tables.file_batches import EncodeBatch
from s2oct.tables.register_learning import Learning, LookAtRows
from s2oct.tables.source import Source
from s2oct.workflow.register_table import Reader, ReadHere

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
