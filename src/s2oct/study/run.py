"""Running a study: tasks in worker processes of this machine, or on a Dask cluster."""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from s2oct.errors import ClusterError, StudyError
from s2oct.study.instances import DataSource, manifest
from s2oct.study.records import Plan, Store, TaskRecord
from s2oct.study.tasks import Job, execute, failed, pack, tasks_of
from s2oct.study.worker import MEMORY_VARIABLE, READY, send
from s2oct.workflow.register_table import cluster_client

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1")
"""One thread per worker, because workers share the machine."""


@dataclass(frozen=True)
class WorkerParams:
    """When a run gives up a task or a worker, and how busy it keeps a cluster.

    Attributes
    ----------
    grace_factor, grace_seconds : float
        A task that takes longer than this factor times its limit, plus these seconds, counts as stuck and is ended:
        guides and rivals know no limit.
    most_starts, pause_seconds : int, float
        Maximum number of attempts to start a worker that is killed while starting, and the pause between attempts:
        memory may be scarce for a moment.
    ahead : int
        Tasks sent per thread of the cluster: one running and one waiting.
    """

    grace_factor: float = 3.0
    grace_seconds: float = 300.0
    most_starts: int = 3
    pause_seconds: float = 1.0
    ahead: int = 2


PARAMS = WorkerParams()

Workers = Callable[[Iterable[Job]], Generator[TaskRecord, None, None]]
"""Runs jobs somewhere and yields each record when its job ends."""


class Run:
    """The tasks of a plan that are not finished, with their rows.

    Parameters
    ----------
    store : Store
        The study's store, open for writing.
    plan : Plan
        The requested tasks.
    source : DataSource
        Source of the rows.
    retry_failed : bool
        Whether to run tasks again whose record is an error.

    Attributes
    ----------
    tasks : list of Task
        Tasks to run now.
    n_finished : int
        Number of tasks of the plan that earlier runs finished.
    missing : dict of str to str
        Instances whose rows are not available, and the reasons.
    """

    def __init__(self, store: Store, plan: Plan, source: DataSource, *, retry_failed: bool = False) -> None:
        assert store.settings is not None
        self._store, self._settings = store, store.settings
        records, planned = store.records, tasks_of([plan])
        to_do = [task for task in planned if task not in records or (retry_failed and records[task].error is not None)]
        self._data: dict[str, tuple[bytes, str]] = {}
        self.missing: dict[str, str] = {}
        instances = {task.instance for task in to_do}
        for name in (name for name in manifest() if name in instances):
            try:
                data, origin = source.load(name, self._settings.classes)
                self._data[name] = pack(data), origin
            except StudyError as error:
                self.missing[name] = str(error)
        plan = replace(plan, missing=self.missing)
        if plan not in store.plans:
            store.append(plan)
        self.tasks = [task for task in to_do if task.instance not in self.missing]
        self.n_finished = len(planned) - len(to_do)

    def go(self, workers: Workers) -> Generator[TaskRecord, None, None]:
        """Run the tasks; yield every record once it is stored."""
        jobs = (Job(task, self._settings, *self._data[task.instance]) for task in self.tasks)
        with closing(workers(jobs)) as records:
            for record in records:
                self._store.append(record)
                yield record


def run_local(jobs: Iterable[Job], *, n_workers: int, memory: int) -> Generator[TaskRecord, None, None]:
    """Run jobs in local worker processes, and yield their records as they finish.

    Parameters
    ----------
    jobs : iterable of Job
        Taken one by one, whenever a worker is free.
    n_workers : int
        Number of worker processes.
    memory : int
        Maximum memory of a worker, in bytes; 0 for no limit.
    """
    waiting, lock, closed = iter(jobs), threading.Lock(), threading.Event()
    done: queue.SimpleQueue[TaskRecord | BaseException | None] = queue.SimpleQueue()

    def take() -> Job | None:
        with lock:
            return None if closed.is_set() else next(waiting, None)

    supervisors = [_Supervisor(take, done, memory) for _ in range(n_workers)]
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
        closed.set()
        for supervisor in supervisors:
            supervisor.dismiss()


