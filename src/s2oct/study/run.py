"""A run of the study: find the data, leave out finished tasks, and store every record when it comes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from s2oct.study.instances import manifest
from s2oct.study.records import Missing, Plan, StudySettings, Task, TaskRecord
from s2oct.study.sources import DataSource, MissingData
from s2oct.study.store import Store
from s2oct.study.tasks import Job, pack, tasks_of

Workers = Callable[[Iterable[Job]], Generator[TaskRecord, None, None]]
"""Runs jobs somewhere and yields each record when its job ends."""


@dataclass(frozen=True)
class Agenda:
    """What a run will do.

    Attributes
    ----------
    tasks : tuple of Task
        Tasks to run now.
    n_finished : int
        Tasks of the plan that an earlier run has finished.
    missing : dict
        Instances whose rows are not available, and why.
    """

    tasks: tuple[Task, ...]
    n_finished: int
    missing: dict[str, str]


class Run:
    """A study while it runs. Use it as a context manager, because it keeps the store open.

    Parameters
    ----------
    folder : Path
        Folder of the study.
    settings : StudySettings
        What all fits share.
    plan : Plan
        The tasks that are wanted.
    source : DataSource
        Where rows come from.
    retry_failed : bool
        Whether tasks whose record is an error are run again.
    """

    def __init__(
        self, folder: Path, settings: StudySettings, plan: Plan, source: DataSource, *, retry_failed: bool = False
    ) -> None:
        self._store = Store(folder, settings)
        self._settings = settings
        self._rows: dict[str, tuple[bytes, str]] = {}
        try:
            if plan not in self._store.contents.plans:
                self._store.append(plan)
            self.agenda = self._agenda(plan, source, retry_failed)
        except BaseException:
            self.close()
            raise

    def _find_rows(self, instances: set[str], source: DataSource) -> dict[str, str]:
        """Load instances, and store which are not available."""
        missing = {}
        for name in (name for name in manifest() if name in instances):
            try:
                data, origin = source.load(name, self._settings.classes)
            except MissingData as error:
                missing[name] = str(error)
                if self._store.contents.missing.get(name) != str(error):
                    self._store.append(Missing(name, str(error)))
            else:
                self._rows[name] = (pack(data), origin)
        return missing

    def _agenda(self, plan: Plan, source: DataSource, retry_failed: bool) -> Agenda:
        records = self._store.contents.records
        finished = {task for task, record in records.items() if not (retry_failed and record.error is not None)}
        planned = tasks_of([plan])
        to_do = [task for task in planned if task not in finished]
        missing = self._find_rows({task.instance for task in to_do}, source)
        possible = tuple(task for task in to_do if task.instance not in missing)
        return Agenda(possible, len(planned) - len(to_do), missing)

    def go(self, workers: Workers) -> Generator[TaskRecord, None, None]:
        """Run the agenda; yields every record after it is stored."""
        with closing(workers(self._jobs())) as records:
            for record in records:
                self._store.append(record)
                yield record

    def _jobs(self) -> Iterator[Job]:
        for task in self.agenda.tasks:
            yield Job(task, self._settings, *self._rows[task.instance])

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
