"""Tables in Arrow files, also called Feather files: those with a list of their batches, and streams of batches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from s2oct.errors import InvalidProblem


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
