"""The study on a Dask cluster: the same tasks, run by its workers."""

from __future__ import annotations

import uuid
from collections.abc import Generator, Iterable, Iterator
from typing import Any

from s2oct.cluster import connected
from s2oct.errors import ClusterError, StudyError
from s2oct.study.records import TaskRecord
from s2oct.study.tasks import Job, execute, failed, provenance

AHEAD = 2
"""Tasks sent per thread of the cluster: one that runs and one that waits."""


def run_on_cluster(jobs: Iterable[Job], address: str) -> Generator[TaskRecord, None, None]:
    """Records of the jobs, in the order in which they end.

    A task whose worker is lost is run again by another worker. If several workers are lost with it, it becomes a record
    that says so. Rows travel with the tasks, so that workers need no data folder.
    """
    try:
        client = connected(address)
    except ClusterError as error:
        raise StudyError(str(error)) from error
    try:
        yield from _records(client, iter(jobs))
    finally:
        client.close()


def _records(client: Any, jobs: Iterator[Job]) -> Iterator[TaskRecord]:
    try:
        client.submit(provenance, pure=False).result()
    except ModuleNotFoundError as error:
        raise StudyError(f"Expected Dask workers with s2oct installed, got workers without {error.name}.") from error
    import distributed

    running: dict[Any, Job] = {}
    arriving = distributed.as_completed(loop=client.loop)
    _top_up(client, jobs, running, arriving)
    while running:
        future = next(arriving)
        yield _record(future, running.pop(future))
        _top_up(client, jobs, running, arriving)


def _top_up(client: Any, jobs: Iterator[Job], running: dict[Any, Job], arriving: Any) -> None:
    """Keep the cluster busy, also if workers have joined it."""
    wanted = AHEAD * max(1, sum(client.nthreads().values()))
    while len(running) < wanted and (job := next(jobs, None)) is not None:
        # A new key: a scheduler that knows the key would return the result of another study.
        future = client.submit(execute, job, key=f"{job.task}, {uuid.uuid4().hex}", pure=False)
        running[future] = job
        arriving.add(future)


def _record(future: Any, job: Job) -> TaskRecord:
    if future.status == "cancelled":
        raise StudyError("The Dask scheduler dropped a task; it was shut down or restarted. Run again to go on.")
    if future.status == "error":
        error = future.exception()
        return failed(job, f"{type(error).__name__}: {error}")
    record: TaskRecord = future.result()
    return record
