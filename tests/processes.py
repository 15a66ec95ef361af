"""Processes that tests start: none of them outlives its test, and none keeps it waiting for ever."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def started(arguments: list[str], seconds: float = 200.0, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Start a process, which is killed when the block ends or after so many seconds, whichever is sooner.

    ``Popen`` alone waits without an end for a process that does not end, and so does whoever reads what it prints.
    """
    with subprocess.Popen(arguments, text=True, **options) as process:
        watchdog = threading.Timer(seconds, process.kill)
        watchdog.start()
        try:
            yield process
        finally:
            watchdog.cancel()
            process.kill()
