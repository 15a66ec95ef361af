"""Sessions as folders, and uploaded files.

A session has a table, the user's choices, and jobs. Uploads are streamed to disk and limited in size.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from starlette.concurrency import run_in_threadpool

from s2oct.app.jobs import StoredJob
from s2oct.errors import InvalidProblem
from s2oct.files import write_whole
from s2oct.tables import formats
from s2oct.tables.dialect import Dialect
from s2oct.tables.formats import FOREIGN, ReadingLimit, TooLarge, reader_of
from s2oct.tables.source import Source
from s2oct.wording import printable

SUFFIXES = tuple(suffix for suffixes in formats.SUFFIXES.values() for suffix in suffixes)
"""Suffixes of known table formats; a file with another suffix is stored as CSV."""

LIMIT = ReadingLimit(n_bytes=2**30, n_cells=3 * 10**7)
"""The largest table that the page accepts, in every format."""

TRIAL = """
import sys
from pathlib import Path
from s2oct.app.store import LIMIT
from s2oct.tables.source import Source
Source(Path(sys.argv[1]), limit=LIMIT).whole()
"""

SESSION_ID = re.compile(r"[0-9a-f]{24}")
_JOB = re.compile(r"\d{1,6}")
_LONGEST_NAME = 120
"""Maximum number of characters shown of a file's name."""
UPLOADED_WITHIN = 24 * 3600.0
"""Seconds after which an unfinished upload is abandoned."""


def usual_folder() -> Path:
    """Return the default folder of sessions."""
    home = Path.home()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = home / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_DATA_HOME", home / ".local" / "share"))
    return base / "s2oct" / "app"


def shown_name(name: str) -> str:
    """Return the last part of a file's name, for display; it is never used as a path."""
    last = PureWindowsPath(PurePosixPath(name).name).name
    return printable(" ".join(last.split()))[:_LONGEST_NAME] or "table.csv"


def suffix_of(name: str) -> str:
    """Return the suffix under which a file with this name is stored."""
    lower = name.lower()
    return next((suffix for suffix in sorted(SUFFIXES, key=len, reverse=True) if lower.endswith(suffix)), ".csv")


