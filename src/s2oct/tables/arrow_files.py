"""Arrow and Parquet files, and Arrow tables made from plain Python columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from s2oct.errors import InvalidProblem

# Arrow columns made of Python's objects.


def column_of_numbers(values: Sequence[float | None]) -> Any:
    """An Arrow array of numbers; None and NaN are gaps."""
    floats = np.array(values, dtype=float)
    numbers = pa.Array.from_buffers(pa.float64(), len(floats), [None, pa.py_buffer(floats)])
    return pc.if_else(pc.is_nan(numbers), pa.NULL, numbers)


def column_of_texts(values: Sequence[str | None]) -> Any:
    """An Arrow array of text; None and empty texts are gaps."""
    parts = [b"" if value is None else value.encode("utf-8", "replace") for value in values]
    offsets = np.zeros(len(parts) + 1, dtype=np.int64)
    np.cumsum([len(part) for part in parts], out=offsets[1:])
    texts = pa.Array.from_buffers(
        pa.large_string(), len(parts), [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(parts))]
    )
    return pc.if_else(pc.match_substring_regex(texts, "^$"), pa.NULL, texts)


def as_whole_numbers(column: Any) -> Any:
    """The column as integers if all its numbers are whole.

    Spreadsheets and statistics programs keep every number as a float, and nobody would call a region 3.0.
    """
    if column.null_count == len(column):
        return column
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column


# Tables in Arrow files, also called Feather files: those with a list of their batches, and streams of batches.


@dataclass(frozen=True)
class ArrowFile:
    """An Arrow file."""

    path: Path
    called: str
    n_rows = None

    @cached_property
    def header(self) -> list[str]:
        """Names of the columns, as they are."""
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
        """Open the file, and replace what Arrow says about it by a sentence."""
        try:
            with pa.OSFile(str(self.path), "rb") as file:
                if file.read(6) == b"ARROW1":
                    reader = pa.ipc.open_file(file)
                    yield reader, map(reader.get_batch, range(reader.num_record_batches))
                else:
                    file.seek(0)
                    reader = pa.ipc.open_stream(file)
                    yield reader, iter(reader)
        except MemoryError as error:
            raise InvalidProblem(
                f"The Arrow file {self.called!r} asks for more memory than there is: it is too large or damaged."
            ) from error
        except (pa.ArrowException, OSError, ValueError) as error:
            if isinstance(error, InvalidProblem) or (isinstance(error, OSError) and error.errno is not None):
                raise
            raise InvalidProblem(f"The Arrow file {self.called!r} is damaged, or is not an Arrow file.") from error


# Tables in Parquet files.

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
