"""What a study has, what is missing and why, and the software and machines that made it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from s2oct.study import paper
from s2oct.study.instances import manifest
from s2oct.study.records import StudySettings, TaskRecord
from s2oct.study.store import Contents
from s2oct.study.summary import variable_quantiles
from s2oct.study.tasks import tasks_of


@dataclass(frozen=True)
class Overview:
    """What a study has, what is missing, and what made it."""

    n_planned: int
    n_finished: int
    n_instances: int
    n_samples: int
    missing: dict[str, str]
    failed: list[TaskRecord]
    n_to_do: int
    other_rows: list[tuple[str, int, int]]
    origins: dict[str, int]
    warnings: list[tuple[str, int]]
    versions: list[tuple[str, str]]
    machines: list[tuple[str, int]]
    last: str


def overview(contents: Contents) -> Overview:
    """Make the overview of a store with at least one record."""
    records = list(contents.records.values())
    planned = tasks_of(contents.plans)
    n_without = sum(task.instance in contents.missing and task not in contents.records for task in planned)
    sizes = {record.task.instance: record.draw.n_rows for record in records}
    machines = Counter(
        f"{record.provenance.processor}, {record.provenance.cores} cores, {record.provenance.system}"
        for record in records
    )
    versions = {(package, number) for record in records for package, number in record.provenance.versions.items()}
    said = Counter(text for record in records if record.fit is not None for text in record.fit.warnings)
    origins = {record.task.instance: record.draw.origin for record in records}
    return Overview(
        n_planned=len(planned),
        n_finished=len(records),
        n_instances=len(sizes),
        n_samples=len({record.task.sample for record in records}),
        missing={name: contents.missing[name] for name in manifest() if name in contents.missing},
        failed=[record for record in records if record.error is not None],
        n_to_do=sum(task not in contents.records for task in planned) - n_without,
        other_rows=[
            (name, n_rows, manifest()[name].n_rows)
            for name, n_rows in sizes.items()
            if n_rows != manifest()[name].n_rows
        ],
        origins=dict(Counter(origins.values())),
        warnings=said.most_common(),
        versions=sorted(versions),
        machines=machines.most_common(),
        last=max(record.provenance.finished for record in records),
    )


@dataclass(frozen=True)
class SizeLine:
    """A line of Table 2: the paper's number, ours for its 97 instances, and ours for those with records."""

    kind: str
    model: str
    quantile: float
    printed: int
    computed: int
    here: int


def size_lines(records: Iterable[TaskRecord], settings: StudySettings) -> list[SizeLine]:
    """Table 2, line by line."""
    everything = variable_quantiles(manifest(), settings.labeled_share)
    here = variable_quantiles({record.task.instance for record in records}, settings.labeled_share)
    return [
        SizeLine(kind, model, quantile, printed[place], everything[kind, model][place], here[kind, model][place])
        for (kind, model), printed in paper.VARIABLES.items()
        for place, quantile in enumerate(paper.QUANTILES)
    ]
