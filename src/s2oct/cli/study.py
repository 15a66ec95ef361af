"""The command study."""

from __future__ import annotations

import fnmatch
import os
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from s2oct.cli.options import takes_groups
from s2oct.errors import InvalidProblem, MissingExtra
from s2oct.solvers import load_solver
from s2oct.solvers.worker import available_memory
from s2oct.study.designs import DESIGNS
from s2oct.study.instances import manifest
from s2oct.study.methods import DEFAULT_METHODS, METHODS
from s2oct.study.records import Contents, Plan, StudySettings, Task, TaskRecord, read_store
from s2oct.study.run import Agenda, Run, Workers, run_local, run_on_cluster
from s2oct.study.sources import DataSource
from s2oct.study.tasks import tasks_of

# What ``s2oct study run`` and ``status`` do and print.

LEAST_MEMORY = 4 * 2**30
"""Bytes. Compiled code and solvers reserve much address space that they do not use."""

INTERRUPTED = 130


def run_study(options: StudyOptions) -> int:
    """Run a study until it ends or is interrupted; returns the exit code."""
    _check(options)
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    methods = _chosen("method", options.method or (), tuple(METHODS), DEFAULT_METHODS)
    if options.scheduler is None:
        methods = _those_that_can_run(methods, console)
    plan = Plan(
        instances=_chosen("instance", options.instance or (), tuple(manifest()), tuple(manifest())),
        samples=options.samples,
        designs=_chosen("design", options.design or (), tuple(DESIGNS), ("biased",)),
        methods=methods,
    )
    settings = StudySettings(options.labeled_share, options.time_limit, options.solver, options.seed, options.classes)
    source = DataSource(options.data, download=options.data is None if options.download is None else options.download)
    with console.status("Reading the data"):
        study = Run(options.out, settings, plan, source, retry_failed=options.retry_failed)
    with study:
        _announce(console, study.agenda, options.out)
        try:
            with closing(study.go(_workers(options))) as records:
                n_failed = _follow(console, records, study.agenda)
        except KeyboardInterrupt:
            console.print(f"Stopped. Finished tasks are in {options.out}; the same command continues from there.")
            return INTERRUPTED
    console.print(
        f"{len(study.agenda.tasks)} tasks finished, {n_failed} of them with an error. "
        f"Next: s2oct study report --out {options.out}"
    )
    return 0


def _check(options: StudyOptions) -> None:
    if not 0 < options.labeled_share < 1:
        raise InvalidProblem(f"Expected a labeled share between 0 and 1, got {options.labeled_share:g}.")
    if not 0 < options.time_limit < float("inf"):
        raise InvalidProblem(f"Expected a time limit of more than 0 seconds, got {options.time_limit:g}.")
    if options.memory is not None and options.memory < 0:
        raise InvalidProblem(f"Expected --memory of at least 0 GiB, got {options.memory:g}.")
    if options.data is not None and not options.data.is_dir():
        raise InvalidProblem(f"Expected --data to be a folder, got {options.data}, which is not a folder.")
    if options.scheduler is None:
        # A solver that is not installed would fail every task.
        load_solver(options.solver)


def _chosen(what: str, asked: Sequence[str], known: Sequence[str], default: Sequence[str]) -> tuple[str, ...]:
    """Names that match the patterns, in their usual order."""
    for pattern in asked:
        if not fnmatch.filter(known, pattern):
            raise InvalidProblem(f"Expected {what} to be one of {', '.join(known)}, or a pattern, got {pattern!r}.")
    return tuple(name for name in known if any(fnmatch.fnmatchcase(name, pattern) for pattern in asked or default))


def _those_that_can_run(methods: Sequence[str], console: Console) -> tuple[str, ...]:
    """Leave out the methods whose package is missing, and say so; refuse if none is left."""
    needs = {name: need for name in methods if (need := METHODS[name].needs) is not None}
    if methods and len(needs) == len(methods):
        raise MissingExtra(next(iter(needs.values())))
    for need in needs.values():
        console.print(f"Left out: {need}", markup=False)
    return tuple(name for name in methods if name not in needs)


def _workers(options: StudyOptions) -> Workers:
    if options.scheduler is not None:
        return partial(run_on_cluster, address=options.scheduler)
    n_workers = options.jobs or os.cpu_count() or 1
    return partial(run_local, n_workers=n_workers, memory=_memory(options.memory, n_workers))


def _memory(asked: float | None, n_workers: int) -> int:
    """Bytes for each worker: as the user chose, or an equal share of the available memory."""
    if asked is not None:
        return int(asked * 2**30)
    return max(LEAST_MEMORY, int(available_memory() / n_workers))


def _announce(console: Console, agenda: Agenda, out: Path) -> None:
    done = f", {agenda.n_finished} finished before" if agenda.n_finished else ""
    console.print(f"{len(agenda.tasks)} tasks to run{done}. Records: {out}")
    if agenda.missing:
        console.print(f"Instances left out ({len(agenda.missing)}):")
        for name, reason in agenda.missing.items():
            console.print(f"  {name}: {reason}", markup=False)


def _follow(console: Console, records: Iterable[TaskRecord], agenda: Agenda) -> int:
    """Consume the records and show the progress in a terminal; returns the number of errors."""
    n_failed = 0
    pace = Pace(agenda.tasks)
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[failed]} failed"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        shown = bar.add_task("study", total=len(agenda.tasks), failed=0, left="")
        for record in records:
            n_failed += record.error is not None
            pace.note(record)
            bar.update(shown, advance=1, failed=n_failed, left=pace.time_left(time.monotonic()))
    return n_failed