@dataclass(frozen=True)
class StoredSession:
    """A session; the name of its folder is a random id."""

    folder: Path

    @property
    def id(self) -> str:
        """The random id."""
        return self.folder.name

    @property
    def state(self) -> dict[str, Any]:
        """The stored state of the session, in addition to its files."""
        try:
            found = json.loads((self.folder / "session.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise KeyError(self.id) from error
        if not isinstance(found, dict):
            raise KeyError(self.id)
        return found

    @property
    def is_whole(self) -> bool:
        """Whether its state is readable and its table exists."""
        try:
            float(self.state["created"])
            return (self.folder / str(self.state["table"])).is_file()
        except (KeyError, TypeError, ValueError):
            return False

    def save(self, **changes: Any) -> None:
        """Store changed entries of the state."""
        write_whole(self.folder / "session.json", json.dumps(self.state | changes))

    def table(self, dialect: Dialect, sheet: str | None = None) -> Source:
        """Return the table."""
        state = self.state
        return page_source(self.folder / str(state["table"]), str(state["name"]), dialect, sheet)

    @property
    def totals(self) -> tuple[Path, str] | None:
        """The uploaded file of totals and the user's name for it, if there is one."""
        uploaded = self.state.get("totals")
        return None if uploaded is None else (self.folder / str(uploaded["file"]), str(uploaded["name"]))

    @property
    def jobs(self) -> list[StoredJob]:
        """The jobs, in starting order."""
        folder = self.folder / "jobs"
        found = [path for path in folder.iterdir() if _JOB.fullmatch(path.name)] if folder.is_dir() else []
        ordered = [path for path in found if (path / "order.json").is_file()]
        return [StoredJob(path) for path in sorted(ordered, key=lambda path: int(path.name))]

    def job(self, number: str) -> StoredJob:
        """Return a job."""
        return {job.number: job for job in self.jobs}[number]

    def new_job(self, order: Mapping[str, Any]) -> StoredJob:
        """Make the folder of another job; two pages may do so simultaneously."""
        number = int(self.jobs[-1].number) + 1 if self.jobs else 1
        (self.folder / "jobs").mkdir(exist_ok=True)
        while True:
            folder = self.folder / "jobs" / str(number)
            try:
                folder.mkdir()
            except FileExistsError:
                number += 1
                continue
            write_whole(folder / "order.json", json.dumps(order))
            return StoredJob(folder)


def page_source(file: Path, name: str, dialect: Dialect | None = None, sheet: str | None = None) -> Source:
    """Return a table of a session, with the page's size limit and the user's name for it."""
    return Source(file, dialect or Dialect(), limit=LIMIT, sheet=sheet, called=name)


@contextmanager
def _new_folder(store: Path) -> Iterator[Path]:
    """Make the folder of a new session, and delete it if the block fails."""
    folder = store / secrets.token_hex(12)
    folder.mkdir(mode=0o700)
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


async def receive_table(store: Path, name: str, parts: AsyncIterator[bytes]) -> StoredSession:
    """Write an uploaded table to a new session in the folder of all sessions."""
    with _new_folder(store) as folder:
        file = folder / f"table{suffix_of(name)}"
        await _write(file, parts)
        await run_in_threadpool(refuse_upload, file, name)
        return _adopt(file, name)


def copy_table(store: Path, table: Path) -> StoredSession:
    """Copy a local table to a new session in the folder of all sessions."""
    with _new_folder(store) as folder:
        file = folder / f"table{suffix_of(table.name)}"
        shutil.copyfile(table, file)
        refuse_upload(file, table.name)
        return _adopt(file, table.name)


def _adopt(table: Path, name: str) -> StoredSession:
    """Turn a folder with a table into a session; ``name`` is the name of the user's file."""
    state = {"name": shown_name(name), "created": time.time(), "table": table.name, "choices": {}}
    write_whole(table.parent / "session.json", json.dumps(state))
    return StoredSession(table.parent)


async def receive_totals(session: StoredSession, name: str, parts: AsyncIterator[bytes]) -> None:
    """Write an uploaded file of totals to a session, replacing an earlier one."""
    file = session.folder / f"totals{suffix_of(name)}"
    draft = session.folder / f"totals-draft{suffix_of(name)}"
    try:
        await _write(draft, parts)
        await run_in_threadpool(refuse_upload, draft, name)
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)
    session.save(totals={"file": file.name, "name": shown_name(name)})


async def _write(file: Path, parts: AsyncIterator[bytes]) -> None:
    n_bytes = 0
    with file.open("wb") as target:
        async for part in parts:
            n_bytes += len(part)
            if n_bytes > LIMIT.n_bytes:
                raise TooLarge(f"Expected a file of at most {LIMIT.n_bytes:,} bytes, got more.")
            target.write(part)


def refuse_upload(file: Path, name: str) -> None:
    """Refuse an unreadable file, and a small file with a huge table; call it outside the event loop.

    A file that is damaged or empty is refused when it is read.
    """
    if file.stat().st_size == 0:
        return
    source = page_source(file, shown_name(name))
    if source.format in FOREIGN:
        _refuse_what_breaks_its_reader(source)
    try:
        source.refuse_unread()
    except TooLarge:
        raise
    except (InvalidProblem, OSError):
        return


def _refuse_what_breaks_its_reader(source: Source) -> None:
    """Read a file in another process first: damaged files can crash the process of a compiled reader."""
    reader_of(source.format)
    ended = subprocess.run([sys.executable, "-c", TRIAL, str(source.path)], capture_output=True, check=False)
    if ended.returncode not in (0, 1):
        raise InvalidProblem(f"The {source.format.value} file {source.called!r} is damaged: it cannot be read.")
