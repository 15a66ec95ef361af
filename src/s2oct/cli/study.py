"""``s2oct study``: the paper's experiments, run, watched and reported."""

from __future__ import annotations

import fnmatch
import os
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from s2oct.errors import InvalidProblem
from s2oct.memory import available_memory
from s2oct.study.cluster import run_on_cluster
from s2oct.study.designs import DESIGNS, LABELED_SHARE
from s2oct.study.instances import manifest
from s2oct.study.local import run_local
from s2oct.study.methods import DEFAULT_METHODS, METHODS
from s2oct.study.records import Plan, StudySettings, Task, TaskRecord
from s2oct.study.report import write_report
from s2oct.study.run import Agenda, Run, Workers
from s2oct.study.sources import DataSource
from s2oct.study.store import Contents, read_store
from s2oct.study.tasks import tasks_of

LEAST_MEMORY = 4 * 2**30
"""Compiled code and solvers reserve much address space without using it."""

study = typer.Typer(
    name="study",
    help="Rerun the paper's experiments, on this machine or on a Dask cluster, and report on them.",
    no_args_is_help=True,
)

Out = Annotated[Path, typer.Option("--out", help="Folder of the study: its records and its report.")]
DEFAULT_OUT = Path("s2oct-study")


@study.command()
def run(
    out: Out = DEFAULT_OUT,
    data: Annotated[
        Path | None,
        typer.Option(envvar="S2OCT_DATA", help="Folder with <instance>.tsv.gz files. Without it they are downloaded."),
    ] = None,
    download: Annotated[
        bool | None,
        typer.Option("--download/--no-download", help="Fetch files that are not there (default: if no --data)."),
    ] = None,
    instance: Annotated[
        list[str] | None, typer.Option(help="Instances, by name or pattern (default: all 97). May be repeated.")
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(help="Methods, by name or pattern, e.g. 's2oct*' (default: most). May be repeated."),
    ] = None,
    design: Annotated[
        list[str] | None, typer.Option(help="Sampling designs: biased, simple (default: biased). May be repeated.")
    ] = None,
    samples: Annotated[int, typer.Option(min=1, help="Samples of each instance.")] = 5,
    labeled_share: Annotated[float, typer.Option(help="Share of rows that are labeled, between 0 and 1.")] = (
        LABELED_SHARE
    ),
    time_limit: Annotated[float, typer.Option(help="Seconds for each fit of a tree.")] = 60.0,
    solver: Annotated[str, typer.Option(help="MILP solver: highs, scip or gurobi.")] = "highs",
    seed: Annotated[int, typer.Option(min=0, help="Random state of every fit; draws are seeded by their sample.")] = 0,
    jobs: Annotated[int | None, typer.Option(min=1, help="Worker processes (default: one a core).")] = None,
    memory: Annotated[
        float | None, typer.Option(help="GiB a worker process may take; 0 for no limit (default: its share).")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler; its workers then run the tasks.")
    ] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Run tasks again that ended in an error.")] = (
        False
    ),
) -> None:
    """Run what is not finished yet of the tasks instance x sample x design x method.

    Stop it at any time, by Ctrl-C or otherwise: the same command goes on where it was.
    """
    if not 0 < labeled_share < 1:
        raise InvalidProblem(f"Expected a labeled share between 0 and 1, got {labeled_share:g}.")
    if not 0 < time_limit < float("inf"):
        raise InvalidProblem(f"Expected a time limit of more than 0 seconds, got {time_limit:g}.")
    if data is not None and not data.is_dir():
        raise InvalidProblem(f"Expected --data to be a folder, got {data}, which is none.")
    plan = Plan(
        instances=_chosen("instance", instance, tuple(manifest()), tuple(manifest())),
        samples=samples,
        designs=_chosen("design", design, tuple(DESIGNS), ("biased",)),
        methods=_chosen("method", method, tuple(METHODS), DEFAULT_METHODS),
    )
    source = DataSource(data, download=data is None if download is None else download)
    n_workers = jobs or os.cpu_count() or 1
    workers: Workers = (
        partial(run_on_cluster, address=scheduler)
        if scheduler is not None
        else partial(run_local, n_workers=n_workers, memory=_memory(memory, n_workers))
    )
    settings = StudySettings(labeled_share, time_limit, solver, seed)
    console = Console(stderr=True)
    with Run(out, settings, plan, source, retry_failed=retry_failed) as study_run:
        _announce(console, study_run.agenda, out)
        try:
            with closing(study_run.go(workers)) as records:
                n_failed = _follow(console, records, study_run.agenda, n_workers)
        except KeyboardInterrupt:
            console.print(f"Stopped. What is finished is in {out}; the same command goes on from there.")
            raise typer.Exit(130) from None
    console.print(
        f"{len(study_run.agenda.tasks)} tasks finished, {n_failed} of them with an error. "
        f"Next: s2oct study report --out {out}",
        soft_wrap=True,
    )


