"""Arrow and Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from s2oct.problem.batches import BATCH_ROWS
from s2oct.tables.formats import Format, OpenedFile, damage_reported


def open_arrow(path: Path, name: str) -> OpenedFile:
    """Open an Arrow file, also called a Feather file, in the file format or the stream format."""

    def blocks() -> Iterator[Any]:
        with _arrow_reader(path, name) as (reader, batches):
            for batch in batches:
                batch.validate()
                yield pa.Table.from_batches([batch], reader.schema)

    with _arrow_reader(path, name) as (reader, _):
        return OpenedFile(list(reader.schema.names), blocks)


@contextmanager
def _arrow_reader(path: Path, name: str) -> Iterator[tuple[Any, Iterator[Any]]]:
    """Open the file and yield its reader and its batches."""
    errors = (pa.ArrowException, OSError, ValueError)
    with damage_reported(Format.ARROW, name, errors), pa.OSFile(str(path), "rb") as file:
        if file.read(6) == b"ARROW1":
            reader = pa.ipc.open_file(file)
            yield reader, map(reader.get_batch, range(reader.num_record_batches))
        else:
            file.seek(0)
            reader = pa.ipc.open_stream(file)
            yield reader, iter(reader)


_READ_BUFFER = 2**20


def open_parquet(path: Path, name: str) -> OpenedFile:
    """Open a Parquet file, whose columns and row groups can also be read separately, by `parquet_batches`."""
    with damage_reported(Format.PARQUET, name, (pa.ArrowException, OSError)):
        file = pq.ParquetFile(path)
        names, facts = list(file.schema_arrow.names), file.metadata
        sizes = [facts.row_group(group).num_rows for group in range(facts.num_row_groups)]
    blocks = partial(parquet_batches, path, name, names, BATCH_ROWS)
    return OpenedFile(names, blocks, n_rows=sum(sizes), row_groups=sizes)


def parquet_batches(
    path: Path, name: str, columns: Sequence[str], rows: int, group: int | None = None
) -> Iterator[Any]:
    """Yield columns of a Parquet file or of one of its row groups, at most ``rows`` rows at a time."""
    groups = None if group is None else [group]
    with damage_reported(Format.PARQUET, name, (pa.ArrowException, OSError)):
        # A buffer keeps long row groups out of memory.
        file = pq.ParquetFile(path, buffer_size=_READ_BUFFER, pre_buffer=False)
        for batch in file.iter_batches(batch_size=rows, columns=list(columns), row_groups=groups):
            yield pa.Table.from_batches([batch])
