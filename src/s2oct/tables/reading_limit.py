"""How much of a file is read at most: reading stops as soon as a limit is exceeded, in every format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from s2oct.errors import InvalidProblem


class TooLarge(InvalidProblem):
    """A file is larger than its reader accepts."""


@dataclass(frozen=True)
class ReadingLimit:
    """The largest table that a reader accepts.

    Parameters
    ----------
    n_bytes : int
        Bytes, unpacked: of the file, and of the table in memory.
    n_cells : int
        Cells. Millions of empty cells take few bytes in a file, and many in memory.
    """

    n_bytes: int
    n_cells: int

    def bounded_parts(self, parts: Iterable[bytes]) -> Iterator[bytes]:
        """Yield parts of a file, and refuse to go on beyond the limit."""
        n_bytes = 0
        for part in parts:
            n_bytes += len(part)
            self.refuse_bytes(n_bytes)
            yield part

    def bounded_batches(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield batches of a table, and refuse to go on beyond the limit."""
        n_bytes = n_cells = 0
        for batch in batches:
            n_bytes += sum(map(_unpacked_size, batch.columns))
            n_cells += batch.num_rows * batch.num_columns
            self.refuse_cells(n_cells)
            self.refuse_bytes(n_bytes)
            yield batch

    def refuse_cells(self, n_cells: int) -> None:
        """Refuse a table of more cells than the limit."""
        if n_cells > self.n_cells:
            raise TooLarge(
                f"The table has more than {self.n_cells:,} cells, the limit here: leave out rows or columns, or fit it "
                "on the command line."
            )

    def refuse_bytes(self, n_bytes: int) -> None:
        """Refuse a file or table of more bytes than the limit."""
        if n_bytes > self.n_bytes:
            raise TooLarge(
                f"The file has more than {self.n_bytes:,} bytes when unpacked, the limit here: leave out rows or "
                "columns, or fit it on the command line."
            )


def _unpacked_size(column: Any) -> int:
    """Bytes of a column once its values replace the codes of a dictionary: few codes can stand for long texts."""
    kind = column.type
    if not pa.types.is_dictionary(kind) or pa.types.is_primitive(kind.value_type):
        return int(column.nbytes)
    lengths = [pc.binary_length(chunk.dictionary).take(chunk.indices) for chunk in column.chunks]
    return sum(pc.sum(part).as_py() or 0 for part in lengths)