def _chosen(
    what: str, asked: Sequence[str] | None, known: tuple[str, ...], default: tuple[str, ...]
) -> tuple[str, ...]:
    """Names that match what was asked for, in their usual order."""
    if not asked:
        return default
    for pattern in asked:
        if not fnmatch.filter(known, pattern):
            raise InvalidProblem(f"Expected {what} to be one of {', '.join(known)}, or a pattern, got {pattern!r}.")
    return tuple(name for name in known if any(fnmatch.fnmatchcase(name, pattern) for pattern in asked))


def _memory(asked: float | None, n_workers: int) -> int:
    """Bytes for each worker: an equal share of what there is, where nothing else was asked for."""
    if asked is not None:
        if asked < 0:
            raise InvalidProblem(f"Expected --memory of at least 0 GiB, got {asked:g}.")
        return int(asked * 2**30)
    available = available_memory()
    return 0 if available == float("inf") else max(LEAST_MEMORY, int(available / n_workers))


def _announce(console: Console, agenda: Agenda, out: Path) -> None:
    done = f", {agenda.n_finished} finished before" if agenda.n_finished else ""
    console.print(f"{len(agenda.tasks)} tasks to run{done}. Records: {out}", soft_wrap=True)
    if agenda.missing:
        console.print(f"Instances left out, {len(agenda.missing)} in all:", soft_wrap=True)
        for name, reason in agenda.missing.items():
            console.print(f"  {name}: {reason}", soft_wrap=True, highlight=False)


def _follow(console: Console, records: Iterable[TaskRecord], agenda: Agenda, n_workers: int) -> int:
    """Consume the records, showing how far they are where somebody watches; returns how many are errors."""
    n_failed = 0
    left = Counter(task.method for task in agenda.tasks)
    seconds: defaultdict[str, list[float]] = defaultdict(list)
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[failed]} failed"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[remaining_time]}"),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        shown = bar.add_task("study", total=len(agenda.tasks), failed=0, remaining_time="")
        for record in records:
            n_failed += record.error is not None
            left[record.task.method] -= 1
            if record.fit is not None:
                seconds[record.task.method].append(record.fit.seconds)
            bar.update(shown, advance=1, failed=n_failed, remaining_time=_time_left(left, seconds, n_workers))
    return n_failed


def _time_left(left: Counter[str], seconds: dict[str, list[float]], n_workers: int) -> str:
    """What the remaining tasks take if they take as long as those of the same method so far."""
    if any(count and not seconds.get(method) for method, count in left.items()):
        return "time left: unknown yet"
    total = sum(count * statistics.fmean(seconds[method]) for method, count in left.items() if count) / n_workers
    hours, minutes = divmod(round(total / 60), 60)
    return f"about {hours} h {minutes:02d} min left" if hours else f"about {minutes} min left"


@study.command()
def status(out: Out = DEFAULT_OUT) -> None:
    """Say how far a study is, also while it runs."""
    contents = read_store(out)
    planned = tasks_of(contents.plans)
    console = Console()
    if contents.settings is not None:
        settings = contents.settings
        console.print(
            f"Labeled share {settings.labeled_share:g}, time limit {settings.time_limit:g} s, "
            f"solver {settings.solver}, seed {settings.seed}.",
            highlight=False,
        )
    console.print(_status_table(contents, planned))
    if contents.missing:
        console.print(f"Left out for want of data: {', '.join(contents.missing)}.", highlight=False)


def _status_table(contents: Contents, planned: list[Task]) -> Table:
    table = Table()
    for heading in ("method", "planned", "finished", "proved", "failed", "no data", "to do"):
        table.add_column(heading, justify="left" if heading == "method" else "right")
    methods = [name for name in METHODS if any(task.method == name for task in planned)]
    for name in [*methods, None]:
        tasks = [task for task in planned if name is None or task.method == name]
        records = [contents.records[task] for task in tasks if task in contents.records]
        without = sum(task.instance in contents.missing and task not in contents.records for task in tasks)
        if name is None:
            table.add_section()
        table.add_row(
            name or "all",
            str(len(tasks)),
            str(len(records)),
            str(sum(record.solved for record in records)),
            str(sum(record.error is not None for record in records)),
            str(without),
            str(len(tasks) - len(records) - without),
        )
    return table


@study.command()
def report(
    out: Out = DEFAULT_OUT,
    to: Annotated[Path | None, typer.Option(help="Folder for page, tables and figures (default: OUT/report).")] = None,
) -> None:
    """Write the report: one HTML page, and its tables and figures as CSV, SVG and PNG beside it."""
    print(write_report(out, to))
