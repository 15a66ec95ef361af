"""Atomic file writing: a file is written completely or not at all."""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows lacks these locks, so abandoned drafts stay
    fcntl = None  # type: ignore[assignment]

_PREFIX = ".s2oct-draft-"
_DRAFT_NAME = re.compile(re.escape(_PREFIX) + r"[a-z0-9_]{8}(\..*)?")
_ABANDONED_AFTER = 60.0
"""Seconds without a write after which an unlocked draft may be removed. Locks alone would suffice, but some network
folders have none."""


def write_whole(target: Path, content: str | bytes) -> Path:
    """Write a file with the given content, text as UTF-8, and return its path."""
    with replaced(target) as file:
        file.write(content.encode() if isinstance(content, str) else content)
    return target


@contextmanager
def replaced(target: Path) -> Iterator[IO[bytes]]:
    """Open a file that replaces ``target`` when the block succeeds and is deleted when the block fails."""
    draft = Draft.beside(target)
    try:
        with draft.path.open("wb") as file:
            yield file
        draft.publish()
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(draft.path)):
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(target)) from error
    finally:
        draft.discard()


@dataclass(frozen=True)
class Draft:
    """An unfinished file, which becomes its target when it is complete.

    A draft lies in the folder of its target and replaces it in one step. The file keeps its permissions and its owner.
    Links are followed. A file with several hard links, or a writable file of another user, is written in place, because
    a move would break the links or change the owner. A device or a FIFO is never replaced: it receives the content.

    A draft is locked until it is published or discarded. A killed process cannot discard its drafts, but the system
    unlocks them, and the next process that writes to the folder removes them.

    All decisions about writable targets and about publishing are in this class.
    """

    path: Path
    target: Path
    lock: IO[bytes] | None = field(default=None, repr=False)

    @classmethod
    def beside(cls, target: Path) -> Draft:
        """Make an empty draft of ``target``; raise OSError if ``target`` cannot be written."""
        found = _found_at(target)
        if found is not None:
            _refuse_unwritable(target, found)
        if is_stream(target):
            # Names such as /dev/fd/3 do not resolve to a path, and device folders are unsuitable for drafts.
            return cls.apart(target)
        file = Path(os.path.realpath(target))
        path, lock = _empty_file(file.parent, file.suffix)
        return cls(path, file, lock)

    @classmethod
    def apart(cls, target: Path) -> Draft:
        """Make an empty draft in the temporary folder."""
        path, lock = _empty_file(Path(tempfile.gettempdir()), target.suffix)
        return cls(path, target, lock)

    def publish(self) -> None:
        """Replace the target with the draft."""
        found = _found_at(self.target)
        if found is None:
            os.chmod(self.path, 0o666 & ~_umask())
            os.replace(self.path, self.target)
        elif stat.S_ISREG(found.st_mode) and found.st_nlink == 1 and self._takes_after(found):
            os.replace(self.path, self.target)
        else:
            self._write_into(found)

    def discard(self) -> None:
        """Delete the draft if it still exists."""
        self.path.unlink(missing_ok=True)
        if self.lock is not None:
            self.lock.close()

    def _takes_after(self, found: os.stat_result) -> bool:
        """Give the draft the owner and the permissions of a file; False if that is not permitted."""
        own = self.path.stat()
        if (own.st_uid, own.st_gid) != (found.st_uid, found.st_gid):
            try:
                os.chown(self.path, found.st_uid, found.st_gid)
            except PermissionError:
                return False
        os.chmod(self.path, stat.S_IMODE(found.st_mode))
        return True

    def _write_into(self, found: os.stat_result) -> None:
        """Write the content into the target; a file is truncated only once the disk has space for all of it."""
        is_file = stat.S_ISREG(found.st_mode)
        if is_file:
            _make_room(self.target, found.st_size, self.path.stat().st_size)
        with self.path.open("rb") as draft, os.fdopen(os.open(self.target, os.O_WRONLY), "wb") as target:
            shutil.copyfileobj(draft, target)
            if is_file:
                target.truncate()


def is_stream(target: Path) -> bool:
    """Whether a target passes its content on and does not store it: a device or a FIFO."""
    found = _found_at(target)
    return found is not None and not stat.S_ISREG(found.st_mode)


def _found_at(target: Path) -> os.stat_result | None:
    """Return the status of a target, links followed; None if it does not exist."""
    try:
        return target.stat()
    except FileNotFoundError:
        return None


def _refuse_unwritable(target: Path, found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(f"Expected a file to write to, got the folder {str(target)!r}.")
    if stat.S_ISSOCK(found.st_mode):
        raise OSError(f"Expected a file to write to, got the socket {str(target)!r}.")
    if not os.access(target, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(f"Expected a file to write to, got {str(target)!r}, which is write-protected.")


def _empty_file(folder: Path, suffix: str) -> tuple[Path, IO[bytes] | None]:
    """Make a file in a folder, readable only by its owner, and lock it if the system has locks."""
    _remove_abandoned(folder)
    handle, name = tempfile.mkstemp(prefix=_PREFIX, suffix=suffix, dir=folder)
    if fcntl is None:
        os.close(handle)
        return Path(name), None
    with suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return Path(name), os.fdopen(handle, "rb")


@cache
def _remove_abandoned(folder: Path) -> None:
    """Remove the drafts that killed processes left in a folder, once per process because folders may be large."""
    if fcntl is None:
        return
    with suppress(OSError):
        for entry in os.scandir(folder):
            if _DRAFT_NAME.fullmatch(entry.name):
                _remove_if_abandoned(Path(entry.path))


def _remove_if_abandoned(draft: Path) -> None:
    with suppress(OSError), open(os.open(draft, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        if time.time() - os.fstat(file.fileno()).st_mtime > _ABANDONED_AFTER:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            draft.unlink()


def _umask() -> int:
    """Return the permissions that new files lack. They can only be read by setting them."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _make_room(file: Path, before: int, after: int) -> None:
    """Extend a file before it is overwritten, or leave it unchanged if the disk is full."""
    try:
        with file.open("ab") as end:
            end.write(bytes(max(after - before, 0)))
    except OSError:
        os.truncate(file, before)
        raise
