"""Arrow and Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from s2oct.tables.formats import Format, damage_reported


@dataclass(frozen=True)
class ArrowFile:
    """An Arrow file, also called a Feather file, in the file format or the stream format."""

    path: Path
    called: str
    n_rows = None

    @cached_property
    def header(self) -> list[str]:
        """Names of the columns, unchanged."""
        with self._opened() as (reader, _):
            return list(reader.schema.names)

    def blocks(self) -> Iterator[Any]:
        """Yield the batches of the file as tables."""
        with self._opened() as (reader, batches):
            for batch in batches:
                batch.validate()
                yield pa.Table.from_batches([batch], reader.schema)

    @contextmanager
    def _opened(self) -> Iterator[tuple[Any, Iterator[Any]]]:
        """Open the file and yield its reader and its batches."""
        errors = (pa.ArrowException, OSError, ValueError)
        with damage_reported(Format.ARROW, self.called, errors), pa.OSFile(str(self.path), "rb") as file:
            if file.read(6) == b"ARROW1":
                reader = pa.ipc.open_file(file)
                yield reader, map(reader.get_batch, range(reader.num_record_batches))
            else:
                file.seek(0)
                reader = pa.ipc.open_stream(file)
                yield reader, iter(reader)


_READ_BUFFER = 2**20


@dataclass(frozen=True)
class ParquetFile:
    """A Parquet file."""

    path: Path
    called: str

    @property
    def header(self) -> list[str]:
        """Names of the columns, unchanged."""
        return list(self._open().schema_arrow.names)

    def row_groups(self) -> list[int]:
        """Return the number of rows of each row group."""
        facts = self._open().metadata
        return [facts.row_group(group).num_rows for group in range(facts.num_row_groups)]

    @property
    def n_rows(self) -> int:
        """Number of rows of the table."""
        return sum(self.row_groups())

    def batches(self, columns: Sequence[str], rows: int, group: int | None = None) -> Iterator[Any]:
        """Yield columns of the table or of one row group, at most ``rows`` rows at a time."""
        groups = None if group is None else [group]
        with damage_reported(Format.PARQUET, self.called, (pa.ArrowException, OSError)):
            for batch in self._open().iter_batches(batch_size=rows, columns=list(columns), row_groups=groups):
                yield pa.Table.from_batches([batch])

    def _open(self) -> Any:
        with damage_reported(Format.PARQUET, self.called, (pa.ArrowException, OSError)):
            # A buffer keeps long row groups out of memory.
            return pq.ParquetFile(self.path, buffer_size=_READ_BUFFER, pre_buffer=False)