class Pace:
    """Estimates the time left, from how long fits of the same method took and how many run at once."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._began = time.monotonic()
        self._left = Counter(task.method for task in tasks)
        self._seconds: defaultdict[str, list[float]] = defaultdict(list)

    def note(self, record: TaskRecord) -> None:
        """Count a finished task."""
        self._left[record.task.method] -= 1
        if record.fit is not None:
            self._seconds[record.task.method].append(record.fit.seconds)

    def time_left(self, now: float) -> str:
        """A phrase for the progress bar; unknown until every method has a finished fit."""
        if any(count and method not in self._seconds for method, count in self._left.items()):
            return "time left not known yet"
        ahead = sum(count * statistics.fmean(self._seconds[method]) for method, count in self._left.items() if count)
        # Seconds of fits per second of clock: the number of workers, minus the time for starting and waiting.
        behind = sum(sum(seconds) for seconds in self._seconds.values())
        hours, minutes = divmod(round(ahead * (now - self._began) / max(behind, 1e-9) / 60), 60)
        return f"about {hours} h {minutes:02d} min left" if hours else f"about {minutes} min left"


def show_status(out: Path) -> None:
    """Print how many of the planned tasks a store holds."""
    contents = read_store(out)
    console = Console(highlight=False, soft_wrap=True)
    if contents.settings is not None:
        settings = contents.settings
        console.print(
            f"Labeled share {settings.labeled_share:g}, time limit {settings.time_limit:g} s, "
            f"solver {settings.solver}, seed {settings.seed}, at most {settings.classes} classes."
        )
    console.print(_status_table(contents))
    if contents.missing:
        console.print(f"Left out because their data are missing: {', '.join(contents.missing)}.")


def _status_table(contents: Contents) -> Table:
    planned = tasks_of(contents.plans)
    table = Table()
    for heading in ("method", "planned", "finished", "proved", "failed", "no data", "to do"):
        table.add_column(heading, justify="left" if heading == "method" else "right")
    for name in METHODS:
        tasks = [task for task in planned if task.method == name]
        if tasks:
            table.add_row(name, *_counts(contents, tasks))
    table.add_section()
    table.add_row("all", *_counts(contents, planned))
    return table


def _counts(contents: Contents, tasks: Sequence[Task]) -> list[str]:
    records = [contents.records[task] for task in tasks if task in contents.records]
    without = sum(task.instance in contents.missing and task not in contents.records for task in tasks)
    numbers = (
        len(tasks),
        len(records),
        sum(record.solved for record in records),
        sum(record.error is not None for record in records),
        without,
        len(tasks) - len(records) - without,
    )
    return [str(number) for number in numbers]


# ``s2oct study``: the options of its commands. What a command does is imported when it is called.

study = typer.Typer(
    name="study",
    help="Rerun the paper's experiments, on this machine or on a Dask cluster, and report on them.",
    no_args_is_help=True,
    add_completion=False,
)

Out = Annotated[Path, typer.Option("--out", help="Folder of the study: its records and its report.")]
DEFAULT_OUT = Path("s2oct-study")


@dataclass(frozen=True, kw_only=True)
class StudyOptions:
    """The options of a run."""

    out: Out = DEFAULT_OUT
    data: Annotated[
        Path | None,
        typer.Option(envvar="S2OCT_DATA", help="Folder with <instance>.tsv.gz files. Without it they are downloaded."),
    ] = None
    download: Annotated[
        bool | None,
        typer.Option("--download/--no-download", help="Fetch files that are not there (default: if no --data)."),
    ] = None
    instance: Annotated[
        list[str] | None, typer.Option(help="Instances, by name or pattern (default: all 97). May be repeated.")
    ] = None
    method: Annotated[
        list[str] | None,
        typer.Option(help="Methods, by name or pattern, e.g. 's2oct*' (default: most). May be repeated."),
    ] = None
    design: Annotated[
        list[str] | None, typer.Option(help="Sampling designs: biased, simple (default: biased). May be repeated.")
    ] = None
    classes: Annotated[
        int, typer.Option(min=2, max=26, help="Classes of an instance that are kept apart at most (the paper: 2).")
    ] = 2
    samples: Annotated[int, typer.Option(min=1, help="Samples of each instance.")] = 5
    labeled_share: Annotated[float, typer.Option(help="Share of rows that are labeled, between 0 and 1.")] = 0.1
    time_limit: Annotated[float, typer.Option(help="Seconds for each fit of a tree.")] = 60.0
    solver: Annotated[str, typer.Option(help="MILP solver: highs, scip or gurobi.")] = "highs"
    seed: Annotated[int, typer.Option(min=0, help="Random state of every fit; draws are seeded by their sample.")] = 0
    jobs: Annotated[int | None, typer.Option(min=1, help="Worker processes (default: one per core).")] = None
    memory: Annotated[
        float | None, typer.Option(help="GiB that a worker process may take; 0 for no limit (default: an equal share).")
    ] = None
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler; its workers then run the tasks.")
    ] = None
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Run tasks again that ended in an error.")] = (
        False
    )


@study.command()
@takes_groups
def run(options: StudyOptions) -> None:
    """Run the tasks instance x sample x design x method that are not finished yet.

    You can stop it at any time, by Ctrl-C or otherwise. The same command continues where it stopped.
    """
    raise typer.Exit(run_study(options))


@study.command()
def status(out: Out = DEFAULT_OUT) -> None:
    """Show the progress of a study, also while it runs."""
    show_status(out)


@study.command()
def report(
    out: Out = DEFAULT_OUT,
    to: Annotated[Path | None, typer.Option(help="Folder for page, tables and figures (default: OUT/report).")] = None,
) -> None:
    """Write the report: one HTML page, and its tables and figures as CSV, SVG and PNG beside it."""
    from s2oct.study.report import write_study_report

    print(write_study_report(out, to))
