"""The study on this machine: worker processes, one task at a time each, whose death is noticed and noted."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Generator, Iterable

from s2oct.errors import StudyError
from s2oct.study.records import TaskRecord
from s2oct.study.tasks import Job, failed
from s2oct.study.worker import MEMORY_VARIABLE, READY, receive, send

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1")
"""Processes that share a machine must not each take all of it."""

GRACE_FACTOR, GRACE_SECONDS = 3.0, 300.0
"""A task that takes longer than so many times its limit and so many seconds is stuck, and ended."""


def run_local(jobs: Iterable[Job], *, n_workers: int, memory: int) -> Generator[TaskRecord, None, None]:
    """Records of the jobs, in the order in which they end.

    Parameters
    ----------
    jobs : iterable of Job
        Taken one by one, when a worker is free.
    n_workers : int
        Worker processes.
    memory : int
        Bytes a worker may take; 0 for no limit.
    """
    source = _Shared(jobs)
    done: queue.SimpleQueue[TaskRecord | BaseException | None] = queue.SimpleQueue()
    crew = [_Crew(source, done, memory) for _ in range(n_workers)]
    for member in crew:
        member.start()
    try:
        working = n_workers
        while working:
            item = done.get()
            if isinstance(item, BaseException):
                raise item
            if item is None:
                working -= 1
            else:
                yield item
    finally:
        source.close()
        for member in crew:
            member.dismiss()


class _Shared:
    """An iterator that several threads may draw from, and that can be closed."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._jobs = iter(jobs)
        self._lock = threading.Lock()
        self._closed = False

    def take(self) -> Job | None:
        with self._lock:
            return None if self._closed else next(self._jobs, None)

    def close(self) -> None:
        self._closed = True


class _Crew(threading.Thread):
    """A thread that keeps one worker process busy, and replaces it when it is gone."""

    def __init__(
        self, source: _Shared, done: queue.SimpleQueue[TaskRecord | BaseException | None], memory: int
    ) -> None:
        super().__init__(daemon=True)
        self._source, self._done, self._memory = source, done, memory
        self._process: subprocess.Popen[bytes] | None = None

    def run(self) -> None:
        try:
            while (job := self._source.take()) is not None:
                self._done.put(self._perform(job))
            self._done.put(None)
        except BaseException as error:
            self._done.put(error)
        finally:
            self.dismiss()

    def dismiss(self) -> None:
        """End the worker, whatever it does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _perform(self, job: Job) -> TaskRecord:
        process = self._ready_process()
        assert process.stdin is not None
        assert process.stdout is not None
        patience = GRACE_FACTOR * job.settings.time_limit + GRACE_SECONDS
        watch = threading.Timer(patience, process.kill)
        watch.start()
        try:
            send(process.stdin, job)
            record: TaskRecord
            record, stays = receive(process.stdout)
            if not stays:
                process.wait()
            return record
        except (EOFError, OSError):
            overdue = not watch.is_alive()
            return failed(job, f"{patience:g} s were not enough" if overdue else _obituary(process))
        finally:
            watch.cancel()

    def _ready_process(self) -> subprocess.Popen[bytes]:
        """The worker, started anew if there is none; one that cannot even start ends the run."""
        if self._process is None or self._process.poll() is not None:
            self._process = _start(self._memory)
            assert self._process.stdout is not None
            try:
                if receive(self._process.stdout) != READY:
                    raise StudyError("A worker process spoke out of turn.")
            except EOFError as error:
                raise StudyError(f"A worker process could not start. {_obituary(self._process)}") from error
        return self._process


def _start(memory: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "s2oct.study.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **ONE_THREAD, MEMORY_VARIABLE: str(memory)},
        # Ctrl-C is for the process that keeps the records; it ends the others.
        start_new_session=True,
    )


def _obituary(process: subprocess.Popen[bytes]) -> str:
    """How a process ended."""
    code = process.wait()
    if code >= 0:
        return f"The worker process ended with exit code {code}."
    name = str(-code)
    with contextlib.suppress(ValueError):
        name = signal.Signals(-code).name
    hint = ", as it is when memory runs out" if name == "SIGKILL" else ""
    return f"The worker process was ended by {name}{hint}."
