"""Files that are complete or not there: written beside their place and moved into it at the end."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def replaced(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to, which takes the place of ``path`` when the block ends well and vanishes when it does not."""
    temporary = draft(path)
    try:
        with temporary.open("wb") as file:
            yield file
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def draft(path: Path) -> Path:
    """A new empty file in the folder of ``path``, where a finished one can be moved from without copying.

    Raises OSError where ``path`` could not be written.
    """
    if path.is_dir():
        raise IsADirectoryError(f"Expected a file to write to, got the folder {str(path)!r}.")
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(f"Expected a file to write to, got {str(path)!r}, which is write-protected.")
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    # mkstemp is more private than files usually are.
    mask = os.umask(0)
    os.umask(mask)
    os.chmod(name, 0o666 & ~mask)
    return Path(name)
