"""A worker process of the study: reads jobs from its standard input, writes records to its standard output.

Started by `s2oct.study.run`. It ends when its input ends, so that no worker outlives the run that started it.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any

from s2oct.study.tasks import Job, execute

READY = "ready"
SECONDS_TO_STOP = 1.0
MEMORY_VARIABLE = "S2OCT_STUDY_MEMORY"
"""Environment variable with the maximum memory of this process, in bytes."""


def send(stream: IO[bytes], message: Any) -> None:
    """Write one message, to be read by ``pickle.load``."""
    pickle.dump(message, stream)
    stream.flush()


def main() -> None:
    """Work until the input ends."""
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # Solver output must not mix with the records.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    _limit_memory()
    jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(jobs,), daemon=True).start()
    send(replies, READY)
    at_rest = threading.active_count()
    while True:
        record = execute(jobs.get())
        stays = _is_quiet(at_rest)
        send(replies, (record, stays))
        if not stays:
            os._exit(0)


def _is_quiet(at_rest: int) -> bool:
    """Whether no thread of the last fit is still running. A solver that does not stop would slow down the next fit."""
    deadline = time.monotonic() + SECONDS_TO_STOP
    while threading.active_count() > at_rest and time.monotonic() < deadline:
        time.sleep(0.01)
    return threading.active_count() <= at_rest


def _listen(jobs: queue.SimpleQueue[Job]) -> None:
    """Pass jobs on. When the input ends, end the process at once, even in the middle of a fit."""
    try:
        while True:
            jobs.put(pickle.load(sys.stdin.buffer))
    finally:
        os._exit(0)


def _limit_memory() -> None:
    limit = int(os.environ.get(MEMORY_VARIABLE, "0"))
    with contextlib.suppress(OSError):
        # If memory runs out anyway, the system must end this process and not the one that keeps the records.
        Path("/proc/self/oom_score_adj").write_text("1000")
    # Windows has no such limit, and macOS does not enforce it.
    if limit and sys.platform == "linux":
        import resource

        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        allowed = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(resource.RLIMIT_AS, (allowed, hard))


if __name__ == "__main__":
    main()
