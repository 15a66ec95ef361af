"""Tables in Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from s2oct.errors import InvalidProblem

_READ_BUFFER = 2**20


@dataclass(frozen=True)
class ParquetFile:
    """A Parquet file."""

    path: Path
    called: str

    @property
    def header(self) -> list[str]:
        """Names of the columns, as they are."""
        return list(self._open().schema_arrow.names)

    def row_groups(self) -> list[int]:
        """How many rows each row group has."""
        facts = self._open().metadata
        return [facts.row_group(group).num_rows for group in range(facts.num_row_groups)]

    @property
    def n_rows(self) -> int:
        """How many rows the table has."""
        return sum(self.row_groups())

    def batches(self, columns: Sequence[str], rows: int, group: int | None = None) -> Iterator[Any]:
        """Yield some columns of the table or of one of its row groups, at most so many rows at a time."""
        groups = None if group is None else [group]
        with self._read_in_our_words():
            for batch in self._open().iter_batches(batch_size=rows, columns=list(columns), row_groups=groups):
                yield pa.Table.from_batches([batch])

    def _open(self) -> Any:
        with self._read_in_our_words():
            # A buffer keeps long row groups out of memory.
            return pq.ParquetFile(self.path, buffer_size=_READ_BUFFER, pre_buffer=False)

    @contextmanager
    def _read_in_our_words(self) -> Iterator[None]:
        """Replace what the Parquet library says about a file by a sentence."""
        try:
            yield
        except MemoryError as error:
            raise InvalidProblem(
                f"The Parquet file {self.called!r} asks for more memory than there is: it is too large or damaged."
            ) from error
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:  # the operating system, not the content
                raise
            raise InvalidProblem(f"The Parquet file {self.called!r} is damaged, or is not a Parquet file.") from error