class _Supervisor(threading.Thread):
    """A thread that keeps one worker process busy, and replaces it if it ends."""

    def __init__(
        self,
        take: Callable[[], Job | None],
        done: queue.SimpleQueue[TaskRecord | BaseException | None],
        memory: int,
    ) -> None:
        super().__init__(daemon=True)
        self._take, self._done, self._memory = take, done, memory
        self._process: subprocess.Popen[bytes] | None = None
        self._dismissed = threading.Event()
        self._lock = threading.Lock()

    def run(self) -> None:
        try:
            while (job := self._take()) is not None:
                self._done.put(self._perform(job))
            self._done.put(None)
        except BaseException as error:
            self._done.put(error)
        finally:
            self.dismiss()

    def dismiss(self) -> None:
        """End the worker, even in the middle of a task, and start no other one."""
        # The lock ensures that a worker that is just starting is ended as well.
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
        patience = PARAMS.grace_factor * job.settings.time_limit + PARAMS.grace_seconds
        watch = threading.Timer(patience, process.kill)
        watch.start()
        try:
            send(process.stdin, job)
            record: TaskRecord
            record, stays = pickle.load(process.stdout)
            if not stays:
                process.wait()
            return record
        except (EOFError, OSError, pickle.UnpicklingError):
            overdue = not watch.is_alive()
            late = f"The task was ended because it took longer than {patience:g} s."
            return failed(job, late if overdue else _how_it_ended(process))
        finally:
            watch.cancel()

    def _ready_process(self) -> subprocess.Popen[bytes]:
        """Return the worker, and start it if none is running. If it cannot start, the run ends."""
        if self._process is not None and self._process.poll() is None:
            return self._process
        for attempt in range(1, PARAMS.most_starts + 1):
            process = self._start()
            if _is_ready(process):
                return process
            # A worker that was killed may start at the next attempt. One that ended by itself would end again.
            was_killed = process.wait() < 0
            if not was_killed or attempt == PARAMS.most_starts or self._dismissed.wait(PARAMS.pause_seconds):
                break
        raise StudyError(f"A worker process could not start (attempts: {attempt}). {_how_it_ended(process)}")

    def _start(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._dismissed.is_set():
                raise StudyError("The run ended before its worker process could start.")
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "s2oct.study.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, **ONE_THREAD, MEMORY_VARIABLE: str(self._memory)},
                # Ctrl-C should reach only the process that keeps the records, which ends the others.
                start_new_session=True,
            )
            return self._process


def _is_ready(process: subprocess.Popen[bytes]) -> bool:
    """Wait until a worker reports that it is ready; return False if it ends first."""
    assert process.stdout is not None
    try:
        return bool(pickle.load(process.stdout) == READY)
    except (EOFError, pickle.UnpicklingError):
        return False


def _how_it_ended(process: subprocess.Popen[bytes]) -> str:
    """Describe how a process ended."""
    code = process.wait()
    if code >= 0:
        return f"The worker process ended with exit code {code}."
    name = str(-code)
    with contextlib.suppress(ValueError):
        name = signal.Signals(-code).name
    hint = ", as happens when memory runs out" if name == "SIGKILL" else ""
    return f"The worker process was ended by {name}{hint}."


def run_on_cluster(jobs: Iterable[Job], address: str) -> Generator[TaskRecord, None, None]:
    """Run jobs on a Dask cluster, and yield their records as they finish.

    If a worker is lost, another worker repeats its task. If several workers are lost with the same task, its record is
    an error. Rows are sent with the tasks, so workers need no data folder.
    """
    client = cluster_client(address)
    try:
        yield from _records(client, iter(jobs))
    finally:
        client.close()


def _records(client: Any, jobs: Iterator[Job]) -> Iterator[TaskRecord]:
    try:
        # To call any function of its module, a worker imports what the tasks need.
        client.submit(tasks_of, [], pure=False).result()
    except ModuleNotFoundError as error:
        raise ClusterError(f"The Dask workers lack {error.name}: install s2oct in their environment.") from error
    import distributed

    running: dict[Any, Job] = {}
    arriving = distributed.as_completed(loop=client.loop)
    _top_up(client, jobs, running, arriving)
    while running:
        future = next(arriving)
        yield _record(future, running.pop(future))
        _top_up(client, jobs, running, arriving)


def _top_up(client: Any, jobs: Iterator[Job], running: dict[Any, Job], arriving: Any) -> None:
    """Keep the cluster busy, including workers that have joined it."""
    wanted = PARAMS.ahead * max(1, sum(client.nthreads().values()))
    while len(running) < wanted and (job := next(jobs, None)) is not None:
        # Use a new key: for a known key, the scheduler would return the result of another study.
        future = client.submit(execute, job, key=f"{job.task}, {uuid.uuid4().hex}", pure=False)
        running[future] = job
        arriving.add(future)


def _record(future: Any, job: Job) -> TaskRecord:
    if future.status == "cancelled":
        raise ClusterError("The Dask scheduler dropped a task; it was shut down or restarted. Run again to go on.")
    if future.status == "error":
        error = future.exception()
        return failed(job, f"{type(error).__name__}: {error}")
    record: TaskRecord = future.result()
    return record
