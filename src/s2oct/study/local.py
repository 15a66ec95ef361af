"""The study on this machine: worker processes that run one task at a time; if a worker dies, only its task fails."""

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
"""A task is stuck, and is ended, if it takes longer than this factor times its limit plus these seconds."""

MOST_STARTS, PAUSE_SECONDS = 3, 1.0
"""How often to start a worker that is killed during its start, and how long to wait before the next attempt."""


def run_local(jobs: Iterable[Job], *, n_workers: int, memory: int) -> Generator[TaskRecord, None, None]:
    """Records of the jobs, in the order in which they end.

    Parameters
    ----------
    jobs : iterable of Job
        Taken one by one, when a worker is free.
    n_workers : int
        Worker processes.
    memory : int
        Bytes that a worker may take; 0 for no limit.
    """
    source = _SharedJobs(jobs)
    done: queue.SimpleQueue[TaskRecord | BaseException | None] = queue.SimpleQueue()
    supervisors = [_Supervisor(source, done, memory) for _ in range(n_workers)]
    for supervisor in supervisors:
        supervisor.start()
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
        for supervisor in supervisors:
            supervisor.dismiss()


class _SharedJobs:
    """Jobs that several threads take from, until they are used up or closed."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._jobs = iter(jobs)
        self._lock = threading.Lock()
        self._closed = False

    def take(self) -> Job | None:
        with self._lock:
            return None if self._closed else next(self._jobs, None)

    def close(self) -> None:
        self._closed = True


class _Supervisor(threading.Thread):
    """A thread that keeps one worker process busy, and replaces it when it has ended."""

    def __init__(
        self, source: _SharedJobs, done: queue.SimpleQueue[TaskRecord | BaseException | None], memory: int
    ) -> None:
        super().__init__(daemon=True)
        self._source, self._done, self._memory = source, done, memory
        self._process: subprocess.Popen[bytes] | None = None
        self._dismissed = threading.Event()
        self._lock = threading.Lock()

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
        """End the worker, even in the middle of a task, and start no other."""
        # The lock: a worker that is just being started must be ended, too.
        with self._lock:
            self._dismissed.set()
            process = self._process
        if process is not None:
            process.kill()
            process.wait()

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
            late = f"The task was ended because it took longer than {patience:g} s."
            return failed(job, late if overdue else _how_it_ended(process))
        finally:
            watch.cancel()

    def _ready_process(self) -> subprocess.Popen[bytes]:
        """The worker; it is started if none runs. A worker that cannot start ends the run."""
        if self._process is not None and self._process.poll() is None:
            return self._process
        for attempt in range(1, MOST_STARTS + 1):
            process = self._start()
            if _is_ready(process):
                return process
            # A worker that was killed may start the next time. One that ended by itself would end again.
            was_killed = process.wait() < 0
            if not was_killed or attempt == MOST_STARTS or self._dismissed.wait(PAUSE_SECONDS):
                break
        raise StudyError(f"A worker process could not start (attempts: {attempt}). {_how_it_ended(process)}")

    def _start(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._dismissed.is_set():
                raise StudyError("The run ended before its worker process could start.")
            self._process = _worker_process(self._memory)
            return self._process


def _worker_process(memory: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "s2oct.study.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **ONE_THREAD, MEMORY_VARIABLE: str(memory)},
        # Ctrl-C is for the process that keeps the records; it ends the others.
        start_new_session=True,
    )


def _is_ready(process: subprocess.Popen[bytes]) -> bool:
    """Wait until a worker says that it is ready; False if it ends first."""
    assert process.stdout is not None
    try:
        first = receive(process.stdout)
    except EOFError:
        return False
    if first != READY:
        raise StudyError(f"Expected a worker process to say that it is ready, got {first!r}.")
    return True


def _how_it_ended(process: subprocess.Popen[bytes]) -> str:
    """How a process ended."""
    code = process.wait()
    if code >= 0:
        return f"The worker process ended with exit code {code}."
    name = str(-code)
    with contextlib.suppress(ValueError):
        name = signal.Signals(-code).name
    hint = ", as happens when memory runs out" if name == "SIGKILL" else ""
    return f"The worker process was ended by {name}{hint}."
