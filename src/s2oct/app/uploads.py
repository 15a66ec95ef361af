"""Files that the page sends: streamed to disk, bounded, and refused where they would grow beyond bounds when read."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from starlette.concurrency import run_in_threadpool

from s2oct.app.store import SessionStore, StoredSession, UserFile, shown_name, suffix_of
from s2oct.errors import InvalidProblem
from s2oct.tables.dialect import Dialect
from s2oct.tables.readers import FOREIGN, reader_of
from s2oct.tables.reading_limit import ReadingLimit, TooLarge
from s2oct.tables.source import Source

LIMIT = ReadingLimit(n_bytes=2**30, n_cells=3 * 10**7)
"""The largest table that the page takes, in every format."""

TRIAL = """
import sys
from pathlib import Path
from s2oct.app.uploads import LIMIT
from s2oct.tables.source import Source
Source(Path(sys.argv[1]), limit=LIMIT).whole()
"""


def page_source(file: UserFile, dialect: Dialect, sheet: str | None = None) -> Source:
    """A table of a session, which is never read beyond the limit of the page."""
    return Source(file.path, dialect, limit=LIMIT, sheet=sheet, called=file.called)


async def receive_table(store: SessionStore, name: str, parts: AsyncIterator[bytes]) -> StoredSession:
    """Write an uploaded table to a new session."""
    folder = store.place()
    try:
        file = folder / f"table{suffix_of(name)}"
        await _write(file, parts)
        await run_in_threadpool(refuse_upload, file, name)
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
        await run_in_threadpool(refuse_upload, draft, name)
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
        refuse_upload(file, table.name)
        return store.adopt(folder, table.name)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


async def _write(file: Path, parts: AsyncIterator[bytes]) -> None:
    n_bytes = 0
    with file.open("wb") as target:
        async for part in parts:
            n_bytes += len(part)
            if n_bytes > LIMIT.n_bytes:
                raise TooLarge(f"Expected a file of at most {LIMIT.n_bytes:,} bytes, got more.")
            target.write(part)


def refuse_upload(file: Path, name: str) -> None:
    """Refuse a file that cannot be read, and a small file that is a huge table; call it outside the event loop.

    A file that is damaged or empty is refused when it is read.
    """
    if file.stat().st_size == 0:
        return
    source = Source(file, limit=LIMIT, called=shown_name(name))
    if source.format in FOREIGN:
        _refuse_what_breaks_its_reader(source)
    try:
        source.refuse_unread()
    except TooLarge:
        raise
    except (InvalidProblem, OSError):
        return


def _refuse_what_breaks_its_reader(source: Source) -> None:
    """Read a file in another process first: damaged files can end the process of a compiled reader without a word."""
    reader_of(source.format)
    ended = subprocess.run([sys.executable, "-c", TRIAL, str(source.path)], capture_output=True, check=False)
    if ended.returncode not in (0, 1):
        raise InvalidProblem(f"The {source.format.value} file {source.called!r} is damaged: it cannot be read.")
