"""Files that the page sends: streamed to disk, bounded, and refused where they would grow beyond bounds when read."""

from __future__ import annotations

import gzip
import shutil
import zlib
from collections.abc import AsyncIterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from s2oct.app.store import SessionStore, StoredSession, shown_name, suffix_of
from s2oct.errors import InvalidProblem

MOST_BYTES = 2**30
"""Bytes of a file, also after it is unpacked."""

MOST_CELLS = 2 * 10**8
"""Cells of a Parquet file: a few bytes can stand for millions of equal ones."""

_PART = 2**20


class TooLarge(InvalidProblem):
    """A file has more bytes than the page takes."""


async def receive_table(store: SessionStore, name: str, parts: AsyncIterator[bytes]) -> StoredSession:
    """Write an uploaded table to a new session."""
    folder = store.place()
    try:
        file = folder / f"table{suffix_of(name)}"
        await _write(file, parts)
        refuse_bombs(file)
        return store.adopt(folder, name)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


async def receive_totals(session: StoredSession, name: str, parts: AsyncIterator[bytes]) -> None:
    """Write an uploaded file of totals to a session, in place of an earlier one."""
    file = session.folder / f"totals{suffix_of(name)}"
    draft = session.folder / f"totals-draft{suffix_of(name)}"
    try:
        await _write(draft, parts)
        refuse_bombs(draft)
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)
    session.save(totals={"file": file.name, "name": shown_name(name)})


def copy_table(store: SessionStore, table: Path) -> StoredSession:
    """Make a session of a file of this machine."""
    folder = store.place()
    try:
        file = folder / f"table{suffix_of(table.name)}"
        shutil.copyfile(table, file)
        refuse_bombs(file)
        return store.adopt(folder, table.name)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


async def _write(file: Path, parts: AsyncIterator[bytes]) -> None:
    n_bytes = 0
    with file.open("wb") as target:
        async for part in parts:
            n_bytes += len(part)
            if n_bytes > MOST_BYTES:
                raise TooLarge(f"Expected a file of at most {MOST_BYTES:,} bytes, got more.")
            target.write(part)


def refuse_bombs(file: Path) -> None:
    """Refuse a small file that is a huge table; a file that cannot be read is refused when it is read."""
    if file.suffix == ".gz":
        _refuse_long_gzip(file)
    elif file.suffix in (".parquet", ".pq"):
        try:
            found = pq.ParquetFile(file).metadata
            n_cells = found.num_rows * max(found.num_columns, 1)
        except (OSError, pa.ArrowException):
            return
        if n_cells > MOST_CELLS:
            raise TooLarge(f"Expected a table of at most {MOST_CELLS:,} cells, got {n_cells:,}.")


def _refuse_long_gzip(file: Path) -> None:
    n_bytes = 0
    try:
        with gzip.open(file, "rb") as unpacked:
            while part := unpacked.read(_PART):
                n_bytes += len(part)
                if n_bytes > MOST_BYTES:
                    raise TooLarge(f"Expected a file of at most {MOST_BYTES:,} bytes when it is unpacked, got more.")
    except (OSError, EOFError, zlib.error):
        return
