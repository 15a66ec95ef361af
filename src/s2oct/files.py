"""The one way to write a file: complete, or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO


def write_whole(target: Path, content: str | bytes) -> Path:
    """Write a file whose content is at hand; texts are written in UTF-8. Returns the file."""
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
    finally:
        draft.discard()


@dataclass(frozen=True)
class Draft:
    """A file under way: written beside its target, and moved there when it is complete.

    No other code decides which targets can be written, or how a draft becomes the file.
    """

    path: Path
    target: Path

    @classmethod
    def beside(cls, target: Path) -> Draft:
        """Make an empty draft in the folder of ``target``; raises OSError where ``target`` cannot be written."""
        if target.is_dir():
            raise IsADirectoryError(f"Expected a file to write to, got the folder {str(target)!r}.")
        if target.exists() and not os.access(target, os.W_OK):
            raise PermissionError(f"Expected a file to write to, got {str(target)!r}, which is write-protected.")
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=target.suffix, dir=target.parent)
        os.close(handle)
        # mkstemp gives fewer permissions than files usually have.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        return cls(Path(name), target)

    def publish(self) -> None:
        """Move the draft to its target, in one step and without copying."""
        os.replace(self.path, self.target)

    def discard(self) -> None:
        """Delete the draft if it is still there."""
        self.path.unlink(missing_ok=True)
